// SPDX-License-Identifier: GPL-3.0-or-later
// Probes of a store: what each layer knows about words, spans and texts, and about trees.
#include "headlight/corpus/probe/probe.h"
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/options.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/probe/arc_run.h"
#include "headlight/corpus/probe/direction_heads.h"
#include "headlight/corpus/probe/mix_run.h"
#include "headlight/corpus/probe/structural_run.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/npz.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headlight::cli {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

using corpus::ProbeKind;

struct ProbeArguments {
    ProbeKind kind = ProbeKind::linear;
    std::string store, labels = "upos", directions;
    ModelArgument model;
    std::vector<std::int64_t> ranks = corpus::StructuralRunOptions().ranks;
    corpus::BootstrapOptions bootstrap;
    std::int64_t disk_megabytes = 4000, heads = 0, seeds = corpus::LayerMixOptions().seeds;
    bool no_controls = false;
    ResultFile out;
    /// Options that only some kinds of probe have.
    std::vector<std::pair<CLI::Option*, std::vector<ProbeKind>>> of_kinds;

    void check() const {
        for (const auto& [option, kinds] : of_kinds)
            if (option->count() > 0 && std::ranges::find(kinds, kind) == kinds.end())
                throw UsageError(option->get_name() + ": a probe of kind " + std::string(enum_word(kind)) + " does not have it");
    }
};

/// A probe's run: the store, where its states come from, and what all kinds report.
struct ProbeRun {
    const ProbeArguments& arguments;
    const Console& console;
    corpus::Manifest manifest;
    corpus::StatesOptions states;
    CancelToken cancel = interruptible();

    ProbeRun(const ProbeArguments& of, const Console& on)
        : arguments(of),
          console(on),
          manifest(corpus::read_manifest(of.store)),
          states{.store = of.store, .disk_budget = of.disk_megabytes * kMegabyte} {
        model::start_runtime();  // fits use all cores even where no model is loaded
    }

    /// The store's model, unless the states of all tokens are there and nothing else needs it. One that is named is checked in
    /// any case.
    void load_model_for(bool needed) {
        ModelArgument model = arguments.model;
        const bool named = !model.typed.empty();
        if (!named && !needed && corpus::state_layers(manifest, states) > 0) return;
        if (!named) model.typed = std::filesystem::exists(manifest.model_path) ? manifest.model_path : manifest.model;
        try {
            const std::filesystem::path folder = model.folder();
            states.model = load_model(folder, {}, cancel, console);
            states.tokenizer = trace::load_tokenizer(folder);
        } catch (const headlight::Error& error) {
            if (named) throw;
            throw headlight::Error({.problem = "The model of the store cannot be opened",
                                    .file = arguments.store,
                                    .item = manifest.model,
                                    .expected = manifest.model_path,
                                    .found = error.facts().problem,
                                    .hint = "Give it with --model FOLDER"});
        }
        corpus::check_model(manifest, states);
    }
    corpus::LabelledExamples labels() {
        corpus::TextStore texts(arguments.store, manifest);
        return corpus::read_labels(texts, arguments.labels, cancel);
    }
    Result result_of(analyze::Table table, std::vector<analyze::NamedArray> arrays, std::string members) const {
        Result result{.table = std::move(table), .facts = {}, .members = std::move(members)};
        result.table.arrays = std::move(arrays);
        result.fact("model", manifest.model)
            .fact("hash", manifest.model_hash)
            .fact("dtype", manifest.dtype)
            .fact("texts", manifest.texts())
            .fact("probe", std::string(enum_word(arguments.kind)));
        add_bootstrap_facts(result, arguments.bootstrap, console);
        return result;
    }
    void write(Result& result, const std::vector<std::string>& notes) const {
        result.notes(notes, console);
        arguments.out.write(result, console);
    }
};

void note_examples(std::vector<std::string>& notes, std::int64_t unlabelled, std::int64_t without) {
    if (unlabelled > 0)
        notes.push_back(with_commas(unlabelled) + (unlabelled == 1 ? " word or text" : " words or texts") +
                        " without the label " + (unlabelled == 1 ? "is" : "are") + " left out");
    if (without > 0)
        notes.push_back(counted(without, "label") + " whose tokens are not in one chunk " + (without == 1 ? "is" : "are") +
                        " left out");
}
void note_sentences(std::vector<std::string>& notes, std::int64_t left_out) {
    if (left_out > 0)
        notes.push_back(counted(left_out, "sentence") + (left_out == 1 ? " is" : " are") +
                        " left out: no tree, or a word without tokens in one chunk");
}

