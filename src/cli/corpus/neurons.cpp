// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neuron_table.h"

namespace headlight::cli {
namespace {

struct TriggersArguments {
    std::string store;
    std::int64_t layer = 0, neuron = 0, before = 24;
    ResultFile out;
};

/// Where triggers stand, by the bytes that the store keeps of every token.
corpus::TriggerContext context_of_trigger(corpus::TextStore& texts, const corpus::Trigger& trigger, std::int64_t tokens_before) {
    const corpus::Chunk& chunk = texts.chunk(trigger.text);
    const corpus::Text& text = texts.text(chunk.text);
    const auto& offsets = chunk.encoding.offsets;
    const auto bytes = [&](std::int64_t begin, std::int64_t end) {
        return begin < end
                   ? text.text.substr(static_cast<std::size_t>(chunk.first_byte + begin), static_cast<std::size_t>(end - begin))
                   : std::string();
    };
    const auto at = static_cast<std::size_t>(trigger.position);
    const std::size_t first = trigger.position > tokens_before ? at - static_cast<std::size_t>(tokens_before) : 0;
    corpus::TriggerContext context{.text = text.id,
                                   .before = bytes(offsets[first].begin, offsets[at].begin),
                                   .token = bytes(offsets[at].begin, offsets[at].end),
                                   .next = {}};
    if (at + 1 < offsets.size()) context.next = bytes(offsets[at + 1].begin, offsets[at + 1].end);
    return context;
}

int triggers(const TriggersArguments& arguments, const Console& console) {
    arguments.out.check();
    const OpenedStore store = open_merged(arguments.store);
    store.require("neurons");
    const corpus::Neurons neurons(store.merged.arrays);
    corpus::TextStore texts(arguments.store, store.manifest);
    const Layer layer(arguments.layer);
    const Neuron neuron(arguments.neuron);
    Result result{.table = corpus::neuron_table(
                      neurons, layer, neuron,
                      [&](const corpus::Trigger& trigger) { return context_of_trigger(texts, trigger, arguments.before); }),
                  .facts = {}};
    store.add_facts(result, console);
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
    const OpenedStore store = open_merged(arguments.store);
    Result result{.table = {}, .facts = {}};
    if (arguments.rows == AgreementRows::layers) {
        store.require("agreement");
        const corpus::Agreement agreement(store.merged.arrays);
        result.table = corpus::table_of(corpus::layer_agreement(
            agreement, corpus::TextStore(arguments.store, store.manifest).text_of_chunk(), arguments.bootstrap));
        store.add_facts(result, console);
        result.fact("examples", std::ssize(agreement.examples()))
            .fact("draws", arguments.bootstrap.draws)
            .fact("seed", static_cast<std::int64_t>(arguments.bootstrap.seed));
    } else {
        store.require("neurons");
        if (arguments.model_option->count() == 0)
            throw UsageError("--rows values, probability and surest read the model's values: give --model");
        const corpus::Neurons neurons(store.merged.arrays);
        const CancelToken cancel = interruptible();
        const auto model = load_model(arguments.model.folder(), {}, cancel, console);
        if (model->hash() != store.manifest.model_hash)
            throw headlight::Error({.problem = "The store is of another model",
                                    .file = arguments.store,
                                    .expected = store.manifest.model + " " + store.manifest.model_hash,
                                    .found = model->hash()});
        corpus::ValueAgreementOptions options = arguments.values;
        options.gain = !arguments.no_gain;
        const corpus::ValueAgreement found = corpus::value_agreement(neurons, *model, options, cancel, console.progress());
        console.clear_progress();
        result.table = arguments.rows == AgreementRows::values ? corpus::table_of(found)
                       : arguments.rows == AgreementRows::probability
                           ? corpus::probability_table(found)
                           : corpus::sure_values_table(found, *trace::load_tokenizer(arguments.model.folder()));
        store.add_facts(result, console);
        result.fact("values_read_through", options.gain ? "the final norm's gain" : "the unembedding alone");
    }
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_triggers(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TriggersArguments>();
    add_store_argument(definition, options->store);
    definition.app->add_option("--layer", options->layer, "of the neuron")
        ->type_name("L")
        ->required()
        ->check(counted_from_zero());
    definition.app->add_option("--neuron", options->neuron, "its number in the layer")
        ->type_name("N")
        ->required()
        ->check(counted_from_zero());
    definition.app->add_option("--before", options->before, "tokens of the text to show in front of each")
        ->type_name("N")
        ->capture_default_str()
        ->check(counted_from_zero());
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
    options->model_option =
        definition.app->add_option("--model", options->model.typed, "the model of the store, whose values are read")
            ->type_name("MODEL");
    definition.kinds[options->model_option] = ValueKind::model;
    definition.app->add_flag("--no-gain", options->no_gain,
                             "read values by the unembedding alone, without the final norm's gain");
    definition.app->add_option("--surest", options->values.surest, "values to list with --rows surest")
        ->type_name("N")
        ->capture_default_str()
        ->check(counted_from_zero());
    add_bootstrap_options(definition, options->bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return agreement(*options, *console); };
}

}  // namespace headlight::cli
