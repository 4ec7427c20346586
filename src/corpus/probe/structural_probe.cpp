// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/structural_probe.h"

#include "corpus/probe/adam.h"
#include "corpus/probe/structural_loss.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/one_thread.h"
#include "headlight/model/same_products.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

at::Tensor rows_of(const StateRows& states, std::int64_t first, std::int64_t count) {
    return at::from_blob(const_cast<float*>(states.data()) + first * states.cols(), {count, states.cols()},
                         at::TensorOptions(at::kFloat));
}

void check_sentence(const StateRows& states, const TreeSentence& sentence) {
    if (sentence.first < 0 || sentence.first + sentence.words() > states.rows())
        throw Error({.problem = "A sentence has words without states",
                     .expected = "rows below " + std::to_string(states.rows()),
                     .found = std::to_string(sentence.first) + " to " + std::to_string(sentence.first + sentence.words())});
}

/// The sentences of a part, without those that have no words.
class TreePart {
public:
    TreePart(const StateRows& states, std::span<const TreeSentence> sentences, const std::string& name) : states_(states) {
        for (const TreeSentence& sentence : sentences) {
            check_sentence(states, sentence);
            if (sentence.words() == 0) continue;
            if (!at::isfinite(rows_of(states, sentence.first, sentence.words())).all().item<bool>())
                throw Error({.problem = "A state of a word is not a finite number",
                             .item = "rows " + std::to_string(sentence.first) + " to " +
                                     std::to_string(sentence.first + sentence.words() - 1)});
            first_.push_back(sentence.first);
            lengths_.push_back(tree_lengths(sentence));
        }
        if (first_.empty())
            throw Error({.problem = "A structural probe needs sentences to learn from and others to stop on",
                         .item = name,
                         .found = "no sentence with words"});
    }
    std::int64_t size() const noexcept { return std::ssize(first_); }
    TreeBatch batch(std::span<const std::int64_t> members) const {
        TreeBatch out;
        std::vector<at::Tensor> rows;
        std::int64_t words = 0;
        for (const std::int64_t member : members) {
            const TreeLengths& lengths = lengths_[static_cast<std::size_t>(member)];
            out.first.push_back(words);
            out.lengths.push_back(&lengths);
            rows.push_back(rows_of(states_, first_[static_cast<std::size_t>(member)], std::ssize(lengths.depth)));
            words += std::ssize(lengths.depth);
        }
        const model::OneThread one;
        out.states = at::cat(rows);
        return out;
    }

private:
    const StateRows& states_;
    std::vector<std::int64_t> first_;
    std::vector<TreeLengths> lengths_;
};

/// A tenth of the learning rate where an epoch's loss is not below the smallest so far by a ten-thousandth of it.
class Plateau {
public:
    explicit Plateau(double rate) : rate_(rate) {}
    double rate() const noexcept { return rate_; }
    void after(double loss) noexcept {
        if (loss < best_ * (1 - 1e-4))
            best_ = loss;
        else
            rate_ *= 0.1;
    }

private:
    double rate_, best_ = std::numeric_limits<double>::infinity();
};

at::Tensor uniform_map(std::int64_t rank, std::int64_t width, std::uint64_t seed) {
    constexpr float kHalfWidth = 0.05F;
    at::Tensor b = at::empty({rank, width});
    for (std::int64_t i = 0; i < b.numel(); ++i)
        b.data_ptr<float>()[i] = kHalfWidth * (static_cast<float>(draw(seed, -1, i) >> 40) * 0x1p-23F - 1);
    return b;
}

/// Calls visit(members) for one batch after another.
template <class Visit>
void for_batches(const std::vector<std::int64_t>& order, std::int64_t size, Visit visit) {
    for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(size))
        visit(std::span(order).subspan(first, std::min(static_cast<std::size_t>(size), order.size() - first)));
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

