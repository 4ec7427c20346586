// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/columns.h"

#include "analyze/contribution/contribution_parts.h"
#include "analyze/pattern/head_reader.h"
#include "headlight/base/error.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace headlight::analyze {
namespace {

void check_layer(const trace::Trace& trace, Layer layer) { check_head(trace, {layer, Head(0)}); }

/// From the wanted last states of one stack downwards.
class Descent {
public:
    Descent(const trace::Trace& trace, const ContributionOptions& o, ContributionGraph& graph)
        : trace_(trace),
          cross_(trace.part(model::Stack::cross).get()),
          o_(o),
          graph_(graph),
          in_encoder_(trace.config().stack == model::Stack::encoder && graph.source_layers > 0),
          read_(static_cast<std::size_t>(graph.source_tokens)) {}

    /// `done` layers of the graph's are behind.
    void run(std::vector<bool> wanted, std::int64_t from_layer, std::int64_t done, const CancelToken& cancel,
             const Progress& progress) {
        const std::int64_t layers = trace_.config().n_layers, all = graph_.layers + graph_.source_layers;
        for (std::int64_t l = layers - 1; l >= from_layer; --l) {
            if (progress) progress({"Following contributions", "layer", done + layers - 1 - l, all});
            cancel.throw_if_cancelled();
            wanted = layer(Layer(l), wanted, cancel);
        }
        if (progress) progress({"Following contributions", "layer", done + layers, all});
    }

    /// Tokens of the source whose last state was read.
    const std::vector<bool>& read() const noexcept { return read_; }

private:
    std::vector<bool> layer(Layer l, const std::vector<bool>& wanted, const CancelToken& cancel) {
        std::vector<std::int64_t> used = behind_mlp(l, wanted);
        if (cross_ && !used.empty()) {
            std::vector<bool> past(wanted.size());
            behind_attention(WrittenValues(trace_, *cross_, l), l, used, EdgeKind::cross, cancel,
                             [&](const ContributionEdge& edge) {
                                 (edge.kind == EdgeKind::cross ? read_ : past)[static_cast<std::size_t>(edge.from)] = true;
                             });
            std::erase_if(used, [&](std::int64_t p) { return !past[static_cast<std::size_t>(p)]; });
        }
        std::vector<bool> below(wanted.size());
        if (!used.empty())
            behind_attention(WrittenValues(trace_, trace_, l), l, used, EdgeKind::attention, cancel,
                             [&](const ContributionEdge& edge) { below[static_cast<std::size_t>(edge.from)] = true; });
        return below;
    }

    /// Edges to some tokens' states behind an attention; `see` is shown each.
    template <class See>
    void behind_attention(const WrittenValues& values, Layer l, const std::vector<std::int64_t>& used, EdgeKind kind,
                          const CancelToken& cancel, const See& see) {
        for (auto from = used.begin(); from != used.end();) {
            cancel.throw_if_cancelled();
            const std::int64_t first = *from;
            const auto to = std::lower_bound(from, used.end(), first + kStretch);
            const std::vector<std::int64_t> tokens(from, to);
            const std::vector<AttentionShares> shares =
                values.shares(tokens, values.patterns(first, tokens.back() - first + 1), first);
            std::vector<std::vector<ContributionEdge>> edges(tokens.size());
            at::parallel_for(0, std::ssize(tokens), 1, [&](std::int64_t begin, std::int64_t end) {
                for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                    edges[i] = attention(l, tokens[i], shares[i], kind);
            });
            for (std::vector<ContributionEdge>& each : edges)
                for (ContributionEdge& edge : each) {
                    see(edge);
                    graph_.edges.push_back(std::move(edge));
                }
            from = to;
        }
    }

    bool kept(double weight) const { return weight > o_.threshold; }

    /// Tokens whose state behind attention is used.
    std::vector<std::int64_t> behind_mlp(Layer l, const std::vector<bool>& wanted) {
        const auto first = std::find(wanted.begin(), wanted.end(), true) - wanted.begin();
        std::vector<std::int64_t> used;
        if (first == std::ssize(wanted)) return used;
        const auto last = wanted.rend() - std::find(wanted.rbegin(), wanted.rend(), true);
        const std::vector<MlpShares> shares = shares_behind_mlp(trace_, l, {first, last - first});
        for (std::int64_t p = first; p < last; ++p) {
            if (!wanted[static_cast<std::size_t>(p)]) continue;
            const MlpShares& s = shares[static_cast<std::size_t>(p - first)];
            const bool through = kept(s.mlp), past = kept(s.residual);
            const double rest = (through ? s.mlp : 0) + (past ? s.residual : 0);
            const double by = o_.renormalise && rest > 0 ? 1 / rest : 1;
            if (through) graph_.edges.push_back({EdgeKind::mlp, l.value, p, p, in_encoder_, s.mlp * by, {}});
            if (past) graph_.edges.push_back({EdgeKind::mlp_residual, l.value, p, p, in_encoder_, s.residual * by, {}});
            if (through || past) used.push_back(p);
        }
        return used;
    }

