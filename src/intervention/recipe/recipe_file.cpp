// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/recipe_file.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/json_file.h"
#include "intervention/recipe/reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace headlight::intervention {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kVersion = "recipe 1";

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The place of an edit without its site: "L7-8H0,3".
std::string places_of(const Edit& edit) {
    Edit bare = edit;
    bare.stack = model::Stack::decoder;
    std::string text = place_text(bare);
    // place_text() leaves out sites that go without saying; here the site has a field of its own.
    const std::string site(row_of(edit.site).word);
    if (text == site) return {};
    if (text.ends_with("." + site)) text.resize(text.size() - site.size() - 1);
    return text;
}

std::string unit_text(const Place& place, char letter) {
    Edit edit{.site = letter == 'N' ? Site::post : Site::z, .where = {place}};
    return place_text(edit);
}

Json json_of(const Edit& edit) {
    Json out;
    out["on"] = edit.on;
    out["op"] = enum_word(edit.operation);
    out["site"] = row_of(edit.site).word;
    if (edit.stack == model::Stack::encoder || edit.stack == model::Stack::cross) out["stack"] = enum_word(edit.stack);
    std::string where = places_of(edit);
    if (!edit.finder.empty()) where += (where.empty() ? "" : ", ") + edit.finder;
    if (!where.empty()) out["where"] = where;
    if (!edit.positions.empty()) out["pos"] = positions_text(edit.positions);
    const auto end = [](const Positions& positions) { return positions.empty() ? "*" : positions_text(positions); };
    if (edit.edges) out["edge"] = {end(edit.edges->queries), end(edit.edges->keys)};
    const Source& s = edit.source;
    switch (s.from) {
        case From::none: break;
        case From::text:
            out["from"] = s.what;
            if (!s.target.empty()) out["to"] = s.target;
            break;
        case From::texts:
            out["over"] = "texts";
            out["set"] = s.what;
            if (s.index > 0) out["draw"] = s.index;
            break;
        case From::reference:
            out["over"] = "reference:per-position";
            out["set"] = s.what;
            break;
        case From::file: out["vector"] = s.what; break;
        case From::token: out["token"] = s.what; break;
        case From::neuron: out["neuron"] = unit_text(s.place, 'N'); break;
        case From::singular: out["ov"] = unit_text(s.place, 'H') + "." + std::to_string(s.index); break;
        case From::difference: out["difference"] = {end(s.plus), end(s.minus)}; break;
        case From::head: out["head"] = unit_text(s.place, 'H'); break;
    }
    if (has_value(edit.operation)) out["by"] = edit.value;
    if (edit.unit == Unit::norm) out["unit"] = "norm";
    if (edit.without_value_bias) out["without"] = "value bias";
    if (edit.without_first) out["without"] = "first";
    return out;
}

/// Reads the fields of one object.
class Fields {
public:
    Fields(const nlohmann::json& object, std::filesystem::path file, std::string item)
        : object_(object), file_(std::move(file)), item_(std::move(item)) {
        if (!object.is_object()) fail(item_, "an object", object.type_name());
    }
    [[noreturn]] void fail(const std::string& item, const std::string& expected, const std::string& found,
                           const std::string& hint = {}) const {
        throw Error({.problem = "Cannot read the recipe",
                     .file = file_.string(),
                     .item = item,
                     .expected = expected,
                     .found = found,
                     .hint = hint});
    }
    std::string name(const std::string& field) const { return item_.empty() ? field : item_ + "." + field; }
    const nlohmann::json* find(const std::string& field) {
        known_.push_back(field);
        const auto found = object_.find(field);
        return found == object_.end() ? nullptr : &*found;
    }
    std::string text(const std::string& field, const std::string& otherwise = {}) {
        const nlohmann::json* value = find(field);
        if (!value) return otherwise;
        if (!value->is_string()) fail(name(field), "a text", value->dump());
        return value->get<std::string>();
    }
    /// Two texts.
    std::optional<std::pair<std::string, std::string>> pair(const std::string& field) {
        const nlohmann::json* value = find(field);
        if (!value) return std::nullopt;
        if (!value->is_array() || value->size() != 2 || !(*value)[0].is_string() || !(*value)[1].is_string())
            fail(name(field), "two texts", value->dump());
        return std::pair{(*value)[0].get<std::string>(), (*value)[1].get<std::string>()};
    }
    void end() const {
        for (const auto& [field, value] : object_.items())
            if (std::ranges::find(known_, field) == known_.end()) {
                const std::string right = nearest(field, known_);
                fail(name(field), "a field of a recipe", "\"" + field + "\"",
                     right.empty() ? "" : "Did you mean \"" + right + "\"?");
            }
    }

private:
    const nlohmann::json& object_;
    std::filesystem::path file_;
    std::string item_;
    std::vector<std::string> known_;
};

