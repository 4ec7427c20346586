// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/replay.h"

#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/numbers.h"
#include "headlight/trace/edited.h"
#include "headlight/trace/saved.h"
#include "model/arithmetic/on_cpu.h"
#include "model/run/stacked.h"
#include "model/run/watch.h"
#include "trace/recorder.h"
#include "trace/states_of.h"

#include <ATen/core/grad_mode.h>

#include <set>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;

at::Tensor changed_by(const std::vector<const HookFn*>& functions, HookPoint point, at::Tensor t) {
    for (const HookFn* fn : functions) t = model::changed_on_cpu(t, [&](const at::Tensor& seen) { return (*fn)(point, seen); });
    return t;
}

/// Calls interventions.
class Editor final : public model::Observer {
public:
    explicit Editor(Hooked hooked) : hooked_(std::move(hooked)) {}
    bool wants(HookPoint point) const override { return hooked_.contains(point); }
    at::Tensor visit(HookPoint point, at::Tensor t) override { return changed_by(hooked_.at(point), point, std::move(t)); }

private:
    Hooked hooked_;
};

/// Calls interventions, keeps the logits.
class Replayer : public model::Observer {
public:
    explicit Replayer(Hooked hooked) : hooked_(std::move(hooked)) {}
    bool wants(HookPoint point) const override { return point.hook == Hook::logits || hooked_.contains(point); }
    at::Tensor visit(HookPoint point, at::Tensor t) override {
        if (const auto found = hooked_.find(point); found != hooked_.end()) t = changed_by(found->second, point, std::move(t));
        if (point.hook == Hook::logits) logits = t;
        return t;
    }
    at::Tensor logits;

private:
    Hooked hooked_;
};

/// A Replayer that shows one query's rows.
class RowReader final : public Replayer {
public:
    RowReader(Hooked hooked, std::int64_t query, const TakeRow& take) : Replayer(std::move(hooked)), query_(query), take_(take) {}
    bool wants(HookPoint point) const override { return is_values(point) || Replayer::wants(point); }
    at::Tensor visit(HookPoint point, at::Tensor t) override {
        t = Replayer::visit(point, std::move(t));
        if (is_values(point)) values_ = t.to(at::kCPU);
        return t;
    }
    void attention_input(Layer layer, const model::AttentionInput& in) override { show({Hook::pattern, layer}, in); }
    void cross_attention_input(Layer layer, const model::AttentionInput& in) override { show({Hook::cross_pattern, layer}, in); }

private:
    static bool is_values(HookPoint point) { return point.hook == Hook::v || point.hook == Hook::cross_v; }
    void show(HookPoint pattern, const model::AttentionInput& in) {
        take_(pattern, model::pattern_tile(in, 0, in.q.size(0), query_, 1).select(1, 0).to(at::kCPU), values_);
    }

    std::int64_t query_;
    const TakeRow& take_;
    at::Tensor values_;
};

/// Replaces each wanted tensor by a leaf, so that its gradient can be read afterwards.
class Differentiator final : public model::Observer {
public:
    /// `left`: called by a backward pass that has finished a layer.
    Differentiator(const std::vector<HookPoint>& of, const std::vector<HookPoint>& stops, at::Tensor added,
                   std::function<void(Layer)> left = {})
        : of_(of.begin(), of.end()), stops_(stops.begin(), stops.end()), added_(std::move(added)), left_(std::move(left)) {}
    bool wants(HookPoint point) const override {
        return is_start(point) || point.hook == Hook::logits || of_.contains(point) || stops_.contains(point) ||
               (left_ && point.hook == Hook::resid_pre);
    }
    at::Tensor visit(HookPoint point, at::Tensor t) override {
        if (is_start(point) && added_.defined()) t = t + added_.to(t.options());
        if (is_start(point) || of_.contains(point)) {
            // The pass starts with a tensor that needs a gradient, and so every later one does.
            t = t.requires_grad() ? t.clone() : t.detach().clone().requires_grad_(true);
            t.retain_grad();
            if (of_.contains(point)) kept[point] = t;
        }
        if (stops_.contains(point) && t.requires_grad()) {
            t = t.clone();  // what is kept is before the stop, and so gets nothing from behind it
            t.register_hook([this, point](const at::Tensor& gradient) {
                return stopped.contains(point) ? at::zeros_like(gradient) : gradient;
            });
        }
        if (left_ && point.hook == Hook::resid_pre && t.requires_grad())
            t.register_hook([this, point](const at::Tensor&) { left_(point.layer); });
        if (point.hook == Hook::logits) logits = t;
        return t;
    }
    std::map<HookPoint, at::Tensor> kept;
    std::set<HookPoint> stopped;  ///< during a backward pass
    at::Tensor logits;

private:
    static bool is_start(HookPoint point) { return point.hook == Hook::embed; }
    std::set<HookPoint> of_, stops_;
    at::Tensor added_;
    std::function<void(Layer)> left_;
};

