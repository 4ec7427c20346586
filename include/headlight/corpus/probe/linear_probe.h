// SPDX-License-Identifier: GPL-3.0-or-later
// Linear probes: softmax regression from states to labels (Alain & Bengio 2016). The objective is convex, so its optimum does
// not depend on the solver: mean cross entropy in nats + penalty / 2 * |W|^2 over standardised features, biases free. The
// optimum is that of scikit-learn's LogisticRegression with C = 1 / (penalty * examples).
#pragma once

#include "headlight/base/job.h"

#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headlight::corpus {

/// [example, feature]
using ProbeRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The scale of a training set: subtracting `mean` and multiplying by `factor` standardises its features; a constant feature
/// has factor 0.
struct FeatureScale {
    Eigen::VectorXd mean, factor;  ///< [feature]
    std::int64_t constant = 0;     ///< features without variance
};

/// A fitted probe. It applies to states as they are, not to standardised ones.
struct LinearProbe {
    Eigen::MatrixXd weights;  ///< [class, feature]: the direction of each class
    Eigen::VectorXd biases;   ///< [class]
    double penalty = 0;
    double objective = 0;    ///< at the end, over the standardised features
    double gradient = 0;     ///< its largest derivative there
    std::int64_t steps = 0;  ///< evaluations of the objective
    /// Natural logarithms of the probabilities, [example, class].
    Eigen::MatrixXd log_probabilities(const ProbeRows&) const;
};

struct FitOptions {
    double penalty = 1e-3;
    bool penalise_biases = false;  ///< for training sets without some of the classes: their biases would go to -infinity
    double tolerance = 1e-6;       ///< of the largest derivative
    std::int64_t most_steps = 2000;
};

/// A training set prepared for several fits: standardised, and rotated onto its principal components, where few steps of L-BFGS
/// suffice (the penalty does not change under rotations).
class TrainingSet {
public:
    /// Error for fewer than two examples, or a value that is not finite.
    explicit TrainingSet(const ProbeRows&);
    ~TrainingSet();
    TrainingSet(TrainingSet&&) noexcept;
    TrainingSet& operator=(TrainingSet&&) noexcept;

    std::int64_t examples() const noexcept;
    const FeatureScale& scale() const noexcept;
    /// Fits labels (0 to classes - 1) to the first labels.size() examples, from `start` if it is given. The same bits on any
    /// number of threads.
    LinearProbe fit(std::span<const std::int32_t> labels, std::int64_t classes, const FitOptions& = {},
                    const LinearProbe* start = nullptr, const CancelToken& = {}) const;

private:
    struct Prepared;
    std::unique_ptr<Prepared> prepared_;
};

/// The most probable class of each row; ties go to the first.
std::vector<std::int32_t> predictions(const Eigen::MatrixXd& log_probabilities);
double mean_cross_entropy(const Eigen::MatrixXd& log_probabilities, std::span<const std::int32_t> labels);

/// The path of penalties, from the strongest on, each fit from the last one's result; the one with the smallest cross entropy
/// on the development set is then fitted to the tolerance. Stops when the cross entropy rises.
struct PenaltyPath {
    std::vector<double> penalties{1e-1, 1e-2, 1e-3, 1e-4, 1e-5};
    double tolerance = 3e-4;  ///< of the path's fits
};
struct ChosenProbe {
    LinearProbe probe;
    std::vector<double> tried, cross_entropies;  ///< of the development set
};
ChosenProbe fit_on_path(const TrainingSet&, std::span<const std::int32_t> labels, std::int64_t classes,
                        const ProbeRows& development, std::span<const std::int32_t> development_labels, const PenaltyPath& = {},
                        const FitOptions& = {}, const CancelToken& = {});

}  // namespace headlight::corpus
