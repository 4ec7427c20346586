// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/corpus/corpus_figures.h"
#include "figure/heads/heads_mosaic.h"
#include "figure/table/stacked_figure.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/corpus/distances/head_distances.h"
#include "headlight/corpus/heads/head_places.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/corpus/corpus_views.h"
#include "headlight/figure/heads/head_plots.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace headlight::figure {
namespace {

QString words_of(const corpus::StoredCorpus& stored) { return QString::fromStdString(corpus::corpus_words(stored)); }

/// Cached with the store, since browsing its figures needs the same values repeatedly.
template <class Of>
struct Whole {
    bool operator==(const Whole&) const = default;
};

std::shared_ptr<const corpus::HeadMeans> means_of(const StorePtr& stored, const CancelToken& cancel) {
    return stored->results->get(
        Whole<corpus::HeadMeans>(), [&] { return corpus::head_means(stored->merged.arrays, stored->text_of_chunk, {}, cancel); },
        [](const corpus::HeadMeans& means) { return std::ssize(means.by_text) * std::int64_t{sizeof(corpus::Interval) + 24}; });
}

/// Measures of heads in the form of a text's, and the number of texts in their means.
struct CorpusHeads {
    std::shared_ptr<const analyze::HeadTable> table;
    std::int64_t texts = 0;
};

CorpusHeads heads_of(const StorePtr& stored, const CancelToken& cancel) {
    return *stored->results->get(
        Whole<CorpusHeads>(),
        [&]() -> CorpusHeads {
            // Only the means are used: one draw, since the intervals are not shown.
            const auto means = corpus::head_means(stored->merged.arrays, stored->text_of_chunk, {.draws = 1}, cancel);
            return {std::make_shared<const analyze::HeadTable>(corpus::head_table_of(means)), means.texts};
        },
        [](const CorpusHeads& heads) {
            return std::ssize(heads.table->values) * heads.table->n_layers * heads.table->n_heads * std::int64_t{sizeof(double)};
        });
}

std::shared_ptr<const corpus::WordIndex> words_in(const StorePtr& stored) {
    return stored->results->get(
        Whole<corpus::WordIndex>(), [&] { return corpus::WordIndex::read(stored->merged.arrays); },
        [](const corpus::WordIndex& index) {
            std::int64_t words = 0;
            for (const auto& [number, sentence] : index.sentences()) words += std::ssize(sentence.words);
            return words * (12 * index.heads() + std::int64_t{sizeof(corpus::Word)});
        });
}

std::shared_ptr<const corpus::RelationTable> relations_of(const StorePtr& stored, const CancelToken& cancel) {
    return stored->results->get(
        Whole<corpus::RelationTable>(), [&] { return corpus::relation_table(*words_in(stored), {}, cancel); },
        [](const corpus::RelationTable& table) { return std::ssize(table.rows) * std::int64_t{sizeof(corpus::RelationRow)}; });
}

std::shared_ptr<const std::vector<corpus::TagShare>> shares_of(const StorePtr& stored) {
    return stored->results->get(
        Whole<corpus::TagShare>(),
        [&] { return corpus::tag_shares(corpus::TagAttention::read(stored->merged.arrays), corpus::TagSides::one); },
        [](const auto& shares) { return std::ssize(shares) * std::int64_t{sizeof(corpus::TagShare)}; });
}

std::shared_ptr<const std::vector<corpus::HeadAlignment>> alignments_of(const StorePtr& stored) {
    return stored->results->get(
        Whole<corpus::HeadAlignment>(),
        [&] { return corpus::head_alignments(corpus::TagAttention::read(stored->merged.arrays)); },
        [](const auto& heads) { return std::ssize(heads) * std::int64_t{sizeof(corpus::HeadAlignment)}; });
}

std::unique_ptr<Figure> make_distance(const StorePtr& stored, const CorpusRequest& request, const CancelToken&) {
    const corpus::Arrays& arrays = stored->merged.arrays;
    corpus::head_examples(arrays, corpus::HeadExample::weight, request.head);  // Error for a head that does not exist
    return distance_figure(corpus::distance_weights(arrays), arrays.shape("heads.distance")[0], request.head, words_of(*stored));
}

constexpr std::size_t kSnippets = 4;  ///< of each list that are drawn as head views

std::unique_ptr<Figure> make_examples(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    corpus::TextStore texts(stored->folder, stored->manifest);
    const std::pair<const char*, const char*> lists[] = {
        {"Largest weights", "Weight, excluding first and special tokens and attention of tokens to themselves."},
        {"Most is written", "Length of the weighted value |a f|, f = v W_O (Kobayashi et al. 2020)."},
        {"Most like induction", "Weight on a token right after an earlier copy of the query (Olsson et al. 2022)."}};
    std::vector<ExampleList> examples;
    for (std::int64_t c = 0; c < corpus::kHeadExamples; ++c)
        examples.push_back({QString::fromUtf8(lists[c].first), QString::fromUtf8(lists[c].second),
                            corpus::head_examples(stored->merged.arrays, static_cast<corpus::HeadExample>(c), request.head)});
    StackedParts out;
    out.view = "corpus-examples";
    out.title = QStringLiteral("%1: examples").arg(head_name(request.head));
    out.description = QStringLiteral("The positions in the corpus where a head's behaviour is strongest, one per text. %1.")
                          .arg(words_of(*stored));
    auto table = examples_figure(examples, texts, "corpus-examples", out.title, out.description);
    if (!request.model) return table;
    std::vector<SnippetList> drawn;
    for (ExampleList& list : examples) {
        if (list.examples.empty()) continue;
        if (list.examples.size() > kSnippets) list.examples.resize(kSnippets);
        drawn.push_back(
            {list.title, corpus::head_snippets(texts, request.model, request.tokenizer, request.head, list.examples, 5, cancel)});
    }
    if (drawn.empty()) return table;
    out.description += QStringLiteral(
        " The first of each list are drawn as head views, with queries to the left and keys to the right: the opacity of a line is its "
        "weight, lines of other queries are fainter.");
    out.table = [data = table->table()] { return data; };
    out.parts.push_back(snippet_figure(std::move(drawn), request.head, out.description));
    out.parts.push_back(std::move(table));
    return stacked_figure(std::move(out));
}

std::unique_ptr<Figure> make_map(const StorePtr& stored, const CorpusRequest&, const CancelToken& cancel) {
    const corpus::HeadDistances distances(stored->merged.arrays);
    analyze::HeadTable table;
    if (stored->has("heads")) {
        table = *heads_of(stored, cancel).table;
    } else {
        const HeadId last = distances.head(distances.heads() - 1);
        table.n_layers = last.layer.value + 1;
        table.n_heads = last.head.value + 1;
    }
    return map_figure(distances.means(), table, words_of(*stored));
}

/// How many of a neuron's triggers, and neurons of a layer, lose a token: seconds on a small model.
constexpr std::int64_t kCardTriggers = 20, kTriggers = 10, kNeuronsOfLayer = 10;
constexpr std::int64_t kTokenNeurons = 50;  ///< of a token that are listed
constexpr std::int64_t kPromoted = 8;       ///< tokens of a value on a neuron's card

std::vector<corpus::NeuronRemoval> removals(const StorePtr& stored, const CorpusRequest& request, const corpus::Neurons& neurons,
                                            corpus::TextStore& texts, const std::vector<analyze::NeuronId>& ids,
                                            std::int64_t triggers, const CancelToken& cancel) {
    return corpus::removal_test(neurons, texts, request.model, request.tokenizer, ids,
                                {.triggers = triggers, .seed = stored->manifest.options.seed}, cancel);
}

std::unique_ptr<Figure> make_neuron(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    corpus::TextStore texts(stored->folder, stored->manifest);
    const corpus::Neurons neurons(stored->merged.arrays);
    NeuronParts parts;
    if (request.model) {
        auto removed = removals(stored, request, neurons, texts, {request.neuron}, kCardTriggers, cancel);
        if (!removed.empty()) parts.removed = std::make_unique<corpus::NeuronRemoval>(std::move(removed.front()));
    }
    if (request.model && analyze::unembeds_stream(request.model->config())) {
        const auto promoted = analyze::promoted_tokens(*request.model, request.neuron.layer, {request.neuron.neuron},
                                                       {.top = kPromoted, .gain = true}, cancel);
        parts.value = value_figure(neurons, request.neuron, promoted.front(), *request.tokenizer);
    }
    return neuron_figure(neurons, request.neuron, std::move(parts), texts, words_of(*stored));
}

/// Error if the request has no model. `what` the figure does with it.
void require_model(const StorePtr& stored, const CorpusRequest& request, const char* what) {
    if (request.model) return;
    throw Error({.problem = std::string("This figure ") + what + ", so it needs the model",
                 .item = request.view,
                 .expected = stored->manifest.model,
                 .hint = "Give --model, or open the model in the window"});
}

std::unique_ptr<Figure> make_values(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    require_model(stored, request, "reads the model's values");
    const auto found = stored->results->get(
        Whole<corpus::ValueAgreement>(),
        [&] { return corpus::value_agreement(corpus::Neurons(stored->merged.arrays), *request.model, {}, cancel); },
        [](const corpus::ValueAgreement& all) { return std::ssize(all.layers) * std::int64_t{sizeof(corpus::LayerValues)}; });
    return values_figure(*found, words_of(*stored));
}

std::unique_ptr<Figure> make_removal(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    require_model(stored, request, "runs texts again");
    corpus::TextStore texts(stored->folder, stored->manifest);
    const corpus::Neurons neurons(stored->merged.arrays);
    const auto ids = corpus::drawn_neurons(neurons, kNeuronsOfLayer, stored->manifest.options.seed);
    return removal_figure(corpus::removal_by_layer(removals(stored, request, neurons, texts, ids, kTriggers, cancel)),
                          words_of(*stored));
}

/// The labels of a request, or the first ones that the store has probed.
std::string task_of(const StorePtr& stored, const CorpusRequest& request, corpus::ProbeKind kind) {
    const std::vector<std::string> tasks = corpus::probe_tasks(stored->folder, kind);
    const std::string task = !request.labels.empty() || tasks.empty() ? request.labels : tasks.front();
    return task.empty() ? "upos" : task;
}

/// What the heads of a probe's directions depend on: another run of the same labels may have learnt other weights.
struct DirectionsKey {
    std::string task;
    std::int64_t layer = 0;
    std::vector<double> weights;
    bool operator==(const DirectionsKey&) const = default;
};

/// Runs the test texts once, and not again for each cell of the confusion matrix that is clicked.
corpus::DirectionHeads directions_of(const StorePtr& stored, const CorpusRequest& request, const corpus::ProbeResult& probe,
                                     const CancelToken& cancel) {
    const corpus::LayerProbe& best = probe.best();
    const Eigen::MatrixXd& weights = best.probe.weights;
    return *stored->results->get(
        DirectionsKey{probe.task, best.layer, {weights.data(), weights.data() + weights.size()}},
        [&] {
            return corpus::direction_heads(stored->manifest,
                                           {.store = stored->folder, .model = request.model, .tokenizer = request.tokenizer},
                                           probe, best, cancel);
        },
        [](const corpus::DirectionHeads& heads) { return std::int64_t{16} * heads.share.size(); });
}

/// The heads of the directions are those of the probe's run, or found with the model at hand. None writes into layer 0.
std::unique_ptr<Figure> make_probe(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    corpus::ProbeResult probe =
        corpus::read_probe(stored->folder, stored->manifest, task_of(stored, request, corpus::ProbeKind::linear));
    if (probe.heads.empty() && request.model && probe.best().layer > 0)
        probe.heads = directions_of(stored, request, probe, cancel);
    return probe_figure(probe, request.label, request.predicted, words_of(*stored));
}

template <corpus::ProbeKind kind>
std::unique_ptr<Figure> make_mix(const StorePtr& stored, const CorpusRequest& request, const CancelToken&) {
    return mix_figure(corpus::read_layer_mix(stored->folder, stored->manifest, kind, task_of(stored, request, kind)),
                      words_of(*stored));
}

std::shared_ptr<const corpus::MentionIndex> mentions_in(const StorePtr& stored) {
    return stored->results->get(
        Whole<corpus::MentionIndex>(), [&] { return corpus::MentionIndex::read(stored->merged.arrays); },
        [](const corpus::MentionIndex& index) {
            std::int64_t bytes = 0;
            for (const auto& [number, chunk] : index.chunks())
                bytes += 64 * std::ssize(chunk.mentions) + 4 * std::ssize(chunk.to) + 4 * std::ssize(chunk.names);
            return bytes;
        });
}

std::unique_ptr<Figure> make_coreference(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    const auto index = mentions_in(stored);
    const auto table = stored->results->get(
        Whole<corpus::CoreferenceTable>(), [&] { return corpus::coreference_table(*index, stored->text_of_chunk, {}, cancel); },
        [](const corpus::CoreferenceTable& of) { return std::ssize(of.rows) * std::int64_t{sizeof(corpus::CoreferenceRow)}; });
    corpus::TextStore texts(stored->folder, stored->manifest);
    return coreference_figure(*index, *table, request.head, texts, words_of(*stored));
}

const std::vector<CorpusView>& all_views() {
    static const std::vector<CorpusView> views = {
        {.id = "corpus-heads",
         .title = "Mosaic of a measure",
         .group = "Heads",
         .gathered = "heads",
         .of_measure = true,
         .make = [](const StorePtr& s, const CorpusRequest& r, const CancelToken& cancel) -> std::unique_ptr<Figure> {
             return std::make_unique<HeadsMosaic>(heads_of(s, cancel).table, r.measure, std::vector<HeadId>(), false,
                                                  words_of(*s));
         }},
        {.id = "corpus-intervals",
         .title = "A measure with intervals",
         .group = "Heads",
         .gathered = "heads",
         .of_measure = true,
         .make = [](const StorePtr& s, const CorpusRequest& r,
                    const CancelToken& cancel) { return interval_figure(*means_of(s, cancel), r.measure, words_of(*s)); }},
        {.id = "corpus-scatter",
         .title = "Two measures",
         .group = "Heads",
         .gathered = "heads",
         .of_axes = true,
         .in_window = "head-scatter",
         .make =
             [](const StorePtr& s, const CorpusRequest& r, const CancelToken& cancel) {
                 const CorpusHeads heads = heads_of(s, cancel);
                 return head_scatter(heads.table, {.x = r.x, .y = r.y, .color = "behaviour", .texts = heads.texts});
             }},
        {.id = "corpus-kinds",
         .title = "Attention to kinds of tokens",
         .group = "Heads",
         .gathered = "heads",
         .make =
             [](const StorePtr& s, const CorpusRequest&, const CancelToken& cancel) {
                 const CorpusHeads heads = heads_of(s, cancel);
                 return clark_kinds(heads.table, heads.texts, heads.table->causal);
             }},
        {.id = "corpus-entropy",
         .title = "Entropy",
         .group = "Heads",
         .gathered = "heads",
         .make =
             [](const StorePtr& s, const CorpusRequest&, const CancelToken& cancel) {
                 const CorpusHeads heads = heads_of(s, cancel);
                 return clark_entropy(heads.table, kNaN, heads.texts);
             }},
        {.id = "corpus-distance",
         .title = "Attention by distance",
         .group = "Heads",
         .gathered = "heads",
         .of_head = true,
         .make = make_distance},
        {.id = "corpus-examples",
         .title = "Examples of a head",
         .group = "Heads",
         .gathered = "heads",
         .of_head = true,
         .with_model = true,
         .make = make_examples},
        {.id = "corpus-map", .title = "Map of heads", .group = "Heads", .gathered = "distances", .make = make_map},
        {.id = "corpus-relations",
         .title = "Relations",
         .group = "Words",
         .gathered = "words",
         .make = [](const StorePtr& s, const CorpusRequest&,
                    const CancelToken& cancel) { return relations_figure(*relations_of(s, cancel), words_of(*s)); }},
        {.id = "corpus-tags",
         .title = "Parts of speech",
         .group = "Words",
         .gathered = "tags",
         .make = [](const StorePtr& s, const CorpusRequest&,
                    const CancelToken&) { return tags_figure(*shares_of(s), words_of(*s)); }},
        {.id = "corpus-alignment",
         .title = "Attention along dependencies",
         .group = "Words",
         .gathered = "tags",
         .make = [](const StorePtr& s, const CorpusRequest&,
                    const CancelToken&) { return alignment_figure(*alignments_of(s), words_of(*s)); }},
        {.id = "corpus-question",
         .title = "A question about words",
         .group = "Words",
         .gathered = "words",
         .of_question = true,
         .head_optional = true,
         .make = [](const StorePtr& s, const CorpusRequest& r,
                    const CancelToken&) { return question_figure(*words_in(s), r.question, r.head, words_of(*s)); }},
        {.id = "corpus-coreference",
         .title = "Coreference",
         .group = "Words",
         .gathered = "mentions",
         .head_optional = true,
         .make = make_coreference},
        {.id = "corpus-probe",
         .title = "Probes of labels",
         .group = "Probes",
         .probe = corpus::ProbeKind::linear,
         .of_classes = true,
         .with_model = true,
         .make = make_probe},
        {.id = "corpus-mix",
         .title = "Mixed layers",
         .group = "Probes",
         .probe = corpus::ProbeKind::mix,
         .make = make_mix<corpus::ProbeKind::mix>},
        {.id = "corpus-edge",
         .title = "Edge probe",
         .group = "Probes",
         .probe = corpus::ProbeKind::edge,
         .make = make_mix<corpus::ProbeKind::edge>},
        {.id = "corpus-structural",
         .title = "Structural probe",
         .group = "Probes",
         .probe = corpus::ProbeKind::structural,
         .make =
             [](const StorePtr& s, const CorpusRequest&, const CancelToken&) {
                 return structural_figure(corpus::read_structural(s->folder, s->manifest), words_of(*s));
             }},
        {.id = "corpus-arcs",
         .title = "Attention probe",
         .group = "Probes",
         .probe = corpus::ProbeKind::attention,
         .make = [](const StorePtr& s, const CorpusRequest&,
                    const CancelToken&) { return arc_figure(corpus::read_arcs(s->folder, s->manifest), words_of(*s)); }},
        {.id = "corpus-neuron",
         .title = "Triggers of a neuron",
         .group = "Neurons",
         .gathered = "neurons",
         .of_neuron = true,
         .with_model = true,
         .make = make_neuron},
        {.id = "corpus-token",
         .title = "Neurons of a token",
         .group = "Neurons",
         .gathered = "neurons",
         .of_token = true,
         .make =
             [](const StorePtr& s, const CorpusRequest& r, const CancelToken& cancel) {
                 if (r.token.empty()) return token_neurons_figure({}, words_of(*s));
                 corpus::TextStore texts(s->folder, s->manifest);
                 return token_neurons_figure(
                     corpus::neurons_of_token(corpus::Neurons(s->merged.arrays), texts, r.token, -1, kTokenNeurons, cancel),
                     words_of(*s));
             }},
        {.id = "corpus-removal",
         .title = "Triggers without a token",
         .group = "Neurons",
         .gathered = "neurons",
         .with_model = true,
         .make = make_removal},
        {.id = "corpus-values",
         .title = "Values and their triggers",
         .group = "Neurons",
         .gathered = "neurons",
         .with_model = true,
         .make = make_values},
        {.id = "corpus-agreement",
         .title = "How layers arrive at the predictions",
         .group = "Neurons",
         .gathered = "agreement",
         .make =
             [](const StorePtr& s, const CorpusRequest&, const CancelToken&) {
                 return agreement_figure(corpus::layer_agreement(corpus::Agreement(s->merged.arrays), s->text_of_chunk),
                                         words_of(*s));
             }},
    };
    return views;
}

}  // namespace

