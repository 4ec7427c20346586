// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/frame.h"

#include <QMarginsF>

#include <algorithm>
#include <cmath>

namespace headlight::figure::plot {

namespace {

constexpr double least_panel_width = 300, legend_font = 11, most_label_extent = 72;
constexpr double icon_width = 14, icon_gap = 6, legend_gap = 12, legend_row = 18, most_legend_rows = 6;
constexpr double most_stride = 5;  // every tenth word says less than its number
constexpr double least_panel_height = 150, most_least_height = 260, tallest_panel = 0.75;  // the last: of its width
constexpr double words_above_and_below = 88;                                               // of a panel's plot
constexpr double tick_length = 4, tick_gap = 3, side_gap = 6, edge = 5;                    // of the axes, px

struct LegendName {
    QString name;
    LegendEntry entry;
};

/// Panels that show the same series share its entry. `only`: those of one panel.
std::vector<LegendName> legend_names(const PlotData& data, std::optional<std::size_t> only = {}) {
    std::vector<LegendName> out;
    const auto add = [&](const QString& name, LegendEntry entry) {
        const auto same = [&](const LegendName& other) { return other.name == name; };
        if (!name.isEmpty() && std::none_of(out.begin(), out.end(), same)) out.push_back({name, entry});
    };
    for (std::size_t p = 0; p < data.panels.size(); ++p) {
        if (only && p != *only) continue;
        const Panel& panel = data.panels[p];
        for (std::size_t s = 0; s < panel.series.size(); ++s)
            add(panel.series[s].name, {.area = {}, .icon = {}, .panel = p, .series = s, .reference = {}});
        for (std::size_t r = 0; r < panel.references.size(); ++r)
            add(panel.references[r].name, {.area = {}, .icon = {}, .panel = p, .series = {}, .reference = r});
    }
    return out;
}

struct LegendGrid {
    std::vector<LegendName> names;  ///< row by row; none where they would fill too many rows
    std::size_t columns = 1, rows = 0;
};

LegendGrid legend_grid(const PlotData& data, double width, std::optional<std::size_t> only = {}) {
    if (data.own_legends && !only) return {};
    LegendGrid out{legend_names(data, only)};
    if (out.names.empty()) return out;
    double widest = 0;
    for (const LegendName& n : out.names) widest = std::max(widest, draw::text_width(n.name, ui_font(legend_font)));
    const std::size_t count = out.names.size();
    const double fitting = (width - 16) / (icon_width + icon_gap + widest + legend_gap);
    out.columns = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(fitting, 1.0)), 1, count);
    out.rows = (count + out.columns - 1) / out.columns;
    // Fewer columns where the last row would hold a single entry.
    out.columns = (count + out.rows - 1) / out.rows;
    return static_cast<double>(out.rows) > most_legend_rows ? LegendGrid{} : out;
}

double entry_width(const QString& name) { return icon_width + icon_gap + draw::text_width(name, ui_font(legend_font)); }

/// A panel's own legend stands in the row of its title where there is room, else in rows under it.
bool fits_beside_title(const PlotData& data, std::size_t p, double room) {
    double width = draw::text_width(data.panels[p].title, ui_font(12, QFont::DemiBold)) + legend_gap;
    for (const LegendName& n : legend_names(data, p)) width += entry_width(n.name) + legend_gap;
    return width <= room;
}

double legend_height(const LegendGrid& grid) { return grid.rows ? static_cast<double>(grid.rows) * legend_row + 8 : 0; }

std::size_t rows_of(std::size_t panels, std::size_t across) { return (std::max<std::size_t>(panels, 1) + across - 1) / across; }

/// The tallest legend of a panel that is `each` wide: the plots of a row have one height, so it is room for all.
double own_legend(const PlotData& data, double each) {
    constexpr double axis = 80;  // about what the numbers and names of an axis take of the width
    double own = 0;
    for (std::size_t p = 0; data.own_legends && p < data.panels.size(); ++p)
        if (!fits_beside_title(data, p, each - axis)) own = std::max(own, legend_height(legend_grid(data, each - axis, p)));
    return own;
}

Word word(const QString& text, QPointF baseline, double size, draw::Align align, bool upwards = false) {
    const QFont& font = ui_font(size);
    const double width = label_width(text, font), height = QFontMetricsF(font).capHeight();
    const double before = align == draw::Align::left ? 0 : align == draw::Align::center ? width / 2 : width;
    const QRectF box = upwards ? QRectF(baseline.x() - height, baseline.y() + before - width, height, width)
                               : QRectF(baseline.x() - before, baseline.y() - height, width, height);
    return {text, box, size, upwards};
}

