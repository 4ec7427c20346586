// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of a head as docs/measures.md defines them, over a whole pattern, with nothing clever.
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/model/config.h"
#include "headlight/text/tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace headlight::analyze::testing_support {

using Measures = std::map<std::string, double>;  ///< by id

struct Example {
    std::vector<std::int64_t> ids;
    std::vector<bool> special;
    std::vector<float> pattern;  ///< [T, T]
    bool causal = true;
    text::Punctuation punctuation;
    std::int64_t window = 0;               ///< 0: no limit
    std::vector<float> value_norms;        ///< empty: not known
    std::vector<std::int64_t> sequence{};  ///< of a pair
    std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
    double p(std::int64_t i, std::int64_t j) const {
        return static_cast<double>(pattern[static_cast<std::size_t>(i * tokens() + j)]);
    }
};

/// Is (query, key) a pair that a head of that kind attends to?
inline bool is_pair(const Example& e, const std::string& kind, std::int64_t i, std::int64_t j) {
    if (j < 0 || i < (e.causal ? 1 : 0) || !model::legal_keys(i, e.tokens(), e.causal, e.window).has(j)) return false;
    if (kind == "previous") return j == i - 1;
    const std::int64_t copy = kind == "induction" ? j - 1 : j;
    const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
    return copy >= 0 && copy < i && e.ids[at(copy)] == e.ids[at(i)] && !e.special[at(i)];
}

/// The weight on such pairs minus the means of what others give the same key and the same distance.
inline double naive_excess(const Example& e, const std::string& kind) {
    const std::int64_t n = e.tokens();
    double sum = 0, queries = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        bool any = false;
        for (std::int64_t j = 0; j <= i; ++j) {
            if (!is_pair(e, kind, i, j)) continue;
            double of_key = 0, keys = 0, of_distance = 0, distances = 0;
            for (std::int64_t k = e.causal ? 1 : 0; k < n; ++k) {
                const model::KeyRange legal = model::legal_keys(k, n, e.causal, e.window);
                if (k != j && legal.has(j) && !is_pair(e, kind, k, j)) of_key += e.p(k, j), keys += 1;
                const std::int64_t there = k - (i - j);
                if (there >= 0 && legal.has(there) && !is_pair(e, kind, k, there)) of_distance += e.p(k, there), distances += 1;
            }
            if (keys == 0 || (kind != "previous" && distances == 0)) continue;
            any = true;
            sum += e.p(i, j) - of_key / keys - (kind == "previous" ? 0 : of_distance / distances);
        }
        queries += any ? 1 : 0;
    }
    return queries > 0 ? sum / queries : std::nan("");
}

