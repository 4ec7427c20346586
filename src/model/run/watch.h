// SPDX-License-Identifier: GPL-3.0-or-later
// Generation whose passes somebody sees. Internal to src/model and src/trace.
#pragma once

#include "headlight/model/generate.h"
#include "model/run/forward.h"

namespace headlight::model {

/// Who sees, and may replace, the tensors of the passes.
struct GenerateWatch {
    Observer* encoder = nullptr;
    Observer* decoder = nullptr;  ///< of a model of one stack too
    /// Before each pass: the position of its first row in the text, and its rows; those behind the prompt have one, but where the
    /// rotation of earlier keys changes with the length of the text.
    std::function<void(std::int64_t first_row, std::int64_t rows)> begin_pass{};
};
Generated generate_watched(const Model&, const std::vector<std::int64_t>& prompt, const GenerateOptions&,
                           const std::function<void(std::int64_t)>& on_token, const CancelToken&, const Progress&,
                           const GenerateWatch&);

}  // namespace headlight::model
