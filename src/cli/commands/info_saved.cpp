// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/info_saved.h"

#include "headlight/base/numbers.h"
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/saved.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace headlight::cli {
namespace {

using model::Stack;
using nlohmann::ordered_json;

/// The saved arrays of one attention.
struct Part {
    const char* name;
    std::shared_ptr<const trace::Trace> trace;
};

std::vector<Part> parts_of(const std::shared_ptr<const trace::Trace>& trace) {
    if (!trace->part(Stack::encoder)) return {{"attention", trace}};
    return {{"encoder", trace->part(Stack::encoder)}, {"decoder", trace}, {"cross", trace->part(Stack::cross)}};
}

ordered_json part_json(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    ordered_json json{{"n_layers", c.n_layers},
                      {"n_heads", c.n_heads},
                      {"causal", c.causal},
                      {"queries", trace.tokens()},
                      {"keys", trace.keys()}};
    return json;
}

std::string dtype_of(const io::TensorView& view) { return std::string(io::name_of(view.dtype)); }

/// Name, type and shape of every array of the file.
ordered_json arrays_of(const std::filesystem::path& file) {
    ordered_json list = ordered_json::array();
    const auto add = [&](const std::map<std::string, io::TensorView>& arrays) {
        for (const auto& [name, view] : arrays)
            list.push_back({{"name", name}, {"dtype", dtype_of(view)}, {"shape", view.shape}});
    };
    if (file.extension() == ".npz") {
        add(io::read_npz(file).arrays);
    } else {
        const io::TensorStore store = io::TensorStore::open_file(file);
        add(store.tensors());
    }
    return list;
}

ordered_json json_of(const std::filesystem::path& file, const std::shared_ptr<const trace::Trace>& trace) {
    ordered_json json{{"saved_trace", std::filesystem::absolute(file).lexically_normal().string()},
                      {"name", trace->config().name},
                      {"family", trace->config().family},
                      {"hash", trace->model()->hash()},
                      {"version", trace->info().version},
                      {"dtype", trace->info().dtype},
                      {"device", trace->info().device},
                      {"text", trace->text_a()}};
    if (!trace->text_b().empty()) json["pair"] = trace->text_b();
    for (const Part& part : parts_of(trace)) json["parts"][part.name] = part_json(*part.trace);
    json["warnings"] = trace->info().warnings;
    json["tensors"] = arrays_of(file);
    return json;
}

void fact_line(std::string& out, const std::string& name, const std::string& value) {
    if (value.empty()) return;
    out += "  " + name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + value + "\n";
}

std::string text_of(const ordered_json& json, bool tensors) {
    const auto field = [&](const char* key) { return json.value(key, std::string()); };
    std::string out = "a saved trace of " + (field("name").empty() ? "a model without a name" : field("name")) + "\n";
    fact_line(out, "file", field("saved_trace"));
    fact_line(out, "family", field("family"));
    fact_line(out, "sha-256", field("hash"));
    fact_line(out, "computed in", field("dtype"));
    fact_line(out, "on", field("device"));
    fact_line(out, "by Headlight", field("version"));
    const bool two_texts = json["parts"].contains("cross");
    fact_line(out, two_texts ? "source" : "text", field("text"));
    fact_line(out, two_texts ? "target" : "sentence B", field("pair"));
    for (const auto& [name, part] : json["parts"].items()) {
        const auto number = [&, &part = part](const char* key) { return part[key].get<std::int64_t>(); };
        std::string size = with_commas(number("queries"));
        size += number("keys") != number("queries") ? " × " + with_commas(number("keys")) + " tokens" : " tokens";
        fact_line(out, name,
                  std::to_string(number("n_layers")) + " layers of " + std::to_string(number("n_heads")) + " heads, " + size);
    }
    fact_line(out, "tensors", with_commas(static_cast<std::int64_t>(json["tensors"].size())));
    for (const auto& warning : json["warnings"]) fact_line(out, "note", warning.get<std::string>());
    if (!tensors) return out;
    for (const auto& tensor : json["tensors"])
        out += "  " + tensor["name"].get<std::string>() + "  " + tensor["dtype"].get<std::string>() + " " +
               tensor["shape"].dump() + "\n";
    return out;
}

}  // namespace

int info_of_saved(const std::filesystem::path& file, bool json, bool tensors, const Console& console) {
    const auto trace = trace::open_saved(file, interruptible(), console.progress());
    console.clear_progress();
    const ordered_json found = json_of(file, trace);
    console.result(json ? found.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n" : text_of(found, tensors));
    return 0;
}

}  // namespace headlight::cli
