// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "model/gguf/architecture.h"

#include <charconv>
#include <cmath>

namespace headlight::model {
namespace {

constexpr const char* kArchitecture = "general.architecture";

std::string shown_value(const nlohmann::json& value) {
    if (value.is_array()) return "an array of " + std::to_string(value.size());
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 60) + "…" : text;
}

/// 9.99999975e-06, which is what a float keeps of 1e-05, back to 1e-05: the shortest number that gives the same float.
double as_written(double value) {
    const auto narrow = static_cast<float>(value);
    if (static_cast<double>(narrow) != value) return value;
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, narrow);
    double shortest = value;
    std::from_chars(digits, end.ptr, shortest);
    return shortest;
}

}  // namespace

GgufMetadata::GgufMetadata(const io::GgufFile& file) : file_(file) {
    const auto entry = file.metadata().find(kArchitecture);
    if (entry == file.metadata().end() || !entry->is_string())
        throw Error(ErrorFacts{.problem = "The file does not name its architecture",
                               .file = file.path().string(),
                               .item = kArchitecture,
                               .expected = "a text like \"llama\"",
                               .found = entry == file.metadata().end() ? "no such key" : shown_value(*entry)});
    architecture_ = entry->get<std::string>();
}

const nlohmann::json* GgufMetadata::find(const std::string& key) const {
    const auto entry = file_.metadata().find(architecture_ + "." + key);
    if (entry == file_.metadata().end()) return nullptr;
    // One number for all layers may be written as a number for each.
    if (!entry->is_array() || entry->empty()) return &*entry;
    for (const nlohmann::json& one : *entry)
        if (one != entry->front()) wrong(key, "one value for all layers", "layers that differ");
    return &entry->front();
}

bool GgufMetadata::has(const std::string& key) const { return find(key) != nullptr; }

std::int64_t GgufMetadata::integer(const std::string& key, std::optional<std::int64_t> fallback) const {
    const nlohmann::json* value = find(key);
    if (!value && fallback) return *fallback;
    if (!value) wrong(key, "a whole number", "no such key");
    const bool fits = value->is_number_integer() &&
                      (!value->is_number_unsigned() || value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
    if (!fits) wrong(key, "a whole number", shown_value(*value));
    return value->get<std::int64_t>();
}

double GgufMetadata::number(const std::string& key, std::optional<double> fallback) const {
    const nlohmann::json* value = find(key);
    if (!value && fallback) return *fallback;
    if (!value) wrong(key, "a number", "no such key");
    if (!value->is_number() || !std::isfinite(value->get<double>())) wrong(key, "a number", shown_value(*value));
    return as_written(value->get<double>());
}

std::string GgufMetadata::text(const std::string& key, const std::string& fallback) const {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_string()) wrong(key, "a text", shown_value(*value));
    return value->get<std::string>();
}

bool GgufMetadata::flag(const std::string& key, bool fallback) const {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_boolean()) wrong(key, "true or false", shown_value(*value));
    return value->get<bool>();
}

std::vector<bool> GgufMetadata::flags(const std::string& key) const {
    const auto entry = file_.metadata().find(architecture_ + "." + key);
    if (entry == file_.metadata().end() || !entry->is_array()) return {};
    std::vector<bool> list;
    for (const nlohmann::json& one : *entry) {
        if (!one.is_boolean()) wrong(key, "true or false for each layer", shown_value(one));
        list.push_back(one.get<bool>());
    }
    return list;
}

std::int64_t GgufMetadata::tensor_size(const std::string& tensor, std::size_t dimension) const {
    const io::GgufTensor* found = file_.find(tensor);
    if (!found || found->shape.size() <= dimension)
        throw Error(ErrorFacts{.problem = "A tensor is missing from the model",
                               .file = file_.path().string(),
                               .item = tensor,
                               .expected = "at least " + std::to_string(dimension + 1) + " dimensions",
                               .found = found ? std::to_string(found->shape.size()) : "no such tensor"});
    return found->shape[dimension];
}

void GgufMetadata::wrong(const std::string& key, const std::string& expected, const std::string& found) const {
    throw Error(ErrorFacts{.problem = "Wrong value in the metadata",
                           .file = file_.path().string(),
                           .item = architecture_ + "." + key,
                           .expected = expected,
                           .found = found});
}

}  // namespace headlight::model
