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
    SweepRequest asked;
    std::string layers, heads;
    bool forecast = false;
    PictureOptions picture;
    ResultFile out;

    bool is_picture() const { return !out.path.empty() && !figure::is_data(figure::format_of(out.path)); }
};

void check(const SweepArguments& a) {
    if (a.asked.pairs.empty() == a.asked.clean.empty()) throw UsageError("Give --clean TEXT or --pairs FILE");
    if (!a.asked.pairs.empty() &&
        !(a.asked.answers.empty() && a.asked.wrong.empty() && a.asked.corrupt.empty() && a.asked.places.empty()))
        throw UsageError("--pairs: texts, answers and named positions are those of the file");
    if (a.asked.options.ablation == Ablation::none && a.asked.pairs.empty() && a.asked.corrupt.empty())
        throw UsageError("Give --corrupt TEXT to patch, or --ablate");
    if (a.asked.options.ablation != Ablation::none && !a.asked.corrupt.empty())
        throw UsageError("--ablate: there is no second text (--corrupt)");
}

void draw(const SweepArguments& a, const model::Model& model, SweepResult result, const Console& console) {
    const Offscreen offscreen;
    const figure::ExportOptions output = a.picture.chosen();
    const figure::Provenance made = figure::sweep_provenance(model, a.asked, a.compute.dtype, output,
                                                             std::filesystem::path(a.out.path).extension().string().substr(1));
    const auto drawn = figure::sweep_figure(std::make_shared<const SweepResult>(std::move(result)));
    figure::export_figure(*drawn, {}, made, output, a.out.path);
    console.note("wrote " + a.out.path);
}

int run(SweepArguments a, const Console& console) {
    check(a);
    if (!a.forecast) a.out.check();
    SweepOptions& o = a.asked.options;
    if (!a.layers.empty()) o.layers = parse_index_list(a.layers, "--layers");
    if (!a.heads.empty()) o.heads = parse_index_list(a.heads, "--heads");
    o.memory = std::min(o.memory, memory_budget() / 4);
    const Loaded loaded = load_model(a.model, a.compute, console);
    const std::vector<SweepPair> pairs = pairs_of(a.asked, loaded.model->config(), *loaded.tokenizer);
    const SweepForecast forecast = forecast_sweep(loaded.model, pairs, o, loaded.cancel);
    console.note(forecast.text());
    if (a.forecast) return 0;
    const SweepResult found = run_sweep(loaded.model, pairs, o, loaded.cancel, console.progress());
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
    result.fact("site", std::string(enum_word(o.grid))).fact("metric", std::string(enum_word(o.metric)));
    if (o.ablation == Ablation::none)
        result.fact("direction", std::string(enum_word(o.direction)));
    else
        result.fact("ablation", std::string(enum_word(o.ablation)));
    result.fact("effect", std::string(enum_word(found.options.effect)));
    for (const std::string& receiver : o.to) result.fact("to", receiver);
    if (o.method != Method::exact) result.fact("method", std::string(enum_word(o.method)));
    result.fact("window", o.window).fact("pairs", std::ssize(pairs));
    if (a.asked.pairs.empty()) {
        result.fact("clean", a.asked.clean);
        if (!a.asked.corrupt.empty()) result.fact("corrupt", a.asked.corrupt);
        for (const auto* ids : {&pairs.front().answers, &pairs.front().wrong})
            for (const std::int64_t id : *ids)
                result.fact(ids == &pairs.front().answers ? "answer" : "wrong", loaded.tokenizer->token_of(id));
    } else {
        result.fact("pairs_file", std::filesystem::path(a.asked.pairs).filename().string());
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
    text("--clean", options->asked.clean, "TEXT", "the text with the right answer");
    text("--corrupt", options->asked.corrupt, "TEXT", "the same with what is asked about changed");
    CLI::Option* pairs = text("--pairs", options->asked.pairs, "FILE", "pairs of texts with answers, one JSON object a line");
    definition.kinds[pairs] = ValueKind::file;
    text("--target", options->asked.target, "TEXT",
         "encoder-decoder models: what the decoder reads; the other texts are the encoder's");
    definition.app
        ->add_option("--answer", options->asked.answers, "the right next token, with its leading space; several: repeat it")
        ->type_name("TOKEN")
        ->allow_extra_args(false);
    definition.app->add_option("--wrong", options->asked.wrong, "the wrong one, for logit-diff")
        ->type_name("TOKEN")
        ->allow_extra_args(false);
    definition.add_enum("--site", options->asked.options.grid, "what is edited, cell by cell");
    definition.add_enum("--metric", options->asked.options.metric, "what is measured");
    text("--position", options->asked.position, "POSITION", "where the answer is read: END, a token's number, a named position")
        ->capture_default_str();
    definition.app
        ->add_option("--at", options->asked.places,
                     "names a position of --clean: subject=\"The Eiffel Tower\", or its tokens: subject=1-4")
        ->type_name("NAME=PLACE")
        ->allow_extra_args(false);
    definition.app->add_flag("--by-name", options->asked.options.by_name,
                             "positions are the named ones (END is one), as for pairs of unequal length");
    definition.add_enum("--direction", options->asked.options.direction,
                        "denoise: run the corrupt text with parts of the clean run; noise: the other way round");
    definition.add_enum("--ablate", options->asked.options.ablation, "edit the clean text alone");
    definition.add_enum("--effect", options->asked.options.effect, "total, or direct: later heads keep their outputs");
    definition.app
        ->add_option("--to", options->asked.options.to,
                     "only the path through these queries, keys or values: L5H7.k; several: repeat it")
        ->type_name("HEAD.SITE")
        ->allow_extra_args(false);
    definition.add_enum("--method", options->asked.options.method,
                        "exact; attribution: estimates from one backward pass; both: also the error of the estimates");
    definition.app->add_option("--window", options->asked.options.window, "layers edited at once, around each layer")
        ->type_name("W")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
        ->capture_default_str();
    text("--layers", options->layers, "LIST", "only these: 0,2,5-7");
    text("--heads", options->heads, "LIST", "only these: 0,2,5-7");
    definition.app->add_option("--donors", options->asked.options.donors, "texts that --ablate resample draws from, at most")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
        ->capture_default_str();
    definition.app->add_option("--draws", options->asked.options.bootstrap.draws, "resamples of the pairs for intervals")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{100}, std::int64_t{1'000'000}))
        ->capture_default_str();
    definition.app->add_option("--seed", options->asked.options.bootstrap.seed, "of resamples and donors")
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
