// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of tokens and numbers as a figure: sections of rows with bars and tinted cells. table_figure() turns plain data
// into a figure, so that a new table is only data.
#pragma once

#include "figure/core/draw.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/core/figure.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace headlight::figure {

enum class ColumnKind {
    token,  ///< a label, after its position where the row has one
    text,   ///< columns with lists of tokens share the room that is left; others are as wide as their texts
    number,
    bar,         ///< to the right, negative ones to the left; from the middle where there are any; the number beside it
    tint,        ///< the style's ramp from 0 to the column group's largest value
    signed_tint  ///< the signed scale from -limit to limit
};

struct TableColumn {
    ColumnKind kind = ColumnKind::text;
    std::string id{};        ///< column of the export
    QString title{}, tip{};  ///< tip: what the column is
    int decimals = 3;
    double limit = 0;        ///< of bars and tints; 0: the largest absolute value of the columns with this group
    int group = -1;          ///< columns that share one scale; -1: its own
    QString over{};          ///< heading over neighbouring columns of the same text
    bool stretched = false;  ///< a text that shares the room that is left, as lists of tokens do
    bool muted = false;      ///< a text in the quiet colour
    bool sorted = false;     ///< the rows are in its order
    std::vector<std::pair<std::string, std::string>> click{};  ///< the view's options that a click on its head sets
};
TableColumn table_column(ColumnKind, const char* id, const char* title, const char* tip = "", int decimals = 3);

struct TableCell {
    draw::Label label{};                                   ///< token
    QString text{};                                        ///< text
    std::vector<std::pair<draw::Label, double>> tokens{};  ///< text: labels with a number behind each, instead of `text`
    double value = 0;                                      ///< the others; NaN: a gap
    double low = kNaN, high = kNaN;                        ///< bar: an interval, drawn over it; NaN: none
    double baseline = kNaN;                                ///< bar: what to compare it with, a tick; NaN: none
    static TableCell of(double v) { return {.value = v}; }
    static TableCell of(QString t) { return {.text = std::move(t)}; }
    static TableCell of(draw::Label l) { return {.label = std::move(l)}; }
};

struct TableRow {
    std::vector<TableCell> cells;
    std::optional<Position> query, key;  ///< what hovering and clicking the row is about
    std::optional<HeadId> head;
    std::optional<analyze::NeuronId> neuron{};                 ///< followed after a click
    bool marked = false;                                       ///< on the background of a chosen row
    bool quiet = false;                                        ///< texts and bars in the quiet colour
    QString tip{};                                             ///< of every cell; empty: the row's name and the cell's value
    std::vector<std::pair<std::string, std::string>> click{};  ///< in place of positions and head: what a click sets
};

struct TableSection {
    QString title, note;
    QString hint{};  ///< what a click does, after the note; not in files
    std::vector<TableColumn> columns;
    std::vector<TableRow> rows;
    QString empty;  ///< the reason, shown when there are no rows
};

struct TableData {
    std::string view;
    QString title, description;
    std::vector<TableSection> sections;
    std::vector<TableSection> files{};  ///< exported instead of the sections, where a file has more; empty: the sections
    std::function<Table()> table;       ///< of the export; the first section's when there is none
    std::function<std::vector<NamedArray>()> arrays;  ///< the columns of numbers when there is none
};

/// A table of one section, under its title.
TableData one_section(std::string view, TableSection);
std::unique_ptr<Figure> table_figure(TableData);

}  // namespace headlight::figure
