// SPDX-License-Identifier: GPL-3.0-or-later
// Two runs, head by head: another text, another model, or the same text under a recipe.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/intervention/compare/alignment.h"

#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headlight::intervention {

using TracePtr = std::shared_ptr<const trace::Trace>;

/// Distances of two distributions over keys of which some are in one text alone: `rest_a`, `rest_b` is the weight on those.
/// js: Jensen-Shannon divergence, nats, at most ln 2. tv: total variation, at most 1. kl: KL(a | b), infinite if a has weight
/// where b has none. hellinger: sqrt(1 - sum sqrt(ab)). Swapping a and b changes kl alone.
struct RowDistance {
    double js = 0, tv = 0, kl = 0, hellinger = 0;
};
RowDistance row_distance(std::span<const double> a, std::span<const double> b, double rest_a = 0, double rest_b = 0);

/// Two runs and what in one stands for what in the other.
struct RunPair {
    TracePtr a, b;
    Alignment queries, keys;

    /// The same number of layers and heads: heads can be compared by their numbers.
    bool same_shape() const noexcept;
    /// A model's own numbering: the same weights, whatever was edited or read.
    bool same_model() const noexcept;
};
/// Error: nothing in common, a picture beside a text, a cross attention beside a self attention.
RunPair pair_of(TracePtr a, TracePtr b);

struct CompareOptions {
    /// The first key leaves both rows, and the others are renormalised; a row with all its weight there is not defined.
    bool without_first = false;
    bool operator==(const CompareOptions&) const = default;
};
void describe(Describes<CompareOptions> auto& r, const auto& field) {
    field(Field{"without-first", "Without the first key",
                "leave out the first key, on which much attention rests, and renormalise the others"},
          r.without_first);
}

/// A head of a and the one of b that it is compared with.
using HeadPairs = std::vector<std::pair<HeadId, HeadId>>;
/// Every head with the one of the same number. Error: the models have other numbers of layers or heads.
HeadPairs same_heads(const RunPair&);

/// One-to-one partners with the smallest sum of mean divergences (Hungarian method), since heads of models that were trained
/// separately have no common order. Over at most 64 rows, evenly spaced. Heads without a partner are left out.
struct HeadMatching {
    HeadPairs pairs;
    std::vector<double> js;  ///< [pair]
    std::int64_t rows = 0;
};
HeadMatching match_heads(const RunPair&, const CompareOptions& = {}, const CancelToken& = {}, const Progress& = {});
/// layer, head, partner_layer, partner_head, js.
analyze::Table table_of(const HeadMatching&);

/// Means over rows that have a partner, without row 0 of causal models, which can only attend to itself. NaN: no such row.
struct HeadComparison {
    HeadId head, partner;
    double js = kNaN, js_max = kNaN, tv = kNaN;
    std::int64_t row_of_max = -1;  ///< unit of a
    /// Of z, the head's weighted values: mean cosine, and mean |z_B - z_A| / |z_A|. NaN where the heads' values have other sizes.
    double z_cosine = kNaN, z_relative_l2 = kNaN;
};
struct ComparedHeads {
    std::vector<HeadComparison> heads;
    std::int64_t rows = 0;  ///< that the means are over
};
ComparedHeads compare_heads(const RunPair&, const HeadPairs&, const CompareOptions& = {}, const CancelToken& = {},
                            const Progress& = {});
/// layer, head, js, js_max, tv, z_cosine, z_relative_l2; with `matched` also partner_layer, partner_head. With `measures` the
/// difference B - A of every measure of heads that both runs have.
analyze::Table table_of(const RunPair&, const ComparedHeads&, bool matched, bool measures);

/// The two maps of one head on the rows and columns of both texts, and B - A. Rows of one text alone are NaN in the other and in
/// the difference; columns of one text alone have weight 0 in the other, as in the distances.
struct DifferenceMap {
    std::vector<MergedUnit> queries, keys;
    analyze::Matrix a, b, difference;  ///< [queries, keys]
};
DifferenceMap difference_map(const RunPair&, HeadId head, HeadId partner, const CompareOptions& = {});

}  // namespace headlight::intervention
