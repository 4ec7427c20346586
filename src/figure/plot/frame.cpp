// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/frame.h"
#include "headlight/base/numbers.h"

#include "figure/plot/stamp.h"
#include "figure/plot/tickers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::figure::plot {

double Scale::px(double value) const {
    if (!std::isfinite(value) || (log && value <= 0)) return kNaN;
    const double t = log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + t * (end - begin);
}

double Scale::value(double px) const {
    const double t = (px - begin) / (end - begin);
    return log ? low * std::pow(high / low, t) : low + t * (high - low);
}

QPen line_pen(const Series& series, const Style& style) {
    const double strength = series.strength * (series.head && style.dims(*series.head) ? dimmed_strength : 1);
    QPen pen(draw::faded(resolved(series.color, style), strength), series.width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
    // Ten colours repeat: the next ten heads are dashed, the ten after them dotted.
    const auto decade = series.color.role == Color::Role::head ? static_cast<int>(series.color.value) / 10 : 0;
    if (series.dashed || decade % 3 == 1) pen.setDashPattern({4, 3});
    if (decade % 3 == 2) pen.setDashPattern({1, 2});
    return pen;
}

namespace {

constexpr double least_panel_width = 300, legend_font = 11;
constexpr int icon_width = 14, icon_height = 10, legend_gap = 12, legend_row = 18, most_legend_rows = 6;

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    void take(double v, bool log) {
        if (!std::isfinite(v) || (log && v <= 0)) return;
        low = std::min(low, v), high = std::max(high, v);
    }
    bool empty() const { return low > high; }
};

/// Ends of the stacked bars at each place, for the axis' range.
void take_stacked(const std::vector<Series>& all, Range& range) {
    std::vector<std::pair<double, double>> ends;
    for (const Series& s : all) {
        if (s.kind != Series::Kind::stacked) continue;
        ends.resize(std::max(ends.size(), s.y.size()));
        for (std::size_t i = 0; i < s.y.size(); ++i)
            if (std::isfinite(s.y[i])) (s.y[i] < 0 ? ends[i].first : ends[i].second) += s.y[i];
    }
    for (const auto& [below, above] : ends) range.take(below, false), range.take(above, false);
}

Range range_of(const Panel& panel, bool is_x) {
    const Axis& axis = is_x ? panel.x : panel.y;
    Range data;
    for (const Series& s : panel.series) {
        if (!is_x && s.kind == Series::Kind::stacked) continue;
        for (double v : is_x ? s.x : s.y) data.take(v, axis.log);
    }
    if (!is_x) take_stacked(panel.series, data);
    for (const Reference& r : panel.references)
        if (r.vertical == is_x) data.take(r.at, axis.log);
    if (axis.low) data.low = *axis.low;
    if (axis.high) data.high = *axis.high;
    if (data.empty() || !std::isfinite(data.low) || !std::isfinite(data.high)) data = {axis.log ? 0.1 : 0.0, 1.0};
    if (axis.from_zero && !axis.log) data.low = std::min(0.0, data.low);
    if (axis.log) {
        const double pad = axis.tight ? 1 : std::max(1.05, std::pow(data.high / data.low, 0.04));
        data.low /= pad, data.high *= pad;
        if (data.high <= data.low * 1.0001) data.low /= 2, data.high *= 2;
        return data;
    }
    double span = data.high - data.low;
    if (!(span > 1e-12 * std::max(std::abs(data.low), std::abs(data.high)))) {
        span = std::max(std::abs(data.high) * 0.2, axis.integer ? 1.0 : 1e-3);
        if (!(axis.from_zero && data.low == 0)) data.low -= span / 2;
        data.high += span / 2;
    } else if (!axis.tight) {
        const double pad = span * (axis.low && axis.high ? 0.03 : 0.05);
        if (!(axis.from_zero && data.low == 0)) data.low -= pad;
        data.high += pad;
    }
    return data;
}

QCPScatterStyle scatter_style(Marker marker, double radius, const QColor& color) {
    QCPScatterStyle out;
    out.setShape(QCPScatterStyle::ssCustom);
    out.setCustomPath(marker_path(marker, radius));
    out.setSize(6);  // QCustomPlot's own unit: the path as it is
    out.setPen(Qt::NoPen);
    out.setBrush(color);
    return out;
}

struct LegendWanted {
    std::size_t entries = 0;
    int columns = 1, rows = 0;
};

QFont legend_text_font() { return ui_font(legend_font); }

template <class Visit>
void for_each_name(const PlotData& data, const Visit& visit) {
    // Panels that show the same series share its entry.
    std::vector<QString> seen;
    const auto fresh = [&](const QString& name) {
        if (name.isEmpty() || std::find(seen.begin(), seen.end(), name) != seen.end()) return false;
        seen.push_back(name);
        return true;
    };
    for (std::size_t p = 0; p < data.panels.size(); ++p) {
        const Panel& panel = data.panels[p];
        for (std::size_t s = 0; s < panel.series.size(); ++s)
            if (fresh(panel.series[s].name)) visit(panel.series[s].name, p, &panel.series[s], s, nullptr);
        for (const Reference& r : panel.references)
            if (fresh(r.name)) visit(r.name, p, nullptr, std::size_t{0}, &r);
    }
}

LegendWanted legend_wanted(const PlotData& data, double width) {
    LegendWanted out;
    double widest = 0;
    for_each_name(data, [&](const QString& name, std::size_t, const Series*, std::size_t, const Reference*) {
        widest = std::max(widest, draw::text_width(name, legend_text_font()));
        ++out.entries;
    });
    if (out.entries == 0) return out;
    const double entry = icon_width + 6 + widest + legend_gap;
    out.columns = std::clamp(static_cast<int>((width - 16) / entry), 1, static_cast<int>(out.entries));
    out.rows =
        static_cast<int>((out.entries + static_cast<std::size_t>(out.columns) - 1) / static_cast<std::size_t>(out.columns));
    // Fewer columns where the last row would hold a single entry.
    out.columns = static_cast<int>((out.entries + static_cast<std::size_t>(out.rows) - 1) / static_cast<std::size_t>(out.rows));
    if (out.rows > most_legend_rows) return {};
    return out;
}

/// Builds the plot out of QCustomPlot's parts. Lives for one frame.
class Builder {
public:
    Builder(const PlotData& data, const QRectF& room, const Style& style) : data_(data), room_(room), style_(style) {
        plot_.setAutoAddPlottableToLegend(false);
        plot_.setBackground(QBrush(Qt::NoBrush));
        plot_.plotLayout()->clear();
        plot_.plotLayout()->setRowSpacing(0);
        hold(plot_.plotLayout());
    }

    Frame build() {
        const LegendWanted legend = legend_wanted(data_, room_.width());
        if (legend.entries) add_legend(legend);
        auto* grid = new QCPLayoutGrid;
        plot_.plotLayout()->addElement(legend.entries ? 1 : 0, 0, grid);
        hold(grid);
        grid->setRowSpacing(0);
        grid->setColumnSpacing(0);
        const auto across = panels_across(data_, room_.width());
        for (std::size_t p = 0; p < data_.panels.size(); ++p)
            add_panel(*grid, data_.panels[p], static_cast<int>(p / across), static_cast<int>(p % across));
        lay_out();
        equal_units();
        for (std::size_t p = 0; p < data_.panels.size(); ++p) set_ticks(p);
        lay_out();
        equal_units();  // the room for labels has changed
        return finished();
    }

private:
    const Theme& theme() const { return *style_.theme; }
    QSize size() const { return {static_cast<int>(room_.width()), static_cast<int>(room_.height())}; }

    /// What only holds others has a layer of its own, since a hidden layer hides all that it holds.
    static void hold(QCPLayerable* holder) { holder->setLayer(QStringLiteral("background")); }

    void lay_out() {
        plot_.setViewport(QRect(QPoint(0, 0), size()));
        for (auto phase : {QCPLayoutElement::upPreparation, QCPLayoutElement::upMargins, QCPLayoutElement::upLayout})
            plot_.plotLayout()->update(phase);
    }

    /// Widens the range of one axis where a panel wants a circle to be one.
    void equal_units() {
        for (std::size_t p = 0; p < data_.panels.size(); ++p) {
            if (!data_.panels[p].equal_units) continue;
            QCPAxis *x = rects_[p]->axis(QCPAxis::atBottom), *y = rects_[p]->axis(QCPAxis::atLeft);
            if (rects_[p]->width() < 1 || rects_[p]->height() < 1) continue;
            const double across = x->range().size() / rects_[p]->width(), up = y->range().size() / rects_[p]->height();
            if (across < up)
                x->setRange(x->range().center(), up * rects_[p]->width(), Qt::AlignCenter);
            else
                y->setRange(y->range().center(), across * rects_[p]->height(), Qt::AlignCenter);
        }
    }

    void add_legend(const LegendWanted& wanted) {
        auto* strip = new QCPLayoutInset;
        legend_ = new QCPLegend;
        plot_.plotLayout()->addElement(0, 0, strip);
        hold(strip);
        strip->addElement(legend_, Qt::AlignLeft | Qt::AlignTop);
        strip->setMargins(QMargins(8, 0, 8, 0));
        const auto height = static_cast<int>(legend_height(data_, room_.width()));
        strip->setMinimumSize(0, height);
        strip->setMaximumSize(QWIDGETSIZE_MAX, height);
        legend_->setLayer(QStringLiteral("legend"));
        legend_->setBorderPen(Qt::NoPen);
        legend_->setBrush(Qt::NoBrush);
        legend_->setFont(legend_text_font());
        legend_->setTextColor(theme().muted);
        legend_->setIconSize(icon_width, icon_height);
        legend_->setIconTextPadding(6);
        legend_->setMargins(QMargins(0, 0, 0, 0));
        legend_->setColumnSpacing(legend_gap);
        legend_->setRowSpacing(0);
        legend_->setFillOrder(QCPLayoutGrid::foColumnsFirst);
        legend_->setWrap(wanted.columns);
    }

    void add_panel(QCPLayoutGrid& grid, const Panel& panel, int row, int column) {
        auto* rect = new QCPAxisRect(&plot_);
        grid.addElement(row, column, rect);
        hold(rect);
        rects_.push_back(rect);
        const int top = panel.title.isEmpty() ? 8 : static_cast<int>(panel_title_height) + 4;
        rect->setMinimumMargins(QMargins(24, top, 16, 10));
        // Panels under each other begin at the same x, beside each other end at the same y.
        if (static_cast<int>(columns_.size()) <= column) columns_.push_back(new QCPMarginGroup(&plot_));
        if (static_cast<int>(rows_.size()) <= row) rows_.push_back(new QCPMarginGroup(&plot_));
        rect->setMarginGroup(QCP::msLeft, columns_[static_cast<std::size_t>(column)]);
        rect->setMarginGroup(QCP::msBottom | QCP::msTop, rows_[static_cast<std::size_t>(row)]);
        set_axis(rect->axis(QCPAxis::atBottom), panel.x, range_of(panel, true), true);
        set_axis(rect->axis(QCPAxis::atLeft), panel.y, range_of(panel, false), false);
        below_ = nullptr;
        for (const Series& series : panel.series) add_series(*rect, series);
        for (const Reference& reference : panel.references) add_reference(*rect, reference);
    }

    void set_axis(QCPAxis* axis, const Axis& wanted, const Range& range, bool is_x) {
        axis->setLayer(QStringLiteral("axes"));
        axis->grid()->setLayer(QStringLiteral("grid"));
        if (wanted.log) axis->setScaleType(QCPAxis::stLogarithmic);
        axis->setRange(range.low, range.high);
        const QPen line = draw::hairline(theme().faint, style_), quiet = draw::hairline(theme().line, style_);
        axis->setBasePen(is_x ? line : QPen(Qt::NoPen));
        axis->setTickPen(is_x ? line : QPen(Qt::NoPen));
        axis->setSubTicks(false);
        axis->setTickLength(0, is_x ? 4 : 0);
        axis->setTickLabelFont(ui_font(tick_font));
        axis->setTickLabelColor(theme().muted);
        axis->setTickLabelPadding(is_x ? 3 : 6);
        axis->setLabelFont(ui_font(axis_font));
        axis->setLabelColor(theme().muted);
        axis->setLabelPadding(is_x ? 4 : 6);
        axis->setLabel(wanted.label);
        axis->grid()->setPen(is_x ? QPen(Qt::NoPen) : quiet);
        axis->grid()->setZeroLinePen(range.low < 0 && range.high > 0 && !wanted.integer && wanted.labels.empty() ? line
                                     : is_x                                                                      ? QPen(Qt::NoPen)
                                                                                                                 : quiet);
        axis->grid()->setSubGridVisible(false);
        axis->setTicker(wanted.log ? QSharedPointer<QCPAxisTicker>(new LogTicker)
                                   : QSharedPointer<QCPAxisTicker>(new NumberTicker(wanted.integer)));
    }

    /// Once the panels' sizes are about known: as many ticks as have room, and room for the tokens under the axis.
    void set_ticks(std::size_t p) {
        const Panel& panel = data_.panels[p];
        QCPAxisRect& rect = *rects_[p];
        QCPAxis *x = rect.axis(QCPAxis::atBottom), *y = rect.axis(QCPAxis::atLeft);
        x->ticker()->setTickCount(std::max(3, rect.width() / (panel.x.integer ? 40 : 72)));
        y->ticker()->setTickCount(std::max(3, rect.height() / 40));
        x->setLabel(draw::elided(panel.x.label, ui_font(axis_font), rect.width()));
        y->setLabel(draw::elided(panel.y.label, ui_font(axis_font), rect.height()));
        fits_.emplace_back();
        shows_.push_back(false);
        if (panel.x.labels.empty()) return;
        const QFont font = ui_font(tick_font);
        std::vector<double> widths;
        for (const draw::Label& label : panel.x.labels) widths.push_back(draw::token_width(label, font));
        const double cell = rect.width() / std::max(1.0, x->range().size()), line = QFontMetricsF(font).height();
        const draw::AxisFit fit = draw::fit_columns(widths, cell, line, 72);
        // Every tenth word says less than its number.
        if (fit.stride > 5) return;
        fits_.back() = fit;
        shows_.back() = true;
        x->setTickLabels(false);
        x->setTickPen(fit.stride > 1 ? QPen(Qt::NoPen) : x->tickPen());
        x->setLabelPadding(static_cast<int>(std::ceil(fit.extent)) + 8);
        if (panel.x.label.isEmpty()) x->setPadding(static_cast<int>(std::ceil(fit.extent)) + 8);
    }

    void add_series(QCPAxisRect& rect, const Series& series) {
        QCPAxis *x = rect.axis(QCPAxis::atBottom), *y = rect.axis(QCPAxis::atLeft);
        const QColor color = draw::faded(resolved(series.color, style_), series.strength);
        QCPAbstractPlottable* plottable = nullptr;
        using Kind = Series::Kind;
        if (series.kind == Kind::bars || series.kind == Kind::stacked) {
            auto* bars = new QCPBars(x, y);
            bars->setPen(Qt::NoPen);
            bars->setBrush(color);
            bars->setWidth(0.8);
            bars->setData(values(series.x), values(series.y), true);
            if (series.kind == Kind::stacked) {
                if (below_) bars->moveAbove(below_);
                below_ = bars;
            }
            plottable = bars;
        } else if (series.kind == Kind::steps) {
            auto* outline = new QCPCurve(x, y);
            QVector<double> t, px, py;
            const auto add = [&](double vx, double vy) { t << t.size(), px << vx, py << vy; };
            for (std::size_t i = 0; i < series.size(); ++i) {
                if (i == 0) add(series.x[0], 0);
                add(series.x[i], series.y[i]);
                add(series.x[i + 1], series.y[i]);
                if (i + 1 == series.size()) add(series.x[i + 1], 0);
            }
            outline->setData(t, px, py, true);
            outline->setPen(line_pen(series, style_));
            plottable = outline;
        } else {
            auto* graph = new QCPGraph(x, y);
            graph->setAdaptiveSampling(false);
            if (series.kind == Kind::line) {
                graph->setData(values(series.x), values(series.y), true);
                graph->setPen(line_pen(series, style_));
            } else {
                // Points are drawn by PlotFigure; this one is for the legend.
                graph->setPen(Qt::NoPen);
                graph->setLineStyle(QCPGraph::lsNone);
                graph->setScatterStyle(scatter_style(series.marker, 3.5, color));
            }
            plottable = graph;
        }
        plottable->setLayer(QStringLiteral("main"));
        plottables_.push_back(plottable);
        series_.push_back(&series);
    }

    void add_reference(QCPAxisRect& rect, const Reference& reference) {
        QPen pen(resolved(reference.color, style_), style_.exporting ? 0.75 * 96 / 72 : 1, Qt::SolidLine, Qt::FlatCap);
        if (reference.dashed) pen.setDashPattern({4, 3});
        auto* line = new QCPItemStraightLine(&plot_);
        line->setLayer(QStringLiteral("grid"));
        line->setPen(pen);
        line->setClipAxisRect(&rect);
        for (QCPItemPosition* position : {line->point1, line->point2}) {
            position->setAxisRect(&rect);
            position->setAxes(rect.axis(QCPAxis::atBottom), rect.axis(QCPAxis::atLeft));
        }
        const QCPRange across = rect.axis(reference.vertical ? QCPAxis::atLeft : QCPAxis::atBottom)->range();
        line->point1->setCoords(reference.vertical ? reference.at : across.lower,
                                reference.vertical ? across.lower : reference.at);
        line->point2->setCoords(reference.vertical ? reference.at : across.upper,
                                reference.vertical ? across.upper : reference.at);
        auto* sample = new QCPGraph(rect.axis(QCPAxis::atBottom), rect.axis(QCPAxis::atLeft));
        sample->setPen(pen);
        references_.emplace_back(&reference, sample);
    }

    void fill_legend() {
        for_each_name(data_, [&](const QString& name, std::size_t panel, const Series* series, std::size_t index,
                                 const Reference* reference) {
            QCPAbstractPlottable* sample = nullptr;
            if (series)
                sample =
                    plottables_[static_cast<std::size_t>(std::find(series_.begin(), series_.end(), series) - series_.begin())];
            for (const auto& [known, graph] : references_)
                if (known == reference && reference) sample = graph;
            if (!sample) return;
            sample->setName(name);
            auto* item = new QCPPlottableLegendItem(legend_, sample);
            item->setMargins(QMargins(0, 1, 0, 1));
            legend_->addItem(item);
            items_.push_back({item, panel, series ? std::optional(index) : std::nullopt});
        });
    }

    Frame finished() {
        if (legend_) {
            fill_legend();
            lay_out();
        }
        Frame frame;
        record(frame.axes, false);
        record(frame.lines, true);
        const QPointF corner = room_.topLeft();
        for (std::size_t p = 0; p < rects_.size(); ++p) {
            PanelFrame out;
            out.x = scale_of(rects_[p]->axis(QCPAxis::atBottom), corner.x());
            out.y = scale_of(rects_[p]->axis(QCPAxis::atLeft), corner.y());
            out.area = QRectF(QPointF(out.x.begin, out.y.end), QPointF(out.x.end, out.y.begin));
            out.labels = fits_[p];
            out.shows_labels = shows_[p];
            frame.panels.push_back(out);
        }
        for (const Item& item : items_)
            if (item.series)
                frame.legend.push_back({QRectF(item.element->outerRect()).translated(corner), item.panel, *item.series});
        return frame;
    }

    void record(Recording& to, bool lines) {
        for (int i = 0; i < plot_.layerCount(); ++i) {
            const QString name = plot_.layer(i)->name();
            plot_.layer(i)->setVisible(name == QLatin1String("background") || (name == QLatin1String("main")) == lines);
        }
        RecordingDevice device(to, size());
        QCPPainter painter(&device);
        // No half pixels: the target knows where its pixels are.
        painter.setMode(QCPPainter::pmVectorized);
        plot_.toPainter(&painter, size().width(), size().height());
    }

    static Scale scale_of(QCPAxis* axis, double offset) {
        const QCPRange range = axis->range();
        return {range.lower, range.upper, axis->scaleType() == QCPAxis::stLogarithmic, axis->coordToPixel(range.lower) + offset,
                axis->coordToPixel(range.upper) + offset};
    }

    static QVector<double> values(const std::vector<double>& v) { return {v.begin(), v.end()}; }

    struct Item {
        QCPLayoutElement* element;
        std::size_t panel;
        std::optional<std::size_t> series;
    };

    const PlotData& data_;
    QRectF room_;
    const Style& style_;
    QCustomPlot plot_;
    QCPLegend* legend_ = nullptr;
    QCPBars* below_ = nullptr;
    std::vector<QCPAxisRect*> rects_;
    std::vector<QCPMarginGroup*> columns_, rows_;
    std::vector<draw::AxisFit> fits_;
    std::vector<bool> shows_;
    std::vector<QCPAbstractPlottable*> plottables_;
    std::vector<const Series*> series_;
    std::vector<std::pair<const Reference*, QCPGraph*>> references_;
    std::vector<Item> items_;
};

}  // namespace

std::size_t panels_across(const PlotData& data, double width) {
    if (data.stacked_panels || data.panels.size() < 2) return 1;
    const auto most = static_cast<std::size_t>(std::max(1.0, std::floor(width / least_panel_width)));
    return std::min(most, data.panels.size());
}

double legend_height(const PlotData& data, double width) {
    const LegendWanted legend = legend_wanted(data, width);
    return legend.entries ? legend.rows * legend_row + 8 : 0;
}

double natural_height(const PlotData& data, double width) {
    const auto across = panels_across(data, width);
    const auto rows = (std::max<std::size_t>(data.panels.size(), 1) + across - 1) / across;
    const double each = std::clamp(width / static_cast<double>(across) * data.aspect, 230.0, 420.0);
    return legend_height(data, width) + static_cast<double>(rows) * each;
}

Frame build_frame(const PlotData& data, const QRectF& room, const Style& style) { return Builder(data, room, style).build(); }

}  // namespace headlight::figure::plot
