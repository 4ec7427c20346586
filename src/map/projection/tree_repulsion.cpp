// SPDX-License-Identifier: GPL-3.0-or-later
// Neighbours along Morton's curve share a list of cells, which is evaluated for each of them sixteen cells at a time.
#include "map/projection/repulsion.h"
#include "map/projection/repulsion_lanes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headlight::map {
namespace {

using lanes::Floats;
using lanes::kLanes;

constexpr std::int64_t kLeaf = 32;  ///< points that share a list

/// Every second (third) bit of the code is x's.
std::uint64_t spread(std::uint64_t x, std::int64_t dims) {
    std::uint64_t out = 0;
    for (int bit = 0; bit < 20; ++bit) out |= (x >> bit & 1) << (bit * dims);
    return out;
}

/// Sums over a list of cells with masses: force on one point, and its part of Z.
template <int D>
[[gnu::always_inline]] inline float push_point(const float* const* cell, const float* mass, std::int64_t padded, const float* at,
                                               float* force) {
    Floats push[D] = {}, z = {};
    for (std::int64_t j = 0; j < padded; j += kLanes) {
        Floats m, w, sum = Floats{} + 1.0F, between[D];
        std::memcpy(&m, mass + j, sizeof m);
        for (int d = 0; d < D; ++d) {
            std::memcpy(&between[d], cell[d] + j, sizeof(Floats));
            between[d] = at[d] - between[d];
            sum += between[d] * between[d];
        }
        reciprocal(sum, w);
        const Floats mw = m * w;
        z += mw;
        for (int d = 0; d < D; ++d) push[d] += mw * w * between[d];
    }
    for (int d = 0; d < D; ++d) force[d] = static_cast<float>(lanes::lanes_sum(push[d]));
    return static_cast<float>(lanes::lanes_sum(z));
}

HEADLIGHT_WIDE float push_point_2(const float* const* cell, const float* mass, std::int64_t padded, const float* at,
                                  float* force) {
    return push_point<2>(cell, mass, padded, at, force);
}
HEADLIGHT_WIDE float push_point_3(const float* const* cell, const float* mass, std::int64_t padded, const float* at,
                                  float* force) {
    return push_point<3>(cell, mass, padded, at, force);
}

}  // namespace

struct TreeRepulsion::Tree {
    struct Cell {
        float middle[3] = {}, low[3] = {}, high[3] = {};  ///< mean of its points, and their box
        std::int32_t begin = 0, end = 0;                  ///< points, in the order of the curve
        std::int32_t child = -1, children = 0;            ///< next to each other
    };
    std::int64_t dims = 2;
    std::vector<std::pair<std::uint64_t, std::int32_t>> order;
    std::vector<float> at;  ///< [point in order, dims]
    std::vector<Cell> cells;
    std::vector<float> list[4];  ///< positions and masses of what pushes one leaf

