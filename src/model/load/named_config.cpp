// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/named_config.h"

#include "headlight/base/error.h"
#include "headlight/model/locate.h"
#include "model/families/class_heads.h"
#include "model/families/registry.h"
#include "model/load/source.h"
#include "model/load/tower.h"
#include "model/load/weight_source.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headlight::model {
namespace {

/// How a family's tensors are met by a folder's.
struct Likeness {
    const Family* family = nullptr;
    Fit fit;
    std::size_t distance() const noexcept { return fit.missing.size() + fit.beyond.size(); }
};

/// nullopt where the family cannot read the configuration at all.
std::optional<Likeness> likeness(const Family& family, const ConfigReader& config, const io::TensorStore& store) {
    try {
        ModelConfig c = config_of(family, config);
        find_other_head(c, store);
        WeightMap map = rows_of(family, c);
        add_prefixes_in_the_wild(map, store);
        const auto encoder = c.stack == Stack::decoder ? std::optional(family.encoder_config(config)) : std::nullopt;
        Fit fit = fit_of(map, c.n_layers, store);
        if (encoder) {
            const Fit other = fit_of(family.weight_map(*encoder), encoder->n_layers, store);
            fit.missing.insert(fit.missing.end(), other.missing.begin(), other.missing.end());
            std::erase_if(fit.beyond,
                          [&](const std::string& name) { return std::ranges::find(other.beyond, name) == other.beyond.end(); });
            fit.met += other.met;
        }
        return Likeness{&family, std::move(fit)};
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// All families that can read the configuration, the nearest first.
std::vector<Likeness> likenesses(const ConfigReader& config, const io::TensorStore& store) {
    std::vector<Likeness> all;
    for (const Family& family : families())
        if (auto one = likeness(family, config, store)) all.push_back(std::move(*one));
    std::ranges::stable_sort(all, {}, &Likeness::distance);
    return all;
}

std::string first_of(const std::vector<std::string>& names) {
    return names.empty() ? "" : " (" + names.front() + (names.size() > 1 ? ", …)" : ")");
}

/// "; by its tensors it is nearest to …"; "" where none is near.
std::string nearest_by_tensors(const ConfigReader& config, const std::filesystem::path& path) {
    try {
        const std::vector<Likeness> all = likenesses(config, io::TensorStore::open(without_tower(path)));
        if (all.empty() || all.front().fit.met < 8) return {};
        const Likeness& one = all.front();
        return "By its tensors it is nearest to " + std::string(one.family->name) + ": " + std::to_string(one.fit.met) +
               " fit, " + std::to_string(one.fit.missing.size()) + " are missing" + first_of(one.fit.missing) + ", " +
               std::to_string(one.fit.beyond.size()) + " are beyond it" + first_of(one.fit.beyond) + ". ";
    } catch (const Error&) {
        return {};
    }
}

/// The beginning of a class name, up to what it is for.
std::string_view beginning(std::string_view name) {
    for (const std::string_view end : {"For", "Model", "WithLMHead", "LMHead"})
        if (const std::size_t at = name.find(end); at != std::string_view::npos && at > 0) name = name.substr(0, at);
    return name;
}

const Family* family_of_class(std::string_view name) {
    for (const Family& family : families())
        for (const std::string_view each : family.architectures)
            if (each == name || beginning(each) == beginning(name)) return &family;
    return nullptr;
}

/// What tells of the only family that the tensors fit wholly.
NamedConfig named_by_tensors(const nlohmann::json& json, const std::filesystem::path& file, const std::filesystem::path& path) {
    std::vector<const Family*> fitting;
    for (const Likeness& one : likenesses(ConfigReader(file, json), io::TensorStore::open(without_tower(path))))
        if (one.distance() == 0) fitting.push_back(one.family);
    std::string names;
    for (const Family* each : fitting) names += (names.empty() ? "" : ", ") + std::string(each->model_type);
    if (fitting.size() != 1)
        throw Error(
            ErrorFacts{.problem = "config.json does not say what kind of model this is",
                       .file = file.string(),
                       .item = "model_type",
                       .expected = fitting.empty() ? "the name of a family" : "one of those that the tensors fit: " + names,
                       .found = "neither model_type nor architectures",
                       .hint = "Add the field \"model_type\" to config.json"});
    nlohmann::json named = json;
    named["model_type"] = fitting.front()->model_type;
    return {ConfigReader(file, std::move(named)),
            {"config.json names no model type; the tensors are those of " + std::string(fitting.front()->name)}};
}

}  // namespace

NamedConfig named_config(const std::filesystem::path& path) {
    const std::filesystem::path folder = folder_of(path), file = folder / "config.json";
    TowerConfig tower = config_of_tower(read_config_json(folder), path);
    const bool typed = tower.json.is_object() && tower.json.contains("model_type") && !tower.json["model_type"].is_null();
    const ConfigReader read(file, tower.json);
    const std::string name = read.architecture();
    if (!typed && name.empty()) return named_by_tensors(tower.json, file, path);
    if (!typed)
        if (const Family* family = family_of_class(name)) {
            tower.json["model_type"] = family->model_type;
            tower.notes.push_back("config.json names no model type; the class " + name + " is of " + std::string(family->name));
        }
    NamedConfig named{ConfigReader(file, std::move(tower.json)), std::move(tower.notes)};
    try {
        family_for(named.config);  // before missing weights are reported
    } catch (const Error& error) {
        ErrorFacts facts = error.facts();
        if (!facts.file.empty()) facts.hint = nearest_by_tensors(named.config, path) + facts.hint;
        throw Error(std::move(facts));
    }
    return named;
}

}  // namespace headlight::model
