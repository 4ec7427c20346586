// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/options.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/distances/tables.h"

namespace headlight::cli {
namespace {

struct DistancesArguments {
    std::string store;
    bool sorted = false;
    corpus::MapTableOptions map;
    ResultFile out;
};

void add_distance_facts(Result& result, const corpus::StoredCorpus& store, const corpus::HeadDistances& distances,
                        const Console& console) {
    add_facts(result, store, console);
    result.fact("queries", distances.queries()).fact("compared_queries", distances.drawn());
}

corpus::HeadDistances distances_of(const corpus::StoredCorpus& store) {
    store.require("distances");
    return corpus::HeadDistances(store.merged.arrays);
}

int distances(const DistancesArguments& arguments, const Console& console) {
    arguments.out.check();
    const StorePtr store = corpus::read_store(arguments.store);
    const corpus::HeadDistances distances = distances_of(*store);
    Result result{.table = corpus::pairs_table(distances, arguments.sorted), .facts = {}};
    add_distance_facts(result, *store, distances, console);
    if (store->manifest.chunks() > store->manifest.texts())
        result.notes({"standard errors treat chunks as independent; those of one text are correlated, and " +
                      with_commas(store->manifest.texts()) + " texts have " + with_commas(store->manifest.chunks()) +
                      " chunks: the true errors are larger"},
                     console);
    arguments.out.write(result, console);
    return 0;
}

int map(const DistancesArguments& arguments, const Console& console) {
    arguments.out.check();
    const StorePtr store = corpus::read_store(arguments.store);
    const corpus::HeadDistances distances = distances_of(*store);
    const corpus::HeadMap map = corpus::head_map(distances, arguments.map);
    Result result{.table = corpus::map_table(distances, map, arguments.map), .facts = {}};
    add_distance_facts(result, *store, distances, console);
    result.fact("stress", map.scaling.stress)
        .fact("relative_stress", map.scaling.relative_stress)
        .fact("starts", arguments.map.scaling.starts)
        .fact("seed", arguments.map.scaling.seed)
        .fact("group_below", arguments.map.group_below);
    result.notes({"relative stress " + significant(map.scaling.relative_stress) +
                  ": 0 is a perfect map, above 0.2 distances are misleading"},
                 console);
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_distances(Definition& definition, const Frontend&) {
    auto options = std::make_shared<DistancesArguments>();
    add_store_argument(definition, options->store);
    definition.app->add_flag("--sorted", options->sorted, "the most alike pairs first (default: by layer and head)");
    options->out.add(definition);
    return [options, console = definition.console] { return distances(*options, *console); };
}

Action define_corpus_map(Definition& definition, const Frontend&) {
    auto options = std::make_shared<DistancesArguments>();
    add_store_argument(definition, options->store);
    add_index(definition, "--starts", options->map.scaling.starts,
              "random starts in addition to classical scaling; the best one is used")
        ->capture_default_str();
    add_seed(definition, options->map.scaling.seed, "seed of the random starts");
    add_value(definition, "--group-below", options->map.group_below, "nats: groups of heads merge up to this mean divergence",
              "X")
        ->capture_default_str()
        ->check(not_negative());
    add_index(definition, "--nearest", options->map.nearest, "nearest heads to list for each head")->capture_default_str();
    options->out.add(definition);
    return [options, console = definition.console] { return map(*options, *console); };
}

}  // namespace headlight::cli
