// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/linear_probe.h"

#include "headlight/base/eigenvectors.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <LBFGS.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace headlight::corpus {
namespace {

/// Rows that are computed together: they fit the second-level cache, and sums over blocks do not depend on the threads.
constexpr std::int64_t kProbeRows = 1024;
/// Small sets are fitted in double precision, which costs nothing there.
constexpr std::int64_t kSmallSet = std::int64_t{1} << 22;
constexpr double kSmallestVariance = 1e-12;  // relative to the square of the mean

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

at::Tensor tensor_of(const RowMajor& m) {
    return at::from_blob(const_cast<double*>(m.data()), {m.rows(), m.cols()}, at::kDouble);
}

/// Thrown at the optimum, or where no step comes nearer: LBFGS++ tests only the length of the gradient of its own, scaled
/// parameters.
struct AtOptimum {};

/// What the optimiser sees: weights [class, feature] divided by `factor`, and biases divided by `bias_factor` behind them.
class Objective {
public:
    Objective(const at::Tensor& rows, const at::Tensor& labels, const RowMajor& factor, const Eigen::VectorXd& bias_factor,
              const FitOptions& options, const CancelToken& cancel)
        : rows_(rows),
          labels_(labels),
          factor_(factor),
          bias_factor_(bias_factor),
          classes_(factor.rows()),
          options_(options),
          cancel_(cancel) {}

    RowMajor weights(const Eigen::VectorXd& x) const {
        return Eigen::Map<const RowMajor>(x.data(), classes_, factor_.cols()).cwiseProduct(factor_);
    }
    Eigen::VectorXd biases(const Eigen::VectorXd& x) const { return x.tail(classes_).cwiseProduct(bias_factor_); }

    double operator()(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
        cancel_.throw_if_cancelled();
        const RowMajor w = weights(x);
        const Eigen::VectorXd b = biases(x);
        const at::Tensor wt = tensor_of(w).to(rows_.scalar_type()).t();
        const at::Tensor bias = at::from_blob(const_cast<double*>(b.data()), {classes_}, at::kDouble).to(rows_.scalar_type());
        const std::int64_t n = rows_.size(0), blocks = (n + kProbeRows - 1) / kProbeRows;
        std::vector<at::Tensor> weight_parts(static_cast<std::size_t>(blocks)), bias_parts(weight_parts);
        std::vector<double> losses(weight_parts.size());
        at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
            const at::NoGradGuard no_grad;
            for (std::int64_t block = first; block < last; ++block) {
                const std::int64_t begin = block * kProbeRows, count = std::min(kProbeRows, n - begin);
                const at::Tensor of = rows_.narrow(0, begin, count), label = labels_.narrow(0, begin, count).unsqueeze(1);
                const at::Tensor log_p = at::log_softmax(at::addmm(bias, of, wt), 1);
                const auto at_block = static_cast<std::size_t>(block);
                losses[at_block] = -log_p.gather(1, label).sum(at::kDouble).item<double>();
                at::Tensor p = log_p.exp();
                p.scatter_add_(1, label, at::full_like(label, -1, p.options()));
                weight_parts[at_block] = at::mm(p.t(), of);
                bias_parts[at_block] = p.sum(0, false, at::kDouble);
            }
        });
        const double scale = 1 / static_cast<double>(n);
        double loss = 0;
        RowMajor dw = RowMajor::Zero(classes_, factor_.cols());
        Eigen::VectorXd db = Eigen::VectorXd::Zero(classes_);
        const at::Tensor sum = tensor_of(dw), bias_sum = at::from_blob(db.data(), {classes_}, at::kDouble);
        for (std::size_t block = 0; block < losses.size(); ++block) {
            loss += losses[block];
            sum.add_(weight_parts[block]);
            bias_sum.add_(bias_parts[block]);
        }
        dw = dw * scale + options_.penalty * w;
        db *= scale;
        double value = loss * scale + options_.penalty / 2 * w.squaredNorm();
        if (options_.penalise_biases) {
            db += options_.penalty * b;
            value += options_.penalty / 2 * b.squaredNorm();
        }
        const double steepest = std::max(dw.cwiseAbs().maxCoeff(), db.cwiseAbs().maxCoeff());
        gradient.resize(x.size());
        Eigen::Map<RowMajor>(gradient.data(), classes_, factor_.cols()) = dw.cwiseProduct(factor_);
        gradient.tail(classes_) = db.cwiseProduct(bias_factor_);
        ++evaluations_;
        if (value < best_value_) best_value_ = value, best_gradient_ = steepest, best_ = x;
        // Once the precision of the states hides the gradient, the solver may step to infinity and stay there.
        if (steepest <= options_.tolerance || !std::isfinite(value)) throw AtOptimum{};
        return value;
    }

    const Eigen::VectorXd& best() const { return best_; }
    double best_value() const { return best_value_; }
    double best_gradient() const { return best_gradient_; }
    std::int64_t evaluations() const { return evaluations_; }