    /// Edges to a token's state behind an attention.
    std::vector<ContributionEdge> attention(Layer l, std::int64_t p, const AttentionShares& s, EdgeKind kind) const {
        std::vector<ContributionEdge> edges;
        double rest = 0;
        if (kept(s.residual)) {
            rest = s.residual;
            edges.push_back({kind == EdgeKind::cross ? EdgeKind::cross_residual : EdgeKind::residual,
                             l.value,
                             p,
                             p,
                             in_encoder_,
                             s.residual,
                             {}});
        }
        std::vector<std::pair<std::int64_t, double>> heads;
        for (Eigen::Index j = 0; j < s.from_heads.cols(); ++j) {
            heads.clear();
            for (Eigen::Index h = 0; h < s.from_heads.rows(); ++h)
                if (kept(s.from_heads(h, j))) heads.emplace_back(h, s.from_heads(h, j));
            if (heads.empty()) continue;
            std::sort(heads.begin(), heads.end(), [](const auto& a, const auto& b) {
                return a.second != b.second ? a.second > b.second : a.first < b.first;
            });
            edges.push_back({kind, l.value, j, p, in_encoder_, 0, heads});
            ContributionEdge& edge = edges.back();
            for (const auto& head : heads) edge.weight += head.second;
            rest += edge.weight;
        }
        const double by = o_.renormalise && rest > 0 ? 1 / rest : 1;
        for (ContributionEdge& edge : edges) {
            edge.weight *= by;
            for (auto& head : edge.heads) head.second *= by;
        }
        return edges;
    }

    const trace::Trace& trace_;
    const trace::Trace* cross_;  ///< the attention to a source; none: nullptr
    const ContributionOptions& o_;
    ContributionGraph& graph_;
    bool in_encoder_;
    std::vector<bool> read_;
};

void check_state(const trace::Trace& trace, Layer layer, Position p) {
    require_own_text(trace, "What a layer adds, by its parts,");
    check_layer(trace, layer);
    check_position(trace, p, "position");
}

const trace::Trace& cross_of(const trace::Trace& trace) {
    if (const auto& cross = trace.part(model::Stack::cross)) return *cross;
    throw Error({.problem = "This model has no attention to a source",
                 .item = trace.config().name,
                 .expected = "an encoder-decoder model"});
}

Eigen::MatrixXd head_map(const trace::Trace& run, const trace::Trace& attention, HeadId id, const CancelToken& cancel) {
    check_head(attention, id);
    const at::NoGradGuard no_grad;
    const WrittenValues values(run, attention, id.layer);
    Eigen::MatrixXd map(run.tokens(), attention.keys());
    for (std::int64_t first = 0; first < run.tokens(); first += kStretch) {
        cancel.throw_if_cancelled();
        const std::int64_t last = std::min(first + kStretch, run.tokens());
        std::vector<std::int64_t> tokens(static_cast<std::size_t>(last - first));
        std::iota(tokens.begin(), tokens.end(), first);
        const std::vector<AttentionShares> found = values.shares(tokens, values.patterns(first, last - first), first);
        for (std::size_t i = 0; i < found.size(); ++i)
            map.row(first + static_cast<std::int64_t>(i)) = found[i].from_heads.row(id.head.value);
    }
    return map;
}

}  // namespace

const char* name_of(EdgeKind kind) noexcept {
    switch (kind) {
        case EdgeKind::attention: return "attention";
        case EdgeKind::residual: return "residual";
        case EdgeKind::mlp: return "mlp";
        case EdgeKind::cross: return "cross";
        case EdgeKind::cross_residual: return "cross_residual";
        case EdgeKind::mlp_residual: break;
    }
    return "mlp_residual";
}

AttentionShares attention_shares(const trace::Trace& trace, Layer layer, Position p) {
    check_state(trace, layer, p);
    const at::NoGradGuard no_grad;
    return WrittenValues(trace, trace, layer).shares(p);
}

