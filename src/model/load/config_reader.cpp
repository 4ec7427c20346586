// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/config_reader.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headlight::model {
namespace {

constexpr std::size_t kShownLength = 60;

std::string shown(const nlohmann::json& value) {
    std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (text.size() > kShownLength) text = text.substr(0, kShownLength) + "…";
    return text;
}

/// Far beyond any model's; a rotary base of 1e-320 or a factor of 1e308 makes numbers that are not finite.
constexpr double kSmallest = 1e-30, kLargest = 1e30;
constexpr const char* kPositive = "a number from 1e-30 to 1e30";

bool positive(double x) { return x >= kSmallest && x <= kLargest; }

}  // namespace

ConfigReader::ConfigReader(std::filesystem::path file, nlohmann::json json) : file_(std::move(file)), json_(std::move(json)) {
    if (!json_.is_object())
        throw Error(ErrorFacts{
            .problem = "Not a model configuration", .file = file_.string(), .expected = "a JSON object", .found = shown(json_)});
}

bool ConfigReader::has(std::string_view name) const {
    const auto it = json_.find(std::string(name));
    return it != json_.end() && !it->is_null();
}

const nlohmann::json& ConfigReader::raw(std::string_view name) const {
    static const nlohmann::json kNull;
    const auto it = json_.find(std::string(name));
    return it == json_.end() ? kNull : *it;
}

bool ConfigReader::mentions(std::string_view name) const { return json_.contains(std::string(name)); }

const nlohmann::json* ConfigReader::find(std::string_view name) const { return has(name) ? &raw(name) : nullptr; }

const nlohmann::json* ConfigReader::find(Names names, std::string_view& used) const {
    for (const std::string_view name : names) {
        used = name;
        if (const nlohmann::json* value = find(name)) return value;
    }
    used = *names.begin();
    return nullptr;
}

std::int64_t ConfigReader::size(Names names, std::int64_t limit, std::optional<std::int64_t> fallback) const {
    std::string_view used;
    const nlohmann::json* value = find(names, used);
    if (!value && fallback) return *fallback;
    const std::string expected = "a whole number from 1 to " + std::to_string(limit);
    if (!value) wrong(used, expected, "no such field");
    if (!value->is_number_integer()) wrong(used, expected, shown(*value));
    // An unsigned value above the signed range must not wrap around.
    if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(limit))
        wrong(used, expected, shown(*value));
    const auto number = value->get<std::int64_t>();
    if (number < 1 || number > limit) wrong(used, expected, shown(*value));
    return number;
}

double ConfigReader::number(Names names, std::optional<double> fallback) const {
    std::string_view used;
    const nlohmann::json* value = find(names, used);
    if (!value && fallback) return *fallback;
    if (!value) wrong(used, kPositive, "no such field");
    if (!value->is_number()) wrong(used, kPositive, shown(*value));
    const double number = value->get<double>();
    if (!positive(number)) wrong(used, kPositive, shown(*value));
    return number;
}

double ConfigReader::signed_number(Names names, double fallback) const {
    std::string_view used;
    const nlohmann::json* value = find(names, used);
    if (!value) return fallback;
    if (!value->is_number() || !(std::abs(value->get<double>()) <= kLargest)) wrong(used, "a number up to 1e30", shown(*value));
    return value->get<double>();
}

std::vector<double> ConfigReader::numbers(std::string_view name) const {
    const nlohmann::json* value = find(name);
    const std::string expected = "a list of numbers from 1e-30 to 1e30";
    if (!value) wrong(name, expected, "no such field");
    if (!value->is_array()) wrong(name, expected, shown(*value));
    std::vector<double> list;
    for (const nlohmann::json& each : *value) {
        if (!each.is_number() || !positive(each.get<double>())) wrong(name, expected, shown(each));
        list.push_back(each.get<double>());
    }
    return list;
}

template <class T>
std::vector<T> ConfigReader::list(std::string_view name, std::int64_t count, const char* of,
                                  bool (nlohmann::json::*is)() const) const {
    const nlohmann::json* value = find(name);
    if (!value) return {};
    const std::string expected = "a list of " + std::to_string(count) + of;
    if (!value->is_array() || static_cast<std::int64_t>(value->size()) != count) wrong(name, expected, shown(*value));
    for (const nlohmann::json& each : *value)
        if (!(each.*is)()) wrong(name, expected, shown(each));
    return value->get<std::vector<T>>();
}

std::vector<std::string> ConfigReader::texts(std::string_view name, std::int64_t count) const {
    return list<std::string>(name, count, " names", &nlohmann::json::is_string);
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view name, std::int64_t count) const {
    return list<std::int64_t>(name, count, " whole numbers", &nlohmann::json::is_number_integer);
}

bool ConfigReader::flag(std::string_view name, bool fallback) const {
    const nlohmann::json* value = find(name);
    if (!value) return fallback;
    if (!value->is_boolean()) wrong(name, "true or false", shown(*value));
    return value->get<bool>();
}