    void sort(const Axes& y) {
        dims = y.dims;
        const auto n = static_cast<std::size_t>(y.count);
        float low[3], side = 0;
        for (std::int64_t d = 0; d < dims; ++d) {
            const auto [least, most] = std::minmax_element(y.axis(d), y.axis(d) + y.count);
            low[d] = *least;
            side = std::max(side, *most - *least);
        }
        const float scale = side > 0 ? static_cast<float>((1 << 20) - 1) / side : 0;
        order.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            std::uint64_t code = 0;
            for (std::int64_t d = 0; d < dims; ++d)
                code |= spread(static_cast<std::uint64_t>((y.axis(d)[i] - low[d]) * scale), dims) << d;
            order[i] = {code, static_cast<std::int32_t>(i)};
        }
        std::sort(order.begin(), order.end());
        at.resize(n * static_cast<std::size_t>(dims));
        for (std::size_t i = 0; i < n; ++i)
            for (std::int64_t d = 0; d < dims; ++d)
                at[i * static_cast<std::size_t>(dims) + static_cast<std::size_t>(d)] = y.axis(d)[order[i].second];
    }

    void measure(Cell& cell) const {
        double sum[3] = {};
        for (std::int64_t d = 0; d < dims; ++d) {
            cell.low[d] = std::numeric_limits<float>::max();
            cell.high[d] = -cell.low[d];
            for (std::int64_t i = cell.begin; i < cell.end; ++i) {
                const float value = at[static_cast<std::size_t>(i * dims + d)];
                sum[d] += static_cast<double>(value);
                cell.low[d] = std::min(cell.low[d], value);
                cell.high[d] = std::max(cell.high[d], value);
            }
            cell.middle[d] = static_cast<float>(sum[d] / static_cast<double>(cell.end - cell.begin));
        }
    }

    void build() {
        cells.clear();
        cells.push_back({.end = static_cast<std::int32_t>(order.size())});
        std::vector<int> shift = {static_cast<int>(20 * dims)};  // of each cell: bits of the code that its points may differ in
        for (std::size_t c = 0; c < cells.size(); ++c) {
            measure(cells[c]);
            if (cells[c].end - cells[c].begin <= kLeaf || shift[c] == 0) continue;
            const int below = shift[c] - static_cast<int>(dims);
            cells[c].child = static_cast<std::int32_t>(cells.size());
            for (std::int32_t i = cells[c].begin; i < cells[c].end;) {
                const std::uint64_t part = order[static_cast<std::size_t>(i)].first >> below;
                std::int32_t end = i;
                while (end < cells[c].end && order[static_cast<std::size_t>(end)].first >> below == part) ++end;
                cells.push_back({.begin = i, .end = end});
                shift.push_back(below);
                ++cells[c].children;
                i = end;
            }
        }
    }

    void add(const float* middle, float mass) {
        for (std::int64_t d = 0; d < dims; ++d) list[d].push_back(middle[d]);
        list[3].push_back(mass);
    }

    /// What pushes the points of a leaf: the criterion holds for the nearest corner of its box, so for each of its points.
    void gather(const Cell& leaf, double theta) {
        for (auto& each : list) each.clear();
        std::vector<std::int32_t> open = {0};
        while (!open.empty()) {
            const Cell& cell = cells[static_cast<std::size_t>(open.back())];
            open.pop_back();
            double distance = 0, side = 0;
            for (std::int64_t d = 0; d < dims; ++d) {
                const double gap =
                    static_cast<double>(std::max({leaf.low[d] - cell.middle[d], cell.middle[d] - leaf.high[d], 0.0F}));
                distance += gap * gap;
                side = std::max(side, static_cast<double>(cell.high[d] - cell.low[d]));
            }
            if (side * side < theta * theta * distance) {
                add(cell.middle, static_cast<float>(cell.end - cell.begin));
            } else if (cell.children > 0) {
                for (std::int32_t k = 0; k < cell.children; ++k) open.push_back(cell.child + k);
            } else {
                for (std::int64_t i = cell.begin; i < cell.end; ++i) add(at.data() + i * dims, 1);
            }
        }
        while (list[3].size() % kLanes != 0) {
            const float far[3] = {kFarAway, kFarAway, kFarAway};
            add(far, 0);
        }
    }
};

TreeRepulsion::TreeRepulsion() : tree_(std::make_unique<Tree>()) {}
TreeRepulsion::~TreeRepulsion() = default;

double TreeRepulsion::operator()(const Axes& y, Axes& force, double theta) {
    Tree& tree = *tree_;
    tree.sort(y);
    tree.build();
    double z = 0;
    for (const Tree::Cell& leaf : tree.cells) {
        if (leaf.children > 0) continue;
        tree.gather(leaf, theta);
        const float* cells[3] = {tree.list[0].data(), tree.list[1].data(), tree.list[2].data()};
        for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
            float push[3];
            const float* at = tree.at.data() + i * tree.dims;
            z += static_cast<double>(
                (tree.dims == 3 ? push_point_3 : push_point_2)(cells, tree.list[3].data(), std::ssize(tree.list[3]), at, push));
            for (std::int64_t d = 0; d < tree.dims; ++d) force.axis(d)[tree.order[static_cast<std::size_t>(i)].second] = push[d];
        }
    }
    return z - static_cast<double>(y.count);
}

}  // namespace headlight::map
