// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/request.h"
#include "figure/core/command_words.h"
#include "figure/core/own_scale.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/corpus/heads/corpus_heads.h"
#include "headlight/figure/core/common_options.h"
#include "headlight/figure/core/sides.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/outline.h"
#include "headlight/trace/edits.h"

#include <type_traits>

namespace headlight::figure {
namespace {

using Options = CommandOptions;

/// 0 1 2 5 -> "0-2,5"
std::string list(const std::vector<Head>& heads) {
    std::vector<std::int64_t> indices;
    for (const Head head : heads) indices.push_back(head.value);
    return index_list_text(indices);
}

void put_what(Options& out, const Request& r) {
    const ViewSpec& spec = view_spec(r.view);
    out.emplace_back("view", r.view);
    if (r.detail) {
        out.emplace_back("layer", std::to_string(r.detail->layer.value));
        out.emplace_back("heads", std::to_string(r.detail->head.value));
    } else {
        const bool heads = spec.needs.heads || spec.needs.focus;
        if (spec.needs.layer_counts(r.query.has_value()) || heads) out.emplace_back("layer", std::to_string(r.layer.value));
        if (heads && !r.heads.empty()) out.emplace_back("heads", list(r.heads));
    }
    if (r.query) out.emplace_back("query", std::to_string(r.query->value));
    if (r.key) out.emplace_back("key", std::to_string(r.key->value));
    if (r.neuron && spec.needs.neuron)
        out.emplace_back("neuron", std::to_string(r.neuron->layer.value) + ":" + std::to_string(r.neuron->neuron.value));
    for (const auto& [name, value] : in_use(spec, r.values))
        out.emplace_back(name, spec.option(name)->kind == OptionKind::flag ? "" : value);
}

/// The shared options of `now` that `each` goes through and that are not the default ones. A gamma says nothing under another
/// curve, and belongs to its own (`with_gamma`) even if it is the default.
template <class T, class Each>
void put_changed(Options& out, const T& now, bool with_gamma, const Each& each) {
    std::vector<std::string> initial;
    const T defaults;
    each(defaults, [&](const CommonOption&, const auto& value) { initial.push_back(option_words(value)); });
    auto default_words = initial.begin();
    each(now, [&](const CommonOption& option, const auto& value) {
        const std::string words = option_words(value);
        const bool changed = words != *default_words++;
        constexpr bool is_switch = std::is_same_v<std::decay_t<decltype(value)>, bool>;
        if (std::string_view(option.flag) == "gamma" ? with_gamma : changed)
            out.emplace_back(option.flag, is_switch ? "" : words);
    });
}

void check_index(const std::string& what, std::int64_t index, std::int64_t count) {
    if (index < 0 || index >= count)
        throw Error(ErrorFacts{.problem = "There is no such " + what,
                               .item = what + " " + std::to_string(index),
                               .expected = "0 to " + std::to_string(count - 1)});
}

/// "12 texts, 3456 tokens: Once upon a time"
std::string batch_text(const trace::Trace& trace, const TextBatch& batch) {
    std::int64_t tokens = trace.tokens();
    for (const TracePtr& each : batch.traces) tokens += each->tokens();
    return with_commas(batch.traces.size() + 1) + " texts, " + with_commas(tokens) + " tokens, the first: " + trace.text_a();
}

}  // namespace

void check(const trace::Trace& trace, const ViewState& state) {
    const model::ModelConfig& config = trace.config();
    const ViewSpec& spec = view_spec(state.view);
    check_index("layer", state.layer.value, config.n_layers);
    for (const Head head : state.heads) check_index("head", head.value, config.n_heads);
    if (state.query) check_index("query", state.query->value, trace.tokens());
    if (state.key) check_index("key", state.key->value, trace.keys());
    if (state.neuron) {
        check_index("layer", state.neuron->layer.value, config.n_layers);
        check_index("neuron", state.neuron->neuron.value, model::mlp_width(config, state.neuron->layer.value));
    }
    if (state.pattern.weighting == analyze::Weighting::layer_mix_norm && !config.post_norm)
        throw Error(ErrorFacts{.problem = "This model has no norm after its attention",
                               .item = std::string(enum_word(state.pattern.weighting)),
                               .hint = "Choose layer-mix-residual"});
    if (state.detail) {
        check_index("layer", state.detail->layer.value, config.n_layers);
        check_index("head", state.detail->head.value, config.n_heads);
    }
    if (trace.across_texts() && analyze::of_whole_layer(state.pattern.weighting))
        throw Error(ErrorFacts{.problem = "Weightings of a whole layer are not defined for cross attention",
                               .item = std::string(enum_word(state.pattern.weighting)),
                               .hint = "Choose attention, value-norm, output-norm or output-length"});
    if (state.pattern.filter != analyze::PairFilter::all && !trace.has_sentence_pair())
        throw Error(ErrorFacts{.problem = "A pair filter needs two sentences",
                               .item = std::string(enum_word(state.pattern.filter)),
                               .hint = "Give the second one"});
    if (state.heads.empty() && (spec.needs.heads || spec.needs.focus))
        throw Error(ErrorFacts{.problem = "No head was chosen", .item = state.view});
    if (state.batch && !spec.needs.texts)
        throw Error(ErrorFacts{.problem = "This view shows one text", .item = state.view, .hint = "Leave the others out"});
    check_values(spec, state.values);
    for (const auto& [name, value] : state.values)
        if (spec.option(name)->measure && analyze::is_of_corpus(value) && !state.corpus)
            throw Error(ErrorFacts{.problem = "This measure is of a corpus, and none is in use",
                                   .item = "--" + name + " " + value,
                                   .hint = "Choose its store: in the window File › Corpus, on the command line --corpus"});
    if (const std::string why = why_missing(spec, trace, state); !why.empty())
        throw Error(ErrorFacts{.problem = why, .file = trace.model()->folder().string(), .item = state.view});
}

std::vector<TracePtr> batch_traces(const TracePtr& trace, const ViewState& state) {
    std::vector<TracePtr> traces{trace};
    if (state.batch) traces.insert(traces.end(), state.batch->traces.begin(), state.batch->traces.end());
    return traces;
}

std::unique_ptr<Figure> make_figure(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress& progress) {
    check(*trace, state);
    const ViewSpec& spec = view_spec(state.view);
    if (!state.beside || spec.compares) return spec.make(std::move(trace), state, cancel, progress);
    if (state.side == Side::difference) return spec.difference(*state.beside, state, cancel, progress);
    const auto of = [&](Side side) {
        return side == Side::a ? spec.make(trace, state, cancel, progress)
                               : spec.make(state.beside->pair->b, state_of_b(*state.beside, state), cancel, progress);
    };
    std::unique_ptr<Figure> figure = of(state.side);
    auto* scaled = dynamic_cast<OwnScale*>(figure.get());
    if (!scaled || scaled->absolute()) return figure;
    try {
        const auto other = of(state.side == Side::a ? Side::b : Side::a);
        if (const auto* ends = dynamic_cast<const OwnScale*>(other.get())) share_scales(*scaled, *ends);
    } catch (const Error&) {  // the other run lacks what is shown: there is no scale to share
    }
    return figure;
}

Selection selection_of(const ViewState& request) {
    Selection selection;
    selection.layer = request.layer;
    selection.heads = request.heads;
    selection.focus = request.detail.value_or(request.focus());
    if (request.query) selection.pinned_queries = {*request.query};
    if (request.key) selection.pinned_keys = {*request.key};
    selection.neuron = request.neuron;
    return shows_b(request) ? SidePlaces(*request.beside).in_b(selection) : selection;
}

Options options_of(const Request& request) {
    Options out;
    put_what(out, request);
    if (request.batch) out.emplace_back("texts", request.batch->file);
    if (request.corpus) out.emplace_back("corpus", request.corpus->folder.string());
    put_changed(out, request.pattern, false, [](const auto& of, const auto& visit) { visit_pattern(of, visit); });
    const Style& style = request.output.style;
    put_theme(out, style);
    put_changed(out, style, style.transfer.curve == Transfer::Curve::gamma,
                [](const auto& of, const auto& visit) { visit_looks(of, visit); });
    if (const auto& filter = style.filter; filter && view_spec(request.view).filters)
        out.emplace_back("where", filter->expression);
    if (request.beside) {
        out.insert(out.end(), request.beside->options.begin(), request.beside->options.end());
        if (!view_spec(request.view).compares)  // A too: of a text under edits alone the edited run would be drawn
            out.emplace_back("side", std::string(enum_word(request.side)));
    }
    put_size(out, request.output);
    return out;
}

std::string command_of(const trace::Trace& trace, const Request& request, const std::string& format) {
    std::string line = "headlight render " + shell_word(model_reference(trace.model()->folder()));
    const bool runs = model::has_weights(*trace.model());  // a saved trace holds its text
    if (runs && trace.picture().pixels)
        line += " --image " + shell_word(std::filesystem::absolute(trace.picture().file).lexically_normal().string());
    else if (runs && (!request.batch || request.batch->own_text))
        line += " --text " + shell_word(trace.text_a());
    if (runs && !trace.text_b().empty()) line += " --pair " + shell_word(trace.text_b());
    if (runs)
        for (const std::string& words : trace::edits_of(trace)) line += " --edit " + shell_word(words);
    if (runs && trace.info().dtype != "float32") line += " --dtype " + trace.info().dtype;
    if (const std::string attention = attention_word(trace.config().stack); !attention.empty())
        line += " --attention " + attention;
    Request written = request;
    written.output = counted_in(request.output, format);
    return line + command_words(options_of(written)) + " --out figure." + format;
}

Provenance provenance_of(const trace::Trace& trace, const Request& request, const std::string& format) {
    Provenance provenance;
    provenance.model = trace.config().name;
    provenance.model_hash = trace.model()->hash();
    provenance.text = request.batch ? batch_text(trace, *request.batch) : trace.text_a();
    if (trace.picture().pixels) provenance.image = trace.picture().file;
    provenance.pair = trace.text_b();
    provenance.dtype = trace.info().dtype;
    provenance.version = version();
    Request written = request;
    written.output = counted_in(request.output, format);
    provenance.options = options_of(written);
    std::string edits;
    for (const std::string& words : trace::edits_of(trace)) edits += (edits.empty() ? "" : "; ") + words;
    if (!edits.empty()) provenance.options.emplace_back("edits", edits);
    if (const std::string attention = attention_word(trace.config().stack); !attention.empty())
        provenance.options.insert(provenance.options.begin(), {"attention", attention});
    provenance.command = command_of(trace, request, format);
    const auto tokens_of = [](const text::Encoding& encoding) { return TokenIds{encoding.tokens, encoding.ids}; };
    provenance.tokens = tokens_of(trace.encoding());
    if (trace.across_texts()) provenance.source = tokens_of(trace.key_encoding());
    return provenance;
}

}  // namespace headlight::figure
