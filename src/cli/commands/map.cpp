// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/fields.h"
#include "cli/offscreen.h"
#include "cli/picture_options.h"
#include "cli/result_streams.h"
#include "cli/run_text.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/map/map_request.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/run/map_run.h"
#include "headlight/map/tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace headlight::cli {
namespace {

struct MapArguments {
    CLI::App* app = nullptr;
    ModelArgument model;
    ComputeOptions compute;
    std::string cache;
    std::int64_t layer = -1, head = -1;
    figure::MapRequest request;
    bool points = false;
    PictureOptions picture;
    ResultFile out;
    std::string image;  ///< a picture or a folder of them
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

/// "61 texts, 2,498 tokens, 12 texts left out by seed 0; "
std::string counts_of(const map::QueryKeyMap& map) {
    const std::string input = map.pictures ? " picture" : " text";
    const auto counted = [](std::int64_t n, const std::string& what) { return with_commas(n) + what + (n == 1 ? "" : "s"); };
    return counted(std::ssize(map.tokens.names), input) + ", " + counted(std::ssize(map.tokens.tokens), " token") +
           (map.tokens.left_out > 0 ? ", " + counted(map.tokens.left_out, input) + " left out by seed " + std::to_string(map.seed)
                                    : "") +
           "; ";
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

/// Error: a search that cannot be read.
void mark_what_is_sought(figure::MapRequest& request, const map::QueryKeyMap& map, const text::Tokenizer& tokenizer,
                         const Console& console) {
    if (request.mark.empty()) return;
    map::TokenText spelled;
    if (!map.pictures) spelled = [&](std::int64_t id) { return tokenizer.bytes_of(id); };
    std::vector<std::uint8_t> hits = map::find_points(map, request.mark_by, request.mark, spelled);
    if (std::ranges::find(hits, 1) == hits.end()) return console.note("no token matches --mark " + request.mark);
    const std::vector<map::HeadHits> ranked = map::heads_by_tightness(map, hits);
    figure::mark_points(request.look, map, std::move(hits), ranked, QString::fromStdString(request.mark));
    const map::HeadMap& tightest = map.heads[ranked.front().head];
    std::string line = request.look.marked_words.toStdString();
    if (map.heads.size() > 1 && std::isfinite(ranked.front().dispersion))
        line += "; they stand closest in L" + std::to_string(tightest.layer.value) + "H" + std::to_string(tightest.head.value) +
                ": " + significant(ranked.front().dispersion) + " of the mean distance there";
    console.note(line);
}

void draw(const MapArguments& arguments, const Loaded& loaded, map::QueryKeyMap map, const Console& console) {
    figure::MapRequest request = arguments.request;
    if (map.pictures) request.texts = arguments.image;
    request.dtype = arguments.compute.dtype;
    request.output = arguments.picture.chosen();
    mark_what_is_sought(request, map, *loaded.tokenizer, console);
    figure::MapFigure drawn(std::move(map), request.look);
    const std::string format = std::filesystem::path(arguments.out.path).extension().string().substr(1);
    export_figure(drawn, {}, figure::map_provenance(*loaded.model, drawn.map(), request, format), request.output,
                  arguments.out.path, console);
}

std::vector<corpus::Text> texts_of(const figure::MapRequest& request, const Console& console) {
    std::vector<corpus::Text> texts;
    if (request.texts.empty()) {
        corpus::Text& only = texts.emplace_back();
        only.id = "--text";
        only.text = request.text;
        return texts;
    }
    std::int64_t without = 0;
    texts = map::texts_of(request.texts, [&](const corpus::LeftOut&) { ++without; });
    if (without > 0) console.note(with_commas(without) + " texts cannot be read and are left out");
    return texts;
}

int run_map(const MapArguments& arguments, const Console& console) {
    arguments.out.check();
    const bool npz = arguments.out.path.ends_with(".npz");
    arguments.picture.check(*arguments.app, arguments.out.path);
    refuse_unused(*arguments.app, {{"--points", !npz, "it is for --out FILE.npz"}});
    const figure::MapRequest& request = arguments.request;
    if (!request.texts.empty() + !request.text.empty() + !arguments.image.empty() != 1)
        throw UsageError("Give --texts FILE, --text TEXT or, for models that read pictures, --image FILE");
    std::optional<Offscreen> offscreen;  // Qt decodes pictures, too
    if (figure::is_picture(arguments.out.path) || !arguments.image.empty()) offscreen.emplace();
    require_relevant(*arguments.app, request);
    const map::MapOptions& options = request.options;
    std::vector<corpus::Text> texts;
    if (arguments.image.empty()) texts = texts_of(request, console);
    const Loaded loaded = load_model(arguments.model, arguments.compute, console);
    map::GatherOptions gather = request.gather;
    gather.seed = options.seed;
    const bool two_texts = loaded.model->config().stack == model::Stack::decoder;
    gather.stack = !two_texts                                    ? model::Stack::whole
                   : request.gather.stack == model::Stack::whole ? model::Stack::decoder
                                                                 : request.gather.stack;
    const bool of_part = two_texts && gather.stack != model::Stack::decoder;
    const model::ModelConfig& c = of_part ? loaded.model->part(gather.stack)->config() : loaded.model->config();
    gather.heads = chosen_heads(arguments, c);
    const auto vectors = arguments.image.empty()
                             ? map::gather_texts(loaded.model, loaded.tokenizer, texts, gather, loaded.cancel, console.progress())
                             : map::gather_pictures(loaded.model, loaded.tokenizer, figure::picture_files(arguments.image),
                                                    figure::read_picture, gather, loaded.cancel, console.progress())
                                   .vectors;
    console.clear_progress();
    map::MapRun run(vectors, options, arguments.cache);
    run.run(arguments.compute.threads, loaded.cancel, console.progress());
    console.clear_progress();
    const map::QueryKeyMap map = run.map();
    if (figure::is_picture(arguments.out.path)) {
        for (const std::string& note : map.notes) console.note(note);
        console.note(counts_of(map) + summary(map));
        draw(arguments, loaded, map, console);
        return 0;
    }

    Result result;
    result.facts = facts_of(*loaded.model);
    result
        .fact(map.pictures ? "image" : "texts", map.pictures            ? arguments.image
                                                : request.texts.empty() ? request.text
                                                                        : request.texts)
        .fact("tokens", std::ssize(map.tokens.tokens))
        .fact("texts_left_out", map.tokens.left_out)
        .fact("preset", std::string(enum_word(options.preset)))
        .fact("method", std::string(enum_word(options.projection)))
        .fact("dims", static_cast<std::int64_t>(options.dims))
        .fact("scale", std::string(enum_word(options.scale)))
        .fact("seed", options.seed)
        .fact("rotated", map.rotated);
    if (options.projection == map::Projection::tsne) result.fact("perplexity", map::perplexity_of(options));
    result.notes(map.notes, console);
    console.note(counts_of(map) + summary(map));
    result.table = npz ? map::map_arrays(map) : map::points_table(map);
    if (arguments.points) {
        write_npz(result, map::vector_streams(vectors), arguments.out.path);
        console.wrote(arguments.out.path);
    } else {
        arguments.out.write(result, console);
    }
    return 0;
}

}  // namespace

Action define_map(Definition& definition, const Frontend&) {
    auto o = std::make_shared<MapArguments>();
    o->app = definition.app.get();
    o->model.add(definition);
    CLI::App& app = *definition.app;
    CLI::Option* texts = add_path(definition, "--texts", o->request.texts,
                                  "the texts, one a line, or records, or a treebank, or a folder of them, or a corpus store; "
                                  "of an encoder-decoder model: source TAB target",
                                  "FILE|STORE");
    CLI::Option* text = add_value(definition, "--text", o->request.text, "one text", "TEXT")->excludes(texts);
    add_path(definition, "--image", o->image, "for models that read pictures: a picture, or a folder of them", "FILE|FOLDER")
        ->excludes(texts)
        ->excludes(text);
    add_fields(definition, o->request);
    app.add_flag_callback(
        "--no-labels", [&look = o->request.look] { look.token_labels = look.region_labels = false; },
        "--no-token-labels and --no-region-labels");
    add_index(definition, "--layer", o->layer, "only the heads of this layer", "L");
    add_index(definition, "--head", o->head, "only the head with this number in every layer", "H");
    app.add_flag("--points", o->points, "NPZ: also the queries and keys themselves");
    add_path(definition, "--cache", o->cache, "a folder that caches finished heads", "FOLDER", ValueKind::folder);
    o->picture.add_theme(definition);
    o->picture.add_size(definition);
    o->out.add(definition, figure::file_endings());
    o->compute.add(definition);
    return [o, console = definition.console] { return run_map(*o, *console); };
}

}  // namespace headlight::cli
