// SPDX-License-Identifier: GPL-3.0-or-later
// The differences of all heads as a grid of small maps.
#include "figure/compare/compare_views.h"
#include "figure/core/draw.h"
#include "figure/pattern/model/signed_maps.h"

#include <algorithm>

namespace headlight::figure {

namespace iv = headlight::intervention;

std::unique_ptr<Figure> compare_maps_view(const Beside& beside, const iv::CompareOptions& options, const std::string& view,
                                          const CancelToken& cancel) {
    const iv::RunPair& pair = *beside.pair;
    SignedMaps data;
    data.view = view;
    data.words = QStringLiteral("B: ") + QString::fromStdString(beside.words);
    data.layers = pair.a->config().n_layers;
    data.heads = pair.a->config().n_heads;
    const iv::ComparedHeads compared = iv::compare_heads(pair, iv::same_heads(pair), options, cancel);
    data.table.columns = {"layer", "head", "js", "js_max", "tv"};
    std::vector<QString> tips;
    for (const iv::HeadComparison& each : compared.heads) {
        cancel.throw_if_cancelled();
        ComparedMaps maps = compared_maps(pair, each.head, each.partner, options);
        data.maps.push_back(std::move(maps.difference));
        data.values.push_back(each.js);
        data.table.add({each.head.layer.value, each.head.head.value, each.js, each.js_max, each.tv});
        tips.push_back(QStringLiteral("%1  JS %2, largest row %3, %4 of the attention moved")
                           .arg(head_name(each.head), draw::value_text(each.js), draw::value_text(each.js_max),
                                QStringLiteral("%1 %").arg(100 * each.tv, 0, 'f', 0)));
        if (data.rows.empty())
            for (const iv::MergedUnit& unit : maps.queries) data.rows.push_back(unit.both());
    }
    data.tip = [tips = std::move(tips)](std::size_t head) { return tips[head]; };
    data.title = QStringLiteral("What every head does differently, B − A");
    data.description = QStringLiteral(
        "The attention map of every head in B minus the one in A: rows of the grid are layers, columns heads; in a map, rows are "
        "queries and columns keys of both texts, tokens of both standing for each other. Blue: B attends more; orange: less. All "
        "maps have one scale, symmetric around 0, so that what changes little is pale. Where a map has more pairs than pixels, a "
        "pixel is the farthest from 0 of its pairs. A click selects the head.");
    data.scale_name = QStringLiteral("B − A of the weight");
    if (std::ranges::find(data.rows, false) != data.rows.end()) data.notes << QStringLiteral("hatched: rows of one text alone");
    if (options.without_first) data.notes << QStringLiteral("without the first key, renormalised");
    data.array = "difference";
    return signed_maps_figure(std::move(data));
}

}  // namespace headlight::figure
