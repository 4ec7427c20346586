// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/variants.h"

#include "headlight/base/error.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/saved.h"
#include "trace/states_of.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <set>

namespace headlight::trace {
namespace {

using model::HookPoint;

/// Edits that a stack cannot show, a source of its own: a pass by itself.
bool is_alone(const Variant& v) {
    return !v.source.empty() || std::ranges::any_of(v.edits, [](const Edit& edit) { return !can_batch(edit.point.hook); });
}

at::Tensor index_tensor(const std::vector<std::int64_t>& values) {
    at::Tensor t = at::empty({std::ssize(values)}, at::kLong);
    std::ranges::copy(values, t.data_ptr<std::int64_t>());
    return t;
}

void check_hooks(const model::ModelConfig& c, const std::vector<Variant>& variants) {
    const std::vector<HookPoint> hooks = model::hooks_of(c);
    const std::set<HookPoint> known(hooks.begin(), hooks.end());
    for (const Variant& v : variants)
        for (const Edit& edit : v.edits)
            if (!known.contains(edit.point))
                throw Error({.problem = "This model has no such hook to edit", .item = name_of(edit.point, c)});
}

}  // namespace

TokenIds ids_of(const text::Encoding& encoding) { return {encoding.ids, encoding.type_ids, encoding.pixels}; }

bool can_batch(model::Hook hook) noexcept { return model::can_stack(hook); }

struct Variants::Internals {
    std::shared_ptr<const model::Model> model;
    TokenIds tokens;
    VariantsOptions options;
    std::optional<model::KeptText> kept;
    at::Tensor logits;

    const model::ModelConfig& config() const { return model->config(); }
    model::ForwardInput input(const at::Tensor& source) const { return {tokens.ids, tokens.type_ids, source, tokens.pixels}; }
    std::int64_t element() const { return model->dtype() == model::ComputeType::float64 ? 8 : 4; }
    model::RowRange asked() const { return {options.first, options.last}; }

    /// Of a row in a pass: some ten tensors of the stream's width, the hidden units and the logits.
    std::int64_t row_bytes() const { return element() * (10 * config().d_model + 3 * config().d_mlp); }
    std::int64_t logit_bytes() const { return element() * 2 * (options.last - options.first) * logits.size(1); }
    /// Patterns are whole where an edit sees them.
    std::int64_t bytes_of(const Variant& v, std::int64_t rows) const {
        const bool whole = std::ranges::any_of(v.edits, [](const Edit& edit) {
            return edit.point.hook == model::Hook::pattern || edit.point.hook == model::Hook::attn_scores;
        });
        return rows * (row_bytes() + (whole ? 2 * element() * config().n_heads * std::ssize(tokens.ids) : 0)) + logit_bytes();
    }

