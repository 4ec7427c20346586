// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/neuron_view.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/analyze/pattern/sinks.h"

#include <limits>

namespace headlight::analyze {

NeuronView neuron_view(const trace::Trace& trace, HeadId id, Position query) {
    check_head(trace, id);
    check_position(trace, query, "query");
    const auto& config = trace.config();
    const std::int64_t i = query.value, n = trace.keys();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();

    NeuronView view;
    view.head = id;
    view.kv_head = kv_head(trace, id.head);
    view.group_size = config.n_heads / config.n_kv_heads;
    view.query = query;
    view.scale = model::score_scale_of(config, id.layer.value);
    view.causal = config.causal;
    view.position_kind = position_kind(trace);
    view.q = to_vector(head_queries(trace, id).select(0, i));
    view.k = to_matrix(head_keys(trace, id));
    view.products = view.k.array().rowwise() * view.q.transpose().array();
    view.dot = (view.scale * view.products.cast<double>().rowwise().sum()).cast<float>();
    view.score = view.dot;
    if (config.positions == model::Positions::alibi || model::has_relative_bias(config)) {
        Vector bias = to_vector(trace::position_rows(trace, id.layer, id.head, i, 1).select(0, 0));
        if (view.causal) bias.tail(n - 1 - i).setConstant(nan);
        view.position.assign(bias.begin(), bias.end());
        view.score += bias;
    }
    const trace::RelativeTerms relative = trace::relative_rows(trace, id.layer, id.head, i, 1);
    for (const auto& [name, term] : {std::pair("c2p", relative.c2p), std::pair("p2c", relative.p2c)}) {
        if (!term.defined()) continue;
        view.terms.push_back({name, to_vector(term.select(0, 0))});
        view.score += view.terms.back().values;
    }
    if (const trace::ScoreParts parts = trace::score_part_rows(trace, id.layer, id.head, i, 1); parts.content.defined()) {
        view.content = config.latent.content;
        const std::int64_t seen = legal_keys_of(trace, id.layer, query).last;
        for (const auto& [name, part] : {std::pair("content", parts.content), std::pair("rotary", parts.rotary)}) {
            view.parts.push_back({name, to_vector(part.select(0, 0))});
            view.parts.back().values.tail(n - seen).setConstant(nan);
        }
        // A part that was replaced is in the score, and not in q and k.
        view.dot.head(seen) = view.parts[0].values.head(seen) + view.parts[1].values.head(seen);
        view.score = view.dot;
    }
    if (config.score_softcap > 0) {
        const auto cap = static_cast<float>(config.score_softcap);
        view.score = (view.score.array() / cap).tanh() * cap;
    }
    if (view.causal) view.score.tail(n - 1 - i).setConstant(nan);
    const model::KeyRange legal = legal_keys_of(trace, id.layer, query);
    view.score.head(legal.first).setConstant(nan);
    view.score.tail(n - legal.last).setConstant(nan);
    view.weight = to_vector(trace::pattern_rows(trace, id.layer, id.head, i, 1).select(0, 0));
    if (config.attention_sinks) view.sink = sink_shares(trace, id)[i];
    view.value_norm = to_vector(output_norms(trace, id));
    view.weighted_value_norm = view.weight.cwiseProduct(view.value_norm);
    return view;
}

Matrix query_vectors(const trace::Trace& trace, HeadId id) {
    check_head(trace, id);
    return to_matrix(head_queries(trace, id));
}

}  // namespace headlight::analyze
