// SPDX-License-Identifier: GPL-3.0-or-later
// T5's position bias (Raffel et al. 2020, section 2.1): a number for each head and bucket of distances, near ones exact,
// far ones by their logarithm.
#include "model/internals.h"

#include <cmath>

namespace headlight::model {

at::Tensor distance_buckets(const Model::Internals& m, std::int64_t tokens) {
    const ModelConfig& c = m.config;
    const bool both_ways = !c.causal;
    const std::int64_t buckets = both_ways ? c.relative_buckets / 2 : c.relative_buckets, exact = buckets / 2;
    const at::Tensor ahead = at::arange(1 - tokens, tokens, at::kLong);  // key - query
    const at::Tensor distance = both_ways ? ahead.abs() : ahead.neg().clamp_min(0);
    // In float32 whatever the model's type, as the reference has it: 16 of 128 lies on the border of two buckets.
    const at::Tensor logarithm = at::log(distance.to(at::kFloat) / static_cast<double>(exact)) /
                                 std::log(static_cast<double>(c.relative_max_distance) / static_cast<double>(exact));
    const at::Tensor far = (logarithm.clamp_min(0) * static_cast<double>(buckets - exact)).to(at::kLong) + exact;
    at::Tensor bucket = at::where(distance < exact, distance, far.clamp_max(buckets - 1));
    if (both_ways) bucket = bucket + (ahead > 0).to(at::kLong) * buckets;
    return bucket.to(m.device);
}

at::Tensor relative_bias(const Model::Internals& m, Layer layer, const at::Tensor& buckets) {
    if (!buckets.defined()) return {};
    const at::Tensor table =
        m.config.relative_by_layer ? weights_of(m, layer, LayerPart::attention)->relative_bias : m.relative_bias;
    return table.index_select(0, buckets).t().contiguous();
}

}  // namespace headlight::model
