// SPDX-License-Identifier: GPL-3.0-or-later
// Options shared by the commands that query a store.
#pragma once

#include "cli/command.h"
#include "cli/result_file.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/model/model.h"

#include <string>

namespace headlight::cli {

/// A store with the merged content of its segments.
struct OpenedStore {
    std::string folder;
    corpus::Manifest manifest;
    corpus::Merged merged;

    /// Error if the store lacks `measure`, an id of corpus::accumulator_kinds(), explaining how to gather it.
    void require(const std::string& measure) const;
    /// Error if the model is not the one that ran the texts, naming both.
    void require_model(const model::Model&) const;
    /// Model, texts and options of the run; a note if not all chunks were run. `which`: of two stores, "second".
    void add_facts(Result&, const Console&, const std::string& which = {}) const;
};
OpenedStore open_merged(const std::string& folder);

/// "1 text", "2,001 texts"
std::string counted(std::int64_t n, const std::string& thing);

/// STORE
CLI::Option* add_store_argument(Definition&, std::string& folder, const std::string& name = "STORE",
                                const std::string& help = "the folder that headlight corpus run has made");
/// --draws and --seed for intervals, and their values.
void add_bootstrap_options(Definition&, corpus::BootstrapOptions&);
void add_bootstrap_facts(Result&, const corpus::BootstrapOptions&);

}  // namespace headlight::cli
