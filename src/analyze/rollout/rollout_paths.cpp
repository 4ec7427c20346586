// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/head_reader.h"
#include "analyze/rollout/flow_decoder.h"
#include "analyze/rollout/joint_attention.h"
#include "analyze/rollout/max_flow.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>

namespace headlight::analyze {
namespace {

TokenPaths start(const trace::Trace& trace, Layer layer, Position query, double least) {
    require_own_text(trace, "What reaches a token through the layers");
    check_head(trace, {layer, Head(0)});
    check_position(trace, query, "query");
    TokenPaths paths;
    paths.layer = layer;
    paths.query = query;
    paths.least = least;
    if (trace.config().convolution.any()) paths.notes.emplace_back(kConvolutionNote);
    std::int64_t levels = layer.value + 2, tokens = trace.tokens();
    if (has_cross_attention(trace.config())) {
        const BothTexts size = both_texts(trace);
        paths.source = size.source;
        paths.source_layers = size.source_layers;
        paths.query = Position(size.source + query.value);
        levels = size.steps(layer.value + 1) + 1;
        tokens = size.all();
    }
    paths.mass.assign(static_cast<std::size_t>(levels), Eigen::VectorXd::Zero(tokens));
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

/// Steps of both texts, which fit into memory.
std::vector<Matrix> steps_of(const trace::Trace& trace, Layer layer, const CancelToken& cancel, float passing) {
    const BothTexts size = both_texts(trace);
    check_map_memory(trace, size.all(), size.steps(layer.value + 1) + 1, "Take shorter texts");
    return joint_steps(trace, layer.value, cancel, passing);
}

void check_row_flow(const TokenPaths& paths) {
    const auto tokens = static_cast<std::int64_t>(paths.mass[0].size()), steps = static_cast<std::int64_t>(paths.mass.size()) - 1;
    if (flow_row_work(steps, false, tokens, false) <= most_flow_work) return;
    throw Error(ErrorFacts{
        .problem = "Attention flow of these texts would take too long",
        .found = with_commas(paths.source) + " tokens of the source, " + with_commas(tokens - paths.source) + " of the target",
        .hint = "Pin the input it should go to (with a key), or use rollout: these have no such limit"});
}

}  // namespace

TokenPaths rollout_paths(const trace::Trace& trace, Layer layer, Position query, double least, const CancelToken& cancel) {
    TokenPaths paths = start(trace, layer, query, least);
    paths.mass.back()[paths.query.value] = 1;
    const std::vector<Matrix> steps = paths.source > 0 ? steps_of(trace, layer, cancel, 1) : std::vector<Matrix>();
    for (std::int64_t l = std::ssize(paths.mass) - 2; l >= 0; --l) {
        cancel.throw_if_cancelled();
        const Matrix own = paths.source > 0 ? Matrix() : joint_attention(trace, Layer(l));
        const Matrix& joint = paths.source > 0 ? steps[static_cast<std::size_t>(l)] : own;
        const Eigen::VectorXd& above = paths.mass[static_cast<std::size_t>(l + 1)];
        for (Eigen::Index i = 0; i < above.size(); ++i)  // in float64, without a copy of the whole map
            if (above[i] > 0) paths.mass[static_cast<std::size_t>(l)] += above[i] * joint.row(i).transpose().cast<double>();
        Ribbons ribbons(paths);
        for (std::int64_t from = 0; from < above.size(); ++from)
            for (std::int64_t to = 0; to < above.size() && above[from] > 0; ++to)
                ribbons.add({l, Position(from), Position(to), above[from] * static_cast<double>(joint(from, to))});
    }
    sort_ribbons(paths);
    if (trace.config().causal) paths.notes.push_back("In a causal model more paths lead to the first tokens than to later ones.");
    return paths;
}

TokenPaths flow_paths(const trace::Trace& trace, Layer layer, Position query, std::optional<Position> key, double least,
                      const CancelToken& cancel, bool of_source) {
    TokenPaths paths = start(trace, layer, query, least);
    const bool two = paths.source > 0, causal = trace.config().causal && !two;
    if (of_source && !two)
        throw Error(ErrorFacts{.problem = "This model has no source that its tokens could be from", .item = trace.config().name});
    if (key) of_source ? check_position(*trace.part(model::Stack::encoder), *key, "key") : check_position(trace, *key, "key");
    const bool later = key && !of_source && trace.config().causal && *key > query;
    if (key && two && !of_source) key = Position(paths.source + key->value);
    const auto layers = static_cast<std::int64_t>(paths.mass.size()) - 1;
    std::vector<Matrix> joint;
    if (two) {
        if (!key) check_row_flow(paths);
        joint = steps_of(trace, layer, cancel, 2);
    } else {
        check_path_flow(trace, layers, !key);
        for (std::int64_t l = 0; l < layers; ++l) {
            cancel.throw_if_cancelled();
            joint.push_back(joint_attention(trace, Layer(l)));
        }
    }
    if (!key) {
        Eigen::Index best = 0;
        flow_row(joint, causal, paths.query, cancel, {}).maxCoeff(&best);
        key = Position(best);
    }
    LayeredFlow network(joint, causal);
    paths.key = key;
    paths.total = network.largest(layers, paths.query.value, key->value);
    paths.mass.back()[paths.query.value] = paths.total;
    for (std::int64_t l = layers - 1; l >= 0; --l) {
        Ribbons ribbons(paths);
        for (const LayeredFlow::Flow& f : network.flow_of_layer(l)) {
            paths.mass[static_cast<std::size_t>(l)][f.to] += f.amount;
            ribbons.add({l, Position(f.from), Position(f.to), f.amount});
        }
    }
    sort_ribbons(paths);
    paths.notes.push_back("One of possibly several largest flows; their size is the same.");
    if (later) paths.notes.push_back("A later token: nothing flows.");
    return paths;
}

}  // namespace headlight::analyze
