// SPDX-License-Identifier: GPL-3.0-or-later
// The table of an analysis: what `headlight analyze` writes and what the export of a figure of the same analysis holds.
// Each analysis has a table_of() beside it.
#pragma once

#include "headlight/io/npz.h"
#include "headlight/text/tokenizer.h"

#include <Eigen/Core>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headlight::analyze {

/// Row-major numbers, or in their place whole numbers (positions, heads, ids) or texts (tokens).
struct NamedArray {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values{};
    std::vector<std::int64_t> integers{};
    std::vector<std::string> texts{};
};

/// Arrays of one axis.
NamedArray integer_array(std::string name, std::vector<std::int64_t>);
NamedArray text_array(std::string name, std::vector<std::string>);

/// Arrays as io::write_npz() takes them; they must outlive it.
struct ArrayRefs {
    std::vector<io::ArrayRef> numbers;
    std::vector<io::TextArrayRef> texts;
    void add(const NamedArray&);
};

/// A matrix as [row, column], a vector as [row].
template <class Derived>
NamedArray named_array(std::string name, const Eigen::DenseBase<Derived>& from) {
    NamedArray out{std::move(name), {from.rows()}, {}};
    if constexpr (Derived::ColsAtCompileTime != 1) out.shape.push_back(from.cols());
    out.values.reserve(static_cast<std::size_t>(from.size()));
    for (Eigen::Index r = 0; r < from.rows(); ++r)
        for (Eigen::Index c = 0; c < from.cols(); ++c) out.values.push_back(static_cast<float>(from(r, c)));
    return out;
}

/// Tidy data: one row an observation.
struct Table {
    using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
    std::vector<std::pair<std::string, std::string>> definitions{};  ///< column or array -> what it is, in JSON and NPZ
    std::vector<NamedArray> arrays{};                                ///< for NPZ, beside the columns of numbers

    /// Columns without a cell stay empty.
    void add(std::vector<Cell> row) {
        row.resize(columns.size());
        rows.push_back(std::move(row));
    }
};

/// An empty cell for -1, which stands for "none".
inline Table::Cell index_cell(std::int64_t i) { return i < 0 ? Table::Cell() : Table::Cell(i); }

/// A token as a table names it: "##ing".
std::string token_name(const std::vector<text::TokenLabel>&, std::int64_t position);

/// Error for a table that would take too much memory (a row takes some 400 bytes); `hint` says what to do instead.
void check_rows(std::int64_t rows, std::int64_t tokens, const std::string& hint = "Write .npz, which holds arrays of any size");

/// Header line and one line a row; text in quotes, a gap (no value, NaN) as an empty field, numbers in the shortest form
/// that reads back the same.
std::string csv_text(const Table&);
/// "columns": […], "rows": [[…], …] (two members, without braces): one row a line, gaps as null.
std::string json_members(const Table&);

}  // namespace headlight::analyze
