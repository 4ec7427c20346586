// SPDX-License-Identifier: GPL-3.0-or-later
// CSV, JSON and NPZ of exactly what a figure draws.
#include "figure/export/export_page.h"
#include "headlight/base/numbers.h"
#include "headlight/io/npz.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace headlight::figure {
namespace {

/// As it was asked for: a store's mosaic is "corpus-heads" and a text's "heads", although one figure draws both.
std::string view_of(const Figure& figure, const Provenance& provenance) {
    const auto asked = std::ranges::find(provenance.options, "view", &std::pair<std::string, std::string>::first);
    return asked != provenance.options.end() ? asked->second : figure.view();
}

std::vector<NamedArray> arrays_of(const Figure& figure, const Provenance& provenance) {
    std::vector<NamedArray> arrays = figure.arrays();
    for (const auto& [name, text] : texts_of(provenance)) {
        arrays.push_back(analyze::text_array(name + "tokens", text->tokens));
        arrays.push_back(analyze::integer_array(name + "token_ids", text->ids));
    }
    return arrays;
}

/// One line an array: "weights     float32  [8, 20, 20]".
std::string list_of(std::vector<NamedArray> arrays) {
    arrays.push_back(analyze::text_array("metadata", {"facts"}));
    std::size_t width = 0;
    for (const NamedArray& a : arrays) width = std::max(width, a.name.size());
    std::string list;
    for (const NamedArray& a : arrays) {
        const char* type = !a.texts.empty() ? "text   " : !a.integers.empty() ? "int64  " : "float32";
        list += a.name + std::string(width + 2 - a.name.size(), ' ') + type + "  " + shape_text(a.shape) + "\n";
    }
    return list;
}

}  // namespace

QByteArray table_csv(const Figure& figure, const Provenance& provenance) {
    // One line before the header; readers skip it (skiprows=1 in pandas, skip = 1 in R).
    return QByteArray::fromStdString("# " + data_provenance_json(provenance) + '\n' + analyze::csv_text(figure.table()));
}

QByteArray table_json(const Figure& figure, const Provenance& provenance) {
    return QByteArray::fromStdString("{\"view\": " + nlohmann::ordered_json(view_of(figure, provenance)).dump() +
                                     ",\n\"provenance\": " + data_provenance_json(provenance) + ",\n" +
                                     analyze::json_members(figure.table()) + "\n}\n");
}

void write_arrays_npz(const Figure& figure, const Provenance& provenance, const std::filesystem::path& path) {
    const std::vector<NamedArray> arrays = arrays_of(figure, provenance);
    analyze::ArrayRefs refs;
    for (const NamedArray& a : arrays) refs.add(a);
    io::write_npz(path, refs.numbers, {{"view", view_of(figure, provenance)}, {"provenance", provenance_json(provenance)}},
                  refs.texts);
}

std::string data_preview(Figure& figure, const Selection& selection, const Provenance& provenance, const ExportOptions& options,
                         Format format) {
    const Page page(figure, selection, provenance, options, {});  // what is drawn depends on the layout
    if (format == Format::npz) return list_of(arrays_of(figure, provenance));
    constexpr std::size_t most_rows = 40;
    analyze::Table table = figure.table();
    const std::size_t rows = table.rows.size();
    table.rows.resize(std::min(rows, most_rows));
    const std::string more = rows > most_rows ? "… and " + with_commas(rows - most_rows) + " more rows\n" : std::string();
    return (format == Format::csv ? analyze::csv_text(table) : "{" + analyze::json_members(table) + "}\n") + more;
}

}  // namespace headlight::figure
