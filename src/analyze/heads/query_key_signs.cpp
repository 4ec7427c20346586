// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/query_key_signs.h"

#include "headlight/base/numbers.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/weights.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

namespace headlight::analyze {
namespace {

struct Cloud {
    std::vector<double> mean;
    double norm = kNaN, spread = kNaN;  ///< mean length; mean squared distance from the mean
};

Cloud cloud_of(const RoleVectors& role, std::int64_t width) {
    const auto columns = static_cast<std::size_t>(width);
    Cloud out{std::vector<double>(columns)};
    double count = 0;
    for (const std::uint8_t apart : role.apart) count += apart ? 0 : 1;
    if (count == 0) return out;
    const auto each_row = [&](const auto& take) {
        for (std::size_t i = 0; i < role.apart.size(); ++i)
            if (!role.apart[i]) take(role.values.subspan(i * columns, columns));
    };
    each_row([&](std::span<const float> row) {
        for (std::size_t c = 0; c < columns; ++c) out.mean[c] += static_cast<double>(row[c]) / count;
    });
    out.norm = out.spread = 0;
    each_row([&](std::span<const float> row) {
        double square = 0, from_mean = 0;
        for (std::size_t c = 0; c < columns; ++c) {
            const double value = static_cast<double>(row[c]);
            square += value * value;
            from_mean += (value - out.mean[c]) * (value - out.mean[c]);
        }
        out.norm += std::sqrt(square) / count;
        out.spread += from_mean / count;
    });
    return out;
}

}  // namespace

QueryKeySigns query_key_signs(const RoleVectors& queries, const RoleVectors& keys, std::int64_t width, bool own_text) {
    const Cloud q = cloud_of(queries, width), k = cloud_of(keys, width);
    QueryKeySigns out{q.norm - k.norm, kNaN, kNaN};
    double between = 0;
    for (std::size_t c = 0; c < q.mean.size(); ++c) between += (q.mean[c] - k.mean[c]) * (q.mean[c] - k.mean[c]);
    if (const double spread = (q.spread + k.spread) / 2; spread > 0) out.centre_distance = std::sqrt(between / spread);
    if (!own_text) return out;
    double similar = 0;
    std::int64_t pairs = 0;
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t i = 0; i < queries.apart.size(); ++i) {
        if (queries.apart[i]) continue;
        double ab = 0, aa = 0, bb = 0;
        for (std::size_t c = 0; c < columns; ++c) {
            const double a = static_cast<double>(queries.values[i * columns + c]) - q.mean[c],
                         b = static_cast<double>(keys.values[i * columns + c]) - k.mean[c];
            ab += a * b;
            aa += a * a;
            bb += b * b;
        }
        if (aa > 0 && bb > 0) {
            similar += ab / std::sqrt(aa * bb);
            ++pairs;
        }
    }
    if (pairs > 0) out.similarity = similar / static_cast<double>(pairs);
    return out;
}

std::vector<double> weight_similarity(const model::Model& model, const CancelToken& cancel) {
    trace::require_weights(model);
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = model.config();
    const std::int64_t group = c.n_heads / c.n_kv_heads;
    std::vector<double> out;
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        cancel.throw_if_cancelled();
        const trace::AttentionTensors weights = trace::attention_weights(model, Layer(l));
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            const at::Tensor q = weights.w_q.select(0, h).to(at::kCPU, at::kDouble),
                             k = weights.w_k.select(0, h / group).to(at::kCPU, at::kDouble);
            const double norms = q.sizes() == k.sizes() ? (q.norm() * k.norm()).item<double>() : 0;
            out.push_back(norms > 0 ? (q * k).sum().item<double>() / norms : kNaN);
        }
    }
    return out;
}

}  // namespace headlight::analyze
