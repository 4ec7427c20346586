// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/tower.h"

#include "headlight/base/error.h"
#include "headlight/model/locate.h"

#include <algorithm>

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

nlohmann::json config_of_tower(nlohmann::json config, const std::filesystem::path& path) {
    const std::string asked = tower_of(path);
    const bool has = config.is_object() && config.value("model_type", nlohmann::json()) == "clip";
    if (!has) {
        if (asked.empty()) return config;
        throw Error(ErrorFacts{.problem = "This model has no towers",
                               .file = (folder_of(path) / "config.json").string(),
                               .item = "model_type",
                               .expected = "clip",
                               .found = "another kind of model",
                               .hint = "Leave the tower out"});
    }
    const bool vision = asked == kVisionTower;
    const auto inner = config.find(vision ? "vision_config" : "text_config");
    nlohmann::json tower = inner != config.end() && inner->is_object() ? *inner : nlohmann::json::object();
    tower["architectures"] = {vision ? "CLIPVisionModelWithProjection" : "CLIPTextModelWithProjection"};
    // A head of the whole is no tower's, and is refused by its name (families/class_heads).
    const nlohmann::json whole = config.value("architectures", nlohmann::json::array());
    if (std::ranges::find(whole, "CLIPForImageClassification") != whole.end()) tower["architectures"] = whole;
    tower["model_type"] = vision ? "clip_vision_model" : "clip_text_model";
    // The projections belong to the pair; a tower's own field may still have the default.
    tower["projection_dim"] = config.value("projection_dim", nlohmann::json(512));
    return tower;
}

}  // namespace headlight::model
