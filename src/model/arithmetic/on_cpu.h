// SPDX-License-Identifier: GPL-3.0-or-later
// A pass may run on a GPU; everything above it computes on the CPU. A tensor that is there already stays the same tensor.
#pragma once

#include <ATen/ATen.h>

namespace headlight::model {

inline at::Tensor on_cpu(const at::Tensor& t) { return t.defined() ? t.to(at::kCPU) : t; }

/// What the pass continues with where `fn` changes one of its tensors.
template <class Fn>
at::Tensor changed_on_cpu(const at::Tensor& t, const Fn& fn) {
    const at::Tensor here = t.to(at::kCPU);
    const at::Tensor changed = fn(here);
    return changed.is_same(here) ? t : changed.to(t.device());
}

}  // namespace headlight::model
