// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/sweep/sweep_figure.h"

#include "figure/core/scene.h"
#include "figure/core/wrapped.h"
#include "figure/sweep/sweep_panels.h"
#include "figure/sweep/sweep_scatter.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

using intervention::CellState;
using intervention::SweepCell;
using intervention::SweepCellResult;
using intervention::SweepResult;

constexpr double kMargin = 24, kGap = 22, kLegendBar = 120, kTitle = 18, kWidestCell = 44, kTallestCell = 22, kLowestCell = 2.5,
                 kToFill = 2;    // times as large where there is room
constexpr double kFaint = 0.35;  ///< strength of a cell whose interval holds 0
constexpr double kLeastPanel = 120, kLeastColumn = 9, kTokenColumn = 15;

const QFont& cell_label_font() { return ui_font(11); }

/// Where a panel's map and labels are.
struct PanelPlace {
    QRectF map;
    double cell_width = 0, cell_height = 0;
    draw::AxisFit columns, rows;
    double label_width = 0;  ///< of the rows
    QRectF cell(std::size_t row, std::size_t column) const {
        return {map.left() + static_cast<double>(column) * cell_width, map.top() + static_cast<double>(row) * cell_height,
                cell_width, cell_height};
    }
};

class SweepFigure final : public SceneFigure {
public:
    explicit SweepFigure(SweepPtr result) : r_(std::move(result)), panels_(sweep_panels(*r_)) {
        normalized_ =
            std::ranges::any_of(r_->results, [](const SweepCellResult& cell) { return std::isfinite(cell.normalized); });
        for (const SweepCellResult& cell : r_->results)
            for (const bool error : {false, true})
                if (const double value = shown(cell, error); std::isfinite(value)) limit_ = std::max(limit_, std::abs(value));
        if (limit_ == 0) limit_ = 1;
    }

    std::string view() const override { return "sweep"; }
    QString title() const override { return sweep_title(*r_); }
    QString description() const override {
        return QStringLiteral(
            "One edit a cell, and what it does to the answer. Patching puts a tensor of one text's run into the run of the "
            "other; 0 changes nothing, 1 gives the other run's metric, and both ends may be exceeded. Blue raises towards it, "
            "orange leads away. Faint: the interval over pairs holds 0. Hatched: the texts have no such position in common. "
            "After Meng et al. 2022, Locating and Editing Factual Associations in GPT, and Heimersheim & Nanda 2024, How to Use "
            "and Interpret Activation Patching.");
    }

