// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/sparsity/sparsity.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

#include <algorithm>
#include <initializer_list>

namespace headlight::cli {
namespace {

struct SparsityCommand : Analysis {
    analyze::SparsityOptions options;

    void add(Definition& definition) {
        definition.add_enum("--scheme", options.scheme, "which keys a query reads");
        const auto count = [&](const char* flag, std::int64_t& value, const char* help, std::int64_t least = 1) {
            add_count(definition, flag, value, help, least, std::int64_t{1} << 30);
        };
        count("--block", options.block, "nsa: keys of a compressed block");
        count("--stride", options.stride, "nsa: keys from one compressed block to the next");
        count("--select", options.select, "nsa: keys of a selected block");
        count("--top", options.top, "nsa: selected blocks, with the first one and two local ones among them", 3);
        count("--window", options.window, "nsa, window, sinks: the last keys");
        count("--sinks", options.sinks, "sinks: the first keys");
        count("--budget", options.budget, "topk: keys with the largest weights");
    }

    Result run(const Console& console) const {
        check(options);
        using enum analyze::SparseScheme;
        const bool blocks = options.scheme == nsa, first = options.scheme == sinks, last = first || options.scheme == window;
        refuse_unused(*cli_app, {{"--block", !blocks, "it is for --scheme nsa"},
                                 {"--stride", !blocks, "it is for --scheme nsa"},
                                 {"--select", !blocks, "it is for --scheme nsa"},
                                 {"--top", !blocks, "it is for --scheme nsa"},
                                 {"--window", !blocks && !last, "it is for the schemes nsa, window and sinks"},
                                 {"--sinks", !first, "it is for --scheme sinks"},
                                 {"--budget", options.scheme != topk, "it is for --scheme topk"}});
        const Run run = run_text(console, {.globs = {"*.hook_pattern"}, .overview = trace::no_overview});
        Result found =
            result(*run.trace,
                   table_of(*analyze::sparsity(*run.trace, options, writes_arrays(), run.loaded.cancel, console.progress())));
        const auto fact = [&](const char* name, std::int64_t value, std::initializer_list<analyze::SparseScheme> of) {
            if (std::ranges::find(of, options.scheme) != of.end()) found.fact(name, value);
        };
        fact("block", options.block, {nsa});
        fact("stride", options.stride, {nsa});
        fact("select", options.select, {nsa});
        fact("top", options.top, {nsa});
        fact("window", options.window, {nsa, window, sinks});
        fact("sinks", options.sinks, {sinks});
        fact("budget", options.budget, {topk});
        return found;
    }
};

}  // namespace

Action define_analyze_sparsity(Definition& definition, const Frontend&) {
    return define_analysis<SparsityCommand>(definition, kRun | kAttention);
}

}  // namespace headlight::cli
