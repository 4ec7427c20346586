// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/table.h"
#include "headlight/base/numbers.h"

#include "headlight/base/error.h"
#include "headlight/base/json_number.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headlight::analyze {
namespace {

std::string csv_number(double value) {
    if (std::isnan(value)) return {};
    return std::isinf(value) ? (value > 0 ? "inf" : "-inf") : json_number(value);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::string json_text(const std::string& s) {
    return nlohmann::ordered_json(s).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

struct CsvCell {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return csv_number(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
};

/// Where 2,048 tokens of a causal model still fit.
constexpr std::int64_t most_rows = 2'100'000;

}  // namespace

NamedArray integer_array(std::string name, std::vector<std::int64_t> values) {
    const auto count = std::ssize(values);
    return {.name = std::move(name), .shape = {count}, .integers = std::move(values)};
}

NamedArray text_array(std::string name, std::vector<std::string> values) {
    const auto count = std::ssize(values);
    return {.name = std::move(name), .shape = {count}, .texts = std::move(values)};
}

void ArrayRefs::add(const NamedArray& a) {
    if (!a.texts.empty())
        texts.push_back({a.name, a.shape, a.texts});
    else if (!a.integers.empty())
        numbers.push_back({a.name, io::DType::I64, a.shape, std::as_bytes(std::span(a.integers))});
    else
        numbers.push_back({a.name, io::DType::F32, a.shape, std::as_bytes(std::span(a.values))});
}

std::string token_name(const std::vector<text::TokenLabel>& labels, std::int64_t position) {
    const text::TokenLabel& label = labels[static_cast<std::size_t>(position)];
    return label.continuation + label.text;
}

void check_rows(std::int64_t rows, std::int64_t tokens, const std::string& hint) {
    if (rows <= most_rows) return;
    throw Error({.problem = "The table would be too long",
                 .expected = "at most " + with_commas(most_rows) + " rows",
                 .found = with_commas(rows) + " of " + with_commas(tokens) + " tokens",
                 .hint = hint});
}

std::string csv_text(const Table& table) {
    std::string out;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        // Names of measures need no quotes; those of questions have tokens in them, which may be anything.
        const std::string& name = table.columns[c];
        out += (c ? "," : "") + (name.find_first_of(",\"\n") == std::string::npos ? name : CsvCell{}(name));
    }
    out += '\n';
    for (const auto& row : table.rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (c) out += ',';
            out += std::visit(CsvCell{}, row[c]);
        }
        out += '\n';
    }
    return out;
}

std::string json_members(const Table& table) {
    // Written by hand: one row a line, and numbers as in the CSV.
    std::string out = "\"columns\": [";
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c ? ", " : "") + json_text(table.columns[c]);
    out += "],\n\"rows\": [";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        out += r ? ",\n[" : "\n[";
        for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
            if (c) out += ", ";
            const auto& cell = table.rows[r][c];
            if (const auto* s = std::get_if<std::string>(&cell)) {
                out += json_text(*s);
            } else {
                const auto* real = std::get_if<double>(&cell);
                out += real                                           ? json_number(*real)
                       : std::holds_alternative<std::monostate>(cell) ? "null"
                                                                      : std::visit(CsvCell{}, cell);
            }
        }
        out += ']';
    }
    return out + "\n]";
}

}  // namespace headlight::analyze
