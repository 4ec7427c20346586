// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/relations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace headlight::corpus {
namespace {

/// Clark et al. 2019, Table 1, as their notebook prints it: BERT-base-uncased on the development part of the Penn Treebank with
/// Stanford Dependencies, in percent; the direction is ours. Heads count from 0.
struct ClarkRow {
    std::string_view theirs, head;
    double accuracy, baseline;
    std::string_view relation;  ///< the closest one of Universal Dependencies
};
constexpr std::array<ClarkRow, 16> kClark{{{"all", "L6H5", 34.7, 26.7, "all"},
                                           {"prep", "L6H3", 66.7, 61.8, "case"},
                                           {"pobj", "L8H5", 76.3, 34.6, "obl"},
                                           {"det", "L7H10", 94.3, 51.7, "det"},
                                           {"nn", "L3H9", 70.4, 70.2, "compound"},
                                           {"nsubj", "L7H1", 58.5, 45.5, "nsubj"},
                                           {"amod", "L3H9", 75.6, 68.3, "amod"},
                                           {"dobj", "L7H9", 86.8, 40.0, "obj"},
                                           {"advmod", "L6H5", 48.8, 40.2, "advmod"},
                                           {"aux", "L3H9", 81.1, 71.5, "aux"},
                                           {"poss", "L6H5", 80.5, 47.7, "nmod:poss"},
                                           {"auxpass", "L3H9", 94.1, 82.5, "aux:pass"},
                                           {"ccomp", "L7H0", 48.8, 12.4, "ccomp"},
                                           {"mark", "L7H1", 50.7, 14.5, "mark"},
                                           {"prt", "L5H6", 99.1, 91.4, "compound:prt"},
                                           {"cop", "L6H5", 72.2, 40.5, "cop"}}};

std::string percent(double share, const char* gap = "--") {
    if (std::isnan(share)) return gap;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", 100 * share);
    return text.data();
}

std::string range_of(const Interval& interval) {
    if (std::isnan(interval.low)) return "";
    return " [" + percent(interval.low) + ", " + percent(interval.high) + "]";
}

double coverage_of(const RelationRow& row) {
    return row.arcs > 0 ? static_cast<double>(row.n) / static_cast<double>(row.arcs) : kNaN;
}

/// The direction of a relation with more arcs; the dependent's if they are equal.
bool most_covered(const RelationTable& relations, const RelationRow& row) {
    return std::ranges::none_of(relations.rows, [&](const RelationRow& other) {
        return other.relation == row.relation && (row.direction == ArcDirection::to_head ? other.n > row.n : other.n >= row.n) &&
               other.direction != row.direction;
    });
}

std::string signed_number(std::int64_t n) { return (n > 0 ? "+" : n < 0 ? "$-$" : "") + std::to_string(n < 0 ? -n : n); }

}  // namespace

