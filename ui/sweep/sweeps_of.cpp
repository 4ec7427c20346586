// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sweep/sweeps_of.h"

#include "headlight/figure/core/figure.h"
#include "headlight/model/hook_name.h"

#include <algorithm>

namespace headlight::ui {

std::vector<OfferedSweep> sweeps_of(HeadId head, const model::ModelConfig& c) {
    using enum intervention::Grid;
    const QString name = figure::head_name(head);
    const std::int64_t layer = head.layer.value, query = head.head.value;
    const std::int64_t groups = std::max<std::int64_t>(model::shape_of({model::Hook::k, head.layer}, c, 1)[1], 1);
    const std::int64_t group = query * groups / std::max<std::int64_t>(c.n_heads, 1);
    const auto of_head = [&](const char* what, intervention::Grid grid, std::int64_t unit) {
        return OfferedSweep{QString::fromUtf8(what).arg(name), {grid, {layer}, {unit}}};
    };
    return {{QStringLiteral("All heads"), {z, {}, {}}},
            of_head("Outputs of %1 by position", z_by_position, query),
            of_head("Queries of %1 by position", q_by_position, query),
            of_head("Keys of %1 by position", k_by_position, group),
            of_head("Values of %1 by position", v_by_position, group),
            of_head("Every edge of %1", pattern_by_edge, query),
            {QStringLiteral("Neurons of layer %1").arg(layer), {neuron, {layer}, {}}},
            {QStringLiteral("Stream by layer and position"), {resid_pre, {}, {}}}};
}

}  // namespace headlight::ui
