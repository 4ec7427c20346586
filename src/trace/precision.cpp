// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/precision.h"

#include "headlight/base/numbers.h"
#include "headlight/trace/weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdio>

namespace headlight::trace {
namespace {

/// Keeps every pattern and the last layer's stream.
class Kept final : public model::Observer {
public:
    explicit Kept(const model::ModelConfig& c) : last_{model::Hook::resid_post, Layer(c.n_layers - 1)} {
        patterns.resize(static_cast<std::size_t>(c.n_layers));
    }
    bool wants(model::HookPoint point) const override { return point == last_; }
    at::Tensor visit(model::HookPoint, at::Tensor tensor) override {
        stream = tensor.to(at::kDouble);
        return tensor;
    }
    void attention_input(Layer layer, const model::AttentionInput& in) override {
        patterns[static_cast<std::size_t>(layer.value)] = at::zeros({in.q.size(0), in.q.size(1), in.k.size(1)});
    }
    bool wants_pattern_tiles() const override { return true; }
    void pattern_tile(Layer layer, std::int64_t head, std::int64_t row, const at::Tensor& tile,
                      std::span<const model::RowLogs>) override {
        patterns[static_cast<std::size_t>(layer.value)]
            .narrow(0, head, tile.size(0))
            .narrow(1, row, tile.size(1))
            .narrow(2, 0, tile.size(2))
            .copy_(tile);
    }

    std::vector<at::Tensor> patterns;
    at::Tensor stream;

private:
    model::HookPoint last_;
};

ProductsError measured(const model::Model& model, model::ForwardInput input, const CancelToken& cancel) {
    const at::NoGradGuard no_grad;
    Kept exact(model.config()), found(model.config());
    input.exact = true;
    model::forward(model, input, exact, cancel, {});
    input.exact = false;
    model::forward(model, input, found, cancel, {});
    ProductsError out;
    out.tokens = exact.stream.size(0);
    out.stream = ((found.stream - exact.stream).square().sum() / exact.stream.square().sum()).sqrt().item<double>();
    for (std::size_t l = 0; l < exact.patterns.size(); ++l)
        if (exact.patterns[l].defined())
            out.weight = std::max(out.weight, (found.patterns[l] - exact.patterns[l]).abs().max().item<double>());
    if (model.config().has_unembedding) {
        const auto likely = [&](const at::Tensor& stream) { return logits_of(model, stream).argmax(-1); };
        out.same_token = likely(exact.stream).eq(likely(found.stream)).to(at::kDouble).mean().item<double>();
    }
    return out;
}

/// What was measured. The source is held, so that no other tensor can take its place.
struct Measured {
    std::vector<std::int64_t> ids;
    std::shared_ptr<const std::vector<float>> pixels;
    at::Tensor source;
    bool operator==(const Measured& other) const {
        return ids == other.ids && pixels == other.pixels && source.is_same(other.source);
    }
};

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %%", 100 * share);
    return text;
}

}  // namespace

std::string ProductsError::text() const {
    char largest[32];
    std::snprintf(largest, sizeof largest, "%.2g", weight);
    std::string out = "bfloat16 products against float32 (first " + with_commas(tokens) + " tokens): last stream " +
                      percent(stream) + " off (rms), attention weights up to " + largest;
    if (same_token) out += ", top token the same at " + percent(*same_token);
    return out;
}

std::shared_ptr<const ProductsError> products_error(const model::Model& model, model::ForwardInput input,
                                                    const CancelToken& cancel) {
    constexpr std::size_t kTokens = 128;
    for (std::vector<std::int64_t>* ids : {&input.ids, &input.type_ids}) ids->resize(std::min(ids->size(), kTokens));
    return model.results().get(
        Measured{input.ids, input.pixels, input.source}, [&] { return measured(model, input, cancel); },
        [](const ProductsError&) { return std::int64_t{0}; });
}

}  // namespace headlight::trace
