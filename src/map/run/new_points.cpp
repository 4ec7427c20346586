// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/run/new_points.h"

#include "headlight/base/error.h"
#include "headlight/map/projection/pca.h"
#include "headlight/map/scale/layout.h"
#include "headlight/model/one_thread.h"
#include "map/run/head_points.h"
#include "map/run/parallel.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace headlight::map {
namespace {

/// Rows whose Euclidean order is the preset's.
std::vector<float> comparable(const HeadVectors& head, const Scaling& scaling, Preset preset) {
    std::vector<float> rows = scaled_points(head, scaling);
    if (metric_of(preset) != Metric::cosine) return rows;
    return unit_rows({rows, std::ssize(rows) / head.width, head.width});
}

}  // namespace

struct NewPoints::Head {
    Scaling scaling;
    Pca pca;  ///< width 0: points follow others
};

NewPoints::NewPoints(std::shared_ptr<const MapVectors> vectors, const MapOptions& options, int threads, const CancelToken& cancel)
    : vectors_(std::move(vectors)), options_(options), heads_(vectors_->heads.size()) {
    const std::vector<std::uint8_t> apart = apart_of(*vectors_, options_);
    for (std::size_t i = 0; i < apart.size(); ++i)
        if (!apart[i]) counted_[i < vectors_->tokens.tokens.size() ? 0 : 1].push_back(static_cast<std::int32_t>(i));
    const auto q = std::ssize(counted_[0]), counted = q + std::ssize(counted_[1]);
    // As in HeadRun; also if a role has no point to follow.
    const bool by_axes = options_.projection == Projection::pca || counted < kFewest || q == 0 || q == counted;
    in_parallel(threads, heads_.size(), cancel, [&](std::size_t i) {
        const HeadVectors& head = vectors_->heads[i];
        if (!head.broken.empty()) return;
        const model::OneThread one;
        heads_[i].scaling = scaling_of(*vectors_, head, options_);
        if (!by_axes) return;
        const std::vector<float> points = scaled_points(head, heads_[i].scaling);
        heads_[i].pca = fit_pca({points, std::ssize(apart), head.width}, options_.dims, apart);
    });
}
NewPoints::~NewPoints() = default;

QueryKeyMap NewPoints::place(const MapVectors& text, const QueryKeyMap& map, int threads, const CancelToken& cancel) const {
    if (map.heads.size() != vectors_->heads.size())
        throw Error({.problem = "The map has other heads than the vectors it is made of",
                     .expected = std::to_string(vectors_->heads.size()),
                     .found = std::to_string(map.heads.size())});
    if (text.rotated != vectors_->rotated || text.crossed() != vectors_->crossed())
        throw Error("A text can only be placed into a map with the same choice of queries and keys");
    QueryKeyMap out = map_without_heads(text, options_);
    out.layers = map.layers;
    out.heads_per_layer = map.heads_per_layer;
    std::vector<const HeadVectors*> of(map.heads.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
        const HeadVectors& wanted = vectors_->heads[i];
        const auto found = std::ranges::find_if(
            text.heads, [&](const HeadVectors& head) { return head.layer == wanted.layer && head.head == wanted.head; });
        if (found == text.heads.end() || found->width != wanted.width)
            throw Error({.problem = "The text has no such queries and keys as the map",
                         .item = "L" + std::to_string(wanted.layer.value) + "H" + std::to_string(wanted.head.value),
                         .expected = std::to_string(wanted.width) + " numbers each",
                         .found = found == text.heads.end() ? "" : std::to_string(found->width)});
        of[i] = &*found;
    }
    out.heads.resize(of.size());
    in_parallel(threads, of.size(), cancel, [&](std::size_t i) { out.heads[i] = place(i, *of[i], map.heads[i], cancel); });
    return out;
}

HeadMap NewPoints::place(std::size_t at, const HeadVectors& text, const HeadMap& map, const CancelToken& cancel) const {
    const HeadVectors& old = vectors_->heads[at];
    const Head& head = heads_[at];
    const std::int64_t q = text.query_rows().count, k = text.key_rows().count, width = old.width;
    HeadMap out;
    out.layer = old.layer;
    out.head = old.head;
    out.dims = options_.dims;
    out.scale_c = static_cast<float>(head.scaling.c);
    out.points.assign(static_cast<std::size_t>((q + k) * options_.dims), 0.0F);
    out.poor = !old.broken.empty() ? old.broken : text.broken;
    if (!out.poor.empty()) {
        out.norms.assign(static_cast<std::size_t>(q + k), 0.0F);
        return out;
    }
    const model::OneThread one;
    out.norms = norms_of(text);
    if (head.pca.width > 0) {
        const std::vector<float> points = scaled_points(text, head.scaling);
        out.points = head.pca.scores({points, q + k, width});
        return out;
    }
    const std::vector<float> old_rows = comparable(old, head.scaling, options_.preset),
                             rows = comparable(text, head.scaling, options_.preset);
    const std::span<const float> all(rows);
    const Rows fresh[2] = {{all.first(static_cast<std::size_t>(q * width)), q, width},
                           {all.subspan(static_cast<std::size_t>(q * width)), k, width}};
    for (const int role : {0, 1}) {
        const std::vector<std::int32_t>& counted = counted_[role];
        const std::vector<float> counted_rows = chosen_rows({old_rows, std::ssize(old_rows) / width, width}, counted);
        const NeighbourLists near = nearest_among(fresh[role], {counted_rows, std::ssize(counted), width}, kFollowed, cancel);
        std::vector<std::int32_t> followed;
        for (std::int64_t i = 0; i < near.count; ++i) {
            const std::int64_t point = i + (role == 0 ? 0 : q);
            const double same = 1e-5 * norm_of(fresh[role].row(i), width);
            const float* distance = near.distance.data() + i * near.each;
            const auto equal =
                std::count_if(distance, distance + near.each, [&](float value) { return static_cast<double>(value) <= same; });
            followed.clear();
            for (std::int64_t e = 0; e < (equal > 0 ? equal : near.each); ++e)
                followed.push_back(counted[static_cast<std::size_t>(near.index[static_cast<std::size_t>(i * near.each + e)])]);
            median_of(map.points, options_.dims, followed, out.points.data() + point * options_.dims);
        }
    }
    return out;
}

}  // namespace headlight::map
