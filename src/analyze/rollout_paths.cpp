// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/head_reader.h"
#include "analyze/joint_attention.h"
#include "analyze/max_flow.h"

#include <algorithm>

namespace headlight::analyze {
namespace {

TokenPaths start(const trace::Trace& trace, Layer layer, Position query, double least) {
    require_whole_model(trace, "What reaches a token through the layers");
    check_head(trace, {layer, Head(0)});
    check_position(trace, query, "query");
    TokenPaths paths;
    paths.layer = layer;
    paths.query = query;
    paths.least = least;
    if (trace.config().convolution.any()) paths.notes.emplace_back(kConvolutionNote);
    paths.mass.assign(static_cast<std::size_t>(layer.value + 2), Eigen::VectorXd::Zero(trace.tokens()));
    return paths;
}

/// Adds a layer's ribbons, one after the other, and what its thin ones carry together.
class Ribbons {
public:
    explicit Ribbons(TokenPaths& paths) : paths_(paths) {}
    ~Ribbons() {
        if (paths_.total > 0) paths_.left_out_mass = std::max(paths_.left_out_mass, thin_ / paths_.total);
    }
    Ribbons(const Ribbons&) = delete;
    Ribbons& operator=(const Ribbons&) = delete;
    void add(const Ribbon& ribbon) {
        if (ribbon.mass <= 0) return;
        if (ribbon.mass >= paths_.least * paths_.total) {
            paths_.ribbons.push_back(ribbon);
        } else {
            ++paths_.left_out;
            thin_ += ribbon.mass;
        }
    }

private:
    TokenPaths& paths_;
    double thin_ = 0;
};

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
        Ribbons ribbons(paths);
        for (std::int64_t from = 0; from < above.size(); ++from)
            for (std::int64_t to = 0; to < above.size() && above[from] > 0; ++to)
                ribbons.add({l, Position(from), Position(to), above[from] * static_cast<double>(joint(from, to))});
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
    const std::int64_t layers = layer.value + 1;
    check_path_flow(trace, layers, !key);
    std::vector<Matrix> joint;
    for (std::int64_t l = 0; l < layers; ++l) {
        cancel.throw_if_cancelled();
        joint.push_back(joint_attention(trace, Layer(l)));
    }
    if (!key) {
        Eigen::Index best = 0;
        flow_row(joint, causal, query, cancel, {}).maxCoeff(&best);
        key = Position(best);
    }
    LayeredFlow network(joint, causal);
    paths.key = key;
    paths.total = network.largest(layers, query.value, key->value);
    paths.mass.back()[query.value] = paths.total;
    for (std::int64_t l = layers - 1; l >= 0; --l) {
        Ribbons ribbons(paths);
        for (const LayeredFlow::Flow& f : network.flow_of_layer(l)) {
            paths.mass[static_cast<std::size_t>(l)][f.to] += f.amount;
            ribbons.add({l, Position(f.from), Position(f.to), f.amount});
        }
    }
    sort_ribbons(paths);
    paths.notes.push_back("One of possibly several largest flows; their size is the same.");
    if (causal && key->value > query.value) paths.notes.push_back("A later token: nothing flows.");
    return paths;
}

}  // namespace headlight::analyze
