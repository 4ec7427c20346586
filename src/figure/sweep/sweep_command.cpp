// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/command_words.h"
#include "headlight/base/index_list.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/figure/sweep/sweep_figure.h"

#include <filesystem>
#include <system_error>

namespace headlight::figure {

namespace {

/// What the numbers depend on beside model and texts.
CommandOptions options_of(const intervention::SweepRequest& asked) {
    using namespace intervention;
    const SweepOptions &o = asked.options, usual;
    CommandOptions options;
    const auto put = [&](const char* name, const std::string& value) {
        if (!value.empty()) options.emplace_back(name, value);
    };
    const auto put_number = [&](const char* name, auto value, auto otherwise) {
        if (value != otherwise) put(name, std::to_string(value));
    };
    put("site", std::string(enum_word(o.grid)));
    put("metric", std::string(enum_word(o.metric)));
    for (const std::string& answer : asked.answers) put("answer", answer);
    for (const std::string& answer : asked.wrong) put("wrong", answer);
    if (asked.position != "END") put("position", asked.position);
    if (o.ablation == Ablation::none)
        put("direction", std::string(enum_word(o.direction)));
    else
        put("ablate", std::string(enum_word(o.ablation)));
    if (o.attention != usual.attention) put("attention", std::string(enum_word(o.attention)));
    for (const std::string& receiver : o.to) put("to", receiver);
    if (o.effect != usual.effect && o.to.empty()) put("effect", std::string(enum_word(o.effect)));
    if (o.method != usual.method) put("method", std::string(enum_word(o.method)));
    put_number("window", o.window, usual.window);
    for (const std::string& place : asked.places) put("at", place);
    if (o.by_name) options.emplace_back("by-name", "");
    put("layers", index_list_text(o.layers));
    put("heads", index_list_text(o.heads));
    put("noise", o.noise);
    if (o.noise_scale != usual.noise_scale) put("noise-scale", significant(o.noise_scale));
    put_number("noise-draws", o.noise_draws, usual.noise_draws);
    put("over", asked.over);
    if (o.per_position) options.emplace_back("per-position", "");
    put_number("donors", o.donors, usual.donors);
    put_number("draws", o.bootstrap.draws, usual.bootstrap.draws);
    put_number("seed", o.bootstrap.seed, usual.bootstrap.seed);
    return options;
}

}  // namespace

std::string sweep_command(const model::Model& model, const intervention::SweepRequest& asked, const std::string& dtype,
                          const ExportOptions& output, const std::string& format) {
    std::string command = "headlight sweep " + shell_word(model_reference(model.folder()));
    std::error_code ignored;
    if (!asked.pairs.empty())
        command += " --pairs " + shell_word(std::filesystem::absolute(asked.pairs, ignored).lexically_normal().string());
    else
        command += " --clean " + shell_word(asked.clean);
    if (!asked.corrupt.empty()) command += " --corrupt " + shell_word(asked.corrupt);
    if (!asked.target.empty()) command += " --target " + shell_word(asked.target);
    CommandOptions options = options_of(asked);
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
    made.text = asked.clean;
    made.pair = asked.corrupt;
    made.options = options_of(asked);
    if (!asked.target.empty()) made.options.insert(made.options.begin(), {"target", asked.target});
    if (!asked.pairs.empty())
        made.options.insert(made.options.begin(), {"pairs", std::filesystem::path(asked.pairs).filename().string()});
    made.command = sweep_command(model, asked, dtype, output, format);
    return made;
}

}  // namespace headlight::figure