/// The formulas of docs/measures.md, one by one, over the whole matrix.
inline Measures naive_measures(const Example& e, bool with_first_row = false) {
    const std::int64_t n = e.tokens(), row0 = e.causal && !with_first_row ? 1 : 0;
    const bool framed = !e.causal && e.special[0];
    Measures s, with_more;
    double rows = 0, repeats = 0, with_previous = 0, with_two = 0, sep_rows = 0, weighted = 0;
    const auto flag = [](const std::vector<bool>& flags, std::int64_t j) {
        return !flags.empty() && flags[static_cast<std::size_t>(j)];
    };
    for (const float norm : e.value_norms) s["value_norm"] += static_cast<double>(norm) / static_cast<double>(n);
    for (std::int64_t i = row0; i < n; ++i) {
        rows += 1;
        double top1 = -1, top2 = -1;
        std::int64_t argmax = -1;
        bool repeat = false;
        const model::KeyRange keys = model::legal_keys(i, n, e.causal, e.window);
        const std::int64_t legal = keys.count();
        double scaled = 0, to_sep = 0, smoothed = 0, to_special = 0;
        double induction = 0, duplicate = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double p = e.p(i, j);
            if (p > 0) s["entropy"] -= p * std::log(p);
            const double q = 0.9999 * p + 0.0001 / static_cast<double>(legal);
            if (keys.has(j)) smoothed -= q * std::log(q);
            if (flag(e.punctuation.period_or_comma, j)) s["share_punctuation"] += p;
            if (flag(e.punctuation.any, j)) s["share_any_punctuation"] += p;
            const double norm = e.value_norms.empty() ? 0.0 : static_cast<double>(e.value_norms[static_cast<std::size_t>(j)]);
            scaled += p * norm;
            if (flag(e.special, j)) to_special += p * norm;
            if (flag(e.special, j) && !(framed && j == 0)) to_sep += p;
            s["mean_distance"] += p * static_cast<double>(std::abs(i - j));
            if (j == i) s["share_self"] += p;
            if (j == i - 1) s["share_previous"] += p;
            if (j == i + 1) s["share_next"] += p;
            if (j == 0) s["share_first"] += p;
            if (e.special[static_cast<std::size_t>(j)]) s["share_special"] += p;
            if (p > top1) {
                top2 = top1;
                top1 = p;
                argmax = j;
            } else if (p > top2) {
                top2 = p;
            }
            if (i > 0) s["max_weight"] = std::max(s["max_weight"], p);
            const auto id = [&](std::int64_t k) { return e.ids[static_cast<std::size_t>(k)]; };
            if (j < i && id(j) == id(i)) {
                repeat = true;
                duplicate += p;
            }
            if (j > 0 && j - 1 < i && id(j - 1) == id(i)) induction += p;
        }
        s["entropy_smoothed"] += smoothed;
        s["entropy_uniform"] += std::log(static_cast<double>(legal));
        if (i == 0) s["entropy_cls"] = smoothed;
        if (i > 0) {
            with_previous += 1;
            s["previous_token"] += e.p(i, i - 1);
        }
        if (legal > 1) {
            with_two += 1;
            s["top1_minus_top2"] += top1 - top2;
        }
        s["share_same_token"] += duplicate;
        for (const std::int64_t last : {64, 512}) {
            if (i + 1 - last <= keys.first) continue;
            const std::string id = "share_last_" + std::to_string(last);
            with_more[id] += 1;
            for (std::int64_t j = 0; j < last; ++j) s[id] += e.p(i, i - j);
        }
        if (!e.sequence.empty() && e.sequence[static_cast<std::size_t>(i)] >= 0) {
            double others = 0, weight = 0;
            for (std::int64_t j = keys.first; j < keys.last; ++j)
                if (e.sequence[static_cast<std::size_t>(j)] == 1 - e.sequence[static_cast<std::size_t>(i)])
                    others += 1, weight += e.p(i, j);
            with_more["share_other_sentence"] += others > 0 ? 1 : 0;
            s["share_other_sentence"] += weight;
        }
        s["weighted_value_norm"] += scaled;
        if (scaled > 0) {
            const auto norm = [&](std::int64_t j) { return static_cast<double>(e.value_norms[static_cast<std::size_t>(j)]); };
            weighted += 1;
            s["vw_share_first"] += e.p(i, 0) * norm(0) / scaled;
            s["vw_share_self"] += e.p(i, i) * norm(i) / scaled;
            s["vw_share_special"] += to_special / scaled;
        }
        s["share_sep"] += to_sep;
        if (flag(e.special, i) && !(framed && i == 0)) {
            sep_rows += 1;
            s["sep_to_sep"] += to_sep;
        }
        s["argmax_self"] += argmax == i ? 1 : 0;
        s["argmax_first"] += argmax == 0 ? 1 : 0;
        if (repeat) {
            repeats += 1;
            s["induction"] += induction;
            s["duplicate_token"] += duplicate;
        }
    }
    const double nan = std::nan("");
    for (const char* id : {"share_last_64", "share_last_512", "share_other_sentence"})
        s[id] = with_more[id] > 0 ? s[id] / with_more[id] : nan;
    s["share_cls"] = framed ? s["share_first"] : nan;
    s["entropy_cls"] = framed ? s["entropy_cls"] : nan;
    if (e.causal || sep_rows == 0) {
        s["share_sep"] = s["sep_to_sep"] = s["other_to_sep"] = nan;
    } else {
        s["other_to_sep"] = (s["share_sep"] - s["sep_to_sep"]) / (rows - sep_rows);
        s["sep_to_sep"] /= sep_rows;
    }
    if (e.value_norms.empty()) s["value_norm"] = s["weighted_value_norm"] = nan;
    for (double* x : {&s["entropy"], &s["entropy_smoothed"], &s["entropy_uniform"], &s["mean_distance"], &s["share_self"],
                      &s["share_previous"], &s["share_next"], &s["share_first"], &s["share_special"], &s["share_punctuation"],
                      &s["share_any_punctuation"], &s["share_same_token"], &s["argmax_self"], &s["argmax_first"], &s["share_cls"],
                      &s["share_sep"], &s["weighted_value_norm"]})
        *x /= rows;
    s["top1_minus_top2"] /= with_two;
    s["previous_token"] /= with_previous;
    s["induction"] /= repeats;
    s["duplicate_token"] /= repeats;
    for (double* x : {&s["vw_share_first"], &s["vw_share_self"], &s["vw_share_special"]}) *x /= weighted;
    for (const char* kind : {"induction", "duplicate", "previous"}) s[std::string(kind) + "_excess"] = naive_excess(e, kind);
    return s;
}

/// Gaps must be gaps in both.
inline void expect_equal(const std::vector<double>& found, const Measures& expected, double tolerance) {
    const std::vector<MeasureInfo>& measures = head_measures();
    ASSERT_EQ(found.size(), measures.size());
    for (std::size_t m = 0; m < measures.size(); ++m) {
        const std::string& id = measures[m].id;
        if (id == "variability" || id.starts_with("update_") || id.starts_with("probe_") || id.starts_with("qk_")) continue;
        ASSERT_TRUE(expected.contains(id)) << id;
        if (std::isnan(expected.at(id)))
            EXPECT_TRUE(std::isnan(found[m])) << id;
        else
            EXPECT_NEAR(found[m], expected.at(id), tolerance * std::max(id == "mean_distance" ? 100.0 : 1.0, expected.at(id)))
                << id;
    }
}

}  // namespace headlight::analyze::testing_support
