// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/forward.h"

#include "headlight/base/error.h"
#include "model/arithmetic/kernels.h"
#include "model/blocks/pack.h"
#include "model/blocks/text_stack.h"
#include "model/run/steps.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace headlight::model {
namespace {

at::Tensor to_ids(const std::vector<std::int64_t>& ids, std::int64_t limit, const char* what, const at::Device& device) {
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= limit)
            throw Error(ErrorFacts{.problem = std::string("No such ") + what + " in this model",
                                   .item = "position " + std::to_string(i),
                                   .expected = "0 to " + std::to_string(limit - 1),
                                   .found = std::to_string(ids[i]),
                                   .hint = "The tokenizer may be of another model"});
    at::Tensor tensor = at::empty({static_cast<std::int64_t>(ids.size())}, at::kLong);
    std::ranges::copy(ids, tensor.data_ptr<std::int64_t>());
    return tensor.to(device);
}

void check_picture(const ModelConfig& c, const ForwardInput& input) {
    const auto expected = static_cast<std::size_t>(kColours * c.image_height * c.image_width);
    if (input.pixels && input.pixels->size() == expected) return;
    throw Error(
        ErrorFacts{.problem = input.pixels ? "The picture does not have the model's input size" : "This model needs a picture",
                   .item = c.name,
                   .expected = std::to_string(expected) + " numbers",
                   .found = std::to_string(input.pixels ? input.pixels->size() : 0)});
}

void check_input(const ModelConfig& c, const ForwardInput& input, std::int64_t past) {
    const auto tokens = static_cast<std::int64_t>(input.ids.size());
    if (tokens == 0) throw Error(ErrorFacts{.problem = "There are no tokens to run the model on", .hint = "Type some text"});
    // Padding tokens take no position, but such texts are rare: the limit is the same.
    if (c.positions == Positions::learned && past + tokens > c.context_length)
        throw Error(ErrorFacts{.problem = "The text is too long for this model",
                               .expected = "at most " + std::to_string(c.context_length) + " tokens",
                               .found = std::to_string(past + tokens),
                               .hint = "Shorten the text"});
    if (c.type_vocab_size > 0 && !input.type_ids.empty() && input.type_ids.size() != input.ids.size())
        throw Error(ErrorFacts{.problem = "Token types do not match the tokens",
                               .expected = std::to_string(tokens),
                               .found = std::to_string(input.type_ids.size())});
}

}  // namespace

Pass start_pass(const Model::Internals& m, const ForwardInput& input, Observer& observer, KvCache* cache,
                const EarlierRows* earlier) {
    const ModelConfig& c = m.config;
    Pass pass{.model = m, .input = input, .observer = observer, .cache = cache, .earlier = earlier};
    if (reads_pictures(c)) {
        check_picture(c, input);
        pass.ids = at::arange(c.class_tokens + patch_rows(c) * patch_columns(c), at::TensorOptions(at::kLong).device(m.device));
        if (c.positions == Positions::rotary) make_rope(pass);
        return pass;
    }
    check_input(c, input, pass.past());
    if (c.stack == Stack::cross) throw Error("Cross attention cannot be run without its decoder");
    if (has_cross_attention(c) != input.source.defined())
        throw Error(ErrorFacts{.problem = has_cross_attention(c) ? "This model's decoder was run without a source"
                                                                 : "This model does not read a source",
                               .file = m.folder.string(),
                               .hint = "Only encoder-decoder models have a source and a target"});
    pass.ids = to_ids(input.ids, c.vocab_size, "token id", m.device);
    if (c.type_vocab_size > 0)
        pass.type_ids = to_ids(input.type_ids.empty() ? std::vector<std::int64_t>(input.ids.size()) : input.type_ids,
                               c.type_vocab_size, "token type", m.device);
    if (c.positions == Positions::rotary) make_rope(pass);
    if (has_relative_bias(c)) pass.buckets = distance_buckets(m, pass.past() + pass.tokens());
    if (c.positions == Positions::alibi && c.alibi == Alibi::falcon)
        pass.key_bias = alibi_bias(c, pass.past() + pass.tokens()).to(m.device);
    return pass;
}

namespace {

template <class T>
std::int64_t first_bad_row(const at::Tensor& x) {
    const T* data = x.data_ptr<T>();
    const std::int64_t width = x.size(1);
    for (std::int64_t row = 0; row < x.size(0); ++row)
        if (kernels::first_not_finite(data + row * width, width) >= 0) return row;
    return -1;
}

/// NaN and Inf spread to all later layers: checking the residual stream after each layer finds them early.
void check_finite(const Pass& pass, HookPoint point, const at::Tensor& x) {
    std::int64_t row = -1;
    if (has_kernels(x) && x.is_contiguous()) {
        row = x.scalar_type() == at::kFloat ? first_bad_row<float>(x) : first_bad_row<double>(x);
    } else {
        const at::Tensor bad = at::isfinite(x).logical_not().any(1).nonzero();
        if (bad.size(0) > 0) row = bad[0][0].item<std::int64_t>();
    }
    if (row < 0) return;
    row += pass.past();
    if (pass.stack) row = pass.stack->token_of(row);
    if (pass.pack) row -= pass.pack->starts[pass.pack->text_of(row)];
    throw Error(ErrorFacts{
        .problem = "The model computed a number that is not finite",
        .file = pass.model.folder.string(),
        .item = name_of(point, pass.config()),
        .expected = "finite numbers",
        .found = "NaN or Inf at position " + std::to_string(row),
        .hint = pass.model.compute == ComputeType::bfloat16 ? "Use the compute type float32" : "The weights may be damaged"});
}

}  // namespace

