// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/detector.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/base/error.h"

#include <cmath>
#include <unordered_map>

namespace headlight::analyze {

Matrix detection_pattern(HeadKind kind, const std::vector<std::int64_t>& ids) {
    const auto n = static_cast<Eigen::Index>(ids.size());
    Matrix pattern = Matrix::Zero(n, n);
    std::unordered_map<std::int64_t, std::vector<Eigen::Index>> seen;
    for (Eigen::Index i = 0; i < n; ++i) {
        if (kind == HeadKind::previous_token) {
            if (i > 0) pattern(i, i - 1) = 1;
            continue;
        }
        std::vector<Eigen::Index>& copies = seen[ids[static_cast<std::size_t>(i)]];
        for (const Eigen::Index j : copies) pattern(i, kind == HeadKind::induction ? j + 1 : j) = 1;
        copies.push_back(i);
    }
    return pattern;
}

double detector_score(const Matrix& pattern, const Matrix& detection, const DetectorOptions& options) {
    const Eigen::Index n = pattern.rows();
    if (pattern.cols() != n || detection.rows() != n || detection.cols() != n)
        throw Error({.problem = "A pattern and what it is compared with must be square and of one size",
                     .expected = std::to_string(n) + " x " + std::to_string(n),
                     .found = std::to_string(detection.rows()) + " x " + std::to_string(detection.cols())});
    double hits = 0, all = 0, differences = 0;
    for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = 0; j < n; ++j) {
            if ((options.exclude_first && j == 0) || (options.exclude_current && j == i)) continue;
            const auto a = static_cast<double>(pattern(i, j)), d = static_cast<double>(detection(i, j));
            all += a;
            hits += a * d;
            differences += std::abs(a - d);
        }
    if (options.measure == DetectorMeasure::abs) return n > 0 ? 1 - differences / static_cast<double>(n) : kNaN;
    return all > 0 ? hits / all : kNaN;
}

Eigen::MatrixXd detector_scores(const trace::Trace& trace, HeadKind kind, const DetectorOptions& options) {
    require_own_text(trace, "A detector of previous, duplicate and induction heads");
    const Matrix detection = detection_pattern(kind, trace.encoding().ids);
    Eigen::MatrixXd scores(trace.config().n_layers, trace.config().n_heads);
    for (Eigen::Index layer = 0; layer < scores.rows(); ++layer)
        for (Eigen::Index head = 0; head < scores.cols(); ++head)
            scores(layer, head) = detector_score(pattern(trace, {Layer(layer), Head(head)}, {}), detection, options);
    return scores;
}

}  // namespace headlight::analyze
