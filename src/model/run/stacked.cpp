// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/stacked.h"

#include "model/blocks/text_stack.h"
#include "model/run/steps.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>

namespace headlight::model {
namespace {

bool is_of_attention(Hook hook) {
    return hook == Hook::attn_scores || hook == Hook::pattern || hook == Hook::cross_scores || hook == Hook::cross_pattern;
}

/// Shows each variant its own rows.
class StackObserver final : public Observer {
public:
    explicit StackObserver(const TextStack& stack) : stack_(stack) {}
    void expect(std::span<const Variant> variants) {
        for (const Variant& v : variants)
            for (const RowEdit& edit : v.edits)
                if (!is_of_attention(edit.point.hook)) points_.insert(edit.point);
    }
    bool wants(HookPoint point) const override { return points_.contains(point); }
    at::Tensor visit(HookPoint point, at::Tensor rows) override {
        at::Tensor changed;
        for (const StackedText& text : stack_.texts) {
            if (!text.variant) continue;
            for (const RowEdit& edit : text.variant->edits) {
                if (edit.point != point || edit.first >= text.last) continue;
                if (!changed.defined()) changed = rows.clone(at::MemoryFormat::Contiguous);
                at::Tensor own = changed.narrow(0, text.start, text.rows());
                own.copy_(edited(edit, point, own, text.first));
            }
        }
        return changed.defined() ? changed : rows;
    }

private:
    const TextStack& stack_;
    std::set<HookPoint> points_;
};

/// Tokens from which on and up to which the variant has rows of its own.
RowRange range_of(const ModelConfig& c, const ForwardInput& input, RowRange asked, const Variant& v) {
    const auto tokens = std::ssize(input.ids);
    if (!c.causal || !v.source.empty()) return {0, tokens};
    // An edited pattern may attend to tokens behind those that are asked for.
    const bool any_key = std::ranges::any_of(v.edits, [](const RowEdit& edit) { return is_of_attention(edit.point.hook); });
    RowRange range{tokens, any_key ? tokens : asked.last};
    if (!v.ids.empty()) range.first = std::ranges::mismatch(v.ids, input.ids).in1 - v.ids.begin();
    for (const RowEdit& edit : v.edits) range.first = std::min(range.first, edit.first);
    range.first = std::clamp<std::int64_t>(range.first, 0, asked.last - 1);
    return range;
}

/// The stack of a pass and what it was made of.
class StackedPass {
public:
    /// `kept`: of the text itself, which is then no part of the stack.
    StackedPass(const Model& model, const ForwardInput& input, const at::Tensor& sources, RowRange asked,
                const KeptStates* kept = nullptr)
        : model_(model),
          input_{.ids = input.ids,
                 .type_ids = input.type_ids,
                 .source = sources.defined() ? sources[0] : at::Tensor(),
                 .pixels = input.pixels},
          asked_(asked),
          observer_(stack_),
          pass_(start_pass(model.internals(), input_, observer_, nullptr)),
          rope_(pass_.rope),
          local_rope_(pass_.local_rope) {
        stack_.tokens = pass_.tokens();
        stack_.sources = sources;
        stack_.kept = kept;
        if (!kept) stack_.texts.push_back({.last = stack_.tokens});
        pass_.stack = &stack_;
    }
    StackedPass(const StackedPass&) = delete;
    StackedPass& operator=(const StackedPass&) = delete;

    /// The stream of all rows after the last layer.
    at::Tensor run(std::span<const Variant> variants, const CancelToken& cancel, const std::function<void(Layer)>& layer_done) {
        observer_.expect(variants);
        const std::int64_t layers = model_.config().n_layers;
        std::int64_t first = stack_.kept ? layers : 0;
        for (const Variant& v : variants) first = std::min(first, start_of(v).value);
        at::Tensor x = stack_.kept ? at::Tensor() : embed(pass_);
        for (std::int64_t l = first; l < layers; ++l) {
            cancel.throw_if_cancelled();
            const auto before_mlp = [&](const at::Tensor& rows) { return l + 1 < layers ? rows : only_asked(rows); };
            x = run_layer(pass_, Layer(l), with_variants_of(Layer(l), variants, x), before_mlp);
            if (layer_done) layer_done(Layer(l));
        }
        cancel.throw_if_cancelled();
        return x;
    }

    const TextStack& stack() const { return stack_; }
    Pass& pass() { return pass_; }

private:
    /// The stream with the rows of those variants that differ from this layer on.
    at::Tensor with_variants_of(Layer layer, std::span<const Variant> variants, const at::Tensor& x) {
        std::vector<at::Tensor> rows;
        if (x.defined()) rows.push_back(x);
        const std::size_t before = stack_.texts.size();
        for (const Variant& v : variants) {
            if (start_of(v) != layer) continue;
            const at::Tensor own = !v.ids.empty() ? embedded(v)
                                   : stack_.kept  ? stack_.kept->stream[static_cast<std::size_t>(layer.value)]
                                                  : x.narrow(0, 0, stack_.tokens);
            const RowRange range = range_of(model_.config(), input_, asked_, v);
            stack_.texts.push_back({stack_.rows(), range.first, range.last, v.source.empty() ? 0 : ++source_, &v});
            rows.push_back(own.narrow(0, range.first, range.last - range.first));
        }
        if (stack_.texts.size() == before) return x;
        place_rope();
        return at::cat(rows);
    }

