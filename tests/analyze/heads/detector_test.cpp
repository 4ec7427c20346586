// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/detector.h"
#include "headlight/base/error.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::analyze {
namespace detector_test {

const std::vector<std::int64_t> ids = {5, 6, 5, 6};

Matrix example() {
    return (Matrix(4, 4) << 1, 0, 0, 0, 0.5F, 0.5F, 0, 0, 0.2F, 0.3F, 0.5F, 0, 0.1F, 0.15F, 0.5F, 0.25F).finished();
}

TEST(Detector, PatternsOfKnownHeads) {
    const Matrix previous = detection_pattern(HeadKind::previous_token, ids);
    EXPECT_EQ(previous, (Matrix(4, 4) << 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0).finished());
    const Matrix duplicate = detection_pattern(HeadKind::duplicate_token, ids);
    EXPECT_EQ(duplicate, (Matrix(4, 4) << 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0).finished());
    const Matrix induction = detection_pattern(HeadKind::induction, ids);
    EXPECT_EQ(induction, (Matrix(4, 4) << 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0).finished());
    EXPECT_EQ(detection_pattern(HeadKind::induction, {}).size(), 0);
}

TEST(Detector, MulAndAbsOfTheKnownExample) {
    const Matrix previous = detection_pattern(HeadKind::previous_token, ids);
    EXPECT_NEAR(detector_score(example(), previous), 0.325, 1e-7);
    EXPECT_NEAR(detector_score(example(), previous, {.measure = DetectorMeasure::abs}), -0.1, 1e-7);
    EXPECT_NEAR(detector_score(previous, previous, {.measure = DetectorMeasure::abs}), 1, 1e-12);
    EXPECT_NEAR(detector_score(previous, previous), 1, 1e-12);
}

TEST(Detector, ExcludedAttentionIsInNeitherSum) {
    const Matrix previous = detection_pattern(HeadKind::previous_token, ids);
    EXPECT_NEAR(detector_score(example(), previous, {.exclude_first = true}), 0.8 / 2.2, 1e-7);
    EXPECT_NEAR(detector_score(example(), previous, {.exclude_current = true}), 1.3 / 1.75, 1e-7);
    EXPECT_NEAR(detector_score(example(), previous, {.measure = DetectorMeasure::abs, .exclude_first = true}),
                1 - (0.5 + 1.2 + 0.9) / 4, 1e-6);
    const Matrix one = Matrix::Ones(1, 1);
    EXPECT_TRUE(std::isnan(detector_score(one, Matrix::Zero(1, 1), {.exclude_first = true})));
    EXPECT_THROW(detector_score(example(), Matrix::Zero(3, 3)), Error);
}

TEST(Detector, OfATraceIsThatOfItsPatterns) {
    const TracePtr trace = built_in(doctor);
    const Matrix induction = detection_pattern(HeadKind::induction, trace->encoding().ids);
    const Eigen::MatrixXd scores = detector_scores(*trace, HeadKind::induction);
    for (const HeadId id : {head_id(0, 0), head_id(4, 5), head_id(5, 7)}) {
        const Matrix map = pattern(*trace, id, {});
        const double expected = static_cast<double>(map.cwiseProduct(induction).sum() / map.sum());
        EXPECT_NEAR(scores(id.layer.value, id.head.value), expected, 1e-6);
    }
}

}  // namespace detector_test
}  // namespace headlight::analyze
