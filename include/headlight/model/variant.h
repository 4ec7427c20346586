// SPDX-License-Identifier: GPL-3.0-or-later
// An edited version of a text. With torch in it: for src/model, src/trace, src/analyze and src/intervention.
#pragma once

#include "headlight/model/hook_name.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace headlight::model {

/// A change of one tensor in one pass, by rows, on the CPU: the function gets positions [first_row, first_row + n) of it, [n,
/// ...] (scores and patterns [head, n, key], n queries), and returns what they become, of equal shape and type. It must not
/// change what it is given, and may be called from several threads at once. Only the rows that a pass computes are shown, which
/// are all from `first` on unless nobody reads the later ones.
struct RowEdit {
    HookPoint point{};
    std::int64_t first = 0;  ///< positions (queries) before it stay as they are: a causal pass may leave them out
    std::function<at::Tensor(HookPoint, const at::Tensor& rows, std::int64_t first_row)> fn{};
};

/// A text with other tokens (then nothing is added to their embeddings), another source, or edited tensors; edits of one tensor
/// apply in their order.
struct Variant {
    std::vector<std::int64_t> ids{}, source{};  ///< of the text's lengths; empty: the text's own
    std::vector<RowEdit> edits{};
};

}  // namespace headlight::model
