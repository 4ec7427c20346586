// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/grid.h"

#include <algorithm>

namespace headlight::intervention {

std::vector<Site> sites_of(Grid grid) {
    switch (grid) {
        case Grid::resid_pre: return {Site::resid_pre};
        case Grid::resid_mid: return {Site::resid_mid};
        case Grid::attn_out: return {Site::attn_out};
        case Grid::mlp_out: return {Site::mlp_out};
        case Grid::block_every: return {Site::resid_pre, Site::attn_out, Site::mlp_out};
        case Grid::z:
        case Grid::z_by_position: return {Site::z};
        case Grid::q:
        case Grid::q_by_position: return {Site::q};
        case Grid::k:
        case Grid::k_by_position: return {Site::k};
        case Grid::v:
        case Grid::v_by_position: return {Site::v};
        case Grid::head_every:
        case Grid::head_every_by_position: return {Site::z, Site::q, Site::k, Site::v, Site::pattern};
        case Grid::neuron: return {Site::post};
        case Grid::expert: return {Site::router};
        default: return {Site::pattern};
    }
}

bool has_head(Grid grid) noexcept { return grid >= Grid::z && grid < Grid::edge; }

bool has_position(Grid grid) noexcept { return grid < Grid::z || (grid >= Grid::z_by_position && grid < Grid::neuron); }

std::vector<SweepCell> cells_of(Grid grid, const SweepAxes& axes, const std::vector<std::int64_t>& layers,
                                const std::vector<std::int64_t>& heads) {
    std::vector<SweepCell> cells;
    const auto chosen = [](const std::vector<std::int64_t>& list, std::int64_t i) {
        return list.empty() || std::ranges::find(list, i) != list.end();
    };
    for (const Site site : sites_of(grid))
        for (std::int64_t l = 0; l < axes.layers; ++l) {
            if (!chosen(layers, l)) continue;
            const std::int64_t units = !has_head(grid) ? 1 : row_of(site).axis == Axis::kv_head ? axes.kv_heads : axes.heads;
            const bool of_source = axes.sources > 0 && is_of_keys(site);
            const std::int64_t positions = !has_position(grid) ? 1 : of_source ? axes.sources : axes.positions;
            const auto keys = [&](std::int64_t p) { return axes.sources > 0 ? axes.sources : axes.causal ? p + 1 : positions; };
            const auto head = [&](std::int64_t u) { return has_head(grid) ? u : -1; };
            const auto position = [&](std::int64_t p) { return has_position(grid) ? p : -1; };
            // Beside sites of query heads, `heads` are those: keys and values are of the groups that they read.
            const std::int64_t readers = sites_of(grid).size() > 1 ? axes.heads / units : 1;
            const auto chosen_unit = [&](std::int64_t u) {
                for (std::int64_t h = u * readers; h < (u + 1) * readers; ++h)
                    if (chosen(heads, h)) return true;
                return false;
            };
            if (grid == Grid::neuron) {
                for (std::int64_t n = 0; n < axes.neurons[static_cast<std::size_t>(l)]; ++n)
                    cells.push_back({.site = site, .layer = l, .neuron = n});
            } else if (grid == Grid::expert) {
                for (std::int64_t e = 0; e < axes.experts[static_cast<std::size_t>(l)]; ++e)
                    cells.push_back({.site = site, .layer = l, .expert = e});
            } else if (grid == Grid::edge) {
                for (std::int64_t p = 0; p < positions; ++p)
                    for (std::int64_t s = 0; s < keys(p); ++s)
                        cells.push_back({.site = site, .layer = l, .position = p, .source = s});
            } else if (grid == Grid::pattern_by_destination || grid == Grid::pattern_by_edge) {
                for (std::int64_t h = 0; h < units; ++h)
                    for (std::int64_t p = 0; p < positions && chosen(heads, h); ++p) {
                        if (grid != Grid::pattern_by_edge) {
                            cells.push_back({site, l, h, p});
                            continue;
                        }
                        for (std::int64_t s = 0; s < keys(p); ++s) cells.push_back({site, l, h, p, s});
                    }
            } else {
                for (std::int64_t p = 0; p < positions; ++p)
                    for (std::int64_t h = 0; h < units; ++h)
                        if (!has_head(grid) || chosen_unit(h)) cells.push_back({site, l, head(h), position(p)});
            }
        }
    return cells;
}

}  // namespace headlight::intervention
