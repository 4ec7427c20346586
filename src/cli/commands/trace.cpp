// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/config_json.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "cli/token_json.h"
#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/arrays.h"
#include "headlight/trace/edits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;

struct TraceArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    std::string capture;
    std::string out;
};

bool is_npz(const std::string& path) { return fs::path(path).extension() == ".npz"; }

void check_format(const std::string& path) {
    const std::string extension = fs::path(path).extension();
    if (extension != ".safetensors" && extension != ".npz")
        throw UsageError("--out: \"" + path + "\" ends neither in .safetensors nor in .npz");
}

std::vector<std::string> split_globs(const std::string& text) {
    std::vector<std::string> globs;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at < text.size() && text[at] != ',') continue;
        if (at > begin) globs.push_back(text.substr(begin, at - begin));
        begin = at + 1;
    }
    return globs;
}

bool is_pattern(model::Hook hook) { return hook == model::Hook::pattern || hook == model::Hook::cross_pattern; }

/// The hooks of the file: those asked for, or by default those that the views need, and the patterns.
std::vector<model::HookPoint> points_of(const model::ModelConfig& config, const trace::CapturePlan& plan) {
    std::vector<model::HookPoint> points = plan.resolve(config, config.stack != model::Stack::whole);
    if (plan.globs.empty())
        for (const model::HookPoint& point : model::hooks_of(config))
            if (is_pattern(point.hook)) points.push_back(point);
    return points;
}

/// The stacks whose tensors a file holds: the model, or its encoder and its decoder.
std::vector<const model::Model*> stacks_of(const model::Model& model) {
    const auto& encoder = model.part(model::Stack::encoder);
    if (!encoder) return {&model};
    return {encoder.get(), &model};
}

/// A trace computes patterns, scores and results on demand; a file holds all of them. That memory is
/// added to the forecast of the run and reported before it.
void check_memory(const Loaded& loaded, const model::ModelConfig& config, const trace::CapturePlan& plan) {
    const std::vector<model::HookPoint> points = points_of(config, plan);
    const std::int64_t element = model::element_bytes(loaded.model->dtype());
    const bool two_texts = config.stack == model::Stack::decoder;
    const std::int64_t source = config.stack == model::Stack::whole ? 0 : loaded.tokens_of(loaded.prompt.text);
    const std::int64_t tokens = two_texts                               ? loaded.tokens_of(loaded.prompt.pair) + 2
                                : config.stack == model::Stack::encoder ? source
                                                                        : loaded.tokens();
    // Too many tokens for the model: the run reports it, memory is not the problem.
    if (config.context_is_hard_limit && config.context_length > 0 && tokens > config.context_length) return;
    trace::Forecast forecast = trace::forecast(config, tokens, plan, element, two_texts ? source : 0);
    std::map<std::string, std::int64_t> derived;
    for (const model::HookPoint& point : points) {
        using model::Hook;
        if (!is_pattern(point.hook) && point.hook != Hook::attn_scores && point.hook != Hook::result &&
            point.hook != Hook::cross_scores && point.hook != Hook::cross_result && !model::is_score_term(point.hook))
            continue;
        std::int64_t bytes = element;
        for (const std::int64_t size : model::shape_of(point, config, tokens, source)) bytes *= size;
        const std::string name = model::name_of(point);
        derived[name.substr(name.rfind('.') + 1)] += bytes;
        forecast.kept += bytes;
    }
    for (const auto& part : derived) forecast.parts.push_back(part);
    std::stable_sort(forecast.parts.begin(), forecast.parts.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (!forecast.fits())
        throw Error(ErrorFacts{.problem = "The tensors of " + std::to_string(tokens) + " tokens do not fit into memory",
                               .found = forecast.text(),
                               .hint = "Choose fewer hooks with --capture"});
}

std::map<std::string, std::string> metadata_of(const trace::Trace& trace, const std::string& capture) {
    std::map<std::string, std::string> metadata{{"format", "headlight trace"},
                                                {"version", version()},
                                                {"model", fs::absolute(trace.model()->folder()).lexically_normal().string()},
                                                {"model_hash", trace.model()->hash()},
                                                {"family", trace.config().family},
                                                {"config", config_json(trace.config()).dump()},
                                                {"dtype", trace.info().dtype},
                                                {"device", trace.info().device},
                                                {"text", trace.text_a()},
                                                {"capture", capture.empty() ? "default" : capture},
                                                {"tokens", token_json(trace.encoding())}};
    if (!trace.text_b().empty()) metadata["pair"] = trace.text_b();
    if (!trace::edits_of(trace).empty()) metadata["edits"] = nlohmann::json(trace::edits_of(trace)).dump();
    if (const auto& encoder = trace.part(model::Stack::encoder)) {  // the rest is the decoder's
        metadata["encoder_config"] = config_json(encoder->config()).dump();
        metadata["source_tokens"] = token_json(encoder->encoding());
    }
    if (!trace.picture().file.empty()) metadata["image"] = trace.picture().file;
    return metadata;
}

int run_trace(const TraceArguments& options, const Console& console) {
    check_format(options.out);
    trace::CapturePlan plan;
    plan.globs = split_globs(options.capture);
    if (!options.capture.empty() && plan.globs.empty()) throw UsageError("--capture: no hook is named");
    plan.overview = trace::no_overview;
    io::check_writable(options.out);
    const Loaded loaded = load_for_run(options.model, options.text, options.compute, console);
    for (const model::Model* stack : stacks_of(*loaded.model)) check_memory(loaded, stack->config(), plan);
    const auto trace = run_loaded(loaded, plan, console);

    trace::HookArrays tensors;
    for (const model::Model* stack : stacks_of(*loaded.model))
        add_arrays(tensors, *trace::part_of(trace, stack->config().stack), points_of(stack->config(), plan), loaded.cancel);
    const std::vector<io::ArrayRef>& arrays = tensors.arrays;
    const auto metadata = metadata_of(*trace, options.capture);
    if (is_npz(options.out))
        io::write_npz(options.out, arrays, metadata);
    else
        io::write_safetensors(options.out, arrays, metadata);

    std::size_t bytes = 0;
    for (const io::ArrayRef& array : arrays) bytes += array.bytes.size();
    char line[160];
    std::snprintf(line, sizeof line, "%lld tokens, %zu tensors, %.1f MB, %.0f ms", static_cast<long long>(trace->tokens()),
                  arrays.size(), static_cast<double>(bytes) / 1e6, trace->info().seconds * 1e3);
    console.note(line);
    return 0;
}

}  // namespace

Action define_trace(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TraceArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->text.add_chat(definition);
    options->text.add_edits(definition);
    add_value(definition, "--capture", options->capture,
              "hooks to write, by name with * and ?, separated by commas; all: every one (default: what the "
              "views need)",
              "GLOB,...");
    add_path(definition, "--out", options->out, "the file to write: .safetensors or .npz")->required();
    options->compute.add(definition);
    return [options, console = definition.console] { return run_trace(*options, *console); };
}

}  // namespace headlight::cli
