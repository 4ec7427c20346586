// SPDX-License-Identifier: GPL-3.0-or-later
// All Attention Focus Plots on one page that scrolls, under the text's tokens.
#include "figure/core/saved_state.h"
#include "figure/core/wrapped.h"
#include "figure/focus/focus_plots.h"

#include <algorithm>

namespace headlight::figure {
namespace {

constexpr double strip_top = 46, chip_height = 24, chip_gap = 4, two_columns_from = 1040, least_on_paper = 240;
constexpr int most_chip_rows = 3;

class FocusPage : public Figure {
public:
    FocusPage(TokenLabels labels, std::vector<std::unique_ptr<Figure>> figures, std::int64_t texts)
        : labels_(std::move(labels)), figures_(std::move(figures)), texts_(texts) {}

    std::string view() const override { return "focus"; }
    QString title() const override { return QStringLiteral("Attention focus plots"); }
    QString description() const override {
        return QStringLiteral(
            "Ten plots of the focus of heads and of their effect: 1 to 3 show the chosen head (its scores, their terms, bias "
            "against position), 4 to 6 compare all heads by the place of their largest weight, 7 to 10 show the updates that "
            "the heads of the chosen layer write to the stream. A head or token hovered or clicked in one plot stands out in "
            "all. Rene Claus, “Attention Focus Plots”, 2023.");
    }
    bool refining() const override {
        return std::ranges::any_of(figures_, [](const auto& f) { return f->refining(); });
    }
    Sharpening sharpening() override {
        for (const auto& figure : figures_)
            if (Sharpening work = figure->sharpening()) return work;
        return {};
    }

    QSizeF layout(QSizeF available, const Style& style, const Selection& selection) override {
        const double width = std::max(240.0, available.width());
        lay_out_strip(width);
        if (width != size_.width()) columns_ = 0;
        double y = arrange(width, width >= two_columns_from ? 2 : 1, 330, style, selection);
        // On paper more of them stand beside each other, and lower.
        for (std::size_t columns = 1; style.exporting && available.height() > 0 && y > available.height(); ++columns) {
            if (width / static_cast<double>(columns) < least_on_paper) break;
            y = arrange(width, columns, 220, style, selection);
        }
        size_ = QSizeF(width, std::ceil(y));
        return size_;
    }

    void paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const override {
        const draw::SavedState saved(painter);
        painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
        const QRectF seen = draw::on_target(painter, exposed);
        if (seen.top() <= strip_bottom_) paint_strip(painter, style, selection);
        const QFont small = ui_font(11);
        for (std::size_t i = 0; i < figures_.size(); ++i) {
            const QRectF& place = places_[i];
            if (!place.intersects(seen)) continue;
            painter.setPen(draw::hairline(style.theme->line, style));
            painter.drawLine(place.topLeft() + QPointF(page_margin, 0), place.topRight() - QPointF(page_margin, 0));
            {
                const draw::SavedState moved(painter);
                painter.translate(place.topLeft());
                figures_[i]->paint(painter, QRectF(QPointF(0, 0), place.size()), style, selection);
            }
            draw::text(painter, place.topRight() + QPointF(-page_margin, 18), QString::fromStdString(figures_[i]->view()), small,
                       style.theme->muted, draw::Align::right);
        }
    }

    Hit hit_test(QPointF point, const Style& style, const Selection& selection) const override {
        for (std::size_t c = 0; c < chips_.size(); ++c)
            if (chips_[c].contains(point)) {
                Hit hit;
                hit.kind = Hit::Kind::query;
                hit.query = Position(static_cast<std::int64_t>(c));
                hit.tip = labels_[c].with_position(*hit.query);
                hit.area = chips_[c];
                return hit;
            }
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (!places_[i].contains(point)) continue;
            Hit hit = figures_[i]->hit_test(point - places_[i].topLeft(), style, selection);
            hit.area.translate(places_[i].topLeft());
            return hit;
        }
        return {};
    }

    std::optional<QRectF> brush_area(QPointF point) const override {
        for (std::size_t i = 0; i < places_.size(); ++i)
            if (places_[i].contains(point))
                if (const auto area = figures_[i]->brush_area(point - places_[i].topLeft()))
                    return area->translated(places_[i].topLeft());
        return std::nullopt;
    }
    std::vector<HeadId> heads_in(const QPolygonF& area) const override {
        for (std::size_t i = 0; i < places_.size(); ++i)  // a rectangle stays inside the plot it was begun in
            if (places_[i].contains(area.boundingRect().center()))
                return figures_[i]->heads_in(area.translated(-places_[i].topLeft()));
        return {};
    }

