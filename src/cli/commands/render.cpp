// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/offscreen.h"
#include "cli/open_or_run.h"
#include "cli/options.h"
#include "cli/other_run.h"
#include "cli/picture_options.h"
#include "cli/run_text.h"
#include "cli/text_list.h"
#include "cli/token_option.h"
#include "cli/where.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/heads/corpus_heads.h"
#include "headlight/figure/core/common_options.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/io/atomic_file.h"
#include "headlight/model/classes.h"
#include "headlight/trace/texts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <type_traits>

namespace headlight::cli {
namespace {

using figure::Request;

struct RenderArguments {
    CLI::App* app = nullptr;
    ModelArgument model;
    TextArguments text;
    TextList texts;
    ComputeOptions compute;
    AttentionArgument attention;
    OtherRun other;
    CLI::Option* side = nullptr;
    Request request;  ///< as far as it can be filled before the model has run
    std::string out;
    std::int64_t layer = -1, query = -1, key = -1;
    std::string heads, neuron, where, corpus;
    PictureOptions picture;
};

/// Defines one of the common options, which writes into its field.
struct Define {
    Definition& d;

    template <class T>
    void operator()(const figure::CommonOption& option, T& field) const {
        const std::string flag = std::string("--") + option.flag;
        if constexpr (std::is_enum_v<T>)
            d.add_enum(flag, field, option.help);
        else if constexpr (std::is_same_v<T, bool>)
            d.app->add_flag_callback(
                flag, [&field, set = !field] { field = set; }, option.help);
        else
            add_number(d, flag, field, option.help, option.low, option.high, "X");
    }
};

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
    d.add_choice("--view", o.request.view, views, "what to draw")->required()->default_str("");
    add_index(d, "--layer", o.layer, "the layer, from 0 (default: that of an interesting head)");
    add_value(d, "--heads,--head", o.heads, "heads of the layer, from 0: 5, 0,2,4-7 or all (default: by view)", "LIST");
    add_index(d, kPosition, o.query, "pin the query token, by position from 0");
    add_index(d, "--key", o.key, "pin the key token, by position from 0");
    add_value(d, "--neuron", o.neuron, "views of MLPs: the neuron that is followed (default: the strongest at the token)",
              "N|LAYER:N");
    o.attention.add(d);
    add_value(d, "--where", o.where, "heads that do not match are faint: \"entropy < 1 and share first < 0.5\"", "EXPR");
    add_path(d, "--corpus", o.corpus,
             "a store of \"corpus run\" with this model: measures are called corpus_entropy, --where knows its words", "STORE",
             ValueKind::folder);
    figure::visit_pattern(o.request.pattern, Define{d});
}

/// What --help says of an option: the views that have it, and what it is for them.
std::string help_of(const std::string& option) {
    std::vector<std::pair<std::string, std::string>> uses;  // help, views
    for (const figure::ViewSpec& spec : figure::view_specs())
        if (const figure::ViewOption* own = spec.option(option)) {
            const auto same = std::ranges::find(uses, own->help, &std::pair<std::string, std::string>::first);
            if (same == uses.end())
                uses.emplace_back(own->help, spec.id);
            else
                same->second += ", " + spec.id;
        }
    std::string help;
    for (const auto& [what, views] : uses) help += (help.empty() ? "" : "; ") + views + ": " + what;
    return help;
}

/// Options of single views, each once, under every name that no common option has.
void define_view_options(Definition& d, RenderArguments& o) {
    const auto free = [&](const std::string& name) { return !name.empty() && !d.app->get_option_no_throw("--" + name); };
    for (const figure::ViewSpec& spec : figure::view_specs())
        for (const figure::ViewOption& option : spec.options) {
            if (!free(option.name)) continue;
            std::string flag = "--" + option.name;
            bool one_default = true;
            std::set<std::string> former;
            for (const figure::ViewSpec& other : figure::view_specs())
                if (const figure::ViewOption* same = other.option(option.name)) {
                    one_default = one_default && same->initial == option.initial;
                    if (free(same->former) && former.insert(same->former).second) flag += ",--" + same->former;
                }
            const std::string help = help_of(option.name);
            const auto take = [&o, name = option.name](const std::string& value) { o.request.values[name] = value; };
            if (option.kind == figure::OptionKind::flag) {
                d.app->add_flag_callback(
                    flag, [take] { take("1"); }, help);
                continue;
            }
            CLI::Option* added = d.app->add_option_function<std::string>(flag, take, help);
            if (!option.initial.empty() && one_default) added->default_str(option.initial);
            added->type_name(option.kind == figure::OptionKind::integer  ? "N"
                             : option.kind == figure::OptionKind::number ? "X"
                             : option.token                              ? "ID|TEXT"
                                                                         : "TEXT");
            if (option.kind != figure::OptionKind::choice) continue;
            std::vector<std::string> words;
            for (const auto& [word, title] : option.choices) words.push_back(word);
            d.restrict_to(added, words, option.measure ? analyze::corpus_prefix : std::string_view());
        }
}

void define_looks(Definition& d, RenderArguments& o) {
    o.picture.add_theme(d);
    figure::visit_looks(o.picture.output.style, Define{d});
    o.picture.add_size(d);
}

/// Heads as typed; by default all of the layer if the view shows all heads, else an interesting one.
std::vector<Head> heads_of(const RenderArguments& o, const figure::ViewSpec& spec, const trace::Trace& trace, Head interesting) {
    std::vector<Head> heads;
    if (o.heads == "all" || (o.heads.empty() && (spec.all_heads || figure::combines_heads(o.request)))) {
        for (std::int64_t head = 0; head < trace.config().n_heads; ++head) heads.emplace_back(head);
    } else if (o.heads.empty()) {
        heads.push_back(interesting);
    } else {
        for (const std::int64_t head : parse_index_list(o.heads, "--heads")) heads.emplace_back(head);
    }
    return heads;
}

/// The layer, and its head, that are drawn unless they are named are those of an interesting head.
bool chooses_head(const RenderArguments& o, const figure::ViewSpec& spec) {
    return o.layer < 0 && (spec.needs.heads || spec.needs.focus || spec.needs.layer_counts(o.query >= 0));
}

Request request_of(const RenderArguments& o, const trace::Trace& trace, std::shared_ptr<const corpus::CorpusHeads> corpus) {
    Request request = o.request;
    request.corpus = std::move(corpus);
    const figure::ViewSpec& spec = figure::view_spec(request.view);
    request.output = o.picture.chosen();
    request.values = figure::tidy(spec, request.values);
    if (o.query >= 0) request.query = Position(o.query);
    if (o.key >= 0) request.key = Position(o.key);

    const bool of_heads = spec.needs.heads || spec.needs.focus;
    if (of_heads || spec.needs.layer) {
        HeadId interesting{Layer(std::max<std::int64_t>(o.layer, 0)), Head(0)};
        if (chooses_head(o, spec) && !model::has_implied_maps(trace.config()))
            interesting = analyze::interesting_head(analyze::head_table(trace));
        if (o.layer < 0 && spec.last_layer && figure::text_value(request, "up-to") == "last")
            interesting.layer = Layer(trace.config().n_layers - 1);
        request.layer = interesting.layer;
        if (of_heads) request.heads = heads_of(o, spec, trace, interesting.head);
        if (spec.needs.focus && request.heads.size() > 1)
            throw UsageError("--heads: the view " + spec.id + " shows one head, not " + std::to_string(request.heads.size()));
    } else if (o.layer >= 0 && !o.heads.empty()) {
        request.detail = HeadId{Layer(o.layer), heads_of(o, spec, trace, Head(0)).front()};
    }
    request.neuron = neuron_of(o.neuron, request.layer);
    figure::check(trace, request);
    const bool of_class = spec.reads_class && model::has_classes(trace.config());
    // Views of a prediction start at the last token, as in the window.
    if (spec.needs.focus && spec.needs.query && !spec.needs.chosen && !request.query && !of_class)
        request.query = analyze::interesting_pair(trace, request.focus()).query;
    return request;
}

/// A pin of another view is no mistake; that it does not choose the row has to be said.
void note_unread_position(const trace::Trace& trace, const Request& request, const Console& console) {
    const auto read = model::text_class_position(trace.config(), trace.encoding().ids);
    if (!read || !request.query || !figure::view_spec(request.view).reads_head) return;
    if (!reads_mean(trace.config()) && request.query->value == *read) return;
    console.note("--position " + std::to_string(request.query->value) + " is a mark only: this classifier is " +
                 (reads_mean(trace.config()) ? model::rows_text(trace.config()) : "read at position " + std::to_string(*read)));
}

/// The heads that --where leaves out. Errors in the expression name the column.
std::shared_ptr<const figure::HeadFilter> filter_of(const std::string& where, const trace::Trace& trace,
                                                    const corpus::CorpusHeads* corpus, const Console& console) {
    if (where.empty()) return nullptr;
    auto [query, table] = read_where(where, corpus::with_corpus(analyze::head_table(trace), corpus), &trace, corpus);
    probe_if_asked(query.measures(), trace.model(), trace.tokenizer(), table, console);
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

/// Error: the store is of another model.
std::shared_ptr<const corpus::CorpusHeads> corpus_of(const std::string& folder, const trace::Trace& trace) {
    const auto stored = corpus::read_store(folder);
    if (stored->manifest.model_hash != trace.model()->hash())
        throw headlight::Error({.problem = "The corpus was run with another model",
                                .file = folder,
                                .item = stored->manifest.model,
                                .expected = trace.model()->hash(),
                                .found = stored->manifest.model_hash});
    return corpus::heads_of_corpus(*stored);
}

/// A second run is named, or edits are compared with the text as it is.
bool two_runs(const RenderArguments& o) {
    const bool compares = o.side->count() > 0 || figure::view_spec(o.request.view).compares;
    return o.other.given() || (o.text.has_edits() && compares);
}

/// An option that the view does not have would silently have no effect.
void check_view_options(const RenderArguments& o) {
    const figure::ViewSpec& spec = figure::view_spec(o.request.view);
    const auto refuse = [&](const std::string& name) {
        throw UsageError("--" + name + " is not an option of the view " + spec.id);
    };
    for (const auto& [name, value] : o.request.values)
        if (!spec.option(name)) refuse(name);
    figure::check_values(spec, o.request.values);
    for (const auto& [name, value] : o.request.values)
        if (const figure::ViewOption& option = *spec.option(name); option.relevant && !option.relevant(o.request))
            throw UsageError("--" + name + " is for " + option.only);
    if (!spec.needs.pattern)
        figure::visit_pattern(o.request.pattern, [&](const figure::CommonOption& option, const auto&) {
            if (o.app->count(std::string("--") + option.flag) > 0) refuse(option.flag);
        });
    if (!o.neuron.empty() && !spec.needs.neuron) refuse("neuron");
    if (!o.where.empty() && !spec.filters) refuse("where");
    if (o.texts.given() && o.attention.given()) throw UsageError("--attention: a batch of texts has no targets");
    if (o.texts.given() && o.other.given()) throw UsageError("--texts: a batch has no second run beside it");
    if (o.request.side != figure::Side::a && !two_runs(o))
        throw UsageError("--side: there is one run; give --with, --other or --edit");
    if (o.side->count() > 0 && spec.compares) throw UsageError("--side: the view " + spec.id + " shows both runs");
    if (o.texts.given() && o.text.has_edits()) throw UsageError("--edit: a batch of texts is not edited");
    if (o.texts.given() && !spec.needs.texts) throw UsageError("--texts: the view " + spec.id + " shows one text");
}

/// The text that is drawn and its batch: --text and the lines of --texts, or these lines alone.
struct Texts {
    figure::TracePtr trace;
    std::shared_ptr<const figure::TextBatch> batch{};
    figure::TracePtr beside{};  ///< B
};

/// Of the overview what the view reads, and what its heads are chosen by.
trace::CapturePlan plan_of(const RenderArguments& o) {
    const figure::ViewSpec& spec = figure::view_spec(o.request.view);
    trace::CapturePlan plan{.globs = {}, .overview = spec.overview};
    plan.overview.numbers |= chooses_head(o, spec) || !o.where.empty();
    return plan;
}

Texts run_texts(const RenderArguments& o, const Console& console) {
    if (two_runs(o)) {
        const OtherRun::Runs runs = o.other.run(o.model, o.text, o.compute, console);
        return {.trace = runs.a, .beside = runs.b};
    }
    if (!o.texts.given()) return {.trace = open_or_run(o.model, o.text, o.compute, plan_of(o), console)};
    const std::vector<TextList::Line> lines = o.texts.lines();
    auto batch = std::make_shared<figure::TextBatch>();
    batch->file = o.texts.path;
    batch->own_text = o.text.given();
    const Loaded loaded =
        batch->own_text ? load_for_run(o.model, o.text, o.compute, console) : load_model(o.model, o.compute, console);
    Texts texts;
    if (batch->own_text) texts.trace = run_loaded(loaded, {}, console);
    batch->traces = trace::run_texts(loaded.model, loaded.tokenizer, lines, o.texts.path, loaded.cancel, console.progress());
    console.clear_progress();
    if (!batch->own_text) {
        texts.trace = batch->traces.front();
        batch->traces.erase(batch->traces.begin());
    }
    texts.batch = std::move(batch);
    return texts;
}

std::string views_of_texts() {
    std::string ids;
    for (const figure::ViewSpec& spec : figure::view_specs())
        if (spec.needs.texts) ids += (ids.empty() ? "" : ", ") + spec.id;
    return ids;
}

/// Views with a row for each token become strips that nothing shows well.
void note_height(const Request& request, figure::Figure& figure, const Console& console) {
    constexpr double kStrip = 8;
    const QSizeF size = figure.layout(request.output.size_px, request.output.style, figure::selection_of(request));
    if (size.height() < kStrip * size.width()) return;
    console.note("the figure is a strip, " + with_commas(std::llround(size.height() / size.width())) +
                 " times as tall as it is wide: matrix and model are the views for texts of this length");
}

/// How typed tokens were understood.
void note_tokens(const RenderArguments& o, const trace::Trace& trace, const Console& console) {
    for (const auto& [name, typed] : o.request.values) {
        const figure::ViewOption* option = figure::view_spec(o.request.view).option(name);
        if (option && option->token && !(option->next && typed == "next") && !typed.empty() && trace.tokenizer() &&
            !model::reads_pictures(trace.config()))
            typed_output(trace.config(), *trace.tokenizer(), typed, "--" + name, console);
    }
}

int render(const RenderArguments& o, const Console& console) {
    figure::format_of(o.out);  // report a wrong extension before the work
    o.picture.check(*o.app, o.out);
    check_view_options(o);
    if (!o.heads.empty() && o.heads != "all") parse_index_list(o.heads, "--heads");
    io::check_writable(o.out);
    const Offscreen offscreen;
    const auto [whole, batch, other] = run_texts(o, console);
    const auto trace = o.attention.of(whole);
    RenderArguments asked = o;
    note_tokens(o, *trace, console);
    if (other) asked.request.beside = figure::beside(trace, o.attention.of(other));
    Request request = request_of(asked, *trace, o.corpus.empty() ? nullptr : corpus_of(o.corpus, *trace));
    note_unread_position(*trace, request, console);
    request.batch = batch;
    request.output.style.filter = filter_of(o.where, *trace, request.corpus.get(), console);
    const auto figure = figure::make_figure(trace, request, interruptible());
    if (figure::is_picture(o.out)) note_height(request, *figure, console);
    const std::string format = std::filesystem::path(o.out).extension().string().substr(1);
    export_figure(*figure, figure::selection_of(request), figure::provenance_of(*trace, request, format), request.output, o.out,
                  console);
    return 0;
}

}  // namespace

Action define_render(Definition& definition, const Frontend&) {
    auto options = std::make_shared<RenderArguments>();
    options->app = definition.app.get();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->text.add_ids(definition);
    options->text.add_chat(definition);
    options->other.add(definition);
    options->side = definition.add_enum(
        "--side", options->request.side,
        "of two runs: A, B, or the difference B − A; with --edit A is the run without the edits, B the run under them");
    options->text.add_edits(definition);
    options->texts.add_beside(definition, options->text, "a batch of texts, one a line, for the views " + views_of_texts());
    add_out(definition, options->out, figure::file_endings())->required();
    define_what(definition, *options);
    define_looks(definition, *options);
    define_view_options(definition, *options);
    options->compute.add(definition);
    return [options, console = definition.console] { return render(*options, *console); };
}

}  // namespace headlight::cli
