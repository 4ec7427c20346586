// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/table/grid_figure.h"

#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "figure/core/wrapped.h"
#include "figure/table/table_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double most_cell = 32, least_square = 7, grid_label_gap = 6, most_label = 120, grid_scale_width = 150,
                 grid_scale_height = 46;

const QFont& grid_font() { return ui_font(10.5); }

class GridFigure final : public SceneFigure, public OwnScale {
public:
    explicit GridFigure(GridData data) : data_(std::move(data)) {}

    std::string view() const override { return data_.view; }
    QString title() const override { return data_.title; }
    QString description() const override { return data_.description; }
    Table table() const override { return data_.table ? data_.table() : Table(); }
    std::vector<NamedArray> arrays() const override { return data_.arrays ? data_.arrays() : std::vector<NamedArray>(); }
    std::vector<ScaleEnds> scale_ends() const override { return {{data_.is_signed ? -data_.limit : 0, data_.limit}}; }
    void widen(const std::vector<ScaleEnds>& ends) override { data_.limit = ends.front().high; }

protected:
    QSizeF place(QSizeF available, const Style& style, const Selection&) override {
        const double width = std::max(available.width(), 280.0);
        note_ =
            wrapped(style.exporting ? data_.note : with_hint(data_.note, data_.hint), table_note_font(), width - 2 * page_margin);
        const auto widths = [](const std::vector<QString>& names) {
            std::vector<double> out;
            for (const QString& name : names) out.push_back(draw::text_width(name, grid_font()));
            return out;
        };
        const std::vector<double> row_widths = widths(data_.rows), column_widths = widths(data_.columns);
        const double widest = row_widths.empty() ? 0 : *std::ranges::max_element(row_widths);
        const double left =
            page_margin +
            std::min(most_label, std::max(widest, draw::text_width(data_.row_word + QStringLiteral("  ↓"), grid_font()))) +
            grid_label_gap;
        const auto columns = static_cast<double>(std::max<std::size_t>(data_.columns.size(), 1));
        cell_ = std::clamp(std::floor((width - left - page_margin) / columns), least_square, most_cell);
        column_fit_ = draw::fit_columns(column_widths, cell_, 13, most_label);
        row_fit_ = draw::fit_rows(row_widths, cell_, 13, most_label);
        const double top =
            12 + table_title_height + 15 * static_cast<double>(note_.size()) + 8 + 16 + column_fit_.extent + grid_label_gap;
        cells_ = {left, top, cell_ * columns, cell_ * static_cast<double>(data_.rows.size())};
        numbers_fit_ = !data_.numbers.empty() && std::ranges::all_of(data_.numbers, [&](const QString& number) {
            return draw::number_width(number, grid_font()) + 4 <= cell_;
        });
        size_ = {std::max(width, cells_.right() + page_margin), cells_.bottom() + 14 + grid_scale_height};
        return size_;
    }

