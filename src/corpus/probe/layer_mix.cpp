// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/layer_mix.h"

#include "corpus/probe/adam.h"
#include "corpus/probe/mix_classifier.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/model/one_thread.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::int64_t kExamplesAtATime = 256;  ///< where no gradient is asked for; of spans a batch, as they may be long

void check_spans(const LayerMixTask& task, const LayerMixOptions& options, const auto& fail) {
    if (options.edge.width < 1 || !(options.edge.dropout >= 0 && options.edge.dropout < 1))
        fail("a width of at least 1, dropout from 0 to below 1",
             "width " + std::to_string(options.edge.width) + ", dropout " + significant(options.edge.dropout));
    if (task.spans.size() != task.labels.size())
        fail("a span for each of " + std::to_string(task.labels.size()) + " examples", std::to_string(task.spans.size()));
    const bool pairs = task.spans[0].second_end > task.spans[0].second_begin;
    const auto inside = [&](std::int64_t begin, std::int64_t end, bool wanted) {
        return wanted ? begin >= 0 && begin < end && end <= task.layers[0].rows() : begin >= end;
    };
    for (const SpanRows& span : task.spans)
        if (!inside(span.begin, span.end, true) || !inside(span.second_begin, span.second_end, pairs))
            fail(std::string(pairs ? "two spans" : "a span") + " of at least one of " + std::to_string(task.layers[0].rows()) +
                     " rows for every example",
                 "rows " + std::to_string(span.begin) + " to " + std::to_string(span.end) + " and " +
                     std::to_string(span.second_begin) + " to " + std::to_string(span.second_end));
}

void check_task(const LayerMixTask& task, const LayerMixOptions& options) {
    const auto fail = [](const std::string& expected, const std::string& found) {
        throw Error({.problem = "A mixture of layers cannot be fitted", .expected = expected, .found = found});
    };
    if (options.seeds < 1 || options.batch < 1 || options.epochs < 1 || !(options.learning_rate > 0))
        fail("seeds, batches and epochs of at least 1, a learning rate above 0",
             std::to_string(options.seeds) + " seeds, batches of " + std::to_string(options.batch) + ", " +
                 std::to_string(options.epochs) + " epochs, learning rate " + significant(options.learning_rate));
    if (task.layers.empty() || task.classes < 1) fail("layers and classes", "none");
    const auto examples = std::ssize(task.labels);
    const std::int64_t rows = task.spans.empty() ? examples : task.layers[0].rows();
    for (const StateRows& layer : task.layers)
        if (layer.rows() != rows || layer.cols() != task.layers[0].cols() || layer.cols() == 0)
            fail("states [" + std::to_string(rows) + ", " + std::to_string(task.layers[0].cols()) + "] in every layer",
                 "[" + std::to_string(layer.rows()) + ", " + std::to_string(layer.cols()) + "]");
    if (!task.spans.empty()) check_spans(task, options, fail);
    for (const auto& [name, part] : {std::pair("train", task.train), std::pair("dev", task.dev), std::pair("test", task.test)}) {
        if (part.empty()) fail("examples to learn from, to stop on and to test with", std::string("no ") + name + " examples");
        for (const std::int64_t i : part) {
            if (i < 0 || i >= examples) fail("examples below " + std::to_string(examples), std::to_string(i));
            const std::int32_t label = task.labels[static_cast<std::size_t>(i)];
            if (label < 0 || label >= task.classes) fail("labels below " + std::to_string(task.classes), std::to_string(label));
        }
    }
}

/// One fit's share of a step.
struct MixOutcome {
    std::vector<double> hits, weights;
};

/// One fit of a classifier.
MixOutcome fitted(MixClassifier& classifier, const LayerMixTask& task, const LayerMixOptions& options, std::uint64_t seed,
                  const CancelToken& cancel) {
    constexpr std::int64_t kPatience = 4;
    constexpr double kImprovement = 1e-4;
    const auto for_parts = [&](std::span<const std::int64_t> examples, std::int64_t size, const auto& visit) {
        for (std::size_t first = 0; first < examples.size(); first += static_cast<std::size_t>(size)) {
            cancel.throw_if_cancelled();
            visit(mix_indices(examples.subspan(first, std::min(static_cast<std::size_t>(size), examples.size() - first))));
        }
    };
    const std::int64_t at_a_time = task.spans.empty() ? kExamplesAtATime : options.batch;
    Adam adam(classifier.weights());
    at::Tensor best = classifier.weights().clone();
    std::vector<std::int64_t> order(task.train.begin(), task.train.end());
    double least = std::numeric_limits<double>::infinity(), rate = options.learning_rate;
    for (std::int64_t epoch = 0, since = 0; epoch < options.epochs && since < kPatience; ++epoch) {
        std::ranges::sort(order, {}, [&](std::int64_t i) { return std::pair(draw(seed, epoch, i), i); });
        for_parts(order, options.batch, [&](const at::Tensor& examples) {
            classifier.learn(examples);
            adam.step(classifier.weights(), classifier.gradient(), rate);
        });
        double loss = 0;
        for_parts(task.dev, at_a_time, [&](const at::Tensor& examples) { loss += classifier.loss(examples); });
        loss /= static_cast<double>(task.dev.size());
        if (!(loss < least)) rate /= 2;
        if (loss < least - kImprovement) {
            best.copy_(classifier.weights());
            since = 0;
        } else {
            ++since;
        }
        least = std::min(least, loss);
    }
    classifier.weights().copy_(best);
    MixOutcome out;
    for_parts(task.test, at_a_time, [&](const at::Tensor& examples) {
        const at::Tensor predicted = classifier.predicted(examples).to(at::kLong).contiguous();
        for (std::int64_t i = 0; i < predicted.numel(); ++i) {
            const auto example = static_cast<std::size_t>(examples.data_ptr<std::int64_t>()[i]);
            out.hits.push_back(predicted.data_ptr<std::int64_t>()[i] == task.labels[example] ? 1 : 0);
        }
    });
    const at::Tensor s = classifier.raw().to(at::kDouble).softmax(0);
    out.weights.assign(s.data_ptr<double>(), s.data_ptr<double>() + s.numel());
    return out;
}

