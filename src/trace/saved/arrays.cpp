// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/arrays.h"

#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"

namespace headlight::trace {
namespace {

io::DType stored_type(at::ScalarType type) {
    switch (type) {
        case at::kFloat: return io::DType::F32;
        case at::kDouble: return io::DType::F64;
        case at::kBFloat16: return io::DType::BF16;
        case at::kHalf: return io::DType::F16;
        default: throw Error("A tensor of a type that cannot be written");
    }
}

}  // namespace

void add_arrays(HookArrays& to, const Trace& trace, const std::vector<model::HookPoint>& points, const CancelToken& cancel) {
    for (const model::HookPoint point : points) {
        cancel.throw_if_cancelled();
        const auto kept = std::make_shared<const at::Tensor>(tensor(trace, point).to(at::kCPU).contiguous());
        to.arrays.push_back({model::name_of(point, trace.config()),
                             stored_type(kept->scalar_type()),
                             kept->sizes().vec(),
                             {static_cast<const std::byte*>(kept->data_ptr()), kept->nbytes()}});
        to.bytes.push_back(kept);
    }
}

}  // namespace headlight::trace
