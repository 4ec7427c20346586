// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/layer_mix.h"

#include "corpus/probe/adam.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/model/one_thread.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::int64_t kExamplesAtATime = 256;  ///< where no gradient is asked for

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
    for (const StateRows& layer : task.layers)
        if (layer.rows() != examples || layer.cols() != task.layers[0].cols() || layer.cols() == 0)
            fail("states [" + std::to_string(examples) + ", " + std::to_string(task.layers[0].cols()) + "] in every layer",
                 "[" + std::to_string(layer.rows()) + ", " + std::to_string(layer.cols()) + "]");
    for (const auto& [name, part] : {std::pair("train", task.train), std::pair("dev", task.dev), std::pair("test", task.test)}) {
        if (part.empty()) fail("examples to learn from, to stop on and to test with", std::string("no ") + name + " examples");
        for (const std::int64_t i : part) {
            if (i < 0 || i >= examples) fail("examples below " + std::to_string(examples), std::to_string(i));
            const std::int32_t label = task.labels[static_cast<std::size_t>(i)];
            if (label < 0 || label >= task.classes) fail("labels below " + std::to_string(task.classes), std::to_string(label));
        }
    }
}

at::Tensor tensor_of(const StateRows& states) {
    return at::from_blob(const_cast<float*>(states.data()), {states.rows(), states.cols()}, at::TensorOptions(at::kFloat));
}

at::Tensor indices(std::span<const std::int64_t> of) {
    return at::from_blob(const_cast<std::int64_t*>(of.data()), {std::ssize(of)}, at::TensorOptions(at::kLong));
}

/// What all fits read.
class MixData {
public:
    MixData(const LayerMixTask& of, const CancelToken& cancel) : task(of), width(of.layers[0].cols()) {
        labels =
            at::from_blob(const_cast<std::int32_t*>(task.labels.data()), {std::ssize(task.labels)}, at::TensorOptions(at::kInt))
                .to(at::kLong);
        for (const StateRows& layer : task.layers) {
            cancel.throw_if_cancelled();
            states_.push_back(tensor_of(layer));
            if (!at::isfinite(states_.back()).all().item<bool>())
                throw Error({.problem = "A state is not a finite number", .item = "layer " + std::to_string(states_.size() - 1)});
            const at::Tensor of_train = states_.back().index_select(0, indices(task.train)).to(at::kDouble);
            const at::Tensor mean = of_train.mean(0), deviation = (of_train - mean).square().mean(0).sqrt();
            mean_.push_back(mean.to(at::kFloat));
            // A feature that is constant in the training part says nothing: it becomes 0 everywhere.
            const at::Tensor varies = deviation > 1e-6 * of_train.abs().amax(0);
            scale_.push_back(at::where(varies, deviation.reciprocal(), at::zeros_like(deviation)).to(at::kFloat));
        }
    }
    /// Standardised states [example, d] of a layer.
    at::Tensor rows(std::int64_t layer, const at::Tensor& examples) const {
        const auto l = static_cast<std::size_t>(layer);
        return states_[l].index_select(0, examples).sub_(mean_[l]).mul_(scale_[l]);
    }

    const LayerMixTask& task;
    std::int64_t width;
    at::Tensor labels;  ///< [example]

private:
    std::vector<at::Tensor> states_, mean_, scale_;  ///< [layer]
};

/// The weights of one probe, in one tensor for Adam, and views of its parts.
struct MixWeights {
    at::Tensor all, matrix, bias, raw, gamma;  ///< matrix [class, d], bias [class], raw [layer], gamma [1]
    MixWeights(std::int64_t classes, std::int64_t width, std::int64_t layers)
        : all(at::zeros({classes * width + classes + layers + 1})),
          matrix(all.narrow(0, 0, classes * width).view({classes, width})),
          bias(all.narrow(0, classes * width, classes)),
          raw(all.narrow(0, classes * width + classes, layers)),
          gamma(all.narrow(0, classes * width + classes + layers, 1)) {}
};

/// One probe on layers 0 to `last`.
class MixFit {
public:
    MixFit(const MixData& data, const LayerMixOptions& options, std::int64_t last, std::uint64_t seed)
        : data_(data),
          options_(options),
          layers_(last + 1),
          seed_(seed),
          weights_(data.task.classes, data.width, layers_),
          gradient_(data.task.classes, data.width, layers_) {
        const double bound = 1 / std::sqrt(static_cast<double>(data.width));
        float* const matrix = weights_.matrix.data_ptr<float>();
        for (std::int64_t i = 0; i < weights_.matrix.numel(); ++i)
            matrix[i] = static_cast<float>(bound * (static_cast<double>(draw(seed, -1, i) >> 11) * 0x1p-52 - 1));
        weights_.gamma.fill_(1);
    }

