// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/word_index.h"

#include "corpus/accumulate/archive.h"
#include "corpus/heads/saved_heads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::int16_t kMostWords = std::numeric_limits<std::int16_t>::max();

std::int16_t rounded_weight(double w) { return static_cast<std::int16_t>(std::lround(std::clamp(w, 0.0, 1.0) / kWeightUnit)); }

/// The arrays of an IndexedSentence that are [word, head].
struct WordHeadArray {
    const char* name;
    std::vector<std::int16_t> IndexedSentence::*values;
};
constexpr std::array<WordHeadArray, 6> kWordHeadArrays{{{"words.to", &IndexedSentence::to},
                                                        {"words.from", &IndexedSentence::from},
                                                        {"words.to_weight", &IndexedSentence::to_weight},
                                                        {"words.from_weight", &IndexedSentence::from_weight},
                                                        {"words.head_weight", &IndexedSentence::head_weight},
                                                        {"words.dependent_weight", &IndexedSentence::dependent_weight}}};

/// The strings that arrays refer to by number: sorted and unique, so that they have the same bytes in any order of the texts.
std::vector<std::string> strings_of(const std::map<std::int64_t, IndexedSentence>& sentences) {
    std::set<std::string> unique;
    for (const auto& [number, sentence] : sentences) {
        unique.insert(sentence.id);
        for (const Word& word : sentence.words) {
            unique.insert({word.form, word.upos, word.relation});
            for (const EnhancedArc& arc : word.enhanced) unique.insert(arc.relation);
        }
    }
    return {unique.begin(), unique.end()};
}

/// A string of a row, by its number.
template <class Row>
struct NumberedString {
    const std::vector<std::string>& strings;
    std::string Row::*member;

    void save(const Row& row, std::vector<std::int32_t>& out) const {
        out.push_back(static_cast<std::int32_t>(std::ranges::lower_bound(strings, row.*member) - strings.begin()));
    }
    void load(Row& row, const std::int32_t* number, const std::int32_t*, const Arrays& in, const std::string& name) const {
        if (*number < 0 || *number >= std::ssize(strings))
            in.throw_damaged(name, "0 to " + std::to_string(std::ssize(strings) - 1), std::to_string(*number));
        row.*member = strings[static_cast<std::size_t>(*number)];
    }
};

/// Of each word 1: it shares the bytes of the word before; 2: it has tokens.
struct WordFlags {
    void save(const IndexedSentence& of, std::vector<std::uint8_t>& out) const {
        for (std::size_t w = 0; w < of.words.size(); ++w)
            out.push_back(static_cast<std::uint8_t>((of.words[w].shares_span ? 1 : 0) | (of.read[w] ? 2 : 0)));
    }
    void load(IndexedSentence& of, const std::uint8_t* flags, const std::uint8_t*, const Arrays& in,
              const std::string& name) const {
        for (Word& word : of.words) {
            if (*flags > 3) in.throw_damaged(name, "0 to 3", std::to_string(*flags));
            word.shares_span = (*flags & 1) != 0;
            of.read.push_back((*flags++ & 2) != 0);
        }
    }
};

/// Error unless the words that each word names are of its own sentence.
void check_sentences(const Arrays& arrays, const IndexedSentence& of, std::int64_t heads) {
    std::int32_t first = 0, last = 0;
    const auto check = [&](const char* name, std::int32_t word, bool or_none) {
        if (!(or_none && word == -1) && (word < first || word >= last))
            arrays.throw_damaged(name, "a word of its sentence, " + std::to_string(first) + " to " + std::to_string(last - 1),
                                 std::to_string(word));
    };
    for (std::int32_t w = 0; w < std::ssize(of.words); ++w) {
        if (w == last) std::tie(first, last) = sentence_of(of.words, w);
        const Word& word = of.words[static_cast<std::size_t>(w)];
        if (word.end < word.begin)
            arrays.throw_damaged("words.bytes", std::to_string(word.begin) + " or more", std::to_string(word.end));
        check("words.head", word.head, true);
        for (const EnhancedArc& arc : word.enhanced) check("words.graph_head", arc.head, false);
        for (std::int64_t at = w * heads; at < (w + 1) * heads; ++at) {
            check("words.to", of.to[static_cast<std::size_t>(at)], true);
            check("words.from", of.from[static_cast<std::size_t>(at)], true);
        }
    }
}

}  // namespace

