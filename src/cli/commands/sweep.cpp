// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/sweep.h"
#include "cli/offscreen.h"
#include "cli/picture_options.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "cli/token_option.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/export/export.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/figure/sweep/sweep_figure.h"
#include "headlight/intervention/tasks/task_pairs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

namespace headlight::cli {
namespace {

using namespace intervention;

struct SweepArguments {
    CLI::App* app = nullptr;
    ModelArgument model;
    ComputeOptions compute;
    SweepRequest asked;
    std::string image, corrupt_image;  ///< in place of texts
    std::string layers, heads;
    bool forecast = false, resume = false;
    PictureOptions picture;
    ResultFile out;

    std::filesystem::path unfinished() const { return out.path + ".unfinished"; }
    bool is_picture() const { return !out.path.empty() && !figure::is_data(figure::format_of(out.path)); }
};

void check_unused(const SweepArguments& a) {
    const SweepOptions& o = a.asked.options;
    const bool ablates = o.ablation != Ablation::none, one = a.asked.pairs.empty() && o.noise.empty();
    refuse_unused(
        *a.app,
        {{"--answer", o.metric == Metric::kl || o.metric == Metric::loss, "the metric reads no answer"},
         {"--wrong", o.metric != Metric::logit_diff, "only the metric logit-diff reads a wrong answer"},
         {"--position", o.metric == Metric::loss, "the loss is that of the whole text"},
         {"--direction", ablates, "an ablation has one text"},
         {"--effect", !o.to.empty(), "with --to the effect is that of the path"},
         {"--by-name", !has_position(o.grid), "the site has no positions"},
         {"--at", a.asked.pairs.empty() && !uses_places(a.asked),
          "nothing reads the names: give --by-name, --noise or --position"},
         {"--heads", !has_head(o.grid), "the site has no heads"},
         {"--noise-scale", o.noise.empty(), "there is no --noise"},
         {"--noise-draws", o.noise.empty(), "there is no --noise"},
         {"--over", o.ablation != Ablation::mean && o.ablation != Ablation::resample, "it is for --ablate mean and resample"},
         {"--per-position", o.ablation != Ablation::mean || a.asked.over.empty(), "it is for --ablate mean with --over FILE"},
         {"--donors", o.ablation != Ablation::resample, "it is for --ablate resample"},
         {"--draws", one, "one pair has no interval"},
         {"--seed", one && o.ablation != Ablation::resample, "nothing is drawn"}});
}

void check(const SweepArguments& a) {
    if (a.asked.pairs.empty() == a.asked.clean.empty()) throw UsageError("Give --clean TEXT, --image FILE or --pairs FILE");
    if (!a.asked.pairs.empty() &&
        !(a.asked.answers.empty() && a.asked.wrong.empty() && a.asked.corrupt.empty() && a.asked.places.empty()))
        throw UsageError("--pairs: texts, answers and named positions are those of the file");
    const bool noise = !a.asked.options.noise.empty();
    if (noise && !a.asked.corrupt.empty()) throw UsageError("--noise: the corrupt text is the clean one with noise (--corrupt)");
    if (a.asked.options.ablation == Ablation::none && a.asked.pairs.empty() && a.asked.corrupt.empty() && !noise)
        throw UsageError(a.image.empty() ? "Give --corrupt TEXT to patch, --noise, or --ablate"
                                         : "Give --corrupt-image FILE to patch, or --ablate");
    if (a.asked.options.ablation != Ablation::none && !a.asked.corrupt.empty())
        throw UsageError(a.image.empty() ? "--ablate: there is no second text (--corrupt)"
                                         : "--ablate: there is no second picture (--corrupt-image)");
    check_unused(a);
    if (a.resume && a.out.path.empty()) throw UsageError("--resume: name the file that the sweep writes (--out)");
    if (a.forecast || a.resume || a.out.path.empty()) return;
    if (std::filesystem::exists(a.unfinished()))
        throw Error(ErrorFacts{.problem = "A sweep into this file has not finished",
                               .file = a.unfinished().string(),
                               .hint = "Go on with --resume, or delete this file to begin anew"});
}

/// A picture for a model of texts, or the other way round.
void check_kind(const SweepArguments& a, const model::ModelConfig& c) {
    const bool pictures = model::reads_pictures(c);
    if (!a.asked.pairs.empty() || pictures != a.image.empty()) return;
    throw Error(ErrorFacts{.problem = c.name + (pictures ? " reads pictures" : " reads text"),
                           .item = pictures ? "--clean" : "--image",
                           .found = a.asked.clean,
                           .hint = pictures ? "Give --image FILE" : "Give --clean TEXT, or a model that reads pictures"});
}

/// With --out what is computed is kept beside the file until the sweep is done.
SweepResult run_kept(const SweepArguments& a, const Loaded& loaded, const std::vector<SweepPair>& pairs, const Console& console) {
    SweepRun sweep(loaded.model, pairs, a.asked.options);
    const std::string file = a.unfinished().string();
    if (!a.out.path.empty()) {
        const std::int64_t there = sweep.keep_in(file, figure::sweep_facts(*loaded.model, a.asked, a.compute.dtype));
        if (a.resume)
            console.note(there > 0 ? "going on: " + with_commas(there) + " cells are in " + file
                                   : "there is no " + file + " to go on from: the sweep begins anew");
    }
    try {
        sweep.run(loaded.cancel, console.progress());
    } catch (const Cancelled&) {
        console.clear_progress();
        if (!a.out.path.empty() && std::filesystem::exists(file))
            console.note("what is computed is in " + file + "; the same command with --resume goes on from it");
        throw;
    }
    console.clear_progress();
    return sweep.result();
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
    if (!a.image.empty()) a.asked.clean = a.image, a.asked.corrupt = a.corrupt_image;
    check(a);
    if (!a.forecast) a.out.check();
    SweepOptions& o = a.asked.options;
    if (!a.layers.empty()) o.layers = parse_index_list(a.layers, "--layers");
    if (!a.heads.empty()) o.heads = parse_index_list(a.heads, "--heads");
    o.memory = std::min(o.memory, memory_budget() / 4);
    const Loaded loaded = load_model(a.model, a.compute, console);
    check_kind(a, loaded.model->config());
    std::optional<Offscreen> offscreen;  // an SVG's text is drawn with Qt's fonts
    if (model::reads_pictures(loaded.model->config())) offscreen.emplace();
    const std::vector<SweepPair> pairs = asked_pairs(a.asked, *loaded.model, *loaded.tokenizer, figure::read_picture);
    if (!a.asked.over.empty())
        o.over = texts_over(a.asked, *loaded.model, *loaded.tokenizer, figure::read_picture, loaded.cancel);
    for (const std::string& note : answer_notes(loaded.model, *loaded.tokenizer, a.asked, pairs)) console.note(note);
    const SweepForecast forecast = forecast_sweep(loaded.model, pairs, o, loaded.cancel);
    console.note(forecast.text());
    if (a.forecast) return 0;
    const SweepResult found = run_kept(a, loaded, pairs, console);
    char took[48];
    std::snprintf(took, sizeof took, "swept in %.3f s", found.seconds);
    console.note(took);
    if (a.is_picture()) {
        for (const std::string& note : found.notes) console.note(note);
        draw(a, *loaded.model, found, console);
        std::filesystem::remove(a.unfinished());
        return 0;
    }
    Result result{.table = table_of(found), .facts = facts_of(*loaded.model)};
    result.fact("site", std::string(enum_word(o.grid))).fact("metric", std::string(enum_word(o.metric)));
    if (o.ablation == Ablation::none)
        result.fact("direction", std::string(enum_word(o.direction)));
    else
        result.fact("ablation", std::string(enum_word(o.ablation)));
    result.fact("effect", std::string(enum_word(found.options.effect)));
    if (o.attention != model::Stack::decoder) result.fact("attention", std::string(enum_word(o.attention)));
    for (const std::string& receiver : o.to) result.fact("to", receiver);
    if (o.method != Method::exact) result.fact("method", std::string(enum_word(o.method)));
    if (!o.noise.empty()) result.fact("noise", o.noise).fact("noise_scale", o.noise_scale).fact("noise_draws", o.noise_draws);
    if (!a.asked.over.empty())
        result.fact("over", std::filesystem::path(a.asked.over).filename().string()).fact("per_position", o.per_position);
    if (o.ablation == Ablation::resample) result.fact("donors", o.donors);
    if (const std::string& at = a.asked.position; at != "END") {
        const bool is_name = at.find_first_not_of("0123456789") != std::string::npos;
        is_name ? result.fact("position", at) : result.fact("position", std::int64_t{pairs.front().clean.end});
    }
    if (!a.asked.target.empty()) result.fact("target", a.asked.target);
    result.fact("window", o.window).fact("pairs", std::ssize(pairs));
    if (a.asked.pairs.empty()) {
        result.fact(a.image.empty() ? "clean" : "image", a.asked.clean);
        if (!a.asked.corrupt.empty()) result.fact(a.image.empty() ? "corrupt" : "corrupt_image", a.asked.corrupt);
        for (const auto* ids : {&pairs.front().answers, &pairs.front().wrong})
            for (const std::int64_t id : *ids)
                result.fact(ids == &pairs.front().answers ? "answer" : "wrong",
                            output_fact(loaded.model->config(), *loaded.tokenizer, id));
    } else {
        result.fact("pairs_file", std::filesystem::path(a.asked.pairs).filename().string());
    }
    result.fact("clean_metric", found.clean_mean());
    if (!found.corrupt.empty()) result.fact("corrupt_metric", found.corrupt_mean());
    // Draws of one text's noise are pairs of the result.
    if (found.effects.size() > 1) result.fact("bootstrap_draws", o.bootstrap.draws).fact("seed", o.bootstrap.seed);
    result.notes(found.notes, console);
    a.out.write(result, console);
    if (!a.out.path.empty()) std::filesystem::remove(a.unfinished());
    return 0;
}

}  // namespace

Action define_sweep(Definition& definition, const Frontend&) {
    auto options = std::make_shared<SweepArguments>();
    options->app = definition.app.get();
    options->model.add(definition);
    CLI::Option* clean = add_value(definition, "--clean", options->asked.clean, "the text with the right answer", "TEXT");
    CLI::Option* corrupt =
        add_value(definition, "--corrupt", options->asked.corrupt, "the same with what is asked about changed", "TEXT");
    CLI::Option* image =
        add_path(definition, "--image", options->image, "models that read pictures: the picture of the right answer")
            ->excludes(clean)
            ->excludes(corrupt);
    add_path(definition, "--corrupt-image", options->corrupt_image, "another one, to patch from or into")->needs(image);
    add_path(definition, "--pairs", options->asked.pairs,
             "pairs of texts with answers, one JSON object a line; or a task of check-tasks: ioi, greater-than, induction …");
    add_value(definition, "--target", options->asked.target,
              "encoder-decoder models: what the decoder reads; the other texts are the encoder's", "TEXT");
    add_value(definition, "--answer", options->asked.answers,
              "the right next token, with its leading space, or the class of a picture; several: repeat it", "TOKEN")
        ->allow_extra_args(false);
    add_value(definition, "--wrong", options->asked.wrong, "the wrong one, for logit-diff", "TOKEN")->allow_extra_args(false);
    definition.add_enum("--site", options->asked.options.grid, "what is edited, cell by cell");
    definition.add_enum("--metric", options->asked.options.metric, "what is measured");
    add_value(definition, "--position", options->asked.position,
              "where the answer is read: END, a token's number, a named position", "POSITION")
        ->capture_default_str();
    add_value(definition, "--at", options->asked.places,
              "names a position of --clean: subject=\"The Eiffel Tower\", or its tokens: subject=1-4", "NAME=PLACE")
        ->allow_extra_args(false);
    definition.app->add_flag("--by-name", options->asked.options.by_name,
                             "positions are the named ones (END is one), as for pairs of unequal length");
    definition.add_enum("--direction", options->asked.options.direction,
                        "denoise: run the corrupt text with parts of the clean run; noise: the other way round");
    definition.add_enum("--ablate", options->asked.options.ablation, "edit the clean text alone");
    definition.add_enum("--attention", options->asked.options.attention,
                        "encoder-decoder models: whose heads and patterns are edited");
    definition.add_enum("--effect", options->asked.options.effect,
                        "total; direct: other heads keep their outputs; both: one against the other, as a scatter");
    add_value(definition, "--to", options->asked.options.to,
              "only the path through these queries, keys or values: L5H7.k; several: repeat it", "HEAD.SITE")
        ->allow_extra_args(false);
    definition.add_enum("--method", options->asked.options.method,
                        "exact; attribution: estimates from one backward pass; both: also the error of the estimates");
    add_count(definition, "--window", options->asked.options.window, "layers edited at once, around each layer", 1, 1000, "W");
    add_value(definition, "--layers", options->layers, "only these: 0,2,5-7", "LIST");
    add_value(definition, "--heads", options->heads, "only these: 0,2,5-7", "LIST");
    add_value(definition, "--noise", options->asked.options.noise,
              "causal tracing: the corrupt text is the clean one with noise on the embeddings of this named place (--at)",
              "NAME");
    add_number(definition, "--noise-scale", options->asked.options.noise_scale,
               "standard deviation of the noise, in those of the place's embeddings", 1e-6, 1e6, "X");
    add_count(definition, "--noise-draws", options->asked.options.noise_draws, "how often noise is drawn, for each text", 1,
              1000);
    add_path(definition, "--over", options->asked.over,
             "--ablate mean, resample: texts (the files of pictures) in place of the pairs' clean ones, one a line");
    definition.app->add_flag("--per-position", options->asked.options.per_position,
                             "--over: the mean position by position, of texts that have the length of the clean one");
    add_count(definition, "--donors", options->asked.options.donors, "texts that --ablate resample draws from, at most", 1, 1000);
    add_count(definition, "--draws", options->asked.options.bootstrap.draws, "resamples of the pairs for intervals", 100,
              1'000'000);
    add_seed(definition, options->asked.options.bootstrap.seed, "of resamples and donors");
    definition.app->add_flag("--forecast", options->forecast, "print what it will cost and stop");
    definition.app->add_flag("--resume", options->resume,
                             "go on with a sweep that was stopped or killed, from FILE.unfinished beside --out FILE");
    options->compute.add(definition);
    options->picture.add_theme(definition);
    options->picture.add_size(definition);
    options->out.add(definition, {".csv", ".json", ".npz", ".png", ".svg", ".pdf"});
    return [options, console = definition.console] { return run(*options, *console); };
}

}  // namespace headlight::cli
