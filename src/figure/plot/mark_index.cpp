// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/mark_index.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure::plot {

namespace {

bool is_bar(const Series& s) { return s.kind == Series::Kind::bars || s.kind == Series::Kind::stacked; }

bool is_dot(const Series& s) { return s.kind == Series::Kind::points || s.kind == Series::Kind::line; }

bool finite(QPointF p) { return std::isfinite(p.x()) && std::isfinite(p.y()); }

}  // namespace

QPointF place_of(const PanelFrame& frame, const Series& s, std::size_t i) {
    if (s.kind == Series::Kind::steps) return {(frame.x.px(s.x[i]) + frame.x.px(s.x[i + 1])) / 2, frame.y.px(s.y[i])};
    return frame.at(s.x[i], s.y[i]);
}

double stack_base(const Panel& panel, std::size_t series, std::size_t mark) {
    const double y = panel.series[series].y[mark];
    double base = 0;
    for (std::size_t s = 0; s < series; ++s) {
        const Series& below = panel.series[s];
        if (below.kind != Series::Kind::stacked || mark >= below.size()) continue;
        const double v = below.y[mark];
        if (std::isfinite(v) && (v < 0) == (y < 0)) base += v;
    }
    return base;
}

QRectF bar_of(const PanelFrame& frame, const Series& s, std::size_t i, double base) {
    if (!std::isfinite(s.y[i])) return {};
    const bool steps = s.kind == Series::Kind::steps;
    const double left = frame.x.px(steps ? s.x[i] : s.x[i] - 0.4), right = frame.x.px(steps ? s.x[i + 1] : s.x[i] + 0.4);
    const double from = frame.y.log ? frame.y.begin : frame.y.px(base), to = frame.y.px(base + s.y[i]);
    return QRectF(QPointF(left, std::min(from, to)), QPointF(right, std::max(from, to)));
}

MarkIndex::MarkIndex(const PlotData& data, const Frame& frame) {
    for (std::size_t p = 0; p < data.panels.size(); ++p) {
        Grid grid;
        grid.area = frame.panels[p].area.adjusted(-cell, -cell, cell, cell);
        grid.columns = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(grid.area.width() / cell)));
        grid.rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(grid.area.height() / cell)));
        std::vector<MarkId> marks;
        std::vector<QPointF> places;
        std::vector<std::uint32_t> cells;
        std::size_t most = 0;
        for (const Series& series : data.panels[p].series) most += is_dot(series) ? series.size() : 0;
        marks.reserve(most), places.reserve(most), cells.reserve(most);
        for (std::size_t s = 0; s < data.panels[p].series.size(); ++s) {
            const Series& series = data.panels[p].series[s];
            std::optional<HeadId> last;
            std::vector<MarkId>* of_last = nullptr;
            for (std::size_t i = 0; i < series.size(); ++i) {
                const MarkId id{static_cast<std::int32_t>(p), static_cast<std::int32_t>(s), static_cast<std::int32_t>(i)};
                const QPointF at = place_of(frame.panels[p], series, i);
                if (!finite(at)) continue;
                if (const auto head = series.head_of(i)) {
                    if (head != last) {
                        last = head, of_last = &heads_[*head];
                        if (series.head && of_last->empty()) of_last->reserve(series.size());
                    }
                    of_last->push_back(id);
                }
                if (!is_dot(series) || !grid.area.contains(at)) continue;
                const auto c = std::min(grid.columns - 1, static_cast<std::int64_t>((at.x() - grid.area.left()) / cell));
                const auto r = std::min(grid.rows - 1, static_cast<std::int64_t>((at.y() - grid.area.top()) / cell));
                marks.push_back(id), places.push_back(at), cells.push_back(static_cast<std::uint32_t>(r * grid.columns + c));
            }
        }
        grid.begin.assign(static_cast<std::size_t>(grid.columns * grid.rows) + 1, 0);
        for (auto c : cells) ++grid.begin[c + 1];
        for (std::size_t c = 1; c < grid.begin.size(); ++c) grid.begin[c] += grid.begin[c - 1];
        grid.marks.resize(marks.size()), grid.places.resize(marks.size());
        std::vector<std::uint32_t> next(grid.begin.begin(), grid.begin.end() - 1);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            const auto to = next[cells[i]]++;
            grid.marks[to] = marks[i], grid.places[to] = places[i];
        }
        grids_.push_back(std::move(grid));
    }
}

std::optional<MarkId> MarkIndex::at(const PlotData& data, const Frame& frame, QPointF point, double reach) const {
    for (std::size_t p = 0; p < grids_.size(); ++p) {
        const Grid& grid = grids_[p];
        if (!grid.area.contains(point)) continue;
        std::optional<MarkId> best;
        double best_distance = reach * reach;
        const auto clamp = [](double v, std::int64_t n) {
            return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(v / cell)), 0, n - 1);
        };
        const auto c0 = clamp(point.x() - reach - grid.area.left(), grid.columns),
                   c1 = clamp(point.x() + reach - grid.area.left(), grid.columns),
                   r0 = clamp(point.y() - reach - grid.area.top(), grid.rows),
                   r1 = clamp(point.y() + reach - grid.area.top(), grid.rows);
        for (auto r = r0; r <= r1; ++r)
            for (auto c = c0; c <= c1; ++c) {
                const auto at = static_cast<std::size_t>(r * grid.columns + c);
                for (auto i = grid.begin[at]; i < grid.begin[at + 1]; ++i) {
                    const QPointF d = grid.places[i] - point;
                    const double distance = QPointF::dotProduct(d, d);
                    const auto later = [&](const MarkId& a, const MarkId& b) {
                        return std::tie(a.series, a.mark) > std::tie(b.series, b.mark);
                    };
                    if (distance > best_distance || (distance == best_distance && best && !later(grid.marks[i], *best))) continue;
                    best = grid.marks[i], best_distance = distance;
                }
            }
        if (best) return best;
        // Bars, and the nearest outline among histograms.
        const PanelFrame& panel = frame.panels[p];
        double nearest = reach;
        for (std::size_t s = 0; s < data.panels[p].series.size(); ++s) {
            const Series& series = data.panels[p].series[s];
            if (is_dot(series)) continue;
            for (std::size_t i = 0; i < series.size(); ++i) {
                const MarkId id{static_cast<std::int32_t>(p), static_cast<std::int32_t>(s), static_cast<std::int32_t>(i)};
                if (is_bar(series)) {
                    const bool stacked = series.kind == Series::Kind::stacked;
                    if (bar_of(panel, series, i, stacked ? stack_base(data.panels[p], s, i) : 0).contains(point)) return id;
                    continue;
                }
                const QRectF bin = bar_of(panel, series, i);
                if (point.x() < bin.left() || point.x() >= bin.right()) continue;
                const double distance = std::abs(panel.y.px(series.y[i]) - point.y());
                if (distance < nearest) best = id, nearest = distance;
            }
        }
        return best;
    }
    return std::nullopt;
}

const std::vector<MarkId>& MarkIndex::of_head(HeadId head) const {
    static const std::vector<MarkId> none;
    const auto found = heads_.find(head);
    return found == heads_.end() ? none : found->second;
}

}  // namespace headlight::figure::plot
