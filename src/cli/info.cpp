// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/config_json.h"
#include "cli/options.h"
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/locate.h"
#include "headlight/model/model.h"
#include "headlight/model/reference.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Options {
    ModelArgument model;
    bool json = false;
    bool tensors = false;
};

std::int64_t total(const std::map<std::string, std::int64_t>& counts) {
    std::int64_t sum = 0;
    for (const auto& [part, count] : counts) sum += count;
    return sum;
}

/// What the folder's tokenizer is; a model without one can still be looked at.
struct TokenizerFacts {
    std::string description;
    std::int64_t vocab_size = 0;
    std::string problem;
};

TokenizerFacts tokenizer_facts(const fs::path& folder, const model::ModelConfig& config) {
    try {
        if (model::reads_pictures(config)) {
            const std::string size = std::to_string(config.image_width) + " x " + std::to_string(config.image_height) + " pixels";
            const std::string grid = std::to_string(model::patch_columns(config)) + " x " + std::to_string(model::patch_rows(config));
            const auto classes = static_cast<std::int64_t>(config.labels.size());
            return {"pictures of " + size + ", " + grid + " patches" + (classes > 0 ? ", " + std::to_string(classes) + " classes" : ""), classes, ""};
        }
        const auto tokenizer = trace::load_tokenizer(folder);
        return {tokenizer->description(), tokenizer->vocab_size(), ""};
    } catch (const Error& e) {
        return {"", 0, e.what()};
    }
}

ordered_json tensors_json(const model::Model& model) {
    std::map<std::string, std::vector<std::string>> parameters;
    for (const model::LoadedParameter& loaded : model.report().loaded)
        parameters[loaded.tensor].push_back(loaded.parameter);
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
        for (const auto& [name, tensor] : file->tensors())
            add(name, io::layout_of(tensor.type)->name, tensor.shape, tensor.file);
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
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json",
                             "merges.txt", "preprocessor_config.json", "model.safetensors.index.json", "pytorch_model.bin.index.json"})
        add(model::folder_of(model.folder()) / name);
    for (const std::string& file : model.report().files) add(file);
    return files;
}

std::string json(const model::Model& model) {
    const auto counts = model.parameter_counts();
    const TokenizerFacts tokenizer = tokenizer_facts(model.folder(), model.config());
    ordered_json root;
    root["name"] = model.config().name;
    root["family"] = model.config().family;
    root["architecture"] = model.config().architecture;
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

/// 13682632 -> "13,682,632"
std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
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

void put_report(std::string& out, const model::LoadReport& report) {
    out += "loaded\n";
    line(out, "parameters from",
         std::to_string(report.loaded.size()) + " places in " + std::to_string(report.files.size()) +
             (report.files.size() == 1 ? " file" : " files"));
    line(out, "bytes mapped", grouped(report.bytes_mapped));
    line(out, "bytes copied", grouped(report.bytes_copied));
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f s", report.seconds);
    line(out, "time", seconds);
    put_list(out, "tensors no parameter asked for", report.unused);
    put_list(out, "tensors left out on purpose", report.ignored);
    put_list(out, "parts that are not there and not needed", report.optional_missing);
}

std::string text(const model::Model& model, bool with_tensors) {
    const model::ModelConfig& config = model.config();
    std::string out = config.name + ": " + config.architecture + " (" + config.family + ")\n";
    line(out, "folder", model.folder().string());
    line(out, "sha-256", model.hash());
    const TokenizerFacts tokenizer = tokenizer_facts(model.folder(), model.config());
    line(out, model::reads_pictures(model.config()) ? "reads" : "tokenizer", tokenizer.problem.empty() ? tokenizer.description : tokenizer.problem);
    out += "config\n";
    const ordered_json fields = config_json(config);
    for (const auto& [key, value] : fields.items()) {
        if (key == "name" || key == "family" || key == "architecture") continue;
        line(out, key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    const auto counts = model.parameter_counts();
    out += "parameters\n";
    for (const auto& [part, count] : counts) line(out, part, grouped(count));
    line(out, "total", grouped(total(counts)));
    put_report(out, model.report());
    if (const auto check = model::check_reference(model, interruptible())) line(out, "against the reference", model::text_of(*check));
    out += "files\n";
    for (const auto& file : files_json(model))
        line(out, file["name"].get<std::string>(), grouped(file["bytes"].get<std::int64_t>()) + " bytes");
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

int info(const Options& options, const Console& console) {
    const auto model =
        model::Model::load(options.model.folder(), {.device = "cpu"}, interruptible(), console.progress());
    console.clear_progress();
    console.result(options.json ? json(*model) : text(*model, options.tensors));
    return 0;
}

}  // namespace

Action define_info(Definition& definition, const Frontend&) {
    auto options = std::make_shared<Options>();
    options->model.add(definition);
    definition.app->add_flag("--json", options->json, "everything as one JSON object");
    definition.app->add_flag("--tensors", options->tensors, "list every tensor and what it feeds");
    return [options, console = definition.console] { return info(*options, *console); };
}

}  // namespace headlight::cli