private:
    const at::Tensor& rows_;
    const at::Tensor& labels_;
    const RowMajor& factor_;
    const Eigen::VectorXd& bias_factor_;
    std::int64_t classes_;
    const FitOptions& options_;
    const CancelToken& cancel_;
    Eigen::VectorXd best_;
    std::int64_t evaluations_ = 0;
    double best_value_ = std::numeric_limits<double>::infinity(), best_gradient_ = kNaN;
};

}  // namespace

struct TrainingSet::Prepared {
    FeatureScale scale;
    RowMajor components;        ///< [component, feature], of the standardised features
    Eigen::VectorXd variances;  ///< [component]
    at::Tensor rows;            ///< [example, component]
};

TrainingSet::TrainingSet(const ProbeRows& states) : prepared_(std::make_unique<Prepared>()) {
    const std::int64_t n = states.rows(), d = states.cols();
    if (n < 2) throw Error({.problem = "A probe needs more examples", .expected = "at least 2", .found = std::to_string(n)});
    const at::NoGradGuard no_grad;
    const at::Tensor given = at::from_blob(const_cast<float*>(states.data()), {n, d}, at::kFloat);
    if (!given.isfinite().all().item<bool>())
        throw Error({.problem = "A state is not finite",
                     .expected = "finite numbers",
                     .found = "NaN or infinity",
                     .hint = "Run the model with --dtype float32"});
    FeatureScale& scale = prepared_->scale;
    const at::Tensor mean = given.mean(0, false, at::kDouble);
    // Rows less their mean before squaring: large constants in a feature would cancel.
    const at::Tensor type_mean = mean.to(at::kFloat);
    at::Tensor rows = given - type_mean;
    const at::Tensor rest = rows.mean(0, false, at::kDouble),
                     variance = rows.square().mean(0, false, at::kDouble) - rest.square();
    scale.mean = Eigen::Map<const Eigen::VectorXf>(type_mean.contiguous().data_ptr<float>(), d).cast<double>() +
                 Eigen::Map<const Eigen::VectorXd>(rest.contiguous().data_ptr<double>(), d);
    scale.factor.resize(d);
    const double* v = variance.contiguous().data_ptr<double>();
    for (std::int64_t f = 0; f < d; ++f) {
        const bool constant = !(v[f] > kSmallestVariance * (scale.mean[f] * scale.mean[f] + kSmallestVariance));
        scale.constant += constant;
        scale.factor[f] = constant ? 0 : 1 / std::sqrt(v[f]);
    }
    const bool small = n * d <= kSmallSet;
    const at::ScalarType type = small ? at::kDouble : at::kFloat;
    rows = ((rows.to(type) - rest.to(type)) * at::from_blob(scale.factor.data(), {d}, at::kDouble).to(type)).contiguous();
    // Products of blocks, summed in their order: the same bits on any number of threads.
    const std::int64_t blocks = (n + kProbeRows - 1) / kProbeRows;
    const auto each_block = [&](const auto& work) {
        at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
            const at::NoGradGuard no_gradient;
            for (std::int64_t block = first; block < last; ++block)
                work(block, rows.narrow(0, block * kProbeRows, std::min(kProbeRows, n - block * kProbeRows)));
        });
    };
    std::vector<at::Tensor> products(static_cast<std::size_t>(blocks)), rotated(products);
    each_block([&](std::int64_t block, const at::Tensor& of) { products[static_cast<std::size_t>(block)] = at::mm(of.t(), of); });
    RowMajor covariance = RowMajor::Zero(d, d);
    for (const at::Tensor& product : products) tensor_of(covariance).add_(product);
    const auto [values, vectors] = eigenvectors_of(covariance / static_cast<double>(n));
    prepared_->components = vectors.transpose();
    prepared_->variances = values.cwiseMax(0);
    const at::Tensor onto = tensor_of(prepared_->components).to(type).t();
    each_block([&](std::int64_t block, const at::Tensor& of) { rotated[static_cast<std::size_t>(block)] = at::mm(of, onto); });
    prepared_->rows = at::cat(rotated);
}
TrainingSet::~TrainingSet() = default;
TrainingSet::TrainingSet(TrainingSet&&) noexcept = default;
TrainingSet& TrainingSet::operator=(TrainingSet&&) noexcept = default;

