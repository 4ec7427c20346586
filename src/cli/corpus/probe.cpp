// SPDX-License-Identifier: GPL-3.0-or-later
// Probes of a store: what each layer knows about words, spans and texts.
#include "headlight/corpus/probe/probe.h"
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/options.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/numbers.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/npz.h"
#include "headlight/trace/trace.h"

#include <utility>

namespace headlight::cli {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

struct ProbeArguments {
    std::string store, labels = "upos", directions;
    ModelArgument model;
    corpus::ProbeOptions options;
    std::int64_t disk_megabytes = 4000;
    bool no_controls = false;
    ResultFile out;
};

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

int probe(const ProbeArguments& arguments, const Console& console) {
    arguments.out.check();
    if (!arguments.directions.empty()) {
        if (!arguments.directions.ends_with(".npz")) throw UsageError("--save-directions: the file must end in .npz");
        io::check_writable(arguments.directions);
    }
    const corpus::Manifest manifest = corpus::read_manifest(arguments.store);
    const CancelToken cancel = interruptible();
    corpus::TextStore texts(arguments.store, manifest);
    const corpus::LabelledExamples labels = corpus::read_labels(texts, arguments.labels, cancel);
    corpus::StatesOptions states{.store = arguments.store, .disk_budget = arguments.disk_megabytes * kMegabyte};
    if (corpus::state_layers(manifest, states) == 0) {
        ModelArgument model = arguments.model;
        if (model.typed.empty()) model.typed = manifest.model;
        states.model = load_model(model.folder(), {}, cancel, console);
        states.tokenizer = trace::load_tokenizer(model.folder());
    }
    corpus::ProbeOptions options = arguments.options;
    options.controls = !arguments.no_controls;
    options.seed = options.bootstrap.seed;
    const corpus::ProbeResult found = corpus::run_probe(manifest, states, labels, options, cancel, console.progress());
    console.clear_progress();
    corpus::write_probe(arguments.store, manifest, found);
    if (!arguments.directions.empty()) write_directions(found, manifest, arguments.directions);

    Result result{.table = corpus::table_of(found), .facts = {}, .members = corpus::json_members(found)};
    result.table.arrays = corpus::arrays_of(found);
    result.fact("model", manifest.model)
        .fact("hash", manifest.model_hash)
        .fact("dtype", manifest.dtype)
        .fact("texts", manifest.texts())
        .fact("labels", arguments.labels)
        .fact("n_development", found.n_development);
    add_bootstrap_facts(result, options.bootstrap);
    std::vector<std::string> notes;
    if (found.unlabelled > 0) notes.push_back(with_commas(found.unlabelled) + " words or texts without the label are left out");
    if (found.without > 0) notes.push_back(with_commas(found.without) + " labels whose tokens are not in one chunk are left out");
    for (const corpus::LayerProbe& of : found.layers)
        if (of.constant_features > 0)
            notes.push_back("layer " + std::to_string(of.layer) + ": " + with_commas(of.constant_features) +
                            " features are the same in all examples");
    result.notes(notes, console);
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_probe(Definition& definition, const Frontend&) {
    auto options = std::make_shared<ProbeArguments>();
    add_store_argument(definition, options->store);
    definition.app->add_option("--labels", options->labels, corpus::label_words())->type_name("LABELS")->capture_default_str();
    CLI::Option* model =
        definition.app
            ->add_option("--model", options->model.typed,
                         "the store's model, which runs the texts once; needed where it does not go by the name in the store")
            ->type_name("MODEL");
    definition.kinds[model] = ValueKind::model;
    CLI::Option* directions =
        definition.app
            ->add_option("--save-directions", options->directions, "write the direction of each class at every layer (.npz)")
            ->type_name("FILE");
    definition.kinds[directions] = ValueKind::file;
    definition.app
        ->add_option(
            "--disk", options->disk_megabytes,
            "megabytes for the states of all tokens, which stay in the store; with fewer than all layers need, the texts "
            "are run once for each group of layers")
        ->type_name("MB")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
    definition.app->add_flag("--no-controls", options->no_controls,
                             "without random labels, control task and code length, which take most of the time");
    add_bootstrap_options(definition, options->options.bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return probe(*options, *console); };
}

}  // namespace headlight::cli