/// Directions of the classes at every layer, of length 1, in the residual stream as it is.
void write_directions(const corpus::ProbeResult& result, const corpus::Manifest& manifest, const std::string& file) {
    analyze::Table table;
    table.arrays = corpus::arrays_of(result);
    analyze::NamedArray& weights = table.arrays.front();
    weights.name = "directions";
    analyze::NamedArray lengths{"lengths", {weights.shape[0], weights.shape[1]}, {}};
    const std::int64_t width = weights.shape[2];
    for (std::int64_t row = 0; row * width < std::ssize(weights.values); ++row) {
        Eigen::Map<Eigen::VectorXf> direction(weights.values.data() + row * width, width);
        lengths.values.push_back(direction.norm());
        if (lengths.values.back() > 0) direction /= lengths.values.back();
    }
    table.arrays.push_back(std::move(lengths));
    analyze::ArrayRefs refs;
    for (const analyze::NamedArray& array : table.arrays) refs.add(array);
    io::write_npz(file, refs.numbers,
                  {{"task", result.task},
                   {"model", manifest.model},
                   {"model_sha256", manifest.model_hash},
                   {"hook", "layer 0: blocks.0.hook_resid_pre, layer l: blocks.(l - 1).hook_resid_post"}},
                  refs.texts);
}

void probe_linearly(ProbeRun& run) {
    const ProbeArguments& arguments = run.arguments;
    run.load_model_for(arguments.heads > 0);
    const corpus::LabelledExamples labels = run.labels();
    corpus::ProbeOptions options;
    options.bootstrap = arguments.bootstrap;
    options.controls = !arguments.no_controls;
    options.seed = arguments.bootstrap.seed;
    corpus::ProbeResult found = corpus::run_probe(run.manifest, run.states, labels, options, run.cancel, run.console.progress());
    if (arguments.heads > 0)
        found.heads = corpus::direction_heads(run.manifest, run.states, found, found.best(), run.cancel, run.console.progress());
    run.console.clear_progress();
    corpus::write_probe(arguments.store, run.manifest, found);
    if (!arguments.directions.empty()) write_directions(found, run.manifest, arguments.directions);
    std::vector<analyze::NamedArray> arrays = corpus::arrays_of(found);
    std::ranges::move(corpus::arrays_of(found.heads), std::back_inserter(arrays));
    Result result =
        run.result_of(arguments.heads > 0 ? corpus::table_of(found.heads, found, arguments.heads) : corpus::table_of(found),
                      std::move(arrays), corpus::json_members(found));
    result.fact("labels", arguments.labels).fact("n_development", found.n_development);
    std::vector<std::string> notes;
    note_examples(notes, found.unlabelled, found.without);
    if (arguments.heads > 0 && found.best().layer == 0)
        notes.push_back("layer 0 has the highest accuracy, and no head writes into it: there are no heads to list");
    for (const corpus::LayerProbe& of : found.layers)
        if (of.constant_features > 0)
            notes.push_back("layer " + std::to_string(of.layer) + ": " + counted(of.constant_features, "feature") +
                            (of.constant_features == 1 ? " is" : " are") + " the same in all examples");
    run.write(result, notes);
}

void probe_mixtures(ProbeRun& run) {
    run.load_model_for(false);
    const corpus::LabelledExamples labels = run.labels();
    corpus::MixRunOptions options{
        .kind = run.arguments.kind, .fit = {}, .bootstrap = run.arguments.bootstrap, .seed = run.arguments.bootstrap.seed};
    options.fit.seeds = run.arguments.seeds;
    const corpus::MixResult found =
        corpus::run_layer_mix(run.manifest, run.states, labels, options, run.cancel, run.console.progress());
    run.console.clear_progress();
    corpus::write_layer_mix(run.arguments.store, run.manifest, found);
    Result result = run.result_of(corpus::table_of(found), {}, {});
    result.fact("labels", run.arguments.labels).fact("n_development", found.n_development).fact("seeds", options.fit.seeds);
    std::vector<std::string> notes{"expected layer " + significant(found.expected.mean) + " (" + significant(found.expected.low) +
                                   " to " + significant(found.expected.high) + "), centre of gravity " +
                                   significant(found.centre)};
    note_examples(notes, found.unlabelled, found.without);
    run.write(result, notes);
}

