// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/table/table_figure.h"
#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "figure/core/wrapped.h"
#include "figure/table/table_layout.h"
#include "headlight/figure/core/fixed_text.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headlight::figure {
namespace {

constexpr std::size_t most_split_rows = 60;  ///< of a section whose columns may stand under each other on the screen too

double right_end(const SectionLayout& at) { return at.x.empty() ? 0 : at.x.back() + at.width.back() + page_margin; }

/// The first rows, and a note that there are more.
TableSection first_rows(const TableSection& of, std::int64_t count) {
    TableSection section = of;
    section.rows.resize(static_cast<std::size_t>(count));
    section.note =
        with_hint(section.note,
                  QStringLiteral("The first %1 of %2 rows.").arg(draw::count_text(count), draw::count_text(std::ssize(of.rows))));
    return section;
}

class TableFigure final : public SceneFigure, public OwnScale {
public:
    explicit TableFigure(TableData data) : data_(std::move(data)) {
        for (TableSection& section : data_.sections) fix_decimals(section);
    }

    std::string view() const override { return data_.view; }
    QString title() const override { return data_.title; }
    QString description() const override { return data_.description; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    std::optional<QRectF> row_of_query(Position p) const override { return row_where(&TableRow::query, p); }
    std::optional<QRectF> row_of_key(Position p) const override { return row_where(&TableRow::key, p); }
    std::vector<ScaleEnds> scale_ends() const override {
        std::vector<ScaleEnds> ends;
        for (const TableSection& section : data_.sections)
            for (const double limit : limits_of(section)) ends.push_back({-limit, limit});
        return ends;
    }
    void widen(const std::vector<ScaleEnds>& ends) override {
        laid_out_.reset();
        auto next = ends.begin();
        for (TableSection& section : data_.sections)
            for (TableColumn& column : section.columns) column.limit = (next++)->high;
    }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    /// The first row that is about the position.
    std::optional<QRectF> row_where(std::optional<Position> TableRow::*is, Position) const;
    QRectF row_box(const SectionLayout& at, std::size_t row) const {
        return {page_margin - 6, at.rows + row_height * double(row), width_ - 2 * page_margin + 12, row_height};
    }
    /// Of a column, with the gap behind it, which belongs to it.
    static QRectF across(const SectionLayout& at, std::size_t c, double top, double height) {
        const double end = c + 1 == at.x.size() ? at.x[c] + at.width[c] + 1 : at.x[c + 1] - 1;
        return {at.x[c] - 1, top, end - at.x[c] + 1, height};
    }
    void draw_section(Scene&, const TableSection&, const SectionLayout&, const QRectF& seen, const Style&,
                      const Selection&) const;
    void draw_heads(Scene&, const TableSection&, const SectionLayout&, double y, const Theme&) const;
    static void draw_cell(Scene&, const TableColumn&, const TableRow&, const TableCell&, const QRectF&, double limit,
                          double zero_at, const Style&);

    const std::vector<TableSection>& sections() const { return split_.empty() ? data_.sections : split_; }
    const std::vector<TableSection>& exported() const { return data_.files.empty() ? data_.sections : data_.files; }

    TableData data_;
    std::vector<TableSection> split_;  ///< the sections where columns of some stand under each other; else empty
    std::vector<SectionLayout> at_;
    std::optional<std::tuple<double, bool, std::int64_t>> laid_out_;  ///< for this width, on screen or in a file, of so many rows
    QSizeF size_;
    double width_ = 0;
};

QSizeF TableFigure::place(QSizeF available, const Style& style, const Selection&) {
    // Other pins lay it out again: a long text has tens of thousands of rows.
    const std::int64_t most = style.exporting ? style.list_rows : 0;
    const std::tuple room(available.width(), style.exporting, most);
    if (laid_out_ == room) return size_;
    laid_out_.reset();
    width_ = std::max(available.width(), 320.0);
    split_.clear();
    const bool narrow_file = style.exporting && width_ < least_page;
    if (narrow_file) {
        double wanted = 0;
        for (const TableSection& section : data_.sections) wanted = std::max(wanted, 2 * page_margin + wanted_width(section));
        width_ = std::clamp(wanted, width_, least_page);
    }
    const auto fits = [&](const TableSection& section) {
        return right_end(lay_out(section, 0, width_, !style.exporting)) <= width_ + 0.5;
    };
    const auto splits = [&](const TableSection& section) {
        return narrow_file || (section.rows.size() <= most_split_rows && !fits(section));
    };
    const auto cut = [&](const TableSection& section) { return most > 0 && std::ssize(section.rows) > most; };
    if (std::ranges::any_of(data_.sections, [&](const TableSection& section) { return splits(section) || cut(section); })) {
        for (const TableSection& section : data_.sections) {
            const TableSection& shown = cut(section) ? first_rows(section, most) : section;
            if (splits(section))
                std::ranges::move(fitted(shown, width_ - 2 * page_margin), std::back_inserter(split_));
            else
                split_.push_back(shown);
        }
    }
    at_.clear();
    double y = 12, right = width_;
    for (const TableSection& section : sections()) {
        at_.push_back(lay_out(section, y, width_, !style.exporting));
        y = at_.back().bottom + 22;
        if (const double end = right_end(at_.back()); end > right + 0.5) right = end;  // not by a rounding error
    }
    width_ = right;
    laid_out_ = room;
    return size_ = {right, y};
}

void TableFigure::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    for (std::size_t s = 0; s < at_.size(); ++s)
        if (at_[s].top < seen.bottom() && at_[s].bottom > seen.top())
            draw_section(out, sections()[s], at_[s], seen, style, selection);
}

/// What the pointer finds on the cells of a row, whatever column it is in.
Hit hit_of(const TableRow& row) {
    return {.kind = !row.click.empty()     ? Hit::Kind::option
                    : row.query && row.key ? Hit::Kind::pair
                    : row.query            ? Hit::Kind::query
                    : row.key              ? Hit::Kind::key
                    : row.head             ? Hit::Kind::head
                    : row.neuron           ? Hit::Kind::dimension
                                           : Hit::Kind::legend,
            .head = row.head,
            .query = row.query,
            .key = row.key,
            .dimension = row.neuron ? row.neuron->neuron.value : -1,
            .neuron = row.neuron,
            .options = row.click};
}

QString tip_of(const TableSection& section, const TableRow& row, std::size_t c) {
    if (!row.tip.isEmpty()) return row.tip;
    const TableColumn& column = section.columns[c];
    const TableCell &cell = row.cells[c], &first = row.cells.front();
    const QString heading = QStringLiteral("  ") + (column.over.isEmpty() ? QString() : column.over + u' ') + column.title;
    QString tip = section.columns.front().kind != ColumnKind::token ? first.text
                  : row.key                                         ? first.label.with_position(*row.key)
                                                                    : first.label.continuation + first.label.text;
    if (has_number(column.kind))
        return tip + heading + u' ' + (std::isfinite(cell.value) ? draw::value_text(cell.value) : QStringLiteral("none"));
    if (!cell.tokens.empty()) tip += heading + u':';
    for (const auto& [label, value] : cell.tokens)
        tip += u' ' + label.continuation + label.text + u' ' + draw::number_text(value, column.decimals);
    return tip;
}

void TableFigure::draw_section(Scene& out, const TableSection& section, const SectionLayout& at, const QRectF& seen,
                               const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    double y = at.top;
    if (!section.title.isEmpty()) {
        out.text({page_margin, y + 19}, draw::elided(section.title, table_title_font(), width_ - 2 * page_margin),
                 table_title_font(), theme.text);
        y += table_title_height;
    }
    for (const QString& line : at.note) out.text({page_margin, (y += 15) - 4}, line, table_note_font(), theme.muted);
    if (section.rows.empty()) out.text({page_margin, at.rows + 15}, section.empty, table_cell_font(), theme.muted);
    const auto first = static_cast<std::int64_t>(std::max(0.0, std::floor((seen.top() - at.rows) / row_height)));
    const auto last =
        std::min(std::ssize(section.rows), static_cast<std::int64_t>(std::ceil((seen.bottom() - at.rows) / row_height)));
    for (std::int64_t r = first; r < last; ++r) {
        style.cancel.throw_if_cancelled();
        const TableRow& row = section.rows[static_cast<std::size_t>(r)];
        const double top = at.rows + row_height * double(r);
        const bool pinned =
            row.query && std::ranges::find(selection.pinned_queries, *row.query) != selection.pinned_queries.end();
        const bool followed = row.marked || (row.neuron && row.neuron == selection.neuron);
        const bool hovered = !style.exporting && ((row.key && row.key == selection.hover_key) ||
                                                  (row.query && !row.key && row.query == selection.hover_query));
        if (pinned || hovered || followed)
            out.box(row_box(at, static_cast<std::size_t>(r)), 4, pinned || followed ? theme.accent_soft : theme.chip);
        const auto of = out.of(row.head);
        for (std::size_t c = 0; c < section.columns.size(); ++c) {
            const TableCell& cell = row.cells[c];
            draw_cell(out, section.columns[c], row, cell, {at.x[c], top, at.width[c], row_height}, at.limit[c], at.zero[c],
                      style);
            Hit hit = hit_of(row);
            if (has_number(section.columns[c].kind) && std::isfinite(cell.value)) hit.value = cell.value;
            out.means(across(at, c, top, row_height), std::move(hit), [&section, &row, c] { return tip_of(section, row, c); });
        }
    }
    if (section.rows.empty()) return;
    // The heads stay in sight while the rows scroll under them.
    const double head =
        style.exporting ? at.header : std::clamp(seen.top(), at.header, std::max(at.header, at.bottom - 3 * row_height));
    draw_heads(out, section, at, head, theme);
}

void TableFigure::draw_heads(Scene& out, const TableSection& section, const SectionLayout& at, double y,
                             const Theme& theme) const {
    const double height = header_height + (at.over ? over_height : 0);
    if (y > at.header) out.box({0, y, width_, height}, 0, theme.canvas);
    for (std::size_t c = 0; c < section.columns.size();) {
        const std::size_t end = end_of_heading(section, c);
        const QString& over = section.columns[c].over;
        if (!over.isEmpty()) {
            const double left = at.x[c], right = at.x[end - 1] + at.width[end - 1];
            // Over what has no heading of this kind it may be wider than its columns.
            const bool alone = (c == 0 || section.columns[c - 1].over.isEmpty()) &&
                               (end == section.columns.size() || section.columns[end].over.isEmpty());
            const double wide = draw::text_width(over, table_head_font());
            const double room = alone ? wide : std::max(40.0, right - left);
            const double middle = std::min((left + right) / 2, width_ - page_margin - std::min(wide, room) / 2);
            out.text({middle, y + 13}, draw::elided(over, table_head_font(), room), table_head_font(), theme.muted,
                     draw::Align::center);
        }
        c = end;
    }
    const double base = y + (at.over ? over_height : 0) + 15;
    double free_from = 0;
    std::size_t strip = 0, step = 1;  // of narrow tinted columns every second, fifth … shows its number
    for (std::size_t c = 0; c < section.columns.size(); ++c) {
        const TableColumn& column = section.columns[c];
        if (in_strip(section, c) && (c == 0 || !in_strip(section, c - 1))) {
            strip = c, step = 1;
            double widest = 0;
            for (std::size_t d = c; d == c || in_strip(section, d - 1); ++d)
                widest = std::max(widest, draw::text_width(section.columns[d].title, table_head_font()));
            for (const std::size_t wider : {2, 5, 10, 20, 50})
                if (double(step) * (at.x[c + 1] - at.x[c]) < widest + 4) step = wider;
        }
        if (c > 0 && in_strip(section, c - 1) && (c - strip) % step != 0) continue;
        const bool left = !has_number(column.kind), middle = !left && column.kind != ColumnKind::number;
        const double x = left ? at.x[c] : middle ? at.x[c] + at.width[c] / 2 : at.x[c] + at.width[c];
        const QString title = heading_of(column);
        const double wide = draw::text_width(title, table_head_font());
        const double begin = left ? x : middle ? x - wide / 2 : x - wide;
        if (begin < free_from) continue;
        free_from = begin + wide + 3;
        out.text({x, base}, title, table_head_font(), column.sorted ? theme.text : theme.muted,
                 left     ? draw::Align::left
                 : middle ? draw::Align::center
                          : draw::Align::right);
    }
    out.line({page_margin, y + height - 3.5}, {width_ - page_margin, y + height - 3.5}, QPen(theme.line, 1));
    for (std::size_t c = 0; c < section.columns.size(); ++c) {
        const TableColumn& column = section.columns[c];
        out.means(
            across(at, c, y, height),
            {.kind = column.click.empty() ? Hit::Kind::legend : Hit::Kind::option, .options = column.click, .tip = column.tip});
    }
}

void TableFigure::draw_cell(Scene& out, const TableColumn& column, const TableRow& row, const TableCell& cell, const QRectF& box,
                            double limit, double zero_at, const Style& style) {
    const Theme& theme = *style.theme;
    const double base = draw::centred_baseline(box.center().y(), table_cell_font());
    const QString number = draw::fixed_text(cell.value, column.decimals);
    switch (column.kind) {
        case ColumnKind::token: {
            double x = box.left();
            if (const auto at = row.key ? row.key : row.query) {
                out.number({x + 28, base}, QString::number(at->value), table_note_font(), theme.muted);
                x += position_room;
            }
            out.token({x, box.top(), box.right() - x, box.height()}, cell.label, table_cell_font(), draw::Align::left);
            break;
        }
        case ColumnKind::text: {
            if (cell.tokens.empty()) {
                out.text({box.left(), base}, draw::elided(cell.text, table_cell_font(), box.width()), table_cell_font(),
                         column.muted || row.quiet ? theme.muted : theme.text);
                break;
            }
            double x = box.left();
            for (const auto& [label, value] : cell.tokens) {
                const QString small = draw::fixed_text(value, column.decimals);
                const double width = draw::token_width(label, table_cell_font()),
                             beside = draw::number_width(small, table_note_font());
                if (x + width + 4 + beside > box.right()) break;
                out.token({x, box.top(), width + 1, box.height()}, label, table_cell_font(), draw::Align::left);
                out.number({x + width + 4, base}, small, table_note_font(), theme.muted, draw::Align::left);
                x += width + beside + 16;
            }
            break;
        }
        case ColumnKind::number: out.number({box.right(), base}, number, table_cell_font(), theme.text); break;
        case ColumnKind::bar: {
            out.number({box.right(), base}, number, table_cell_font(), theme.text);
            if (box.width() < 62 + 12) break;  // the number alone
            const double room = box.width() - 62, zero = box.left() + std::max(1.0, zero_at * room);
            const auto tick = [&](double x, const QPen& pen) { out.line({x, box.top() + 3}, {x, box.bottom() - 3}, pen); };
            tick(zero, QPen(theme.line, 1));
            if (std::isfinite(cell.value) && limit > 0) {
                const double length = std::clamp(cell.value / limit, -1.0, 1.0) * (zero_at == 0.5 ? room / 2 : room - 1);
                const QRectF bar(std::min(zero, zero + length), box.top() + 5, std::abs(length), box.height() - 10);
                out.box(bar, 1.5, row.quiet ? theme.faint : cell.value < 0 ? theme.negative : theme.positive);
                const auto at = [&](double value) {
                    return zero + std::clamp(value / limit, -1.0, 1.0) * (zero_at == 0.5 ? room / 2 : room - 1);
                };
                const double middle = box.center().y();
                if (std::isfinite(cell.low) && std::isfinite(cell.high))
                    out.line({at(cell.low), middle}, {at(cell.high), middle}, QPen(theme.text, 1.25));
                if (std::isfinite(cell.baseline)) tick(at(cell.baseline), QPen(theme.text, 1.5));
            }
            break;
        }
        case ColumnKind::tint:
        case ColumnKind::signed_tint: {
            if (!std::isfinite(cell.value)) break;
            const double t = limit > 0 ? cell.value / limit : 0;
            const QColor fill = column.kind == ColumnKind::tint ? ramp_color(style.ramp, theme, std::clamp(t, 0.0, 1.0))
                                                                : signed_color(theme, std::clamp(t, -1.0, 1.0));
            out.box(box.adjusted(0, 1, 0, -1), box.width() > 16 ? 3 : 0, fill);
            if (draw::number_width(number, table_note_font()) + 4 <= box.width())
                out.number({box.center().x(), draw::centred_baseline(box.center().y(), table_note_font())}, number,
                           table_note_font(), text_on(theme, fill), draw::Align::center);
            break;
        }
    }
}

std::optional<QRectF> TableFigure::row_where(std::optional<Position> TableRow::*is, Position position) const {
    for (std::size_t s = 0; s < at_.size(); ++s) {
        const std::vector<TableRow>& rows = sections()[s].rows;
        const auto found = std::ranges::find_if(rows, [&](const TableRow& row) { return row.*is == position; });
        if (found != rows.end()) return row_box(at_[s], static_cast<std::size_t>(found - rows.begin()));
    }
    return std::nullopt;
}

/// What a file says of a cell that holds no number.
std::string text_of(ColumnKind kind, const TableCell& cell) {
    if (kind == ColumnKind::token) return (cell.label.continuation + cell.label.text).toStdString();
    QString text = cell.text;
    for (const auto& [label, value] : cell.tokens)
        text += (text.isEmpty() ? QString() : QStringLiteral(" ")) + label.continuation + label.text;
    return text.toStdString();
}

Table TableFigure::table() const {
    if (data_.table) return data_.table();
    Table out;
    if (exported().empty()) return out;
    const TableSection& section = exported().front();
    for (const TableColumn& column : section.columns) out.columns.push_back(column.id);
    for (const TableRow& row : section.rows) {
        auto& cells = out.rows.emplace_back();
        for (std::size_t c = 0; c < section.columns.size(); ++c) {
            const TableCell& cell = row.cells[c];
            const ColumnKind kind = section.columns[c].kind;
            if (has_number(kind))
                cells.emplace_back(cell.value);
            else
                cells.emplace_back(text_of(kind, cell));
        }
    }
    return out;
}

std::vector<NamedArray> TableFigure::arrays() const {
    if (data_.arrays) return data_.arrays();
    std::vector<NamedArray> all;
    for (const TableSection& section : exported())
        for (std::size_t c = 0; c < section.columns.size(); ++c) {
            const TableColumn& column = section.columns[c];
            NamedArray a{column.id, {std::ssize(section.rows)}};
            const bool whole = column.decimals == 0 && std::ranges::all_of(section.rows, [c](const TableRow& row) {
                                   return std::isfinite(row.cells[c].value);
                               });
            for (const TableRow& row : section.rows) {
                const TableCell& cell = row.cells[c];
                if (!has_number(column.kind))
                    a.texts.push_back(text_of(column.kind, cell));
                else if (whole)
                    a.integers.push_back(static_cast<std::int64_t>(cell.value));
                else
                    a.values.push_back(static_cast<float>(cell.value));
            }
            all.push_back(std::move(a));
        }
    return all;
}

}  // namespace

TableColumn table_column(ColumnKind kind, const char* id, const char* title, const char* tip, int decimals) {
    return {.kind = kind, .id = id, .title = QString::fromUtf8(title), .tip = QString::fromUtf8(tip), .decimals = decimals};
}

TableData one_section(std::string view, TableSection section) {
    TableData data;
    data.view = std::move(view);
    data.title = section.title;
    data.sections = {std::move(section)};
    return data;
}

std::unique_ptr<Figure> table_figure(TableData data) { return std::make_unique<TableFigure>(std::move(data)); }

}  // namespace headlight::figure
