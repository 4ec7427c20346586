// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/session.h"

#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/json_file.h"

#include <array>

namespace headlight::ui {

namespace {

using nlohmann::json;

template <class Enum, std::size_t N>
struct Names {
    std::array<std::pair<Enum, const char*>, N> names;
    const char* name(Enum value) const {
        for (const auto& [e, n] : names) {
            if (e == value) return n;
        }
        return names[0].second;
    }
    void read(const json& object, const char* key, Enum& value, const std::filesystem::path& file) const {
        if (!object.contains(key)) return;
        const std::string found = object.at(key).get<std::string>();
        std::string known;
        for (const auto& [e, n] : names) {
            if (found == n) {
                value = e;
                return;
            }
            known += (known.empty() ? "" : ", ") + std::string(n);
        }
        throw Error(ErrorFacts{.problem = "The session has a value that is not known",
                               .file = file.string(),
                               .item = key,
                               .expected = known,
                               .found = found});
    }
};

using Curve = figure::Transfer::Curve;
using Filter = analyze::PairFilter;
using Weighting = analyze::Weighting;
using Stack = model::Stack;
constexpr Names<Stack, 3> attentions{{{{Stack::decoder, "self"}, {Stack::encoder, "encoder"}, {Stack::cross, "cross"}}}};
constexpr Names<Curve, 5> curves{{{{Curve::linear, "linear"},
                                   {Curve::log, "log"},
                                   {Curve::gamma, "gamma"},
                                   {Curve::per_row, "per-row"},
                                   {Curve::rank, "rank"}}}};
constexpr Names<Filter, 5> filters{
    {{{Filter::all, "all"}, {Filter::a_to_a, "a-a"}, {Filter::b_to_b, "b-b"}, {Filter::a_to_b, "a-b"}, {Filter::b_to_a, "b-a"}}}};
constexpr Names<Weighting, 7> weightings{{{{Weighting::attention, "attention"},
                                           {Weighting::value_norm, "value-norm"},
                                           {Weighting::output_norm, "output-norm"},
                                           {Weighting::output_length, "output-length"},
                                           {Weighting::layer_mix, "layer-mix"},
                                           {Weighting::layer_mix_residual, "layer-mix-residual"},
                                           {Weighting::layer_mix_norm, "layer-mix-norm"}}}};
constexpr Names<figure::HeadPalette, 2> palettes{
    {{{figure::HeadPalette::category10, "category10"}, {figure::HeadPalette::okabe_ito, "okabe-ito"}}}};
constexpr Names<figure::Ramp, 4> ramps{{{{figure::Ramp::ink, "ink"},
                                         {figure::Ramp::viridis, "viridis"},
                                         {figure::Ramp::cividis, "cividis"},
                                         {figure::Ramp::magma, "magma"}}}};

/// A view that this version does not have is an error, as any other value that is not known.
void read_view(const json& object, const char* key, View& view, const std::filesystem::path& file) {
    if (!object.contains(key)) return;
    const std::string found = object.at(key).get<std::string>();
    if (!figure::find_view(found)) {
        std::string known;
        for (const figure::ViewSpec& spec : figure::view_specs()) known += (known.empty() ? "" : ", ") + spec.id;
        throw Error(ErrorFacts{.problem = "The session has a view that is not known",
                               .file = file.string(),
                               .item = key,
                               .expected = known,
                               .found = found});
    }
    view = found;
}

/// A value of another kind than the field has; the reader of the file adds its name.
struct WrongKind {
    std::string key, found;
};

template <class T>
void read(const json& object, const char* key, T& value) {
    if (!object.contains(key)) return;
    try {
        value = object.at(key).get<T>();
    } catch (const json::exception&) {
        throw WrongKind{key, object.at(key).dump()};
    }
}

/// A number inside its range; the ends count.
void read_number(const json& object, const char* key, double& value, double low, double high, const std::filesystem::path& file) {
    read(object, key, value);
    if (value >= low && value <= high) return;
    throw Error(ErrorFacts{.problem = "The session has a number out of range",
                           .file = file.string(),
                           .item = key,
                           .expected = json(low).dump() + " to " + json(high).dump(),
                           .found = json(value).dump()});
}

json positions_json(const std::vector<Position>& positions) {
    json array = json::array();
    for (const Position p : positions) array.push_back(p.value);
    return array;
}

std::vector<Position> positions_of(const json& array) {
    std::vector<Position> positions;
    for (const auto& p : array) positions.push_back(Position(p.get<std::int64_t>()));
    return positions;
}

/// What the model wrote, in UTF-16 units of the text.
TextRange written_of(const json& document, const QString& text, const std::filesystem::path& file) {
    std::vector<std::int64_t> ends;
    read(document, "written", ends);
    if (ends.empty()) return {};
    if (ends.size() != 2 || ends[0] < 0 || ends[0] > ends[1] || ends[1] > text.size())
        throw Error(ErrorFacts{.problem = "The session has a stretch of text that is not there",
                               .file = file.string(),
                               .item = "written",
                               .expected = "begin and end within 0 to " + std::to_string(text.size()),
                               .found = document.at("written").dump()});
    return ends[0] == ends[1] ? TextRange() : TextRange{ends[0], ends[1]};
}

json filters_json(const std::vector<NamedFilter>& named) {
    json array = json::array();
    for (const NamedFilter& f : named)
        array.push_back({{"name", f.name.toStdString()}, {"expression", f.expression.toStdString()}});
    return array;
}

std::vector<NamedFilter> filters_of(const json& array, const std::filesystem::path& file) {
    std::vector<NamedFilter> named;
    for (const auto& f : array) {
        const NamedFilter filter{QString::fromStdString(f.at("name").get<std::string>()),
                                 QString::fromStdString(f.at("expression").get<std::string>())};
        if (filter.name.trimmed().isEmpty() || filter_called(named, filter.name)) {
            throw Error(ErrorFacts{.problem = "A filter of the session has no name of its own",
                                   .file = file.string(),
                                   .item = "filters",
                                   .found = "\"" + filter.name.toStdString() + "\""});
        }
        named = with_filter(named, filter);
    }
    return named;
}

/// Until views had options of their own they stood beside the shared ones.
void read_first_version_options(const json& j, ViewOptions& o) {
    const auto flag = [&](const char* key, const char* view, const char* option, bool when) {
        bool value = !when;
        read(j, key, value);
        if (value == when) o.values[view][option] = "1";
    };
    flag("pooled_by_mean", "model", "mean", true);
    flag("sorted", "neuron", "sorted", true);
    flag("expanded", "neuron", "collapsed", false);
    std::string cells;
    read(j, "cells", cells);
    if (cells == "lines" || cells == "maps") o.values["model"]["cells"] = cells;
}

json options_json(const ViewOptions& o) {
    return {{"curve", curves.name(o.transfer.curve)},
            {"gamma", o.transfer.gamma},
            {"threshold", o.transfer.threshold},
            {"keep_mass", o.transfer.keep_mass},
            {"attention", attentions.name(o.attention)},
            {"filter", filters.name(o.pattern.filter)},
            {"weighting", weightings.name(o.pattern.weighting)},
            {"hide_first", o.pattern.hide_first},
            {"hide_special", o.pattern.hide_special},
            {"renormalise", o.pattern.renormalise},
            {"merge_words", o.pattern.merge_words},
            {"view_options", o.values},
            {"palette", palettes.name(o.palette)},
            {"ramp", ramps.name(o.ramp)},
            {"predictions", o.predictions},
            {"measure", o.measure},
            {"finder", o.finder.toStdString()},
            {"pool", o.pool_file.toStdString()},
            {"filters", filters_json(o.filters)}};
}

void read_options(const json& j, ViewOptions& o, const std::filesystem::path& file) {
    curves.read(j, "curve", o.transfer.curve, file);
    read_number(j, "gamma", o.transfer.gamma, 0.01, 10, file);
    read_number(j, "threshold", o.transfer.threshold, 0, 1, file);
    read_number(j, "keep_mass", o.transfer.keep_mass, 0, 1, file);
    attentions.read(j, "attention", o.attention, file);
    filters.read(j, "filter", o.pattern.filter, file);
    weightings.read(j, "weighting", o.pattern.weighting, file);
    read(j, "hide_first", o.pattern.hide_first);
    read(j, "hide_special", o.pattern.hide_special);
    read(j, "renormalise", o.pattern.renormalise);
    read(j, "merge_words", o.pattern.merge_words);
    read(j, "view_options", o.values);
    for (const auto& [view, values] : o.values) {
        View known;
        read_view({{"view_options", view}}, "view_options", known, file);
        try {
            figure::check_values(figure::view_spec(known), values);
        } catch (const Error& error) {
            ErrorFacts facts = error.facts();
            facts.file = file.string();
            facts.item = "view_options " + view + " " + facts.item;
            throw Error(facts);
        }
    }
    read_first_version_options(j, o);
    palettes.read(j, "palette", o.palette, file);
    ramps.read(j, "ramp", o.ramp, file);
    read(j, "predictions", o.predictions);
    read(j, "measure", o.measure);
    std::string finder = o.finder.toStdString();
    read(j, "finder", finder);
    o.finder = QString::fromStdString(finder);
    std::string pool;
    read(j, "pool", pool);
    o.pool_file = QString::fromStdString(pool);
    if (j.contains("filters")) o.filters = filters_of(j.at("filters"), file);
}

}  // namespace

std::string to_json(const Session& s) {
    json heads = json::array();
    for (const Head h : s.state.selection.heads) heads.push_back(h.value);
    json neuron;
    if (const auto& n = s.state.selection.neuron) neuron = {n->layer.value, n->neuron.value};
    json document = {
        {"format", "headlight-session"},
        {"version", 1},
        {"program", version()},
        {"model", s.model.toStdString()},
        {"text", s.state.prompt.text.toStdString()},
        {"pair", s.state.prompt.pair.toStdString()},
        {"has_pair", s.state.prompt.has_pair},
        {"written", {s.state.prompt.written.begin, s.state.prompt.written.end}},
        {"options", options_json(s.state.options)},
        {"selection",
         {{"layer", s.state.selection.layer.value},
          {"heads", heads},
          {"focus", s.state.selection.focus.head.value},
          {"queries", positions_json(s.state.selection.pinned_queries)},
          {"keys", positions_json(s.state.selection.pinned_keys)},
          {"neuron", neuron}}},
        {"views", {{"left", s.views.left}, {"right", s.views.right}, {"split", s.views.split}}},
    };
    if (!s.state.prompt.image.isEmpty()) document["image"] = s.state.prompt.image.toStdString();
    return document.dump(2) + "\n";
}

Session session_from_json(const std::string& text, const std::filesystem::path& file) {
    const auto broken = [&](const std::string& found) {
        return Error(ErrorFacts{.problem = "This is not a session that can be read", .file = file.string(), .found = found});
    };
    try {
        const json j = json::parse(text);
        if (!j.is_object() || j.value("format", "") != "headlight-session") throw broken("no \"format\": \"headlight-session\"");
        if (j.value("version", 0) != 1) {
            throw Error(ErrorFacts{.problem = "The session was written by another version",
                                   .file = file.string(),
                                   .item = "version",
                                   .expected = "1",
                                   .found = j.value("version", json()).dump()});
        }
        Session s;
        std::string model, prompt, pair, image;
        read(j, "model", model);
        read(j, "text", prompt);
        read(j, "pair", pair);
        read(j, "image", image);
        read(j, "has_pair", s.state.prompt.has_pair);
        s.model = QString::fromStdString(model);
        s.state.prompt.text = QString::fromStdString(prompt);
        s.state.prompt.written = written_of(j, s.state.prompt.text, file);
        s.state.prompt.pair = QString::fromStdString(pair);
        s.state.prompt.image = QString::fromStdString(image);
        if (j.contains("options")) read_options(j.at("options"), s.state.options, file);
        if (j.contains("selection")) {
            const json& sel = j.at("selection");
            figure::Selection& out = s.state.selection;
            read(sel, "layer", out.layer.value);
            read(sel, "focus", out.focus.head.value);
            out.focus.layer = out.layer;
            if (sel.contains("heads")) {
                for (const auto& h : sel.at("heads")) out.heads.push_back(Head(h.get<std::int64_t>()));
            }
            if (sel.contains("queries")) out.pinned_queries = positions_of(sel.at("queries"));
            if (sel.contains("neuron") && sel.at("neuron").is_array() && sel.at("neuron").size() == 2)
                out.neuron = analyze::NeuronId{Layer(sel.at("neuron").at(0).get<std::int64_t>()),
                                               Neuron(sel.at("neuron").at(1).get<std::int64_t>())};
            if (sel.contains("keys")) out.pinned_keys = positions_of(sel.at("keys"));
        }
        if (j.contains("views")) {
            read_view(j.at("views"), "left", s.views.left, file);
            read_view(j.at("views"), "right", s.views.right, file);
            read(j.at("views"), "split", s.views.split);
        }
        return s;
    } catch (const WrongKind& wrong) {
        throw Error(ErrorFacts{.problem = "The session has a value of the wrong kind",
                               .file = file.string(),
                               .item = wrong.key,
                               .found = wrong.found});
    } catch (const json::exception& error) {
        throw broken(error.what());
    }
}

void save_session(const Session& session, const std::filesystem::path& file) { io::write_atomically(file, to_json(session)); }

Session load_session(const std::filesystem::path& file) { return session_from_json(io::read_text(file), file); }

}  // namespace headlight::ui