std::int64_t TrainingSet::examples() const noexcept { return prepared_->rows.size(0); }
const FeatureScale& TrainingSet::scale() const noexcept { return prepared_->scale; }

LinearProbe TrainingSet::fit(std::span<const std::int32_t> labels, std::int64_t classes, const FitOptions& options,
                             const LinearProbe* start, const CancelToken& cancel) const {
    const auto n = std::ssize(labels), d = prepared_->rows.size(1);
    if (n < 1 || n > examples() || classes < 1 ||
        std::ranges::any_of(labels, [&](std::int32_t label) { return label < 0 || label >= classes; }))
        throw Error({.problem = "The labels of a probe do not fit its examples",
                     .expected = "at most " + std::to_string(examples()) + " labels below " + std::to_string(classes),
                     .found = std::to_string(n) + " labels"});
    const at::NoGradGuard no_grad;
    const at::Tensor rows = prepared_->rows.narrow(0, 0, n),
                     wanted = at::tensor(at::ArrayRef<std::int32_t>(labels.data(), labels.size()), at::kInt).to(at::kLong);
    // The curvature along a class's weight of a component is about p (1 - p) times its variance, p being the class's share. With
    // the roots of these as units all directions are alike to the optimiser.
    Eigen::VectorXd share = Eigen::VectorXd::Constant(classes, 1.0 / static_cast<double>(n));
    for (const std::int32_t label : labels) share[label] += 1.0 / static_cast<double>(n);
    const Eigen::VectorXd curvature = (share.array() * (1 - share.array()).max(0.01));
    const RowMajor factor = ((curvature * prepared_->variances.transpose()).array() + options.penalty).rsqrt();
    const Eigen::VectorXd bias_factor = (curvature.array() + (options.penalise_biases ? options.penalty : 0)).rsqrt();
    Objective objective(rows, wanted, factor, bias_factor, options, cancel);

    Eigen::VectorXd x = Eigen::VectorXd::Zero(classes * (d + 1));
    const Eigen::VectorXd& mean = prepared_->scale.mean;
    if (start) {
        // Undo the standardisation, the rotation and the optimiser's scale.
        const Eigen::VectorXd deviation = prepared_->scale.factor.unaryExpr([](double f) { return f > 0 ? 1 / f : 0; });
        const RowMajor rotated = start->weights * deviation.asDiagonal() * prepared_->components.transpose();
        Eigen::Map<RowMajor>(x.data(), classes, d) = rotated.cwiseQuotient(factor);
        x.tail(classes) = (start->biases + start->weights * mean).cwiseQuotient(bias_factor);
    }
    LBFGSpp::LBFGSParam<double> parameters;
    parameters.m = 10;
    parameters.epsilon = parameters.epsilon_rel = 0;
    // Where the precision of the states hides the gradient, the objective stands still.
    parameters.past = 10;
    parameters.delta = rows.scalar_type() == at::kDouble ? 1e-15 : 1e-8;
    parameters.max_iterations = static_cast<int>(options.most_steps);
    parameters.linesearch = LBFGSpp::LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
    LBFGSpp::LBFGSSolver<double, LBFGSpp::LineSearchNocedalWright> solver(parameters);
    double value = 0;
    try {
        solver.minimize(objective, x, value);
    } catch (const AtOptimum&) {
    } catch (const std::runtime_error&) {
        // The line search finds no smaller value: also a matter of precision.
    } catch (const std::logic_error&) {
        // As before: LBFGS++ reports the same as either.
    }
    LinearProbe probe;
    probe.steps = objective.evaluations();
    const RowMajor weights = objective.weights(objective.best()) * prepared_->components * prepared_->scale.factor.asDiagonal();
    probe.weights = weights;
    probe.biases = objective.biases(objective.best()) - weights * mean;
    probe.penalty = options.penalty;
    probe.objective = objective.best_value();
    probe.gradient = objective.best_gradient();
    return probe;
}

