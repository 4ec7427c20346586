// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/value_mix.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/token_argument.h"
#include "cli/open_or_run.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"

#include <filesystem>

namespace headlight::cli {
namespace {

using analyze::MixScope;
using Cell = figure::Table::Cell;

constexpr std::int64_t most_mix_rows = 2'000'000;

struct ValueMixArguments {
    ModelArgument model;
    TextArguments text;
    AttentionArgument attention;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = -1, head = -1;
};

struct Column {
    MixScope scope;
    const char *ratio, *length;
};

/// The scopes that the model has.
std::vector<Column> columns_of(const model::ModelConfig& config) {
    std::vector<Column> columns{{MixScope::attention, "ratio", "length"},
                                {MixScope::attention_residual, "ratio_residual", "length_residual"}};
    if (config.post_norm) columns.push_back({MixScope::with_norm, "ratio_norm", "length_norm"});
    return columns;
}

/// Mixing ratio of every token in every layer.
void of_layers(Result& result, const trace::Trace& trace, const CancelToken& cancel, const Progress& progress) {
    const auto columns = columns_of(trace.config());
    result.table.columns = {"layer", "position", "token"};
    for (const Column& column : columns) {
        result.table.columns.emplace_back(column.ratio);
        result.definitions.emplace_back(
            column.ratio, std::string("length of what other tokens give over that plus the length of what is kept of "
                                      "the token itself; ") +
                              (column.scope == MixScope::attention            ? "heads alone (Kobayashi 2020)"
                               : column.scope == MixScope::attention_residual ? "heads and stream (Kobayashi 2021)"
                                                                              : "heads, stream and norm (Kobayashi 2021)"));
    }
    const std::int64_t layers = trace.config().n_layers;
    for (std::int64_t l = 0; l < layers; ++l) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Mixing ratios", "layer", l, layers});
        std::vector<analyze::Vector> ratios;
        for (const Column& column : columns) ratios.push_back(analyze::mixing_ratio(trace, Layer(l), column.scope));
        for (std::int64_t p = 0; p < trace.tokens(); ++p) {
            auto& row = result.table.rows.emplace_back();
            row = {l, p, token_name(trace.labels(), p)};
            for (const analyze::Vector& ratio : ratios) row.emplace_back(static_cast<double>(ratio[p]));
        }
    }
}

/// Lengths of every pair of one layer, and of one of its heads.
void of_pairs(Result& result, const trace::Trace& trace, const ValueMixArguments& o, bool arrays, const CancelToken& cancel) {
    const auto columns = columns_of(trace.config());
    const std::int64_t n = trace.tokens();
    std::vector<std::pair<std::string, analyze::Matrix>> maps;
    if (o.head >= 0) {
        const HeadId id{Layer(o.layer), Head(o.head)};
        maps.emplace_back("attention", analyze::pattern(trace, id, {}));
        maps.emplace_back("head_length", analyze::head_value_mix(trace, id));
        result.definitions.emplace_back("head_length", "|a f_h(x)| of the head, f_h(x) = v W_O^h (Kobayashi 2020)");
    }
    for (const Column& column : columns) {
        maps.emplace_back(column.length, analyze::value_mix(trace, Layer(o.layer), column.scope, cancel));
        result.definitions.emplace_back(column.length, column.scope == MixScope::attention ? "|sum over heads of a f_h(x)|"
                                                       : column.scope == MixScope::attention_residual
                                                           ? "the same with the token's own stream where it looks at itself"
                                                           : "the same behind the layer's norm, at its scale in the run");
    }
    if (arrays) {
        for (const auto& [name, map] : maps) result.arrays.push_back({name, {n, n}, {map.data(), map.data() + map.size()}});
        return;
    }
    const bool causal = trace.config().causal;
    const std::int64_t rows = causal ? n * (n + 1) / 2 : n * n;
    if (rows > most_mix_rows)
        throw Error({.problem = "a row for every pair would be too long a table",
                     .expected = "at most " + std::to_string(most_mix_rows) + " rows",
                     .found = std::to_string(rows) + " of " + std::to_string(n) + " tokens",
                     .hint = "Write .npz, which holds arrays of any size"});
    result.table.columns = {"query", "query_token", "key", "key_token"};
    for (const auto& each : maps) result.table.columns.push_back(each.first);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < (causal ? i + 1 : n); ++j) {
            auto& row = result.table.rows.emplace_back();
            row = {i, token_name(trace.labels(), i), j, token_name(trace.labels(), j)};
            for (const auto& each : maps) row.emplace_back(static_cast<double>(each.second(i, j)));
        }
}

int value_mix(const ValueMixArguments& o, const Console& console) {
    if (o.head >= 0 && o.layer < 0) throw UsageError("--head needs --layer");
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto run = run_loaded(loaded, {}, console);
    const auto trace = o.attention.of(run);
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    if (o.attention.given()) result.facts.emplace_back("attention", o.attention.word);
    if (o.layer < 0) {
        of_layers(result, *trace, loaded.cancel, console.progress());
        console.clear_progress();
    } else {
        result.facts.emplace_back("layer", std::to_string(o.layer));
        if (o.head >= 0) result.facts.emplace_back("head", std::to_string(o.head));
        of_pairs(result, *trace, o, std::filesystem::path(o.out.path).extension() == ".npz", loaded.cancel);
    }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_value_mix(Definition& definition, const Frontend&) {
    auto o = std::make_shared<ValueMixArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    o->attention.add(definition);
    add_index(definition, "--layer", o->layer, "the pairs of this layer instead of the ratios of all");
    add_index(definition, "--head", o->head, "and of one of its heads");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return value_mix(*o, *console); };
}

}  // namespace headlight::cli