at::Tensor embed(Pass& pass) {
    at::Tensor x;
    for (const Block block : pass.model.spec.before) x = embedding(pass, block, x);
    return x;
}

at::Tensor finish(Pass& pass, at::Tensor x) {
    for (const Block block : pass.model.spec.after)
        if (block != Block::unembedding || pass.config().has_unembedding) x = output(pass, block, x);
    return x;
}

at::Tensor run_layer(Pass& pass, Layer layer, at::Tensor x, const std::function<at::Tensor(const at::Tensor&)>& before_mlp) {
    x = pass.hook(Hook::resid_pre, layer, x);
    const at::Tensor read = x;
    for (const Block block : pass.model.spec.layer) {
        switch (block) {
            case Block::attention:
                x = has_implied_map(pass.config(), layer.value) ? state_space(pass, layer, x) : attention(pass, layer, x);
                break;
            case Block::cross_attention: x = cross_attention(pass, layer, x); break;
            case Block::convolution: x = convolution(pass, layer, read, x); break;
            default: x = mlp(pass, layer, before_mlp ? before_mlp(x) : x);
        }
        if (!x.defined()) return x;
    }
    if (!has_mlp(pass.config(), layer.value) && pass.config().stack == Stack::whole) x = pass.hook(Hook::resid_post, layer, x);
    check_finite(pass, {Hook::resid_post, layer}, x);
    return x;
}

namespace {

/// The blocks behind the last layer, the unembedding above all, are a third of a small model's work.
bool wants_behind_layers(const Observer& observer) {
    constexpr Hook kBehind[] = {Hook::ln_final_scale, Hook::ln_final_normalized, Hook::mlm_pre,   Hook::mlm_post,
                                Hook::mlm_ln_scale,   Hook::mlm_ln_normalized,   Hook::projected, Hook::logits};
    return std::ranges::any_of(kBehind, [&](Hook hook) { return observer.wants({hook, Layer(0)}); });
}

/// Behind the last hook that somebody reads there is nothing to do.
void end_early(Pass& pass) {
    const std::vector<HookPoint> hooks = hooks_of(pass.config());
    const auto place = [&](const HookPoint& point) { return std::ranges::find(hooks, point) - hooks.begin(); };
    std::ptrdiff_t last = -1;
    for (std::ptrdiff_t i = std::ssize(hooks) - 1; i >= 0 && last < 0; --i)
        if (pass.observer.wants(hooks[static_cast<std::size_t>(i)])) last = i;
    const std::int64_t n = pass.config().n_layers;
    const Hook behind_patterns = has_cross_attention(pass.config()) ? Hook::cross_z : Hook::z;
    if (pass.observer.wants_pattern_tiles()) last = std::max(last, place({behind_patterns, Layer(n - 1)}));
    std::int64_t layers = 0;
    while (layers < n && last >= place({Hook::resid_pre, Layer(layers)})) ++layers;
    pass.layers = layers;
    pass.ends_at_z = layers > 0 && last <= place({Hook::z, Layer(layers - 1)});
}

/// `result`: the caller reads what comes of it.
at::Tensor run(const Model& model, const ForwardInput& input, Observer& observer, KvCache* cache, bool result,
               const CancelToken& cancel, const Progress& progress) {
    at::internal::lazy_init_num_threads();  // the setting of start_runtime, on whichever thread this is; every time would start a
                                            // pool anew
    Pass pass = start_pass(model.internals(), input, observer, cache);
    pass.cancel = cancel;
    return run_pass(pass, result, progress);
}

}  // namespace

at::Tensor run_pass(Pass& pass, bool result, const Progress& progress, Layer first, at::Tensor x) {
    const std::int64_t layers = pass.config().n_layers;
    if (!result && !pass.cache && !wants_behind_layers(pass.observer)) end_early(pass);
    if (!x.defined()) x = embed(pass);
    for (std::int64_t l = first.value; l < pass.layers; ++l) {
        pass.cancel.throw_if_cancelled();
        if (progress) progress({"Running", "layer", l, layers});
        x = run_layer(pass, Layer(l), x);
    }
    pass.cancel.throw_if_cancelled();
    if (pass.cache) x = x.narrow(0, x.size(0) - 1, 1);
    if (result || wants_behind_layers(pass.observer)) x = finish(pass, x);
    if (progress) progress({"Running", "layer", layers, layers});
    return x;
}

void forward(const Model& model, const ForwardInput& input, Observer& observer, const CancelToken& cancel,
             const Progress& progress) {
    run(model, input, observer, nullptr, false, cancel, progress);
}

at::Tensor encode(const Model& encoder, const ForwardInput& input, Observer& observer, const CancelToken& cancel,
                  const Progress& progress) {
    return run(encoder, input, observer, nullptr, true, cancel, progress);
}

void forward_cached(const Model& model, const ForwardInput& input, KvCache& cache, Observer& observer,
                    const CancelToken& cancel) {
    if (cache.tokens() > 0 && input.ids.size() != 1)
        throw Error(ErrorFacts{.problem = "After a prompt, tokens must come one at a time",
                               .expected = "1 token",
                               .found = std::to_string(input.ids.size())});
    if (cache.tokens() > 0 && !rotation_stays(model.config(), cache.tokens(), cache.tokens() + 1)) {
        ForwardInput whole{.ids = cache.ids(), .type_ids = {}};
        whole.ids.push_back(input.ids.front());
        cache = KvCache(model.config().n_layers);
        run(model, whole, observer, &cache, false, cancel, {});
        cache.advance(whole.ids);
        return;
    }
    run(model, input, observer, &cache, false, cancel, {});
    cache.advance(input.ids);
}

}  // namespace headlight::model
