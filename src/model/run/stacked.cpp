// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/stacked.h"

#include "model/blocks/text_stack.h"
#include "model/run/steps.h"

#include <algorithm>

namespace headlight::model {
namespace {

class NoObserver final : public Observer {
public:
    bool wants(HookPoint) const override { return false; }
    at::Tensor visit(HookPoint, at::Tensor tensor) override { return tensor; }
};

/// Token from which on the variant's stream differs.
std::int64_t first_row(const ModelConfig& c, const ForwardInput& input, std::int64_t position, const Variant& v) {
    if (!c.causal || !v.source.empty()) return 0;
    if (v.ids.empty()) return position;
    const auto differs = std::ranges::mismatch(v.ids, input.ids).in1;
    return std::min<std::int64_t>(differs - v.ids.begin(), position);
}

/// The stack of a pass and what it was made of.
class StackedPass {
public:
    StackedPass(const Model& model, const ForwardInput& input, const at::Tensor& sources, std::int64_t position)
        : model_(model),
          input_{.ids = input.ids, .type_ids = input.type_ids, .source = sources.defined() ? sources[0] : at::Tensor()},
          pass_(start_pass(model.internals(), input_, nobody_, nullptr)),
          rope_(pass_.rope),
          local_rope_(pass_.local_rope),
          stack_{.tokens = pass_.tokens(), .position = position, .texts = {StackedText{}}, .sources = sources} {
        pass_.stack = &stack_;
    }
    StackedPass(const StackedPass&) = delete;
    StackedPass& operator=(const StackedPass&) = delete;

    /// The stream of all rows after the last layer.
    at::Tensor run(const std::vector<Variant>& variants, const CancelToken& cancel,
                   const std::function<void(Layer)>& layer_done) {
        at::Tensor x = embed(pass_);
        for (std::int64_t l = 0; l < model_.config().n_layers; ++l) {
            cancel.throw_if_cancelled();
            x = run_layer(pass_, Layer(l), with_variants_of(Layer(l), variants, x));
            if (layer_done) layer_done(Layer(l));
        }
        cancel.throw_if_cancelled();
        return x;
    }

    const TextStack& stack() const { return stack_; }
    Pass& pass() { return pass_; }

private:
    /// The stream with the rows of those variants that differ from this layer on.
    at::Tensor with_variants_of(Layer layer, const std::vector<Variant>& variants, const at::Tensor& x) {
        std::vector<at::Tensor> rows{x};
        for (const Variant& v : variants) {
            if ((v.order.defined() ? v.pattern.layer : Layer(0)) != layer) continue;
            const at::Tensor own = v.ids.empty() ? x.narrow(0, 0, stack_.tokens) : embedded(v);
            const std::int64_t first = first_row(model_.config(), input_, stack_.position, v);
            stack_.texts.push_back({stack_.rows(), first, v.source.empty() ? 0 : ++source_, &v});
            rows.push_back(own.narrow(0, first, stack_.tokens - first));
        }
        if (rows.size() == 1) return x;
        place_rope();
        return at::cat(rows);
    }

    at::Tensor embedded(const Variant& v) {
        const ForwardInput input{.ids = v.ids, .type_ids = input_.type_ids, .source = input_.source};
        Pass pass = start_pass(model_.internals(), input, nobody_, nullptr);
        return embed(pass);
    }

    void place_rope() {
        at::Tensor tokens = at::empty({stack_.rows()}, at::kLong);
        for (std::int64_t row = 0; row < tokens.size(0); ++row) tokens.data_ptr<std::int64_t>()[row] = stack_.token_of(row);
        const auto placed = [&](const RopeTable& table) {
            if (!table.cos.defined()) return table;
            const at::Tensor rows = tokens.to(table.cos.device());
            return RopeTable{table.cos.index_select(0, rows), table.sin.index_select(0, rows)};
        };
        pass_.rope = placed(rope_);
        pass_.local_rope = placed(local_rope_);
    }

    const Model& model_;
    NoObserver nobody_;
    ForwardInput input_;
    Pass pass_;
    RopeTable rope_, local_rope_;  ///< of the text's positions
    TextStack stack_;
    std::int64_t source_ = 0;
};

}  // namespace

std::int64_t rows_of(const ModelConfig& c, const ForwardInput& input, std::int64_t position, const Variant& v) {
    return std::ssize(input.ids) - first_row(c, input, position, v);
}

std::int64_t rows_at_once(const ModelConfig& c) {
    const std::int64_t weights = 4 * c.d_model * c.d_model + 3 * c.d_model * c.d_mlp;
    return std::clamp<std::int64_t>((std::int64_t{5} << 29) / std::max<std::int64_t>(weights, 1), 64, 4096);
}

at::Tensor forward_stacked(const Model& model, const ForwardInput& input, const at::Tensor& sources, std::int64_t position,
                           const std::vector<Variant>& variants, const CancelToken& cancel,
                           const std::function<void(Layer)>& layer_done) {
    StackedPass stacked(model, input, sources, position);
    const at::Tensor x = stacked.run(variants, cancel, layer_done);
    at::Tensor rows = at::full({1 + std::ssize(variants)}, position, at::kLong);
    for (const StackedText& text : stacked.stack().texts)
        if (text.variant)
            rows.data_ptr<std::int64_t>()[1 + (text.variant - variants.data())] = text.start + position - text.first;
    return finish(stacked.pass(), x.index_select(0, rows.to(x.device())));
}

at::Tensor encode_stacked(const Model& encoder, const std::vector<std::int64_t>& source, const std::vector<Variant>& variants,
                          const CancelToken& cancel) {
    std::vector<Variant> others;
    for (const Variant& v : variants)
        if (!v.source.empty()) others.push_back({.ids = v.source});
    StackedPass stacked(encoder, {.ids = source, .type_ids = {}}, {}, 0);
    const at::Tensor x = stacked.run(others, cancel, {});
    return finish(stacked.pass(), x).view({std::ssize(others) + 1, std::ssize(source), -1});
}

}  // namespace headlight::model