/// Lays out panels in cells of equal size. How many ticks fit depends on the margins and these on the labels, so it takes
/// a few passes.
class Layout {
public:
    Layout(const PlotData& data, const QRectF& room, std::size_t across) : data_(data), across_(across) {
        const LegendGrid legend = legend_grid(data, room.width());
        place_legend(legend, room);
        const QRectF plots = room.adjusted(0, legend_height(legend), 0, 0);
        const std::size_t n = data.panels.size(), rows = (n + across_ - 1) / across_;
        const auto part = [](double whole, std::size_t i, std::size_t of) {
            return std::floor(whole * static_cast<double>(i) / static_cast<double>(of));
        };
        frame_.panels.resize(n), widths_.resize(n), margins_.resize(n, QMarginsF(44, 0, 0, 44));
        for (std::size_t p = 0; p < n; ++p) {
            const std::size_t row = p / across_, column = p % across_;
            cells_.emplace_back(
                plots.topLeft() + QPointF(part(plots.width(), column, across_), part(plots.height(), row, rows)),
                plots.topLeft() + QPointF(part(plots.width(), column + 1, across_), part(plots.height(), row + 1, rows)));
            ranges_.emplace_back(axis_scale(data.panels[p], true), axis_scale(data.panels[p], false));
        }
    }

    Frame frame() {
        for (int pass = 0; pass < 5; ++pass) {
            const std::vector<QMarginsF> margins = shared_margins();
            for (std::size_t p = 0; p < cells_.size(); ++p) {
                place(p, margins[p]);
                PanelFrame& frame = frame_.panels[p];
                if (data_.own_legends) {
                    const double needed = legend_beside_title(p) ? 0 : legend_height(legend_grid(data_, frame.area.width(), p));
                    // A taller legend may change the ticks, their width and thereby itself: the tallest of such a cycle stays.
                    frame.legend_height = pass < 2 ? needed : std::max(frame.legend_height, needed);
                }
                margins_[p] = needed_margins(p);
            }
        }
        for (std::size_t p = 0; p < cells_.size(); ++p) {
            add_words(p);
            if (data_.own_legends) place_own_legend(p);
        }
        return std::move(frame_);
    }

private:
    double widest_y(const PanelFrame& frame) const {
        double widest = 0;
        for (const Tick& tick : frame.y_ticks) widest = std::max(widest, label_width(tick.label, ui_font(tick_font)));
        return widest;
    }
    static double line(double size) { return std::ceil(QFontMetricsF(ui_font(size)).height()); }
    /// From the axis down to the top of its label.
    static double below_axis(const PanelFrame& frame) {
        return tick_length + (frame.shows_labels ? std::ceil(frame.labels.extent) + 8 : tick_gap + line(tick_font) + 4);
    }

    bool legend_beside_title(std::size_t p) const { return fits_beside_title(data_, p, frame_.panels[p].area.width()); }

    void place_own_legend(std::size_t p) {
        const PanelFrame& frame = frame_.panels[p];
        const QFont title = ui_font(12, QFont::DemiBold);
        if (frame.legend_height > 0)
            return place_legend(legend_grid(data_, frame.area.width(), p),
                                QRectF(frame.area.left() - 8, frame.area.top() - frame.legend_height - 6, 0, 0));
        const double middle = frame.area.top() - 12 - QFontMetricsF(title).capHeight() / 2;
        double left = frame.area.left() + draw::text_width(data_.panels[p].title, title) + 2 * legend_gap;
        for (const LegendName& n : legend_names(data_, p)) {
            place_entry(n, {left, middle});
            left += entry_width(n.name) + legend_gap;
        }
    }

    void place_entry(const LegendName& of, QPointF middle_left) {
        const QFont& font = ui_font(legend_font);
        LegendEntry entry = of.entry;
        entry.area = QRectF(middle_left.x(), middle_left.y() - legend_row / 2, entry_width(of.name), legend_row);
        entry.icon = QRectF(middle_left.x(), middle_left.y() - 5, icon_width, 10);
        frame_.legend.push_back(entry);
        frame_.words.push_back(word(of.name,
                                    {middle_left.x() + icon_width + icon_gap, draw::centred_baseline(middle_left.y(), font)},
                                    legend_font, draw::Align::left));
    }

    void place_legend(const LegendGrid& grid, const QRectF& room) {
        double left = room.left() + 8;
        for (std::size_t column = 0; column < grid.columns; ++column) {
            double widest = 0;
            for (std::size_t i = column; i < grid.names.size(); i += grid.columns) {
                place_entry(grid.names[i], {left, room.top() + (static_cast<double>(i / grid.columns) + 0.5) * legend_row});
                widest = std::max(widest, entry_width(grid.names[i].name));
            }
            left += widest + legend_gap;
        }
    }