std::span<const CorpusView> corpus_views() { return all_views(); }

const CorpusView& corpus_view(std::string_view id) {
    std::vector<std::string> ids;
    for (const CorpusView& view : all_views()) {
        if (view.id == id) return view;
        ids.push_back(view.id);
    }
    const std::string near = nearest(std::string(id), ids);
    throw Error({.problem = "There is no such figure of a corpus",
                 .found = std::string(id),
                 .hint = near.empty() ? "headlight corpus plot --help lists them" : "Did you mean " + near + "?"});
}

std::unique_ptr<Figure> corpus_figure(const StorePtr& stored, const CorpusRequest& request, const CancelToken& cancel) {
    const CorpusView& view = corpus_view(request.view);
    if (!view.gathered.empty()) stored->require(view.gathered);
    if (view.with_model && request.model) stored->require_model(*request.model);
    return view.make(stored, request, cancel);
}

std::vector<std::string> corpus_measure_ids(const corpus::StoredCorpus& stored) {
    return stored.has("heads") ? corpus::measure_ids(stored.merged.arrays) : std::vector<std::string>();
}

CorpusShape corpus_shape(const corpus::StoredCorpus& stored) {
    const corpus::Arrays& arrays = stored.merged.arrays;
    CorpusShape shape;
    if (arrays.has("heads.count")) {
        const std::vector<std::int64_t> sizes = arrays.shape("heads.count");  // measures, layers, heads
        shape.layers = sizes.at(1);
        shape.heads = sizes.at(2);
    }
    if (arrays.has("neurons.first")) {
        const auto first = arrays.get<std::int64_t>("neurons.first", {-1});
        for (std::size_t l = 0; l + 1 < first.size(); ++l) shape.neurons.push_back(first[l + 1] - first[l]);
        shape.layers = std::max(shape.layers, std::ssize(shape.neurons));
    }
    return shape;
}

