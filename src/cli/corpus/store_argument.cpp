// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/store_argument.h"

#include "cli/options.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/statistics/least_texts.h"

#include <cmath>

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
    const std::string of_which = which.empty() ? "" : "the " + which + " store: ";
    if (store.merged.rebuilt)
        result.notes({of_which +
                      "merged.safetensors is damaged; these results are merged from the segments again (headlight corpus "
                      "merge " +
                      store.folder.string() + " --out " + store.folder.string() + " writes the file again)"},
                     console);
    if (store.merged.chunks < manifest.chunks())
        result.notes(
            {of_which + "from " + with_commas(store.merged.chunks) + " of " + with_commas(manifest.chunks()) + " chunks"},
            console);
}

std::string counted(std::int64_t n, const std::string& thing) { return with_commas(n) + ' ' + thing + (n == 1 ? "" : "s"); }

CLI::Option* add_store_argument(Definition& definition, std::string& folder, const std::string& name, const std::string& help) {
    return add_path(definition, name, folder, help, " ", ValueKind::folder)->required();
}

void add_bootstrap_options(Definition& definition, corpus::BootstrapOptions& options) {
    add_count(definition, "--draws", options.draws, "bootstrap draws over texts for the intervals", 1, 1'000'000);
    add_seed(definition, options.seed, "equal seeds draw equal texts");
}

void add_bootstrap_facts(Result& result, const corpus::BootstrapOptions& options, const Console& console) {
    result.fact("draws", options.draws).fact("seed", options.seed);
    const analyze::Table& table = result.table;
    bool bounds = false, numbers = false;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const std::string& name = table.columns[c];
        if (name != "low" && !name.ends_with("_low") && !name.ends_with(" low")) continue;
        bounds = true;
        for (const auto& row : table.rows) {
            const auto* number = std::get_if<double>(&row[c]);
            numbers |= number && std::isfinite(*number);
        }
    }
    if (bounds && !numbers && !table.rows.empty())
        result.notes({"no intervals: what is drawn are fewer than " + std::to_string(corpus::kLeastTexts) +
                      " texts (sentences, pairs, neurons)"},
                     console);
}

}  // namespace headlight::cli
