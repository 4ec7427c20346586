// SPDX-License-Identifier: GPL-3.0-or-later
#include "map/projection/repulsion.h"

#include "map/projection/repulsion_lanes.h"

#include <algorithm>

namespace headlight::map {
namespace {

using lanes::Floats;
using lanes::kLanes;

constexpr int kRowsAtOnce = 4;

/// Rows [i, i + kRowsAtOnce) against the vectors from `first` on. Every pair pushes both of its points, so that each is computed
/// once; `both` is false for the vector that the rows themselves are in.
template <int D, bool kBoth>
[[gnu::always_inline]] inline void push_rows(const Axes& y, Axes& force, std::int64_t i, std::int64_t first, std::int64_t end,
                                             Floats& z) {
    Floats mine[D][kRowsAtOnce], push[D][kRowsAtOnce] = {};
    for (int d = 0; d < D; ++d)
        for (int r = 0; r < kRowsAtOnce; ++r) mine[d][r] = y.axis(d)[i + r] + Floats{};
    for (std::int64_t j = first; j < end; j += kLanes) {
        Floats theirs[D], pushed[D] = {};
        for (int d = 0; d < D; ++d) std::memcpy(&theirs[d], y.axis(d) + j, sizeof(Floats));
        for (int r = 0; r < kRowsAtOnce; ++r) {
            Floats between[D], sum = Floats{} + 1.0F, w;
            for (int d = 0; d < D; ++d) {
                between[d] = mine[d][r] - theirs[d];
                sum += between[d] * between[d];
            }
            reciprocal(sum, w);
            z += w;
            const Floats w2 = w * w;
            for (int d = 0; d < D; ++d) {
                push[d][r] += w2 * between[d];
                if (kBoth) pushed[d] += w2 * between[d];
            }
        }
        if (kBoth)
            for (int d = 0; d < D; ++d) {
                Floats f;
                std::memcpy(&f, force.axis(d) + j, sizeof f);
                f -= pushed[d];
                std::memcpy(force.axis(d) + j, &f, sizeof f);
            }
    }
    for (int d = 0; d < D; ++d)
        for (int r = 0; r < kRowsAtOnce; ++r) force.axis(d)[i + r] += static_cast<float>(lanes::lanes_sum(push[d][r]));
}

template <int D>
[[gnu::always_inline]] inline double all_pairs(const Axes& y, Axes& force) {
    double own = 0, other = 0;
    for (std::int64_t block = 0; block < y.padded; block += kLanes) {
        for (std::int64_t i = block; i < block + kLanes; i += kRowsAtOnce) {
            Floats z = {};
            push_rows<D, false>(y, force, i, block, block + kLanes, z);
            own += lanes::lanes_sum(z);
            // In stretches, so that float32 sums stay short.
            constexpr std::int64_t kStretch = 64 * kLanes;
            for (std::int64_t first = block + kLanes; first < y.padded; first += kStretch) {
                Floats far = {};
                push_rows<D, true>(y, force, i, first, std::min(first + kStretch, y.padded), far);
                other += lanes::lanes_sum(far);
            }
        }
    }
    // The block of the padding counts its far points as each other's neighbours.
    const double padding = static_cast<double>(y.padded - y.count);
    return own + 2 * other - static_cast<double>(y.count) - padding * padding;
}

HEADLIGHT_WIDE double all_pairs_2(const Axes& y, Axes& force) { return all_pairs<2>(y, force); }
HEADLIGHT_WIDE double all_pairs_3(const Axes& y, Axes& force) { return all_pairs<3>(y, force); }

}  // namespace

Axes::Axes(std::int64_t n, std::int64_t axes, float fill)
    : count(n), dims(axes), padded((n + kLanes - 1) / kLanes * kLanes), values(static_cast<std::size_t>(dims * padded), fill) {}

double exact_repulsion(const Axes& y, Axes& force) {
    std::fill(force.values.begin(), force.values.end(), 0.0F);
    return y.dims == 3 ? all_pairs_3(y, force) : all_pairs_2(y, force);
}

}  // namespace headlight::map
