// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/probe/mix_classifier.h"
#include "headlight/corpus/accumulate/examples.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::corpus {
namespace {

/// The tokens of a batch's first or second spans.
struct BatchSpans {
    at::Tensor layers;  ///< [layer, token * d] standardised states
    at::Tensor owner;   ///< [token] example of the batch
    at::Tensor place;   ///< [token] owner * longest + place in the span
    std::int64_t longest = 0;
};

class EdgeOfMixture final : public MixClassifier {
public:
    EdgeOfMixture(const MixData& data, const EdgeClassifier& of, std::int64_t layers, std::uint64_t seed)
        : data_(data),
          of_(of),
          seed_(seed),
          layers_(layers),
          spans_(data.task.spans[0].second_end > data.task.spans[0].second_begin ? 2 : 1),
          weights_(at::zeros({numbers()})),
          gradient_(at::zeros({numbers()})) {
        const std::int64_t d = data.width, w = of.width;
        raw_ = part({layers}, 0);
        gamma_ = part({1}, 0);
        weights_.narrow(0, layers, 1).fill_(1);
        for (std::int64_t s = 0; s < spans_; ++s) project_.push_back({part({w, d}, d), part({w}, d), part({w}, w)});
        hidden_ = {part({w, spans_ * w}, spans_ * w), part({w}, spans_ * w), part({w}, 0)};
        weights_.narrow(0, next_ - w, w).fill_(1);
        shift_ = part({w}, 0);
        out_ = {part({data.task.classes, w}, w), part({data.task.classes}, w), {}};
    }

    at::Tensor& weights() override { return weights_; }
    const at::Tensor& gradient() const override { return gradient_; }
    at::Tensor raw() const override { return raw_.detach(); }
    at::Tensor predicted(const at::Tensor& examples) const override { return logits(examples, {}).argmax(1); }
    double loss(const at::Tensor& examples) const override {
        return cross_entropy(logits(examples, {}), examples).item<double>() * static_cast<double>(examples.numel());
    }
    void learn(const at::Tensor& examples) override {
        gradient_.zero_();
        const at::AutoGradMode with_gradients(true);
        cross_entropy(logits(examples, kept(examples.numel())), examples).backward();
    }

private:
    struct Linear {
        at::Tensor matrix, bias, third;  ///< third: v of a projection, factor of the norm behind the hidden layer
    };

    std::int64_t numbers() const {
        const std::int64_t d = data_.width, w = of_.width, k = data_.task.classes;
        return layers_ + 1 + spans_ * (w * d + 2 * w) + spans_ * w * w + w + 2 * w + k * w + k;
    }
    /// The next weights, whose gradients go to the same place of gradient_. They start uniformly within 1 / sqrt(inputs), or as
    /// 0.
    at::Tensor part(at::IntArrayRef shape, std::int64_t inputs) {
        std::int64_t count = 1;
        for (const std::int64_t size : shape) count *= size;
        if (inputs > 0) {
            const double bound = 1 / std::sqrt(static_cast<double>(inputs));
            float* const values = weights_.data_ptr<float>() + next_;
            for (std::int64_t i = 0; i < count; ++i)
                values[i] = static_cast<float>(bound * (static_cast<double>(draw(seed_, -1, next_ + i) >> 11) * 0x1p-52 - 1));
        }
        at::Tensor out = weights_.narrow(0, next_, count).view(shape).detach().requires_grad_(true);
        out.mutable_grad() = gradient_.narrow(0, next_, count).view(shape);
        next_ += count;
        return out;
    }

