// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/config_reader.h"

#include "headlight/base/error.h"

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

}  // namespace

ConfigReader::ConfigReader(std::filesystem::path file, nlohmann::json json) : file_(std::move(file)), json_(std::move(json)) {
    if (!json_.is_object())
        throw Error(ErrorFacts{.problem = "not a model configuration", .file = file_.string(), .expected = "a JSON object",
                               .found = shown(json_)});
}

bool ConfigReader::has(std::string_view name) const {
    const auto it = json_.find(std::string(name));
    return it != json_.end() && !it->is_null();
}

const nlohmann::json* ConfigReader::find(Names names, std::string_view& used) const {
    for (const std::string_view name : names) {
        if (!has(name)) continue;
        used = name;
        return &*json_.find(std::string(name));
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
    if (!value) wrong(used, "a number above 0", "no such field");
    if (!value->is_number()) wrong(used, "a number above 0", shown(*value));
    const double number = value->get<double>();
    if (!std::isfinite(number) || number <= 0) wrong(used, "a number above 0", shown(*value));
    return number;
}

bool ConfigReader::flag(std::string_view name, bool fallback) const {
    std::string_view used;
    const nlohmann::json* value = find({name}, used);
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
    std::string_view used;
    const nlohmann::json* value = find({"architectures"}, used);
    if (!value) return {};
    if (!value->is_array() || value->empty() || !value->front().is_string())
        wrong(used, "a list of names", shown(*value));
    return value->front().get<std::string>();
}

std::optional<ConfigReader> ConfigReader::object(std::string_view name) const {
    std::string_view used;
    const nlohmann::json* value = find({name}, used);
    if (!value) return std::nullopt;
    if (!value->is_object()) wrong(name, "an object or null", shown(*value));
    ConfigReader inner(file_, *value);
    inner.prefix_ = prefix_ + std::string(name) + ".";
    return inner;
}

void ConfigReader::unsupported(std::string_view name, const std::string& supported) const {
    const auto it = json_.find(std::string(name));
    throw Error(ErrorFacts{.problem = "this configuration changes the numbers in a way Headlight does not compute",
                           .file = file_.string(),
                           .item = prefix_ + std::string(name),
                           .expected = supported,
                           .found = it == json_.end() ? "no such field" : shown(*it)});
}

void ConfigReader::wrong(std::string_view name, const std::string& expected, const std::string& found) const {
    throw Error(ErrorFacts{.problem = "wrong value in the model's configuration",
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
        {"relu", Activation::relu},
        {"silu", Activation::silu},
        {"swish", Activation::silu},
    });
    const std::string name = config.text({field}, fallback);
    std::string list;
    for (const auto& [known, activation] : kKnown) {
        if (name == known) return activation;
        list += (list.empty() ? "one of " : ", ") + std::string(known);
    }
    config.unsupported(field, list);
}

std::int64_t head_width(const ConfigReader& config, std::string_view heads_field, std::int64_t d_model, std::int64_t n_heads) {
    if (d_model % n_heads != 0)
        config.wrong(heads_field, "a divisor of the width " + std::to_string(d_model), std::to_string(n_heads));
    return d_model / n_heads;
}

}  // namespace headlight::model
