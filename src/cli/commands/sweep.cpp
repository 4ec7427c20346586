// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/fields.h"
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
#include "headlight/figure/sweep/cumulative_figure.h"
#include "headlight/figure/sweep/sweep_figure.h"
#include "headlight/intervention/sweep/cumulative.h"
#include "headlight/intervention/sweep/request_fields.h"
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
    CumulativeRequest several;
    std::string by;                    ///< divides the site
    std::string image, corrupt_image;  ///< in place of texts
    bool forecast = false, resume = false;
    PictureOptions picture;
    ResultFile out;

    std::filesystem::path unfinished() const { return out.path + ".unfinished"; }
};

void check(const SweepArguments& a) {
    if (a.asked.pairs.empty() == a.asked.clean.empty()) throw UsageError("Give --clean TEXT, --image FILE or --pairs FILE");
    const bool patches = a.asked.options.ablation == Ablation::none, noise = !a.asked.options.noise.empty();
    require_relevant(*a.app, a.asked);
    require_relevant(*a.app, a.several);
    refuse_unused(*a.app, {{"--forecast", a.several.steps > 0, "--cumulative sweeps single heads first: forecast that sweep"},
                           {"--resume", a.several.steps > 0, "--cumulative begins anew"}});
    a.picture.check(*a.app, a.out.path);
    if (!a.corrupt_image.empty() && !patches) throw UsageError("--corrupt-image is for patching: an ablation has one picture");
    if (patches && a.asked.pairs.empty() && a.asked.corrupt.empty() && !noise)
        throw UsageError(a.image.empty() ? "Give --corrupt TEXT to patch, --noise, or --ablate"
                                         : "Give --corrupt-image FILE to patch, or --ablate");
    if (a.resume && a.out.path.empty()) throw UsageError("--resume: name the file that the sweep writes (--out)");
    if (a.forecast || a.resume || a.out.path.empty() || a.several.steps > 0) return;
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

/// "z" by "position" is the site z_by_position.
intervention::Grid divided(intervention::Grid site, const std::string& by) {
    if (by.empty()) return site;
    const std::string word(enum_word(site)), stem = word + "_by_";
    if (const auto found = enum_value<intervention::Grid>(stem + by)) return *found;
    std::string ways;
    for (const auto& row : enum_rows(site))
        if (row.word.starts_with(stem)) ways += (ways.empty() ? "" : " or ") + std::string(row.word.substr(stem.size()));
    throw UsageError("--by: the site " + word + (ways.empty() ? " is not divided further" : " is divided by " + ways));
}

/// Names the sites that --by divides once; both spellings are read.
void add_division(Definition& definition, std::string& by) {
    CLI::Option* site = definition.app->get_option("--site");
    std::vector<std::string> words = enum_words<intervention::Grid>();
    std::erase_if(words, [](const std::string& word) { return word.find("_by_") != std::string::npos; });
    std::string shown;
    for (const std::string& word : words) shown += (shown.empty() ? "" : "|") + word;
    site->type_name(shown);
    definition.choices[site] = std::move(words);
    definition
        .add_choice("--by", by, {"position", "destination", "edge"},
                    "divides --site: z, q, k, v and head_every by position, pattern by destination (its rows) or edge")
        ->default_str("");
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
    export_figure(*drawn, {}, made, output, a.out.path, console);
}

/// Facts of a sweep's texts and answers.
void add_texts(Result& result, const SweepArguments& a, const Loaded& loaded, const std::vector<SweepPair>& pairs) {
    if (const std::string& at = a.asked.position; at != "END") {
        const bool is_name = at.find_first_not_of("0123456789") != std::string::npos;
        is_name ? result.fact("position", at) : result.fact("position", std::int64_t{pairs.front().clean.end});
    }
    result.fact("pairs", std::ssize(pairs));
    if (!a.asked.pairs.empty()) {
        result.fact("pairs_file", std::filesystem::path(a.asked.pairs).filename().string());
        return;
    }
    result.fact(a.image.empty() ? "clean" : "image", a.asked.clean);
    if (!a.asked.corrupt.empty()) result.fact(a.image.empty() ? "corrupt" : "corrupt_image", a.asked.corrupt);
    for (const auto* ids : {&pairs.front().answers, &pairs.front().wrong})
        for (const std::int64_t id : *ids)
            result.fact(ids == &pairs.front().answers ? "answer" : "wrong",
                        output_fact(loaded.model->config(), *loaded.tokenizer, id));
}

/// Several heads at once.
int run_cumulative(const SweepArguments& a, const Loaded& loaded, const std::vector<SweepPair>& pairs, const Console& console) {
    const auto found = std::make_shared<const CumulativeResult>(
        cumulative_heads(loaded.model, pairs, a.asked.options, a.several, loaded.cancel, console.progress()));
    console.clear_progress();
    if (figure::is_picture(a.out.path)) {
        for (const std::string& note : found->notes) console.note(note);
        const Offscreen offscreen;
        const figure::ExportOptions output = a.picture.chosen();
        const std::string format = std::filesystem::path(a.out.path).extension().string().substr(1);
        const auto drawn = figure::cumulative_figure(found);
        export_figure(*drawn, {},
                      figure::cumulative_provenance(*loaded.model, a.asked, a.several, a.compute.dtype, output, format), output,
                      a.out.path, console);
        return 0;
    }
    Result result{.table = table_of(*found), .facts = facts_of(*loaded.model)};
    add_facts(result, a.asked, {"pairs", "clean", "corrupt", "answer", "wrong", "position"});
    add_facts(result, a.several);
    add_texts(result, a, loaded, pairs);
    result.fact("unedited_metric", found->base);
    result.notes(found->notes, console);
    a.out.write(result, console);
    return 0;
}

int run(SweepArguments a, const Console& console) {
    if (!a.image.empty()) a.asked.clean = a.image, a.asked.corrupt = a.corrupt_image;
    a.asked.options.grid = divided(a.asked.options.grid, a.by);
    check(a);
    if (!a.forecast) a.out.check();
    SweepOptions& o = a.asked.options;
    o.memory = std::min(o.memory, memory_budget() / 4);
    const Loaded loaded = load_model(a.model, a.compute, console);
    check_kind(a, loaded.model->config());
    std::optional<Offscreen> offscreen;  // an SVG's text is drawn with Qt's fonts
    if (model::reads_pictures(loaded.model->config())) offscreen.emplace();
    const std::vector<SweepPair> pairs = asked_pairs(a.asked, *loaded.model, *loaded.tokenizer, figure::read_picture);
    if (!a.asked.over.empty())
        o.over = texts_over(a.asked, *loaded.model, *loaded.tokenizer, figure::read_picture, loaded.cancel);
    for (const std::string& note : answer_notes(loaded.model, *loaded.tokenizer, a.asked, pairs)) console.note(note);
    if (a.several.steps > 0) return run_cumulative(a, loaded, pairs, console);
    const SweepForecast forecast = forecast_sweep(loaded.model, pairs, o, loaded.cancel);
    console.note(forecast.text());
    if (a.forecast) return 0;
    const SweepResult found = run_kept(a, loaded, pairs, console);
    char took[48];
    std::snprintf(took, sizeof took, "swept in %.3f s", found.seconds);
    console.note(took);
    if (figure::is_picture(a.out.path)) {
        for (const std::string& note : found.notes) console.note(note);
        draw(a, *loaded.model, found, console);
        std::filesystem::remove(a.unfinished());
        return 0;
    }
    Result result{.table = table_of(found), .facts = facts_of(*loaded.model)};
    add_facts(result, a.asked, {"pairs", "clean", "corrupt", "answer", "wrong", "position", "effect"});
    result.fact("effect", std::string(enum_word(found.options.effect)));  // that of a path is direct, whatever was asked for
    add_texts(result, a, loaded, pairs);
    result.fact("clean_metric", found.clean_mean());
    if (!found.corrupt.empty()) result.fact("corrupt_metric", found.corrupt_mean());
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
    add_fields(definition, options->asked);
    add_fields(definition, options->several);
    add_division(definition, options->by);
    CLI::Option* image =
        add_path(definition, "--image", options->image, "models that read pictures: the picture of the right answer");
    for (const char* text : {"--clean", "--corrupt", "--pairs"}) image->excludes(definition.app->get_option(text));
    add_path(definition, "--corrupt-image", options->corrupt_image, "another one, to patch from or into")->needs(image);
    definition.app->add_flag("--forecast", options->forecast, "print what it will cost and stop");
    definition.app->add_flag("--resume", options->resume,
                             "go on with a sweep that was stopped or killed, from FILE.unfinished beside --out FILE");
    options->compute.add(definition);
    options->picture.add_theme(definition);
    options->picture.add_size(definition);
    options->out.add(definition, figure::file_endings());
    return [options, console = definition.console] { return run(*options, *console); };
}

}  // namespace headlight::cli
