// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views for heads by their measures.
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "headlight/analyze/heads/model_probe.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/heads/corpus_heads.h"
#include "headlight/figure/heads/head_plots.h"
#include "headlight/trace/edits.h"

#include <algorithm>

namespace headlight::figure {
namespace {

using analyze::HeadTable;

std::vector<ViewOption> scatter_options() {
    std::vector<ViewOption> options = options_of<HeadScatterOptions>();
    for (ViewOption& option : options) {
        std::vector<std::pair<std::string, std::string>> first{{"layer", "layer"}, {"head", "head"}};
        if (option.name == "color") first.insert(first.begin(), {"behaviour", "what the head mostly does"});
        offer_measures(option, std::move(first));
    }
    return options;
}

/// A measure of the random-token probe, which has to be run first.
bool asks_for_probe(const trace::Trace& trace, const ViewState& state) {
    const bool asked = std::ranges::any_of(state.values, [](const auto& option) { return analyze::is_of_probe(option.second); });
    return asked && !analyze::known_probe(*trace.model()) && analyze::probe_plan(*trace.model(), *trace.tokenizer());
}

/// Is the table made in less than a frame? Some measures read every token's queries and keys.
bool is_quick_table(const trace::Trace& trace, const ViewState& state) {
    constexpr std::int64_t most_vectors = 20'000;  // about a microsecond each
    const model::ModelConfig& c = trace.config();
    return !state.batch && trace.tokens() * c.n_layers * c.n_heads <= most_vectors && !asks_for_probe(trace, state);
}

/// Several texts: means over them, each of weight one.
std::shared_ptr<const HeadTable> table_of(const TracePtr& trace, const ViewState& state, const CancelToken& cancel,
                                          const Progress& progress) {
    const auto shared = [&](const HeadTable& table) {
        return std::make_shared<const HeadTable>(state.corpus ? corpus::with_corpus(table, state.corpus.get()) : table);
    };
    if (asks_for_probe(*trace, state)) analyze::model_probe(trace->model(), trace->tokenizer(), cancel);
    if (!state.batch) return shared(analyze::head_table(*trace));
    analyze::HeadAverages averages;
    const std::vector<TracePtr> texts = batch_traces(trace, state);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Averaging", "text", static_cast<std::int64_t>(i), std::ssize(texts)});
        averages.add(*texts[i]);
    }
    return shared(averages.table());
}

std::int64_t texts_of(const ViewState& state) {
    return state.batch ? static_cast<std::int64_t>(state.batch->traces.size()) + 1 : 1;
}

std::string without_numbers(const trace::Trace& trace) {
    return trace.overview().numbers ? "" : "This run kept no overview of the heads.";
}

struct GradientKey {
    bool operator==(const GradientKey&) const = default;
};

/// Cached with the run: it costs a backward pass.
std::shared_ptr<const analyze::AttentionGradient> gradients_of(const trace::Trace& trace, const CancelToken& cancel,
                                                               const Progress& progress) {
    return trace.results().get(
        GradientKey{},
        [&] {
            const auto& encoder = trace.part(model::Stack::encoder);
            return analyze::attention_gradient(*trace.model(), *trace.tokenizer(), trace.encoding(), 0, cancel, progress,
                                               encoder ? std::optional(encoder->encoding()) : std::nullopt);
        },
        [](const analyze::AttentionGradient& of) {
            return std::ssize(of.groups) * 2 * of.gradient.front().size() * static_cast<std::int64_t>(sizeof(double));
        });
}

std::string without_gradients(const trace::Trace& trace) {
    if (model::reads_pictures(trace.config())) return "The loss is that of the tokens of a text, and this model reads pictures.";
    if (!trace::edits_of(trace).empty())
        return "Gradients run the model by itself, without the edits of this run. Switch the edits off, or look at another view.";
    if (trace.config().class_head.any())
        return "The loss is that of the tokens of a text, and the logits of this model are of classes.";
    if (!trace.config().has_unembedding)
        return "This model has no unembedding, so it predicts no tokens and there is no loss. Attention can be seen in the other "
               "views.";
    return "";
}

}  // namespace

std::vector<ViewSpec> heads_view_specs() {
    std::vector<ViewSpec> specs = {
        {.id = "head-scatter",
         .title = "Heads by two measures",
         .options = scatter_options(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return head_scatter(table_of(trace, s, cancel, progress),
                                     request_of<HeadScatterOptions>(s, {.texts = texts_of(s)}));
             }},
        {.id = "clark-kinds",
         .title = "Attention to kinds of tokens",
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return clark_kinds(table_of(trace, s, cancel, progress), texts_of(s), trace->config().causal);
             }},
        {.id = "clark-entropy",
         .title = "Entropy by layer",
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 // Of several texts the table holds the mean of theirs.
                 const double uniform = s.batch ? kNaN : uniform_entropy(trace->tokens(), trace->config().causal);
                 return clark_entropy(table_of(trace, s, cancel, progress), uniform, texts_of(s));
             }},
    };
    for (ViewSpec& spec : specs) {
        spec.needs.texts = true;
        spec.quick = is_quick_table;
        spec.overview.numbers = true;
        spec.missing = without_numbers;
        spec.filters = true;
    }
    specs.push_back({.id = "clark-gradients",
                     .title = "Gradients by layer",
                     .make = [](TracePtr trace, const ViewState&, const CancelToken& cancel,
                                const Progress& progress) { return clark_gradients(*gradients_of(*trace, cancel, progress)); },
                     .missing = without_gradients,
                     .filters = true});
    return specs;
}

}  // namespace headlight::figure
