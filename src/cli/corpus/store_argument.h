// SPDX-License-Identifier: GPL-3.0-or-later
// Options shared by the commands that query a store.
#pragma once

#include "cli/command.h"
#include "cli/result_file.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/stored_corpus.h"

#include <memory>
#include <string>

namespace headlight::cli {

using StorePtr = std::shared_ptr<const corpus::StoredCorpus>;

/// Model, texts and options of the run; a note if not all chunks were run. `which`: of two stores, "second".
void add_facts(Result&, const corpus::StoredCorpus&, const Console&, const std::string& which = {});

/// "1 text", "2,001 texts"
std::string counted(std::int64_t n, const std::string& thing);

/// STORE
CLI::Option* add_store_argument(Definition&, std::string& folder, const std::string& name = "STORE",
                                const std::string& help = "the folder that headlight corpus run has made");
/// --draws and --seed for intervals, and their values.
void add_bootstrap_options(Definition&, corpus::BootstrapOptions&);
/// After the table: a note says where it has no intervals.
void add_bootstrap_facts(Result&, const corpus::BootstrapOptions&, const Console&);

}  // namespace headlight::cli