    /// The tables under each other: one column for each name, empty where a figure has none of it.
    Table table() const override {
        Table out{{"figure"}, {}};
        for (const auto& figure : figures_) {
            const Table part = figure->table();
            std::vector<std::size_t> at;
            for (const std::string& column : part.columns) {
                const auto found = std::find(out.columns.begin(), out.columns.end(), column);
                at.push_back(static_cast<std::size_t>(found - out.columns.begin()));
                if (found == out.columns.end()) out.columns.push_back(column);
            }
            for (const auto& row : part.rows) {
                auto& to = out.rows.emplace_back(out.columns.size());
                to[0] = figure->view();
                for (std::size_t c = 0; c < row.size(); ++c) to[at[c]] = row[c];
            }
        }
        for (auto& row : out.rows) row.resize(out.columns.size());
        return out;
    }
    std::vector<NamedArray> arrays() const override {
        std::vector<NamedArray> out;
        for (const auto& figure : figures_)
            for (NamedArray& array : figure->arrays()) {
                array.name = figure->view() + "_" + array.name;
                out.push_back(std::move(array));
            }
        return out;
    }

private:
    /// Where the figures stand; returns the end. Their heights depend on the width alone, but for the first's.
    double arrange(double width, std::size_t columns, double lowest, const Style& style, const Selection& selection) {
        const double each = std::floor(width / static_cast<double>(columns));
        double y = strip_bottom_ + 8;
        places_.clear();
        if (columns != columns_ || lowest != lowest_) heights_.assign(figures_.size(), 0);
        columns_ = columns, lowest_ = lowest;
        for (std::size_t begin = 0; begin < figures_.size(); begin += columns) {
            const std::size_t end = std::min(begin + columns, figures_.size());
            const auto wanted = [&](std::size_t i) {
                return std::clamp(each * (i == 0 ? 0.9 : 0.66), lowest, i == 0 ? 620.0 : 440.0);
            };
            double height = 0;
            for (std::size_t i = begin; i < end; ++i) {
                // One is laid out again only for another size.
                if (i == 0 || heights_[i] == 0) heights_[i] = figures_[i]->layout({each, wanted(i)}, style, selection).height();
                height = std::max(height, heights_[i]);
            }
            for (std::size_t i = begin; i < end; ++i) {
                // Neighbours are equally tall.
                figures_[i]->layout({each, height}, style, selection);
                places_.emplace_back(static_cast<double>(i - begin) * each, y, each, height);
            }
            y += height + 12;
        }
        return y;
    }

    static QFont chip_font() { return ui_font(12); }

    void lay_out_strip(double width) {
        chips_.clear();
        double x = page_margin, y = strip_top;
        int row = 0;
        const double room = width - page_margin, more = draw::text_width(QStringLiteral("… 10,000 more"), chip_font()) + 12;
        for (const draw::Label& label : labels_) {
            const double w = std::min(draw::token_width(label, chip_font()) + 12, room - page_margin);
            if (x + w > room - (row + 1 == most_chip_rows ? more : 0)) {
                if (row + 1 == most_chip_rows) break;
                ++row;
                x = page_margin, y += chip_height + chip_gap;
            }
            chips_.emplace_back(x, y, w, chip_height);
            x += w + chip_gap;
        }
        more_at_ = QPointF(x + 4, y);
        strip_bottom_ = y + chip_height + 8;
    }

    void paint_strip(QPainter& painter, const Style& style, const Selection& selection) const {
        const Theme& theme = *style.theme;
        const QFont heading = ui_font(15, QFont::DemiBold);
        draw::text(painter, {page_margin, 32}, title(), heading, theme.text);
        if (texts_ > 1) {
            const double x = page_margin + draw::text_width(title(), heading) + 14;
            const QString words = QStringLiteral("1 to 3 of the first of %1 texts, 4 to 10 of all").arg(draw::count_text(texts_));
            draw::text(painter, {x, 32}, draw::elided(words, ui_font(12), size_.width() - page_margin - x), ui_font(12),
                       theme.muted);
        }
        const auto& pins = selection.pinned_queries;
        std::int64_t query = pins.empty() ? -1 : pins.back().value;
        if (!style.exporting && selection.hover_query) query = selection.hover_query->value;
        for (std::size_t c = 0; c < chips_.size(); ++c) {
            const bool on = query == static_cast<std::int64_t>(c);
            draw::box(painter, chips_[c], 5, on ? theme.accent_soft : theme.chip, on ? theme.accent : QColor());
            draw::token(painter, chips_[c].adjusted(6, 0, -5, 0), labels_[c], chip_font(), theme, draw::Align::left,
                        on ? theme.accent : QColor());
        }
        if (const auto left = labels_.size() - chips_.size(); left > 0)
            draw::text(painter, {more_at_.x(), draw::centred_baseline(more_at_.y() + chip_height / 2, chip_font())},
                       QStringLiteral("… %1 more").arg(draw::count_text(static_cast<std::int64_t>(left))), chip_font(),
                       theme.muted);
    }

    TokenLabels labels_;
    std::vector<std::unique_ptr<Figure>> figures_;
    std::vector<QRectF> chips_, places_;
    QPointF more_at_;
    double strip_bottom_ = 0;
    std::int64_t texts_ = 1;
    std::size_t columns_ = 0;  ///< that heights_ are of; 0: of none
    double lowest_ = 0;
    std::vector<double> heights_;  ///< [figure] that it would have without neighbours
    QSizeF size_;
};

}  // namespace

std::unique_ptr<Figure> focus_page(TokenLabels labels, std::vector<std::unique_ptr<Figure>> figures, std::int64_t texts) {
    return std::make_unique<FocusPage>(std::move(labels), std::move(figures), texts);
}

}  // namespace headlight::figure
