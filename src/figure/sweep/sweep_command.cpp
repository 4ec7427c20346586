// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/command_words.h"
#include "headlight/base/version.h"
#include "headlight/figure/sweep/sweep_figure.h"
#include "headlight/intervention/sweep/request_fields.h"
#include "headlight/intervention/tasks/task_pairs.h"

#include <filesystem>
#include <map>
#include <system_error>

namespace headlight::figure {

namespace {

/// What the numbers depend on beside model and texts: what is not as usual, and always what is edited and measured.
CommandOptions options_of(const intervention::SweepRequest& asked) {
    using namespace intervention;
    const SweepOptions& o = asked.options;
    const auto said = [&](const std::string& name, bool usual) {
        if (name == "clean" || name == "corrupt" || name == "target" || name == "pairs") return false;
        if (name == "site" || name == "metric") return true;
        if (name == "direction") return o.ablation == Ablation::none;
        if (name == "ablate") return o.ablation != Ablation::none;
        if (name == "effect" && !o.to.empty()) return false;  // a path's is direct
        if (name == "at" && !uses_places(asked)) return false;
        return !usual;
    };
    const std::vector<FieldWords> fields = field_words(asked), usual = field_words({});
    CommandOptions options;
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (said(fields[i].name, fields[i] == usual[i]))
            for (const std::string& value : fields[i].values) options.emplace_back(fields[i].name, value);
    return options;
}

}  // namespace

std::string sweep_command(const model::Model& model, const intervention::SweepRequest& asked, const std::string& dtype,
                          const ExportOptions& output, const std::string& format) {
    std::string command = "headlight sweep " + shell_word(model_reference(model.folder()));
    const auto absolute = [](const std::string& file) {
        std::error_code ignored;
        return std::filesystem::absolute(file, ignored).lexically_normal().string();
    };
    const bool pictures = model::reads_pictures(model.config());
    const auto add = [&](const char* text, const char* picture, const std::string& value) {
        if (!value.empty())
            command += " --" + std::string(pictures ? picture : text) + " " + shell_word(pictures ? absolute(value) : value);
    };
    if (!asked.pairs.empty())
        command += " --pairs " + shell_word(names_task(asked) ? asked.pairs : absolute(asked.pairs));
    else
        add("clean", "image", asked.clean);
    add("corrupt", "corrupt-image", asked.corrupt);
    if (!asked.target.empty()) command += " --target " + shell_word(asked.target);
    CommandOptions options = options_of(asked);
    for (auto& [name, value] : options)
        if (name == "over") value = absolute(value);
    if (dtype != "float32") options.emplace_back("dtype", dtype);
    put_theme(options, output.style);
    put_size(options, output);
    return command + command_words(options) + " --out figure." + format;
}

Provenance sweep_provenance(const model::Model& model, const intervention::SweepRequest& asked, const std::string& dtype,
                            const ExportOptions& output, const std::string& format) {
    Provenance made;
    made.model = model.config().name;
    made.model_hash = model.hash();
    made.dtype = dtype;
    made.version = version();
    (model::reads_pictures(model.config()) ? made.image : made.text) = asked.clean;
    made.pair = asked.corrupt;
    made.options = options_of(asked);
    for (auto& [name, value] : made.options)
        if (name == "over") value = std::filesystem::path(value).filename().string();
    if (!asked.target.empty()) made.options.insert(made.options.begin(), {"target", asked.target});
    if (!asked.pairs.empty())
        made.options.insert(made.options.begin(), {"pairs", std::filesystem::path(asked.pairs).filename().string()});
    made.command = sweep_command(model, asked, dtype, output, format);
    return made;
}

intervention::SweepFacts sweep_facts(const model::Model& model, const intervention::SweepRequest& asked,
                                     const std::string& dtype) {
    const Provenance made = sweep_provenance(model, asked, dtype, {}, "csv");
    intervention::SweepFacts facts{
        {"model", made.model + ", SHA-256 " + made.model_hash}, {"version", made.version}, {"dtype", made.dtype}};
    if (asked.pairs.empty()) facts.emplace_back("clean", asked.clean);
    if (!made.pair.empty()) facts.emplace_back("corrupt", made.pair);
    if (!asked.target.empty()) facts.emplace_back("target", asked.target);
    std::map<std::string, std::string> options;  // those that are repeated as one
    for (const auto& [name, value] : made.options) options[name] += (options.contains(name) ? " | " : "") + value;
    facts.insert(facts.end(), options.begin(), options.end());
    return facts;
}

}  // namespace headlight::figure