/// Layers whose patterns autograd keeps: where a hook makes them whole, and everywhere that has no kernels or DeBERTa's terms.
std::int64_t layers_with_patterns(const model::Model& model, const std::vector<HookPoint>& of) {
    const model::ModelConfig& c = model.config();
    if (c.disentangled.any() || model.device_name() != "CPU" || model.dtype() == model::ComputeType::bfloat16) return c.n_layers;
    std::set<std::int64_t> layers;
    for (const HookPoint& point : of) {
        constexpr std::int64_t kQueries = -1;
        const auto shape = model::shape_of(point, c, kQueries, kQueries);
        if (shape.size() > 1 && shape[1] == kQueries) layers.insert(point.layer.value);  // [head, query, key], or a sink's share
    }
    return std::ssize(layers);
}

}  // namespace

/// Everything that autograd keeps: a dozen tensors of the stream's size a layer, and some six of a pattern's where it keeps that.
void require_memory_for_gradients(const model::Model& model, const TokenIds& tokens_of, const std::vector<HookPoint>& of) {
    const auto tokens = std::ssize(tokens_of.ids) + std::ssize(tokens_of.source);
    const model::ModelConfig& c = model.config();
    const double bytes = model.dtype() == model::ComputeType::float64 ? 8 : 4;
    const double patterns = 6.0 * static_cast<double>(layers_with_patterns(model, of) * c.n_heads * tokens * tokens);
    const double streams = static_cast<double>(c.n_layers * tokens) * static_cast<double>(20 * c.d_model + 6 * c.d_mlp);
    const double needed = bytes * (patterns + streams + 3.0 * static_cast<double>(tokens * logit_count(c)));
    const auto available = static_cast<double>(available_memory());
    if (needed <= available) return;
    throw Error({.problem = "Not enough memory for gradients over " + std::to_string(tokens) + " tokens",
                 .expected = "about " + rounded_bytes(needed),
                 .found = rounded_bytes(available) + " free",
                 .hint = "Shorten the text"});
}

at::Tensor states_of(const model::Model& model, const TokenIds& tokens, model::Observer& observer, const CancelToken& cancel) {
    const auto& encoder = model.part(model::Stack::encoder);
    if (!encoder) return {};
    return model::encode(*encoder, {tokens.source, {}}, observer, cancel, {});
}

namespace {

/// A text's change of its embeddings comes before what else is done to them.
std::vector<Intervention> with_added(const model::Model& model, const TokenIds& tokens, std::vector<Intervention> interventions) {
    if (tokens.added.defined())
        interventions.insert(interventions.begin(),
                             {name_of({Hook::embed, Layer(0)}, model.config()),
                              [&](HookPoint, const at::Tensor& t) { return t + tokens.added.to(t.options()); }});
    return interventions;
}

at::Tensor logits_of(const model::Model& model, const TokenIds& tokens, Replayer& replayer, const CancelToken& cancel,
                     const Progress& progress) {
    require_unembedding(model);
    const at::NoGradGuard no_grad;
    Replayer nobody({});
    const at::Tensor source = states_of(model, tokens, nobody, cancel);
    model::forward(model, {tokens.ids, tokens.type_ids, source, tokens.pixels}, replayer, cancel, progress);
    return replayer.logits.to(at::kCPU);
}

}  // namespace

at::Tensor replay(const model::Model& model, const TokenIds& tokens, const std::vector<Intervention>& interventions,
                  const CancelToken& cancel) {
    const std::vector<Intervention> all = with_added(model, tokens, interventions);
    Replayer replayer(resolve_interventions(model.config(), all));
    return logits_of(model, tokens, replayer, cancel, {});
}

at::Tensor replay_row(const model::Model& model, const TokenIds& tokens, std::int64_t query, const TakeRow& take,
                      const CancelToken& cancel, const Progress& progress) {
    const std::vector<Intervention> all = with_added(model, tokens, {});
    RowReader reader(resolve_interventions(model.config(), all), query, take);
    return logits_of(model, tokens, reader, cancel, progress);
}

model::Generated generate_edited(const model::Model& model, const std::vector<std::int64_t>& prompt,
                                 const model::GenerateOptions& options, const std::vector<Intervention>& interventions,
                                 const std::function<void(std::int64_t, std::int64_t)>& begin_pass, const CancelToken& cancel,
                                 const Progress& progress) {
    const auto& encoder = model.part(model::Stack::encoder);
    Editor of_decoder(resolve_interventions(model.config(), interventions, encoder != nullptr));
    Editor of_encoder(encoder ? resolve_interventions(encoder->config(), interventions, true) : Hooked{});
    return model::generate_watched(model, prompt, options, {}, cancel, progress, {&of_encoder, &of_decoder, begin_pass});
}

