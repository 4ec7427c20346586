// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/console.h"
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/offscreen.h"
#include "cli/options.h"
#include "cli/picture_options.h"
#include "cli/run_text.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/figure/corpus/corpus_views.h"
#include "headlight/figure/export/export.h"
#include "headlight/io/atomic_file.h"

#include <algorithm>

namespace headlight::cli {
namespace {

struct CorpusPlotArguments {
    std::string store, out;
    std::int64_t layer = 0, head = -1, neuron = 0;
    CLI::Option* layer_option = nullptr;
    ModelArgument model;
    CLI::Option* model_option = nullptr;
    CLI::App* app = nullptr;
    figure::CorpusRequest request;
    PictureOptions picture;
};

int plot(CorpusPlotArguments arguments, const Console& console) {
    figure::format_of(arguments.out);  // report a wrong extension before the work
    arguments.picture.check(*arguments.app, arguments.out);
    io::check_writable(arguments.out);
    const Offscreen offscreen;
    figure::CorpusRequest& request = arguments.request;
    const figure::CorpusView& view = figure::corpus_view(request.view);
    if (arguments.layer_option->count() > 0 && arguments.head < 0 && (view.head_optional || view.of_head))
        throw UsageError("--layer: name the head as well (--head)");
    if (view.of_token && request.token.empty()) throw UsageError("--view corpus-token: name the token: --token \" Mr\"");
    const bool of_heads = view.of_head || view.head_optional;
    const std::string other = "it has no part in " + view.id;
    refuse_unused(*arguments.app, {{"--measure", !view.of_measure, other.c_str()},
                                   {"--x", !view.of_axes, other.c_str()},
                                   {"--y", !view.of_axes, other.c_str()},
                                   {"--question", !view.of_question, other.c_str()},
                                   {"--token", !view.of_token, other.c_str()},
                                   {"--head", !of_heads, other.c_str()},
                                   {"--neuron", !view.of_neuron, other.c_str()},
                                   {"--layer", !of_heads && !view.of_neuron, other.c_str()}});
    if (!view.of_labels() && !request.labels.empty()) throw UsageError("--labels: " + view.id + " shows no labels");
    if (!view.of_classes && !(request.label.empty() && request.predicted.empty()))
        throw UsageError("--label: " + view.id + " has no confusion matrix");
    if (request.label.empty() && !request.predicted.empty()) throw UsageError("--predicted: name the label as well (--label)");
    const bool any = arguments.head < 0 && view.head_optional;
    request.head =
        any ? HeadId{Layer(-1), Head(-1)} : HeadId{Layer(arguments.layer), Head(std::max<std::int64_t>(arguments.head, 0))};
    request.neuron = {Layer(arguments.layer), Neuron(arguments.neuron)};
    const auto stored = corpus::read_store(arguments.store);
    const CancelToken cancel = interruptible();
    if (arguments.model_option->count() > 0) {
        if (!view.with_model) throw UsageError("--model: " + view.id + " needs no model");
        const std::filesystem::path folder = arguments.model.folder();
        request.model = load_model(folder, {}, cancel, console);
        request.tokenizer = trace::load_tokenizer(folder);
    }
    const auto drawn = figure::corpus_figure(stored, request, cancel);
    figure::Selection selection;
    selection.focus = request.head;
    export_figure(*drawn, selection, figure::corpus_provenance(*stored, request), arguments.picture.chosen(), arguments.out,
                  console);
    return 0;
}

}  // namespace

Action define_corpus_plot(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CorpusPlotArguments>();
    options->app = definition.app.get();
    add_store_argument(definition, options->store);
    std::vector<std::string> views;
    for (const figure::CorpusView& view : figure::corpus_views()) views.push_back(view.id);
    definition.add_choice("--view", options->request.view, views, "what to draw")->capture_default_str();
    const auto word = [&](const char* flag, std::string& value, const char* help) {
        add_value(definition, flag, value, help, "MEASURE")->capture_default_str();
    };
    word("--measure", options->request.measure, "corpus-heads, corpus-intervals: the measure of heads");
    word("--x", options->request.x, "corpus-scatter: the measure to the right");
    word("--y", options->request.y, "corpus-scatter: the measure upwards");
    add_value(definition, "--question", options->request.question,
              "corpus-question: heads where VERB attends to its nsubj > 60 %", "EXPR");
    add_value(definition, "--token", options->request.token, "corpus-token: the token, with its space: \" Mr\"", "TEXT");
    add_value(definition, "--labels", options->request.labels,
              "corpus-probe, corpus-mix, corpus-edge: labels that headlight corpus probe has probed", "LABELS");
    add_value(definition, "--label", options->request.label,
              "corpus-probe: the label of the confusion matrix whose words are listed", "CLASS");
    add_value(definition, "--predicted", options->request.predicted, "corpus-probe: the class that it is taken for; else itself",
              "CLASS");
    options->layer_option = add_index(definition, "--layer", options->layer, "the layer, from 0")->capture_default_str();
    add_index(definition, "--head", options->head,
              "corpus-distance, corpus-examples, corpus-question, corpus-coreference: the head, from 0");
    add_index(definition, "--neuron", options->neuron, "corpus-neuron: the neuron, from 0")->capture_default_str();
    options->model_option =
        add_path(definition, "--model", options->model.typed,
                 "corpus-removal, corpus-values, corpus-neuron, corpus-examples, corpus-probe: the store's model", "MODEL",
                 ValueKind::model);
    options->picture.add_theme(definition);
    options->picture.add_size(definition);
    add_out(definition, options->out, figure::file_endings())->required();
    return [options, console = definition.console] { return plot(*options, *console); };
}

}  // namespace headlight::cli