    BatchSpans spans_of(const at::Tensor& examples, bool second) const {
        std::vector<std::int64_t> rows, owner, place;
        BatchSpans out;
        for (std::int64_t i = 0; i < examples.numel(); ++i) {
            const SpanRows& span = data_.task.spans[static_cast<std::size_t>(examples.data_ptr<std::int64_t>()[i])];
            const std::int64_t begin = second ? span.second_begin : span.begin, end = second ? span.second_end : span.end;
            for (std::int64_t row = begin; row < end; ++row) {
                rows.push_back(row);
                owner.push_back(i);
                place.push_back(row - begin);
            }
            out.longest = std::max(out.longest, end - begin);
        }
        for (std::size_t t = 0; t < place.size(); ++t) place[t] += owner[t] * out.longest;
        const at::Tensor at_rows = mix_indices(rows);
        std::vector<at::Tensor> layers;
        for (std::int64_t l = 0; l < layers_; ++l) layers.push_back(data_.rows(l, at_rows).view(-1));
        out.layers = at::stack(layers);
        out.owner = mix_indices(owner).clone();
        out.place = mix_indices(place).clone();
        return out;
    }

    /// [example, width] of the first or second span.
    at::Tensor summed(const at::Tensor& examples, bool second) const {
        const BatchSpans of = spans_of(examples, second);
        const Linear& project = project_[second ? 1 : 0];
        const at::Tensor mixture = (at::mv(of.layers.t(), raw_.softmax(0)) * gamma_).view({-1, data_.width});
        const at::Tensor tokens = at::addmm(project.bias, mixture, project.matrix.t());  // [token, width]
        const at::Tensor scores = at::full({examples.numel() * of.longest}, -std::numeric_limits<float>::infinity())
                                      .scatter(0, of.place, at::mv(tokens, project.third));
        const at::Tensor share = scores.view({-1, of.longest}).softmax(1).view(-1).index_select(0, of.place);
        return at::zeros({examples.numel(), of_.width}).index_add(0, of.owner, tokens * share.unsqueeze(1));
    }

    /// [example, class]; `kept` is the factor of each hidden number under dropout, undefined without.
    at::Tensor logits(const at::Tensor& examples, const at::Tensor& kept) const {
        std::vector<at::Tensor> sums;
        for (std::int64_t s = 0; s < spans_; ++s) sums.push_back(summed(examples, s == 1));
        const at::Tensor input = spans_ == 1 ? sums[0] : at::cat(sums, 1);
        const at::Tensor hidden = at::addmm(hidden_.bias, input, hidden_.matrix.t()).tanh();
        const at::Tensor normed = at::layer_norm(hidden, {of_.width}, hidden_.third, shift_, 1e-5);
        return at::addmm(out_.bias, kept.defined() ? normed * kept : normed, out_.matrix.t());
    }
    at::Tensor kept(std::int64_t examples) {
        if (of_.dropout == 0) return {};
        at::Tensor out = at::empty({examples, of_.width});
        const auto factor = static_cast<float>(1 / (1 - of_.dropout));
        float* const values = out.data_ptr<float>();
        for (std::int64_t i = 0; i < out.numel(); ++i)
            values[i] = static_cast<double>(draw(seed_, -2 - step_, i) >> 11) * 0x1p-53 < of_.dropout ? 0 : factor;
        ++step_;
        return out;
    }
    /// Of independent classes, added; the mean over examples.
    at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& examples) const {
        const at::Tensor labels = data_.labels.index_select(0, examples).unsqueeze(1);
        return (at::softplus(logits).sum(1) - logits.gather(1, labels).squeeze(1)).mean();
    }

    const MixData& data_;
    EdgeClassifier of_;
    std::uint64_t seed_;
    std::int64_t layers_, spans_, next_ = 0, step_ = 0;
    at::Tensor weights_, gradient_;
    at::Tensor raw_, gamma_, shift_;
    std::vector<Linear> project_;  ///< [span]
    Linear hidden_, out_;
};

}  // namespace

std::unique_ptr<MixClassifier> edge_of_mixture(const MixData& data, const EdgeClassifier& of, std::int64_t layers,
                                               std::uint64_t seed) {
    return std::make_unique<EdgeOfMixture>(data, of, layers, seed);
}

}  // namespace headlight::corpus
