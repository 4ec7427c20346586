// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/table/table_layout.h"
#include "figure/core/wrapped.h"
#include "headlight/figure/core/fixed_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headlight::figure {
namespace {

constexpr double column_gap = 10;
constexpr double bar_room = 90, most_off_bar = 50;  ///< beside a number; cells that need the room take this much of it first
constexpr double least_word = 70, least_cell = 12, least_list = 120;  ///< of tokens, tinted cells and texts
constexpr double least_tint = 3, least_of_few = 10;  ///< width of a tinted cell and its gap, of many or of few layers
constexpr std::size_t few_tints = 16;
constexpr std::size_t most_measured = 256;  ///< rows; more of them would hold the window up

/// Columns with one scale.
bool in_group(const TableColumn& a, const TableColumn& b) { return a.group >= 0 && a.group == b.group; }

/// Of each column, columns of a group together: the largest absolute value.
std::vector<double> largest_of(const TableSection& section) {
    const std::size_t n = section.columns.size();
    std::vector<double> own(n, 0);
    for (std::size_t c = 0; c < n; ++c)
        for (const TableRow& row : section.rows)
            for (const double v : {row.cells[c].value, row.cells[c].low, row.cells[c].high, row.cells[c].baseline})
                if (std::isfinite(v)) own[c] = std::max(own[c], std::abs(v));
    std::vector<double> largest = own;
    for (std::size_t c = 0; c < n; ++c)
        for (std::size_t d = 0; d < n; ++d)
            if (in_group(section.columns[c], section.columns[d])) largest[c] = std::max(largest[c], own[d]);
    return largest;
}

bool any_cell(const TableSection& section, std::size_t c, const std::function<bool(const TableCell&)>& holds) {
    return std::ranges::any_of(section.rows, [&](const TableRow& row) { return holds(row.cells[c]); });
}

/// Rows whose cells of a column are measured: all of them, or of a long table those that can be the widest, by letters and by
/// size.
std::vector<const TableRow*> rows_to_measure(const TableSection& section, std::size_t c) {
    std::vector<const TableRow*> rows;
    for (const TableRow& row : section.rows) rows.push_back(&row);
    if (rows.size() <= most_measured) return rows;
    const auto first = [&](const auto& length) {
        std::ranges::nth_element(rows, rows.begin() + most_measured / 2, std::greater<>(), length);
        return std::vector<const TableRow*>(rows.begin(), rows.begin() + most_measured / 2);
    };
    if (has_number(section.columns[c].kind)) {
        const auto size = [c](double sign) {
            return [c, sign](const TableRow* row) {
                const double value = row->cells[c].value;
                return std::isfinite(value) ? sign * value : -std::numeric_limits<double>::infinity();
            };
        };
        std::vector<const TableRow*> widest = first(size(1));
        const std::vector<const TableRow*> lowest = first(size(-1));
        widest.insert(widest.end(), lowest.begin(), lowest.end());
        return widest;
    }
    return first([c](const TableRow* row) {
        const TableCell& cell = row->cells[c];
        return cell.text.size() + cell.label.text.size() + cell.label.continuation.size();
    });
}

/// What a column needs: its head and its longest content.
double wanted_width(const TableSection& section, std::size_t c) {
    const TableColumn& column = section.columns[c];
    double width = draw::text_width(heading_of(column), table_head_font());
    for (const TableRow* row : rows_to_measure(section, c)) {
        const TableCell& cell = row->cells[c];
        if (column.kind == ColumnKind::token)
            width =
                std::max(width, draw::token_width(cell.label, table_cell_font()) + (row->key || row->query ? position_room : 0));
        else if (column.kind == ColumnKind::text && cell.tokens.empty())
            width = std::max(width, draw::text_width(cell.text, table_cell_font()));
        else if (has_number(column.kind) && std::isfinite(cell.value))
            width = std::max(width, draw::number_width(draw::fixed_text(cell.value, column.decimals), table_cell_font()));
    }
    switch (column.kind) {
        case ColumnKind::token:
        case ColumnKind::text: return std::min(width, 180.0);
        case ColumnKind::number: return width;
        case ColumnKind::bar: return std::max(width, 56.0) + bar_room;
        case ColumnKind::tint:
        case ColumnKind::signed_tint: return std::max(width + 6, 30.0);
    }
    return width;
}

/// Of every column; tinted cells of one quantity are equally wide.
std::vector<double> wanted_widths(const TableSection& section) {
    const auto same = [](const TableColumn& a, const TableColumn& b) {
        return a.kind == ColumnKind::tint && b.kind == ColumnKind::tint && in_group(a, b);
    };
    std::vector<double> own;
    for (std::size_t c = 0; c < section.columns.size(); ++c) own.push_back(wanted_width(section, c));
    std::vector<double> widths = own;
    for (std::size_t c = 0; c < own.size(); ++c)
        for (std::size_t d = 0; d < own.size(); ++d)
            if (same(section.columns[c], section.columns[d])) widths[c] = std::max(widths[c], own[d]);
    return widths;
}

/// How narrow a column can be.
double least_width(const TableSection& section, std::size_t c, double wanted) {
    switch (section.columns[c].kind) {
        case ColumnKind::token: {
            const bool positions = std::ranges::any_of(section.rows, [](const TableRow& row) { return row.key || row.query; });
            return std::min(wanted, least_word + (positions ? position_room : 0));
        }
        case ColumnKind::text: return std::min(wanted, least_word);
        case ColumnKind::bar: return wanted - bar_room;
        case ColumnKind::tint: return least_cell;
        case ColumnKind::number:
        case ColumnKind::signed_tint: break;
    }
    return wanted;
}

TableSection with_columns(const TableSection& section, const std::vector<std::size_t>& columns) {
    TableSection part;
    for (const std::size_t c : columns) part.columns.push_back(section.columns[c]);
    for (const TableRow& row : section.rows) {
        TableRow& out = part.rows.emplace_back(row);
        out.cells.clear();
        for (const std::size_t c : columns) out.cells.push_back(row.cells[c]);
    }
    return part;
}

/// Texts and lists of tokens that share the room that is left.
bool is_stretched(const TableSection& section, std::size_t c) {
    return section.columns[c].stretched || any_cell(section, c, [](const TableCell& cell) { return !cell.tokens.empty(); });
}

/// Between a column and the next one; a number stands apart from that of a bar.
double gap_behind(const TableSection& section, std::size_t c) {
    if (c + 1 >= section.columns.size()) return 0;
    const ColumnKind kind = section.columns[c].kind, next = section.columns[c + 1].kind;
    if (in_strip(section, c)) return 2;
    return kind == ColumnKind::bar && next == ColumnKind::number ? column_gap + 10 : column_gap;
}

}  // namespace