Provenance corpus_provenance(const corpus::StoredCorpus& stored, const CorpusRequest& request) {
    const CorpusView& view = corpus_view(request.view);
    Provenance out;
    out.model = stored.manifest.model;
    out.model_hash = stored.manifest.model_hash;
    out.dtype = stored.manifest.dtype;
    out.version = version();
    out.options = {{"corpus", corpus::corpus_words(stored)}, {"run_with", stored.manifest.program}, {"view", view.id}};
    std::error_code ignored;
    std::string command = "headlight corpus plot " +
                          shell_word(std::filesystem::absolute(stored.folder, ignored).lexically_normal().string()) + " --view " +
                          view.id;
    const auto option = [&](const char* name, const std::string& value) {
        out.options.emplace_back(name, value);
        command += std::string(" --") + name + " " + shell_word(value);
    };
    if (view.of_measure) option("measure", request.measure);
    if (view.of_axes) option("x", request.x), option("y", request.y);
    if (view.of_question) option("question", request.question);
    if (view.of_token) option("token", request.token);
    if (view.of_labels() && !request.labels.empty()) option("labels", request.labels);
    if (view.of_classes && !request.label.empty())
        option("label", request.label), option("predicted", request.predicted.empty() ? request.label : request.predicted);
    if (view.of_head || (view.head_optional && request.head.layer.value >= 0))
        option("layer", std::to_string(request.head.layer.value)), option("head", std::to_string(request.head.head.value));
    if (view.of_neuron)
        option("layer", std::to_string(request.neuron.layer.value)),
            option("neuron", std::to_string(request.neuron.neuron.value));
    if (view.with_model && request.model) option("model", request.model->config().name);
    out.command = command;
    return out;
}

}  // namespace headlight::figure
