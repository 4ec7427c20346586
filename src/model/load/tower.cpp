// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/tower.h"

#include "headlight/base/error.h"
#include "headlight/model/locate.h"
#include "model/families/registry.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace headlight::model {
namespace {

std::string mark_of(std::string_view tower) {
    std::string mark(1, '#');
    return mark.append(tower);
}

}  // namespace

std::filesystem::path with_tower(const std::filesystem::path& model, std::string_view tower) {
    std::filesystem::path out = without_tower(model);
    if (!tower.empty()) out += mark_of(tower);
    return out;
}

std::string tower_of(const std::filesystem::path& model) {
    const std::string text = model.string();
    for (const std::string_view tower : {kTextTower, kVisionTower}) {
        const std::string tail = mark_of(tower);
        std::error_code none;
        if (text.size() > tail.size() && text.ends_with(tail) && !std::filesystem::exists(model, none)) return std::string(tower);
    }
    return {};
}

std::filesystem::path without_tower(const std::filesystem::path& model) {
    const std::string tower = tower_of(model);
    if (tower.empty()) return model;
    const std::string text = model.string();
    return text.substr(0, text.size() - mark_of(tower).size());
}

namespace {

/// Vision-language models whose language model reads a text by itself as it would alone, and the class of the text where a file
/// names none.
struct Wrapper {
    std::string_view type, text_type;
};
constexpr Wrapper kWrappers[] = {{"gemma3", "gemma3_text"},     {"qwen2_vl", "qwen2_vl_text"}, {"qwen2_5_vl", "qwen2_5_vl_text"},
                                 {"qwen3_vl", "qwen3_vl_text"}, {"mistral3", "mistral"},       {"llava", "llama"},
                                 {"llava_next", "llama"},       {"llava_onevision", "qwen2"},  {"idefics3", "llama"},
                                 {"smolvlm", "llama"},          {"paligemma", "gemma"},        {"aya_vision", "cohere2"},
                                 {"internvl", "qwen2"},         {"llama4", "llama4_text"}};

/// What the classes of transformers have where a file of such a model leaves a field out, as many do.
struct TextDefaults {
    std::string_view type;
    std::int64_t vocabulary, width, hidden, layers, heads, kv_heads;
};
constexpr TextDefaults kTextDefaults[] = {
    {"llama", 32000, 4096, 11008, 32, 32, 0},           {"mistral", 32000, 4096, 14336, 32, 32, 8},
    {"gemma", 256000, 3072, 24576, 28, 16, 16},         {"gemma2", 256000, 2304, 9216, 26, 8, 4},
    {"gemma3_text", 262208, 2304, 9216, 26, 8, 4},      {"qwen2", 151936, 4096, 22016, 32, 32, 32},
    {"qwen2_vl_text", 152064, 8192, 29568, 80, 64, 8},  {"qwen2_5_vl_text", 152064, 8192, 29568, 80, 64, 8},
    {"qwen3_vl_text", 151936, 4096, 22016, 32, 32, 32}, {"llama4_text", 202048, 5120, 8192, 48, 40, 8}};

void add_defaults(nlohmann::json& text, const std::string& type) {
    const auto found = std::ranges::find(kTextDefaults, type, &TextDefaults::type);
    if (found == std::end(kTextDefaults)) return;
    const auto set = [&](const char* field, std::int64_t value) {
        if (value > 0 && !text.contains(field)) text[field] = value;
    };
    set("vocab_size", found->vocabulary);
    set("hidden_size", found->width);
    set("intermediate_size", found->hidden);
    set("num_hidden_layers", found->layers);
    set("num_attention_heads", found->heads);
    set("num_key_value_heads", found->kv_heads);
}

/// Positions in three directions (height, width, time) are one and the same in a text.
void flatten_rotation(nlohmann::json& text) {
    for (const char* field : {"rope_parameters", "rope_scaling"}) {
        if (!text.contains(field) || !text[field].is_object() || !text[field].contains("mrope_section")) continue;
        nlohmann::json& rope = text[field];
        rope.erase("mrope_section");
        rope.erase("mrope_interleaved");
        for (const char* kind : {"type", "rope_type"})
            if (rope.contains(kind) && rope[kind] == "mrope") rope[kind] = "default";
    }
}

bool is_true(const nlohmann::json& config, const char* field) { return config.contains(field) && config[field] == true; }

TowerConfig language_model(const nlohmann::json& config, const Wrapper& wrapper) {
    const std::string outer(wrapper.type);
    // Older files of these two have the fields of the text among their own.
    const bool flat = outer == "qwen2_vl" || outer == "qwen2_5_vl";
    nlohmann::json text = flat ? config : nlohmann::json::object();
    if (config.contains("text_config") && config["text_config"].is_object()) {
        text = config["text_config"];
        if (is_true(config, "tie_word_embeddings") || !text.contains("tie_word_embeddings"))
            if (config.contains("tie_word_embeddings")) text["tie_word_embeddings"] = config["tie_word_embeddings"];
    }
    std::string type(wrapper.text_type);
    if (text.contains("model_type") && text["model_type"].is_string() && text["model_type"] != outer)
        type = text["model_type"].get<std::string>();
    add_defaults(text, type);
    flatten_rotation(text);
    const std::string own = type == "qwen2_vl_text" || type == "qwen2_5_vl_text" ? "qwen2"
                            : type == "qwen3_vl_text"                            ? "qwen3"
                                                                                 : type;
    text["model_type"] = own;
    if (outer == "aya_vision") text["logit_scale"] = 1.0;                 // its own head does not scale
    if (outer == "paligemma") text.erase("use_bidirectional_attention");  // of prompts with a picture
    std::string whole = outer;
    if (config.contains("architectures") && config["architectures"].is_array() && !config["architectures"].empty() &&
        config["architectures"].front().is_string())
        whole = config["architectures"].front().get<std::string>();
    text["architectures"] = {class_name(own, !whole.ends_with("Model"))};
    TowerConfig tower{std::move(text), {}};
    tower.notes.push_back("The language model (" + type + ") of " + whole + "; its parts for pictures are not read");
    if (outer == "paligemma")
        tower.notes.emplace_back(
            "Causal, as without a picture; with one, PaliGemma attends both ways up to the end of the prompt");
    return tower;
}

bool is_class(const nlohmann::json& config, const char* name) {
    const nlohmann::json classes = config.value("architectures", nlohmann::json::array());
    return std::ranges::find(classes, name) != classes.end();
}

/// One of a pair's two models: its part of the configuration as a model of this class. A classifier's class and labels stand with
/// the whole, and are the vision tower's (families/class_heads).
nlohmann::json tower_of_pair(const nlohmann::json& config, const char* part, const char* head, const char* architecture,
                             const char* type) {
    const auto inner = config.find(part);
    nlohmann::json tower = inner != config.end() && inner->is_object() ? *inner : nlohmann::json::object();
    const bool classifies = is_class(config, head);
    tower["architectures"] = {classifies ? head : architecture};
    for (const char* field : {"id2label", "num_labels", "problem_type"})
        if (classifies && config.contains(field)) tower[field] = config[field];
    tower["model_type"] = type;
    return tower;
}

/// Its text tower always reads 64 tokens, padding included; runs here have no padding.
TowerConfig vision_tower_of_siglip(const nlohmann::json& config, const std::filesystem::path& path) {
    if (tower_of(path) == kTextTower)
        throw Error(ErrorFacts{.problem = "SigLIP's text tower is not read: it attends to the padding after a text",
                               .file = (folder_of(path) / "config.json").string(),
                               .item = "model_type",
                               .expected = "clip",
                               .found = "siglip",
                               .hint = "Leave the tower out: the vision tower opens"});
    return {tower_of_pair(config, "vision_config", "SiglipForImageClassification", "SiglipVisionModel", "siglip_vision_model"),
            {"The vision tower of SigLIP, up to its last norm; its pooling head and its text tower are not read"}};
}

}  // namespace

