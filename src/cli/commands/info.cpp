// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/commands/info_saved.h"
#include "cli/config_json.h"
#include "cli/memory_option.h"
#include "cli/options.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/numbers.h"
#include "headlight/io/gguf.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/as_used.h"
#include "headlight/model/classes.h"
#include "headlight/model/locate.h"
#include "headlight/model/model.h"
#include "headlight/model/reference.h"
#include "headlight/model/tensor_stats.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct InfoArguments {
    ModelArgument model;
    bool json = false;
    bool tensors = false;
    std::string tensor;
    int bins = 40;
};

std::int64_t total(const std::map<std::string, std::int64_t>& counts) {
    std::int64_t sum = 0;
    for (const auto& [part, count] : counts) sum += count;
    return sum;
}

/// The kind of the folder's tokenizer; a model without one can still be inspected.
struct TokenizerFacts {
    std::string description;
    std::int64_t vocab_size = 0;
    std::string problem;
};

TokenizerFacts tokenizer_facts(const fs::path& folder, const model::ModelConfig& config) {
    try {
        if (model::reads_pictures(config)) {
            const std::string size = std::to_string(config.image_width) + " x " + std::to_string(config.image_height) + " pixels";
            const std::string grid =
                std::to_string(model::patch_columns(config)) + " x " + std::to_string(model::patch_rows(config));
            const auto classes = static_cast<std::int64_t>(config.labels.size());
            return {"pictures of " + size + ", " + grid + " patches" +
                        (classes > 0 ? ", " + std::to_string(classes) + " classes" : ""),
                    classes, ""};
        }
        const auto tokenizer = trace::load_tokenizer(folder);
        return {tokenizer->description(), tokenizer->vocab_size(), ""};
    } catch (const Error& e) {
        return {"", 0, e.what()};
    }
}

ordered_json tensors_json(const model::Model& model) {
    std::map<std::string, std::vector<std::string>> parameters;
    for (const model::LoadedParameter& loaded : model.report().loaded) parameters[loaded.tensor].push_back(loaded.parameter);
    ordered_json list = ordered_json::array();
    const auto add = [&](const std::string& name, std::string_view dtype, const std::vector<std::int64_t>& shape,
                         const fs::path& file) {
        const auto feeds = parameters.find(name);
        list.push_back({{"name", name},
                        {"dtype", dtype},
                        {"shape", shape},
                        {"file", file.filename().string()},
                        {"parameters", feeds == parameters.end() ? std::vector<std::string>{} : feeds->second}});
    };
    if (const auto gguf = io::gguf_file_of(model.folder())) {
        const auto file = io::GgufFile::open(*gguf);
        for (const auto& [name, tensor] : file->tensors()) add(name, io::layout_of(tensor.type)->name, tensor.shape, tensor.file);
        return list;
    }
    const io::TensorStore store = io::TensorStore::open(model::without_tower(model.folder()));
    for (const auto& [name, view] : store.tensors()) add(name, io::name_of(view.dtype), view.shape, view.file);
    return list;
}

ordered_json report_json(const model::LoadReport& report) {
    ordered_json loaded = ordered_json::array();
    for (const model::LoadedParameter& one : report.loaded)
        loaded.push_back({{"parameter", one.parameter},
                          {"tensor", one.tensor},
                          {"file", fs::path(one.file).filename().string()},
                          {"shape", one.shape},
                          {"dtype", one.stored_dtype},
                          {"mapped", one.mapped}});
    return {{"loaded", loaded},
            {"unused", report.unused},
            {"ignored", report.ignored},
            {"optional_missing", report.optional_missing},
            {"notes", report.notes},
            {"bytes_mapped", report.bytes_mapped},
            {"bytes_copied", report.bytes_copied},
            {"seconds", report.seconds}};
}

/// The files a model is made of: configuration, tokenizer, weights.
ordered_json files_json(const model::Model& model) {
    ordered_json files = ordered_json::array();
    const auto add = [&](const fs::path& file) {
        std::error_code code;
        const std::uintmax_t bytes = fs::file_size(file, code);
        if (!code) files.push_back({{"name", file.filename().string()}, {"bytes", bytes}});
    };
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt",
                             "preprocessor_config.json", "model.safetensors.index.json", "pytorch_model.bin.index.json"})
        add(model::folder_of(model.folder()) / name);
    for (const std::string& file : model.report().files) add(file);
    return files;
}