    /// Behind the last attention rows that are not asked for are read by nobody.
    at::Tensor only_asked(const at::Tensor& x) {
        if (has_convolution(model_.config(), model_.config().n_layers - 1)) return x;
        std::vector<at::Tensor> rows;
        std::vector<StackedText> texts = stack_.texts;
        std::int64_t start = 0;
        for (StackedText& text : texts) {
            const std::int64_t was = text.start - text.first;
            text.first = std::max(text.first, asked_.first);
            text.last = std::min(text.last, asked_.last);
            text.start = start;
            start += text.rows();
            rows.push_back(at::arange(was + text.first, was + text.last, at::kLong));
        }
        if (start == stack_.rows()) return x;
        const at::Tensor kept = at::cat(rows).to(x.device());
        for (at::Tensor* other : {&pass_.resid_pre, &pass_.shared_norm})  // what a parallel block's MLP reads
            if (other->defined() && other->size(0) == x.size(0)) *other = other->index_select(0, kept);
        stack_.texts = std::move(texts);
        return x.index_select(0, kept);
    }

    at::Tensor embedded(const Variant& v) {
        NoObserver nobody;
        const ForwardInput input{.ids = v.ids, .type_ids = input_.type_ids, .source = input_.source};
        Pass pass = start_pass(model_.internals(), input, nobody, nullptr);
        return embed(pass);
    }

    void place_rope() {
        at::Tensor tokens = at::empty({stack_.rows()}, at::kLong);
        for (const StackedText& text : stack_.texts)
            for (std::int64_t i = 0; i < text.rows(); ++i) tokens.data_ptr<std::int64_t>()[text.start + i] = text.first + i;
        const auto placed = [&](const RopeTable& table) {
            if (!table.cos.defined()) return table;
            const at::Tensor rows = tokens.to(table.cos.device());
            return table.with_rows([&](const at::Tensor& t) { return t.index_select(0, rows); });
        };
        pass_.rope = placed(rope_);
        pass_.local_rope = placed(local_rope_);
    }

