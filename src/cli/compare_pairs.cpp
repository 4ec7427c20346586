// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/compare_pairs.h"

#include "cli/corpus/store_argument.h"
#include "cli/offscreen.h"
#include "headlight/base/error.h"
#include "headlight/figure/compare/paired_heads_figure.h"
#include "headlight/intervention/tasks/tasks.h"

#include <filesystem>

namespace headlight::cli {
namespace {

namespace iv = headlight::intervention;

bool is_task_alone(const std::string& pairs) { return iv::is_task(pairs) && !std::filesystem::exists(pairs); }

std::vector<iv::TextPair> pairs_for(const std::string& pairs, const Loaded& loaded) {
    if (!is_task_alone(pairs)) return iv::read_text_pairs(pairs);
    const iv::FittedTask fitted = iv::fit(iv::task_called(pairs), *loaded.model, *loaded.tokenizer);
    if (fitted.pairs.empty())
        throw Error(ErrorFacts{.problem = "This model cannot do this task", .item = "--pairs " + pairs, .found = fitted.why_not});
    std::vector<iv::TextPair> out;
    for (const iv::TaskPair& pair : fitted.pairs)
        out.push_back(
            {.a = pair.clean, .b = pair.corrupt, .group = pair.group, .name = "pair " + std::to_string(out.size() + 1)});
    return out;
}

}  // namespace

void ComparePairs::add(Definition& definition) {
    add_path(definition, "--pairs", pairs,
             "many pairs of texts in place of two: a file of lines {\"a\": …, \"b\": …} or a task (headlight check-tasks); mean "
             "difference of every head and its 95 % interval",
             "FILE");
    add_value(definition, "--by", options.by,
              "--pairs: the measure that a picture shows and the table has in any case: attention (of the words \"from\" to the "
              "words \"to\"), tv, js or a measure of heads",
              "MEASURE");
    add_count(definition, "--draws", options.bootstrap.draws, "--pairs: bootstrap draws over pairs for the intervals", 1,
              1'000'000);
    add_seed(definition, options.bootstrap.seed, "--pairs: equal seeds draw equal pairs");
    picture.add_theme(definition);
    picture.add_size(definition);
}

void ComparePairs::check(const CLI::App& app, const std::string& out) const {
    if (!given()) {
        refuse_unused(
            app,
            {{"--by", true, "it is for --pairs"}, {"--draws", true, "it is for --pairs"}, {"--seed", true, "it is for --pairs"}});
        if (figure::is_picture(out))
            throw UsageError("--out: a picture is drawn of --pairs; headlight render --view compare-heads draws two texts");
    }
    for (const char* const name : {"--text", "--text-file", "--pair", "--image", "--edit", "--recipe", "--with", "--with-pair",
                                   "--with-image", "--other", "--match", "--of", "--chat"})
        refuse_unused(app, {{name, given(), "--pairs compares heads of one model over the texts of its file"}});
    picture.check(app, out);
}

void ComparePairs::run(const ModelArgument& argument, const AttentionArgument& attention, const ComputeOptions& compute,
                       const ResultFile& out, const Console& console) const {
    const Loaded loaded = load_model(argument, compute, console);
    const auto run_text = [&](const std::string& text) {
        return attention.of(trace::run(loaded.model, loaded.tokenizer, {.text = text}, {}, loaded.cancel));
    };
    const auto found = std::make_shared<const iv::PairedHeads>(
        iv::paired_heads(pairs_for(pairs, loaded), run_text, options, loaded.cancel, console.progress()));
    console.clear_progress();
    const std::string file = std::filesystem::path(pairs).filename().string();
    Result result{.table = iv::table_of(*found), .facts = facts_of(*loaded.model)};
    result.fact("dtype", compute.dtype).fact("pairs_file", file).fact("pairs", found->pairs).fact("groups", found->groups);
    result.fact("skipped_pairs", std::ssize(found->skipped)).fact("by", found->by);
    if (attention.given()) result.fact("attention", attention.word);
    add_bootstrap_facts(result, options.bootstrap, console);
    result.notes(iv::notes_of(*found), console);
    if (!figure::is_picture(out.path)) return out.write(result, console);
    std::vector<std::pair<std::string, std::string>> changed;
    if (!options.by.empty()) changed.emplace_back("by", options.by);
    if (options.rows.without_first) changed.emplace_back("without-first", "");
    if (attention.given()) changed.emplace_back("attention", attention.word);
    const corpus::BootstrapOptions plain;
    if (options.bootstrap.draws != plain.draws) changed.emplace_back("draws", std::to_string(options.bootstrap.draws));
    if (options.bootstrap.seed != plain.seed) changed.emplace_back("seed", std::to_string(options.bootstrap.seed));
    const Offscreen offscreen;
    const figure::ExportOptions output = picture.chosen();
    const auto drawn = figure::paired_heads_figure(found, QString::fromStdString(file));
    export_figure(*drawn, {},
                  figure::paired_heads_provenance(*loaded.model, pairs, std::move(changed), compute.dtype, output,
                                                  std::filesystem::path(out.path).extension().string().substr(1)),
                  output, out.path, console);
}

}  // namespace headlight::cli
