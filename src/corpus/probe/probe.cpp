// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/probe.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::array kPortions{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0};

// What draw() is asked for, beside the seed.
enum Drawn : std::int64_t { kOrder, kControl, kRandom };

double share_of(std::uint64_t drawn) { return static_cast<double>(drawn >> 11) * 0x1p-53; }

/// [label] how often it occurs.
std::vector<std::int64_t> label_counts(const LabelledExamples& of, const std::vector<std::size_t>& examples) {
    std::vector<std::int64_t> counts(of.classes.size());
    for (const std::size_t e : examples) ++counts[static_cast<std::size_t>(of.examples[e].label)];
    return counts;
}

/// A label of the distribution of counts; `drawn` in [0, 1).
std::int32_t label_at(const std::vector<std::int64_t>& counts, double drawn) {
    const auto all = static_cast<double>(std::reduce(counts.begin(), counts.end()));
    double below = 0;
    std::int32_t last = 0;
    for (std::size_t label = 0; label < counts.size(); ++label) {
        if (counts[label] == 0) continue;
        last = static_cast<std::int32_t>(label);
        below += static_cast<double>(counts[label]) / all;
        if (drawn < below) break;
    }
    return last;
}

template <class Draw>
std::vector<std::int32_t> drawn_labels(const LabelledExamples& of, const std::vector<std::size_t>& training, const Draw& drawn) {
    const std::vector<std::int64_t> counts = label_counts(of, training);
    std::vector<std::int32_t> labels(of.examples.size());
    for (std::size_t e = 0; e < labels.size(); ++e) labels[e] = label_at(counts, share_of(drawn(e)));
    return labels;
}

std::vector<std::int32_t> picked(const std::vector<std::int32_t>& labels, const std::vector<std::size_t>& examples) {
    std::vector<std::int32_t> out;
    for (const std::size_t e : examples) out.push_back(labels[e]);
    return out;
}

ProbeRows picked(const ProbeRows& states, const std::vector<std::size_t>& examples) {
    ProbeRows out(static_cast<Eigen::Index>(examples.size()), states.cols());
    for (std::size_t i = 0; i < examples.size(); ++i)
        out.row(static_cast<Eigen::Index>(i)) = states.row(static_cast<Eigen::Index>(examples[i]));
    return out;
}

double accuracy_of(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& predicted) {
    std::int64_t hits = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) hits += labels[i] == predicted[i];
    return static_cast<double>(hits) / static_cast<double>(labels.size());
}

CodeLength code_of(const TrainingSet& train, const ProbeRows& states, const std::vector<std::int32_t>& labels,
                   std::int64_t classes, const LinearProbe& chosen, const ProbeOptions& options, const CancelToken& cancel) {
    const std::vector<std::int64_t> ends = code_portions(std::ssize(labels));
    std::vector<double> later;
    LinearProbe last;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
        const std::int64_t known = ends[i], next = ends[i + 1] - known;
        FitOptions fit = options.fit;
        // The same prior for all portions: a fixed precision of the weights, whatever the number of examples.
        fit.penalty = chosen.penalty * static_cast<double>(std::ssize(labels)) / static_cast<double>(known);
        fit.penalise_biases = true;
        fit.tolerance = std::max(options.path.tolerance, options.fit.tolerance);
        last = train.fit(std::span(labels).first(static_cast<std::size_t>(known)), classes, fit, i > 0 ? &last : nullptr, cancel);
        const std::span portion = std::span(labels).subspan(static_cast<std::size_t>(known), static_cast<std::size_t>(next));
        later.push_back(mean_cross_entropy(last.log_probabilities(states.middleRows(known, next)), portion) *
                        static_cast<double>(next) / std::log(2.0));
    }
    return online_code(std::ssize(labels), ends.front(), classes, later);
}

}  // namespace

CodeLength online_code(std::int64_t examples, std::int64_t first, std::int64_t classes, std::span<const double> later_bits) {
    const double each = std::log2(classes);
    CodeLength code;
    code.bits = std::reduce(later_bits.begin(), later_bits.end(), static_cast<double>(first) * each);
    code.compression = static_cast<double>(examples) * each / code.bits;
    return code;
}

std::vector<std::int64_t> code_portions(std::int64_t n) {
    std::vector<std::int64_t> ends;
    for (const double share : kPortions) {
        const std::int64_t end = share < 1 ? static_cast<std::int64_t>(std::floor(share * static_cast<double>(n))) : n;
        if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
    }
    return ends;
}

std::vector<std::int32_t> control_labels(const LabelledExamples& of, const std::vector<std::size_t>& training,
                                         std::uint64_t seed) {
    return drawn_labels(of, training, [&](std::size_t e) { return draw(seed, name_hash(of.examples[e].type), kControl); });
}