    const Model& model_;
    ForwardInput input_;
    RowRange asked_;
    TextStack stack_;
    StackObserver observer_;
    Pass pass_;
    RopeTable rope_, local_rope_;  ///< of the text's positions
    std::int64_t source_ = 0;
};

/// Keeps what KeptStates holds.
class Keeper final : public Observer {
public:
    Keeper(const ModelConfig& c, at::Tensor added) : last_(c.n_layers - 1), added_(std::move(added)) {}
    bool wants(HookPoint point) const override {
        return point.hook == Hook::resid_pre || (point.hook == Hook::embed && added_.defined()) || point.hook == Hook::v ||
               (point.hook == Hook::resid_post && point.layer.value == last_);
    }
    at::Tensor visit(HookPoint point, at::Tensor t) override {
        if (point.hook == Hook::embed) return t + added_.to(t.options());
        if (point.hook == Hook::v)
            states.v.push_back(t.transpose(0, 1).contiguous());
        else
            states.stream.push_back(t);
        return t;
    }
    void attention_input(Layer, const AttentionInput& in) override { states.k.push_back(in.k); }
    KeptStates states;

private:
    std::int64_t last_;
    at::Tensor added_;
};

}  // namespace

bool can_stack(Hook hook) noexcept {
    switch (hook) {
        case Hook::embed:
        case Hook::pos_embed:
        case Hook::token_type_embed:
        case Hook::embed_norm_scale:
        case Hook::embed_norm_normalized:
        case Hook::embed_projected:
        case Hook::c2p:
        case Hook::p2c:
        case Hook::content_scores:
        case Hook::rotary_scores:
        case Hook::sink:
        case Hook::cross_k:
        case Hook::cross_v:
        case Hook::ln_final_scale:
        case Hook::ln_final_normalized:
        case Hook::mlm_pre:
        case Hook::mlm_post:
        case Hook::mlm_ln_scale:
        case Hook::mlm_ln_normalized:
        case Hook::projected:
        case Hook::logits: return false;
        default: return true;
    }
}

std::int64_t rows_of(const ModelConfig& c, const ForwardInput& input, RowRange asked, const Variant& v) {
    const RowRange range = range_of(c, input, asked, v);
    return range.last - range.first;
}

Layer start_of(const Variant& v) noexcept {
    if (!v.ids.empty() || !v.source.empty() || v.edits.empty()) return Layer(0);
    return std::ranges::min(v.edits, {}, [](const RowEdit& edit) { return edit.point.layer; }).point.layer;
}

std::int64_t rows_at_once(const ModelConfig& c) {
    const std::int64_t weights = 4 * c.d_model * c.d_model + 3 * c.d_model * c.d_mlp;
    return std::clamp<std::int64_t>((std::int64_t{5} << 29) / std::max<std::int64_t>(weights, 1), 64, 4096);
}

at::Tensor forward_stacked(const Model& model, const ForwardInput& input, const at::Tensor& sources, std::int64_t position,
                           const std::vector<Variant>& variants, const CancelToken& cancel,
                           const std::function<void(Layer)>& layer_done) {
    const bool means = reads_mean(model.config());
    StackedPass stacked(model, input, sources, means ? RowRange{0, std::ssize(input.ids)} : RowRange{position, position + 1});
    const at::Tensor x = stacked.run(variants, cancel, layer_done);
    at::Tensor rows = at::full({1 + std::ssize(variants)}, position, at::kLong);
    for (const StackedText& text : stacked.stack().texts)
        rows.data_ptr<std::int64_t>()[text.variant ? 1 + (text.variant - variants.data()) : 0] =
            text.start + position - text.first;
    if (means) return finish(stacked.pass(), x).index_select(0, rows.to(x.device()));
    return finish(stacked.pass(), x.index_select(0, rows.to(x.device())));
}

at::Tensor encode_stacked(const Model& encoder, const std::vector<std::int64_t>& source, const std::vector<Variant>& variants,
                          const CancelToken& cancel) {
    std::vector<Variant> others;
    for (const Variant& v : variants)
        if (!v.source.empty()) others.push_back({.ids = v.source});
    StackedPass stacked(encoder, {.ids = source, .type_ids = {}}, {}, {0, std::ssize(source)});
    const at::Tensor x = stacked.run(others, cancel, {});
    return finish(stacked.pass(), x).view({std::ssize(others) + 1, std::ssize(source), -1});
}

namespace {

/// W_U of these tokens: [d_model, token].
at::Tensor columns_of(const Model::Internals& m, const at::Tensor& tokens) {
    if (!m.unembed.weight.is_meta()) return m.unembed.weight.index_select(1, tokens);
    std::vector<at::Tensor> each;
    for (std::int64_t i = 0; i < tokens.size(0); ++i) each.push_back(unembedding_columns(m, tokens[i].item<std::int64_t>(), 1));
    return at::cat(each, 1);
}

}  // namespace

KeptText::KeptText(const Model& model, ForwardInput input, RowRange asked, const at::Tensor& columns, const at::Tensor& added,
                   const CancelToken& cancel)
    : model_(model), input_(std::move(input)), asked_(asked) {
    if (columns.defined()) {
        const Linear& all = model.internals().unembed;
        const at::Tensor chosen = columns.to(model.internals().device);
        unembed_ = {columns_of(model.internals(), chosen), all.bias.defined() ? all.bias.index_select(0, chosen) : at::Tensor()};
    }
    Keeper keeper(model.config(), added);
    forward(model, input_, keeper, cancel, {});
    states_ = std::move(keeper.states);
    NoObserver nobody;
    Pass pass = start_pass(model.internals(), input_, nobody, nullptr);
    const auto rows = [&](const at::Tensor& x) { return x.narrow(0, asked.first, asked.last - asked.first); };
    const at::Tensor& last = states_.stream.back();
    logits_ = reads_mean(model.config()) ? rows(finish_rows(pass, last)) : finish_rows(pass, rows(last));
}

at::Tensor KeptText::finish_rows(Pass& pass, at::Tensor x) const {
    if (!unembed_.weight.defined()) return finish(pass, x);
    for (const Block block : pass.model.spec.after)
        x = block == Block::unembedding ? logits_with(pass.config(), unembed_, x) : output(pass, block, x);
    return x;
}

at::Tensor KeptText::run(std::span<const Variant> variants, const CancelToken& cancel,
                         const std::function<void(Layer)>& layer_done) const {
    at::internal::lazy_init_num_threads();
    const at::Tensor sources = input_.source.defined() ? input_.source.unsqueeze(0) : at::Tensor();
    const bool means = reads_mean(model_.config());
    const RowRange ran = means ? RowRange{0, std::ssize(input_.ids)} : asked_;
    StackedPass stacked(model_, input_, sources, ran, &states_);
    const at::Tensor x = stacked.run(variants, cancel, layer_done);
    const std::int64_t asked = asked_.last - asked_.first;
    std::vector<std::int64_t> from, to;
    for (const StackedText& text : stacked.stack().texts)
        for (std::int64_t row = std::max(text.first, asked_.first); row < asked_.last; ++row) {
            from.push_back(text.start + row - text.first);
            to.push_back((text.variant - variants.data()) * asked + row - asked_.first);
        }
    const auto indices = [&](const std::vector<std::int64_t>& values) {
        at::Tensor t = at::empty({std::ssize(values)}, at::kLong);
        std::ranges::copy(values, t.data_ptr<std::int64_t>());
        return t.to(x.device());
    };
    // Rows before a variant's first are the text's own.
    at::Tensor out = logits_.repeat({std::ssize(variants), 1});
    const at::Tensor rows = means ? finish_rows(stacked.pass(), x).index_select(0, indices(from))
                                  : finish_rows(stacked.pass(), x.index_select(0, indices(from)));
    out.index_copy_(0, indices(to), rows);
    return out.view({std::ssize(variants), asked, -1});
}

}  // namespace headlight::model
