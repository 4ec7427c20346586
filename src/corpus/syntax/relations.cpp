// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/relations.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/reading/conllu.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr Eigen::Index kColumnsAtATime = 256;

/// A word with its head, or with those of a graph, of which any counts; in the numbering of the sentences in their order.
struct Arc {
    std::int64_t sentence = 0;
    const IndexedSentence* of = nullptr;
    std::int64_t word = 0, first = 0, last = 0;  ///< first and last: of the words of its sentence, behind the last
    std::vector<std::int64_t> heads;

    bool is_head(std::int64_t other) const { return std::ranges::find(heads, other) != heads.end(); }
    void add_head(std::int64_t head) {
        if (!is_head(head)) heads.push_back(head);
    }
};

/// tree_problem() of words [first, last).
std::string sentence_problem(const std::vector<Word>& words, std::int32_t first, std::int32_t last) {
    std::vector<Word> own(words.begin() + first, words.begin() + last);
    for (Word& word : own)
        if (word.head >= 0) word.head -= first;
    return tree_problem(own);
}

bool covered(const Arc& arc, ArcDirection direction, bool causal) {
    if (!causal) return true;
    return std::ranges::any_of(
        arc.heads, [&](std::int64_t head) { return direction == ArcDirection::to_head ? head < arc.word : head > arc.word; });
}

bool predicted(const Arc& arc, ArcDirection direction, std::int64_t head, std::int64_t heads) {
    const auto at = static_cast<std::size_t>(arc.word * heads + head);
    return arc.is_head(direction == ArcDirection::to_head ? arc.of->to[at] : arc.of->from[at]);
}

bool offset_hits(const Arc& arc, std::int64_t offset) {
    return arc.is_head(std::clamp<std::int64_t>(arc.word + offset, arc.first, arc.last - 1));
}

/// Ties go to the shortest, then to the one on the left.
std::int64_t best_offset(const std::vector<Arc>& arcs) {
    std::int64_t best = -1, most = -1;
    for (std::int64_t distance = 1; distance <= kFarthestOffset; ++distance)
        for (const std::int64_t offset : {-distance, distance}) {
            const auto hits = std::ranges::count_if(arcs, [&](const Arc& arc) { return offset_hits(arc, offset); });
            if (hits > most) {
                most = hits;
                best = offset;
            }
        }
    return best;
}

double rate(double hits, double n) { return n > 0 ? hits / n : kNaN; }

/// Rows whose intervals are computed together: the bootstrap draws the same sentences for all of its columns.
class IntervalBatch {
public:
    IntervalBatch(const Bootstrap& bootstrap, const std::vector<bool>& half_b, std::vector<RelationRow>& rows)
        : bootstrap_(bootstrap), rows_(rows), half_b_(std::ssize(half_b), 1) {
        for (std::size_t s = 0; s < half_b.size(); ++s) half_b_(static_cast<Eigen::Index>(s), 0) = half_b[s];
    }
    /// Columns [sentence]: arcs, those that the head finds, those that the offset finds.
    void add(RelationRow row, const Eigen::VectorXd& n, const Eigen::VectorXd& hits, const Eigen::VectorXd& offset_hits) {
        if (pending_.empty()) n_.resize(n.size(), kColumnsAtATime), hits_ = offset_hits_ = n_;
        const auto column = static_cast<Eigen::Index>(pending_.size());
        n_.col(column) = n;
        hits_.col(column) = hits;
        offset_hits_.col(column) = offset_hits;
        pending_.push_back(rows_.size());
        rows_.push_back(std::move(row));
        if (std::ssize(pending_) == kColumnsAtATime) finish();
    }
    void finish() {
        const auto columns = static_cast<Eigen::Index>(pending_.size());
        if (columns == 0) return;
        const Bootstrap::Columns n = n_.leftCols(columns), hits = hits_.leftCols(columns), base = offset_hits_.leftCols(columns);
        const auto held = [&](const Bootstrap::Columns& of) -> Bootstrap::Columns {
            return of.array().colwise() * half_b_.col(0).array();
        };
        const std::vector<Interval> accuracy = bootstrap_.means(hits, n), gain = bootstrap_.differences(hits, n, base, n),
                                    held_out = bootstrap_.means(held(hits), held(n));
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            RelationRow& row = rows_[pending_[i]];
            row.accuracy = accuracy[i];
            row.gain = gain[i];
            if (row.held_out_n > 0) row.held_out = held_out[i];
        }
        pending_.clear();
    }

private:
    const Bootstrap& bootstrap_;
    std::vector<RelationRow>& rows_;
    Bootstrap::Columns half_b_, n_, hits_, offset_hits_;
    std::vector<std::size_t> pending_;
};

std::string base_of(const std::string& relation) { return relation.substr(0, relation.find(':')); }

/// What the word of `empty`, which has no heads yet, counts for in each relation, its subtype and all.
std::map<std::string, Arc> arcs_of(const Arc& empty, bool enhanced, RelationTable& table) {
    const IndexedSentence& sentence = *empty.of;
    const auto w = static_cast<std::size_t>(empty.word);
    const Word& word = sentence.words[w];
    std::vector<EnhancedArc> basic;
    if (word.head >= 0) basic.push_back({word.head, word.relation});
    std::map<std::string, Arc> found;
    for (const auto& [head, relation] : enhanced ? word.enhanced : basic) {
        const auto h = static_cast<std::size_t>(head);
        if (!sentence.read[w] || !sentence.read[h]) {
            ++table.unread_arcs;
            continue;
        }
        if (same_bytes(word, sentence.words[h])) {
            ++table.shared_arcs;
            continue;
        }
        for (const std::string& of : {std::string("all"), relation, base_of(relation)})
            if (!of.empty()) found.try_emplace(of, empty).first->second.add_head(head);
    }
    return found;
}

