// SPDX-License-Identifier: GPL-3.0-or-later
// Rollout, flow and heads combined, of a trace: gathers what they draw.
#include "figure/rollout/rollout_views.h"

#include "figure/core/heads_text.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/rollout/paths_view.h"
#include "headlight/trace/whole.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

double full_of(const std::vector<analyze::Matrix>& maps, bool causal, Eigen::Index most) {
    const auto columns = [&](const analyze::Matrix& map, Eigen::Index row) {
        return causal ? std::min(row + 1, map.cols()) : map.cols();
    };
    Eigen::Index pairs = 0;
    for (const analyze::Matrix& map : maps)
        for (Eigen::Index i = 0; i < map.rows(); ++i) pairs += columns(map, i);
    const Eigen::Index step = (pairs + most - 1) / most;
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(std::min(pairs, most)));
    Eigen::Index next = 0;
    for (const analyze::Matrix& map : maps)
        for (Eigen::Index i = 0; i < map.rows(); ++i) {
            for (; next < columns(map, i); next += step) values.push_back(map(i, next));
            next -= columns(map, i);  // goes on in the next row, so that no distance is left out
        }
    if (values.empty()) return 1;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * 0.975);
    std::nth_element(values.begin(), at, values.end());
    const double digits = std::pow(10, 1 - std::floor(std::log10(std::max(static_cast<double>(*at), 1e-6))));
    return std::min(1.0, std::ceil(static_cast<double>(*at) * digits - 1e-6) / digits);
}

std::unique_ptr<Figure> rollout_view(TracePtr trace, Layer layer, const RolloutViewOptions& options, const CancelToken& cancel,
                                     const Progress& progress) {
    const TracePtr run = trace->across_texts() ? trace::whole_of(trace) : trace;
    analyze::RolloutOptions what{.layer = layer, .by_receptive_field = options.by_receptive_field};
    if (options.last_head >= 0) what.head = Head(options.last_head);
    if (options.all_layers) what.layer.reset();
    what.of_source = trace->across_texts();
    analyze::Rollout found =
        options.flow ? analyze::attention_flow(*run, what, cancel, progress) : analyze::rollout(*run, what, cancel, progress);
    MatrixViewData data = matrix_data(*trace);
    for (std::size_t m = 0; m < found.maps.size() && found.layers[m] <= layer; ++m) {
        data.names.push_back(QStringLiteral("after layer %1").arg(found.layers[m].value));
        data.weights.push_back(std::move(found.maps[m]));
    }
    data.words.followed = true;
    data.view = options.flow ? "flow" : "rollout";
    data.table = [trace, layers = std::vector(found.layers.begin(), found.layers.begin() + std::ssize(data.names)),
                  flow = options.flow](const std::vector<analyze::Matrix>& maps) {
        return analyze::table_of(*trace, layers, flow ? nullptr : &maps, flow ? &maps : nullptr);
    };
    data.title = options.flow ? QStringLiteral("Attention flow") : QStringLiteral("Rollout");
    if (data.names.size() == 1) data.title += QStringLiteral(" ") + data.names[0];
    if (what.head) data.title += QStringLiteral(", head %1").arg(what.head->value);
    data.weight_name = options.by_receptive_field ? QStringLiteral("share by receptive field")
                       : options.flow             ? QStringLiteral("share of the row's flow")
                                                  : QStringLiteral("share");
    data.full = full_of(data.weights, data.causal);
    data.sums = options.sums;
    data.notes = std::move(found.notes);
    data.description =
        QStringLiteral(
            "Row: a token after the layer; column: an input token; the cell is how much of the one comes from the other when "
            "attention is followed through all layers below. Each layer hands on (A + I) / 2, with A the mean of its heads; "
            "rows sum to 1. ") +
        (has_cross_attention(run->config())
             ? QStringLiteral("This decoder also reads a source: its cross attention hands on (C + I) / 2, with C the mean of "
                              "its heads, and what it read is followed through the encoder to the source's tokens. The map of "
                              "the target and that of the source, which the cross attention shows, together have rows that sum "
                              "to 1 (after Ferrando et al., “Towards Opening the Black Box of Neural Machine Translation”, "
                              "2022). ")
             : QString()) +
        (options.flow ? QStringLiteral("Here each number is the largest flow between the two, with the "
                                       "layers' numbers as capacities, divided by the row's sum%1. ")
                            .arg(has_cross_attention(run->config()) ? QStringLiteral(" over both texts") : QString())
                      : QString()) +
        QStringLiteral(
            "In causal models first tokens are reached by more paths than later ones. Abnar & "
            "Zuidema, “Quantifying Attention Flow in Transformers”, 2020.");
    return matrix_figure(std::move(data));
}

std::unique_ptr<Figure> paths_view(TracePtr trace, Layer layer, Position query, std::optional<Position> key,
                                   const PathsViewOptions& options, const CancelToken& cancel) {
    PathsData data;
    data.across = trace->across_texts();
    const TracePtr run = data.across ? trace::whole_of(trace) : trace;
    data.paths = options.flow ? analyze::flow_paths(*run, layer, query, key, options.least, cancel, data.across)
                              : analyze::rollout_paths(*run, layer, query, options.least, cancel);
    data.tokens = analyze::pattern_axes(*run, {}).keys;
    if (const auto& encoder = run->part(model::Stack::encoder)) {
        const auto source = analyze::pattern_axes(*encoder, {}).keys;
        data.tokens.insert(data.tokens.begin(), source.begin(), source.end());
    }
    data.flow = options.flow;
    return paths_figure(std::move(data));
}

std::unique_ptr<Figure> aggregate_matrix_view(TracePtr trace, const std::vector<HeadId>& heads, analyze::Aggregate how,
                                              const analyze::PatternOptions& options, bool sums, const CancelToken& cancel,
                                              const std::string& view) {
    const bool mean = how == analyze::Aggregate::mean;
    std::vector<analyze::Matrix> maps{analyze::aggregate_pattern(*trace, heads, how, options, cancel)};
    MatrixViewData data = matrix_data(*trace, options);
    data.weights = std::move(maps);
    data.names.push_back(aggregate_name(how, heads));
    data.view = view;
    data.title = capitalized(data.names[0]);
    data.sums = sums;
    data.description = (mean ? QStringLiteral("The mean of several heads' maps, cell by cell. ")
                             : QStringLiteral("Of several heads the largest weight of each pair; rows no longer sum to 1. ")) +
                       QStringLiteral(
                           "Row: a query%1; column: a key%2. The sum of a column is the attention that "
                           "a token gets from all others.")
                           .arg(data.words.across ? QStringLiteral(", of the target") : QString(),
                                data.words.across ? QStringLiteral(", of the source") : QString());
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