AccumulatorKind words_kind() {
    return {.id = "words",
            .title = "Words of a treebank",
            .note = "the word that each word attends to most, by head; 12 bytes a word and head",
            .usual = true,
            .of_treebank = true,
            .make =
                [](const AccumulatorContext& context) {
                    const model::ModelConfig& config = context.config;
                    return new_accumulator(WordIndex(config.n_layers, config.n_heads, config.causal));
                },
            .open = [](const Arrays& arrays, std::uint64_t) { return new_accumulator(WordIndex::read(arrays)); }};
}

IndexedWords indexed_words(const TextRun& run) {
    IndexedWords out;
    const std::vector<Word>& words = run.text.words;
    if (words.empty()) return out;
    if (std::cmp_greater(words.size(), kMostWords)) {
        out.cut = run.begins;
        return out;
    }
    if (words.back().sentence == words.front().sentence) {  // a treebank's sentence
        out.cut = run.begins && !run.whole;
        if (run.whole) out.text.words = words;
        return out;
    }
    // Bytes of the tokens that no earlier chunk has counted, and of all tokens.
    std::int64_t counted = -1, end = run.first_byte;
    for (std::int64_t t = 0; t < run.encoding.size(); ++t) {
        const auto at = static_cast<std::size_t>(t);
        if (run.encoding.special[at]) continue;
        if (t >= run.first_query && counted < 0) counted = run.first_byte + run.encoding.offsets[at].begin;
        end = run.first_byte + run.encoding.offsets[at].end;
    }
    for (std::int32_t first = 0, last = 0; first < std::ssize(words); first = last) {
        last = sentence_of(words, first).second;
        const std::int64_t ends = words[static_cast<std::size_t>(last - 1)].end;
        if (counted < 0 || ends <= counted || ends > end) continue;
        if (words[static_cast<std::size_t>(first)].begin < run.first_byte) {
            ++out.cut;
            continue;
        }
        if (out.text.words.empty()) out.first = first;
        for (std::int32_t w = first; w < last; ++w) {
            Word& word = out.text.words.emplace_back(words[static_cast<std::size_t>(w)]);
            if (word.head >= 0) word.head -= out.first;
            for (EnhancedArc& arc : word.enhanced) arc.head -= out.first;
        }
    }
    return out;
}

std::pair<std::int32_t, std::int32_t> sentence_of(std::span<const Word> words, std::int32_t word) {
    const std::int32_t number = words[static_cast<std::size_t>(word)].sentence;
    std::int32_t first = word, last = word + 1;
    while (first > 0 && words[static_cast<std::size_t>(first - 1)].sentence == number) --first;
    while (last < std::ssize(words) && words[static_cast<std::size_t>(last)].sentence == number) ++last;
    return {first, last};
}

namespace {

class SentencePatterns final : public TextPatterns {
public:
    SentencePatterns(const TextRun& run, IndexedWords of, std::int64_t n_layers, std::int64_t n_heads)
        : tokens(word_tokens(of.text, run.encoding, run.first_byte)),
          n_heads_(n_heads),
          heads_(static_cast<std::size_t>(n_layers * n_heads)) {
        sentence.id = run.text.id;
        sentence.first_word = of.first;
        sentence.words = std::move(of.text.words);
        for (Word& word : sentence.words) word.xpos.clear(), word.features.clear();
        for (const auto& of_word : tokens.of_word) sentence.read.push_back(!of_word.empty());
        for (const WordHeadArray& array : kWordHeadArrays) (sentence.*array.values).assign(sentence.words.size() * heads_, 0);
    }