analyze::Table table_of(const RelationTable& relations) {
    analyze::Table table;
    table.columns = {"relation",  "direction", "layer",       "head",     "accuracy",        "low",           "high",
                     "n",         "arcs",      "coverage",    "baseline", "baseline_offset", "gain",          "gain_low",
                     "gain_high", "selection", "selection_n", "held_out", "held_out_low",    "held_out_high", "held_out_n",
                     "best",      "few"};
    table.definitions = {
        {"relation", "Relation of Universal Dependencies; without a subtype: with all of its subtypes. all: every arc."},
        {"direction",
         "dependent-to-head: the word that the dependent attends to most is taken for its head; head-to-dependent: the "
         "word that attends to it most. Attention between words as in Clark et al. 2019, without the word itself and "
         "special tokens."},
        {"accuracy", "Share of the n arcs whose head is predicted."},
        {"low", "95 % interval of the accuracy, to high: percentiles of a bootstrap over sentences."},
        {"n", "Arcs that the direction covers: all of them, but in a causal model those whose attending word comes later."},
        {"arcs", relations.enhanced ? "Words with a head by the relation in DEPS; any of these heads is right."
                                    : "Arcs of the relation."},
        {"coverage", "n / arcs."},
        {"baseline",
         "Accuracy of the best constant offset on the same arcs: head = word + baseline_offset, clamped to the sentence."},
        {"gain", "Accuracy - baseline, with its interval on the same drawn sentences."},
        {"selection", "Accuracy on half A of the sentences, where the best head is chosen; over selection_n arcs."},
        {"held_out", "Accuracy on half B, which had no part in the choice; over held_out_n arcs."},
        {"best", "1: the best head of its relation and direction on half A."},
        {"few", "1: fewer than " + std::to_string(kFewArcs) + " arcs."}};
    for (const RelationRow& row : relations.rows) {
        const bool any = row.n > 0;
        const auto index = [&](std::int64_t i) { return any ? analyze::Table::Cell(i) : analyze::Table::Cell(); };
        table.add({row.relation,
                   std::string(enum_word(row.direction)),
                   index(row.head.layer.value),
                   index(row.head.head.value),
                   row.accuracy.mean,
                   row.accuracy.low,
                   row.accuracy.high,
                   row.n,
                   row.arcs,
                   coverage_of(row),
                   row.baseline,
                   index(row.offset),
                   row.gain.mean,
                   row.gain.low,
                   row.gain.high,
                   row.selection,
                   row.selection_n,
                   row.held_out.mean,
                   row.held_out.low,
                   row.held_out.high,
                   row.held_out_n,
                   index(row.best ? 1 : 0),
                   std::int64_t{row.n < kFewArcs ? 1 : 0}});
    }
    return table;
}

std::string latex_of(const RelationTable& relations) {
    std::string out =
        "% Needs \\usepackage{booktabs}. In percent; brackets: 95 % bootstrap over sentences.\n"
        "\\begin{tabular}{lllrrrrllr}\n"
        "\\toprule\n"
        "Relation & Attends & Head & Accuracy & Baseline & Held out & $n$ & \\multicolumn{3}{l}{Clark et al.\\ 2019, BERT} \\\\\n"
        "\\midrule\n";
    bool few = false;
    for (const RelationRow& row : relations.rows) {
        if (!row.best) continue;
        few = few || row.n < kFewArcs;
        const auto clark = std::ranges::find(kClark, row.relation, &ClarkRow::relation);
        const bool with_clark = clark != kClark.end() && most_covered(relations, row);
        out += row.relation + (row.n < kFewArcs ? "$^\\dagger$" : "") + " & " +
               (row.direction == ArcDirection::to_head ? "to head" : "to dependent") + " & L" +
               std::to_string(row.head.layer.value) + "H" + std::to_string(row.head.head.value) + " & " +
               percent(row.accuracy.mean) + range_of(row.accuracy) + " & " + percent(row.baseline) + " (" +
               signed_number(row.offset) + ") & " + percent(row.held_out.mean) + range_of(row.held_out) + " & " +
               std::to_string(row.n) + " & ";
        out += with_clark ? std::string(clark->theirs) + " & " + std::string(clark->head) + " & " +
                                percent(clark->accuracy / 100) + " (" + percent(clark->baseline / 100) + ")"
                          : "& &";
        out += " \\\\\n";
    }
    out += "\\bottomrule\n\\end{tabular}\n";
    out +=
        "% Clark et al.: Penn Treebank with Stanford Dependencies; the relation of Universal Dependencies beside theirs is the\n"
        "% nearest one, whose arcs may point the other way (prep and pobj against case and obl). Not to be compared row by row.\n";
    if (few) out += "% $\\dagger$: fewer than " + std::to_string(kFewArcs) + " arcs.\n";
    if (relations.causal) out += "% A causal model: $n$ are the arcs whose attending word comes later.\n";
    return out;
}

}  // namespace headlight::corpus
