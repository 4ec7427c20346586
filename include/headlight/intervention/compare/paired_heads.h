// SPDX-License-Identifier: GPL-3.0-or-later
// Heads compared over many pairs of texts: what a head does in A, in B, and the mean difference with its interval.
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/recipe/place_text.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headlight::intervention {

/// Two texts, and in each the words whose attention to other words counts.
struct TextPair {
    std::string a, b;
    std::string group{};  ///< pairs of a group (a template) are resampled together; empty: a group of its own
    PlaceText from_a{}, from_b{}, to_a{}, to_b{};  ///< all four or none
    std::string name{};                            ///< "line 3"
};
/// One object a line: {"a": "…", "b": "…", "group": "…", "from": "he", "to": "doctor"}. "clean" and "corrupt" (the pairs of a
/// sweep) or "sentence_good" and "sentence_bad" (BLiMP) stand for "a" and "b". `from` and `to` are words, a position, a list of
/// positions, or an object with one of these for each text: {"a": "he", "b": "she"}. Errors name file, line and field.
std::vector<TextPair> read_text_pairs(const std::filesystem::path&);

/// The measure of TextPair::from and to: the weight from a token of `from` to all tokens of `to`, the mean over the former.
inline constexpr const char* kWordsMeasure = "attention";

struct PairedOptions {
    CompareOptions rows{};
    bool measures = false;  ///< every measure of heads
    std::string by{};       ///< this one in any case; empty: attention where the pairs have places, else tv
    corpus::BootstrapOptions bootstrap{};
};

struct PairedHead {
    corpus::Interval a, b;        ///< of a distance without numbers
    corpus::Interval difference;  ///< B - A; of a distance the distance
    std::int64_t pairs = 0;       ///< that have a value in both texts
    /// The interval is there and holds 0.
    bool holds_zero() const noexcept { return difference.low <= 0 && difference.high >= 0; }
};
struct PairedMeasure {
    analyze::MeasureInfo info;
    bool is_distance = false;       ///< of the two runs (js, tv …), which A alone does not have
    std::vector<PairedHead> heads;  ///< [layer * heads + head]
};
struct PairedHeads {
    std::int64_t n_layers = 0, n_heads = 0;
    std::int64_t pairs = 0, groups = 0;  ///< that count
    std::vector<std::string> skipped;    ///< pairs that do not, with the reason: "line 3: …"
    std::vector<PairedMeasure> measures;
    std::string by;  ///< the measure that a figure shows
    const PairedMeasure& shown() const;
};
/// Runs both texts of every pair with `run`, which keeps the overview of heads. A pair that cannot be compared (no token in
/// common, words that are not in its text, too many tokens) is skipped. Means are over pairs, each of weight one, A's and B's
/// over the same ones; intervals of 95 % by drawing groups with replacement. Errors: no pair is left, with the first reason; no
/// measure of the name `by`.
PairedHeads paired_heads(const std::vector<TextPair>&, const std::function<TracePtr(const std::string& text)>& run,
                         const PairedOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// layer, head, pairs; of a distance NAME, NAME_low, NAME_high; of any other measure NAME_a, NAME_b and NAME_difference, each
/// with _low and _high, and NAME_pairs.
analyze::Table table_of(const PairedHeads&);
/// How the numbers are to be read: pairs that were skipped, heads whose interval leaves out 0 by chance.
std::vector<std::string> notes_of(const PairedHeads&);

}  // namespace headlight::intervention
