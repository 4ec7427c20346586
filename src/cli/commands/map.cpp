// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/numbers.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/run/map_run.h"
#include "headlight/map/tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headlight::cli {
namespace {

struct MapArguments {
    ModelArgument model;
    ComputeOptions compute;
    std::string texts, text, cache;
    std::int64_t layer = -1, head = -1, dims = 2;
    map::GatherOptions gather;
    map::MapOptions options;
    model::Stack stack = model::Stack::decoder;
    bool points = false;
    ResultFile out;
};

std::vector<HeadId> chosen_heads(const MapArguments& a, const model::ModelConfig& c) {
    std::vector<HeadId> heads;
    for (std::int64_t l = 0; l < c.n_layers && (a.layer >= 0 || a.head >= 0); ++l)
        for (std::int64_t h = 0; h < c.n_heads; ++h)
            if ((a.layer < 0 || a.layer == l) && (a.head < 0 || a.head == h)) heads.push_back({Layer(l), Head(h)});
    if (heads.empty() && (a.layer >= 0 || a.head >= 0))
        heads.push_back({Layer(std::max<std::int64_t>(0, a.layer)), Head(std::max<std::int64_t>(0, a.head))});
    return heads;  // one that does not exist is reported by what gathers
}

/// "faithfulness 0.41 (0.12 to 0.63), 3 of 48 heads are poor"
std::string summary(const map::QueryKeyMap& map) {
    std::vector<double> faith;
    std::int64_t poor = 0;
    for (const map::HeadMap& head : map.heads) {
        if (std::isfinite(head.faithfulness)) faith.push_back(static_cast<double>(head.faithfulness));
        poor += head.poor.empty() ? 0 : 1;
    }
    if (faith.empty()) return "no query has three keys of its text: no faithfulness";
    double mean = 0;
    for (const double value : faith) mean += value / static_cast<double>(faith.size());
    const auto [least, most] = std::minmax_element(faith.begin(), faith.end());
    char line[160];
    std::snprintf(line, sizeof line, "faithfulness to attention %.3f (%.3f to %.3f); %lld of %zu heads are poor", mean, *least,
                  *most, static_cast<long long>(poor), map.heads.size());
    return line;
}

int run_map(const MapArguments& arguments, const Console& console) {
    arguments.out.check();
    if (arguments.texts.empty() == arguments.text.empty()) throw UsageError("Give --texts FILE or --text TEXT");
    map::MapOptions options = arguments.options;
    options.dims = static_cast<int>(arguments.dims);
    std::int64_t without = 0;
    const std::vector<corpus::Text> texts = arguments.texts.empty()
                                                ? std::vector<corpus::Text>{{.id = "--text", .text = arguments.text}}
                                                : map::texts_of(arguments.texts, [&](const corpus::LeftOut&) { ++without; });
    if (without > 0) console.note(with_commas(without) + " texts cannot be read and are left out");
    const Loaded loaded = load_model(arguments.model, arguments.compute, console);
    map::GatherOptions gather = arguments.gather;
    gather.seed = options.seed;
    const bool two_texts = loaded.model->config().stack == model::Stack::decoder;
    if (two_texts) gather.stack = arguments.stack;
    const model::ModelConfig& c = two_texts && arguments.stack != model::Stack::decoder
                                      ? loaded.model->part(arguments.stack)->config()
                                      : loaded.model->config();
    gather.heads = chosen_heads(arguments, c);
    const auto vectors = map::gather_texts(loaded.model, loaded.tokenizer, texts, gather, loaded.cancel, console.progress());
    console.clear_progress();
    map::MapRun run(vectors, options, arguments.cache);
    run.run(arguments.compute.threads, loaded.cancel, console.progress());
    console.clear_progress();
    const map::QueryKeyMap map = run.map();

    Result result;
    result.facts = facts_of(*loaded.model);
    result.fact("texts", arguments.texts.empty() ? arguments.text : arguments.texts)
        .fact("tokens", std::ssize(map.tokens.tokens))
        .fact("texts_left_out", map.tokens.left_out)
        .fact("preset", std::string(enum_word(options.preset)))
        .fact("method", std::string(enum_word(options.projection)))
        .fact("dims", arguments.dims)
        .fact("scale", std::string(enum_word(options.scale)))
        .fact("seed", static_cast<std::int64_t>(options.seed))
        .fact("rotated", std::string(map.rotated ? "yes" : "no"));
    if (options.projection == map::Projection::tsne) result.fact("perplexity", significant(map::perplexity_of(options)));
    result.notes(map.notes, console);
    console.note(with_commas(std::ssize(map.tokens.names)) + " texts, " + with_commas(std::ssize(map.tokens.tokens)) +
                 " tokens; " + summary(map));
    result.table = arguments.out.path.ends_with(".npz") ? map::map_arrays(map, arguments.points ? vectors.get() : nullptr)
                                                        : map::points_table(map);
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_map(Definition& definition, const Frontend&) {
    auto o = std::make_shared<MapArguments>();
    o->model.add(definition);
    CLI::App& app = *definition.app;
    CLI::Option* texts =
        app.add_option("--texts", o->texts,
                       "the texts, one a line, or records, or a treebank, or a folder of them, or a corpus store; "
                       "of an encoder-decoder model: source TAB target")
            ->type_name("FILE|STORE");
    definition.kinds[texts] = ValueKind::file;
    app.add_option("--text", o->text, "one text")->type_name("TEXT")->excludes(texts);
    definition.add_enum("--method", o->options.projection, "how points are projected");
    app.add_option("--dims", o->dims, "axes of the picture: 2 or 3")
        ->type_name("N")
        ->check(CLI::Range(2, 3))
        ->capture_default_str();
    definition.add_enum("--preset", o->options.preset,
                        "what is near: keys with the largest scores, scaled distance, or what AttentionViz draws");
    definition.add_enum("--scale", o->options.scale, "the factor of queries in the presets scores and balanced");
    app.add_option("--layer", o->layer, "heads of one layer alone")->type_name("L")->check(counted_from_zero());
    app.add_option("--head", o->head, "heads of one number alone")->type_name("H")->check(counted_from_zero());
    app.add_option("--tokens", o->gather.budget, "whole texts are drawn up to so many tokens; 0: all")
        ->type_name("N")
        ->check(counted_from_zero())
        ->capture_default_str();
    app.add_option("--seed", o->options.seed, "of the choice of texts, and of t-SNE and UMAP")
        ->type_name("S")
        ->capture_default_str();
    app.add_flag("--rotated", o->gather.rotated, "queries and keys behind the rotation by their positions");
    definition.add_enum("--attention", o->stack, "encoder-decoder models: whose attention");
    app.add_flag("--with-apart", o->options.with_apart, "first and special tokens count like all others");
    app.add_option("--perplexity", o->options.perplexity, "of t-SNE (default: 30; attentionviz: 50)")
        ->type_name("X")
        ->check(not_negative());
    app.add_option("--iterations", o->options.iterations,
                   "of t-SNE (default: 750) or UMAP (default: 500, 200 above 10,000 points)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--points", o->points, "NPZ: also the queries and keys themselves");
    CLI::Option* cache =
        app.add_option("--cache", o->cache, "a folder that keeps finished heads, and gives them again")->type_name("FOLDER");
    definition.kinds[cache] = ValueKind::folder;
    o->out.add(definition, {".npz", ".csv", ".json"});
    o->compute.add(definition);
    return [o, console = definition.console] { return run_map(*o, *console); };
}

}  // namespace headlight::cli
