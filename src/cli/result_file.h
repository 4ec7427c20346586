// SPDX-License-Identifier: GPL-3.0-or-later
// What `headlight analyze` writes: a table, arrays, or both.
#pragma once

#include "cli/command.h"
#include "headlight/analyze/table.h"
#include "headlight/trace/trace.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headlight::cli {

/// A text, a number or a truth value, never a number as text: JSON writes numbers at full precision.
using Fact = std::variant<std::string, std::int64_t, std::uint64_t, double, bool>;
/// A name that stands here more than once becomes a list.
using Facts = std::vector<std::pair<std::string, Fact>>;

/// As a JSON object.
std::string facts_json(const Facts&);

struct Result {
    analyze::Table table;
    Facts facts;             ///< model, text, options …, in JSON and NPZ
    std::string document{};  ///< JSON that is written in place of all this
    std::string members{};   ///< further members of the JSON object, without braces

    Result& fact(std::string name, Fact value) {
        facts.emplace_back(std::move(name), std::move(value));
        return *this;
    }
    /// Sentences about the numbers: facts note_1, note_2 …, behind those that are there, and on standard error.
    Result& notes(const std::vector<std::string>& sentences, const Console& console) {
        const auto noted = [](const auto& each) { return each.first.starts_with("note_"); };
        auto number = std::ranges::count_if(facts, noted);
        for (const std::string& sentence : sentences) {
            fact("note_" + std::to_string(++number), sentence);
            console.note(sentence);
        }
        return *this;
    }
};

/// Model, its hash, text, dtype, version.
Facts facts_of(const trace::Trace&);
Facts facts_of(const model::Model&);

/// --out: .csv, .json or .npz; without it the table goes to standard output as CSV.
struct ResultFile {
    std::string path;
    /// `formats` are the endings it may have.
    void add(Definition&, std::vector<std::string> formats = {".csv", ".json", ".npz"});
    /// Before the work: UsageError for a wrong ending, Error for a place that cannot be written.
    void check() const;
    /// CSV: header line first, nothing above it. JSON: {"facts": …, "definitions": …, "columns": …, "rows": …}.
    /// NPZ: every column of numbers as a float64 array (text columns are left out), then the arrays.
    void write(const Result&, const Console&) const;

private:
    std::vector<std::string> formats_;
};

}  // namespace headlight::cli
