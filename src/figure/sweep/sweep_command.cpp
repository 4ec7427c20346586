// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/command_words.h"
#include "headlight/figure/sweep/sweep_figure.h"
#include "headlight/intervention/sweep/request_fields.h"
#include "headlight/intervention/tasks/task_pairs.h"

#include <filesystem>
#include <map>
#include <utility>

namespace headlight::figure {

std::string sweep_command(const model::Model& model, const intervention::SweepRequest& asked, const std::string& dtype,
                          const ExportOptions& output, const std::string& format, const OptionWords& more) {
    const bool pictures = model::reads_pictures(model.config());
    CommandOptions options;
    for (auto [name, value] : changed_fields(asked)) {
        if (const std::size_t at = value.find("_by_"); name == "site" && at != std::string::npos) {
            options.emplace_back(name, value.substr(0, at));
            options.emplace_back("by", value.substr(at + 4));
            continue;
        }
        const bool is_input = name == "clean" || name == "corrupt";
        if (is_input && pictures) name = name == "clean" ? "image" : "corrupt-image";
        if ((is_input && pictures) || name == "over" || (name == "pairs" && !names_task(asked))) {
            value = full_path(value);
        }
        options.emplace_back(name, value);
    }
    options.insert(options.end(), more.begin(), more.end());
    return command_of("sweep", model, std::move(options), dtype, output, format);
}

Provenance sweep_provenance(const model::Model& model, const intervention::SweepRequest& asked, const std::string& dtype,
                            const ExportOptions& output, const std::string& format, const OptionWords& more) {
    Provenance made = provenance_of(model, dtype);
    (model::reads_pictures(model.config()) ? made.image : made.text) = asked.clean;
    made.pair = asked.corrupt;
    for (auto [name, value] : changed_fields(asked)) {
        if (name == "over" || name == "pairs") value = std::filesystem::path(value).filename().string();
        if (name != "clean" && name != "corrupt") made.options.emplace_back(name, value);
    }
    made.options.insert(made.options.end(), more.begin(), more.end());
    made.command = sweep_command(model, asked, dtype, output, format, more);
    return made;
}

intervention::SweepFacts sweep_facts(const model::Model& model, const intervention::SweepRequest& asked,
                                     const std::string& dtype) {
    const Provenance made = sweep_provenance(model, asked, dtype, {}, "csv");
    intervention::SweepFacts facts{
        {"model", made.model + ", SHA-256 " + made.model_hash}, {"version", made.version}, {"dtype", made.dtype}};
    if (asked.pairs.empty()) facts.emplace_back("clean", asked.clean);
    if (!made.pair.empty()) facts.emplace_back("corrupt", made.pair);
    std::map<std::string, std::string> options;  // those that are repeated as one
    for (const auto& [name, value] : made.options) options[name] += (options.contains(name) ? " | " : "") + value;
    facts.insert(facts.end(), options.begin(), options.end());
    return facts;
}

}  // namespace headlight::figure