std::string json_text(const model::Model& model) {
    const auto counts = model.parameter_counts();
    const TokenizerFacts tokenizer = tokenizer_facts(model.folder(), model.config());
    ordered_json root;
    root["name"] = model.config().name;
    root["family"] = model.config().family;
    root["architecture"] = model.config().architecture;
    root["head"] = std::string(enum_word(head_of(model.config())));
    if (model::has_classes(model.config())) root["classes"] = model.config().labels;
    root["folder"] = model.folder().string();
    root["hash"] = model.hash();
    root["config"] = config_json(model.config());
    root["parameters"] = {{"total", total(counts)}, {"parts", counts}};
    root["tokenizer"] = {{"description", tokenizer.description}, {"vocab_size", tokenizer.vocab_size}};
    if (!tokenizer.problem.empty()) root["tokenizer"] = {{"problem", tokenizer.problem}};
    root["tensors"] = tensors_json(model);
    root["load_report"] = report_json(model.report());
    root["files"] = files_json(model);
    if (const auto check = model::check_reference(model, interruptible())) {
        ordered_json reference = {{"file", check->file.string()}, {"tokens", check->tokens}};
        if (check->logits) reference["max_logit_difference"] = *check->logits;
        if (check->patterns) reference["max_pattern_difference"] = *check->patterns;
        if (!check->problem.empty()) reference["problem"] = check->problem;
        root["reference"] = reference;
    }
    return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void line(std::string& out, std::string label, const std::string& value) {
    label.resize(std::max<std::size_t>(label.size() + 2, 25), ' ');
    out += "  " + label + value + "\n";
}

void put_list(std::string& out, const std::string& title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += title + "\n";
    for (const std::string& name : names) out += "  " + name + "\n";
}

void put_report(std::string& out, const model::LoadReport& report, std::int64_t as_used) {
    out += "loaded\n";
    line(out, "parameters from",
         std::to_string(report.loaded.size()) + " places in " + std::to_string(report.files.size()) +
             (report.files.size() == 1 ? " file" : " files"));
    line(out, "bytes mapped", with_commas(report.bytes_mapped));
    line(out, "bytes copied", with_commas(report.bytes_copied));
    if (as_used > 0) line(out, "converted as used", with_commas(as_used) + " bytes in the file");
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f s", report.seconds);
    line(out, "time", seconds);
    put_list(out, "notes", report.notes);
    put_list(out, "tensors not used by any parameter", report.unused);
    put_list(out, "tensors left out on purpose", report.ignored);
    put_list(out, "optional parts that are missing", report.optional_missing);
}

std::string text(const model::Model& model, bool with_tensors) {
    const model::ModelConfig& config = model.config();
    std::string out = config.name + ": " + config.architecture + " (" + config.family + ")\n";
    line(out, "head", config.has_unembedding ? model::head_text(config) : model::why_no_logits(config));
    line(out, "folder", model.folder().string());
    line(out, "sha-256", model.hash());
    const TokenizerFacts tokenizer = tokenizer_facts(model.folder(), model.config());
    line(out, model::reads_pictures(model.config()) ? "reads" : "tokenizer",
         tokenizer.problem.empty() ? tokenizer.description : tokenizer.problem);
    out += "config\n";
    const ordered_json fields = config_json(config);
    for (const auto& [key, value] : fields.items()) {
        if (key == "name" || key == "family" || key == "architecture") continue;
        line(out, key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    const auto counts = model.parameter_counts();
    out += "parameters\n";
    for (const auto& [part, count] : counts) line(out, part, with_commas(count));
    line(out, "total", with_commas(total(counts)));
    put_report(out, model.report(), model::bytes_as_used(model));
    if (const auto check = model::check_reference(model, interruptible()))
        line(out, "against the reference", model::text_of(*check));
    out += "files\n";
    for (const auto& file : files_json(model))
        line(out, file["name"].get<std::string>(), bytes_text(file["bytes"].get<std::uint64_t>()));
    if (with_tensors) {
        out += "tensors\n";
        for (const auto& tensor : tensors_json(model)) {
            std::string fed;
            for (const auto& parameter : tensor["parameters"])
                fed += (fed.empty() ? "  -> " : ", ") + parameter.get<std::string>();
            out += "  " + tensor["name"].get<std::string>() + "  " + tensor["dtype"].get<std::string>() + " " +
                   tensor["shape"].dump() + fed + "\n";
        }
    }
    return out;
}

ordered_json stats_json(const model::TensorStats& s) {
    return {{"name", s.name},         {"dtype", s.dtype},
            {"shape", s.shape},       {"file", s.file.filename().string()},
            {"elements", s.elements}, {"nan", s.nan},
            {"infinite", s.infinite}, {"min", s.min},
            {"max", s.max},           {"mean", s.mean},
            {"std", s.deviation},     {"histogram", {{"edges", s.edges}, {"counts", s.counts}}}};
}

/// Bars as long as the logarithm of the count.
std::string stats_text(const model::TensorStats& s) {
    std::string out = s.name + "  " + s.dtype + " " + nlohmann::json(s.shape).dump() + "  " + s.file.filename().string() + "\n";
    const auto number = [](double x, const char* format) {
        char text[40];
        std::snprintf(text, sizeof text, format, x);
        return std::string(text);
    };
    line(out, "numbers", with_commas(s.elements));
    line(out, "NaN", with_commas(s.nan));
    line(out, "infinite", with_commas(s.infinite));
    if (s.counts.empty()) return out;
    line(out, "min", number(s.min, "%.9g"));
    line(out, "max", number(s.max, "%.9g"));
    line(out, "mean", number(s.mean, "%.9g"));
    line(out, "std", number(s.deviation, "%.9g"));
    out += "histogram\n";
    const auto most = static_cast<double>(*std::ranges::max_element(s.counts));
    constexpr double kLongest = 40;
    for (std::size_t i = 0; i < s.counts.size(); ++i) {
        std::string count = with_commas(s.counts[i]);
        count.insert(0, count.size() < 13 ? 13 - count.size() : 0, ' ');
        const double length =
            s.counts[i] == 0 ? 0
                             : 1 + (kLongest - 1) * std::log(static_cast<double>(s.counts[i])) / std::log(std::max(most, 2.0));
        out += "  " + number(s.edges[i], "%11.4g") + " to " + number(s.edges[i + 1], "%11.4g") + count;
        if (length > 0) out += "  " + std::string(static_cast<std::size_t>(length), '#');
        out += "\n";
    }
    return out;
}

/// One tensor, read from the files without the rest of the model.
int tensor_info(const InfoArguments& options, const Console& console) {
    const fs::path folder = options.model.folder();
    const auto names = model::tensor_names(folder);
    if (std::ranges::find(names, options.tensor) == names.end()) {
        const std::string near = nearest(options.tensor, names);
        throw Error(
            ErrorFacts{.problem = "There is no such tensor",
                       .file = folder.string(),
                       .item = options.tensor,
                       .expected = "one of " + std::to_string(names.size()) + " tensors",
                       .hint = near.empty() ? "headlight info MODEL --tensors lists them" : "Did you mean " + near + "?"});
    }
    const auto stats = model::tensor_stats(folder, options.tensor, options.bins, interruptible(), console.progress());
    console.clear_progress();
    console.result(options.json ? stats_json(stats).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n"
                                : stats_text(stats));
    return 0;
}

int info(const InfoArguments& options, const Console& console) {
    if (options.tensor.empty() && trace::is_saved(options.model.typed))
        return info_of_saved(options.model.typed, options.json, options.tensors, console);
    if (!options.tensor.empty()) return tensor_info(options, console);
    const auto model = model::Model::load(options.model.folder(), {.device = "cpu"}, interruptible(), console.progress());
    console.clear_progress();
    console.result(options.json ? json_text(*model) : text(*model, options.tensors));
    return 0;
}

}  // namespace

Action define_info(Definition& definition, const Frontend&) {
    auto options = std::make_shared<InfoArguments>();
    options->model.add(definition);
    definition.app->add_flag("--json", options->json, "everything as one JSON object");
    definition.app->add_flag("--tensors", options->tensors, "list every tensor and what it feeds");
    definition.app->add_option("--tensor", options->tensor, "the distribution of this tensor's values")->type_name("NAME");
    add_count(definition, "--bins", options->bins, "of the histogram of --tensor", 1, 1000);
    add_memory(definition);
    return [options, console = definition.console] { return info(*options, *console); };
}

}  // namespace headlight::cli
