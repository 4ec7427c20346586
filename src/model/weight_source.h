// SPDX-License-Identifier: GPL-3.0-or-later
// From a family's weight map and a folder's tensors to parameters.
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/load_report.h"
#include "model/internals.h"

#include <map>
#include <string>
#include <utility>

namespace headlight::model {

/// "blocks.3.attn.W_O": how the load report calls a parameter.
std::string parameter_name(Slot, std::int64_t layer);

struct ResolvedRow {
    const WeightRow* row = nullptr;
    std::int64_t layer = 0;
    const io::TensorView* view = nullptr;
};

/// Finds the tensor of every row. Errors name every missing tensor and a wrong shape (file, tensor, expected, found).
/// When the optional head is absent as a whole its rows are left out and `head_absent` is set; unused and ignored
/// tensors are listed in the report.
std::vector<ResolvedRow> resolve(const WeightMap&, std::int64_t n_layers, const io::TensorStore&,
                                 const std::filesystem::path& folder, LoadReport&, bool& head_absent);

/// The tensor that feeds a slot without a layer; nullptr when the map has no such row or the files no such tensor.
const io::TensorView* find(const WeightMap&, Slot, const io::TensorStore&);

/// Error naming file, tensor and position of the first NaN or Inf. Threads, at memory speed.
void check_finite(const std::vector<ResolvedRow>&, const CancelToken&, const Progress&);

/// The view's numbers as a tensor of `dtype` on `device`; the file's own memory where nothing has to change.
at::Tensor to_tensor(const io::TensorView&, at::ScalarType dtype, at::Device, bool& mapped);

}  // namespace headlight::model
