// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/config_json.h"
#include "cli/options.h"
#include "cli/run_need.h"
#include "cli/token_json.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/io/array_stream.h"
#include "headlight/io/atomic_file.h"
#include "headlight/trace/arrays.h"
#include "headlight/trace/edits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <numeric>

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

double bytes_of(const std::vector<std::int64_t>& shape, std::int64_t element) {
    return std::accumulate(shape.begin(), shape.end(), static_cast<double>(element), std::multiplies<>());
}

/// Bytes of the file by kind of hook.
std::map<std::string, double> file_sizes(const std::vector<StackTokens>& stacks, const trace::CapturePlan& plan,
                                         std::int64_t element) {
    std::map<std::string, double> file;
    for (const StackTokens& stack : stacks)
        for (const model::HookPoint& point : points_of(stack.model->config(), plan)) {
            const std::string name = model::name_of(point);
            file[name.substr(name.rfind('.') + 1)] +=
                bytes_of(model::shape_of(point, stack.model->config(), stack.tokens, stack.source), element);
        }
    return file;
}

/// The largest first: "hook_pattern 1.9 TB, hook_result 4 GB".
std::string largest_of(const std::map<std::string, double>& bytes) {
    std::vector<std::pair<std::string, double>> parts(bytes.begin(), bytes.end());
    std::ranges::stable_sort(parts, std::greater(), &std::pair<std::string, double>::second);
    parts.resize(std::min<std::size_t>(3, parts.size()));
    std::string text;
    for (const auto& [name, size] : parts) text += (text.empty() ? "" : ", ") + name + " " + rounded_bytes(size);
    return text;
}

void check_disk(const std::map<std::string, double>& file, const std::string& out, bool widened) {
    std::error_code unknown;
    const fs::space_info space = fs::space(fs::absolute(out).parent_path(), unknown);
    if (unknown || (fs::exists(out) && !fs::is_regular_file(out))) return;
    double all = 0;
    for (const auto& [name, bytes] : file) all += widened ? 2 * bytes : bytes;
    if (all <= static_cast<double>(space.available)) return;
    throw Error(ErrorFacts{.problem = "The file does not fit onto its disk",
                           .file = out,
                           .expected = rounded_bytes(all) + " (" + largest_of(file) + ")",
                           .found = rounded_bytes(static_cast<double>(space.available)) + " free",
                           .hint = "Choose fewer hooks with --capture, shorten the text, or choose another folder"});
}

/// Refuses before the run what will not fit into memory: the run, and what is held while its tensors are written.
void check_memory(const std::vector<StackTokens>& stacks, const trace::CapturePlan& plan, std::int64_t element) {
    for (const StackTokens& stack : stacks) {
        const model::ModelConfig& config = stack.model->config();
        trace::Forecast forecast = trace::forecast(config, stack.tokens, plan, element, stack.source);
        forecast.working += trace::bytes_to_feed(config, points_of(config, plan), stack.tokens, element, stack.source);
        if (!forecast.fits())
            throw Error(ErrorFacts{.problem = "The tensors of " + with_commas(stack.tokens) + " tokens do not fit into memory",
                                   .found = forecast.text(),
                                   .hint = "Choose fewer hooks with --capture, or shorten the text"});
    }
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
    const std::int64_t element = model::element_bytes(loaded.model->dtype());
    const std::vector<StackTokens> stacks = stacks_of(loaded);
    check_disk(file_sizes(stacks, plan, element), options.out,
               is_npz(options.out) && loaded.model->dtype() == model::ComputeType::bfloat16);
    check_memory(stacks, plan, element);
    const auto trace = run_loaded(loaded, plan, console);

    std::vector<io::ArrayStream> arrays;
    for (const StackTokens& stack : stacks) {
        const model::ModelConfig& config = stack.model->config();
        auto own = trace::array_streams(trace::part_of(trace, config.stack), points_of(config, plan));
        std::ranges::move(own, std::back_inserter(arrays));
    }
    const std::int64_t count = std::ssize(arrays);
    const auto done = std::make_shared<std::int64_t>(0);
    double bytes = 0;
    for (io::ArrayStream& array : arrays) {
        bytes += bytes_of(array.shape, io::size_of(array.dtype));
        array.feed = [feed = std::move(array.feed), progress = console.progress(), count, done](const io::PutBytes& put) {
            if (progress) progress({"Writing", "tensor", ++*done, count});
            feed(put);
        };
    }
    const auto metadata = metadata_of(*trace, options.capture);
    if (is_npz(options.out))
        io::stream_npz(options.out, arrays, metadata);
    else
        io::stream_safetensors(options.out, arrays, metadata);
    console.clear_progress();

    char line[160];
    std::snprintf(line, sizeof line, "%lld tokens, %zu tensors, %.1f MB, %.0f ms", static_cast<long long>(trace->tokens()),
                  arrays.size(), bytes / 1e6, trace->info().seconds * 1e3);
    console.note(line);
    return 0;
}

}  // namespace

Action define_trace(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TraceArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->text.add_ids(definition);
    options->text.add_chat(definition);
    options->text.add_edits(definition);
    add_value(definition, "--capture", options->capture,
              "hooks to write, by name with * and ?, separated by commas; all: every one (default: what the "
              "views need)",
              "GLOB,...");
    add_out(definition, options->out, {".safetensors", ".npz"})->required();
    options->compute.add(definition);
    return [options, console = definition.console] { return run_trace(*options, *console); };
}

}  // namespace headlight::cli