void probe_trees(ProbeRun& run) {
    run.load_model_for(false);
    const corpus::StructuralRunOptions options{
        .ranks = run.arguments.ranks, .fit = {}, .bootstrap = run.arguments.bootstrap, .seed = run.arguments.bootstrap.seed};
    corpus::StructuralResult found =
        corpus::run_structural(run.manifest, run.states, options, run.cancel, run.console.progress());
    run.console.clear_progress();
    corpus::write_structural(run.arguments.store, run.manifest, found);
    Result result = run.result_of(corpus::table_of(found), std::move(found.maps), {});
    result.fact("n_development", found.n_development);
    std::vector<std::string> notes;
    note_sentences(notes, found.left_out);
    run.write(result, notes);
}

void probe_attention(ProbeRun& run) {
    run.load_model_for(true);
    const corpus::ArcRunOptions options{.fit = {}, .bootstrap = run.arguments.bootstrap, .seed = run.arguments.bootstrap.seed};
    const corpus::ArcResult found = corpus::run_arcs(run.manifest, run.states, options, run.cancel, run.console.progress());
    run.console.clear_progress();
    corpus::write_arcs(run.arguments.store, run.manifest, found);
    Result result = run.result_of(corpus::table_of(found), corpus::arrays_of(found), corpus::json_members(found));
    std::vector<std::string> notes;
    note_sentences(notes, found.left_out);
    for (const corpus::ArcRow& row : found.rows)
        if (!row.converged)
            notes.push_back("layers " + std::to_string(row.first_layer) + " to " + std::to_string(row.last_layer) +
                            ": the fit ended after " + counted(row.iterations, "iteration") + " before it reached its tolerance");
    run.write(result, notes);
}

int probe(const ProbeArguments& arguments, const Console& console) {
    arguments.out.check();
    arguments.check();
    if (!arguments.directions.empty()) {
        if (!arguments.directions.ends_with(".npz")) throw UsageError("--save-directions: the file must end in .npz");
        io::check_writable(arguments.directions);
    }
    ProbeRun run(arguments, console);
    switch (arguments.kind) {
        case ProbeKind::linear: probe_linearly(run); break;
        case ProbeKind::mix:
        case ProbeKind::edge: probe_mixtures(run); break;
        case ProbeKind::structural: probe_trees(run); break;
        case ProbeKind::attention: probe_attention(run); break;
    }
    return 0;
}

}  // namespace

Action define_corpus_probe(Definition& definition, const Frontend&) {
    auto options = std::make_shared<ProbeArguments>();
    add_store_argument(definition, options->store);
    std::string kinds = "what is learnt";
    for (const auto& row : corpus::probe_kinds) kinds += "; " + std::string(row.word) + ": " + std::string(row.note);
    definition.add_enum("--probe", options->kind, kinds);
    const auto only = [&](CLI::Option* option, std::vector<ProbeKind> of) {
        options->of_kinds.emplace_back(option, std::move(of));
    };
    only(add_value(definition, "--labels", options->labels, "linear, mix, edge: " + corpus::label_words(), "LABELS")
             ->capture_default_str(),
         {ProbeKind::linear, ProbeKind::mix, ProbeKind::edge});
    only(definition.app->add_option("--rank", options->ranks, "structural: rows of the map; several: a probe of each")
             ->type_name("A,B")
             ->delimiter(',')
             ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
             ->capture_default_str(),
         {ProbeKind::structural});
    only(add_count(definition, "--seeds", options->seeds, "mix, edge: fits from different starts, whose results are averaged", 1,
                   1'000),
         {ProbeKind::mix, ProbeKind::edge});
    only(add_value(definition, "--heads", options->heads,
                   "linear: list the N heads that write most of each class's direction instead of the layers; runs the test "
                   "texts again",
                   "N")
             ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000})),
         {ProbeKind::linear});
    add_path(definition, "--model", options->model.typed,
             "the store's model, which runs the texts once; needed where it is no longer in the folder that the store names",
             "MODEL", ValueKind::model);
    only(add_path(definition, "--save-directions", options->directions,
                  "linear: write the direction of each class at every layer (.npz)"),
         {ProbeKind::linear});
    add_count(definition, "--disk", options->disk_megabytes,
              "megabytes for the states of all tokens, which stay in the store; with fewer than all layers need, the texts "
              "are run once for each group of layers",
              1, 1'000'000'000, "MB");
    only(definition.app->add_flag("--no-controls", options->no_controls,
                                  "linear: without random labels, control task and code length, which take most of the time"),
         {ProbeKind::linear});
    add_bootstrap_options(definition, options->bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return probe(*options, *console); };
}

}  // namespace headlight::cli