    /// Panels under each other begin at the same x, panels beside each other end at the same y.
    std::vector<QMarginsF> shared_margins() const {
        std::vector<QMarginsF> shared = margins_;
        for (std::size_t a = 0; a < shared.size(); ++a)
            for (std::size_t b = 0; b < shared.size(); ++b) {
                const QMarginsF& other = margins_[b];
                if (a % across_ == b % across_) {
                    shared[a].setLeft(std::max(shared[a].left(), other.left()));
                    shared[a].setRight(std::max(shared[a].right(), other.right()));
                }
                if (a / across_ == b / across_) {
                    shared[a].setTop(std::max(shared[a].top(), other.top()));
                    shared[a].setBottom(std::max(shared[a].bottom(), other.bottom()));
                }
            }
        return shared;
    }

    void place(std::size_t p, const QMarginsF& margins) {
        const Panel& panel = data_.panels[p];
        PanelFrame& frame = frame_.panels[p];
        frame.area = cells_[p].marginsRemoved(margins);
        frame.area.setSize(frame.area.size().expandedTo({1, 1}));
        std::tie(frame.x, frame.y) = ranges_[p];
        frame.x.begin = frame.area.left(), frame.x.end = frame.area.right();
        frame.y.begin = frame.area.bottom(), frame.y.end = frame.area.top();
        if (!panel.empty.isEmpty()) return;
        if (panel.equal_units) equal_units(frame);
        const double cell = frame.area.width() / std::max(1.0, frame.x.high - frame.x.low);
        if (!panel.x.labels.empty()) {
            const double height = QFontMetricsF(ui_font(tick_font)).height();
            if (widths_[p].empty() && height <= most_stride * cell)  // tens of thousands are not measured to be left out
                for (const draw::Label& label : panel.x.labels)
                    widths_[p].push_back(draw::token_width(label, ui_font(tick_font)));
            frame.labels = draw::fit_columns(widths_[p], cell, height, most_label_extent);
        }
        frame.shows_labels = !panel.x.labels.empty() && static_cast<double>(frame.labels.stride) <= most_stride;
        frame.x_ticks.clear();
        if (!frame.shows_labels)
            frame.x_ticks = fitting_ticks(panel.x, frame.x, true);
        else if (frame.labels.stride == 1)
            for (std::size_t i = 0; i < widths_[p].size(); ++i) frame.x_ticks.push_back({static_cast<double>(i), {}});
        frame.y_ticks = fitting_ticks(panel.y, frame.y, false);
        if (panel.equal_units) equal_ticks(frame.x_ticks, frame.y_ticks);
    }

    /// The coarser steps on both axes, written alike.
    static void equal_ticks(std::vector<Tick>& x, std::vector<Tick>& y) {
        if (x.size() < 2 || y.size() < 2) return;
        const auto step = [](const std::vector<Tick>& ticks) { return ticks[1].value - ticks[0].value; };
        std::vector<Tick>& finer = step(x) < step(y) ? x : y;
        const std::vector<Tick>& coarser = &finer == &x ? y : x;
        const QString& longest = coarser[0].label.size() > coarser[1].label.size() ? coarser[0].label : coarser[1].label;
        const auto point = longest.indexOf(u'.');
        std::erase_if(finer, [&](const Tick& tick) {
            const double steps = tick.value / step(coarser);
            return std::abs(steps - std::round(steps)) > 1e-6;
        });
        for (Tick& tick : finer)
            tick.label = draw::number_text(tick.value, point < 0 ? 0 : static_cast<int>(longest.size() - point - 1));
    }

    /// Widens the range of the axis with more room, so that a circle is one.
    static void equal_units(PanelFrame& frame) {
        const double across = (frame.x.high - frame.x.low) / frame.area.width(),
                     up = (frame.y.high - frame.y.low) / frame.area.height();
        Scale& wider = across < up ? frame.x : frame.y;
        const double middle = (wider.low + wider.high) / 2;
        const double half = std::max(across, up) * (across < up ? frame.area.width() : frame.area.height()) / 2;
        wider.low = middle - half, wider.high = middle + half;
    }