/// An edit's fields as the words that say the same: what is wrong with them is found where words are read.
std::string edit_words(Fields& fields) {
    std::string words;
    if (const nlohmann::json* on = fields.find("on")) {
        if (!on->is_boolean()) fields.fail(fields.name("on"), "true or false", on->dump());
        if (!on->get<bool>()) words += "off ";
    }
    words += fields.text("op");
    const std::string stack = fields.text("stack"), site = fields.text("site");
    std::string where = fields.text("where"), finder;
    const bool placed = where.size() > 1 && where[0] == 'L' && std::isdigit(static_cast<unsigned char>(where[1]));
    if (!placed) {
        finder = where;
        where.clear();
    } else if (const auto comma = where.find(", "); comma != std::string::npos) {
        finder = where.substr(comma + 2);
        where.resize(comma);
    }
    words += " " + (stack.empty() ? "" : stack + ".") + where + (where.empty() || site.empty() ? "" : ".") + site;
    if (!finder.empty()) words += " where " + in_quotes(finder);
    if (const auto edge = fields.pair("edge")) words += " " + edge->first + "<-" + edge->second;
    const std::string from = fields.text("from"), to = fields.text("to");
    if (!from.empty()) words += " from " + in_quotes(from);
    if (!to.empty()) words += " to " + in_quotes(to);
    const std::string over = fields.text("over"), set = fields.text("set");
    if (!over.empty() && over != "texts" && over != "reference:per-position")
        fields.fail(fields.name("over"), "texts or reference:per-position", over);
    if (!over.empty()) words += " over " + in_quotes(set);
    if (const nlohmann::json* draw = fields.find("draw")) words += " draw " + draw->dump();
    if (over == "reference:per-position") words += " per position";
    for (const char* field : {"neuron", "ov"})
        if (const std::string of = fields.text(field); !of.empty()) words += std::string(" ") + field + " " + of;
    if (const std::string token = fields.text("token"); !token.empty()) words += " token " + in_quotes(token);
    if (const auto difference = fields.pair("difference"))
        words += " difference @" + difference->first + " @" + difference->second;
    if (const std::string vector = fields.text("vector"); !vector.empty()) words += " " + in_quotes(vector);
    if (const std::string head = fields.text("head"); !head.empty()) words += " " + head;
    if (const nlohmann::json* by = fields.find("by")) {
        if (!by->is_number()) fields.fail(fields.name("by"), "a number", by->dump());
        words += " " + number_word(by->get<double>());
    }
    if (const std::string unit = fields.text("unit"); !unit.empty()) words += " " + unit;
    if (const std::string without = fields.text("without"); !without.empty()) words += " without " + without;
    if (const std::string pos = fields.text("pos"); !pos.empty() && pos != "all") words += " @" + pos;
    return words;
}

}  // namespace

std::string recipe_json(const Recipe& recipe) {
    std::string out = "{\"headlight\": \"" + std::string(kVersion) + "\"";
    if (!recipe.model.empty() || !recipe.sha256.empty())
        out += ",\n \"model\": " + one_line(Json{{"dir", recipe.model}, {"sha256", recipe.sha256}});
    if (!recipe.text.empty()) out += ",\n \"text\": " + one_line(recipe.text);
    if (!recipe.names.empty()) out += ",\n \"positions\": " + one_line(recipe.names);
    out += ",\n \"edits\": [";
    for (std::size_t i = 0; i < recipe.edits.size(); ++i) out += (i == 0 ? "\n  " : ",\n  ") + one_line(json_of(recipe.edits[i]));
    out += "\n ],\n \"seed\": " + std::to_string(recipe.seed) + "}\n";
    return out;
}

Recipe parse_recipe(std::string_view text, const std::filesystem::path& file) {
    const nlohmann::json json = io::parse_json(text, file);
    Fields root(json, file, "");
    if (const std::string version = root.text("headlight"); version != kVersion)
        root.fail("headlight", "\"" + std::string(kVersion) + "\"", "\"" + version + "\"");
    Recipe recipe;
    if (const nlohmann::json* model = root.find("model")) {
        Fields fields(*model, file, "model");
        recipe.model = fields.text("dir");
        recipe.sha256 = fields.text("sha256");
        fields.end();
    }
    recipe.text = root.text("text");
    if (const nlohmann::json* names = root.find("positions")) {
        if (!names->is_object()) root.fail("positions", "an object of names and positions", names->dump());
        for (const auto& [name, at] : names->items()) {
            if (!at.is_number_unsigned()) root.fail("positions." + name, "a position from 0", at.dump());
            recipe.names[name] = at.get<std::int64_t>();
        }
    }
    if (const nlohmann::json* seed = root.find("seed")) {
        if (!seed->is_number_unsigned()) root.fail("seed", "a whole number from 0", seed->dump());
        recipe.seed = seed->get<std::uint64_t>();
    }
    const nlohmann::json* edits = root.find("edits");
    if (!edits || !edits->is_array()) root.fail("edits", "a list of edits", edits ? edits->dump() : "nothing");
    for (std::size_t i = 0; i < edits->size(); ++i) {
        Fields fields((*edits)[i], file, "edits[" + std::to_string(i) + "]");
        const std::string words = edit_words(fields);
        fields.end();
        try {
            recipe.edits.push_back(parse_edit(words));
        } catch (const Error& error) {
            const ErrorFacts& facts = error.facts();
            throw Error({.problem = facts.problem,
                         .file = file.string(),
                         .item = "edits[" + std::to_string(i) + "], " + facts.item,
                         .expected = facts.expected,
                         .found = facts.found,
                         .hint = facts.hint});
        }
    }
    root.end();
    return recipe;
}

Recipe read_recipe(const std::filesystem::path& path) { return parse_recipe(io::read_text(path, 64u << 20), path); }

void write_recipe(const Recipe& recipe, const std::filesystem::path& path) { io::write_atomically(path, recipe_json(recipe)); }

}  // namespace headlight::intervention
