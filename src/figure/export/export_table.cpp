// SPDX-License-Identifier: GPL-3.0-or-later
// CSV, JSON and NPZ of exactly what a figure draws.
#include "figure/export/export_page.h"
#include "headlight/io/npz.h"

#include <nlohmann/json.hpp>

#include <span>

namespace headlight::figure {

QByteArray table_csv(const Figure& figure, const Provenance& provenance) {
    // One line before the header; readers skip it (skiprows=1 in pandas, skip = 1 in R).
    return QByteArray::fromStdString("# " + provenance_json(provenance) + '\n' + analyze::csv_text(figure.table()));
}

QByteArray table_json(const Figure& figure, const Provenance& provenance) {
    return QByteArray::fromStdString("{\"view\": " + nlohmann::ordered_json(figure.view()).dump() + ",\n\"provenance\": " +
                                     provenance_json(provenance) + ",\n" + analyze::json_members(figure.table()) + "\n}\n");
}

void write_arrays_npz(const Figure& figure, const Provenance& provenance, const std::filesystem::path& path) {
    const std::vector<NamedArray> arrays = figure.arrays();
    std::vector<io::ArrayRef> refs;
    for (const NamedArray& a : arrays) refs.push_back({a.name, io::DType::F32, a.shape, std::as_bytes(std::span(a.values))});
    io::write_npz(path, refs, {{"view", figure.view()}, {"provenance", provenance_json(provenance)}});
}

}  // namespace headlight::figure
