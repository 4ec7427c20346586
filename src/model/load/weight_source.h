// SPDX-License-Identifier: GPL-3.0-or-later
// From a family's weight map and a folder's tensors to parameters.
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/load_report.h"
#include "model/internals.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace headlight::model {

struct ResolvedRow {
    const WeightRow* row = nullptr;
    std::int64_t layer = 0;
    const io::TensorView* view = nullptr;
    std::int64_t expert = 0;
};

/// "blocks.3.attn.W_O": the name of a parameter in the load report.
std::string parameter_name(Slot, std::int64_t layer);
/// The same for an expert's part: "blocks.3.mlp.experts.5.W_in", "blocks.3.mlp.shared.W_in".
std::string parameter_name(const ResolvedRow&);

/// Finds the tensor of every row. Errors name every missing tensor and a wrong shape (file, tensor, expected, found).
/// When the optional head is absent as a whole its rows are left out and `head_absent` is set; unused and ignored
/// tensors are listed in the report.
std::vector<ResolvedRow> resolve(const WeightMap&, std::int64_t n_layers, const io::TensorStore&,
                                 const std::filesystem::path& folder, LoadReport&, bool& head_absent);

/// Checkpoints keep the prefixes of training wrappers: "module.", "_orig_mod.", "base_model.model.", "0.auto_model.".
/// If the family's prefixes do not lead to the embedding, the only tensor that ends with its name and has its shape gives
/// the prefix of all names. Error if there are several.
void add_prefixes_in_the_wild(WeightMap&, const io::TensorStore&);

/// What a map and the tensors of a folder have of each other.
struct Fit {
    std::size_t met = 0;                    ///< tensors of a row's name and shape
    std::vector<std::string> missing = {};  ///< rows without one
    std::vector<std::string> beyond = {};   ///< tensors that no row names and the family does not ignore
};
Fit fit_of(const WeightMap&, std::int64_t n_layers, const io::TensorStore&);

/// Rows that lie in one tensor of all experts (ExpertPiece) get tensors of their own under the rows' names, in the same memory.
/// `made` hears of each and of the tensor that it is a part of.
io::TensorStore with_pieces(const WeightMap&, std::int64_t n_layers, const io::TensorStore&,
                            const std::function<void(const io::TensorView& piece, const io::TensorView& whole)>& made);

/// The tensor for a slot outside the layers; nullptr if the map has no such row or the files no such tensor.
const io::TensorView* find(const WeightMap&, Slot, const io::TensorStore&);

/// Error naming file, tensor and position of the first NaN or Inf. Threads, at memory speed.
void check_finite(const std::vector<ResolvedRow>&, const CancelToken&, const Progress&);
/// The same for rows of a view, from `first` on, that were converted: contiguous, on the CPU.
void check_finite(const io::TensorView&, const at::Tensor& rows, std::int64_t first);

/// LibTorch's name of a stored type.
at::ScalarType scalar_type(io::DType);
/// The view's numbers as a tensor of `dtype` on `device`; the file's own memory where nothing has to change.
at::Tensor to_tensor(const io::TensorView&, at::ScalarType dtype, at::Device, bool& mapped);

}  // namespace headlight::model
