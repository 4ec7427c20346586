// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/result_file.h"

#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/npz.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace headlight::cli {
namespace {

std::string members(const Facts& facts) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto& [name, value] : facts) object[name] = value;
    return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string json(const Result& result) {
    return "{\"facts\": " + members(result.facts) + ",\n\"definitions\": " + members(result.table.definitions) + ",\n" +
           analyze::json_members(result.table) + "\n}\n";
}

/// A column of numbers as float64, gaps as NaN; empty for text.
std::vector<double> numbers(const analyze::Table& table, std::size_t column) {
    std::vector<double> values;
    for (const auto& row : table.rows) {
        const auto& cell = row.at(column);
        if (std::holds_alternative<std::string>(cell)) return {};
        if (const auto* whole = std::get_if<std::int64_t>(&cell))
            values.push_back(static_cast<double>(*whole));
        else if (const auto* real = std::get_if<double>(&cell))
            values.push_back(*real);
        else
            values.push_back(kNaN);
    }
    return values;
}

void write_npz(const Result& result, const std::filesystem::path& path) {
    std::vector<std::pair<std::string, std::vector<double>>> columns;
    for (std::size_t c = 0; c < result.table.columns.size(); ++c)
        if (std::vector<double> values = numbers(result.table, c); !values.empty())
            columns.emplace_back(result.table.columns[c], std::move(values));
    std::vector<io::ArrayRef> refs;
    for (const auto& [name, values] : columns)
        refs.push_back({name, io::DType::F64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))});
    for (const analyze::NamedArray& a : result.table.arrays)
        refs.push_back({a.name, io::DType::F32, a.shape, std::as_bytes(std::span(a.values))});
    io::write_npz(path, refs, {{"facts", members(result.facts)}, {"definitions", members(result.table.definitions)}});
}

}  // namespace

Facts facts_of(const model::Model& model) {
    return {{"model", model.config().name}, {"model_sha256", model.hash()}, {"version", std::string(version())}};
}

Facts facts_of(const trace::Trace& trace) {
    Facts facts = facts_of(*trace.model());
    facts.emplace_back("dtype", trace.info().dtype);
    if (trace.picture().pixels)
        facts.emplace_back("image", trace.picture().file);
    else
        facts.emplace_back("text", trace.text_a());
    if (!trace.text_b().empty()) facts.emplace_back("pair", trace.text_b());
    return facts;
}

void ResultFile::add(Definition& definition, std::vector<std::string> formats) {
    formats_ = std::move(formats);
    std::string endings;
    for (std::size_t i = 0; i < formats_.size(); ++i)
        endings += (i == 0 ? "" : i + 1 == formats_.size() ? " or " : ", ") + formats_[i];
    const bool table = std::find(formats_.begin(), formats_.end(), ".csv") != formats_.end();
    CLI::Option* out = definition.app->add_option(
        "--out", path, "the file to write: " + endings + (table ? " (default: CSV on standard output)" : ""));
    out->type_name("FILE");
    if (!table) out->required();
    definition.kinds[out] = ValueKind::file;
}

void ResultFile::check() const {
    if (path.empty()) return;
    const std::string extension = std::filesystem::path(path).extension();
    if (std::find(formats_.begin(), formats_.end(), extension) == formats_.end()) {
        std::string known;
        for (const std::string& format : formats_) known += (known.empty() ? "" : ", ") + format;
        throw UsageError("--out: \"" + path + "\" must end in one of " + known);
    }
    io::check_writable(path);
}

void ResultFile::write(const Result& result, const Console& console) const {
    if (!result.document.empty())
        io::write_atomically(path, result.document);
    else if (path.empty())
        return console.result(analyze::csv_text(result.table));
    else if (path.ends_with(".npz"))
        write_npz(result, path);
    else
        io::write_atomically(path, path.ends_with(".csv") ? analyze::csv_text(result.table) : json(result));
    console.note("wrote " + path);
}

}  // namespace headlight::cli
