// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/prediction/logit_lens.h"

#include <ATen/ATen.h>

#include <vector>

namespace headlight::analyze {

struct TunedLens::Internals {
    std::filesystem::path file;
    StreamPlace made_for = StreamPlace::resid_pre;
    std::vector<at::Tensor> weight;  ///< A of each layer [d_model, d_model], y = A h
    std::vector<at::Tensor> bias;    ///< [d_model]
};

/// States [n, d_model] of one layer at the asked place, translated. A resid_post is the next layer's resid_pre; the
/// state behind the last translator needs none.
at::Tensor translate(const TunedLens&, StreamPlace at, std::int64_t layer, const at::Tensor& states);

/// Error when the lens was made for a state that the asked one cannot stand for.
void check_place(const TunedLens&, StreamPlace at);

}  // namespace headlight::analyze
