// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/word_query.h"

#include "headlight/base/nearest.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/syntax/relations.h"
#include "text/unicode/unicode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

namespace headlight::corpus {
namespace {

using analyze::QueryPhrase;
using text::unicode::case_folded;

bool is_relation(const std::string& relation, const std::string& asked) {
    return relation.starts_with(asked) && (relation.size() == asked.size() || relation[asked.size()] == ':');
}

bool holds(double value, const std::string& op, double number) {
    if (op == "<") return value < number;
    if (op == "<=") return value <= number;
    if (op == ">") return value > number;
    if (op == ">=") return value >= number;
    return op == "!=" ? value != number : value == number;
}

std::string text_of(const QueryPhrase& phrase) {
    const auto word = [](const QueryPhrase::Word& of) { return of.quoted ? "`" + of.text + "`" : of.text; };
    return word(phrase.from) + " attends to " + (phrase.its ? "its " : "") + word(phrase.to);
}

constexpr double kBarely = 0.05;
constexpr const char* kShareOf = ": share";
constexpr const char* kWeightOf = ": weight";
constexpr const char* kLeastWeightOf = ": weight at least";  ///< if the index holds only the weights of hits

/// Rounded to the precision of the stored weights.
double four_digits(double weight) { return std::round(1e4 * weight) / 1e4; }

}  // namespace

bool WordQuery::Words::matches(const Word& word) const {
    if (!upos.empty()) return word.upos == upos;
    if (!relation.empty()) return is_relation(word.relation, relation);
    return form.empty() || case_folded(word.form) == form;
}

/// Resolves the measure of a condition while the expression is parsed.
class WordQuery::Phrases final : public analyze::QueryPhrases {
public:
    explicit Phrases(WordQuery& query) : query_(query) {}
    std::string measure(const QueryPhrase& phrase) override {
        const Meaning meaning = query_.meaning_of(phrase);
        if (phrase.number > 1 || phrase.number < 0)
            analyze::fail_in_query(phrase.from.column, "A share or weight is out of range",
                                   "0 % to 100 %, or a weight from 0 to 1", significant(phrase.number),
                                   "60 % is a share of the words, 0.6 a weight");
        if (phrase.in_texts && phrase.percent)
            analyze::fail_in_query(phrase.from.column, "A share is one of all texts", "a weight, such as 0.3, in so many texts",
                                   significant(100 * phrase.number) + " %");
        if (!phrase.its && !phrase.percent && phrase.op[0] != '>')
            analyze::fail_in_query(phrase.from.column, "The index holds such weights only for hits: the mean is a lower bound",
                                   "> or >=", phrase.op,
                                   "Compare a share (60 %), or ask for a relation: attends to its nsubj < 0.1");
        Condition condition{.text = text_of(phrase), .measure = {}, .share = text_of(phrase) + kShareOf, .phrase = phrase};
        if (phrase.in_texts)
            condition.measure = condition.text + " " + phrase.op + " " + significant(phrase.number) + ": texts";
        else
            condition.measure = phrase.percent ? condition.share : condition.text + (phrase.its ? kWeightOf : kLeastWeightOf);
        query_.evaluate(condition, meaning);
        query_.meanings_.push_back(meaning);
        query_.conditions_.push_back(condition);
        return condition.measure;
    }

private:
    WordQuery& query_;
};

WordQuery::WordQuery(std::string_view expression, const WordIndex& index, const analyze::HeadTable* known,
                     const trace::Trace* trace)
    : index_(index) {
    if (known) {
        table_ = *known;
    } else {
        table_.n_layers = index.n_layers();
        table_.n_heads = table_.n_kv_heads = index.n_heads();
        table_.causal = index.causal();
    }
    Phrases phrases(*this);
    const analyze::HeadTable names = table_;  // the conditions' own measures have none
    query_ = analyze::HeadQuery::parse(expression, names, trace, &phrases);
}

WordQuery::Words WordQuery::words_of(const QueryPhrase::Word& word, bool relations_only) const {
    if (word.quoted) {
        if (relations_only)
            analyze::fail_in_query(word.column, "Its what?", "a relation, such as nsubj, or head", "\"" + word.text + "\"",
                                   "Write attends to \"" + word.text + "\", or name a relation");
        return {.form = case_folded(word.text)};
    }
    std::set<std::string> tags, relations;
    for (const auto& [number, sentence] : index_.sentences())
        for (const Word& each : sentence.words) {
            tags.insert(each.upos);
            relations.insert(each.relation);
            relations.insert(each.relation.substr(0, each.relation.find(':')));
        }
    tags.erase("");
    relations.erase("");
    const std::string asked = case_folded(word.text);
    if (!relations_only && (asked == "word" || asked == "any")) return {};
    // AUX is the part of speech and aux the relation; another case counts only if neither matches exactly.
    for (const bool any_case : {false, true}) {
        const auto is_asked = [&](const std::string& name) { return any_case ? case_folded(name) == asked : name == word.text; };
        if (const auto tag = std::ranges::find_if(tags, is_asked); !relations_only && tag != tags.end()) return {.upos = *tag};
        if (const auto relation = std::ranges::find_if(relations, is_asked); relation != relations.end())
            return {.relation = *relation};
    }
    std::vector<std::string> names(relations.begin(), relations.end());
    if (!relations_only) names.insert(names.end(), tags.begin(), tags.end());
    const std::string near = nearest(word.text, names);
    const std::string quoted = relations_only ? "" : "A form is written in quotes: \"" + word.text + "\"";
    analyze::fail_in_query(
        word.column, relations_only ? "The treebank has no such relation" : "The treebank has no such part of speech or relation",
        relations_only ? "a relation, such as nsubj, or head" : "VERB, nsubj, a form in quotes, or word", "\"" + word.text + "\"",
        near.empty() ? quoted : "Did you mean " + near + "?");
}

WordQuery::Meaning WordQuery::meaning_of(const QueryPhrase& phrase) const {
    Meaning meaning;
    meaning.from = words_of(phrase.from, false);
    meaning.its = phrase.its;
    meaning.its_head = phrase.its && !phrase.to.quoted && case_folded(phrase.to.text) == "head";
    if (!meaning.its_head) meaning.to = words_of(phrase.to, phrase.its);
    return meaning;
}

template <class Visit>
std::int64_t WordQuery::each_case(const Meaning& meaning, Visit&& visit) const {
    std::int64_t out_of_reach = 0;
    std::vector<std::int32_t> targets;
    for (const auto& [number, sentence] : index_.sentences()) {
        const auto n = static_cast<std::int32_t>(sentence.words.size());
        for (std::int32_t w = 0; w < n; ++w) {
            const Word& word = sentence.words[static_cast<std::size_t>(w)];
            if (!sentence.read[static_cast<std::size_t>(w)] || !meaning.from.matches(word)) continue;
            targets.clear();
            bool any = false;
            const auto [first, last] = sentence_of(sentence.words, w);
            for (std::int32_t t = first; t < last; ++t) {
                const Word& target = sentence.words[static_cast<std::size_t>(t)];
                const bool is_target = meaning.its_head ? word.head == t
                                       : meaning.its    ? target.head == w && meaning.to.matches(target)
                                                        : t != w && meaning.to.matches(target);
                if (!is_target || !sentence.read[static_cast<std::size_t>(t)] || same_bytes(word, target)) continue;
                any = true;
                if (!index_.causal() || t < w) targets.push_back(t);
            }
            out_of_reach += any && targets.empty();
            if (!targets.empty()) visit(number, sentence, w, targets);
        }
    }
    return out_of_reach;
}

double WordQuery::weight_on(const Meaning& meaning, const IndexedSentence& sentence, std::int32_t word, std::int32_t target,
                            std::int64_t head) const {
    const auto at = [&](std::int32_t w) { return static_cast<std::size_t>(w * index_.heads() + head); };
    if (meaning.its_head) return kWeightUnit * sentence.head_weight[at(word)];
    if (meaning.its) return kWeightUnit * sentence.dependent_weight[at(target)];
    const std::int16_t attended = sentence.to[at(word)];
    return attended == target ? kWeightUnit * sentence.to_weight[at(word)] : attended < 0 ? 0 : kNaN;
}

void WordQuery::evaluate(Condition& condition, const Meaning& meaning) {
    const std::int64_t heads = index_.heads();
    std::vector<std::int64_t> hits(static_cast<std::size_t>(heads)), texts(hits), last_text(hits.size(), -1);
    std::vector<double> weights(hits.size());
    std::array<std::int64_t, 2 * kFarthestOffset + 1> at_offset{};
    std::int64_t last = -1;
    condition.out_of_reach = each_case(meaning, [&](std::int64_t number, const IndexedSentence& sentence, std::int32_t word,
                                                    const std::vector<std::int32_t>& targets) {
        ++condition.cases;
        condition.texts += number != last;
        last = number;
        const auto [first, end] = sentence_of(sentence.words, word);
        for (std::int64_t offset = -kFarthestOffset; offset <= kFarthestOffset; ++offset) {  // as relation_table()
            const std::int64_t at = std::clamp<std::int64_t>(word + offset, first, end - 1);
            if (offset != 0 && std::ranges::find(targets, at) != targets.end())
                ++at_offset[static_cast<std::size_t>(offset + kFarthestOffset)];
        }
        for (std::int64_t h = 0; h < heads; ++h) {
            const auto i = static_cast<std::size_t>(h);
            const std::int16_t attended = sentence.to[static_cast<std::size_t>(word * heads + h)];
            double weight = 0;
            for (const std::int32_t target : targets) {
                hits[i] += attended == target;
                if (const double here = weight_on(meaning, sentence, word, target, h); here > weight) weight = here;
            }
            weights[i] += weight;
            if (last_text[i] != number && holds(weight, condition.phrase.op, condition.phrase.number)) {
                last_text[i] = number;
                ++texts[i];
            }
        }
    });
    const auto add = [&](const std::string& id, const std::string& definition, auto&& value) {
        if (table_.find(id)) return;
        Eigen::MatrixXd values(index_.n_layers(), index_.n_heads());
        for (std::int64_t h = 0; h < heads; ++h)
            values(h / index_.n_heads(), h % index_.n_heads()) = condition.cases > 0 ? value(static_cast<std::size_t>(h)) : kNaN;
        table_.measures.push_back({id, id, definition, "share", 0, 1});
        table_.values.push_back(std::move(values));
    };
    const auto n = static_cast<double>(condition.cases);
    std::int64_t most = -1;
    for (std::int64_t distance = 1; distance <= kFarthestOffset; ++distance)
        for (const std::int64_t offset : {-distance, distance})
            if (const std::int64_t hit = at_offset[static_cast<std::size_t>(offset + kFarthestOffset)]; hit > most) {
                most = hit;
                condition.offset = offset;
            }
    condition.offset_share = condition.cases > 0 ? static_cast<double>(most) / n : kNaN;
    add(condition.share, "Share of the cases in which the word attended to most is the target.",
        [&](std::size_t h) { return static_cast<double>(hits[h]) / n; });
    add(condition.text + (meaning.its ? kWeightOf : kLeastWeightOf),
        meaning.its ? "Mean weight over the cases."
                    : "A lower bound of the mean weight over the cases: those in which the word attended to most is not the one "
                      "count as 0, for the index does not hold their weight.",
        [&](std::size_t h) { return weights[h] / n; });
    if (condition.phrase.in_texts)
        add(condition.measure,
            meaning.its ? "Texts in which a case has such a weight."
                        : "Texts in which a case has such a weight on the word that it attends to most.",
            [&](std::size_t h) { return static_cast<double>(texts[h]); });
}

std::vector<HeadId> WordQuery::heads() const {
    const std::string by = conditions_.empty() ? "layer" : conditions_.front().measure;
    // For "<" the wanted heads are at the other end.
    const bool ascending =
        conditions_.empty() || (conditions_.front().phrase.op[0] == '<' && !conditions_.front().phrase.in_texts);
    return analyze::ranked_heads(table_, query_, by, ascending);
}

std::vector<WordQuery::Case> WordQuery::cases(std::size_t condition, HeadId id) const {
    const Meaning& meaning = meanings_.at(condition);
    const std::int64_t head = id.layer.value * index_.n_heads() + id.head.value;
    std::vector<Case> out;
    each_case(meaning, [&](std::int64_t number, const IndexedSentence& sentence, std::int32_t word,
                           const std::vector<std::int32_t>& targets) {
        const auto at = static_cast<std::size_t>(word * index_.heads() + head);
        Case one{.text = number, .word = word, .target = -1, .attended = sentence.to[at]};
        one.attended_weight = kWeightUnit * sentence.to_weight[at];
        for (const std::int32_t target : targets) {
            const double weight = weight_on(meaning, sentence, word, target, head);
            if (one.target >= 0 && target != one.attended && (one.hit() || !(weight > one.weight))) continue;
            one.target = target;
            one.weight = weight;
        }
        out.push_back(one);
    });
    return out;
}

std::vector<std::int32_t> WordQuery::targets(std::size_t condition, const Case& one) const {
    std::vector<std::int32_t> out;
    each_case(meanings_.at(condition),
              [&](std::int64_t number, const IndexedSentence&, std::int32_t word, const std::vector<std::int32_t>& of_case) {
                  if (number == one.text && word == one.word) out = of_case;
              });
    return out;
}

std::vector<Interval> WordQuery::shares(std::size_t condition, const std::vector<HeadId>& heads,
                                        const BootstrapOptions& options) const {
    if (heads.empty()) return {};
    const std::int64_t sentences = std::ssize(index_.sentences());
    Bootstrap::Columns hits = Bootstrap::Columns::Zero(sentences, std::ssize(heads)), cases = hits;
    auto at = index_.sentences().begin();
    Eigen::Index row = 0;  // of all sentences, as relation_table() numbers them: both draw the same ones
    each_case(meanings_.at(condition), [&](std::int64_t number, const IndexedSentence& sentence, std::int32_t word,
                                           const std::vector<std::int32_t>& targets) {
        for (; at->first != number; ++at) ++row;
        for (std::size_t h = 0; h < heads.size(); ++h) {
            const std::int64_t head = heads[h].layer.value * index_.n_heads() + heads[h].head.value;
            const std::int16_t attended = sentence.to[static_cast<std::size_t>(word * index_.heads() + head)];
            hits(row, static_cast<Eigen::Index>(h)) += std::ranges::find(targets, attended) != targets.end();
            cases(row, static_cast<Eigen::Index>(h)) += 1;
        }
    });
    return Bootstrap(sentences, options).means(hits, cases);
}

std::string marked_sentence(const IndexedSentence& sentence, std::int32_t bracketed, std::int32_t braced) {
    std::string out;
    if (sentence.words.empty()) return out;
    const auto [first, last] = sentence_of(sentence.words, std::max(bracketed, 0));
    std::int64_t end = sentence.words[static_cast<std::size_t>(first)].begin, shared = -1;
    for (std::int32_t w = first; w < last; ++w) {
        const Word& word = sentence.words[static_cast<std::size_t>(w)];
        if (word.begin > end || (word.shares_span && word.begin == shared)) out += ' ';
        const bool brackets = w == bracketed, braces = w == braced;
        out += (brackets ? "[" : "") + std::string(braces ? "{" : "") + word.form + (braces ? "}" : "") + (brackets ? "]" : "");
        end = word.end;
        shared = word.shares_span ? word.begin : -1;
    }
    return out;
}

analyze::Table table_of(const WordQuery& query, const BootstrapOptions& bootstrap) {
    analyze::Table table;
    table.columns = {"layer", "head"};
    const std::vector<HeadId> heads = query.heads();
    std::vector<std::vector<analyze::Table::Cell>> rows;
    for (const HeadId head : heads) rows.push_back({head.layer.value, head.head.value});
    const analyze::HeadTable& measures = query.measures();
    for (std::size_t m = 0; m < measures.measures.size(); ++m) {
        const analyze::MeasureInfo& measure = measures.measures[m];
        table.columns.push_back(measure.id);
        table.definitions.emplace_back(measure.id, measure.definition);
        for (std::size_t h = 0; h < heads.size(); ++h)
            rows[h].emplace_back(measures.values[m](heads[h].layer.value, heads[h].head.value));
        const auto condition = std::ranges::find(query.conditions(), measure.id, &WordQuery::Condition::share);
        if (condition == query.conditions().end()) continue;
        const std::vector<Interval> shares =
            query.shares(static_cast<std::size_t>(condition - query.conditions().begin()), heads, bootstrap);
        table.columns.insert(table.columns.end(), {measure.id + " low", measure.id + " high", measure.id + " baseline"});
        table.definitions.emplace_back(measure.id + " low", "95 % interval: percentiles of a bootstrap over sentences.");
        table.definitions.emplace_back(measure.id + " baseline",
                                       "Share of the cases that have one at the best constant distance.");
        for (std::size_t h = 0; h < heads.size(); ++h)
            rows[h].insert(rows[h].end(), {shares[h].low, shares[h].high, condition->offset_share});
    }
    for (auto& row : rows) table.add(std::move(row));
    return table;
}

std::vector<WordQuery::Case> example_cases(const WordQuery& query, std::size_t condition, HeadId head, ExampleKind kind,
                                           std::int64_t n) {
    std::vector<WordQuery::Case> cases = query.cases(condition, head);
    const bool counter = kind == ExampleKind::counter_example;
    std::erase_if(cases, [&](const WordQuery::Case& one) {
        return counter ? one.at_most() >= kBarely : one.hit() != (kind == ExampleKind::hit);
    });
    std::ranges::stable_sort(cases, std::ranges::greater(),
                             [&](const WordQuery::Case& one) { return counter ? one.attended_weight : one.at_most(); });
    cases.resize(std::min(cases.size(), static_cast<std::size_t>(n)));
    return cases;
}

analyze::Table examples_of(const WordQuery& query, std::size_t condition, HeadId head, std::int64_t n, const WordIndex& index,
                           const std::function<void(WordQuery::Case&)>& complete) {
    analyze::Table table;
    table.columns = {"kind", "layer", "head", "sentence", "weight", "attended_weight", "word", "target", "attended", "text"};
    table.definitions = {
        {"kind",
         "hit: the word attends to its target most; miss: to another word; counter-example: its weight on every target is "
         "below 5 %."},
        {"sentence", "sent_id of the treebank."},
        {"weight",
         "Of the word on its target; of several the largest. Empty where the index does not hold it: at a miss without \"its\", and "
         "then it is at most attended_weight."},
        {"attended", "The other word that it attends to most, with attended_weight."},
        {"text", "The sentence with the word in brackets and its target in braces."}};
    for (const auto& [kind, word, title, note] : example_kinds) {
        for (WordQuery::Case& one : example_cases(query, condition, head, kind, n)) {
            if (complete) complete(one);
            const IndexedSentence& sentence = index.sentences().at(one.text);
            const auto form = [&](std::int32_t w) { return w < 0 ? "" : sentence.words[static_cast<std::size_t>(w)].form; };
            table.add({std::string(word), head.layer.value, head.head.value, sentence.id, four_digits(one.weight),
                       four_digits(one.attended_weight), form(one.word), form(one.target), form(one.attended),
                       marked_sentence(sentence, one.word, one.target)});
        }
    }
    return table;
}

}  // namespace headlight::corpus
