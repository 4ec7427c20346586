// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/compare_pairs.h"
#include "cli/open_or_run.h"
#include "cli/other_run.h"
#include "cli/result_streams.h"
#include "headlight/base/error.h"
#include "headlight/base/json_number.h"
#include "headlight/base/numbers.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/compare/layers.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headlight::cli {
namespace {

namespace iv = headlight::intervention;

enum class Compared { heads, layers, match, weights };
constexpr EnumRow<Compared> kCompared[] = {{Compared::heads, "heads", "Heads"},
                                           {Compared::layers, "layers", "Layers"},
                                           {Compared::match, "match", "Matched heads"},
                                           {Compared::weights, "weights", "Weights"}};
constexpr const auto& enum_rows(Compared) { return kCompared; }

struct CompareRunsArguments {
    CLI::App* app = nullptr;
    ModelArgument model;
    TextArguments text;
    OtherRun other;
    AttentionArgument attention;
    ComputeOptions compute;
    Compared what = Compared::heads;
    iv::CompareOptions options;
    iv::LayerOptions layers;
    bool match = false, measures = false;
    ComparePairs pairs;
    ResultFile file;
};

constexpr std::int64_t kMostInJson = 5'000'000;

std::vector<std::string> labels_of(const std::vector<iv::MergedUnit>& axis, const iv::Alignment& alignment,
                                   const std::vector<text::TokenLabel>& a, const std::vector<text::TokenLabel>& b) {
    std::vector<std::string> labels;
    const auto of = [](const auto& all, const std::vector<iv::TextUnit>& units, std::int64_t unit) {
        return iv::unit_label(all, units[static_cast<std::size_t>(unit)]);
    };
    for (const iv::MergedUnit& unit : axis) {
        labels.push_back(unit.a >= 0 ? of(a, alignment.a, unit.a) : of(b, alignment.b, unit.b));
        if (!unit.both() || alignment.pooled) continue;
        if (const std::string other = of(b, alignment.b, unit.b); other != labels.back()) labels.back() += "/" + other;
    }
    return labels;
}

std::vector<std::int64_t> side_of(const std::vector<iv::MergedUnit>& axis, std::int64_t iv::MergedUnit::*side) {
    std::vector<std::int64_t> out;
    for (const iv::MergedUnit& unit : axis) out.push_back(unit.*side);
    return out;
}

/// B - A of every pair of heads, beside the table: a member for JSON, arrays for NPZ, of which the largest is returned.
std::vector<io::ArrayStream> add_maps(Result& result, const iv::RunPair& pair, const iv::HeadPairs& heads,
                                      const CompareRunsArguments& o, const CancelToken& cancel) {
    const auto queries = iv::merged(pair.queries), keys = iv::merged(pair.keys);
    const bool npz = o.file.path.ends_with(".npz");
    const std::int64_t cells = std::ssize(heads) * std::ssize(queries) * std::ssize(keys);
    if (!npz && cells > kMostInJson)
        throw Error({.problem = "The difference maps are too large for this file",
                     .file = o.file.path,
                     .expected = "at most " + with_commas(kMostInJson) + " weights",
                     .found = with_commas(cells),
                     .hint = "Write .npz"});
    const auto query_tokens = labels_of(queries, pair.queries, pair.a->labels(), pair.b->labels());
    const auto key_tokens = labels_of(keys, pair.keys, pair.a->key_labels(), pair.b->key_labels());
    std::string text;
    for (const auto& [head, partner] : npz ? iv::HeadPairs() : heads) {
        cancel.throw_if_cancelled();
        const analyze::Matrix difference = iv::difference_map(pair, head, partner, o.options).difference;
        text += text.empty() ? "[" : ",\n[";
        for (Eigen::Index q = 0; q < difference.rows(); ++q) {
            text += q > 0 ? ", [" : "[";
            for (Eigen::Index k = 0; k < difference.cols(); ++k) {
                text += (k > 0 ? ", " : "") + json_number(static_cast<double>(difference(q, k)));
            }
            text += "]";
        }
        text += "]";
    }
    std::vector<io::ArrayStream> streams;
    if (npz) {
        streams.push_back({"difference",
                           io::DType::F32,
                           {std::ssize(heads), std::ssize(queries), std::ssize(keys)},
                           [pair, heads, options = o.options, cancel](const io::PutBytes& put) {
                               for (const auto& [head, partner] : heads) {
                                   cancel.throw_if_cancelled();
                                   const analyze::Matrix map = iv::difference_map(pair, head, partner, options).difference;
                                   put(std::as_bytes(std::span(map.data(), static_cast<std::size_t>(map.size()))));
                               }
                           }});
        result.table.arrays.push_back(analyze::text_array("query_tokens", query_tokens));
        result.table.arrays.push_back(analyze::text_array("key_tokens", key_tokens));
        result.table.arrays.push_back(analyze::integer_array("query_unit_a", side_of(queries, &iv::MergedUnit::a)));
        result.table.arrays.push_back(analyze::integer_array("query_unit_b", side_of(queries, &iv::MergedUnit::b)));
    } else {
        const auto words = [](const std::vector<std::string>& tokens) {
            return nlohmann::json(tokens).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        };
        result.members = "\"query_tokens\": " + words(query_tokens) + ",\n\"key_tokens\": " + words(key_tokens) +
                         ",\n\"difference\": [\n" + text + "]";
    }
    result.table.definitions.emplace_back(
        "difference", "B - A of each head's map, in the order of the rows; rows of one text alone have no number");
    return streams;
}

Result compare_weights(const CompareRunsArguments& o, const Console& console) {
    if (o.other.model.empty()) throw UsageError("--of weights needs a second model: --other MODEL2");
    if (o.text.has_edits()) throw UsageError("--of weights: edits change a run, not the weights");
    const Loaded a = load_model(o.model, o.compute, console), b = o.other.load(a, o.text, o.compute, console);
    Result result{.table = iv::table_of(iv::weight_differences(*a.model, *b.model, a.cancel, console.progress())),
                  .facts = facts_of(*a.model)};
    result.fact("other_model", b.model->config().name).fact("other_model_sha256", b.model->hash());
    return result;
}

/// Facts of both runs and of how they were aligned.
Result begin(const iv::RunPair& pair, analyze::Table table, const CompareRunsArguments& o, const Console& console) {
    Result result{.table = std::move(table), .facts = facts_of(*pair.a)};
    for (const auto& [name, value] : facts_of(*pair.b)) result.fact("other_" + name, value);
    if (o.attention.given()) result.fact("attention", o.attention.word);
    result.fact("aligned_tokens", pair.queries.aligned())
        .fact("tokens_of_a_alone", std::ssize(pair.queries.a) - pair.queries.aligned())
        .fact("tokens_of_b_alone", std::ssize(pair.queries.b) - pair.queries.aligned());
    std::vector<std::string> notes;
    const auto count_a = std::ssize(pair.queries.a), count_b = std::ssize(pair.queries.b), shared = pair.queries.aligned();
    if (shared < std::max(count_a, count_b))
        notes.push_back("only the " + with_commas(shared) + " tokens that both texts have count, of " + with_commas(count_a) +
                        " and " + with_commas(count_b));
    if (pair.queries.pooled)
        notes.emplace_back(
            "the two models have different tokenizers: tokens are pooled where their boundaries differ, weights to "
            "them summed and rows averaged");
    if (o.options.without_first) notes.emplace_back("without the first key; the others are renormalised");
    if (!pair.same_model() && !o.match && o.what == Compared::heads)
        notes.emplace_back("heads of two models are compared by their numbers; --match pairs them by what they attend to");
    result.notes(notes, console);
    return result;
}

Result compare_runs(const CompareRunsArguments& o, const Console& console, std::vector<io::ArrayStream>& streams) {
    if (!o.other.given() && !o.text.has_edits())
        throw UsageError(
            "something to compare with is needed: --with TEXT, --other MODEL2, --edit WORDS, --with-image FILE or --pairs FILE");
    const OtherRun::Runs runs = o.other.run(o.model, o.text, o.compute, console);
    const iv::RunPair pair = iv::pair_of(o.attention.of(runs.a), o.attention.of(runs.b));
    const Progress progress = console.progress();
    if (o.what == Compared::layers) {
        const iv::LayerSimilarity similarity = iv::layer_similarity(pair, o.layers, runs.cancel, progress);
        Result result = begin(pair, iv::table_of(similarity), o, console);
        result.fact("rows", similarity.rows);
        if (!o.layers.with_first)
            result.notes({"position 0 is left out: its norm would dominate the result; --with-first includes it"}, console);
        return result;
    }
    if (o.what == Compared::match)
        return begin(pair, iv::table_of(iv::match_heads(pair, o.options, runs.cancel, progress)), o, console);
    const iv::HeadPairs heads = o.match ? iv::match_heads(pair, o.options, runs.cancel, progress).pairs : iv::same_heads(pair);
    const iv::ComparedHeads compared = iv::compare_heads(pair, heads, o.options, runs.cancel, progress);
    Result result = begin(pair, iv::table_of(pair, compared, o.match, o.measures), o, console);
    result.fact("rows", compared.rows);
    if (!o.file.path.empty() && !o.file.path.ends_with(".csv")) streams = add_maps(result, pair, heads, o, runs.cancel);
    return result;
}

int run_compare(const CompareRunsArguments& o, const Console& console) {
    const bool heads = o.what == Compared::heads, layers = o.what == Compared::layers;
    refuse_unused(*o.app, {{"--without-first", !heads && o.what != Compared::match, "it is for heads"},
                           {"--match", !heads, "it is for --of heads"},
                           {"--measures", !heads, "it is for --of heads"},
                           {"--similarity", !layers, "it is for --of layers"},
                           {"--with-first", !layers, "it is for --of layers"},
                           {"--within-first", !layers, "it is for --of layers"}});
    o.pairs.check(*o.app, o.file.path);
    o.file.check();
    if (o.pairs.given()) {
        ComparePairs pairs = o.pairs;
        pairs.options.rows = o.options;
        pairs.options.measures = o.measures;
        pairs.run(o.model, o.attention, o.compute, o.file, console);
        return 0;
    }
    std::vector<io::ArrayStream> streams;
    const Result result = o.what == Compared::weights ? compare_weights(o, console) : compare_runs(o, console, streams);
    console.clear_progress();
    if (streams.empty()) {
        o.file.write(result, console);
    } else {
        write_npz(result, streams, o.file.path);
        console.wrote(o.file.path);
    }
    return 0;
}

}  // namespace

Action define_compare(Definition& definition, const Frontend&) {
    auto o = std::make_shared<CompareRunsArguments>();
    o->app = definition.app.get();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    o->text.add_chat(definition);
    o->text.add_edits(definition);
    o->other.add(definition);
    o->attention.add(definition);
    CLI::App& app = *definition.app;
    definition.add_enum("--of", o->what, "what is compared: heads, residual streams layer by layer, heads matched, or weights");
    app.add_flag("--without-first", o->options.without_first, "heads: leave out the first key, on which much attention rests");
    app.add_flag("--match", o->match, "heads: pair heads of two models by what they attend to, not by their numbers");
    app.add_flag("--measures", o->measures, "heads: also the difference of every measure of heads");
    definition.add_enum("--similarity", o->layers.kind, "layers: how streams are compared");
    app.add_flag("--with-first", o->layers.with_first, "layers: include position 0");
    app.add_flag("--within-first", o->layers.within_first, "layers: compare A with itself");
    o->pairs.add(definition);
    o->file.add(definition, figure::file_endings());
    o->compute.add(definition);
    return [o, console = definition.console] { return run_compare(*o, *console); };
}

}  // namespace headlight::cli
