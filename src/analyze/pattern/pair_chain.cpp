// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/trace/weights.h"

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

double scalar_product(const at::Tensor& a, const at::Tensor& b) {
    return at::dot(a.to(at::kDouble), b.to(at::kDouble)).item<double>();
}

double length(const at::Tensor& x) { return std::sqrt(scalar_product(x, x)); }

/// A direct path from an update to the logits exists: a causal model whose stream goes through one final norm.
bool has_direct_path(const model::ModelConfig& config) {
    return config.has_unembedding && config.causal && !config.post_norm && !config.class_head.any();
}

/// What updates [n, d_model] add to the logits at position i: [n, vocab].
at::Tensor logit_effects(const trace::Trace& trace, Position i, at::Tensor updates) {
    const auto& config = trace.config();
    if (config.final_norm) {
        if (config.norm == model::Norm::layer_norm) updates = updates - updates.mean(1, true);
        updates = updates / state_row(trace, Hook::ln_final_scale, Layer(0), i);
        const at::Tensor gain = trace::final_norm(*trace.model()).gain;
        if (gain.defined()) updates = updates * gain.cpu().to(at::kDouble);
    }
    const at::Tensor w_u = trace::unembed(*trace.model()).cpu();
    // The product over the vocabulary is the one expensive step: it stays in the type of the weights, but not below
    // float32.
    const auto type = w_u.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return at::matmul(updates.to(type), w_u.to(type)).to(at::kFloat).contiguous();
}

std::vector<TokenEffect> top_effects(const trace::Trace& trace, const at::Tensor& effects, std::int64_t top, bool largest) {
    const float* values = effects.data_ptr<float>();
    const std::int64_t n = std::min(top, effects.size(0));
    std::vector<std::int64_t> ids(static_cast<std::size_t>(effects.size(0)));
    for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<std::int64_t>(k);
    std::partial_sort(ids.begin(), ids.begin() + n, ids.end(), [&](std::int64_t a, std::int64_t b) {
        if (values[a] != values[b]) return largest ? values[a] > values[b] : values[a] < values[b];
        return a < b;
    });
    std::vector<TokenEffect> list;
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t id = ids[static_cast<std::size_t>(k)];
        list.push_back({id, text::token_label(*trace.tokenizer(), id), values[id]});
    }
    return list;
}

void set_score(PairChain& chain, const trace::Trace& trace, HeadId id) {
    const std::int64_t i = chain.query.value, j = chain.key.value;
    const auto positions = trace.config().positions;
    chain.scale = model::score_scale_of(trace.config(), id.layer.value);
    chain.qk = scalar_product(head_queries(trace, id).select(0, i), head_keys(trace, id).select(0, j));
    chain.content = chain.scale * chain.qk;
    if (model::has_position_term(trace.config())) {
        const at::Tensor bias = trace::position_rows(trace, id.layer, id.head, i, 1);
        chain.position = bias.select(0, 0).select(0, j).to(at::kDouble).item<double>();
    } else if (positions == model::Positions::rotary) {
        const at::Tensor q = trace::before_rotation(trace, id.layer, Hook::q).select(0, i).select(0, id.head.value);
        const at::Tensor k = trace::before_rotation(trace, id.layer, Hook::k).select(0, j).select(0, kv_head(trace, id.head));
        const double rotated = chain.content;
        chain.content = chain.scale * scalar_product(q, k);
        chain.position = rotated - chain.content;
    }
    chain.score = chain.content + chain.position.value_or(0);
}

void set_weight(PairChain& chain, const trace::Trace& trace, HeadId id) {
    const Vector weights = to_vector(trace::pattern_rows(trace, id.layer, id.head, chain.query.value, 1).select(0, 0));
    const model::KeyRange legal = legal_keys_of(trace, id.layer, chain.query);
    chain.of = legal.count();
    const float own = weights[chain.key.value];
    chain.weight = own;
    chain.rank = 1 + (weights.segment(legal.first, legal.count()).array() > own).count();
}

}  // namespace

PairChain pair_chain(const trace::Trace& trace, HeadId id, Position query, Position key, std::int64_t top,
                     const CancelToken& cancel) {
    check_head(trace, id);
    check_position(trace, query, "query");
    check_key(trace, key);
    PairChain chain;
    chain.head = id;
    chain.query = query;
    chain.key = key;
    chain.position_kind = position_kind(trace);
    chain.legal = legal_keys_of(trace, id.layer, query).has(key.value);
    if (!chain.legal) return chain;

    cancel.throw_if_cancelled();
    set_score(chain, trace, id);
    set_weight(chain, trace, id);
    cancel.throw_if_cancelled();
    const at::Tensor w_o = trace::attention_output(*trace.model(), id.layer).w_o.select(0, id.head.value).cpu().to(at::kDouble);
    const at::Tensor value = head_values(trace, id).select(0, key.value).to(at::kDouble);
    const at::Tensor written = at::matmul(value, w_o);  // [d_model]
    chain.raw_value_norm = length(value);
    chain.value_norm = length(written);
    chain.weighted_value_norm = chain.weight * chain.value_norm;

    const auto added = [&](const at::Tensor& x) {
        return behind_branch_norm(trace, id.layer, query.value, x.unsqueeze(0)).squeeze(0);
    };
    const at::Tensor update = added(at::matmul(state_row(trace, Hook::z, id.layer, query).select(0, id.head.value), w_o));
    const at::Tensor stream = state_row(trace, Hook::resid_pre, id.layer, query);
    const double size = length(update), base = length(stream);
    constexpr double nan = kNaN;
    chain.update_ratio = base > 0 ? size / base : nan;
    chain.update_cosine = base > 0 && size > 0 ? scalar_product(update, stream) / (size * base) : nan;

    cancel.throw_if_cancelled();
    if (top > 0 && has_direct_path(trace.config())) {
        const at::Tensor effects = logit_effects(trace, query, at::stack({update, added(written * chain.weight)}));
        chain.promoted = top_effects(trace, effects.select(0, 0), top, true);
        chain.suppressed = top_effects(trace, effects.select(0, 0), top, false);
        chain.pair_promoted = top_effects(trace, effects.select(0, 1), top, true);
        chain.pair_suppressed = top_effects(trace, effects.select(0, 1), top, false);
    }
    return chain;
}

}  // namespace headlight::analyze
