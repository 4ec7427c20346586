// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of a head as docs/measures.md defines them, over a whole pattern, with nothing clever.
#pragma once

#include "headlight/trace/trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace headlight::trace::testing_support {

struct Example {
    std::vector<std::int64_t> ids;
    std::vector<bool> special;
    std::vector<float> pattern;  ///< [T, T]
    bool causal = true;
    std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
    double p(std::int64_t i, std::int64_t j) const {
        return static_cast<double>(pattern[static_cast<std::size_t>(i * tokens() + j)]);
    }
};

/// methods.md's formulas, one by one, over the whole matrix.
inline HeadSummary naive_summary(const Example& e) {
    const std::int64_t n = e.tokens(), row0 = e.causal ? 1 : 0;
    HeadSummary s;
    double rows = 0, repeats = 0;
    for (std::int64_t i = row0; i < n; ++i) {
        rows += 1;
        double top1 = -1, top2 = -1;
        std::int64_t argmax = -1;
        bool repeat = false;
        double induction = 0, duplicate = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double p = e.p(i, j);
            if (p > 0) s.entropy -= p * std::log(p);
            s.mean_distance += p * static_cast<double>(std::abs(i - j));
            if (j == i) s.share_self += p;
            if (j == i - 1) s.share_previous += p;
            if (j == i + 1) s.share_next += p;
            if (j == 0) s.share_first += p;
            if (e.special[static_cast<std::size_t>(j)]) s.share_special += p;
            if (p > top1) {
                top2 = top1;
                top1 = p;
                argmax = j;
            } else if (p > top2) {
                top2 = p;
            }
            if (i > 0) s.max_weight = std::max(s.max_weight, p);
            const auto id = [&](std::int64_t k) { return e.ids[static_cast<std::size_t>(k)]; };
            if (j < i && id(j) == id(i)) {
                repeat = true;
                duplicate += p;
            }
            if (j > 0 && j - 1 < i && id(j - 1) == id(i)) induction += p;
        }
        s.top1_minus_top2 += top1 - top2;
        s.argmax_self += argmax == i ? 1 : 0;
        s.argmax_first += argmax == 0 ? 1 : 0;
        if (repeat) {
            repeats += 1;
            s.induction += induction;
            s.duplicate_token += duplicate;
        }
    }
    for (double* x : {&s.entropy, &s.mean_distance, &s.share_self, &s.share_previous, &s.share_next, &s.share_first,
                      &s.share_special, &s.top1_minus_top2, &s.argmax_self, &s.argmax_first})
        *x /= rows;
    s.induction /= repeats;
    s.duplicate_token /= repeats;
    return s;
}

inline void expect_equal(const HeadSummary& a, const HeadSummary& b, double tolerance) {
    EXPECT_NEAR(a.entropy, b.entropy, tolerance);
    EXPECT_NEAR(a.mean_distance, b.mean_distance, tolerance * 100);
    EXPECT_NEAR(a.share_self, b.share_self, tolerance);
    EXPECT_NEAR(a.share_previous, b.share_previous, tolerance);
    EXPECT_NEAR(a.share_next, b.share_next, tolerance);
    EXPECT_NEAR(a.share_first, b.share_first, tolerance);
    EXPECT_NEAR(a.share_special, b.share_special, tolerance);
    EXPECT_NEAR(a.top1_minus_top2, b.top1_minus_top2, tolerance);
    EXPECT_NEAR(a.argmax_self, b.argmax_self, tolerance);
    EXPECT_NEAR(a.argmax_first, b.argmax_first, tolerance);
    EXPECT_NEAR(a.max_weight, b.max_weight, tolerance);
    EXPECT_NEAR(a.induction, b.induction, tolerance);
    EXPECT_NEAR(a.duplicate_token, b.duplicate_token, tolerance);
}

}  // namespace headlight::trace::testing_support
