// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/word_index.h"

#include "corpus/heads/saved_heads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
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

/// Strings that arrays refer to by number: sorted and unique, so that a table has the same bytes in any order of the texts.
class StringTable {
public:
    void note(const std::string& s) { numbers_.emplace(s, 0); }
    void number() {
        std::int32_t n = 0;
        for (auto& [s, number] : numbers_) number = n++;
    }
    std::int32_t operator[](const std::string& s) const { return numbers_.at(s); }
    void save(Arrays& arrays) const {
        std::vector<std::uint8_t> bytes;
        std::vector<std::int64_t> ends;
        for (const auto& [s, number] : numbers_) {
            bytes.insert(bytes.end(), s.begin(), s.end());
            ends.push_back(std::ssize(bytes));
        }
        arrays.put<std::uint8_t>("words.string_bytes", {std::ssize(bytes)}, bytes);
        arrays.put<std::int64_t>("words.string_ends", {std::ssize(ends)}, ends);
    }

private:
    std::map<std::string, std::int32_t> numbers_;
};

/// The strings of a file, by number.
class SavedStrings {
public:
    explicit SavedStrings(const Arrays& arrays) : arrays_(arrays) {
        const auto bytes = arrays.get<std::uint8_t>("words.string_bytes", {-1});
        std::int64_t begin = 0;
        for (const std::int64_t end : arrays.get<std::int64_t>("words.string_ends", {-1})) {
            if (end < begin || end > std::ssize(bytes)) arrays.throw_damaged("words.string_ends");
            strings_.emplace_back(bytes.begin() + begin, bytes.begin() + end);
            begin = end;
        }
    }
    const std::string& at(std::int32_t number) const {
        if (number < 0 || number >= std::ssize(strings_)) arrays_.throw_damaged("words.string_ends");
        return strings_[static_cast<std::size_t>(number)];
    }

private:
    const Arrays& arrays_;
    std::vector<std::string> strings_;
};