    QMarginsF needed_margins(std::size_t p) const {
        const Panel& panel = data_.panels[p];
        const PanelFrame& frame = frame_.panels[p];
        const double left = edge + (panel.y.label.isEmpty() ? 0 : line(axis_font) + side_gap) + widest_y(frame) + side_gap;
        double bottom = below_axis(frame) + edge + (panel.x.label.isEmpty() ? 0 : line(axis_font));
        double right = 16;
        if (!frame.shows_labels && !frame.x_ticks.empty()) {
            const Tick& last = frame.x_ticks.back();
            right = std::max(right, frame.x.px(last.value) + label_width(last.label, ui_font(tick_font)) / 2 + 2 - frame.x.end);
        }
        return {std::max(24.0, std::ceil(left)), (panel.title.isEmpty() ? 8.0 : panel_title_height + 4) + frame.legend_height,
                std::ceil(right), bottom};
    }

    void add_words(std::size_t p) {
        const Panel& panel = data_.panels[p];
        if (!panel.empty.isEmpty()) return;
        const PanelFrame& frame = frame_.panels[p];
        const QRectF& area = frame.area;
        const QFontMetricsF small(ui_font(tick_font)), large(ui_font(axis_font));
        std::vector<Word>& words = frame_.words;
        for (const Tick& tick : frame.x_ticks)
            if (!tick.label.isEmpty())
                words.push_back(word(tick.label,
                                     {frame.x.px(tick.value), area.bottom() + tick_length + tick_gap + small.ascent()}, tick_font,
                                     draw::Align::center));
        for (const Tick& tick : frame.y_ticks)
            words.push_back(word(tick.label,
                                 {area.left() - side_gap, draw::centred_baseline(frame.y.px(tick.value), ui_font(tick_font))},
                                 tick_font, draw::Align::right));
        const QString across = draw::elided(panel.x.label, ui_font(axis_font), area.width()),
                      up = draw::elided(panel.y.label, ui_font(axis_font), area.height());
        if (!across.isEmpty())
            words.push_back(word(across, {area.center().x(), area.bottom() + below_axis(frame) + large.ascent()}, axis_font,
                                 draw::Align::center));
        if (!up.isEmpty())
            words.push_back(word(up, {area.left() - 2 * side_gap - widest_y(frame) - large.descent(), area.center().y()},
                                 axis_font, draw::Align::center, true));
    }

    const PlotData& data_;
    std::size_t across_;
    Frame frame_;
    std::vector<QRectF> cells_;
    std::vector<std::pair<Scale, Scale>> ranges_;  ///< x and y, before units are made equal
    std::vector<std::vector<double>> widths_;      ///< of the tokens under the axis; empty while there are too many for it
    std::vector<QMarginsF> margins_;
};

}  // namespace

std::size_t panels_across(const PlotData& data, QSizeF room) {
    if (data.stacked_panels || data.panels.size() < 2) return 1;
    const std::size_t n = data.panels.size(),
                      most = std::clamp<std::size_t>(static_cast<std::size_t>(room.width() / least_panel_width), 1, n);
    if (!(room.height() > 0)) return most;
    const auto size = [&](std::size_t across) {  // the width of a panel, or what its height allows
        const auto rows = static_cast<double>(rows_of(n, across));
        return std::min(room.width() / static_cast<double>(across), room.height() / rows / data.aspect);
    };
    std::size_t best = most;
    for (std::size_t across = most; across-- > 1;)
        if (size(across) > size(best)) best = across;
    return best;
}

double legend_height(const PlotData& data, double width) { return legend_height(legend_grid(data, width)); }

double natural_height(const PlotData& data, double width) {
    const std::size_t across = panels_across(data, {width, 0}), rows = rows_of(data.panels.size(), across);
    const bool empty = std::all_of(data.panels.begin(), data.panels.end(), [](const Panel& p) { return !p.empty.isEmpty(); });
    const double each = width / static_cast<double>(across);
    return legend_height(data, width) +
           static_cast<double>(rows) * (empty ? 140 : std::clamp(each * data.aspect, 230.0, 420.0) + own_legend(data, each));
}

std::pair<double, double> height_limits(const PlotData& data, double width, std::size_t across) {
    const double each = width / static_cast<double>(across), own = own_legend(data, each),
                 rows = static_cast<double>(rows_of(data.panels.size(), across)), legend = legend_height(data, width);
    double least = least_panel_height;
    for (const Panel& panel : data.panels)
        least = std::max(least, std::ceil(draw::text_width(panel.y.label, ui_font(axis_font))) + words_above_and_below);
    least = std::min(least, most_least_height) + own;
    return {legend + rows * least, legend + rows * std::max(least, tallest_panel * each + own)};
}

Frame lay_out(const PlotData& data, const QRectF& room, std::size_t across) { return Layout(data, room, across).frame(); }

}  // namespace headlight::figure::plot
