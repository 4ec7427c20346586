// SPDX-License-Identifier: GPL-3.0-or-later
// Where the columns and rows of a table's sections stand.
#pragma once

#include "figure/table/table_figure.h"

namespace headlight::figure {

inline constexpr double row_height = 22, header_height = 24, over_height = 18, table_title_height = 30;
inline constexpr double position_room = 38;  ///< before a token that has a position

inline const QFont& table_cell_font() { return ui_font(12.5); }
inline const QFont& table_head_font() { return ui_font(11, QFont::DemiBold); }
inline const QFont& table_title_font() { return ui_font(14, QFont::DemiBold); }
inline const QFont& table_note_font() { return ui_font(11); }

inline bool has_number(ColumnKind kind) { return kind != ColumnKind::token && kind != ColumnKind::text; }
/// "|m| · |v| ▾"
QString heading_of(const TableColumn&);
/// Tinted cells beside each other are a strip.
bool in_strip(const TableSection&, std::size_t column);
/// Behind the last column that stands under the same heading as this one.
std::size_t end_of_heading(const TableSection&, std::size_t column);

/// A note and what a click does; a note that is no sentence ends at a dot in the middle.
QString with_hint(const QString& note, const QString& hint);

struct SectionLayout {
    double top = 0, header = 0, rows = 0, bottom = 0;  ///< y of title, column heads, first row, end
    std::vector<double> x, width;
    std::vector<double> limit;    ///< of bars and tints
    std::vector<double> zero;     ///< bars: where it stands in their room, 0 left, 1 right
    std::vector<bool> stretched;  ///< texts
    QStringList note;
    bool over = false;
};
/// Of each column's bars and tints: the largest absolute value, of columns of a group together; or as the column says.
std::vector<double> limits_of(const TableSection&);
/// Of a page of this width, from `top`; wider than it where the columns need more.
SectionLayout lay_out(const TableSection&, double top, double width, bool hinted);
/// The width that a section would like to have, without the margins.
double wanted_width(const TableSection&);
/// The section as it is, or in parts of about one width that fit: each repeats the labels in front, and columns under one
/// heading stay together.
std::vector<TableSection> fitted(const TableSection&, double room);
/// Gives columns of one quantity as many decimals as the largest of its numbers needs.
void fix_decimals(TableSection&);

}  // namespace headlight::figure
