// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/mix_run.h"

#include "corpus/probe/kept_probe.h"
#include "headlight/base/error.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/statistics/least_texts.h"
#include "headlight/corpus/statistics/quantile.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <tuple>
#include <utility>

namespace headlight::corpus {
namespace {

using nlohmann::json;

/// Intervals of all scores from the same draws of texts.
void add_intervals(MixResult& out, const LayerMix& mix, const std::vector<std::int64_t>& text_of,
                   const BootstrapOptions& options) {
    const auto layers = static_cast<Eigen::Index>(mix.steps.size());
    Eigen::Index texts = 0;
    std::int64_t last = -1;
    for (const std::int64_t text : text_of) texts += std::exchange(last, text) != text;
    Bootstrap::Columns sums = Bootstrap::Columns::Zero(texts, layers), weights = Bootstrap::Columns::Zero(texts, 1);
    Eigen::Index row = -1;
    last = -1;
    for (std::size_t i = 0; i < text_of.size(); ++i) {
        row += std::exchange(last, text_of[i]) != text_of[i];
        weights(row, 0) += 1;
        for (Eigen::Index l = 0; l < layers; ++l) sums(row, l) += mix.steps[static_cast<std::size_t>(l)].hits[i];
    }
    const Bootstrap bootstrap(texts, options);
    const std::vector<Interval> scores = bootstrap.means(sums, weights);
    const Bootstrap::Columns each = weights.replicate(1, layers - 1);
    const std::vector<Interval> gains = bootstrap.differences(sums.rightCols(layers - 1), each, sums.leftCols(layers - 1), each);
    for (std::size_t l = 0; l < mix.steps.size(); ++l) {
        MixRow& of = out.rows.emplace_back(MixRow{.layer = static_cast<std::int64_t>(l),
                                                  .score = scores[l],
                                                  .gain = l > 0 ? gains[l - 1] : Interval(),
                                                  .deviation = mix.steps[l].deviation,
                                                  .weight = mix.steps.back().weights[l]});
        // Means over seeds, as the fits report them: not by way of another sum.
        of.score.mean = mix.steps[l].score;
        of.gain.mean = mix.steps[l].gain;
    }
    out.expected.mean = mix.expected;
    if (texts < kLeastTexts) return;
    const Bootstrap::Columns drawn = bootstrap.drawn_means(sums, weights);
    std::vector<double> expected;
    for (Eigen::Index d = 0; d < drawn.rows(); ++d) {
        const Eigen::VectorXd of_draw = drawn.row(d);
        if (const double value = expected_layer({of_draw.data(), static_cast<std::size_t>(of_draw.size())}); std::isfinite(value))
            expected.push_back(value);
    }
    std::ranges::sort(expected);
    out.expected.low = quantile(expected, (1 - options.level) / 2);
    out.expected.high = quantile(expected, (1 + options.level) / 2);
}

/// The tokens of all examples, each once, and where those of each example are among them.
struct ExampleTokens {
    std::vector<TokenSpan> spans;  ///< disjoint, in the order of the rows
    std::vector<SpanRows> rows;    ///< [example]
};

ExampleTokens tokens_of_examples(const std::vector<ProbeExample>& examples) {
    ExampleTokens out;
    std::vector<TokenSpan> all;
    for (const ProbeExample& example : examples) {
        all.push_back(example.span);
        if (example.other.chunk >= 0) all.push_back(example.other);
    }
    const auto begin_of = [](const TokenSpan& span) { return std::pair(span.chunk, span.begin); };
    std::ranges::sort(all, {}, begin_of);
    for (const TokenSpan& span : all)
        if (TokenSpan* last = out.spans.empty() ? nullptr : &out.spans.back();
            last && last->chunk == span.chunk && span.begin <= last->end)
            last->end = std::max(last->end, span.end);
        else
            out.spans.push_back(span);
    std::vector<std::int64_t> first{0};
    for (const TokenSpan& span : out.spans) first.push_back(first.back() + span.end - span.begin);
    const auto rows_of = [&](const TokenSpan& span) {
        const auto holds = std::ranges::upper_bound(out.spans, begin_of(span), {}, begin_of) - 1;
        const std::int64_t begin = first[static_cast<std::size_t>(holds - out.spans.begin())] + span.begin - holds->begin;
        return std::pair(begin, begin + span.end - span.begin);
    };
    for (const ProbeExample& example : examples) {
        SpanRows& rows = out.rows.emplace_back();
        std::tie(rows.begin, rows.end) = rows_of(example.span);
        if (example.other.chunk >= 0) std::tie(rows.second_begin, rows.second_end) = rows_of(example.other);
    }
    return out;
}

std::vector<std::int64_t> whole_numbers(const std::vector<std::size_t>& of) { return {of.begin(), of.end()}; }

}  // namespace

MixResult run_layer_mix(const Manifest& manifest, const StatesOptions& states, const LabelledExamples& labels,
                        const MixRunOptions& options, const CancelToken& cancel, const Progress& progress) {
    TextStore texts(states.store, manifest);
    const ProbeSplit split = split_examples(labels, texts, options.seed);
    const bool edge = options.kind == ProbeKind::edge;
    const ExampleTokens tokens = edge ? tokens_of_examples(labels.examples) : ExampleTokens();
    std::vector<ProbeRows> rows;
    const std::int64_t layers = state_layers(manifest, states);
    for_each_layer(
        manifest, states,
        [&](std::int64_t layer, const LayerStates& of) {
            if (progress) progress({"Reading states", "layer", layer, layers});
            try {
                rows.push_back(edge ? of.tokens(tokens.spans) : of.pooled(labels.examples));
            } catch (const std::bad_alloc&) {
                throw Error({.problem = "The states of all layers do not fit into memory",
                             .found = with_commas(std::ssize(labels.examples)) + " examples, layer " + std::to_string(layer) +
                                      " of " + std::to_string(layers),
                             .hint = "Use fewer texts"});
            }
        },
        cancel, progress);
    std::vector<std::int32_t> label_of;
    for (const ProbeExample& example : labels.examples) label_of.push_back(example.label);
    const std::vector<std::int64_t> train = whole_numbers(split.train), development = whole_numbers(split.development),
                                    test = whole_numbers(split.test);
    LayerMixTask task{.layers = {},
                      .labels = label_of,
                      .classes = static_cast<std::int32_t>(labels.classes.size()),
                      .train = train,
                      .dev = development,
                      .test = test,
                      .spans = tokens.rows};
    for (const ProbeRows& of : rows) task.layers.emplace_back(of.data(), of.rows(), of.cols());
    LayerMixOptions fit = options.fit;
    fit.seed = options.seed;
    const LayerMix mix = fit_layer_mix(task, fit, cancel, progress);
    MixResult out{.kind = options.kind,
                  .task = labels.task,
                  .classes = labels.classes,
                  .unit = labels.unit,
                  .pairs = labels.pairs,
                  .centre = mix.centre,
                  .majority = split.majority,
                  .most_frequent_label = split.most_frequent_label,
                  .n_train = std::ssize(split.train),
                  .n_development = std::ssize(split.development),
                  .n_test = std::ssize(split.test),
                  .unlabelled = labels.unlabelled,
                  .without = labels.without};
    std::vector<std::int64_t> text_of;
    for (const std::size_t e : split.test) text_of.push_back(labels.examples[e].text);
    add_intervals(out, mix, text_of, options.bootstrap);
    return out;
}

analyze::Table table_of(const MixResult& result) {
    analyze::Table table;
    table.columns = {"task",           "layer",        "score",         "low",
                     "high",           "deviation",    "gain",          "gain_low",
                     "gain_high",      "weight",       "majority",      "most_frequent_label",
                     "expected_layer", "expected_low", "expected_high", "centre_of_gravity",
                     "n_train",        "n_test",       "classes"};
    table.definitions = {
        {"layer", "The probe reads a learnt mixture of layers 0 to this one; 0: what enters the first block."},
        {"score",
         std::string("Accuracy on the test part (micro F1 of one label an example), mean over seeds: ") +
             (result.kind == ProbeKind::edge ? "edge probing's classifier of spans with a hidden layer" : "softmax regression") +
             " on gamma * sum over l of softmax(s)_l h_l, features standardised by layer (after Tenney et al. 2019)."},
        {"low", "95 % interval of the score, to high: a bootstrap over the texts of the test part."},
        {"deviation", "Standard deviation of the score over seeds."},
        {"gain", "The score minus that of the layer before; the interval is paired."},
        {"weight", "softmax(s) of the layer in the mixture of all layers, mean over seeds."},
        {"majority", "Accuracy of the most frequent training label."},
        {"most_frequent_label", "Accuracy of the most frequent training label of each word type, of unseen ones the majority's."},
        {"expected_layer", "Sum over l >= 1 of l * gain_l / sum of gains; its interval is over the same draws of texts."},
        {"centre_of_gravity", "Sum over l of l * weight_l."}};
    for (const MixRow& row : result.rows)
        table.add({result.task, row.layer, row.score.mean, row.score.low, row.score.high, row.deviation, row.gain.mean,
                   row.gain.low, row.gain.high, row.weight, result.majority, result.most_frequent_label, result.expected.mean,
                   result.expected.low, result.expected.high, result.centre, result.n_train, result.n_test,
                   std::ssize(result.classes)});
    return table;
}

void write_layer_mix(const std::filesystem::path& store, const Manifest& manifest, const MixResult& result) {
    json out = {{"classes", result.classes},
                {"unit", result.unit},
                {"pairs", result.pairs},
                {"expected", interval_json(result.expected)},
                {"centre", result.centre},
                {"majority", result.majority},
                {"most_frequent_label", result.most_frequent_label},
                {"n_train", result.n_train},
                {"n_development", result.n_development},
                {"n_test", result.n_test},
                {"unlabelled", result.unlabelled},
                {"without", result.without}};
    json& rows = out["rows"] = json::array();
    for (const MixRow& row : result.rows)
        rows.push_back({{"layer", row.layer},
                        {"score", interval_json(row.score)},
                        {"gain", interval_json(row.gain)},
                        {"deviation", row.deviation},
                        {"weight", row.weight}});
    keep_probe(store, manifest, result.kind, result.task, std::move(out));
}

MixResult read_layer_mix(const std::filesystem::path& store, const Manifest& manifest, ProbeKind kind, const std::string& task) {
    MixResult out;
    read_kept_probe(store, manifest, kind, task, [&](const json& in) {
        out = {.kind = kind,
               .task = in.at("task"),
               .classes = in.at("classes"),
               .unit = in.value("unit", "word"),
               .pairs = in.at("pairs"),
               .expected = interval_in(in.at("expected")),
               .centre = number_in(in.at("centre")),
               .majority = number_in(in.at("majority")),
               .most_frequent_label = number_in(in.at("most_frequent_label")),
               .n_train = in.at("n_train"),
               .n_development = in.at("n_development"),
               .n_test = in.at("n_test"),
               .unlabelled = in.at("unlabelled"),
               .without = in.at("without")};
        for (const json& row : in.at("rows"))
            out.rows.push_back({.layer = row.at("layer"),
                                .score = interval_in(row.at("score")),
                                .gain = interval_in(row.at("gain")),
                                .deviation = number_in(row.at("deviation")),
                                .weight = number_in(row.at("weight"))});
    });
    return out;
}

}  // namespace headlight::corpus
