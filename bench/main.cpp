// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "cli/command.h"
#include "cli/memory_option.h"
#include "cli/options.h"
#include "headlight/base/version.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/locate.h"
#include "headlight/model/runtime.h"
#include "tests/support/temp_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace headlight::bench {
namespace {

constexpr std::pair<const char*, Results (*)(const Subject&)> kBenchmarks[] = {
    {"forward", forward}, {"memory", memory}, {"load", load}, {"long", long_texts}, {"corpus", corpus}, {"map", maps},
#ifdef HEADLIGHT_BENCH_WINDOW
    {"window", window},
#endif
};

struct Arguments {
    std::vector<std::string> names, views;
    std::string model, tokens, write_model;
    int repeats = 7, threads = 0;
    bool json = false;
};

std::string after_colon(const char* file, const std::string& name) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) return line.substr(line.find(':') + 2);
    return "unknown";
}

nlohmann::ordered_json machine() {
    const model::RuntimeFacts facts = model::runtime_facts();
    return {{"processor", after_colon("/proc/cpuinfo", "model name")},
            {"cores", std::thread::hardware_concurrency()},
            {"memory_gb", std::atof(after_colon("/proc/meminfo", "MemTotal").c_str()) / 1e6},
            {"threads", facts.threads},
            {"libtorch", facts.torch_version},
            {"blas", facts.blas},
            {"cuda", facts.cuda}};
}

std::string line_of(const std::string& name, const Measured& m) {
    char text[200];
    const bool share = m.unit.empty();
    std::snprintf(text, sizeof text, "%-10s %6s  %-40s %10.2f %s\n", name.c_str(),
                  m.tokens ? std::to_string(m.tokens).c_str() : "", m.what.c_str(), share ? m.value * 100 : m.value,
                  share ? "%" : m.unit.c_str());
    return text;
}

int run(const Arguments& o, const cli::Console& console) {
    if (!o.write_model.empty()) {
        write_random_gpt2(o.write_model);
        return 0;
    }
    Subject subject{.folder = {},
                    .model = {},
                    .tokenizer = {},
                    .tokens = {},
                    .views = o.views,
                    .repeats = o.repeats,
                    .cancel = cli::interruptible()};
    if (!o.tokens.empty()) subject.tokens = cli::parse_index_list(o.tokens, "--tokens");
    if (std::count(subject.tokens.begin(), subject.tokens.end(), 0) > 0)
        throw cli::UsageError("--tokens: a text has at least one token");
    model::start_runtime(o.threads);
    const test::TempFolder temporary;
    static constexpr std::string_view own[] = {"long", "window"};  // the other model's context is too short for them
    const auto without_model = [&](const std::string& name) {
        return name == "map" || (o.model.empty() && std::ranges::find(own, name) != std::end(own));
    };
    if (o.names.empty() || !std::ranges::all_of(o.names, without_model)) {
        if (o.model.empty()) {
            console.note("writing a model of GPT-2 small's size with random weights to a temporary folder");
            write_random_gpt2(temporary.path());
        }
        subject.load(o.model.empty() ? temporary.path() : model::locate_model(o.model));
    }
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const auto& [name, measure] : kBenchmarks) {
        if (!o.names.empty() && std::find(o.names.begin(), o.names.end(), name) == o.names.end()) continue;
        Subject its = subject;
        if (measure == long_texts && o.model.empty()) {
            write_random_llama(temporary / "long");
            its.load(temporary / "long");
        }
        if (name == std::string_view("window") && o.model.empty())
            its.load(model::locate_model(std::string(model::default_model_name)));
        for (const Measured& m : measure(its)) {
            if (!o.json) console.result(line_of(name, m));
            results.push_back(
                {{"benchmark", name}, {"tokens", m.tokens}, {"what", m.what}, {"value", m.value}, {"unit", m.unit}});
        }
    }
    const nlohmann::ordered_json facts = machine();
    if (o.json) {
        nlohmann::ordered_json root = {{"version", version()}, {"model", subject.folder.string()}};
        root.update(facts);
        root["results"] = results;
        console.result(root.dump(2) + "\n");
    } else {
        console.note(facts["processor"].get<std::string>() + ", " + facts["threads"].dump() + " threads, LibTorch " +
                     facts["libtorch"].get<std::string>() + ", " + facts["blas"].get<std::string>());
    }
    return 0;
}

cli::Action define(cli::Definition& definition, const cli::Frontend&) {
    auto o = std::make_shared<Arguments>();
    CLI::App& app = *definition.app;
    std::vector<std::string> names;
    for (const auto& [name, measure] : kBenchmarks) names.emplace_back(name);
    definition.restrict_to(app.add_option("NAME", o->names, "what to measure (default: everything)"), names);
    add_value(definition, "--model", o->model,
              "the model to measure with (default: random weights of GPT-2 small's size, in a temporary folder of 500 MB)",
              "MODEL");
    add_value(definition, "--tokens", o->tokens, "lengths of text (default: by benchmark)", "LIST");
    add_value(definition, "--view", o->views, "the views that window measures (default: all, and the panels)", "VIEW");
    add_count(definition, "--repeats", o->repeats, "number of rounds; the median counts", 1, 1000);
    cli::add_memory(definition);
    add_count(definition, "--threads", o->threads, "threads to compute with; 0: one for each core", 0, 1024);
    app.add_flag("--json", o->json, "the results and the machine as one JSON object");
    add_value(definition, "--write-model", o->write_model, "write the random model to this folder and measure nothing", "FOLDER");
    return [o, console = definition.console] { return run(*o, *console); };
}

constexpr cli::Command kBench{"bench",
                              "Measure the speed of Headlight on this machine; docs/benchmarks.md says what each name means.",
                              {"headlight bench", "headlight bench forward memory --json > bench.json"},
                              define};

}  // namespace
}  // namespace headlight::bench

int main(int argc, char** argv) { return headlight::cli::run_command(headlight::bench::kBench, {argv + 1, argv + argc}, {}); }
