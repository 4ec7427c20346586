// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/head_reader.h"
#include "analyze/joint_attention.h"
#include "analyze/max_flow.h"

#include <algorithm>

namespace headlight::analyze {
namespace {

TokenPaths start(const trace::Trace& trace, Layer layer, Position query, double least) {
    check_head(trace, {layer, Head(0)});
    check_position(trace, query, "query");
    TokenPaths paths;
    paths.layer = layer;
    paths.query = query;
    paths.least = least;
    paths.mass.assign(static_cast<std::size_t>(layer.value + 2), Eigen::VectorXd::Zero(trace.tokens()));
    return paths;
}

/// Adds the ribbons of one layer, of which `mass_of(from, to)` says the mass.
template <class Mass>
void add_ribbons(TokenPaths& paths, std::int64_t layer, Mass mass_of) {
    const std::int64_t n = paths.mass.front().size();
    double thin = 0;
    for (std::int64_t from = 0; from < n; ++from)
        for (std::int64_t to = 0; to < n; ++to) {
            const double mass = mass_of(from, to);
            if (mass <= 0) continue;
            if (mass >= paths.least * paths.total) {
                paths.ribbons.push_back({layer, Position(from), Position(to), mass});
            } else {
                ++paths.left_out;
                thin += mass;
            }
        }
    if (paths.total > 0) paths.left_out_mass = std::max(paths.left_out_mass, thin / paths.total);
}

void sort_ribbons(TokenPaths& paths) {
    std::stable_sort(paths.ribbons.begin(), paths.ribbons.end(),
                     [](const Ribbon& a, const Ribbon& b) { return a.layer < b.layer; });
}

}  // namespace

TokenPaths rollout_paths(const trace::Trace& trace, Layer layer, Position query, double least,
                         const CancelToken& cancel) {
    TokenPaths paths = start(trace, layer, query, least);
    paths.mass.back()[query.value] = 1;
    for (std::int64_t l = layer.value; l >= 0; --l) {
        cancel.throw_if_cancelled();
        const Matrix joint = joint_attention(trace, Layer(l));
        const Eigen::VectorXd& above = paths.mass[static_cast<std::size_t>(l + 1)];
        for (Eigen::Index i = 0; i < above.size(); ++i)  // in float64, without a copy of the whole map
            if (above[i] > 0)
                paths.mass[static_cast<std::size_t>(l)] += above[i] * joint.row(i).transpose().cast<double>();
        add_ribbons(paths, l, [&](std::int64_t from, std::int64_t to) {
            return above[from] * static_cast<double>(joint(from, to));
        });
    }
    sort_ribbons(paths);
    if (trace.config().causal)
        paths.notes.push_back("In a causal model more paths lead to the first tokens than to later ones.");
    return paths;
}

TokenPaths flow_paths(const trace::Trace& trace, Layer layer, Position query, std::optional<Position> key, double least,
                      const CancelToken& cancel) {
    TokenPaths paths = start(trace, layer, query, least);
    if (key) check_position(trace, *key, "key");
    const bool causal = trace.config().causal;
    const std::int64_t layers = layer.value + 1, targets = causal ? query.value + 1 : trace.tokens();
    check_path_flow(trace, layers, key ? 1 : targets);
    std::vector<Matrix> joint;
    for (std::int64_t l = 0; l < layers; ++l) joint.push_back(joint_attention(trace, Layer(l)));
    LayeredFlow network(joint, causal);
    if (!key) {
        double best = -1;
        for (std::int64_t j = 0; j < targets; ++j) {
            cancel.throw_if_cancelled();
            const double flow = network.largest(layers, query.value, j);
            if (flow <= best) continue;
            best = flow;
            key = Position(j);
        }
    }
    paths.key = key;
    paths.total = network.largest(layers, query.value, key->value);
    paths.mass.back()[query.value] = paths.total;
    for (std::int64_t l = layers - 1; l >= 0; --l) {
        const Matrix flow = network.flow_of_layer(l);
        paths.mass[static_cast<std::size_t>(l)] = flow.cast<double>().colwise().sum().transpose();
        add_ribbons(paths, l, [&](std::int64_t from, std::int64_t to) { return static_cast<double>(flow(from, to)); });
    }
    sort_ribbons(paths);
    paths.notes.push_back("One of possibly several largest flows; their size is the same.");
    if (causal && key->value > query.value) paths.notes.push_back("A later token: nothing flows.");
    return paths;
}

}  // namespace headlight::analyze
