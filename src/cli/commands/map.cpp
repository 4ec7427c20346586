// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/offscreen.h"
#include "cli/picture_options.h"
#include "cli/result_file.h"
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
    ModelArgument model;
    ComputeOptions compute;
    std::string cache;
    std::int64_t layer = -1, head = -1, dims = 2;
    figure::MapRequest request;
    model::Stack stack = model::Stack::decoder;
    bool points = false;
    PictureOptions picture;
    ResultFile out;
    std::string image;  ///< a picture or a folder of them

    bool is_picture() const { return !out.path.empty() && !figure::is_data(figure::format_of(out.path)); }
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
    request.gather.stack = arguments.stack;
    request.options.dims = static_cast<int>(arguments.dims);
    request.output = arguments.picture.chosen();
    mark_what_is_sought(request, map, *loaded.tokenizer, console);
    figure::MapFigure drawn(std::move(map), request.look);
    const std::string format = std::filesystem::path(arguments.out.path).extension().string().substr(1);
    figure::export_figure(drawn, {}, figure::map_provenance(*loaded.model, drawn.map(), request, format), request.output,
                          arguments.out.path);
    console.note("wrote " + arguments.out.path);
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
    const figure::MapRequest& request = arguments.request;
    if (!request.texts.empty() + !request.text.empty() + !arguments.image.empty() != 1)
        throw UsageError("Give --texts FILE, --text TEXT or, for models that read pictures, --image FILE");
    std::optional<Offscreen> offscreen;  // Qt decodes pictures, too
    if (arguments.is_picture() || !arguments.image.empty()) offscreen.emplace();
    if (arguments.dims == 2 && (request.look.yaw != 0 || request.look.pitch != 0))
        throw UsageError("--yaw and --pitch turn maps of --dims 3");
    map::MapOptions options = request.options;
    options.dims = static_cast<int>(arguments.dims);
    std::vector<corpus::Text> texts;
    if (arguments.image.empty()) texts = texts_of(request, console);
    const Loaded loaded = load_model(arguments.model, arguments.compute, console);
    map::GatherOptions gather = request.gather;
    gather.seed = options.seed;
    const bool two_texts = loaded.model->config().stack == model::Stack::decoder;
    if (two_texts) gather.stack = arguments.stack;
    const model::ModelConfig& c = two_texts && arguments.stack != model::Stack::decoder
                                      ? loaded.model->part(arguments.stack)->config()
                                      : loaded.model->config();
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
    if (arguments.is_picture()) {
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
        .fact("dims", arguments.dims)
        .fact("scale", std::string(enum_word(options.scale)))
        .fact("seed", static_cast<std::int64_t>(options.seed))
        .fact("rotated", std::string(map.rotated ? "yes" : "no"));
    if (options.projection == map::Projection::tsne) result.fact("perplexity", significant(map::perplexity_of(options)));
    result.notes(map.notes, console);
    console.note(counts_of(map) + summary(map));
    result.table = arguments.out.path.ends_with(".npz") ? map::map_arrays(map, arguments.points ? vectors.get() : nullptr)
                                                        : map::points_table(map);
    arguments.out.write(result, console);
    return 0;
}

/// What a picture of the map looks like.
void add_look(Definition& definition, MapArguments& o) {
    CLI::App& app = *definition.app;
    figure::MapLook& look = o.request.look;
    definition.add_enum("--color", look.color, "pictures: the meaning of a point's colour");
    app.add_flag("--size-by-norm", look.size_by_norm, "pictures of one head: longer vectors are larger");
    const auto without = [&](const char* flag, std::vector<bool*> fields, const char* help) {
        app.add_flag_callback(
            flag,
            [fields] {
                for (bool* field : fields) *field = false;
            },
            help);
    };
    without("--no-queries", {&look.queries}, "pictures without queries");
    without("--no-keys", {&look.keys}, "pictures without keys");
    without("--no-apart", {&look.apart}, "pictures without first and special tokens");
    without("--no-labels", {&look.token_labels, &look.region_labels}, "pictures of one head: no names of tokens and regions");
    without("--no-thumbnails", {&look.thumbnails}, "maps of pictures: draw points instead of patches");
    add_number(definition, "--yaw", look.yaw, "pictures of --dims 3: turned about the upright axis", -360.0, 360.0, "DEGREES");
    add_number(definition, "--pitch", look.pitch, "pictures of --dims 3: then about the horizontal axis", -360.0, 360.0,
               "DEGREES");
    app.add_option("--mark", o.request.mark, "pictures: tokens to highlight; the others are grey")->type_name("SEARCH");
    definition.add_enum("--mark-by", o.request.mark_by, "how --mark is read");
    o.picture.add_theme(definition);
    o.picture.add_size(definition);
}

}  // namespace

Action define_map(Definition& definition, const Frontend&) {
    auto o = std::make_shared<MapArguments>();
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
    definition.add_enum("--method", o->request.options.projection, "how points are projected");
    add_count(definition, "--dims", o->dims, "axes of the picture: 2 or 3", 2, 3);
    definition.add_enum("--preset", o->request.options.preset,
                        "definition of nearness: the largest scores, scaled distance, or that of AttentionViz");
    definition.add_enum("--factor", o->request.options.scale, "the factor of queries in the presets scores and balanced");
    add_index(definition, "--layer", o->layer, "only the heads of this layer", "L");
    add_index(definition, "--head", o->head, "only the head with this number in every layer", "H");
    add_index(definition, "--tokens", o->request.gather.budget, "whole texts are drawn up to this many tokens; 0: all")
        ->capture_default_str();
    add_seed(definition, o->request.options.seed, "seed of the choice of texts, of t-SNE and of UMAP", "S");
    app.add_flag("--rotated", o->request.gather.rotated, "queries and keys after the rotation by their positions");
    definition.add_enum("--attention", o->stack, "encoder-decoder models: whose attention");
    app.add_flag("--with-apart", o->request.options.with_apart, "first and special tokens count like all others");
    add_value(definition, "--perplexity", o->request.options.perplexity, "of t-SNE (default: 30; attentionviz: 50)", "X")
        ->check(not_negative());
    add_value(definition, "--iterations", o->request.options.iterations,
              "of t-SNE (default: 750) or UMAP (default: 500, 200 above 10,000 points)", "N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--points", o->points, "NPZ: also the queries and keys themselves");
    add_path(definition, "--cache", o->cache, "a folder that caches finished heads", "FOLDER", ValueKind::folder);
    add_look(definition, *o);
    o->out.add(definition, {".npz", ".csv", ".json", ".png", ".svg", ".pdf"});
    o->compute.add(definition);
    return [o, console = definition.console] { return run_map(*o, *console); };
}

}  // namespace headlight::cli