AttentionShares cross_shares(const trace::Trace& trace, Layer layer, Position p) {
    const trace::Trace& cross = cross_of(trace);
    check_state(trace, layer, p);
    const at::NoGradGuard no_grad;
    return WrittenValues(trace, cross, layer).shares(p);
}

MlpShares mlp_shares(const trace::Trace& trace, Layer layer, Position p) {
    check_state(trace, layer, p);
    const at::NoGradGuard no_grad;
    return shares_behind_mlp(trace, layer, {p.value, 1}).front();
}

ContributionGraph contribution_graph(const trace::Trace& trace, Position p, const ContributionOptions& options,
                                     const CancelToken& cancel, const Progress& progress) {
    require_own_text(trace, "The graph of contributions");
    check_position(trace, p, "position");
    if (!(options.threshold >= 0 && options.threshold <= 1))
        throw Error({.problem = "The threshold is a share", .expected = "0 to 1", .found = std::to_string(options.threshold)});
    check_layer(trace, Layer(options.from_layer));
    if (has_convolution(trace.config(), options.from_layer))
        throw Error({.problem = "The graph of contributions has no edges for the convolution beside layer 0, which hands on what "
                                "neighbouring tokens were",
                     .item = trace.config().name,
                     .expected = "a first layer of 1 or more",
                     .found = "0",
                     .hint = "Begin the graph at layer 1"});
    const at::NoGradGuard no_grad;
    const auto& encoder = trace.part(model::Stack::encoder);
    ContributionGraph graph{.layers = trace.config().n_layers,
                            .tokens = trace.tokens(),
                            .source_layers = encoder ? encoder->config().n_layers : 0,
                            .source_tokens = encoder ? encoder->tokens() : 0,
                            .target = p,
                            .threshold = options.threshold,
                            .edges = {}};
    Descent decoder(trace, options, graph);
    std::vector<bool> wanted(static_cast<std::size_t>(graph.tokens));
    wanted[static_cast<std::size_t>(p.value)] = true;
    decoder.run(std::move(wanted), options.from_layer, 0, cancel, progress);
    if (encoder) Descent(*encoder, options, graph).run(decoder.read(), 0, graph.layers, cancel, progress);
    return graph;
}

Eigen::MatrixXd head_contribution_map(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    require_own_text(trace, "The map of a head's contributions");
    return head_map(trace, trace, id, cancel);
}

Eigen::MatrixXd cross_contribution_map(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    return head_map(trace, cross_of(trace), id, cancel);
}

Table table_of(const ContributionGraph& graph, const trace::Trace& trace) {
    const bool two = graph.source_layers > 0;
    const auto token = [&](std::int64_t position, bool of_source) {
        return token_name(of_source ? trace.part(model::Stack::encoder)->labels() : trace.labels(), position);
    };
    struct Row {
        const ContributionEdge& edge;
        std::optional<std::int64_t> head;
        double part;
    };
    std::vector<Row> rows;
    for (const ContributionEdge& edge : graph.edges) {
        rows.push_back({edge, {}, edge.weight});
        for (const auto& [head, part] : edge.heads) rows.push_back({edge, head, part});
    }
    return Columns<Row>{
        {"stack", [](const Row& row) { return row.edge.in_encoder ? "encoder" : "decoder"; },
         "whose layer and positions they are; of a cross edge `from` is a position of the source", two},
        {"layer", [](const Row& row) { return row.edge.layer; }},
        {"kind", [](const Row& row) { return name_of(row.edge.kind); },
         std::string("attention, residual (past the attention), mlp, mlp_residual (past the MLP)") +
             (two ? ", cross (from the encoder's last state of a source token), cross_residual (past the cross attention)" : "")},
        {"from", [](const Row& row) { return row.edge.from; }},
        {"to", [](const Row& row) { return row.edge.to; }},
        {"head", &Row::head, "of an attention edge; empty: the sum over its heads"},
        {"contribution", &Row::part, "max(|w| - |w - part|, 1e-5) by L1 norms, over the sum of all parts of w"},
        {"from_token",
         [&](const Row& row) { return token(row.edge.from, row.edge.in_encoder || row.edge.kind == EdgeKind::cross); }},
        {"to_token", [&](const Row& row) { return token(row.edge.to, row.edge.in_encoder); }}}
        .table(rows);
}

}  // namespace headlight::analyze
