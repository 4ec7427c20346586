// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neuron_table.h"
#include "headlight/corpus/neurons/removal.h"
#include "headlight/corpus/neurons/token_neurons.h"
#include "headlight/corpus/store/text_store.h"

namespace headlight::cli {
namespace {

struct TriggersArguments {
    CLI::App* app = nullptr;
    std::string store, token;
    std::int64_t layer = 0, neuron = 0, before = 24, top = 50;
    CLI::Option *layer_option = nullptr, *neuron_option = nullptr;
    bool removal = false;
    ModelArgument model;
    CLI::Option* model_option = nullptr;
    corpus::RemovalOptions removed;
    std::int64_t sample = 20;
    corpus::BootstrapOptions bootstrap;
    ResultFile out;

    bool of_neuron() const { return neuron_option->count() > 0; }
};

/// How coefficients change when a token in front of a trigger is removed: of one neuron, or the means of layers.
int removal(const TriggersArguments& arguments, const corpus::StoredCorpus& store, Result& result, const Console& console) {
    const corpus::Neurons neurons(store.merged.arrays, store.manifest.options.seed);
    const CancelToken cancel = interruptible();
    const auto model = load_model(arguments.model.folder(), {}, cancel, console);
    store.require_model(*model);
    const std::vector<analyze::NeuronId> ids =
        arguments.of_neuron() ? std::vector<analyze::NeuronId>{{Layer(arguments.layer), Neuron(arguments.neuron)}}
                              : corpus::drawn_neurons(neurons, arguments.sample, arguments.bootstrap.seed);
    corpus::RemovalOptions options = arguments.removed;
    options.seed = arguments.bootstrap.seed;
    corpus::TextStore texts(store.folder, store.manifest);
    const std::vector<corpus::NeuronRemoval> found = corpus::removal_test(
        neurons, texts, model, trace::load_tokenizer(arguments.model.folder()), ids, options, cancel, console.progress());
    console.clear_progress();
    result.table = arguments.of_neuron() ? corpus::table_of(found.front(), texts)
                                         : corpus::table_of(corpus::removal_by_layer(found, arguments.bootstrap));
    result.fact("triggers_a_neuron", options.triggers);
    if (arguments.of_neuron())
        result.fact("layer", arguments.layer).fact("neuron", arguments.neuron).fact("seed", options.seed);
    else
        add_bootstrap_facts(result.fact("neurons_a_layer", arguments.sample), arguments.bootstrap, console);
    arguments.out.write(result, console);
    return 0;
}

/// Neurons with a token among their triggers.
int of_token(const TriggersArguments& arguments, const Console& console) {
    const StorePtr store = corpus::read_store(arguments.store);
    store->require("neurons");
    corpus::TextStore texts(store->folder, store->manifest);
    const corpus::TokenNeurons found =
        corpus::neurons_of_token(corpus::Neurons(store->merged.arrays), texts, arguments.token,
                                 arguments.layer_option->count() > 0 ? arguments.layer : std::int64_t{-1}, arguments.top,
                                 interruptible(), console.progress());
    console.clear_progress();
    Result result{.table = corpus::table_of(found), .facts = {}};
    add_facts(result, *store, console);
    result.fact("token", found.token).fact("occurrences", found.occurrences).fact("tokens", found.tokens);
    if (arguments.layer_option->count() > 0) result.fact("layer", arguments.layer);
    result.fact("neurons_found", found.found);
    if (found.found > std::ssize(found.neurons))
        result.notes({"the first " + std::to_string(found.neurons.size()) + " of " + std::to_string(found.found) +
                      " neurons with this token among their triggers; --top 0 lists all"},
                     console);
    arguments.out.write(result, console);
    return 0;
}

int triggers(const TriggersArguments& arguments, const Console& console) {
    const bool by_token = !arguments.token.empty();
    refuse_unused(*arguments.app, {{"--neuron", by_token, "--token looks for neurons"},
                                   {"--removal", by_token, "--token looks for neurons"},
                                   {"--before", by_token, "--token lists neurons, not texts"},
                                   {"--top", !by_token, "it is for --token"}});
    arguments.out.check();
    if (by_token) return of_token(arguments, console);
    if (arguments.removal && arguments.model_option->count() == 0) throw UsageError("--removal runs texts again: give --model");
    if ((!arguments.removal || arguments.of_neuron()) &&
        (arguments.layer_option->count() == 0 || arguments.neuron_option->count() == 0))
        throw UsageError(
            "--layer and --neuron name the neuron, --token finds neurons; --removal without both gives the means of layers");
    if (arguments.removal && !arguments.of_neuron() && arguments.layer_option->count() > 0)
        throw UsageError("--layer: name the neuron as well (--neuron); without both --removal gives the means of layers");
    const StorePtr store = corpus::read_store(arguments.store);
    store->require("neurons");
    if (arguments.removal) {
        Result result{.table = {}, .facts = {}};
        add_facts(result, *store, console);
        return removal(arguments, *store, result, console);
    }
    const corpus::Neurons neurons(store->merged.arrays);
    corpus::TextStore texts(store->folder, store->manifest);
    const Layer layer(arguments.layer);
    const Neuron neuron(arguments.neuron);
    Result result{.table = corpus::neuron_table(
                      neurons, layer, neuron,
                      [&](const corpus::Trigger& trigger) { return corpus::context_of(texts, trigger, arguments.before); }),
                  .facts = {}};
    add_facts(result, *store, console);
    result.fact("layer", arguments.layer)
        .fact("neuron", arguments.neuron)
        .fact("tokens", neurons.tokens())
        .fact("active_tokens", neurons.active(layer, neuron));
    arguments.out.write(result, console);
    return 0;
}

enum class AgreementRows { layers, values, probability, surest };
constexpr EnumRow<AgreementRows> agreement_rows[] = {{AgreementRows::layers, "layers", "Layers"},
                                                     {AgreementRows::values, "values", "Values by layer"},
                                                     {AgreementRows::probability, "probability", "Values by probability"},
                                                     {AgreementRows::surest, "surest", "The surest values"}};
constexpr const auto& enum_rows(AgreementRows) { return agreement_rows; }

struct AgreementArguments {
    std::string store;
    AgreementRows rows = AgreementRows::layers;
    ModelArgument model;
    CLI::Option* model_option = nullptr;
    corpus::BootstrapOptions bootstrap;
    corpus::ValueAgreementOptions values;
    bool no_gain = false;
    ResultFile out;
};

int agreement(const AgreementArguments& arguments, const Console& console) {
    arguments.out.check();
    const StorePtr store = corpus::read_store(arguments.store);
    Result result{.table = {}, .facts = {}};
    if (arguments.rows == AgreementRows::layers) {
        store->require("agreement");
        const corpus::Agreement agreement(store->merged.arrays);
        result.table = corpus::table_of(corpus::layer_agreement(agreement, store->text_of_chunk, arguments.bootstrap));
        add_facts(result, *store, console);
        result.fact("examples", std::ssize(agreement.examples()));
        add_bootstrap_facts(result, arguments.bootstrap, console);
    } else {
        store->require("neurons");
        if (arguments.model_option->count() == 0)
            throw UsageError("--rows values, probability and surest read the model's values: give --model");
        const corpus::Neurons neurons(store->merged.arrays);
        const CancelToken cancel = interruptible();
        const auto model = load_model(arguments.model.folder(), {}, cancel, console);
        store->require_model(*model);
        corpus::ValueAgreementOptions options = arguments.values;
        options.gain = !arguments.no_gain;
        const corpus::ValueAgreement found = corpus::value_agreement(neurons, *model, options, cancel, console.progress());
        console.clear_progress();
        result.table = arguments.rows == AgreementRows::values ? corpus::table_of(found)
                       : arguments.rows == AgreementRows::probability
                           ? corpus::probability_table(found)
                           : corpus::sure_values_table(found, *trace::load_tokenizer(arguments.model.folder()));
        add_facts(result, *store, console);
        result.fact("values_read_through", options.gain ? "the final norm's gain" : "the unembedding alone");
    }
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_triggers(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TriggersArguments>();
    options->app = definition.app.get();
    add_store_argument(definition, options->store);
    options->layer_option = add_index(definition, "--layer", options->layer, "of the neuron", "L");
    options->neuron_option = add_index(definition, "--neuron", options->neuron, "the neuron's number in the layer");
    add_value(definition, "--token", options->token,
              "neurons that have this token among their triggers, by the share of these; with its space: \" Mr\"", "TEXT");
    add_index(definition, "--top", options->top, "--token: neurons to list; 0: all")->capture_default_str();
    add_index(definition, "--before", options->before, "tokens of the text to show before each trigger")->capture_default_str();
    definition.app->add_flag(
        "--removal", options->removal,
        "how the coefficient changes when the first, the last or a random token up to the trigger is removed; "
        "without --neuron the mean of each layer (Geva et al. 2021, figure 3)");
    options->model_option = add_path(definition, "--model", options->model.typed,
                                     "--removal: the model of the store, which runs texts again", "MODEL", ValueKind::model);
    add_count(definition, "--triggers", options->removed.triggers, "--removal: triggers of a neuron at most", 1, 255);
    add_count(definition, "--sample", options->sample, "--removal without --neuron: neurons drawn of each layer", 1, 1'000'000);
    add_bootstrap_options(definition, options->bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return triggers(*options, *console); };
}

Action define_corpus_agreement(Definition& definition, const Frontend&) {
    auto options = std::make_shared<AgreementArguments>();
    add_store_argument(definition, options->store);
    definition.add_enum("--rows", options->rows,
                        "layers: how each comes to the prediction; values: what follows the triggers of each layer's values; "
                        "probability: the same by how sure the value is; "
                        "surest: the values that are surest of a token");
    options->model_option = add_path(definition, "--model", options->model.typed, "the model of the store, whose values are read",
                                     "MODEL", ValueKind::model);
    definition.app->add_flag("--no-gain", options->no_gain,
                             "read values with the unembedding only, without the final norm's gain");
    add_index(definition, "--surest", options->values.surest, "values to list with --rows surest")->capture_default_str();
    add_bootstrap_options(definition, options->bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return agreement(*options, *console); };
}

}  // namespace headlight::cli