    void draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection&) const override {
        const Theme& theme = *style.theme;
        double y = 12;
        out.text({page_margin, y + 19}, draw::elided(data_.title, table_title_font(), size_.width() - 2 * page_margin),
                 table_title_font(), theme.text);
        y += table_title_height;
        for (const QString& line : note_) out.text({page_margin, (y += 15) - 4}, line, table_note_font(), theme.muted);
        draw_names(out, y + 8, theme);
        const double gap = cell_ >= 18 ? 1.5 : cell_ >= 10 ? 1 : 0.5;
        for (std::size_t r = 0; r < data_.rows.size(); ++r) {
            style.cancel.throw_if_cancelled();
            for (std::size_t c = 0; c < data_.columns.size(); ++c) {
                const QRectF box = cell(r, c).adjusted(0, 0, -gap, -gap);
                const double value = data_.values[index(r, c)];
                if (!std::isfinite(value) || !box.intersects(seen)) continue;
                const double t = data_.limit > 0 ? value / data_.limit : 0;
                const QColor fill = color(t, style);
                out.box(box, cell_ >= 18 ? 2 : 0, fill, cell_ >= 10 ? theme.line : QColor(), 0.5);
                if (numbers_fit_)
                    out.number({box.center().x(), draw::centred_baseline(box.center().y(), grid_font())},
                               data_.numbers[index(r, c)], grid_font(), text_on(theme, fill), draw::Align::center);
            }
        }
        if (data_.chosen && data_.chosen->first < data_.rows.size() && data_.chosen->second < data_.columns.size())
            out.box(cell(data_.chosen->first, data_.chosen->second).adjusted(-1, -1, 1 - gap, 1 - gap), 3, {}, theme.accent, 2);
        const QRectF bar(cells_.left(), cells_.bottom() + 14, std::min(grid_scale_width, size_.width() - cells_.left() - 80), 8);
        if (data_.is_signed)
            out.signed_bar(bar, data_.limit, theme);
        else
            out.ramp_bar(bar, style, {QStringLiteral("0"), draw::number_text(data_.limit, 2)});
        out.text({bar.left(), bar.bottom() + (data_.is_signed ? 32 : 24)}, data_.value_word, grid_font(), theme.muted);
        if (data_.hit)
            out.means(cells_, std::ssize(data_.rows), std::ssize(data_.columns), [this](std::int64_t r, std::int64_t c) {
                return data_.hit(static_cast<std::size_t>(r), static_cast<std::size_t>(c));
            });
    }

private:
    std::size_t index(std::size_t row, std::size_t column) const { return row * data_.columns.size() + column; }
    QRectF cell(std::size_t row, std::size_t column) const {
        return {cells_.left() + cell_ * static_cast<double>(column), cells_.top() + cell_ * static_cast<double>(row), cell_,
                cell_};
    }
    QColor color(double t, const Style& style) const {
        return data_.is_signed ? signed_color(*style.theme, std::clamp(t, -1.0, 1.0))
                               : ramp_color(style.ramp, *style.theme, std::clamp(t, 0.0, 1.0));
    }

    void draw_names(Scene& out, double top, const Theme& theme) const {
        out.text({cells_.left() - grid_label_gap, cells_.top() - grid_label_gap}, data_.row_word + QStringLiteral("  ↓"),
                 grid_font(), theme.muted, draw::Align::right);
        out.text({cells_.left(), top + 11}, data_.column_word + QStringLiteral("  →"), grid_font(), theme.muted);
        for (std::size_t c = 0; c < data_.columns.size(); c += static_cast<std::size_t>(column_fit_.stride)) {
            const QRectF at = cell(0, c);
            const draw::Label label{.continuation = {}, .text = data_.columns[c]};
            if (column_fit_.upwards)
                out.token_upwards({at.left(), at.top() - grid_label_gap - column_fit_.extent, at.width(), column_fit_.extent},
                                  label, grid_font(), theme.muted);
            else
                out.text({at.center().x(), at.top() - grid_label_gap}, data_.columns[c], grid_font(), theme.muted,
                         draw::Align::center);
        }
        for (std::size_t r = 0; r < data_.rows.size(); r += static_cast<std::size_t>(row_fit_.stride)) {
            const QRectF at = cell(r, 0);
            out.text({at.left() - grid_label_gap, draw::centred_baseline(at.center().y(), grid_font())},
                     draw::elided(data_.rows[r], grid_font(), most_label), grid_font(), theme.muted, draw::Align::right);
        }
    }

    GridData data_;
    QStringList note_;
    QRectF cells_;
    QSizeF size_;
    double cell_ = most_cell;
    bool numbers_fit_ = false;
    draw::AxisFit column_fit_, row_fit_;
};

}  // namespace

std::unique_ptr<Figure> grid_figure(GridData data) { return std::make_unique<GridFigure>(std::move(data)); }

}  // namespace headlight::figure
