// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/store_argument.h"

#include "headlight/base/numbers.h"

namespace headlight::cli {

void add_facts(Result& result, const corpus::StoredCorpus& store, const Console& console, const std::string& which) {
    const corpus::Manifest& manifest = store.manifest;
    const std::string prefix = which.empty() ? "" : which + "_";
    result.fact(prefix + "model", manifest.model)
        .fact(prefix + "hash", manifest.model_hash)
        .fact(prefix + "dtype", manifest.dtype)
        .fact(prefix + "texts", manifest.texts())
        .fact(prefix + "chunks", store.merged.chunks)
        .fact(prefix + "context", manifest.options.context)
        .fact(prefix + "stride", manifest.options.stride);
    if (store.merged.chunks < manifest.chunks())
        result.notes({(which.empty() ? "" : "the " + which + " store: ") + "from " + with_commas(store.merged.chunks) + " of " +
                      with_commas(manifest.chunks()) + " chunks"},
                     console);
}

std::string counted(std::int64_t n, const std::string& thing) { return with_commas(n) + ' ' + thing + (n == 1 ? "" : "s"); }

CLI::Option* add_store_argument(Definition& definition, std::string& folder, const std::string& name, const std::string& help) {
    CLI::Option* option = definition.app->add_option(name, folder, help)->type_name(" ")->required();
    definition.kinds[option] = ValueKind::folder;
    return option;
}

void add_bootstrap_options(Definition& definition, corpus::BootstrapOptions& options) {
    definition.app->add_option("--draws", options.draws, "bootstrap draws over texts for the intervals")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    definition.app->add_option("--seed", options.seed, "equal seeds draw equal texts")->type_name("N")->capture_default_str();
}

void add_bootstrap_facts(Result& result, const corpus::BootstrapOptions& options) {
    result.fact("draws", options.draws).fact("seed", static_cast<std::int64_t>(options.seed));
}

}  // namespace headlight::cli
