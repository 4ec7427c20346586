// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/offscreen.h"
#include "cli/open_or_run.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "cli/text_list.h"
#include "cli/where.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/io/atomic_file.h"
#include "headlight/trace/texts.h"

#include <filesystem>
#include <map>

namespace headlight::cli {
namespace {

using figure::Request;

struct RenderArguments {
    ModelArgument model;
    TextArguments text;
    TextList texts;
    ComputeOptions compute;
    std::string view, out;
    std::int64_t layer = -1, query = -1, key = -1;
    std::string heads, neuron;
    std::string filter = "all", weighting = "attention";
    AttentionArgument attention;
    bool hide_sinks = false, hide_special = false, no_renormalise = false, words = false;
    std::map<std::string, std::string> values;  ///< options of single views, as typed
    std::string theme = "light", ramp = "ink", palette = "category10", transfer = "linear";
    double gamma = 0.5, threshold = 0, keep_mass = 1;
    double width = 1000, height = 0, size_mm = 0, scale = 2;
    bool transparent = false, no_footer = false;
    std::string where;
};

template <class T>
T chosen(const std::string& word, std::initializer_list<std::pair<const char*, T>> table) {
    for (const auto& [name, value] : table)
        if (word == name) return value;
    throw UsageError("unknown word " + word);
}

std::vector<std::string> weightings() {
    std::vector<std::string> words;
    for (const analyze::Weighting weighting : figure::every_weighting) words.emplace_back(figure::weighting_word(weighting));
    return words;
}

/// "512": of the view's layer; "3:512": of layer 3.
std::optional<analyze::NeuronId> neuron_of(const std::string& typed, Layer layer) {
    if (typed.empty()) return std::nullopt;
    const auto colon = typed.find(':');
    const auto number = [&](const std::string& text) {
        const auto parsed = parse_index_list(text, "--neuron");
        if (parsed.size() != 1) throw UsageError("--neuron: one neuron, not " + typed);
        return parsed.front();
    };
    if (colon == std::string::npos) return analyze::NeuronId{layer, Neuron(number(typed))};
    return analyze::NeuronId{Layer(number(typed.substr(0, colon))), Neuron(number(typed.substr(colon + 1)))};
}

void define_what(Definition& d, RenderArguments& o) {
    std::vector<std::string> views;
    for (const figure::ViewSpec& spec : figure::view_specs()) views.push_back(spec.id);
    d.add_choice("--view", o.view, views, "what to draw")->required();
    const auto index = [&](const char* flag, std::int64_t& value, const char* help) {
        d.app->add_option(flag, value, help)->type_name("N")->check(counted_from_zero());
    };
    index("--layer", o.layer, "the layer, from 0 (default: that of a head worth looking at)");
    d.app->add_option("--heads,--head", o.heads, "heads of the layer, from 0: 5, 0,2,4-7 or all (default: by view)")
        ->type_name("LIST");
    index("--query", o.query, "pin the token that looks, by position from 0");
    index("--key", o.key, "pin the token that is looked at, by position from 0");
    d.app->add_option("--neuron", o.neuron, "views of MLPs: the neuron that is followed (default: the strongest at the token)")
        ->type_name("N|LAYER:N");
    o.attention.add(d);
    d.add_choice("--filter", o.filter, {"all", "a-a", "b-b", "a-b", "b-a"}, "of a pair: who looks at whom");
    d.add_choice("--weighting", o.weighting, weightings(), "what a weight is");
    d.app->add_option("--where", o.where, "heads that do not match are faint: \"entropy < 1 and share first < 0.5\"")
        ->type_name("EXPR");
    d.app->add_flag("--hide-sinks", o.hide_sinks, "leave out attention to the first token");
    d.app->add_flag("--hide-special", o.hide_special, "leave out special tokens");
    d.app->add_flag("--no-renormalise", o.no_renormalise, "rows keep what is left after hiding");
    d.app->add_flag("--words", o.words, "merge sub-words to words");
}

/// RenderArguments that belong to single views, each once.
void define_view_options(Definition& d, RenderArguments& o) {
    for (const figure::ViewSpec& spec : figure::view_specs())
        for (const figure::ViewOption& option : spec.options) {
            const std::string flag = "--" + option.name;
            if (d.app->get_option_no_throw(flag)) continue;
            const auto take = [&o, name = option.name](const std::string& value) { o.values[name] = value; };
            if (option.kind == figure::OptionKind::flag) {
                d.app->add_flag_callback(
                    flag, [take] { take("1"); }, option.help);
                continue;
            }
            CLI::Option* added = d.app->add_option_function<std::string>(flag, take, option.help);
            if (!option.initial.empty()) added->default_str(option.initial);
            added->type_name(option.kind == figure::OptionKind::integer  ? "N"
                             : option.kind == figure::OptionKind::number ? "X"
                                                                         : "TEXT");
            if (option.kind != figure::OptionKind::choice) continue;
            std::vector<std::string> words;
            for (const auto& [word, title] : option.choices) words.push_back(word);
            d.restrict_to(added, words);
        }
}

void define_looks(Definition& d, RenderArguments& o) {
    d.add_choice("--theme", o.theme, {"light", "dark"}, "colours");
    d.add_choice("--ramp", o.ramp, {"ink", "viridis", "cividis", "magma"}, "colours of maps");
    d.add_choice("--palette", o.palette, {"category10", "okabe-ito"}, "colours of heads");
    d.add_choice("--transfer", o.transfer, {"linear", "log", "gamma", "per-row", "rank"}, "from a weight to its strength");
    const auto number = [&](const char* flag, double& value, const char* help, double low, double high) {
        d.app->add_option(flag, value, help)->type_name("X")->check(CLI::Range(low, high))->capture_default_str();
    };
    number("--gamma", o.gamma, "exponent of --transfer gamma", 0.01, 10);
    number("--threshold", o.threshold, "weights below are not drawn", 0, 1);
    number("--keep-mass", o.keep_mass, "of each row draw the largest weights up to this share", 0, 1);
    number("--width", o.width, "width in px", 100, 20000);
    number("--height", o.height, "height in px; 0: as tall as the content", 0, 20000);
    d.app->add_option("--size-mm", o.size_mm, "width in mm: 85 is a journal's column, 178 two")
        ->type_name("X")
        ->check(CLI::Range(20.0, 2000.0));
    number("--scale", o.scale, "PNG pixels per px", 1, 4);
    d.app->add_flag("--transparent", o.transparent, "no paper behind the figure");
    d.app->add_flag("--no-footer", o.no_footer, "without the line that says how it was made");
}

figure::ExportOptions output_of(const RenderArguments& o) {
    figure::ExportOptions out;
    using figure::Ramp;
    using Curve = figure::Transfer::Curve;
    out.style.theme = o.theme == "dark" ? &figure::Theme::dark_theme() : &figure::Theme::light();
    out.style.ramp = chosen<Ramp>(
        o.ramp, {{"ink", Ramp::ink}, {"viridis", Ramp::viridis}, {"cividis", Ramp::cividis}, {"magma", Ramp::magma}});
    out.style.palette = o.palette == "okabe-ito" ? figure::HeadPalette::okabe_ito : figure::HeadPalette::category10;
    out.style.transfer.curve = chosen<Curve>(o.transfer, {{"linear", Curve::linear},
                                                          {"log", Curve::log},
                                                          {"gamma", Curve::gamma},
                                                          {"per-row", Curve::per_row},
                                                          {"rank", Curve::rank}});
    out.style.transfer.gamma = o.gamma;
    out.style.transfer.threshold = o.threshold;
    out.style.transfer.keep_mass = o.keep_mass;
    out.size_px = {o.width, o.height};
    if (o.size_mm > 0) out.width_mm = o.size_mm;
    out.scale = o.scale;
    out.transparent = o.transparent;
    out.footer = !o.no_footer;
    return out;
}

analyze::PatternOptions pattern_of(const RenderArguments& o) {
    using analyze::PairFilter;
    analyze::PatternOptions pattern;
    pattern.filter = chosen<PairFilter>(o.filter, {{"all", PairFilter::all},
                                                   {"a-a", PairFilter::a_to_a},
                                                   {"b-b", PairFilter::b_to_b},
                                                   {"a-b", PairFilter::a_to_b},
                                                   {"b-a", PairFilter::b_to_a}});
    for (const analyze::Weighting weighting : figure::every_weighting)
        if (o.weighting == figure::weighting_word(weighting)) pattern.weighting = weighting;
    pattern.hide_first = o.hide_sinks;
    pattern.hide_special = o.hide_special;
    pattern.renormalise = !o.no_renormalise;
    pattern.merge_words = o.words;
    return pattern;
}

/// Heads as typed; by default all of the layer where the view is of all heads, one worth looking at in the others.
std::vector<Head> heads_of(const RenderArguments& o, const figure::ViewSpec& spec, const trace::Trace& trace, Head interesting) {
    std::vector<Head> heads;
    const auto aggregate = o.values.find("aggregate");
    const bool together = aggregate != o.values.end() && aggregate->second != "none";
    if (o.heads == "all" || (o.heads.empty() && (spec.all_heads || together))) {
        for (std::int64_t head = 0; head < trace.config().n_heads; ++head) heads.emplace_back(head);
    } else if (o.heads.empty()) {
        heads.push_back(interesting);
    } else {
        for (const std::int64_t head : parse_index_list(o.heads, "--heads")) heads.emplace_back(head);
    }
    return heads;
}

Request request_of(const RenderArguments& o, const trace::Trace& trace) {
    const figure::ViewSpec& spec = figure::view_spec(o.view);
    Request request;
    request.view = o.view;
    request.pattern = pattern_of(o);
    request.output = output_of(o);
    request.values = figure::tidy(spec, o.values);
    if (o.query >= 0) request.query = Position(o.query);
    if (o.key >= 0) request.key = Position(o.key);

    const bool of_heads = spec.needs.heads || spec.needs.focus;
    if (of_heads || spec.needs.layer) {
        HeadId interesting{Layer(o.layer), Head(0)};
        if (o.layer < 0 && trace.has_overview()) interesting = analyze::interesting_head(analyze::head_table(trace));
        if (o.layer < 0 && spec.last_layer && figure::text_value(request, "up-to") == "last")
            interesting.layer = Layer(trace.config().n_layers - 1);
        request.layer = interesting.layer;
        if (of_heads) request.heads = heads_of(o, spec, trace, interesting.head);
        if (spec.needs.focus && request.heads.size() > 1)
            throw UsageError("--heads: the view " + o.view + " shows one head, not " + std::to_string(request.heads.size()));
    } else if (o.layer >= 0 && !o.heads.empty()) {
        request.detail = HeadId{Layer(o.layer), heads_of(o, spec, trace, Head(0)).front()};
    }
    request.neuron = neuron_of(o.neuron, request.layer);
    figure::check(trace, request);
    const bool of_class =
        spec.group == "Prediction" && model::reads_pictures(trace.config());  // read off [CLS], the default there
    if (spec.needs.focus && spec.needs.query && !request.query && !of_class)
        request.query = analyze::interesting_pair(trace, request.focus()).query;
    return request;
}

/// The heads that --where leaves out. A mistake in it is told with its column.
std::shared_ptr<const figure::HeadFilter> filter_of(const std::string& where, const trace::Trace& trace, const Console& console) {
    if (where.empty()) return nullptr;
    const analyze::HeadTable table = analyze::head_table(trace);
    analyze::HeadQuery query = read_where(where, table, &trace);
    query.measure(trace, interruptible());
    auto filter = std::make_shared<figure::HeadFilter>();
    filter->expression = where;
    filter->dimmed = analyze::heads_left_out(table, query);
    filter->matching = table.n_layers * table.n_heads - static_cast<std::int64_t>(filter->dimmed.size());
    if (filter->matching == 0) {
        console.note("no head matches " + where + ": every head is painted in full");
        return nullptr;
    }
    return filter->dimmed.empty() ? nullptr : filter;
}

/// An option that the view does not have would be silently without effect.
void check_view_options(const RenderArguments& o) {
    const figure::ViewSpec& spec = figure::view_spec(o.view);
    for (const auto& [name, value] : o.values)
        if (!spec.option(name)) throw UsageError("--" + name + " is no option of the view " + o.view);
    figure::check_values(spec, o.values);
    if (!o.neuron.empty() && !spec.needs.neuron) throw UsageError("--neuron is no option of the view " + o.view);
    if (!o.where.empty() && !spec.filters) throw UsageError("--where is no option of the view " + o.view);
    if (o.texts.given() && o.attention.given()) throw UsageError("--attention: pooled texts have no target to look from");
    if (o.texts.given() && !spec.needs.texts) throw UsageError("--texts: the view " + o.view + " is of one text");
}

/// The text that is drawn, and those pooled with it: --text and the lines of --texts, or these lines alone.
struct Texts {
    figure::TracePtr trace;
    std::shared_ptr<const figure::TextPool> pool;
};

Texts run_texts(const RenderArguments& o, const Console& console) {
    if (!o.texts.given()) return {open_or_run(o.model, o.text, o.compute, {}, console), nullptr};
    const std::vector<TextList::Line> lines = o.texts.lines();
    auto pool = std::make_shared<figure::TextPool>();
    pool->file = o.texts.path;
    pool->own_text = o.text.given();
    const Loaded loaded =
        pool->own_text ? load_for_run(o.model, o.text, o.compute, console) : load_model(o.model, o.compute, console);
    Texts texts;
    if (pool->own_text) texts.trace = run_loaded(loaded, {}, console);
    pool->traces = trace::run_texts(loaded.model, loaded.tokenizer, lines, o.texts.path, loaded.cancel, console.progress());
    console.clear_progress();
    if (!pool->own_text) {
        texts.trace = pool->traces.front();
        pool->traces.erase(pool->traces.begin());
    }
    texts.pool = std::move(pool);
    return texts;
}

int render(const RenderArguments& o, const Console& console) {
    figure::format_of(o.out);  // a wrong extension is told before the work
    check_view_options(o);
    if (!o.heads.empty() && o.heads != "all") parse_index_list(o.heads, "--heads");
    io::check_writable(o.out);
    const Offscreen offscreen;
    const auto [whole, pool] = run_texts(o, console);
    const auto trace = o.attention.of(whole);
    Request request = request_of(o, *trace);
    request.pool = pool;
    request.output.style.filter = filter_of(o.where, *trace, console);
    const auto figure = figure::make_figure(trace, request, interruptible());
    const std::string format = std::filesystem::path(o.out).extension().string().substr(1);
    figure::export_figure(*figure, figure::selection_of(request), figure::provenance_of(*trace, request, format), request.output,
                          o.out);
    console.note("wrote " + o.out);
    return 0;
}

}  // namespace

Action define_render(Definition& definition, const Frontend&) {
    auto options = std::make_shared<RenderArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->text.add_chat(definition);
    options->texts.add_beside(definition, options->text,
                              "pooled texts, one a line: focus, focus-4 to -10, head-scatter, clark-kinds, clark-entropy");
    CLI::Option* out =
        definition.app->add_option("--out", options->out, "the file to write: .png, .svg, .pdf, .csv, .npz or .json");
    out->type_name("FILE")->required();
    definition.kinds[out] = ValueKind::file;
    define_what(definition, *options);
    define_view_options(definition, *options);
    define_looks(definition, *options);
    options->compute.add(definition);
    return [options, console = definition.console] { return render(*options, *console); };
}

}  // namespace headlight::cli
