// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"

#include <memory>
#include <vector>

namespace headlight::io {

/// True for names that PyTorch's own files have (.bin, .pt, .pth, .ckpt) and for contents that begin like a zip
/// archive.
bool is_torch_file(const MappedFile&);

/// The tensors of a state dict that torch.save wrote (five pickles and the numbers; from PyTorch 1.6 on a zip archive with a
/// pickle and one member a storage). Numbers stay where they lie in the file; only tensors whose strides are not row-major are
/// copied. A state dict one level down ("state_dict", "model", "module") is found there; values that are no tensors are left out.
/// The pickle runs nothing: read_pickle. Errors name the file and the tensor (old format, TorchScript, other globals, a storage
/// that is missing or shorter than its tensor, big-endian, fp8 and other types, 64-bit overflow).
std::vector<TensorView> read_torch_file(const std::shared_ptr<const MappedFile>&);

}  // namespace headlight::io
