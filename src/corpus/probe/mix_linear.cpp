// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/probe/mix_classifier.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"

#include <cmath>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

at::Tensor tensor_of_states(const StateRows& states) {
    return at::from_blob(const_cast<float*>(states.data()), {states.rows(), states.cols()}, at::TensorOptions(at::kFloat));
}

/// Rows of the examples that are learnt from, each once.
std::vector<std::int64_t> training_rows(const LayerMixTask& task) {
    if (task.spans.empty()) return {task.train.begin(), task.train.end()};
    std::vector<char> read(static_cast<std::size_t>(task.layers[0].rows()));
    for (const std::int64_t i : task.train) {
        const SpanRows& span = task.spans[static_cast<std::size_t>(i)];
        for (std::int64_t row = span.begin; row < span.end; ++row) read[static_cast<std::size_t>(row)] = 1;
        for (std::int64_t row = span.second_begin; row < span.second_end; ++row) read[static_cast<std::size_t>(row)] = 1;
    }
    std::vector<std::int64_t> out;
    for (std::size_t row = 0; row < read.size(); ++row)
        if (read[row]) out.push_back(static_cast<std::int64_t>(row));
    return out;
}

/// The weights of a linear classifier, in one tensor for Adam, and views of its parts.
struct MixWeights {
    at::Tensor all, matrix, bias, raw, gamma;  ///< matrix [class, d], bias [class], raw [layer], gamma [1]
    MixWeights(std::int64_t classes, std::int64_t width, std::int64_t layers)
        : all(at::zeros({classes * width + classes + layers + 1})),
          matrix(all.narrow(0, 0, classes * width).view({classes, width})),
          bias(all.narrow(0, classes * width, classes)),
          raw(all.narrow(0, classes * width + classes, layers)),
          gamma(all.narrow(0, classes * width + classes + layers, 1)) {}
};

class LinearOfMixture final : public MixClassifier {
public:
    LinearOfMixture(const MixData& data, std::int64_t layers, std::uint64_t seed)
        : data_(data),
          layers_(layers),
          weights_(data.task.classes, data.width, layers),
          gradient_(data.task.classes, data.width, layers) {
        const double bound = 1 / std::sqrt(static_cast<double>(data.width));
        float* const matrix = weights_.matrix.data_ptr<float>();
        for (std::int64_t i = 0; i < weights_.matrix.numel(); ++i)
            matrix[i] = static_cast<float>(bound * (static_cast<double>(draw(seed, -1, i) >> 11) * 0x1p-52 - 1));
        weights_.gamma.fill_(1);
    }

    at::Tensor& weights() override { return weights_.all; }
    const at::Tensor& gradient() const override { return gradient_.all; }
    at::Tensor raw() const override { return weights_.raw; }
    at::Tensor predicted(const at::Tensor& examples) const override { return logits(mixed(examples, nullptr)).argmax(1); }
    double loss(const at::Tensor& examples) const override {
        const at::Tensor labels = data_.labels.index_select(0, examples).unsqueeze(1);
        return -logits(mixed(examples, nullptr)).log_softmax(1).gather(1, labels).sum(at::kDouble).item<double>();
    }
    void learn(const at::Tensor& examples) override {
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

private:
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

    const MixData& data_;
    std::int64_t layers_;
    MixWeights weights_, gradient_;
};

}  // namespace

at::Tensor mix_indices(std::span<const std::int64_t> of) {
    return at::from_blob(const_cast<std::int64_t*>(of.data()), {std::ssize(of)}, at::TensorOptions(at::kLong));
}

MixData::MixData(const LayerMixTask& of, const CancelToken& cancel) : task(of), width(of.layers[0].cols()) {
    labels = at::from_blob(const_cast<std::int32_t*>(task.labels.data()), {std::ssize(task.labels)}, at::TensorOptions(at::kInt))
                 .to(at::kLong);
    const std::vector<std::int64_t> trained = training_rows(task);
    for (const StateRows& layer : task.layers) {
        cancel.throw_if_cancelled();
        states_.push_back(tensor_of_states(layer));
        if (!at::isfinite(states_.back()).all().item<bool>())
            throw Error({.problem = "A state is not a finite number", .item = "layer " + std::to_string(states_.size() - 1)});
        const at::Tensor of_train = states_.back().index_select(0, mix_indices(trained)).to(at::kDouble);
        const at::Tensor mean = of_train.mean(0), deviation = (of_train - mean).square().mean(0).sqrt();
        mean_.push_back(mean.to(at::kFloat));
        // A feature that is constant in the training part says nothing: it becomes 0 everywhere.
        const at::Tensor varies = deviation > 1e-6 * of_train.abs().amax(0);
        scale_.push_back(at::where(varies, deviation.reciprocal(), at::zeros_like(deviation)).to(at::kFloat));
    }
}

at::Tensor MixData::rows(std::int64_t layer, const at::Tensor& rows) const {
    const auto l = static_cast<std::size_t>(layer);
    return states_[l].index_select(0, rows).sub_(mean_[l]).mul_(scale_[l]);
}

std::unique_ptr<MixClassifier> linear_of_mixture(const MixData& data, std::int64_t layers, std::uint64_t seed) {
    return std::make_unique<LinearOfMixture>(data, layers, seed);
}

}  // namespace headlight::corpus