std::string ConfigReader::text(Names names, std::optional<std::string> fallback) const {
    std::string_view used;
    const nlohmann::json* value = find(names, used);
    if (!value && fallback) return *fallback;
    if (!value) wrong(used, "a text", "no such field");
    if (!value->is_string()) wrong(used, "a text", shown(*value));
    return value->get<std::string>();
}

std::string ConfigReader::architecture() const {
    const nlohmann::json* value = find("architectures");
    if (!value) return {};
    if (!value->is_array() || value->empty() || !value->front().is_string())
        wrong("architectures", "a list of names", shown(*value));
    return value->front().get<std::string>();
}

std::optional<ConfigReader> ConfigReader::object(std::string_view name) const {
    const nlohmann::json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_object()) wrong(name, "an object or null", shown(*value));
    ConfigReader inner(file_, *value);
    inner.prefix_ = prefix_ + std::string(name) + ".";
    return inner;
}

std::optional<ConfigReader> ConfigReader::object_of_kind(std::string_view name) const {
    return raw(name).is_object() ? object(name) : std::nullopt;
}

void ConfigReader::unsupported(std::string_view name, const std::string& supported) const {
    const auto it = json_.find(std::string(name));
    throw Error(ErrorFacts{.problem = "This configuration changes the computation in an unsupported way",
                           .file = file_.string(),
                           .item = prefix_ + std::string(name),
                           .expected = supported,
                           .found = it == json_.end() ? "no such field" : shown(*it)});
}

void ConfigReader::wrong(std::string_view name, const std::string& expected, const std::string& found) const {
    throw Error(ErrorFacts{.problem = "Wrong value in the model's configuration",
                           .file = file_.string(),
                           .item = prefix_ + std::string(name),
                           .expected = expected,
                           .found = found});
}

void ConfigReader::require_flag(std::string_view name, bool value, bool fallback) const {
    if (flag(name, fallback) != value) unsupported(name, value ? "true" : "false");
}

Activation read_activation(const ConfigReader& config, std::string_view field, const std::string& fallback) {
    static constexpr std::array kKnown = std::to_array<std::pair<std::string_view, Activation>>({
        {"gelu", Activation::gelu},
        {"gelu_python", Activation::gelu},
        {"gelu_new", Activation::gelu_tanh},
        {"gelu_pytorch_tanh", Activation::gelu_tanh},
        {"gelu_python_tanh", Activation::gelu_tanh},
        {"gelu_fast", Activation::gelu_tanh},
        {"quick_gelu", Activation::quick_gelu},
        {"relu", Activation::relu},
        {"relu2", Activation::relu_squared},
        {"silu", Activation::silu},
        {"swish", Activation::silu},
        {"tanh", Activation::tanh},
    });
    const std::string name = config.text({field}, fallback);
    std::string list;
    for (const auto& [known, activation] : kKnown) {
        if (name == known) return activation;
        list += (list.empty() ? "one of " : ", ") + std::string(known);
    }
    config.unsupported(field, list);
}

void read_sizes(const ConfigReader& json, ModelConfig& c, ConfigReader::Names layers, ConfigReader::Names width,
                ConfigReader::Names heads) {
    c.n_layers = json.size(layers, kMaxLayers);
    c.d_model = json.size(width, kMaxWidth);
    c.n_heads = c.n_kv_heads = json.size(heads, kMaxHeads);
    c.d_head = head_width(json, *heads.begin(), c.d_model, c.n_heads);
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
}

std::int64_t read_kv_heads(const ConfigReader& json, const ModelConfig& c, std::optional<std::int64_t> fallback) {
    // null means as many as query heads, whatever the default for an absent field.
    const bool absent = !json.mentions("num_key_value_heads");
    const std::int64_t heads = json.size({"num_key_value_heads"}, kMaxHeads, absent && fallback ? *fallback : c.n_heads);
    if (c.n_heads % heads != 0)
        json.wrong("num_key_value_heads", "a divisor of num_attention_heads " + std::to_string(c.n_heads), std::to_string(heads));
    return heads;
}

void read_layer_types(const ConfigReader& json, ModelConfig& c, std::int64_t window, bool (*fallback)(std::int64_t layer)) {
    const std::vector<std::string> types = json.texts("layer_types", c.n_layers);
    c.windows.assign(static_cast<std::size_t>(c.n_layers), 0);
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        bool local = types.empty() && fallback(l);
        if (!types.empty()) {
            const std::string& type = types[static_cast<std::size_t>(l)];
            local = type == "sliding_attention";
            if (!local && type != "full_attention") json.unsupported("layer_types", "full_attention or sliding_attention");
        }
        if (local) c.windows[static_cast<std::size_t>(l)] = window;
    }
    if (std::all_of(c.windows.begin(), c.windows.end(), [](std::int64_t w) { return w == 0; })) c.windows.clear();
}

std::int64_t head_width(const ConfigReader& config, std::string_view heads_field, std::int64_t d_model, std::int64_t n_heads) {
    if (d_model % n_heads != 0)
        config.wrong(heads_field, "a divisor of the width " + std::to_string(d_model), std::to_string(n_heads));
    return d_model / n_heads;
}

}  // namespace headlight::model