std::vector<std::int32_t> random_labels(const LabelledExamples& of, const std::vector<std::size_t>& training,
                                        std::uint64_t seed) {
    return drawn_labels(of, training, [&](std::size_t e) { return draw(seed, static_cast<std::int64_t>(e), kRandom); });
}

double macro_f1(std::span<const std::int32_t> labels, std::span<const std::int32_t> predicted, std::int64_t classes) {
    std::vector<std::int64_t> hits(static_cast<std::size_t>(classes)), wanted(hits), given(hits);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto label = static_cast<std::size_t>(labels[i]), answer = static_cast<std::size_t>(predicted[i]);
        ++wanted[label];
        ++given[answer];
        hits[label] += label == answer;
    }
    double sum = 0, n = 0;
    for (std::size_t c = 0; c < hits.size(); ++c) {
        if (wanted[c] == 0) continue;
        sum += 2 * static_cast<double>(hits[c]) / static_cast<double>(wanted[c] + given[c]);
        ++n;
    }
    return n > 0 ? sum / n : kNaN;
}

ProbeSplit split_examples(const LabelledExamples& of, TextStore& texts, std::uint64_t seed) {
    ProbeSplit split;
    std::int64_t last = -1;
    ProbePart part = ProbePart::train;
    for (std::size_t e = 0; e < of.examples.size(); ++e) {
        if (std::exchange(last, of.examples[e].text) != of.examples[e].text) part = part_of_text(texts.text(last).id, seed);
        (part == ProbePart::train ? split.train : part == ProbePart::development ? split.development : split.test).push_back(e);
    }
    for (const auto& [name, examples] :
         {std::pair("training", &split.train), std::pair("development", &split.development), std::pair("test", &split.test)})
        if (examples->size() < 2)
            throw Error({.problem = "A part of the texts has too few examples for a probe",
                         .item = std::string(name) + " part",
                         .expected = "at least 2",
                         .found = std::to_string(examples->size()),
                         .hint = "Use more texts, or smaller ones (corpus run --unit line): whole texts go into one part"});
    if (split.train.size() < of.classes.size())
        throw Error({.problem = "The training part has fewer examples than classes",
                     .item = "labels " + of.task,
                     .expected = "at least " + std::to_string(of.classes.size()) + " examples for " +
                                 std::to_string(of.classes.size()) + " classes",
                     .found = std::to_string(split.train.size()),
                     .hint = "Use more texts, or labels that several examples share"});
    std::ranges::sort(split.train, {},
                      [&](std::size_t e) { return std::pair(draw(seed, static_cast<std::int64_t>(e), kOrder), e); });

    const std::vector<std::int64_t> counts = label_counts(of, split.train);
    const auto most = static_cast<std::int32_t>(std::ranges::max_element(counts) - counts.begin());
    std::map<std::string_view, std::vector<std::int64_t>> by_type;
    for (const std::size_t e : split.train) {
        std::vector<std::int64_t>& of_type = by_type[of.examples[e].type];
        of_type.resize(of.classes.size());
        ++of_type[static_cast<std::size_t>(of.examples[e].label)];
    }
    std::int64_t majority = 0, frequent = 0;
    for (const std::size_t e : split.test) {
        const auto type = by_type.find(of.examples[e].type);
        const std::int32_t label = type == by_type.end()
                                       ? most
                                       : static_cast<std::int32_t>(std::ranges::max_element(type->second) - type->second.begin());
        majority += of.examples[e].label == most;
        frequent += of.examples[e].label == label;
    }
    split.majority = static_cast<double>(majority) / static_cast<double>(split.test.size());
    split.most_frequent_label = static_cast<double>(frequent) / static_cast<double>(split.test.size());
    return split;
}