    Table table() const override { return intervention::table_of(*r_); }
    std::vector<NamedArray> arrays() const override { return intervention::table_of(*r_).arrays; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override {
        width_ = std::max(available.width(), 300.0);
        heading_ = wrapped(title(), heading_font(), width_ - 2 * kMargin);
        said_ = wrapped(sweep_words(*r_), note_font(), width_ - 2 * kMargin);
        places_.clear();
        lay_out_legend();
        double y = 22 + 20 * static_cast<double>(heading_.size()) + 16 * static_cast<double>(said_.size()) + 6;
        const double fitting = std::clamp((width_ - 2 * kMargin + kGap) / (least_width() + kGap), 1.0, 1e6);
        const std::size_t lines = (panels_.size() + static_cast<std::size_t>(fitting) - 1) / static_cast<std::size_t>(fitting);
        const std::size_t across = (panels_.size() + lines - 1) / lines;  // as even as they come
        const double room = (width_ - 2 * kMargin - kGap * static_cast<double>(across - 1)) / static_cast<double>(across);
        const double tall = available.height() > 0 ? available.height() - y - legend_height() : 0;
        for (std::size_t first = 0; first < panels_.size(); first += across) {
            double lowest = y;
            for (std::size_t i = first; i < std::min(first + across, panels_.size()); ++i) {
                places_.push_back(place_panel(panels_[i], kMargin + static_cast<double>(i - first) * (room + kGap), y, room,
                                              panels_.size() <= across ? tall : 0));
                lowest = std::max(lowest, places_.back().map.bottom());
            }
            y = lowest + kGap;
        }
        lay_out_legend();  // now it knows whether cells have numbers
        height_ = y - kGap + legend_height();
        return {width_, height_};
    }

    void draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const override {
        const Theme& theme = *style.theme;
        double y = 34;
        for (const QString& line : heading_) out.text({kMargin, y}, line, heading_font(), theme.text), y += 20;
        y -= 2;
        for (const QString& line : said_) out.text({kMargin, y}, line, note_font(), theme.muted), y += 16;
        for (std::size_t i = 0; i < panels_.size(); ++i)
            if (places_[i].map.adjusted(-width_, -140, width_, 20).intersects(seen))
                draw_panel(out, panels_[i], places_[i], style, selection);
        draw_legend(out, style);
    }

private:
    static const QFont& heading_font() { return ui_font(16, QFont::DemiBold); }

    /// A pending cell has its estimate where there is one.
    double shown(const SweepCellResult& cell, bool error) const {
        const double unit = normalized_ ? r_->gap() : 1;
        if (error) return (cell.estimate - cell.effect) / unit;
        if (cell.state == CellState::pending) return cell.estimate / unit;
        return normalized_ ? cell.normalized : cell.effect;
    }

    /// The interval is the effect's; its sign is the same whatever the effect is divided by.
    static bool holds_zero(const SweepCellResult& cell) { return cell.low <= 0 && cell.high >= 0; }

    /// Its columns are heads, layers or units, not tokens.
    static bool is_numbered(const SweepPanel& panel) {
        return std::ranges::all_of(panel.columns, [](const draw::Label& label) {
            return std::ranges::all_of(label.text, [](QChar c) { return c.isDigit(); });
        });
    }

    /// Every token has its label.
    double least_width() const {
        double least = kLeastPanel;
        for (const SweepPanel& panel : panels_)
            least = std::max(least, row_labels(panel) + (is_numbered(panel) ? kLeastColumn : kTokenColumn) *
                                                            static_cast<double>(panel.columns.size()));
        return least;
    }

    static double row_labels(const SweepPanel& panel) {
        double widest = panel.rows_name.isEmpty() ? 0 : draw::text_width(panel.rows_name, small_font());
        for (const draw::Label& label : panel.rows) widest = std::max(widest, draw::token_width(label, cell_label_font()));
        return std::min(widest, 90.0) + 8;
    }

    PanelPlace place_panel(const SweepPanel& panel, double x, double y, double room, double tall) const {
        PanelPlace at;
        at.label_width = row_labels(panel);
        const auto columns = static_cast<double>(panel.columns.size()), rows = static_cast<double>(panel.rows.size());
        at.cell_width = std::min((room - at.label_width) / columns, kToFill * kWidestCell);
        const double line = QFontMetricsF(cell_label_font()).height();
        std::vector<double> widths, row_widths;
        for (const draw::Label& label : panel.columns) widths.push_back(draw::token_width(label, cell_label_font()) + 2);
        for (const draw::Label& label : panel.rows) row_widths.push_back(draw::token_width(label, cell_label_font()));
        at.columns = draw::fit_columns(widths, at.cell_width, line, 90);
        if (is_numbered(panel))  // upright, even where some are left out
            at.columns = {.stride = static_cast<std::int64_t>(std::ceil(std::ranges::max(widths) / at.cell_width)),
                          .extent = line};
        const double above =
            (panel.title.isEmpty() ? 0 : kTitle) + std::ceil(at.columns.extent) + 6 + (panel.columns_name.isEmpty() ? 0 : 14);
        const double tallest =
            tall > 0 ? kToFill * kTallestCell : std::clamp(at.cell_width / 2, kTallestCell, kToFill * kTallestCell);
        const double most = rows <= 40 ? tallest : rows <= 200 ? 13 : 6;
        at.cell_height = std::clamp(tall > 0 ? (tall - above) / rows : most, std::min(line + 1, most), most);
        at.cell_height = std::max(at.cell_height, kLowestCell);
        at.rows = draw::fit_rows(row_widths, at.cell_height, line, at.label_width);
        at.map = {x + at.label_width, y + above, at.cell_width * columns, at.cell_height * rows};
        return at;
    }

    QColor color(const SweepCellResult& cell, bool error, const Theme& theme) const {
        const double value = std::clamp(shown(cell, error) / limit_, -1.0, 1.0);
        const QColor full = signed_color(theme, value);
        return cell.state == CellState::pending || (holds_zero(cell) && !error) ? draw::blended(theme.canvas, full, kFaint)
                                                                                : full;
    }

    /// Every panel's title stands above its map or, where one of the maps is too narrow, above the labels of the rows too.
    bool titles_fit() const {
        for (std::size_t i = 0; i < panels_.size(); ++i)
            if (draw::text_width(panels_[i].title, ui_font(12, QFont::DemiBold)) > places_[i].map.width()) return false;
        return true;
    }

    void draw_panel(Scene& out, const SweepPanel& panel, const PanelPlace& at, const Style& style,
                    const Selection& selection) const {
        const Theme& theme = *style.theme;
        const double top = at.map.top() - std::ceil(at.columns.extent) - 6;
        if (!panel.title.isEmpty()) {
            const QFont& bold = ui_font(12, QFont::DemiBold);
            const double left = at.map.left() - (titles_fit() ? 0 : at.label_width);
            out.text({left, top - (panel.columns_name.isEmpty() ? 4 : 18)},
                     draw::elided(panel.title, bold, at.map.right() + kGap - 4 - left), bold, theme.text);
        }
        if (!panel.columns_name.isEmpty()) out.text({at.map.left(), top - 3}, panel.columns_name, small_font(), theme.muted);
        if (!panel.rows_name.isEmpty())
            out.text({at.map.left() - 6, at.map.top() - 5}, panel.rows_name, small_font(), theme.muted, draw::Align::right);
        out.picture(at.map, [this, &panel, &at, &theme](QPainter& painter) { paint_cells(painter, panel, at, theme); });
        out.box(at.map, 0, {}, theme.line, draw::hairline(theme.line, style).widthF());
        out.means(at.map, std::ssize(panel.rows), std::ssize(panel.columns), [this, &panel](std::int64_t r, std::int64_t c) {
            return hit_of(panel, panel.cell(static_cast<std::size_t>(r), static_cast<std::size_t>(c)));
        });
        draw_labels(out, panel, at);
        draw_numbers(out, panel, at, theme);
        if (style.exporting) return;
        for (std::size_t i = 0; i < panel.cells.size(); ++i)
            if (panel.cells[i] >= 0 && is_focused(r_->cells[static_cast<std::size_t>(panel.cells[i])], selection))
                out.box(at.cell(i / panel.columns.size(), i % panel.columns.size()), 0, {}, theme.accent, 1.5);
    }

    void paint_cells(QPainter& painter, const SweepPanel& panel, const PanelPlace& at, const Theme& theme) const {
        if (!draw::is_vector(painter)) painter.setRenderHint(QPainter::Antialiasing, false);
        std::vector<QRectF> without;
        for (std::size_t r = 0; r < panel.rows.size(); ++r)
            for (std::size_t c = 0; c < panel.columns.size(); ++c) {
                const std::int64_t index = panel.cell(r, c);
                if (index < 0) continue;
                const SweepCellResult& cell = r_->results[static_cast<std::size_t>(index)];
                if (std::isfinite(shown(cell, panel.of_error)))
                    painter.fillRect(at.cell(r, c).adjusted(0, 0, 0.05, 0.05), color(cell, panel.of_error, theme));
                else if (cell.state != CellState::pending)
                    without.push_back(at.cell(r, c));
            }
        painter.setRenderHint(QPainter::Antialiasing, true);
        for (const QRectF& box : without) hatch(painter, box, theme);
    }

    Hit hit_of(const SweepPanel& panel, std::int64_t index) const {
        if (index < 0) return {};
        const SweepCell& cell = r_->cells[static_cast<std::size_t>(index)];
        const SweepCellResult& of = r_->results[static_cast<std::size_t>(index)];
        Hit hit{.kind = cell.source >= 0 ? Hit::Kind::pair
                        : cell.head >= 0 ? Hit::Kind::head
                                         : Hit::Kind::query,
                .options = {{"cell", std::to_string(index)}},
                .value = shown(of, panel.of_error),
                .tip = tip(cell, of)};
        if (cell.head >= 0 && intervention::row_of(cell.site).axis == intervention::Axis::head)
            hit.head = HeadId{Layer(cell.layer), Head(cell.head)};
        if (r_->position_names.empty() && cell.position >= 0) hit.query = Position(cell.position);
        if (r_->position_names.empty() && cell.source >= 0) hit.key = Position(cell.source);
        return hit;
    }

    /// Selected: head or neuron, and pinned tokens where the cell has a place.
    bool is_focused(const SweepCell& cell, const Selection& selection) const {
        const auto pinned = [](const std::vector<Position>& pins, std::int64_t at) {
            return at < 0 || std::ranges::find(pins, Position(at)) != pins.end();
        };
        if (!pinned(selection.pinned_queries, cell.position) || !pinned(selection.pinned_keys, cell.source)) return false;
        if (cell.neuron >= 0) return selection.neuron == analyze::NeuronId{Layer(cell.layer), Neuron(cell.neuron)};
        const bool of_group = intervention::row_of(cell.site).axis == intervention::Axis::kv_head;
        const std::int64_t readers = of_group ? r_->axes.heads / r_->axes.kv_heads : 1;
        if (cell.head >= 0)
            return selection.focus.layer == Layer(cell.layer) && selection.focus.head.value / readers == cell.head;
        return selection.layer == Layer(cell.layer);
    }

    /// Of the cells that say something, where every number has room.
    double least_number() const { return normalized_ ? 0.1 : 0.1 * limit_; }
    QString cell_number(const SweepCellResult& cell) const { return number_text(shown(cell, false), limit_ < 10 ? 2 : 1); }
    bool has_number(const SweepPanel& panel, std::int64_t index) const {
        if (index < 0 || panel.of_error) return false;
        const SweepCellResult& cell = r_->results[static_cast<std::size_t>(index)];
        return cell.state != CellState::pending && std::abs(shown(cell, false)) >= least_number();
    }
    bool shows_numbers(const SweepPanel& panel, const PanelPlace& at) const {
        if (at.cell_height < QFontMetricsF(small_font()).height()) return false;
        return std::ranges::all_of(panel.cells, [&](std::int64_t index) {
            return !has_number(panel, index) ||
                   draw::text_width(cell_number(r_->results[static_cast<std::size_t>(index)]), small_font()) + 4 <= at.cell_width;
        });
    }
    void draw_numbers(Scene& out, const SweepPanel& panel, const PanelPlace& at, const Theme& theme) const {
        if (!shows_numbers(panel, at)) return;
        for (std::size_t r = 0; r < panel.rows.size(); ++r)
            for (std::size_t c = 0; c < panel.columns.size(); ++c) {
                const std::int64_t index = panel.cell(r, c);
                if (!has_number(panel, index)) continue;
                const SweepCellResult& cell = r_->results[static_cast<std::size_t>(index)];
                const QRectF box = at.cell(r, c);
                out.text({box.center().x(), box.center().y() + QFontMetricsF(small_font()).capHeight() / 2}, cell_number(cell),
                         small_font(), text_on(theme, color(cell, false, theme)), draw::Align::center);
            }
    }

    static void draw_labels(Scene& out, const SweepPanel& panel, const PanelPlace& at) {
        const double line = QFontMetricsF(cell_label_font()).height();
        for (std::size_t r = 0; r < panel.rows.size(); r += static_cast<std::size_t>(at.rows.stride))
            out.token(QRectF(at.map.left() - at.label_width, at.cell(r, 0).center().y() - line / 2, at.label_width - 6, line),
                      panel.rows[r], cell_label_font(), draw::Align::right);
        // Not all fit: the last token, where answers are read, has its label.
        const auto stride = static_cast<std::size_t>(at.columns.stride);
        for (std::size_t c = is_numbered(panel) ? 0 : (panel.columns.size() - 1) % stride; c < panel.columns.size();
             c += stride) {
            const double x = at.cell(0, c).center().x(), extent = std::ceil(at.columns.extent);
            if (at.columns.upwards)
                out.token_upwards(QRectF(x - line / 2, at.map.top() - extent - 4, line, extent), panel.columns[c],
                                  cell_label_font());
            else
                out.token(QRectF(x - at.cell_width, at.map.top() - line - 3, 2 * at.cell_width, line), panel.columns[c],
                          cell_label_font(), draw::Align::center);
        }
    }

    static void hatch(QPainter& painter, const QRectF& box, const Theme& theme) {
        painter.save();
        painter.setClipRect(box, Qt::IntersectClip);
        painter.setPen(QPen(draw::faded(theme.faint, 0.6), 1));
        constexpr double step = 5;
        for (double x = std::floor((box.left() - box.height()) / step) * step; x < box.right(); x += step)
            painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
        painter.restore();
    }

    /// What the colours mean, beside the bar or, on a narrow page, under it.
    void lay_out_legend() {
        const QString end = sweep_number(limit_);
        legend_bar_ = kMargin + draw::number_width(QStringLiteral("−") + end, small_font()) + 6;
        legend_text_ = legend_bar_ + kLegendBar + 5 + draw::number_width(end, small_font()) + 16;
        legend_below_ = width_ - legend_text_ - kMargin < 260;
        if (legend_below_) legend_text_ = kMargin;
        QStringList said{
            normalized_ ? QStringLiteral("normalised effect: 0 unedited, 1 the other run")
                        : QStringLiteral("effect on the %1").arg(QString::fromUtf8(enum_row(r_->options.metric).title.data()))};
        if (r_->effects.size() > 1) said << QStringLiteral("faint: the 95 % interval holds 0");
        for (std::size_t i = 0; i < panels_.size() && i < places_.size(); ++i)
            if (shows_numbers(panels_[i], places_[i]) &&
                std::ranges::any_of(panels_[i].cells, [&](std::int64_t index) { return has_number(panels_[i], index); })) {
                said << QStringLiteral("numbers from %1").arg(number_text(least_number()));
                break;
            }
        if (!r_->complete)
            said << (r_->estimates.empty() ? QStringLiteral("blank: not computed yet")
                                           : QStringLiteral("faint: estimated so far"));
        if (r_->missing > 0) said << QStringLiteral("hatched: not aligned");
        legend_ = wrapped(said.join(QStringLiteral(" · ")), small_font(), width_ - legend_text_ - kMargin);
    }
    double legend_height() const { return 44 + 14 * static_cast<double>(legend_below_ ? legend_.size() : legend_.size() - 1); }

    void draw_legend(Scene& out, const Style& style) const {
        const Theme& theme = *style.theme;
        const double y = height_ - legend_height() + 20;
        const QString end = sweep_number(limit_);
        out.bar(
            QRectF(legend_bar_, y, kLegendBar, 9), [&theme](double t) { return signed_color(theme, 2 * t - 1); },
            {QStringLiteral("−") + end, end}, theme);
        double baseline = y + (legend_below_ ? 26 : 9);
        for (const QString& line : legend_) {
            out.text({legend_text_, baseline}, line, small_font(), theme.muted);
            baseline += 14;
        }
    }

    QString tip(const SweepCell& cell, const SweepCellResult& of) const {
        QString out = sweep_cell_words(*r_, cell);
        const QString estimate =
            std::isfinite(of.estimate) ? QStringLiteral("  estimate ") + sweep_number(of.estimate) : QString();
        if (of.state == CellState::pending) return out + estimate + QStringLiteral("  not computed yet");
        if (of.state == CellState::missing) return out + QStringLiteral("  not aligned");
        out += QStringLiteral("  ") + sweep_effect_words(*r_, of);
        out += estimate;
        if (std::isfinite(of.low)) out += QStringLiteral("  [%1, %2]").arg(sweep_number(of.low), sweep_number(of.high));
        if (of.pairs > 1) out += QStringLiteral("  %1 of %2 pairs agree").arg(of.agreeing).arg(of.pairs);
        if (of.state == CellState::certain) out += QStringLiteral("  nothing that is measured depends on it");
        return out;
    }

    SweepPtr r_;
    std::vector<SweepPanel> panels_;
    std::vector<PanelPlace> places_;
    QStringList heading_, said_;
    bool normalized_ = false;
    double limit_ = 0, width_ = 0, height_ = 0;
    QStringList legend_;
    double legend_bar_ = 0, legend_text_ = 0;  ///< left ends
    bool legend_below_ = false;
};

}  // namespace

std::unique_ptr<Figure> sweep_figure(SweepPtr result) {
    if (result->options.effect == intervention::Effect::both) return sweep_scatter(std::move(result));
    return std::make_unique<SweepFigure>(std::move(result));
}

}  // namespace headlight::figure