    void run(const CancelToken& cancel) {
        constexpr std::int64_t kPatience = 4;
        constexpr double kImprovement = 1e-4;
        Adam adam(weights_.all);
        at::Tensor best = weights_.all.clone();
        std::vector<std::int64_t> order(data_.task.train.begin(), data_.task.train.end());
        double least = std::numeric_limits<double>::infinity(), rate = options_.learning_rate;
        for (std::int64_t epoch = 0, since = 0; epoch < options_.epochs && since < kPatience; ++epoch) {
            std::ranges::sort(order, {}, [&](std::int64_t i) { return std::pair(draw(seed_, epoch, i), i); });
            for_parts(order, options_.batch, [&](const at::Tensor& examples) {
                cancel.throw_if_cancelled();
                learn(examples);
                adam.step(weights_.all, gradient_.all, rate);
            });
            double loss = 0;
            for_parts(data_.task.dev, kExamplesAtATime, [&](const at::Tensor& examples) {
                cancel.throw_if_cancelled();
                loss -= log_likelihood(examples);
            });
            loss /= static_cast<double>(data_.task.dev.size());
            if (!(loss < least)) rate /= 2;
            if (loss < least - kImprovement) {
                best.copy_(weights_.all);
                since = 0;
            } else {
                ++since;
            }
            least = std::min(least, loss);
        }
        weights_.all.copy_(best);
    }

    /// [test example] 1: right
    std::vector<double> hits() const {
        std::vector<double> out;
        for_parts(data_.task.test, kExamplesAtATime, [&](const at::Tensor& examples) {
            const at::Tensor right =
                logits(mixed(examples, nullptr)).argmax(1).eq(data_.labels.index_select(0, examples)).to(at::kDouble);
            out.insert(out.end(), right.data_ptr<double>(), right.data_ptr<double>() + right.numel());
        });
        return out;
    }
    /// [layer]
    std::vector<double> layer_weights() const {
        const at::Tensor s = weights_.raw.to(at::kDouble).softmax(0);
        return {s.data_ptr<double>(), s.data_ptr<double>() + s.numel()};
    }

private:
    template <class Visit>
    static void for_parts(std::span<const std::int64_t> examples, std::int64_t size, Visit visit) {
        for (std::size_t first = 0; first < examples.size(); first += static_cast<std::size_t>(size))
            visit(indices(examples.subspan(first, std::min(static_cast<std::size_t>(size), examples.size() - first))));
    }

    /// Sum over layers of softmax(raw)_l x_l; keeps the x_l of each layer in `rows`.
    at::Tensor mixed(const at::Tensor& examples, std::vector<at::Tensor>* rows) const {
        const at::Tensor s = weights_.raw.softmax(0);
        at::Tensor sum = at::zeros({examples.numel(), data_.width});
        for (std::int64_t l = 0; l < layers_; ++l) {
            at::Tensor x = data_.rows(l, examples);
            sum.add_(x, s.data_ptr<float>()[l]);
            if (rows) rows->push_back(std::move(x));
        }
        return sum;
    }
    at::Tensor logits(const at::Tensor& mixture) const {
        return at::addmm(weights_.bias, mixture * weights_.gamma, weights_.matrix.t());
    }
    double log_likelihood(const at::Tensor& examples) const {
        const at::Tensor labels = data_.labels.index_select(0, examples).unsqueeze(1);
        return logits(mixed(examples, nullptr)).log_softmax(1).gather(1, labels).sum(at::kDouble).item<double>();
    }
    /// Fills the gradient of the mean cross entropy.
    void learn(const at::Tensor& examples) {
        std::vector<at::Tensor> rows;
        const at::Tensor mixture = mixed(examples, &rows);
        at::Tensor error = logits(mixture).softmax(1);
        const at::Tensor labels = data_.labels.index_select(0, examples).unsqueeze(1);
        error.scatter_add_(1, labels, at::full_like(labels, -1, error.options()));
        error.div_(static_cast<double>(examples.numel()));
        const at::Tensor by_mixture = at::mm(error, weights_.matrix);  // before gamma
        const at::Tensor s = weights_.raw.softmax(0);
        at::Tensor by_s = at::empty_like(s);
        for (std::int64_t l = 0; l < layers_; ++l)
            by_s.data_ptr<float>()[l] = (by_mixture * rows[static_cast<std::size_t>(l)]).sum().item<float>();
        by_s.mul_(weights_.gamma);
        gradient_.raw.copy_(s * (by_s - (s * by_s).sum()));
        gradient_.gamma.copy_((by_mixture * mixture).sum());
        gradient_.matrix.copy_(at::mm(error.t(), mixture).mul_(weights_.gamma));
        gradient_.bias.copy_(error.sum(0));
    }

    const MixData& data_;
    const LayerMixOptions& options_;
    std::int64_t layers_;
    std::uint64_t seed_;
    MixWeights weights_, gradient_;
};

/// One fit's share of a step.
struct MixOutcome {
    std::vector<double> hits, weights;
};

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
            MixFit fit(data, options, last, draw(options.seed, last, fit_number % options.seeds));
            fit.run(cancel);
            outcomes[static_cast<std::size_t>(fit_number)] = {fit.hits(), fit.layer_weights()};
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

analyze::Table table_of(const LayerMix& mix) {
    analyze::Table table;
    table.columns = {"layer", "score", "deviation", "gain", "weight"};
    table.definitions = {
        {"layer", "0: the embedding; l: the stream after l blocks."},
        {"score", "Accuracy on the test part of a linear probe on a learnt mixture of layers 0 to this one, mean over seeds."},
        {"deviation", "Its standard deviation over seeds."},
        {"gain", "The score minus that of the layer before."},
        {"weight", "Of the layer in the mixture of all layers: softmax(s), mean over seeds."}};
    for (const LayerMixStep& step : mix.steps)
        table.add(
            {step.last, step.score, step.deviation, step.gain, mix.steps.back().weights[static_cast<std::size_t>(step.last)]});
    return table;
}

}  // namespace headlight::corpus
