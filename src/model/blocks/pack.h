// SPDX-License-Identifier: GPL-3.0-or-later
// Several texts in one pass, without padding: their rows stand under each other for all that is done row by row; positions,
// attention and hooks go text by text.
#pragma once

#include "model/blocks/attend.h"

#include <functional>
#include <vector>

namespace headlight::model {

struct Pack {
    std::vector<Pass> texts{};           ///< each as it would be alone
    std::vector<std::int64_t> starts{};  ///< first row of each

    /// The rows of a text, a view of the pack's [row, ...].
    at::Tensor of_text(std::size_t text, const at::Tensor& rows) const {
        return rows.narrow(0, starts[text], texts[text].tokens());
    }
    std::size_t text_of(std::int64_t row) const;
};

/// q, k and v of the pack, [head, row, d_head], to z [row, head, d_head], with the hooks of each text's scores, patterns and z.
/// `input` makes the AttentionInput of a text.
at::Tensor attend_packed(Pack&, Layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::function<AttentionInput(const Pass&, const at::Tensor& q, const at::Tensor& k)>& input);

}  // namespace headlight::model
