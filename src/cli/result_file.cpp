// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/result_file.h"

#include "cli/options.h"
#include "cli/result_streams.h"
#include "headlight/base/json_number.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/npz.h"
#include "headlight/trace/edits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>

namespace headlight::cli {
namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& object) { return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }

std::string members(const std::vector<std::pair<std::string, std::string>>& definitions) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, text] : definitions) object[name] = text;
    return dumped(object);
}

std::string json(const Result& result) {
    return "{\"facts\": " + facts_json(result.facts) + ",\n\"definitions\": " + members(result.table.definitions) + ",\n" +
           analyze::json_members(result.table) + (result.members.empty() ? "" : ",\n" + result.members) + "\n}\n";
}

/// A column as whole numbers where every cell is one, else as float64 with NaN for gaps, or as text.
struct Column {
    std::vector<double> reals;
    std::vector<std::int64_t> integers;
    std::vector<std::string> texts;

    Column(const analyze::Table& table, std::size_t column) {
        const auto every = [&](auto is) {
            return std::ranges::all_of(table.rows, [&](const auto& row) { return is(row.at(column)); });
        };
        using Cell = analyze::Table::Cell;
        const bool whole = every([](const Cell& cell) { return std::holds_alternative<std::int64_t>(cell); });
        const bool number = every([](const Cell& cell) { return !std::holds_alternative<std::string>(cell); });
        for (const auto& row : table.rows) {
            const Cell& cell = row.at(column);
            const auto* integer = std::get_if<std::int64_t>(&cell);
            const auto* real = std::get_if<double>(&cell);
            const auto* text = std::get_if<std::string>(&cell);
            if (whole)
                integers.push_back(*integer);
            else if (number)
                reals.push_back(integer ? static_cast<double>(*integer) : real ? *real : kNaN);
            else
                texts.push_back(text ? *text : integer ? std::to_string(*integer) : real ? nlohmann::json(*real).dump() : "");
        }
    }
};

}  // namespace

void write_npz(const Result& result, const std::vector<io::ArrayStream>& streams, const std::filesystem::path& path) {
    const analyze::Table& table = result.table;
    analyze::ArrayRefs refs;
    std::deque<Column> columns;  // what the references point to
    for (std::size_t c = 0; c < table.columns.size() && !table.rows.empty(); ++c) {
        const Column& column = columns.emplace_back(table, c);
        const std::string& name = table.columns[c];
        if (!column.reals.empty())
            refs.numbers.push_back({name, io::DType::F64, {std::ssize(column.reals)}, std::as_bytes(std::span(column.reals))});
        else if (!column.integers.empty())
            refs.numbers.push_back(
                {name, io::DType::I64, {std::ssize(column.integers)}, std::as_bytes(std::span(column.integers))});
        else
            refs.texts.push_back({name, {std::ssize(column.texts)}, column.texts});
    }
    for (const analyze::NamedArray& a : table.arrays) refs.add(a);
    std::vector<io::ArrayStream> arrays = io::streams_of(path, refs.numbers);
    arrays.insert(arrays.end(), streams.begin(), streams.end());
    io::stream_npz(path, arrays, {{"facts", facts_json(result.facts)}, {"definitions", members(table.definitions)}}, refs.texts);
}

std::string facts_json(const Facts& facts) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, value] : facts) {
        const auto* real = std::get_if<double>(&value);
        const ordered_json json =
            real ? ordered_json::parse(json_number(*real)) : std::visit([](const auto& v) { return ordered_json(v); }, value);
        const auto there = object.find(name);
        if (there == object.end())
            object[name] = json;
        else if (there->is_array())
            there->push_back(json);
        else
            *there = ordered_json::array({*there, json});
    }
    return dumped(object);
}

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
    std::string edits;
    for (const std::string& words : trace::edits_of(trace)) edits += (edits.empty() ? "" : "; ") + words;
    if (!edits.empty()) facts.emplace_back("edits", edits);
    return facts;
}

void ResultFile::add(Definition& definition, std::vector<std::string> formats) {
    formats_ = std::move(formats);
    const bool table = std::find(formats_.begin(), formats_.end(), ".csv") != formats_.end();
    add_out(definition, path, formats_, table ? " (default: CSV on standard output)" : "")->required(!table);
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
        write_npz(result, {}, path);
    else
        io::write_atomically(path, path.ends_with(".csv") ? analyze::csv_text(result.table) : json(result));
    console.wrote(path);
}

}  // namespace headlight::cli