    /// A pass by itself.
    at::Tensor replayed(const Variant& v, const CancelToken& cancel) const {
        TokenIds ids = tokens;
        if (!v.ids.empty()) ids.ids = v.ids;
        if (!v.source.empty()) ids.source = v.source;
        if (!v.ids.empty()) ids.added = at::Tensor();
        std::vector<Intervention> hooks;
        for (const Edit& edit : v.edits)
            hooks.push_back(
                {name_of(edit.point, config()), [&edit](HookPoint p, const at::Tensor& t) { return edit.fn(p, t, 0); }});
        const at::Tensor rows = replay(*model, ids, hooks, cancel).narrow(0, options.first, options.last - options.first);
        return options.columns.empty() ? rows : rows.index_select(1, index_tensor(options.columns));
    }
};

Variants::Variants(std::shared_ptr<const model::Model> model, TokenIds tokens, VariantsOptions options, const CancelToken& cancel)
    : in_(std::make_unique<Internals>()) {
    require_unembedding(*model);
    model::require_attention(model->config(), "A run of many variants of a text");
    in_->model = std::move(model);
    in_->tokens = std::move(tokens);
    const auto count = std::ssize(in_->tokens.ids);
    if (options.last == 0) options.last = count;
    if (options.first < 0 || options.last <= options.first || options.last > count)
        throw Error({.problem = "There is no such position in the text",
                     .expected = "0 to " + std::to_string(count - 1),
                     .found = std::to_string(options.first < 0 ? options.first : options.last - 1)});
    for (const std::int64_t column : options.columns)
        if (column < 0 || column >= logit_count(in_->config()))
            throw Error({.problem = "This model has no logit of this number",
                         .expected = "0 to " + std::to_string(logit_count(in_->config()) - 1),
                         .found = std::to_string(column)});
    in_->options = std::move(options);
    const at::NoGradGuard no_grad;
    model::NoObserver nobody;
    const at::Tensor source = states_of(*in_->model, in_->tokens, nobody, cancel);
    in_->kept.emplace(*in_->model, in_->input(source), in_->asked(),
                      in_->options.columns.empty() ? at::Tensor() : index_tensor(in_->options.columns), in_->tokens.added,
                      cancel);
    in_->logits = in_->kept->logits().to(at::kCPU);
}

Variants::~Variants() = default;
Variants::Variants(Variants&&) noexcept = default;

const at::Tensor& Variants::logits() const noexcept { return in_->logits; }

void Variants::run(const std::vector<Variant>& variants, const Take& take, const CancelToken& cancel,
                   const Progress& progress) const {
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = in_->config();
    check_hooks(c, variants);
    const auto count = std::ssize(variants);
    std::int64_t done = 0;
    const auto report = [&](std::int64_t more) {
        if (progress) progress({"Running", "variant", done + more, count});
    };
    struct Waiting {
        std::int64_t index;
        std::int64_t layer, rows, bytes;
    };
    const model::ForwardInput input = in_->input({});
    std::vector<Waiting> waiting;
    for (std::int64_t i = 0; i < count; ++i) {
        const Variant& v = variants[static_cast<std::size_t>(i)];
        if (is_alone(v)) {
            report(0);
            take(i, in_->replayed(v, cancel));
            ++done;
            continue;
        }
        const std::int64_t rows = model::rows_of(c, input, in_->asked(), v);
        waiting.push_back({i, model::start_of(v).value, rows, in_->bytes_of(v, rows)});
    }
    // Variants of one beginning together: a pass in which few rows run through the first layers is a slow one.
    std::ranges::stable_sort(
        waiting, [](const Waiting& a, const Waiting& b) { return std::pair(a.layer, a.rows) < std::pair(b.layer, b.rows); });
    for (std::size_t first = 0; first < waiting.size();) {
        std::vector<Variant> some;
        std::int64_t rows = 0, bytes = 0;
        std::size_t last = first;
        for (; last < waiting.size(); ++last) {
            rows += waiting[last].rows;
            bytes += waiting[last].bytes;
            if (last > first && (rows > model::rows_at_once(c) || bytes > in_->options.memory)) break;
            some.push_back(variants[static_cast<std::size_t>(waiting[last].index)]);
        }
        const std::int64_t layer0 = waiting[first].layer, layers = c.n_layers - layer0;
        const auto layer_done = [&](Layer layer) {
            report(static_cast<std::int64_t>(last - first) * (layer.value + 1 - layer0) / std::max<std::int64_t>(layers, 1));
        };
        const at::Tensor logits = in_->kept->run(some, cancel, layer_done).to(at::kCPU);
        for (std::size_t i = first; i < last; ++i) take(waiting[i].index, logits[static_cast<std::int64_t>(i - first)]);
        done += static_cast<std::int64_t>(last - first);
        first = last;
    }
    report(0);
}

std::int64_t Variants::whole_cost() const { return in_->config().n_layers * std::ssize(in_->tokens.ids); }

std::int64_t Variants::cost(const Variant& v) const {
    if (is_alone(v)) return whole_cost();
    return (in_->config().n_layers - model::start_of(v).value) * model::rows_of(in_->config(), in_->input({}), in_->asked(), v);
}

std::int64_t Variants::kept_bytes() const {
    const model::KeptStates& states = in_->kept->states();
    std::int64_t bytes = 0;
    for (const auto* tensors : {&states.stream, &states.k, &states.v})
        for (const at::Tensor& t : *tensors) bytes += static_cast<std::int64_t>(t.nbytes());
    return bytes;
}

std::int64_t Variants::pass_bytes() const {
    const std::int64_t rows = std::max<std::int64_t>(model::rows_at_once(in_->config()), std::ssize(in_->tokens.ids));
    return std::max(in_->logit_bytes(), std::min(in_->options.memory, rows * (in_->row_bytes() + in_->logit_bytes())));
}

std::map<HookPoint, at::Tensor> tensors_of(const model::Model& model, const TokenIds& tokens,
                                           const std::vector<HookPoint>& points, const CancelToken& cancel) {
    class Looker final : public model::Observer {
    public:
        Looker(const std::vector<HookPoint>& points, at::Tensor added)
            : points_(points.begin(), points.end()), added_(std::move(added)) {}
        bool wants(HookPoint point) const override {
            return points_.contains(point) || (point.hook == model::Hook::embed && added_.defined());
        }
        at::Tensor visit(HookPoint point, at::Tensor t) override {
            if (point.hook == model::Hook::embed && added_.defined()) t = t + added_.to(t.options());
            if (points_.contains(point)) found[point] = t.to(at::kCPU).contiguous();
            return t;
        }
        std::map<HookPoint, at::Tensor> found;

    private:
        std::set<HookPoint> points_;
        at::Tensor added_;
    };
    const at::NoGradGuard no_grad;
    Looker looker(points, tokens.added);
    model::NoObserver nobody;
    const at::Tensor source = states_of(model, tokens, nobody, cancel);
    model::forward(model, {tokens.ids, tokens.type_ids, source, tokens.pixels}, looker, cancel, {});
    return std::move(looker.found);
}

}  // namespace headlight::trace
