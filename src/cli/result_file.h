// SPDX-License-Identifier: GPL-3.0-or-later
// What `headlight analyze` writes: a table, arrays, or both.
#pragma once

#include "cli/command.h"
#include "headlight/figure/export/table.h"
#include "headlight/trace/trace.h"

#include <string>
#include <utility>
#include <vector>

namespace headlight::cli {

struct Result {
    figure::Table table;
    std::vector<figure::NamedArray> arrays;                        ///< for NPZ, beside the table's columns of numbers
    std::vector<std::pair<std::string, std::string>> definitions;  ///< column or array -> what it is, in JSON and NPZ
    std::vector<std::pair<std::string, std::string>> facts;        ///< model, text, options …, in JSON and NPZ
};

/// A token as a table names it: "##ing".
std::string token_name(const std::vector<text::TokenLabel>&, std::int64_t position);

/// Model, its hash, text, dtype, version: what every result says about its run.
std::vector<std::pair<std::string, std::string>> facts_of(const trace::Trace&);
std::vector<std::pair<std::string, std::string>> facts_of(const model::Model&);

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
