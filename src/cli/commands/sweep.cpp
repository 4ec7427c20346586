// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/sweep.h"
#include "cli/offscreen.h"
#include "cli/picture_options.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/version.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/export/export.h"
#include "headlight/figure/sweep/sweep_figure.h"
#include "headlight/intervention/sweep/pairs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

namespace headlight::cli {
namespace {

using namespace intervention;

struct SweepArguments {
    ModelArgument model;
    ComputeOptions compute;
    std::string clean, corrupt, pairs, target, position = "END", layers, heads;
    std::vector<std::string> answers, wrong, places;
    SweepOptions options;
    bool forecast = false;
    PictureOptions picture;
    ResultFile out;

    bool is_picture() const { return !out.path.empty() && !figure::is_data(figure::format_of(out.path)); }
};

/// "subject=The Eiffel Tower", "subject=1-4": words, or positions.
std::map<std::string, PlaceText> places_of(const SweepArguments& a) {
    std::map<std::string, PlaceText> places;
    for (const std::string& typed : a.places) {
        const std::size_t equals = typed.find('=');
        if (equals == std::string::npos || equals == 0)
            throw UsageError("--at: write NAME=WORDS or NAME=POSITIONS, not " + typed);
        const std::string where = typed.substr(equals + 1);
        PlaceText& place = places[typed.substr(0, equals)];
        if (where.find_first_not_of("0123456789,-") == std::string::npos)
            place.positions = parse_index_list(where, "--at");
        else
            place.words = where;
    }
    return places;
}

std::vector<SweepPair> pairs_of(const SweepArguments& a, const model::ModelConfig& c, const text::Tokenizer& tokenizer) {
    std::vector<SweepPair> pairs;
    if (has_cross_attention(c) && (a.position != "END" || !a.places.empty()))
        throw UsageError("--position, --at: the answer of an encoder-decoder model follows what the decoder reads (--target)");
    if (!a.pairs.empty())
        pairs = read_pairs(a.pairs, tokenizer, a.position);
    else
        pairs.push_back(sweep_pair(tokenizer, a.clean, a.corrupt, a.answers, a.wrong, a.position, places_of(a)));
    if (!a.target.empty() && !has_cross_attention(c)) throw UsageError("--target: this model reads no second text");
    if (has_cross_attention(c))
        for (SweepPair& pair : pairs) put_behind_encoder(pair, c, tokenizer, a.target);
    if (a.options.ablation != Ablation::none) return pairs;
    for (const SweepPair& pair : pairs)
        if (pair.corrupt.ids.empty())
            throw Error(ErrorFacts{.problem = "A pair has no corrupt text to patch from or into",
                                   .file = a.pairs,
                                   .item = "pair " + std::to_string(&pair - pairs.data() + 1),
                                   .hint = "Give one, or ablate: --ablate zero"});
    return pairs;
}

void check(const SweepArguments& a) {
    if (a.pairs.empty() == a.clean.empty()) throw UsageError("Give --clean TEXT or --pairs FILE");
    if (!a.pairs.empty() && !(a.answers.empty() && a.wrong.empty() && a.corrupt.empty() && a.places.empty()))
        throw UsageError("--pairs: texts, answers and named positions are those of the file");
    if (a.options.ablation == Ablation::none && a.pairs.empty() && a.corrupt.empty())
        throw UsageError("Give --corrupt TEXT to patch, or --ablate");
    if (a.options.ablation != Ablation::none && !a.corrupt.empty())
        throw UsageError("--ablate: there is no second text (--corrupt)");
}

/// `headlight sweep …` as it was asked for, for the figure's footer and metadata.
std::string command_of(const SweepArguments& a) {
    std::string command = "headlight sweep " + figure::shell_word(a.model.reference());
    const auto put = [&](const char* name, const std::string& value) {
        if (!value.empty()) command += std::string(" --") + name + " " + figure::shell_word(value);
    };
    put("clean", a.clean);
    put("corrupt", a.corrupt);
    if (!a.pairs.empty()) put("pairs", std::filesystem::absolute(a.pairs).lexically_normal().string());
    put("target", a.target);
    for (const std::string& answer : a.answers) put("answer", answer);
    for (const std::string& answer : a.wrong) put("wrong", answer);
    put("site", std::string(enum_word(a.options.grid)));
    put("metric", std::string(enum_word(a.options.metric)));
    if (a.position != "END") put("position", a.position);
    if (a.options.ablation == Ablation::none)
        put("direction", std::string(enum_word(a.options.direction)));
    else
        put("ablate", std::string(enum_word(a.options.ablation)));
    if (a.options.effect != Effect::total) put("effect", std::string(enum_word(a.options.effect)));
    if (a.options.window > 1) put("window", std::to_string(a.options.window));
    for (const std::string& place : a.places) put("at", place);
    if (a.options.by_name) command += " --by-name";
    put("layers", a.layers);
    put("heads", a.heads);
    const SweepOptions usual;
    const auto put_number = [&](const char* name, auto value, auto otherwise) {
        if (value != otherwise) put(name, std::to_string(value));
    };
    put_number("donors", a.options.donors, usual.donors);
    put_number("draws", a.options.bootstrap.draws, usual.bootstrap.draws);
    put_number("seed", a.options.bootstrap.seed, usual.bootstrap.seed);
    if (a.compute.dtype != ComputeOptions().dtype) put("dtype", a.compute.dtype);
    return command;
}

void draw(const SweepArguments& a, const model::Model& model, SweepResult result, const Console& console) {
    const Offscreen offscreen;
    figure::Provenance made;
    made.model = model.config().name;
    for (const auto& [name, value] : facts_of(model))
        if (name == "model_sha256") made.model_hash = value;
    made.text = a.clean;
    made.pair = a.corrupt;
    made.dtype = a.compute.dtype;
    made.version = version();
    made.command = command_of(a);
    const auto drawn = figure::sweep_figure(std::make_shared<const SweepResult>(std::move(result)));
    figure::export_figure(*drawn, {}, made, a.picture.chosen(), a.out.path);
    console.note("wrote " + a.out.path);
}

int run(SweepArguments a, const Console& console) {
    check(a);
    if (!a.forecast) a.out.check();
    if (!a.layers.empty()) a.options.layers = parse_index_list(a.layers, "--layers");
    if (!a.heads.empty()) a.options.heads = parse_index_list(a.heads, "--heads");
    a.options.memory = std::min(a.options.memory, memory_budget() / 4);
    const Loaded loaded = load_model(a.model, a.compute, console);
    const std::vector<SweepPair> pairs = pairs_of(a, loaded.model->config(), *loaded.tokenizer);
    const SweepForecast forecast = forecast_sweep(loaded.model, pairs, a.options, loaded.cancel);
    console.note(forecast.text());
    if (a.forecast) return 0;
    const SweepResult found = run_sweep(loaded.model, pairs, a.options, loaded.cancel, console.progress());
    console.clear_progress();
    char took[48];
    std::snprintf(took, sizeof took, "swept in %.3f s", found.seconds);
    console.note(took);
    if (a.is_picture()) {
        for (const std::string& note : found.notes) console.note(note);
        draw(a, *loaded.model, found, console);
        return 0;
    }
    Result result{.table = table_of(found), .facts = facts_of(*loaded.model)};
    const SweepOptions& o = a.options;
    result.fact("site", std::string(enum_word(o.grid))).fact("metric", std::string(enum_word(o.metric)));
    if (o.ablation == Ablation::none)
        result.fact("direction", std::string(enum_word(o.direction)));
    else
        result.fact("ablation", std::string(enum_word(o.ablation)));
    result.fact("effect", std::string(enum_word(o.effect)));
    result.fact("window", o.window).fact("pairs", std::ssize(pairs));
    if (a.pairs.empty()) {
        result.fact("clean", a.clean);
        if (!a.corrupt.empty()) result.fact("corrupt", a.corrupt);
        for (const auto* ids : {&pairs.front().answers, &pairs.front().wrong})
            for (const std::int64_t id : *ids)
                result.fact(ids == &pairs.front().answers ? "answer" : "wrong", loaded.tokenizer->token_of(id));
    } else {
        result.fact("pairs_file", std::filesystem::path(a.pairs).filename().string());
    }
    result.fact("clean_metric", significant(found.clean_mean()));
    if (!found.corrupt.empty()) result.fact("corrupt_metric", significant(found.corrupt_mean()));
    if (pairs.size() > 1)
        result.fact("bootstrap_draws", o.bootstrap.draws).fact("seed", static_cast<std::int64_t>(o.bootstrap.seed));
    result.notes(found.notes, console);
    a.out.write(result, console);
    return 0;
}

}  // namespace

Action define_sweep(Definition& definition, const Frontend&) {
    auto options = std::make_shared<SweepArguments>();
    options->model.add(definition);
    const auto text = [&](const char* flag, std::string& value, const char* type, const char* help) {
        return definition.app->add_option(flag, value, help)->type_name(type);
    };
    text("--clean", options->clean, "TEXT", "the text with the right answer");
    text("--corrupt", options->corrupt, "TEXT", "the same with what is asked about changed");
    CLI::Option* pairs = text("--pairs", options->pairs, "FILE", "pairs of texts with answers, one JSON object a line");
    definition.kinds[pairs] = ValueKind::file;
    text("--target", options->target, "TEXT",
         "encoder-decoder models: what the decoder reads; the other texts are the encoder's");
    definition.app->add_option("--answer", options->answers, "the right next token, with its leading space; several: repeat it")
        ->type_name("TOKEN")
        ->allow_extra_args(false);
    definition.app->add_option("--wrong", options->wrong, "the wrong one, for logit-diff")
        ->type_name("TOKEN")
        ->allow_extra_args(false);
    definition.add_enum("--site", options->options.grid, "what is edited, cell by cell");
    definition.add_enum("--metric", options->options.metric, "what is measured");
    text("--position", options->position, "POSITION", "where the answer is read: END, a token's number, a named position")
        ->capture_default_str();
    definition.app
        ->add_option("--at", options->places,
                     "names a position of --clean: subject=\"The Eiffel Tower\", or its tokens: subject=1-4")
        ->type_name("NAME=PLACE")
        ->allow_extra_args(false);
    definition.app->add_flag("--by-name", options->options.by_name,
                             "positions are the named ones (END is one), as for pairs of unequal length");
    definition.add_enum("--direction", options->options.direction,
                        "denoise: run the corrupt text with parts of the clean run; noise: the other way round");
    definition.add_enum("--ablate", options->options.ablation, "edit the clean text alone");
    definition.add_enum("--effect", options->options.effect, "total, or direct: later heads keep their outputs");
    definition.app->add_option("--window", options->options.window, "layers edited at once, around each layer")
        ->type_name("W")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
        ->capture_default_str();
    text("--layers", options->layers, "LIST", "only these: 0,2,5-7");
    text("--heads", options->heads, "LIST", "only these: 0,2,5-7");
    definition.app->add_option("--donors", options->options.donors, "texts that --ablate resample draws from, at most")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
        ->capture_default_str();
    definition.app->add_option("--draws", options->options.bootstrap.draws, "resamples of the pairs for intervals")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{100}, std::int64_t{1'000'000}))
        ->capture_default_str();
    definition.app->add_option("--seed", options->options.bootstrap.seed, "of resamples and donors")
        ->type_name("N")
        ->capture_default_str();
    definition.app->add_flag("--forecast", options->forecast, "print what it will cost and stop");
    options->compute.add(definition);
    options->picture.add_theme(definition);
    options->picture.add_size(definition);
    options->out.add(definition, {".csv", ".json", ".npz", ".png", ".svg", ".pdf"});
    return [options, console = definition.console] { return run(*options, *console); };
}

}  // namespace headlight::cli