LayerMixStep step_of(std::int64_t last, std::span<const MixOutcome> outcomes, std::size_t tests) {
    const auto seeds = static_cast<double>(outcomes.size());
    LayerMixStep step{
        .last = last, .weights = std::vector<double>(static_cast<std::size_t>(last + 1)), .hits = std::vector<double>(tests)};
    std::vector<double> scores;
    for (const MixOutcome& outcome : outcomes) {
        for (std::size_t l = 0; l < step.weights.size(); ++l) step.weights[l] += outcome.weights[l] / seeds;
        for (std::size_t i = 0; i < tests; ++i) step.hits[i] += outcome.hits[i] / seeds;
        scores.push_back(std::accumulate(outcome.hits.begin(), outcome.hits.end(), 0.0) / static_cast<double>(tests));
    }
    step.score = std::accumulate(scores.begin(), scores.end(), 0.0) / seeds;
    if (scores.size() > 1) {
        double squares = 0;
        for (const double score : scores) squares += (score - step.score) * (score - step.score);
        step.deviation = std::sqrt(squares / (seeds - 1));
    }
    return step;
}

double majority_of(const LayerMixTask& task) {
    std::vector<std::int64_t> count(static_cast<std::size_t>(task.classes));
    for (const std::int64_t i : task.train) ++count[static_cast<std::size_t>(task.labels[static_cast<std::size_t>(i)])];
    const auto most = static_cast<std::int32_t>(std::ranges::max_element(count) - count.begin());
    const auto hits =
        std::ranges::count_if(task.test, [&](std::int64_t i) { return task.labels[static_cast<std::size_t>(i)] == most; });
    return static_cast<double>(hits) / static_cast<double>(task.test.size());
}

}  // namespace

double expected_layer(std::span<const double> scores) {
    double gains = 0, weighted = 0, largest = 0;
    for (std::size_t l = 0; l < scores.size(); ++l) {
        largest = std::max(largest, std::abs(scores[l]));
        if (l == 0) continue;
        gains += scores[l] - scores[l - 1];
        weighted += static_cast<double>(l) * (scores[l] - scores[l - 1]);
    }
    return std::abs(gains) > 1e-6 * largest ? weighted / gains : kNaN;
}

LayerMix fit_layer_mix(const LayerMixTask& task, const LayerMixOptions& options, const CancelToken& cancel,
                       const Progress& progress) {
    check_task(task, options);
    const at::NoGradGuard no_grad;
    const MixData data(task, cancel);
    const auto layers = std::ssize(task.layers), fits = layers * options.seeds;
    std::vector<MixOutcome> outcomes(static_cast<std::size_t>(fits));  // [last, seed]
    std::atomic<std::int64_t> next = 0;
    std::int64_t done = 0;
    std::mutex reporting;
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
        const at::NoGradGuard no_grad_here;
        const model::OneThread one;
        // The probes on most layers take longest, so they come first.
        for (std::int64_t i = next++; i < fits; i = next++) {
            const std::int64_t fit_number = fits - 1 - i, last = fit_number / options.seeds;
            const std::uint64_t seed = draw(options.seed, last, fit_number % options.seeds);
            const std::unique_ptr<MixClassifier> classifier = task.spans.empty()
                                                                  ? linear_of_mixture(data, last + 1, seed)
                                                                  : edge_of_mixture(data, options.edge, last + 1, seed);
            outcomes[static_cast<std::size_t>(fit_number)] = fitted(*classifier, task, options, seed, cancel);
            const std::lock_guard lock(reporting);
            if (progress) progress({"Mixing layers", "fit", ++done, fits});
        }
    });
    LayerMix mix;
    mix.majority = majority_of(task);
    std::vector<double> scores;
    for (std::int64_t last = 0; last < layers; ++last) {
        const auto of_step =
            std::span(outcomes).subspan(static_cast<std::size_t>(last * options.seeds), static_cast<std::size_t>(options.seeds));
        LayerMixStep& step = mix.steps.emplace_back(step_of(last, of_step, task.test.size()));
        if (last > 0) step.gain = step.score - scores.back();
        scores.push_back(step.score);
    }
    mix.expected = expected_layer(scores);
    mix.centre = 0;
    for (std::int64_t l = 0; l < layers; ++l)
        mix.centre += static_cast<double>(l) * mix.steps.back().weights[static_cast<std::size_t>(l)];
    return mix;
}

}  // namespace headlight::corpus
