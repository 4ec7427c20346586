// SPDX-License-Identifier: GPL-3.0-or-later
// CSV, JSON and NPZ of exactly what a figure draws.
#include "figure/export/export_page.h"
#include "headlight/figure/export/table.h"
#include "headlight/io/npz.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <span>

namespace headlight::figure {

namespace {

/// Shortest text that reads back as the same float32 (weights are float32; as doubles they would show noise).
std::string csv_number(double value) {
    if (std::isnan(value)) return {};
    char text[40];
    const auto narrow = static_cast<float>(value);
    const auto end = static_cast<double>(narrow) == value ? std::to_chars(text, text + sizeof text, narrow).ptr
                                                          : std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
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

}  // namespace

std::string csv_text(const Table& table) {
    std::string out;
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c ? "," : "") + table.columns[c];
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
                const std::string value = std::visit(CsvCell{}, cell);
                // JSON knows neither NaN nor infinity.
                out += value.empty() || value.find("inf") != std::string::npos ? "null" : value;
            }
        }
        out += ']';
    }
    return out + "\n]";
}

QByteArray table_csv(const Figure& figure, const Provenance& provenance) {
    // One line before the header; readers skip it (skiprows=1 in pandas, skip = 1 in R).
    return QByteArray::fromStdString("# " + provenance_json(provenance) + '\n' + csv_text(figure.table()));
}

QByteArray table_json(const Figure& figure, const Provenance& provenance) {
    return QByteArray::fromStdString("{\"view\": " + json_text(figure.view()) + ",\n\"provenance\": " +
                                     provenance_json(provenance) + ",\n" + json_members(figure.table()) + "\n}\n");
}

void write_arrays_npz(const Figure& figure, const Provenance& provenance, const std::filesystem::path& path) {
    const std::vector<NamedArray> arrays = figure.arrays();
    std::vector<io::ArrayRef> refs;
    for (const NamedArray& a : arrays) refs.push_back({a.name, io::DType::F32, a.shape, std::as_bytes(std::span(a.values))});
    io::write_npz(path, refs, {{"view", figure.view()}, {"provenance", provenance_json(provenance)}});
}

}  // namespace headlight::figure