/// Error unless the words that each word names are of its own sentence.
void check_sentences(const Arrays& arrays, const IndexedSentence& of, std::int64_t heads) {
    const auto size = static_cast<std::int32_t>(of.words.size());
    for (std::int32_t first = 0, last = 0; first < size; first = last) {
        last = sentence_of(of.words, first).second;
        const auto inside = [&](std::int32_t word) { return word == -1 || (word >= first && word < last); };
        for (std::int32_t w = first; w < last; ++w) {
            const Word& word = of.words[static_cast<std::size_t>(w)];
            if (word.begin < 0 || word.end < word.begin) arrays.throw_damaged("words.bytes");
            if (!inside(word.head)) arrays.throw_damaged("words.head", "a word of its sentence");
            for (const EnhancedArc& arc : word.enhanced)
                if (arc.head < first || arc.head >= last) arrays.throw_damaged("words.graph_head", "a word of its sentence");
            for (const auto values : {&IndexedSentence::to, &IndexedSentence::from})
                if (!std::ranges::all_of(
                        std::span(of.*values).subspan(static_cast<std::size_t>(w * heads), static_cast<std::size_t>(heads)),
                        inside))
                    arrays.throw_damaged("words.to", "a word of its sentence");
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

std::unique_ptr<Accumulator> WordIndex::fresh() const { return std::make_unique<WordIndex>(n_layers_, n_heads_, causal_); }

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

void WordIndex::merge(const Accumulator& other) {
    const auto& index = dynamic_cast<const WordIndex&>(other);
    for (const auto& [number, sentence] : index.sentences_) sentences_.emplace(number, sentence);
    counts_.left_out += index.counts_.left_out;
    counts_.shared_tokens += index.counts_.shared_tokens;
    counts_.unread_words += index.counts_.unread_words;
}

void WordIndex::save(Arrays& arrays) const {
    StringTable strings;
    for (const auto& [number, sentence] : sentences_) {
        strings.note(sentence.id);
        for (const Word& word : sentence.words)
            for (const std::string* s : {&word.form, &word.upos, &word.relation}) strings.note(*s);
        for (const Word& word : sentence.words)
            for (const EnhancedArc& arc : word.enhanced) strings.note(arc.relation);
    }
    strings.number();
    strings.save(arrays);

    std::vector<std::int64_t> numbers, ends, spans;
    std::vector<std::int32_t> ids, texts, first_words, sentence_numbers, graph_relations;
    std::vector<std::int16_t> word_heads, graph_heads;
    std::vector<std::int64_t> graph_ends;
    std::vector<std::uint8_t> flags;
    for (const auto& [number, sentence] : sentences_) {
        numbers.push_back(number);
        ids.push_back(strings[sentence.id]);
        first_words.push_back(sentence.first_word);
        for (std::size_t w = 0; w < sentence.words.size(); ++w) {
            const Word& word = sentence.words[w];
            for (const std::string* s : {&word.form, &word.upos, &word.relation}) texts.push_back(strings[*s]);
            spans.insert(spans.end(), {word.begin, word.end});
            word_heads.push_back(static_cast<std::int16_t>(word.head));
            sentence_numbers.push_back(word.sentence);
            for (const EnhancedArc& arc : word.enhanced) {
                graph_heads.push_back(static_cast<std::int16_t>(arc.head));
                graph_relations.push_back(strings[arc.relation]);
            }
            graph_ends.push_back(std::ssize(graph_heads));
            flags.push_back(static_cast<std::uint8_t>((word.shares_span ? 1 : 0) | (sentence.read[w] ? 2 : 0)));
        }
        ends.push_back(std::ssize(word_heads));
    }
    const std::int64_t n = std::ssize(word_heads), s = std::ssize(numbers);
    arrays.put<std::int64_t>("words.text", {s}, numbers);
    arrays.put<std::int32_t>("words.text_id", {s}, ids);
    arrays.put<std::int64_t>("words.text_end", {s}, ends);
    arrays.put<std::int32_t>("words.form_upos_relation", {n, 3}, texts);
    arrays.put<std::int64_t>("words.bytes", {n, 2}, spans);
    arrays.put<std::int16_t>("words.head", {n}, word_heads);
    arrays.put<std::uint8_t>("words.flags", {n}, flags);
    arrays.put<std::int32_t>("words.first_word", {s}, first_words);
    arrays.put<std::int32_t>("words.sentence", {n}, sentence_numbers);
    arrays.put<std::int64_t>("words.graph_end", {n}, graph_ends);
    arrays.put<std::int16_t>("words.graph_head", {std::ssize(graph_heads)}, graph_heads);
    arrays.put<std::int32_t>("words.graph_relation", {std::ssize(graph_heads)}, graph_relations);
    for (const WordHeadArray& array : kWordHeadArrays) {
        std::vector<std::int16_t> all;
        all.reserve(static_cast<std::size_t>(n * heads()));
        for (const auto& [number, sentence] : sentences_)
            all.insert(all.end(), (sentence.*array.values).begin(), (sentence.*array.values).end());
        arrays.put<std::int16_t>(array.name, {n, n_layers_, n_heads_}, all);
    }
    const std::array<std::int64_t, 3> counts{counts_.left_out, counts_.shared_tokens, counts_.unread_words};
    arrays.put<std::int64_t>("words.counts", {3}, counts);
    put_heads(arrays, "words.heads", {.layers = n_layers_, .heads = n_heads_, .causal = causal_});
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

void WordIndex::load(const Arrays& arrays) {
    const SavedStrings strings(arrays);
    const auto numbers = arrays.get_chunks("words.text", {-1});
    const std::int64_t s = std::ssize(numbers);
    const auto ids = arrays.get<std::int32_t>("words.text_id", {s});
    const auto ends = arrays.get<std::int64_t>("words.text_end", {s});
    const auto word_heads = arrays.get<std::int16_t>("words.head", {-1});
    const std::int64_t n = std::ssize(word_heads);
    const auto texts = arrays.get<std::int32_t>("words.form_upos_relation", {n, 3});
    const auto spans = arrays.get<std::int64_t>("words.bytes", {n, 2});
    const auto flags = arrays.get<std::uint8_t>("words.flags", {n});
    const auto sentence_numbers = arrays.get<std::int32_t>("words.sentence", {n});
    const auto first_words =
        arrays.get_within<std::int32_t>("words.first_word", {s}, 0, std::numeric_limits<std::int32_t>::max() - kMostWords);
    const auto graph_ends = arrays.get<std::int64_t>("words.graph_end", {n});
    const auto graph_heads = arrays.get<std::int16_t>("words.graph_head", {-1});
    const auto graph_relations = arrays.get<std::int32_t>("words.graph_relation", {std::ssize(graph_heads)});
    if (!std::ranges::is_sorted(graph_ends) ||
        (n > 0 ? graph_ends.front() < 0 || graph_ends.back() != std::ssize(graph_heads) : !graph_heads.empty()))
        arrays.throw_damaged("words.graph_end");
    const bool ordered = std::ranges::is_sorted(ends) && std::ranges::is_sorted(numbers);
    if (!ordered || (s > 0 ? ends.front() < 0 || ends.back() != n : n != 0)) arrays.throw_damaged("words.text_end");

    for (std::int64_t k = 0; k < s; ++k) {
        const auto text = static_cast<std::size_t>(k);
        const std::int64_t first = k > 0 ? ends[text - 1] : 0;
        const auto [place, is_new] = sentences_.try_emplace(numbers[text]);
        if (!is_new) arrays.throw_damaged("words.text");
        IndexedSentence& sentence = place->second;
        sentence.id = strings.at(ids[text]);
        sentence.first_word = first_words[text];
        for (std::int64_t w = first; w < ends[text]; ++w) {
            const auto at = static_cast<std::size_t>(w);
            sentence.words.push_back({.form = strings.at(texts[3 * at]),
                                      .upos = strings.at(texts[3 * at + 1]),
                                      .xpos = {},
                                      .relation = strings.at(texts[3 * at + 2]),
                                      .head = word_heads[at],
                                      .begin = spans[2 * at],
                                      .end = spans[2 * at + 1],
                                      .shares_span = (flags[at] & 1) != 0,
                                      .sentence = sentence_numbers[at]});
            sentence.read.push_back((flags[at] & 2) != 0);
            for (std::int64_t a = at > 0 ? graph_ends[at - 1] : 0; a < graph_ends[at]; ++a) {
                sentence.words.back().enhanced.push_back(
                    {graph_heads[static_cast<std::size_t>(a)], strings.at(graph_relations[static_cast<std::size_t>(a)])});
            }
        }
    }
    for (const WordHeadArray& array : kWordHeadArrays) {
        const auto all = arrays.get<std::int16_t>(array.name, {n, n_layers_, n_heads_});
        auto at = all.begin();
        for (auto& [number, sentence] : sentences_) {
            const auto end = at + std::ssize(sentence.words) * heads();
            (sentence.*array.values).assign(at, end);
            at = end;
        }
    }
    for (const auto& [number, sentence] : sentences_) check_sentences(arrays, sentence, heads());
    const auto counts = arrays.get_within<std::int64_t>("words.counts", {3}, 0, kMostCounted);
    counts_ = {counts[0], counts[1], counts[2]};
}

}  // namespace headlight::corpus
