// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of tensors that are not patterns.
#pragma once

#include "intervention/recipe/pattern_edits.h"

#include <functional>

namespace headlight::intervention {

/// From the selected part [row, …] or [row, unit, …] in float64, and the positions of its rows, to what takes its place.
using Change = std::function<at::Tensor(const at::Tensor& part, const std::vector<std::int64_t>& positions)>;

struct TensorStep {
    Rows rows;
    std::optional<std::vector<std::int64_t>> units{};
    bool heads_first = false;  ///< scores and sinks: [head, query, …]
    bool of_source = false;    ///< rows are the source's, whatever the decoder's pass has
    Change change;
};
/// Of the largest logit of a router, the one that a forced expert gets: so little above it that the weights of the others change
/// least.
inline at::Tensor just_above(const at::Tensor& best) { return best + 1e-3 * (1 + best.abs()); }
at::Tensor apply(const TensorStep&, const PassRows&, const at::Tensor&);

/// Sums of a pattern's rows in the pass that runs: [query, head] float64; undefined: all are 1.
struct RowSums {
    at::Tensor sums{};
    std::int64_t start = 0;  ///< position of the first
};

/// What is needed beside the tensor.
struct ChangeFrom {
    const Edit& edit;
    const StackPoint& point;
    std::int64_t layer = 0;
    std::optional<std::vector<std::int64_t>> units{};
    Sources::Internals& sources;
    const Recipe& recipe;
    const CancelToken& cancel;
    const Progress& progress;
    Notes& notes;
    std::shared_ptr<const RowSums> sums = nullptr;
};
/// Narrows `rows` to those that the source has.
Change change_of(const ChangeFrom&, Rows& rows);

/// The other run's tensor of a patch, a freeze or a resampling, with its rows for those of this text.
struct Donor {
    at::Tensor tensor;  ///< float64
    std::vector<std::int64_t> rows{}, keys{};
    bool same_length = true;
};
Donor donor_of(const ChangeFrom&);
/// Leaves out the rows that have no partner there; a note counts them.
void keep_aligned(const ChangeFrom&, const Donor&, Rows& rows);

}  // namespace headlight::intervention
