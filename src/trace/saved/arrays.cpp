// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/arrays.h"

#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "trace/pieces.h"

#include <algorithm>
#include <map>

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

std::vector<io::ArrayStream> array_streams(const std::shared_ptr<const Trace>& trace,
                                           const std::vector<model::HookPoint>& points) {
    const auto& encoder = trace->part(model::Stack::encoder);
    const std::int64_t source = encoder ? encoder->tokens() : trace->across_texts() ? trace->keys() : 0;
    std::map<model::Hook, at::ScalarType> types;  // layers are alike: of those that are recomputed the first alone is asked
    std::vector<io::ArrayStream> streams;
    for (const model::HookPoint point : points) {
        const at::Tensor* stored = find_stored(*trace, point);
        if (!types.contains(point.hook)) types[point.hook] = type_of(*trace, point);
        const at::ScalarType type = stored ? stored->scalar_type() : types.at(point.hook);
        const std::vector<std::int64_t> shape =
            stored ? stored->sizes().vec() : model::shape_of(point, trace->config(), trace->tokens(), source);
        streams.push_back({model::name_of(point, trace->config()), stored_type(type), shape, [=](const io::PutBytes& put) {
                               for_pieces(*trace, point, [&](const at::Tensor& piece) {
                                   WorkingFor::token().throw_if_cancelled();
                                   if (piece.scalar_type() != type)
                                       throw Error(ErrorFacts{.problem = "The tensors of a hook differ in their types",
                                                              .item = model::name_of(point, trace->config())});
                                   const at::Tensor here = piece.to(at::kCPU);
                                   put({static_cast<const std::byte*>(here.data_ptr()), here.nbytes()});
                               });
                           }});
    }
    return streams;
}

std::int64_t bytes_to_feed(const model::ModelConfig& config, const std::vector<model::HookPoint>& points, std::int64_t tokens,
                           std::int64_t element_bytes, std::int64_t source) {
    double most = 0;
    for (const model::HookPoint& point : points)
        most = std::max(most, piece_bytes(point.hook, model::shape_of(point, config, tokens, source), element_bytes));
    return static_cast<std::int64_t>(std::min(2 * most, 1e17));  // it and what it is computed or copied from
}

}  // namespace headlight::trace