void check_options(const StructuralOptions& options, Eigen::Index width) {
    if (options.rank < 0 || options.batch < 1 || options.epochs < 1 || !(options.learning_rate > 0) || width < 1)
        throw Error({.problem = "A structural probe needs states, sentences and epochs",
                     .expected = "a width, batches and epochs of at least 1, a rank of at least 0, a learning rate above 0",
                     .found = "width " + std::to_string(width) + ", batches of " + std::to_string(options.batch) + ", " +
                              std::to_string(options.epochs) + " epochs, rank " + std::to_string(options.rank) +
                              ", learning rate " + significant(options.learning_rate)});
}

}  // namespace

StructuralProbe fit_structural_probe(const StateRows& states, std::span<const TreeSentence> train_sentences,
                                     std::span<const TreeSentence> dev_sentences, const StructuralOptions& options,
                                     const CancelToken& cancel, const Progress& progress) {
    constexpr std::int64_t kPatience = 5;
    constexpr double kImprovement = 1e-4;
    check_options(options, states.cols());
    const at::NoGradGuard no_grad;
    const TreePart train(states, train_sentences, "train"), dev(states, dev_sentences, "dev");
    const std::int64_t rank = options.rank == 0 ? states.cols() : std::min<std::int64_t>(options.rank, states.cols());
    at::Tensor b = uniform_map(rank, states.cols(), options.seed), best = b.clone(), gradient;
    Adam adam(b);
    Plateau plateau(options.learning_rate);
    std::vector<std::int64_t> order(static_cast<std::size_t>(train.size())), of_dev(static_cast<std::size_t>(dev.size()));
    std::iota(of_dev.begin(), of_dev.end(), 0);
    StructuralProbe out{.target = options.target, .b = {}};
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
        if (progress) progress({"Fitting the structural probe", "epoch", epoch, options.epochs});
        std::iota(order.begin(), order.end(), 0);
        std::ranges::sort(order, {}, [&](std::int64_t s) { return std::pair(draw(options.seed, epoch, s), s); });
        double train_loss = 0, dev_loss = 0;
        for_batches(order, options.batch, [&](std::span<const std::int64_t> members) {
            cancel.throw_if_cancelled();
            train_loss += sum_of(structural_loss(train.batch(members), options.target, b, &gradient));
            adam.step(b, gradient, plateau.rate());
        });
        for_batches(of_dev, options.batch, [&](std::span<const std::int64_t> members) {
            cancel.throw_if_cancelled();
            dev_loss += sum_of(structural_loss(dev.batch(members), options.target, b, nullptr));
        });
        train_loss /= static_cast<double>(train.size());
        dev_loss /= static_cast<double>(dev.size());
        plateau.after(dev_loss);
        out.epochs = epoch + 1;
        if (dev_loss < least - kImprovement) {
            least = dev_loss;
            best.copy_(b);
            out.best_epoch = epoch;
            out.train_loss = train_loss;
            out.dev_loss = dev_loss;
        } else if (epoch - out.best_epoch >= kPatience) {
            break;
        }
    }
    out.b = Eigen::Map<const StructuralProbe::Matrix>(best.data_ptr<float>(), rank, states.cols());
    return out;
}

std::vector<float> StructuralProbe::predict(const StateRows& states, const TreeSentence& sentence) const {
    check_sentence(states, sentence);
    if (states.cols() != b.cols())
        throw Error({.problem = "The probe was fitted on states of another width",
                     .expected = std::to_string(b.cols()),
                     .found = std::to_string(states.cols())});
    const at::NoGradGuard no_grad;
    const model::SameProducts same;
    const at::Tensor map = at::from_blob(const_cast<float*>(b.data()), {b.rows(), b.cols()}, at::TensorOptions(at::kFloat));
    at::Tensor t = model::matrix_product(rows_of(states, sentence.first, sentence.words()), map.t());
    const model::OneThread one;
    if (target == TreeTarget::depth) {
        const at::Tensor depths = t.square().sum(1).contiguous();
        return {depths.data_ptr<float>(), depths.data_ptr<float>() + depths.numel()};
    }
    std::vector<float> out;
    for (std::int64_t w = 0; w < t.size(0); ++w) {
        const at::Tensor distances = (t - t[w]).square().sum(1).contiguous();
        out.insert(out.end(), distances.data_ptr<float>(), distances.data_ptr<float>() + distances.numel());
    }
    return out;
}

}  // namespace headlight::corpus
