// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/bench_measures.h"
#include "cli/bench_model.h"
#include "cli/command.h"
#include "cli/options.h"
#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/model/locate.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/benchmark.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <thread>

namespace headlight::cli {
namespace {

struct BenchArguments {
    std::vector<std::string> names;
    std::string model, tokens;
    int repeats = 7, threads = 0;
    bool json = false;
};

std::vector<std::string> known_names() {
    std::vector<std::string> names = trace::benchmark_names();
    names.insert(names.end(), {"measures", "prediction", "circuits", "tokenizer", "ui"});
    return names;
}

std::string processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

double memory_gb() {
    std::ifstream in("/proc/meminfo");
    std::string word;
    double kilobytes = 0;
    in >> word >> kilobytes;
    return kilobytes / 1e6;
}

nlohmann::ordered_json machine() {
    const model::RuntimeFacts facts = model::runtime_facts();
    return {{"processor", processor()},
            {"cores", std::thread::hardware_concurrency()},
            {"memory_gb", memory_gb()},
            {"threads", facts.threads},
            {"libtorch", facts.torch_version},
            {"blas", facts.blas},
            {"cuda", facts.cuda}};
}

std::vector<trace::Measured> measure(const std::string& name, const trace::BenchmarkOptions& options, const CancelToken& cancel,
                                     const Progress& progress) {
    if (name == "measures") return measure_heads(options, cancel);
    if (name == "ui") return measure_figures(options, cancel);
    if (name == "prediction") return measure_prediction(options, cancel);
    if (name == "circuits") return measure_circuits(options, cancel);
    if (name == "tokenizer") {
        // The random model's tokenizer knows only made-up words: real pieces come from the built-in one.
        trace::BenchmarkOptions own = options;
        own.model_folder = model::locate_model(model::default_model_name);
        return measure_tokenizer(own, cancel);
    }
    return trace::run_benchmark(name, options, cancel, progress);
}

std::string line_of(const trace::Measured& m) {
    char text[200];
    const bool share = m.unit.empty() || m.unit.starts_with("share");
    std::snprintf(text, sizeof text, "%-10s %6s  %-40s %10.2f %s", m.benchmark.c_str(),
                  m.tokens ? std::to_string(m.tokens).c_str() : "", m.what.c_str(), share ? m.value * 100 : m.value,
                  share ? "%" : m.unit.c_str());
    return text;
}

int bench(const BenchArguments& o, const Console& console) {
    trace::BenchmarkOptions options;
    options.repeats = o.repeats;
    if (!o.tokens.empty()) options.tokens = parse_index_list(o.tokens, "--tokens");
    if (std::count(options.tokens.begin(), options.tokens.end(), 0) > 0)
        throw UsageError("--tokens: a text has at least one token");
    const std::vector<std::string> names = o.names.empty() ? known_names() : o.names;
    model::start_runtime(o.threads);
    const CancelToken cancel = interruptible();
    std::optional<RandomGpt2> random;
    const bool needs_model = std::any_of(names.begin(), names.end(), [](const auto& n) { return n != "tokenizer"; });
    if (needs_model && o.model.empty()) {
        console.note("writing a model of GPT-2 small's size with random weights to a temporary folder");
        random.emplace();
        options.model_folder = random->folder();
    } else if (!o.model.empty()) {
        options.model_folder = model::locate_model(o.model);
    }
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const std::string& name : names) {
        const auto found = measure(name, options, cancel, console.progress());
        console.clear_progress();
        for (const trace::Measured& m : found) {
            if (!o.json) console.result(line_of(m) + "\n");
            results.push_back(
                {{"benchmark", m.benchmark}, {"tokens", m.tokens}, {"what", m.what}, {"value", m.value}, {"unit", m.unit}});
        }
    }
    const nlohmann::ordered_json facts = machine();
    if (o.json) {
        nlohmann::ordered_json root = {{"version", version()}, {"model", options.model_folder.string()}};
        root.update(facts);
        root["results"] = results;
        console.result(root.dump(2) + "\n");
    } else {
        console.note(facts["processor"].get<std::string>() + ", " + facts["threads"].dump() + " threads, LibTorch " +
                     facts["libtorch"].get<std::string>() + ", " + facts["blas"].get<std::string>());
    }
    return 0;
}

}  // namespace

Action define_bench(Definition& definition, const Frontend&) {
    auto options = std::make_shared<BenchArguments>();
    CLI::Option* names = definition.app->add_option("NAME", options->names, "what to measure (default: everything)");
    definition.restrict_to(names, known_names());
    CLI::Option* model = definition.app->add_option("--model", options->model,
                                                    "the model to measure with (default: random weights of GPT-2 small's "
                                                    "size, in a temporary folder of 500 MB)");
    model->type_name("MODEL");
    definition.kinds[model] = ValueKind::model;
    definition.app->add_option("--tokens", options->tokens, "lengths of text (default: by benchmark)")->type_name("LIST");
    definition.app->add_option("--repeats", options->repeats, "rounds; the median is told")
        ->type_name("N")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    definition.app->add_option("--threads", options->threads, "threads to compute with; 0: one for each core")
        ->type_name("N")
        ->check(CLI::Range(0, 1024));
    definition.app->add_flag("--json", options->json, "the results and the machine as one JSON object");
    return [options, console = definition.console] { return bench(*options, *console); };
}

}  // namespace headlight::cli