std::vector<double> limits_of(const TableSection& section) {
    std::vector<double> limits = largest_of(section);
    for (std::size_t c = 0; c < limits.size(); ++c)
        if (const double limit = section.columns[c].limit; limit > 0) limits[c] = limit;
    return limits;
}

QString heading_of(const TableColumn& column) { return column.title + (column.sorted ? QStringLiteral(" ▾") : QString()); }

bool in_strip(const TableSection& section, std::size_t c) {
    return c + 1 < section.columns.size() && section.columns[c].kind == ColumnKind::tint &&
           section.columns[c + 1].kind == ColumnKind::tint;
}

std::size_t end_of_heading(const TableSection& section, std::size_t c) {
    const QString& over = section.columns[c].over;
    std::size_t end = c + 1;
    while (end < section.columns.size() && !over.isEmpty() && section.columns[end].over == over) ++end;
    return end;
}

double wanted_width(const TableSection& section) {
    const std::vector<double> widths = wanted_widths(section);
    double sum = 0;
    for (std::size_t c = 0; c < widths.size(); ++c) sum += widths[c] + gap_behind(section, c);
    return sum;
}

void fix_decimals(TableSection& section) {
    const std::vector<double> largest = largest_of(section);
    for (std::size_t c = 0; c < largest.size(); ++c) {
        TableColumn& column = section.columns[c];
        if (!has_number(column.kind) || column.decimals == 0 || column.limit > 0) continue;  // whole numbers, a given scale
        column.decimals = draw::decimals_for(largest[c], column.decimals);
    }
}

QString with_hint(const QString& note, const QString& hint) {
    if (note.isEmpty() || hint.isEmpty()) return note + hint;
    return note + (note.endsWith(u'.') || note.endsWith(u'?') ? QStringLiteral(" ") : QStringLiteral(" · ")) + hint;
}