    void add(HeadId head, const trace::HeadPattern& pattern) override {
        std::vector<double> attention;
        word_attention(pattern.weights, pattern.keys, tokens, attention);
        const std::size_t n = sentence.words.size(),
                          column = static_cast<std::size_t>(head.layer.value * n_heads_ + head.head.value);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = i * heads_ + column;
            const auto [first, last] = sentence_of(sentence.words, static_cast<std::int32_t>(i));
            // `step` apart: a row of the attention for what the word attends to, a column for what attends to it.
            const auto best = [&](const double* weights, std::size_t step, std::int16_t& word, std::int16_t& weight) {
                double largest = 0;
                word = -1;
                for (auto j = static_cast<std::size_t>(first); j < static_cast<std::size_t>(last); ++j)
                    if (j != i && weights[j * step] > largest) {
                        largest = weights[j * step];
                        word = static_cast<std::int16_t>(j);
                    }
                weight = rounded_weight(largest);
            };
            best(attention.data() + i * n, 1, sentence.to[at], sentence.to_weight[at]);
            best(attention.data() + i, n, sentence.from[at], sentence.from_weight[at]);
            if (sentence.words[i].head < 0) continue;
            const auto j = static_cast<std::size_t>(sentence.words[i].head);
            sentence.head_weight[at] = rounded_weight(attention[i * n + j]);
            sentence.dependent_weight[at] = rounded_weight(attention[j * n + i]);
        }
    }

    WordTokens tokens;
    IndexedSentence sentence;

private:
    std::int64_t n_heads_;
    std::size_t heads_;
};

}  // namespace

std::unique_ptr<TextPatterns> WordIndex::patterns_of(const TextRun& run) const {
    IndexedWords of = indexed_words(run);
    if (of.text.words.empty()) return nullptr;
    return std::make_unique<SentencePatterns>(run, std::move(of), n_layers_, n_heads_);
}

void WordIndex::add(const TextRun& run, TextPatterns* patterns) {
    counts_.left_out += indexed_words(run).cut;
    if (!patterns) return;
    auto& read = dynamic_cast<SentencePatterns&>(*patterns);
    counts_.shared_tokens += read.tokens.shared;
    counts_.unread_words += read.tokens.without;
    sentences_[run.number] = std::move(read.sentence);
}

void WordIndex::stored(Archive& a) {
    a.heads("words.heads", n_layers_, n_heads_, causal_);
    a.counts("words.counts", {3}, {&counts_.left_out, &counts_.shared_tokens, &counts_.unread_words});
    std::vector<std::string> strings;
    if (a.saves()) strings = strings_of(sentences_);
    a.strings("words.string_bytes", "words.string_ends", strings);
    const auto string = [&]<class Row>(std::string Row::*member) { return NumberedString<Row>{strings, member}; };
    a.rows("words.text", sentences_, [&](StoredRows<IndexedSentence>& sentence) {
        using Sentence = IndexedSentence;
        const auto of_words = [](const Sentence& of) { return std::ssize(of.words); };
        sentence.column<std::int32_t>("words.text_id", {}, string(&Sentence::id))
            .column<std::int32_t>("words.first_word", {},
                                  within(0, &Sentence::first_word, std::numeric_limits<std::int32_t>::max() - kMostWords))
            .ends("words.text_end", "words.head", &Sentence::words)
            .ragged<std::uint8_t>("words.flags", {}, WordFlags(), of_words)
            .each(&Sentence::words)
            .column<std::int32_t>("words.form_upos_relation", {}, string(&Word::form), string(&Word::upos),
                                  string(&Word::relation))
            .column<std::int64_t>("words.bytes", {}, within(0, &Word::begin), within(0, &Word::end))
            .column<std::int16_t>("words.head", {}, &Word::head)
            .column<std::int32_t>("words.sentence", {}, &Word::sentence)
            .ends("words.graph_end", "words.graph_head", &Word::enhanced)
            .each(&Word::enhanced)
            .column<std::int16_t>("words.graph_head", {}, &EnhancedArc::head)
            .column<std::int32_t>("words.graph_relation", {}, string(&EnhancedArc::relation));
        for (const WordHeadArray& array : kWordHeadArrays)
            sentence.ragged<std::int16_t>(array.name, {n_layers_, n_heads_}, array.values, of_words);
    });
    for (const auto& [number, sentence] : sentences_)
        if (a.loads()) check_sentences(a.in(), sentence, heads());
}

bool WordIndex::enhanced() const noexcept {
    return std::ranges::any_of(sentences_, [](const auto& each) {
        return std::ranges::any_of(each.second.words, [](const Word& word) { return !word.enhanced.empty(); });
    });
}

WordIndex WordIndex::read(const Arrays& arrays) {
    const HeadsShape saved = get_heads(arrays, "words.heads", words_kind());
    WordIndex index(saved.layers, saved.heads, saved.causal);
    index.load(arrays);
    return index;
}

}  // namespace headlight::corpus
