// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/options.h"
#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/figure/benchmark.h"
#include "headlight/model/locate.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/benchmark.h"

#include <nlohmann/json.hpp>

#include <QGuiApplication>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace headlight::cli {
namespace {

struct Options {
    std::vector<std::string> names;
    std::string model = std::string(model::default_model_name);
    std::vector<std::int64_t> tokens;
    int repeats = 7;
    int threads = 0;
    bool json = false;
};

nlohmann::ordered_json to_json(const std::vector<trace::Measured>& found, const std::string& folder) {
    const model::RuntimeFacts facts = model::runtime_facts();
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const trace::Measured& m : found) {
        results.push_back(
            {{"benchmark", m.benchmark}, {"tokens", m.tokens}, {"what", m.what}, {"value", m.value}, {"unit", m.unit}});
    }
    return {{"version", version()},
            {"model", folder},
            {"blas", facts.blas},
            {"threads", facts.threads},
            {"results", results}};
}

/// "forward   512 tokens   share of matrix product   1.02"
std::string table(const std::vector<trace::Measured>& found) {
    std::string out;
    for (const trace::Measured& m : found) {
        const std::string tokens = m.tokens > 0 ? std::to_string(m.tokens) + " tokens" : "";
        const bool share = m.unit.empty() || m.unit == "share added";
        char line[200];
        std::snprintf(
            line, sizeof line, "%-8s  %-11s  %-44s  %10.*f%s\n", m.benchmark.c_str(), tokens.c_str(), m.what.c_str(),
            share           ? 1
            : m.value < 100 ? 2
                            : 0,
            share ? m.value * 100 : m.value, share ? (m.unit.empty() ? " %" : " % more time") : (" " + m.unit).c_str());
        out += line;
    }
    return out;
}

std::vector<std::string> all_names() {
    std::vector<std::string> names = trace::benchmark_names();
    names.emplace_back("ui");
    return names;
}

/// "ui": every view painted off screen, 1,024 tokens unless said otherwise.
std::vector<trace::Measured> bench_ui(const trace::BenchmarkOptions& what, const CancelToken& cancel) {
    ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
    int argc = 1;
    char name[] = "headlight";
    char* argv[] = {name, nullptr};
    const QGuiApplication application(argc, argv);
    std::vector<trace::Measured> found;
    for (const std::int64_t tokens : what.tokens.empty() ? std::vector<std::int64_t>{1024} : what.tokens) {
        const auto trace = trace::benchmark_trace(what.model_folder, tokens, cancel);
        for (const figure::PaintTiming& t : figure::benchmark_views(trace)) {
            found.push_back({"ui", tokens, t.view + ", " + t.what, t.median_ms, "ms"});
            found.push_back({"ui", tokens, t.view + ", " + t.what + ", worst", t.worst_ms, "ms"});
        }
    }
    return found;
}

int bench(const Options& options, const Console& console) {
    model::start_runtime(options.threads);
    std::vector<std::string> names = options.names.empty() ? all_names() : options.names;
    trace::BenchmarkOptions what{
        .model_folder = model::locate_model(options.model), .tokens = options.tokens, .repeats = options.repeats};
    const model::RuntimeFacts facts = model::runtime_facts();
    console.note(facts.blas + ", " + std::to_string(facts.threads) + " threads, " +
                 what.model_folder.filename().string());
    const CancelToken cancel = interruptible();
    std::vector<trace::Measured> found;
    for (const std::string& name : names) {
        const auto more =
            name == "ui" ? bench_ui(what, cancel) : trace::run_benchmark(name, what, cancel, console.progress());
        console.clear_progress();
        found.insert(found.end(), more.begin(), more.end());
    }
    console.result(options.json ? to_json(found, what.model_folder.string()).dump(1) + "\n" : table(found));
    return 0;
}

}  // namespace

Action define_bench(Definition& definition, const Frontend&) {
    auto options = std::make_shared<Options>();
    CLI::App& app = *definition.app;
    CLI::Option* names = app.add_option("NAME", options->names, "what to measure; everything when none is named");
    names->check(CLI::IsMember(all_names()));
    definition.choices[names] = all_names();
    CLI::Option* model = app.add_option("--model", options->model, "the model to measure with")->capture_default_str();
    definition.kinds[model] = ValueKind::model;
    app.add_option("--tokens", options->tokens, "lengths of text: 512,1024")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 1000000));
    app.add_option("--repeats", options->repeats, "rounds; the median counts")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--threads", options->threads, "0: one for each core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    app.add_flag("--json", options->json, "everything as one JSON object");
    return [options, console = definition.console] { return bench(*options, *console); };
}

}  // namespace headlight::cli
