// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/request.h"

#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/model/locate.h"
#include "headlight/model/outline.h"

#include <charconv>
#include <system_error>

namespace headlight::figure {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::string number_word(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

const char* word(analyze::PairFilter filter) {
    switch (filter) {
        case analyze::PairFilter::all: return "all";
        case analyze::PairFilter::a_to_a: return "a-a";
        case analyze::PairFilter::b_to_b: return "b-b";
        case analyze::PairFilter::a_to_b: return "a-b";
        case analyze::PairFilter::b_to_a: return "b-a";
    }
    return "";
}

}  // namespace

const char* weighting_word(analyze::Weighting weighting) noexcept {
    switch (weighting) {
        case analyze::Weighting::attention: return "attention";
        case analyze::Weighting::value_norm: return "value-norm";
        case analyze::Weighting::output_norm: return "output-norm";
        case analyze::Weighting::output_length: return "output-length";
        case analyze::Weighting::layer_mix: return "layer-mix";
        case analyze::Weighting::layer_mix_residual: return "layer-mix-residual";
        case analyze::Weighting::layer_mix_norm: return "layer-mix-norm";
    }
    return "";
}

namespace {

const char* word(Transfer::Curve curve) {
    switch (curve) {
        case Transfer::Curve::linear: return "linear";
        case Transfer::Curve::log: return "log";
        case Transfer::Curve::gamma: return "gamma";
        case Transfer::Curve::per_row: return "per-row";
        case Transfer::Curve::rank: return "rank";
    }
    return "";
}

const char* word(Ramp ramp) {
    switch (ramp) {
        case Ramp::ink: return "ink";
        case Ramp::viridis: return "viridis";
        case Ramp::cividis: return "cividis";
        case Ramp::magma: return "magma";
    }
    return "";
}

/// 0 1 2 5 -> "0-2,5"
std::string list(const std::vector<Head>& heads) {
    std::string text;
    for (std::size_t i = 0; i < heads.size();) {
        std::size_t last = i;
        while (last + 1 < heads.size() && heads[last + 1].value == heads[last].value + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(heads[i].value);
        if (last > i) text += "-" + std::to_string(heads[last].value);
        i = last + 1;
    }
    return text;
}

void put_what(Options& out, const Request& r) {
    const ViewSpec& spec = view_spec(r.view);
    out.emplace_back("view", r.view);
    if (r.detail) {
        out.emplace_back("layer", std::to_string(r.detail->layer.value));
        out.emplace_back("heads", std::to_string(r.detail->head.value));
    } else {
        const bool heads = spec.needs.heads || spec.needs.focus;
        if (spec.needs.layer || heads) out.emplace_back("layer", std::to_string(r.layer.value));
        if (heads && !r.heads.empty()) out.emplace_back("heads", list(r.heads));
    }
    if (r.query) out.emplace_back("query", std::to_string(r.query->value));
    if (r.key) out.emplace_back("key", std::to_string(r.key->value));
    if (r.neuron && spec.needs.neuron)
        out.emplace_back("neuron", std::to_string(r.neuron->layer.value) + ":" + std::to_string(r.neuron->neuron.value));
    for (const auto& [name, value] : tidy(spec, r.values))
        out.emplace_back(name, spec.option(name)->kind == OptionKind::flag ? "" : value);
}

void put_pattern(Options& out, const analyze::PatternOptions& p) {
    if (p.filter != analyze::PairFilter::all) out.emplace_back("filter", word(p.filter));
    if (p.weighting != analyze::Weighting::attention) out.emplace_back("weighting", weighting_word(p.weighting));
    if (p.hide_first) out.emplace_back("hide-sinks", "");
    if (p.hide_special) out.emplace_back("hide-special", "");
    if (!p.renormalise) out.emplace_back("no-renormalise", "");
    if (p.merge_words) out.emplace_back("words", "");
}

void put_looks(Options& out, const ExportOptions& o) {
    const Style defaults;
    const Style& s = o.style;
    if (s.theme->dark) out.emplace_back("theme", "dark");
    if (s.ramp != defaults.ramp) out.emplace_back("ramp", word(s.ramp));
    if (s.palette == HeadPalette::okabe_ito) out.emplace_back("palette", "okabe-ito");
    if (s.transfer.curve != defaults.transfer.curve) out.emplace_back("transfer", word(s.transfer.curve));
    if (s.transfer.curve == Transfer::Curve::gamma) out.emplace_back("gamma", number_word(s.transfer.gamma));
    if (s.transfer.threshold != 0) out.emplace_back("threshold", number_word(s.transfer.threshold));
    if (s.transfer.keep_mass != 1) out.emplace_back("keep-mass", number_word(s.transfer.keep_mass));
}

void put_filter(Options& out, const Request& r) {
    const auto& filter = r.output.style.filter;
    if (filter && view_spec(r.view).filters) out.emplace_back("where", filter->expression);
}

void put_size(Options& out, const ExportOptions& o) {
    const ExportOptions defaults;
    if (o.size_px.width() != defaults.size_px.width()) out.emplace_back("width", number_word(o.size_px.width()));
    if (o.size_px.height() != defaults.size_px.height()) out.emplace_back("height", number_word(o.size_px.height()));
    if (o.width_mm) out.emplace_back("size-mm", number_word(*o.width_mm));
    if (o.scale != defaults.scale) out.emplace_back("scale", number_word(o.scale));
    if (o.transparent) out.emplace_back("transparent", "");
    if (!o.footer) out.emplace_back("no-footer", "");
}

/// One word of a POSIX shell, quoted where it must be.
std::string shell_word(const std::string& text) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

/// A built-in model by its name, another by its whole path: the same however it was typed.
std::string model_reference(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const std::filesystem::path& parent : model::built_in_model_folders())
        if (std::filesystem::equivalent(parent / folder.filename(), folder, ignored)) return folder.filename().string();
    return std::filesystem::absolute(folder, ignored).lexically_normal().string();
}

[[noreturn]] void fail_index(const char* what, std::int64_t index, std::int64_t count) {
    throw Error(ErrorFacts{.problem = std::string("there is no such ") + what,
                           .item = std::string(what) + " " + std::to_string(index),
                           .expected = "0 to " + std::to_string(count - 1)});
}

void check_index(const char* what, std::int64_t index, std::int64_t count) {
    if (index < 0 || index >= count) fail_index(what, index, count);
}

/// What `--attention` calls the part of an encoder-decoder model; "" where nothing has to be said.
const char* attention_word(model::Stack stack) {
    return stack == model::Stack::encoder ? "encoder" : stack == model::Stack::cross ? "cross" : "";
}

/// "12 texts, 3456 tokens: Once upon a time"
std::string pooled_text(const trace::Trace& trace, const TextPool& pool) {
    std::int64_t tokens = trace.tokens();
    for (const TracePtr& each : pool.traces) tokens += each->tokens();
    return std::to_string(pool.traces.size() + 1) + " texts, " + std::to_string(tokens) + " tokens, the first: " + trace.text_a();
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
        throw Error(ErrorFacts{.problem = "this model has no norm behind its attention",
                               .item = weighting_word(state.pattern.weighting),
                               .hint = "Choose layer-mix-residual"});
    if (state.detail) {
        check_index("layer", state.detail->layer.value, config.n_layers);
        check_index("head", state.detail->head.value, config.n_heads);
    }
    if (trace.across_texts() && analyze::of_whole_layer(state.pattern.weighting))
        throw Error(ErrorFacts{.problem = "what a layer makes of its stream is of a text that looks at itself",
                               .item = weighting_word(state.pattern.weighting),
                               .hint = "Choose attention, value-norm, output-norm or output-length"});
    if (state.pattern.filter != analyze::PairFilter::all && !trace.has_sentence_pair())
        throw Error(ErrorFacts{
            .problem = "a pair filter needs two sentences", .item = word(state.pattern.filter), .hint = "Give the second one"});
    if (state.heads.empty() && (spec.needs.heads || spec.needs.focus))
        throw Error(ErrorFacts{.problem = "no head was chosen", .item = state.view});
    if (state.pool && !spec.needs.texts)
        throw Error(ErrorFacts{.problem = "this view is of one text", .item = state.view, .hint = "Leave the others out"});
    check_values(spec, state.values);
    if (spec.missing)
        if (const std::string why = spec.missing(trace); !why.empty())
            throw Error(ErrorFacts{.problem = why, .file = trace.model()->folder().string(), .item = state.view});
}

std::vector<TracePtr> pooled_traces(const TracePtr& trace, const ViewState& state) {
    std::vector<TracePtr> traces{trace};
    if (state.pool) traces.insert(traces.end(), state.pool->traces.begin(), state.pool->traces.end());
    return traces;
}

std::unique_ptr<Figure> make_figure(TracePtr trace, const ViewState& state, const CancelToken& cancel) {
    check(*trace, state);
    return view_spec(state.view).make(std::move(trace), state, cancel);
}

Selection selection_of(const ViewState& request) {
    Selection selection;
    selection.layer = request.layer;
    selection.heads = request.heads;
    selection.focus = request.detail.value_or(request.focus());
    if (request.query) selection.pinned_queries = {*request.query};
    if (request.key) selection.pinned_keys = {*request.key};
    selection.neuron = request.neuron;
    return selection;
}

Options options_of(const Request& request) {
    Options out;
    put_what(out, request);
    if (request.pool) out.emplace_back("texts", request.pool->file);
    put_pattern(out, request.pattern);
    put_looks(out, request.output);
    put_filter(out, request);
    put_size(out, request.output);
    return out;
}

std::string command_of(const trace::Trace& trace, const Request& request, const std::string& format) {
    std::string line = "headlight render " + shell_word(model_reference(trace.model()->folder()));
    const bool runs = model::has_weights(*trace.model());  // else the file says what was read
    if (runs && trace.picture().pixels)
        line += " --image " + shell_word(std::filesystem::absolute(trace.picture().file).lexically_normal().string());
    else if (runs && (!request.pool || request.pool->own_text))
        line += " --text " + shell_word(trace.text_a());
    if (runs && !trace.text_b().empty()) line += " --pair " + shell_word(trace.text_b());
    if (runs && trace.info().dtype != "float32") line += " --dtype " + trace.info().dtype;
    if (const char* attention = attention_word(trace.config().stack); *attention)
        line += std::string(" --attention ") + attention;
    for (const auto& [name, value] : options_of(request)) line += " --" + name + (value.empty() ? "" : " " + shell_word(value));
    return line + " --out figure." + format;
}

Provenance provenance_of(const trace::Trace& trace, const Request& request, const std::string& format) {
    Provenance provenance;
    provenance.model = trace.config().name;
    provenance.model_hash = trace.model()->hash();
    provenance.text = request.pool ? pooled_text(trace, *request.pool) : trace.text_a();
    if (trace.picture().pixels) provenance.image = trace.picture().file;
    provenance.pair = trace.text_b();
    provenance.dtype = trace.info().dtype;
    provenance.version = version();
    provenance.options = options_of(request);
    if (const char* attention = attention_word(trace.config().stack); *attention)
        provenance.options.insert(provenance.options.begin(), {"attention", attention});
    provenance.command = command_of(trace, request, format);
    return provenance;
}

}  // namespace headlight::figure
