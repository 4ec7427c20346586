// SPDX-License-Identifier: GPL-3.0-or-later
// The columns of a table, each described once: its name, what it takes from a row, and what it is.
//
//     return Columns<LayerProbe>{{"layer", &LayerProbe::layer, "0: the stream that enters the first block"},
//                                {"bits", [](const LayerProbe& of) { return of.code.bits; }, "length of the code"}}
//         .table(result.layers);
//
// For tables most of whose columns have a definition, or whose columns come and go. A list of names and one of cells is shorter
// where names say it all or a row has no type of its own.
#pragma once

#include "headlight/analyze/table.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace headlight::analyze {

/// Numbers stay numbers: whole ones, indices and false/true (0/1) are integers, the others doubles. An optional without a
/// value is a gap; everything else is a text.
template <class T>
Table::Cell cell_of(const T& value) {
    if constexpr (std::same_as<T, Table::Cell>)
        return value;
    else if constexpr (std::floating_point<T>)
        return static_cast<double>(value);
    else if constexpr (std::integral<T>)
        return static_cast<std::int64_t>(value);
    else if constexpr (requires { value.has_value(); })
        return value ? cell_of(*value) : Table::Cell();
    else if constexpr (requires { value.value; })
        return value.value;
    else
        return std::string(value);
}

template <class Row>
class Columns {
public:
    struct Column {
        std::string name, definition;
        std::function<Table::Cell(const Row&, std::int64_t number)> cell;
        bool present;

        /// The getter is a pointer to a member, a function of the row or of the row and its number from 0, or a value that all
        /// rows share. JSON and NPZ say what the column `is`; one that is not `shown` is left out.
        template <class Getter>
        Column(std::string called, Getter getter, std::string is = {}, bool shown = true)
            : name(std::move(called)), definition(std::move(is)), present(shown) {
            cell = [=](const Row& row, std::int64_t number) {
                if constexpr (std::invocable<const Getter&, const Row&, std::int64_t>)
                    return cell_of(std::invoke(getter, row, number));
                else if constexpr (std::invocable<const Getter&, const Row&>)
                    return cell_of(std::invoke(getter, row));
                else
                    return cell_of(getter);
            };
        }
    };

    Columns(std::initializer_list<Column> columns) {
        for (const Column& column : columns) add(column);
    }
    /// For columns whose number or names the answer decides.
    void add(Column column) {
        if (column.present) columns_.push_back(std::move(column));
    }

    Table table(const std::vector<Row>& rows) const {
        Table out;
        for (const Column& column : columns_) {
            out.columns.push_back(column.name);
            if (!column.definition.empty()) out.definitions.emplace_back(column.name, column.definition);
        }
        for (const Row& row : rows) {
            auto& cells = out.rows.emplace_back();
            cells.reserve(columns_.size());
            for (const Column& column : columns_) cells.push_back(column.cell(row, std::ssize(out.rows) - 1));
        }
        return out;
    }

private:
    std::vector<Column> columns_;
};

}  // namespace headlight::analyze