SectionLayout lay_out(const TableSection& section, double top, double width, bool hinted) {
    SectionLayout at;
    at.top = top;
    const double room = width - 2 * page_margin;
    at.note = wrapped(hinted ? with_hint(section.note, section.hint) : section.note, table_note_font(), room);
    at.header =
        top + (section.title.isEmpty() ? 0 : table_title_height) + 15.0 * double(at.note.size()) + (at.note.empty() ? 0 : 6);
    at.over = std::ranges::any_of(section.columns, [](const TableColumn& column) { return !column.over.isEmpty(); });
    at.rows = at.header + header_height + (at.over ? over_height : 0);
    at.bottom = at.rows + row_height * double(std::max<std::size_t>(1, section.rows.size()));
    at.limit = limits_of(section);

    const std::size_t n = section.columns.size();
    double fixed = 0;
    for (std::size_t c = 0; c < n; ++c) fixed += gap_behind(section, c);
    for (std::size_t c = 0; c < n; ++c) at.stretched.push_back(is_stretched(section, c));
    for (std::size_t c = 0; c < n; ++c) {
        bool below = false, above = false;
        for (std::size_t d = 0; d < n; ++d) {  // columns with one scale have one zero
            if (d != c && !in_group(section.columns[c], section.columns[d])) continue;
            below |= any_cell(section, d, [](const TableCell& cell) { return cell.value < 0; });
            above |= any_cell(section, d, [](const TableCell& cell) { return cell.value > 0; });
        }
        at.zero.push_back(!below ? 0 : above ? 0.5 : 1);
    }
    at.width = wanted_widths(section);
    std::size_t texts = 0;
    for (std::size_t c = 0; c < n; ++c) {
        texts += at.stretched[c];
        if (!at.stretched[c]) fixed += at.width[c];
    }
    // Lists of tokens share what is left. What is missing comes first off bars, then off tinted cells and labels; at last bars
    // are numbers alone.
    double over = fixed + least_list * double(texts) - room;
    const auto narrow = [&](std::initializer_list<ColumnKind> kinds, auto least) {
        double spare = 0;
        const auto gives = [&](std::size_t c) {
            const bool is = std::ranges::find(kinds, section.columns[c].kind) != kinds.end() && !at.stretched[c];
            return is ? std::max(0.0, at.width[c] - least(c)) : 0.0;
        };
        for (std::size_t c = 0; c < n; ++c) spare += gives(c);
        const double share = spare > 0 ? std::clamp(over / spare, 0.0, 1.0) : 0;
        for (std::size_t c = 0; c < n; ++c) at.width[c] -= share * gives(c);
        over -= share * spare;
    };
    narrow({ColumnKind::bar}, [&, wanted = at.width](std::size_t c) { return wanted[c] - most_off_bar; });
    narrow({ColumnKind::tint}, [](std::size_t) { return least_cell; });
    narrow({ColumnKind::token, ColumnKind::text},
           [&, wanted = at.width](std::size_t c) { return least_width(section, c, wanted[c]); });
    narrow({ColumnKind::bar}, [&, wanted = at.width](std::size_t c) { return wanted[c] - (bar_room - most_off_bar); });
    // Tinted cells give way last, and in strips of many layers most.
    double tint_gap = 2;
    const auto tints = static_cast<std::size_t>(
        std::ranges::count_if(section.columns, [](const TableColumn& column) { return column.kind == ColumnKind::tint; }));
    if (over > 0 && tints > 0) {
        double strip = -tint_gap;  // none after the last one
        for (std::size_t c = 0; c < n; ++c)
            if (section.columns[c].kind == ColumnKind::tint) strip += at.width[c] + tint_gap;
        const double least = tints > few_tints ? least_tint : least_of_few;  // few layers scroll before they lose their numbers
        const double pitch = std::max(least, (strip - over) / double(tints));
        tint_gap = pitch >= 10 ? 2 : pitch >= 5 ? 1 : 0;
        for (std::size_t c = 0; c < n; ++c)
            if (section.columns[c].kind == ColumnKind::tint) at.width[c] = pitch - tint_gap;
    }
    double left = room;
    for (std::size_t c = 0; c < n; ++c)
        left -= (in_strip(section, c) ? tint_gap : gap_behind(section, c)) + (at.stretched[c] ? 0 : at.width[c]);
    for (std::size_t c = 0; c < n; ++c)
        if (at.stretched[c]) at.width[c] = std::max(least_list, left / double(texts));
    double x = page_margin;
    for (std::size_t c = 0; c < n; ++c) {
        at.x.push_back(x);
        x += at.width[c] + (in_strip(section, c) ? tint_gap : gap_behind(section, c));
    }
    return at;
}

std::vector<TableSection> fitted(const TableSection& section, double room) {
    const std::size_t n = section.columns.size();
    std::vector<double> least(n);
    double sum = 0;
    for (std::size_t c = 0; c < n; ++c) {
        least[c] =
            (is_stretched(section, c) ? least_list : least_width(section, c, wanted_width(section, c))) + gap_behind(section, c);
        sum += least[c];
    }
    if (sum <= room || n < 3) return {section};
    std::vector<std::size_t> labels{0};
    if (!has_number(section.columns[1].kind) && !is_stretched(section, 1)) labels.push_back(1);
    double front = 0;
    for (const std::size_t c : labels) front += least[c];
    const double most = std::max(room - front, 1.0), count = std::ceil((sum - front) / most);
    const double share = std::min(room, front + 1.15 * (sum - front) / count);
    std::vector<std::vector<std::size_t>> parts(1, labels);
    double used = front;
    for (std::size_t c = labels.size(); c < n;) {
        const std::size_t end = end_of_heading(section, c);
        double together = 0;
        for (std::size_t d = c; d < end; ++d) together += least[d];
        if (used + together > share && parts.back().size() > labels.size()) {
            parts.push_back(labels);
            used = front;
        }
        for (; c < end; ++c) parts.back().push_back(c);
        used += together;
    }
    std::vector<TableSection> out;
    for (const std::vector<std::size_t>& columns : parts) out.push_back(with_columns(section, columns));
    out.front().title = section.title;
    out.front().note = section.note;
    for (TableSection& part : out) part.empty = section.empty;
    return out;
}

}  // namespace headlight::figure
