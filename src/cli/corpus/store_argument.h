// SPDX-License-Identifier: GPL-3.0-or-later
// What the commands that ask a store share.
#pragma once

#include "cli/result_file.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/corpus/store/text_store.h"

#include <string>

namespace headlight::cli {

/// A store with what its segments hold together.
struct OpenedStore {
    std::string folder;
    corpus::Manifest manifest;
    corpus::Merged merged;

    /// Error that says how to gather it: `measure` is an id of corpus::accumulator_kinds().
    void require(const std::string& measure) const;
    /// Model, texts and options of the run; a note where not all chunks were run.
    void add_facts(Result&, const Console&) const;
};
OpenedStore open_merged(const std::string& folder);

/// STORE
CLI::Option* add_store_argument(Definition&, std::string& folder, const std::string& name = "STORE",
                                const std::string& help = "the folder that headlight corpus run has made");
/// --draws and --seed of intervals.
void add_bootstrap_options(Definition&, corpus::BootstrapOptions&);

}  // namespace headlight::cli
