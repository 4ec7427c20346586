// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/numbers.h"
#include "headlight/intervention/tasks/minimal_pairs.h"
#include "headlight/intervention/tasks/tasks.h"

#include <algorithm>
#include <filesystem>

namespace headlight::cli {
namespace {

namespace iv = headlight::intervention;

struct CheckTasksArguments {
    ModelArgument model;
    ComputeOptions compute;
    ResultFile file;
    std::vector<std::string> pairs;  ///< files of minimal pairs, or folders
};

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

/// A line a check on standard output, where the table does not go there.
std::string check_lines(const std::vector<iv::TaskCheck>& checks) {
    std::string text;
    for (const iv::TaskCheck& check : checks)
        text += std::string(check.passed ? "pass  " : "FAIL  ") + padded(check.task, 14) + significant(check.value) + " (" +
                check.expected + ")  " + check.what + "\n";
    return text;
}

int run_minimal_pairs(const CheckTasksArguments& o, const Console& console) {
    // Before the model: what cannot be read is said at once.
    std::vector<iv::Paradigm> paradigms;
    for (const std::filesystem::path& file : iv::paradigm_files(o.pairs)) paradigms.push_back(iv::read_paradigm(file));
    const Loaded loaded = load_model(o.model, o.compute, console);
    std::vector<iv::ParadigmResult> results;
    for (const iv::Paradigm& paradigm : paradigms)
        results.push_back(iv::run_paradigm(paradigm, *loaded.model, *loaded.tokenizer, loaded.cancel, console.progress()));
    console.clear_progress();
    const Result result{.table = iv::table_of(results), .facts = facts_of(*loaded.model)};
    o.file.write(result, console);
    return 0;
}

int run_check_tasks(const CheckTasksArguments& o, const Console& console) {
    o.file.check();
    if (!o.pairs.empty()) return run_minimal_pairs(o, console);
    const Loaded loaded = load_model(o.model, o.compute, console);
    const Progress progress = console.progress();
    Result result;
    result.facts = facts_of(*loaded.model);
    if (!iv::has_published_answers(loaded.model->config())) {
        std::vector<iv::FittedTask> fitted;
        std::vector<iv::TaskResult> results;
        for (const iv::Task& task : iv::built_in_tasks()) {
            fitted.push_back(iv::fit(task, *loaded.model, *loaded.tokenizer));
            results.push_back(iv::run_task(fitted.back(), loaded.model, loaded.tokenizer, loaded.cancel, progress));
        }
        console.clear_progress();
        result.table = iv::table_of(fitted, results);
        result.notes(
            {"published numbers exist only for GPT-2 small; this model has another shape and is not checked against them"},
            console);
        o.file.write(result, console);
        return 0;
    }
    const std::vector<iv::TaskCheck> checks = iv::check_tasks(loaded.model, loaded.tokenizer, loaded.cancel, progress);
    console.clear_progress();
    result.table = iv::table_of(checks);
    if (o.file.path.empty())
        console.result(check_lines(checks));
    else
        o.file.write(result, console);
    const auto failed = std::ranges::count(checks, false, &iv::TaskCheck::passed);
    console.note(failed == 0 ? "every check passed"
                             : std::to_string(failed) + " of " + std::to_string(checks.size()) +
                                   " checks failed: these are not the weights of GPT-2 small, or something is wrong");
    return failed == 0 ? 0 : 1;
}

}  // namespace

Action define_check_tasks(Definition& definition, const Frontend&) {
    auto o = std::make_shared<CheckTasksArguments>();
    o->model.add(definition);
    add_path(definition, "--minimal-pairs", o->pairs,
             "in place of the tasks: pairs of sentences as in BLiMP (JSONL, sentence_good and "
             "sentence_bad), a file or a folder of files; several: repeat it")
        ->allow_extra_args(false);
    o->file.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return run_check_tasks(*o, *console); };
}

}  // namespace headlight::cli