Eigen::MatrixXd LinearProbe::log_probabilities(const ProbeRows& states) const {
    const at::NoGradGuard no_grad;
    const RowMajor w = weights;
    const at::Tensor rows = at::from_blob(const_cast<float*>(states.data()), {states.rows(), states.cols()}, at::kFloat),
                     bias = at::from_blob(const_cast<double*>(biases.data()), {biases.size()}, at::kDouble),
                     wt = tensor_of(w).t();
    RowMajor out(states.rows(), weights.rows());
    // A thousand rows at a time: a copy of all states in double precision can be large.
    for (std::int64_t begin = 0; begin < states.rows(); begin += kProbeRows) {
        const std::int64_t count = std::min(kProbeRows, states.rows() - begin);
        const at::Tensor log_p =
            at::log_softmax(at::addmm(bias, rows.narrow(0, begin, count).to(at::kDouble), wt), 1).contiguous();
        out.middleRows(begin, count) = Eigen::Map<const RowMajor>(log_p.data_ptr<double>(), count, weights.rows());
    }
    return out;
}

std::vector<std::int32_t> predictions(const Eigen::MatrixXd& log_probabilities) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(log_probabilities.rows()));
    for (Eigen::Index i = 0; i < log_probabilities.rows(); ++i) {
        Eigen::Index best = 0;
        log_probabilities.row(i).maxCoeff(&best);
        out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(best);
    }
    return out;
}

double mean_cross_entropy(const Eigen::MatrixXd& log_probabilities, std::span<const std::int32_t> labels) {
    double sum = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) sum -= log_probabilities(static_cast<Eigen::Index>(i), labels[i]);
    return sum / static_cast<double>(labels.size());
}

ChosenProbe fit_on_path(const TrainingSet& train, std::span<const std::int32_t> labels, std::int64_t classes,
                        const ProbeRows& development, std::span<const std::int32_t> development_labels, const PenaltyPath& path,
                        const FitOptions& options, const CancelToken& cancel) {
    ChosenProbe chosen;
    LinearProbe last, best;
    double smallest = std::numeric_limits<double>::infinity();
    for (const double penalty : path.penalties) {
        FitOptions fit = options;
        fit.penalty = penalty;
        fit.tolerance = std::max(path.tolerance, options.tolerance);
        last = train.fit(labels, classes, fit, chosen.tried.empty() ? nullptr : &last, cancel);
        const double entropy = mean_cross_entropy(last.log_probabilities(development), development_labels);
        chosen.tried.push_back(penalty);
        chosen.cross_entropies.push_back(entropy);
        if (entropy < smallest) {
            smallest = entropy;
            best = last;
        } else {
            break;
        }
    }
    FitOptions fit = options;
    fit.penalty = best.penalty;
    chosen.probe = train.fit(labels, classes, fit, &best, cancel);
    return chosen;
}

}  // namespace headlight::corpus