LayerProbe probe_layer(std::int64_t layer, const ProbeRows& states, const LabelledExamples& of, const ProbeSplit& split,
                       const ProbeOptions& options, const CancelToken& cancel) {
    const std::int64_t classes = std::ssize(of.classes);
    std::vector<std::int32_t> labels;
    for (const ProbeExample& example : of.examples) labels.push_back(example.label);
    const ProbeRows train_states = picked(states, split.train), test_states = picked(states, split.test);
    const std::vector<std::int32_t> train_labels = picked(labels, split.train), test_labels = picked(labels, split.test);
    const TrainingSet train(train_states);

    LayerProbe out;
    out.layer = layer;
    out.constant_features = train.scale().constant;
    out.probe = fit_on_path(train, train_labels, classes, picked(states, split.development), picked(labels, split.development),
                            options.path, options.fit, cancel)
                    .probe;
    out.predicted = predictions(out.probe.log_probabilities(test_states));
    out.macro_f1 = macro_f1(test_labels, out.predicted, classes);
    out.confusion.setZero(classes, classes);
    std::vector<TextTerm> terms;
    std::int64_t text = -1;
    for (std::size_t i = 0; i < split.test.size(); ++i) {
        ++out.confusion(test_labels[i], out.predicted[i]);
        const std::int64_t here = of.examples[split.test[i]].text;
        if (std::exchange(text, here) != here) terms.emplace_back();
        terms.back().sum += out.predicted[i] == test_labels[i];
        terms.back().weight += 1;
    }
    out.accuracy = Bootstrap(std::ssize(terms), options.bootstrap).mean(terms);
    if (!options.controls) return out;

    FitOptions fit = options.fit;
    fit.penalty = out.probe.penalty;
    fit.tolerance = std::max(options.path.tolerance, options.fit.tolerance);
    const auto accuracy_on = [&](const std::vector<std::int32_t>& drawn) {
        const LinearProbe probe = train.fit(picked(drawn, split.train), classes, fit, nullptr, cancel);
        return accuracy_of(picked(drawn, split.test), predictions(probe.log_probabilities(test_states)));
    };
    out.random_label = accuracy_on(random_labels(of, split.train, options.seed));
    out.control = accuracy_on(control_labels(of, split.train, options.seed));
    out.code = code_of(train, train_states, train_labels, classes, out.probe, options, cancel);
    return out;
}

const LayerProbe& ProbeResult::best() const {
    if (layers.empty()) throw Error({.problem = "The probe has no layer", .item = task});
    return *std::ranges::max_element(layers, {}, [](const LayerProbe& of) { return of.accuracy.mean; });
}

ProbeResult run_probe(const Manifest& manifest, const StatesOptions& states, const LabelledExamples& labels,
                      const ProbeOptions& options, const CancelToken& cancel, const Progress& progress) {
    TextStore texts(states.store, manifest);
    const ProbeSplit split = split_examples(labels, texts, options.seed);
    ProbeResult result{.task = labels.task,
                       .classes = labels.classes,
                       .unit = labels.unit,
                       .pairs = labels.pairs,
                       .majority = split.majority,
                       .most_frequent_label = split.most_frequent_label,
                       .n_train = std::ssize(split.train),
                       .n_development = std::ssize(split.development),
                       .unlabelled = labels.unlabelled,
                       .without = labels.without};
    for (const std::size_t e : split.test) result.tested.push_back(labels.examples[e]);
    const std::int64_t layers = state_layers(manifest, states);
    for_each_layer(
        manifest, states,
        [&](std::int64_t layer, const LayerStates& of) {
            if (progress) progress({"Probing", "layer", layer, layers});
            result.layers.push_back(probe_layer(layer, of.pooled(labels.examples), labels, split, options, cancel));
        },
        cancel, progress);
    return result;
}

analyze::Table table_of(const ProbeResult& result) {
    analyze::Table table;
    table.columns = {
        "task",         "layer",   "accuracy",    "low",      "high",        "macro_f1", "majority", "most_frequent_label",
        "random_label", "control", "selectivity", "mdl_bits", "compression", "n_train",  "n_test",   "penalty",
        "classes"};
    table.definitions = {
        {"layer", "0: the residual stream that enters the first block; l: the one that leaves block l - 1 (hook_resid_post)."},
        {"accuracy", "Share of the n_test examples whose label a linear probe predicts, trained on other texts."},
        {"low", "95 % interval of the accuracy, to high: percentiles of a bootstrap over the texts of the test part."},
        {"macro_f1", "Unweighted mean of F1 over the classes of the test part."},
        {"majority", "Accuracy of the most frequent training label."},
        {"most_frequent_label",
         "Accuracy of the most frequent training label of each word (pair, span, text), of unseen ones the majority's."},
        {"random_label", "Accuracy of a probe of labels drawn at random for every example, on such labels."},
        {"control",
         "Accuracy on the control task, in which every word type has one label drawn at random (Hewitt & Liang 2019)."},
        {"selectivity", "accuracy - control."},
        {"mdl_bits", "Length of the training labels in bits under an online code (Voita & Titov 2020)."},
        {"compression", "Length under a uniform code / mdl_bits."},
        {"penalty", "Chosen on the development part: mean cross entropy + penalty / 2 * |W|^2 over standardised features."}};
    for (const LayerProbe& of : result.layers)
        table.add({result.task, of.layer, of.accuracy.mean, of.accuracy.low, of.accuracy.high, of.macro_f1, result.majority,
                   result.most_frequent_label, of.random_label, of.control, of.selectivity(), of.code.bits, of.code.compression,
                   result.n_train, std::ssize(result.tested), of.probe.penalty, std::ssize(result.classes)});
    return table;
}

}  // namespace headlight::corpus