void replay_variants(const model::Model& model, const TokenIds& tokens, std::int64_t position,
                     const std::vector<Variant>& variants, const TakeLogits& take, const CancelToken& cancel,
                     const Progress& progress) {
    require_unembedding(model);
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = model.config();
    const model::ForwardInput input{tokens.ids, tokens.type_ids};
    const auto& encoder = model.part(model::Stack::encoder);
    const auto count = static_cast<std::int64_t>(variants.size());
    for (std::int64_t first = 0; first < count;) {
        std::vector<Variant> some;
        std::int64_t rows = 0, last = first;
        for (; last < count; ++last) {
            const Variant& v = variants[static_cast<std::size_t>(last)];
            for (const Edit& edit : v.edits)
                if (!can_batch(edit.point.hook))
                    throw Error(
                        {.problem = "Variants of one pass cannot be edited at this hook", .item = name_of(edit.point, c)});
            some.push_back(v);
            rows += model::rows_of(c, input, {position, position + 1}, some.back()) + static_cast<std::int64_t>(v.source.size());
            if (rows > model::rows_at_once(c) && last > first) {
                some.pop_back();
                break;
            }
        }
        const at::Tensor sources = encoder ? model::encode_stacked(*encoder, tokens.source, some, cancel) : at::Tensor();
        const auto layer_done = [&](Layer layer) {
            if (progress) progress({"Running", "pass", first + (last - first) * (layer.value + 1) / c.n_layers, count});
        };
        const at::Tensor logits = model::forward_stacked(model, input, sources, position, some, cancel, layer_done).to(at::kCPU);
        take(first, logits[0], logits.narrow(0, 1, last - first));
        first = last;
    }
}

std::vector<Gradients> gradients_without(const model::Model& model, const TokenIds& tokens, const std::vector<HookPoint>& of,
                                         const std::function<at::Tensor(const at::Tensor&)>& objective,
                                         const std::vector<std::vector<HookPoint>>& without, const CancelToken& cancel,
                                         const Progress& progress) {
    require_unembedding(model);
    std::vector<HookPoint> stops, seen = of;
    for (const std::vector<HookPoint>& each : without) stops.insert(stops.end(), each.begin(), each.end());
    seen.insert(seen.end(), stops.begin(), stops.end());
    require_memory_for_gradients(model, tokens, seen);
    const at::AutoGradMode with_gradients(true);
    std::vector<Gradients> all;
    const std::int64_t layers = model.config().n_layers;
    const auto report = [&](std::int64_t done) {
        if (progress) progress({"Differentiating", "step", done, layers * (1 + std::ssize(without))});
    };
    Differentiator differentiator(of, stops, tokens.added, [&](Layer layer) {
        cancel.throw_if_cancelled();
        report(layers * (2 + std::ssize(all)) - layer.value);
    });
    Differentiator in_encoder(of, {}, {}, [&](Layer) { cancel.throw_if_cancelled(); });
    const at::Tensor source = states_of(model, tokens, in_encoder, cancel);
    model::forward(model, {tokens.ids, tokens.type_ids, source, tokens.pixels}, differentiator, cancel,
                   [&](const ProgressStep& step) { report(step.done); });
    const at::Tensor value = objective(differentiator.logits.to(at::kCPU));
    for (const std::vector<HookPoint>& each : without) {
        differentiator.stopped = {each.begin(), each.end()};
        value.backward({}, all.size() + 1 < without.size());
        cancel.throw_if_cancelled();
        Gradients& out = all.emplace_back();
        out.value = value.detach().to(at::kCPU).to(at::kDouble).item<double>();
        const auto take = [](const Differentiator& from, auto& values, auto& gradients) {
            for (const auto& [point, tensor] : from.kept) {
                const at::Tensor gradient = tensor.grad();
                values[point] = tensor.detach().to(at::kCPU);
                // What the objective does not depend on has no gradient at all.
                gradients[point] = gradient.defined() ? gradient.detach().to(at::kCPU) : at::zeros_like(values[point]);
                tensor.mutable_grad() = at::Tensor();
            }
        };
        take(differentiator, out.values, out.gradients);
        take(in_encoder, out.source_values, out.source_gradients);
    }
    return all;
}

Gradients gradients(const model::Model& model, const TokenIds& tokens, const std::vector<HookPoint>& of,
                    const std::function<at::Tensor(const at::Tensor&)>& objective, const CancelToken& cancel,
                    const Progress& progress) {
    return std::move(gradients_without(model, tokens, of, objective, {{}}, cancel, progress).front());
}

}  // namespace headlight::trace