/// Every head on the covered arcs of a relation.
void score(const std::vector<Arc>& arcs, RelationRow row, const std::vector<bool>& half_b, const WordIndex& index, bool all_heads,
           IntervalBatch& batch) {
    const auto sentences = static_cast<Eigen::Index>(half_b.size());
    const std::int64_t heads = index.heads();
    row.n = std::ssize(arcs);
    row.offset = best_offset(arcs);
    Eigen::VectorXd n = Eigen::VectorXd::Zero(sentences), offset = n;
    Eigen::MatrixXd hits = Eigen::MatrixXd::Zero(sentences, heads);
    for (const Arc& arc : arcs) {
        n(arc.sentence) += 1;
        offset(arc.sentence) += offset_hits(arc, row.offset);
        for (std::int64_t h = 0; h < heads; ++h) hits(arc.sentence, h) += predicted(arc, row.direction, h, heads);
        ++(half_b[static_cast<std::size_t>(arc.sentence)] ? row.held_out_n : row.selection_n);
    }
    row.baseline = rate(offset.sum(), n.sum());
    Eigen::VectorXd selected = Eigen::VectorXd::Zero(heads);
    for (Eigen::Index s = 0; s < sentences; ++s)
        if (!half_b[static_cast<std::size_t>(s)]) selected += hits.row(s).transpose();
    if (row.selection_n == 0) row.held_out_n = 0;  // the head is chosen on all arcs, so none is left to measure it on
    Eigen::Index best = 0;                         // ties go to the first
    (row.selection_n > 0 ? selected : Eigen::VectorXd(hits.colwise().sum().transpose())).maxCoeff(&best);
    for (std::int64_t h = 0; h < heads; ++h) {
        if (!all_heads && h != best) continue;
        row.head = {Layer(h / index.n_heads()), Head(h % index.n_heads())};
        row.best = h == best;
        row.selection = rate(selected(h), static_cast<double>(row.selection_n));
        batch.add(row, n, hits.col(h), offset);
    }
}

}  // namespace

bool in_half_b(std::string_view sentence_id) noexcept {
    return (draw(static_cast<std::uint64_t>(name_hash(sentence_id)), 0, 0) & 1) != 0;
}

RelationTable relation_table(const WordIndex& index, const RelationOptions& options, const CancelToken& cancel) {
    if (options.enhanced && !index.enhanced())
        throw Error({.problem = "The treebank has no enhanced dependencies",
                     .expected = "arcs in the column DEPS",
                     .hint = "Without --enhanced the arcs of HEAD are scored; a store of an earlier version kept no DEPS"});
    RelationTable table;
    table.causal = index.causal();
    table.enhanced = options.enhanced;
    std::map<std::string, std::vector<Arc>> by_relation;
    std::vector<bool> half_b;
    for (const auto& [number, sentence] : index.sentences()) {
        half_b.push_back(in_half_b(sentence.id));
        std::int32_t first = 0, last = 0;
        for (std::size_t w = 0; w < sentence.words.size(); ++w) {
            if (std::cmp_equal(w, last)) {
                std::tie(first, last) = sentence_of(sentence.words, last);
                table.no_trees += !sentence_problem(sentence.words, first, last).empty();
            }
            const std::map<std::string, Arc> arcs =
                arcs_of({table.sentences, &sentence, static_cast<std::int64_t>(w), first, last, {}}, options.enhanced, table);
            for (const auto& [relation, arc] : arcs) by_relation[relation].push_back(arc);
            table.arcs += !arcs.empty();
        }
        ++table.sentences;
    }

    std::vector<std::string> order;
    for (const auto& [relation, arcs] : by_relation) order.push_back(relation);
    const auto place = [&](const std::string& relation) {
        const std::string whole = base_of(relation);
        return std::tuple(-std::ssize(by_relation.at(whole)), whole, relation != whole, -std::ssize(by_relation.at(relation)),
                          relation);
    };
    std::ranges::sort(order, {}, place);

    const Bootstrap bootstrap(table.sentences, options.bootstrap);
    IntervalBatch batch(bootstrap, half_b, table.rows);
    for (const std::string& relation : order)
        for (const auto& [direction, word, title, note] : arc_directions) {
            cancel.throw_if_cancelled();
            const std::vector<Arc>& all = by_relation.at(relation);
            std::vector<Arc> arcs;
            for (const Arc& arc : all)
                if (covered(arc, direction, table.causal)) arcs.push_back(arc);
            RelationRow row;
            row.relation = relation;
            row.direction = direction;
            row.arcs = std::ssize(all);
            if (arcs.empty())
                table.rows.push_back(std::move(row));
            else
                score(arcs, std::move(row), half_b, index, options.all_heads, batch);
        }
    batch.finish();
    return table;
}

}  // namespace headlight::corpus
