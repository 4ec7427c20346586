// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/run/run.h"
#include "cli/corpus/corpus.h"
#include "cli/fields.h"
#include "cli/run_text.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/run/run_fields.h"
#include "headlight/model/peek.h"
#include "headlight/model/runtime.h"

#include <charconv>
#include <cstdio>

namespace headlight::cli {
namespace {

struct CorpusRunArguments {
    ModelArgument model;
    ComputeOptions compute;
    corpus::CorpusRun run;
    std::string part, stop_at;
};

/// "3/8"
void read_part(const std::string& text, corpus::CorpusRun& run) {
    if (text.empty()) return;
    const char *end = text.data() + text.size(), *slash = text.data() + std::min(text.find('/'), text.size());
    const auto first = std::from_chars(text.data(), slash, run.part);
    const auto second = slash == end ? first : std::from_chars(slash + 1, end, run.parts);
    if (slash == end || first.ec != std::errc() || first.ptr != slash || second.ec != std::errc() || second.ptr != end ||
        run.part < 1 || run.part > run.parts)
        throw UsageError("--part: \"" + text + "\" is not like 3/8: the third of eight parts");
}

int run(const CorpusRunArguments& arguments, corpus::Team* team, const Console& console) {
    corpus::CorpusRun run = arguments.run;
    read_part(arguments.part, run);
    if (!arguments.stop_at.empty()) {
        if (run.parts > 1 || team)
            throw UsageError("--stop-at: one process runs all texts; leave out --part, and run without MPI");
        run.stop_at = corpus::parse_stop_at(arguments.stop_at);
    }
    const Loaded loaded = load_model(arguments.model, arguments.compute, console);
    run.setup.model = loaded.model;
    run.setup.tokenizer = loaded.tokenizer;
    const corpus::Note note = [&](const std::string& line) { console.note(line); };
    const corpus::CorpusResult result = team ? corpus::run_corpus(run, *team, loaded.cancel, console.progress(), note)
                                             : corpus::run_corpus(run, loaded.cancel, console.progress(), note);
    console.clear_progress();
    char line[200];
    std::snprintf(line, sizeof line, "%s of %s chunks run in %.1f s (%s tokens/s)", with_commas(result.done.chunks).c_str(),
                  with_commas(result.manifest.chunks()).c_str(), result.done.seconds,
                  with_commas(static_cast<std::int64_t>(
                                  result.done.seconds > 0 ? static_cast<double>(result.done.tokens) / result.done.seconds : 0))
                      .c_str());
    console.note(line);
    if (!result.stopped.empty())
        console.note("the same command without --stop-at runs the other " + with_commas(result.missing_blocks) + " of " +
                     with_commas(result.manifest.blocks()) + " blocks");
    else if (result.missing_blocks > 0)
        console.note(with_commas(result.missing_blocks) + " blocks of " + with_commas(result.manifest.blocks()) +
                     " are for other parts, or not finished by them yet");
    return 0;
}

}  // namespace

Action define_corpus_run(Definition& definition, const Frontend& frontend) {
    auto options = std::make_shared<CorpusRunArguments>();
    options->model.add(definition);
    CLI::App& app = *definition.app;
    corpus::RunSetup& setup = options->run.setup;
    CLI::Option* texts =
        add_path(definition, "--texts", setup.texts.from,
                 "the texts: plain text, .jsonl, .csv, .tsv, .conllu, files with mentions, each also as .gz or .zst, or a folder "
                 "of them; left out: those of the store",
                 "FILE|FOLDER");
    add_path(definition, "--out", setup.store, "the store: a folder", "STORE", ValueKind::folder)->required();
    app.add_flag("--append", setup.texts.append, "add the texts after those of the store; repeating the command resumes it")
        ->needs(texts);
    add_index(definition, "--limit", setup.texts.limit, "maximum number of texts; 0: all");
    add_fields(definition, setup.options);
    add_value(definition, "--part", options->part,
              "3/8: only the third of eight parts; parts may run at once, on machines that share the store", "I/N");
    add_value(definition, "--stop-at", options->stop_at,
              "end once the 95 % interval of a measure is at most ± X wide for every head (induction:1%, entropy:0.05); asked "
              "whenever a segment is written, blocks in random order",
              "MEASURE:X");
    add_value(definition, "--segment-minutes", options->run.segment_minutes, "how often finished blocks are written", "X")
        ->capture_default_str()
        ->check(not_negative());
    options->compute.add(definition);
    return [options, team = frontend.team, console = definition.console] { return run(*options, team, *console); };
}

namespace {

struct MergeArguments {
    std::vector<std::string> stores;
    std::string out;
};

int merge(const MergeArguments& arguments, const Console& console) {
    const std::vector<std::filesystem::path> stores(arguments.stores.begin(), arguments.stores.end());
    corpus::merge_stores(stores, arguments.out, [&](const std::string& line) { console.note(line); });
    return 0;
}

}  // namespace

Action define_corpus_merge(Definition& definition, const Frontend&) {
    auto options = std::make_shared<MergeArguments>();
    add_path(definition, "STORE", options->stores, "the stores, of the same texts and options", " ", ValueKind::folder)
        ->required();
    add_path(definition, "--out", options->out, "a new folder, or the one store", "STORE", ValueKind::folder)->required();
    return [options, console = definition.console] { return merge(*options, *console); };
}

}  // namespace headlight::cli
