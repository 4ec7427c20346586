// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/session.h"

#include "headlight/base/version.h"
#include "headlight/figure/core/common_options.h"
#include "headlight/intervention/sweep/request_fields.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/fields_json.h"
#include "headlight/io/json_file.h"
#include "headlight/io/json_holds.h"
#include "ui/style/qstring_json.h"

#include <QFileInfo>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

namespace headlight::ui {

namespace {

using nlohmann::json;

Error unknown(const char* problem, const std::filesystem::path& file, const std::string& key,
              const std::vector<std::string>& known, const std::string& found) {
    std::string expected;
    for (const std::string& each : known) expected += (expected.empty() ? "" : ", ") + each;
    return Error(ErrorFacts{.problem = problem, .file = file.string(), .item = key, .expected = expected, .found = found});
}

template <class E>
void read_enum(const json& object, const char* key, E& value, const std::filesystem::path& file) {
    if (!object.contains(key)) return;
    const std::string found = object.at(key).get<std::string>();
    const auto known = enum_value<E>(found);
    if (!known) throw unknown("The session has an unknown value", file, key, enum_words<E>(), found);
    value = *known;
}

/// A view that this version does not have is an error, like any other unknown value.
void read_view(const json& object, const char* key, View& view, const std::filesystem::path& file) {
    if (!object.contains(key)) return;
    const std::string found = object.at(key).get<std::string>();
    if (!figure::find_view(found)) {
        std::vector<std::string> known;
        for (const figure::ViewSpec& spec : figure::view_specs()) known.push_back(spec.id);
        throw unknown("The session has an unknown view", file, key, known, found);
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
    if (!io::holds<T>(object.at(key))) throw WrongKind{key, object.at(key).dump()};
    try {
        value = object.at(key).get<T>();
    } catch (const json::exception&) {
        throw WrongKind{key, object.at(key).dump()};
    }
}

void read(const json& object, const char* key, QString& value) {
    std::string text = value.toStdString();
    read(object, key, text);
    value = QString::fromStdString(text);
}

/// A number inside its range, ends included.
template <class T>
void read_number(const json& object, const char* key, T& value, double low, double high, const std::filesystem::path& file) {
    read(object, key, value);
    if (static_cast<double>(value) >= low && static_cast<double>(value) <= high) return;
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

template <class Index>
void read_indices(const json& object, const char* key, std::vector<Index>& out) {
    std::vector<std::int64_t> numbers;
    read(object, key, numbers);
    for (const std::int64_t number : numbers) out.push_back(Index(number));
}

/// The generated text, in UTF-16 units.
TextRange written_of(const json& document, const QString& text, const std::filesystem::path& file) {
    std::vector<std::int64_t> ends;
    read(document, "written", ends);
    if (ends.empty()) return {};
    if (ends.size() != 2 || ends[0] < 0 || ends[0] > ends[1] || ends[1] > text.size())
        throw Error(ErrorFacts{.problem = "The session names a range outside its text",
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
            throw Error(ErrorFacts{.problem = "A filter of the session has no name, or that of another one",
                                   .file = file.string(),
                                   .item = "filters",
                                   .found = "\"" + filter.name.toStdString() + "\""});
        }
        named = with_filter(named, filter);
    }
    return named;
}

/// Writes the common options, and reads them.
struct Write {
    json& object;

    template <class T>
    void operator()(const figure::CommonOption& option, const T& value) const {
        if constexpr (std::is_enum_v<T>)
            object[option.key] = enum_word(value);
        else
            object[option.key] = value;
    }
};
struct Read {
    const json& object;
    const std::filesystem::path& file;

    template <class T>
    void operator()(const figure::CommonOption& option, T& value) const {
        if constexpr (std::is_enum_v<T>)
            read_enum(object, option.key, value, file);
        else if constexpr (std::is_same_v<T, bool>)
            read(object, option.key, value);
        else
            read_number(object, option.key, value, option.low, option.high, file);
    }
};

/// [layer, head], both from 0.
std::optional<HeadId> read_head(const json& object, const char* key, const char* problem, const std::filesystem::path& file) {
    std::vector<std::int64_t> numbers;
    read(object, key, numbers);
    if (numbers.empty()) return std::nullopt;
    if (numbers.size() != 2 || numbers[0] < 0 || numbers[1] < 0)
        throw Error(ErrorFacts{.problem = problem,
                               .file = file.string(),
                               .item = key,
                               .expected = "[layer, head], both from 0",
                               .found = object.at(key).dump()});
    return HeadId{Layer(numbers[0]), Head(numbers[1])};
}

json edits_json(const EditList& list) {
    json lines = json::array();
    for (const EditLine& line : list.lines) lines.push_back({{"on", line.on}, {"words", line.words.toStdString()}});
    json object = {{"lines", lines}, {"positions", list.names}, {"seed", list.seed}, {"watched", list.watched.toStdString()}};
    if (!list.against.isEmpty()) object["against"] = list.against.toStdString();
    if (list.watched_at) object["watched_at"] = *list.watched_at;
    return object;
}

EditList edits_of(const json& j, const std::filesystem::path& file) {
    EditList list;
    for (const json& of : j.value("lines", json::array())) {
        EditLine& line = list.lines.emplace_back();
        read(of, "on", line.on);
        read(of, "words", line.words);
    }
    read(j, "positions", list.names);
    auto seed = static_cast<std::int64_t>(list.seed);
    read_number(j, "seed", seed, 0, std::numeric_limits<int>::max(), file);
    list.seed = static_cast<std::uint64_t>(seed);
    read(j, "watched", list.watched);
    read(j, "against", list.against);
    if (j.contains("watched_at")) read(j, "watched_at", list.watched_at.emplace());
    return list;
}

json options_json(const ViewOptions& o) {
    json object = {{"attention", enum_word(o.attention)},  {"view_options", o.values},
                   {"predictions", o.predictions},         {"measure", o.measure},
                   {"answer_kept", o.answer_kept},         {"both_sides", o.both_sides},
                   {"measure_to_data", o.measure_to_data}, {"finder", o.finder.toStdString()},
                   {"texts", o.batch_file.toStdString()},  {"filters", filters_json(o.filters)},
                   {"corpus", o.corpus.toStdString()}};
    if (o.other.on)
        object["other"] = {{"text", o.other.prompt.text.toStdString()},
                           {"pair", o.other.prompt.pair.toStdString()},
                           {"image", o.other.prompt.image.toStdString()},
                           {"model", o.other.model.toStdString()}};
    if (o.edits != EditList()) object["edits"] = edits_json(o.edits);
    if (o.side != figure::Side::a) object["side"] = enum_word(o.side);
    if (o.detail) object["detail"] = {o.detail->layer.value, o.detail->head.value};
    figure::visit_pattern(o.pattern, Write{object});
    figure::visit_looks(o, Write{object});
    return object;
}

void read_options(const json& j, ViewOptions& o, const std::filesystem::path& file) {
    figure::visit_pattern(o.pattern, Read{j, file});
    figure::visit_looks(o, Read{j, file});
    read_enum(j, "attention", o.attention, file);
    read(j, "view_options", o.values);
    for (auto& [view, values] : o.values) {
        View known;
        read_view({{"view_options", view}}, "view_options", known, file);
        try {
            values = figure::renamed(figure::view_spec(known), values);
            figure::check_values(figure::view_spec(known), values);
        } catch (const Error& error) {
            ErrorFacts facts = error.facts();
            facts.file = file.string();
            facts.item = "view_options " + view + " " + facts.item;
            throw Error(facts);
        }
    }
    o.detail = read_head(j, "detail", "The session's detail does not name a head", file);
    read(j, "predictions", o.predictions);
    read(j, "answer_kept", o.answer_kept);
    read(j, "both_sides", o.both_sides);
    read(j, "measure", o.measure);
    read(j, "measure_to_data", o.measure_to_data);
    read(j, "finder", o.finder);
    read(j, "pool", o.batch_file);  // an older name of "texts"
    read(j, "texts", o.batch_file);
    read(j, "corpus", o.corpus);
    if (j.contains("other")) {
        const json& other = j.at("other");
        o.other.on = true;
        read(other, "text", o.other.prompt.text);
        read(other, "pair", o.other.prompt.pair);
        read(other, "image", o.other.prompt.image);
        read(other, "model", o.other.model);
        read_enum(other, "side", o.side, file);  // its older place
    }
    if (j.contains("edits")) o.edits = edits_of(j.at("edits"), file);
    read_enum(j, "side", o.side, file);
    if (j.contains("filters")) o.filters = filters_of(j.at("filters"), file);
}

json map_json(const MapPage& p) {
    json object = io::fields_json(p);
    if (p.order.gather.stack == model::Stack::whole) object.erase("attention");  // that of the window
    object["middle"] = {p.look.middle.x(), p.look.middle.y()};
    if (p.look.single) object["head"] = {p.look.single->layer.value, p.look.single->head.value};
    return object;
}

void read_map(const json& j, MapPage& p, const std::filesystem::path& file) {
    io::read_fields(j, p, file);
    p.order.gather.seed = p.order.options.seed;
    std::vector<double> middle{p.look.middle.x(), p.look.middle.y()};
    read(j, "middle", middle);
    if (middle.size() == 2) p.look.middle = {middle[0], middle[1]};
    p.look.single = read_head(j, "head", "The session's map does not name a head", file);
}

intervention::SweepRequest sweep_of(const json& j, const std::filesystem::path& file) {
    intervention::SweepRequest request;
    io::read_fields(j, request, file);
    return request;
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
          {"found_pins", s.state.selection.found_pins},
          {"neuron", neuron}}},
        {"views", {{"left", s.views.left}, {"right", s.views.right}, {"split", s.views.split}}},
        {"map", map_json(s.map)},
        {"page", enum_word(s.page)},
    };
    if (s.sweep) document["sweep"] = io::fields_json(*s.sweep);
    if (const auto& kept = s.sweep_numbers)
        document["sweep_numbers"] = {{"request", io::fields_json(kept->asked)}, {"lines", *kept->lines}};
    if (!s.state.prompt.image.isEmpty()) document["image"] = s.state.prompt.image.toStdString();
    return document.dump(2) + "\n";
}

Session session_from_json(const std::string& text, const std::filesystem::path& file) {
    const auto broken = [&](const std::string& found) {
        return Error(ErrorFacts{.problem = "This is not a readable session", .file = file.string(), .found = found});
    };
    try {
        const json j = io::parse_json(text, file);
        if (!j.is_object() || j.value("format", "") != "headlight-session") throw broken("no \"format\": \"headlight-session\"");
        if (j.value("version", json()) != 1) {
            throw Error(ErrorFacts{.problem = "The session was written by another version",
                                   .file = file.string(),
                                   .item = "version",
                                   .expected = "1",
                                   .found = j.value("version", json()).dump()});
        }
        Session s;
        PromptText& prompt = s.state.prompt;
        read(j, "model", s.model);
        s.state.model = s.model;
        read(j, "text", prompt.text);
        read(j, "pair", prompt.pair);
        read(j, "image", prompt.image);
        read(j, "has_pair", prompt.has_pair);
        prompt.written = written_of(j, prompt.text, file);
        if (j.contains("options")) read_options(j.at("options"), s.state.options, file);
        if (j.contains("selection")) {
            const json& sel = j.at("selection");
            figure::Selection& out = s.state.selection;
            read(sel, "layer", out.layer.value);
            read(sel, "focus", out.focus.head.value);
            out.focus.layer = out.layer;
            read_indices(sel, "heads", out.heads);
            read_indices(sel, "queries", out.pinned_queries);
            std::vector<std::int64_t> neuron;
            if (sel.contains("neuron") && !sel.at("neuron").is_null()) read(sel, "neuron", neuron);
            if (neuron.size() == 2) out.neuron = analyze::NeuronId{Layer(neuron[0]), Neuron(neuron[1])};
            read(sel, "found_pins", out.found_pins);
            read_indices(sel, "keys", out.pinned_keys);
        }
        if (j.contains("views")) {
            read_view(j.at("views"), "left", s.views.left, file);
            read_view(j.at("views"), "right", s.views.right, file);
            read(j.at("views"), "split", s.views.split);
        }
        read_enum(j, "page", s.page, file);
        if (j.contains("map")) read_map(j.at("map"), s.map, file);
        if (j.contains("sweep")) s.sweep = sweep_of(j.at("sweep"), file);
        if (j.contains("sweep_numbers")) {
            const json& kept = j.at("sweep_numbers");
            std::string lines;
            read(kept, "lines", lines);
            s.sweep_numbers = {sweep_of(kept.value("request", json::object()), file),
                               std::make_shared<const std::string>(std::move(lines))};
        }
        return s;
    } catch (const WrongKind& wrong) {
        throw Error(ErrorFacts{.problem = "The session has a value of the wrong kind",
                               .file = file.string(),
                               .item = wrong.key,
                               .found = wrong.found});
    } catch (const json::exception& error) {
        throw broken(io::plain_reason(error));
    }
}

std::optional<ErrorFacts> lacking_of(const figure::Selection& s, const trace::Trace& trace, const QString& session_file) {
    const model::ModelConfig& c = trace.config();
    std::optional<ErrorFacts> first;
    const bool of_session = !session_file.isEmpty();
    const auto check = [&](const char* field, const char* option, std::int64_t value, std::int64_t count,
                           const std::string& whose) {
        if (first || (value >= 0 && value < count)) return;
        first = ErrorFacts{
            .problem = (of_session ? "The session selects what " : "The command line selects what ") + whose + " does not have",
            .file = session_file.toStdString(),
            .item = of_session ? std::string("selection, ") + field : option,
            .expected = "0 to " + std::to_string(count - 1),
            .found = std::to_string(value),
            .hint = of_session ? "The nearest is selected in its place; choose another and save the session again"
                               : "The nearest is selected in its place"};
    };
    check("layer", "--layer", s.layer.value, c.n_layers, c.name);
    check("focus", "--head", s.focus.head.value, c.n_heads, c.name);
    for (const Head head : s.heads) check("heads", "--head", head.value, c.n_heads, c.name);
    for (const Position p : s.pinned_queries) check("queries", "--query", p.value, trace.tokens(), "the text");
    for (const Position p : s.pinned_keys) check("keys", "--key", p.value, trace.keys(), "the text");
    if (s.neuron && of_session) check("neuron", "", s.neuron->layer.value, c.n_layers, c.name);
    return first;
}

QString caption_of(const Session& session) {
    const PromptText& prompt = session.state.prompt;
    const QString text = prompt.image.isEmpty() ? prompt.text.simplified() : QFileInfo(prompt.image).fileName();
    const QString model = session.model.startsWith('/') ? QFileInfo(session.model).fileName() : session.model;
    constexpr int most = 60;
    return QStringLiteral("“%1” on %2").arg(text.size() > most ? text.left(most) + u'…' : text, model);
}

void save_session(const Session& session, const std::filesystem::path& file) { io::write_atomically(file, to_json(session)); }

Session load_session(const std::filesystem::path& file) { return session_from_json(io::read_text(file), file); }

}  // namespace headlight::ui
