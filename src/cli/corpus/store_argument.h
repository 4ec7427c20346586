// SPDX-License-Identifier: GPL-3.0-or-later
// What the commands that ask a store share.
#pragma once

#include "cli/command.h"
#include "cli/result_file.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/model/model.h"

#include <string>

namespace headlight::cli {

/// A store with what its segments hold together.
struct OpenedStore {
    std::string folder;
    corpus::Manifest manifest;
    corpus::Merged merged;

    /// Error that says how to gather it: `measure` is an id of corpus::accumulator_kinds().
    void require(const std::string& measure) const;
    /// Error that names both: the model is not the one that ran the texts.
    void require_model(const model::Model&) const;
    /// Model, texts and options of the run; a note where not all chunks were run. `which`: of two stores, "second".
    void add_facts(Result&, const Console&, const std::string& which = {}) const;
};
OpenedStore open_merged(const std::string& folder);

/// STORE
CLI::Option* add_store_argument(Definition&, std::string& folder, const std::string& name = "STORE",
                                const std::string& help = "the folder that headlight corpus run has made");
/// --draws and --seed of intervals, and what they were.
void add_bootstrap_options(Definition&, corpus::BootstrapOptions&);
void add_bootstrap_facts(Result&, const corpus::BootstrapOptions&);

}  // namespace headlight::cli