TowerConfig config_of_tower(nlohmann::json config, const std::filesystem::path& path) {
    const std::string asked = tower_of(path);
    const std::string type = config.is_object() && config.contains("model_type") && config["model_type"].is_string()
                                 ? config["model_type"].get<std::string>()
                                 : "";
    const auto* wrapper = std::ranges::find(kWrappers, std::string_view(type), &Wrapper::type);
    if (wrapper != std::end(kWrappers) && asked != kVisionTower) return language_model(config, *wrapper);
    if (type == "siglip") return vision_tower_of_siglip(config, path);
    if (type != "clip") {
        if (asked.empty()) return {std::move(config)};
        throw Error(ErrorFacts{.problem = "This model has no towers",
                               .file = (folder_of(path) / "config.json").string(),
                               .item = "model_type",
                               .expected = "clip or siglip",
                               .found = "another kind of model",
                               .hint = "Leave the tower out"});
    }
    const bool vision = asked == kVisionTower || (asked.empty() && is_class(config, "CLIPForImageClassification"));
    nlohmann::json tower = vision ? tower_of_pair(config, "vision_config", "CLIPForImageClassification",
                                                  "CLIPVisionModelWithProjection", "clip_vision_model")
                                  : tower_of_pair(config, "text_config", "", "CLIPTextModelWithProjection", "clip_text_model");
    // The projections belong to the pair; a tower's own field may still have the default.
    tower["projection_dim"] = config.value("projection_dim", nlohmann::json(512));
    return {std::move(tower)};
}

}  // namespace headlight::model
