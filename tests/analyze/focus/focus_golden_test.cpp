// SPDX-License-Identifier: GPL-3.0-or-later
// Against tests/golden/focus/*.json: Hugging Face transformers and NumPy in float64 (make_focus_golden.py).
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/io/json_file.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace headlight::analyze {
namespace focus_golden_test {

using nlohmann::json;

void expect_number(double found, const json& expected, const std::string& what) {
    if (expected.is_null()) {
        EXPECT_TRUE(std::isnan(found)) << what << " should not exist, is " << found;
        return;
    }
    EXPECT_NEAR(found, expected.get<double>(), 1e-4 * std::max(1.0, std::abs(expected.get<double>()))) << what;
}

void check_breakdown(const TracePtr& trace, const json& e) {
    const FocusBreakdown found =
        focus_breakdown(std::array{trace}, head_id(e["layer"], e["head"]), e["sort_idx"].get<std::int64_t>());
    ASSERT_EQ(found.keys.size(), e["rows"].size());
    for (std::size_t i = 0; i < found.keys.size(); ++i) {
        const json& row = e["rows"][i];
        const auto at = static_cast<Eigen::Index>(i);
        const std::string where = "L" + e["layer"].dump() + "H" + e["head"].dump() + " query " + std::to_string(i);
        if (row.is_null()) {
            EXPECT_EQ(found.keys[i], -1) << where;
            continue;
        }
        ASSERT_EQ(found.keys[i], row[0].get<std::int64_t>()) << where;
        for (Eigen::Index t = 0; t < 3; ++t)
            expect_number(found.terms(at, t), row[static_cast<std::size_t>(t) + 1], where + " term " + std::to_string(t));
        expect_number(found.score[at], row[4], where + " score");
        expect_number(found.probability[at], row[5], where + " probability");
    }
}

void expect_table(const Eigen::MatrixXd& found, const json& expected, const std::string& what) {
    ASSERT_EQ(static_cast<std::size_t>(found.rows()), expected.size()) << what;
    for (Eigen::Index i = 0; i < found.rows(); ++i) {
        const json& row = expected[static_cast<std::size_t>(i)];
        ASSERT_LE(row.size(), static_cast<std::size_t>(found.cols())) << what;
        for (std::size_t j = 0; j < row.size(); ++j)
            expect_number(found(i, static_cast<Eigen::Index>(j)), row[j],
                          what + " " + std::to_string(i) + ", " + std::to_string(j));
    }
}

class FocusGolden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(FocusGolden, AgreesWithTheReference) {
    const auto file = source_folder() / "tests/golden/focus" / (GetParam().filename().string() + ".json");
    ASSERT_TRUE(std::filesystem::exists(file)) << "make it with tests/golden/make_focus_golden.py";
    const json golden = io::read_json(file);
    const TracePtr trace = run_model(GetParam(), golden["text"]);
    ASSERT_EQ(trace->encoding().ids, golden["ids"].get<std::vector<std::int64_t>>());
    for (const json& e : golden["breakdowns"]) check_breakdown(trace, e);
    for (const json& e : golden["updates"]) {
        const Layer layer(e["layer"].get<std::int64_t>());
        const FocusUpdates found = focus_updates(std::array{trace}, layer);
        ASSERT_EQ(static_cast<std::size_t>(found.entries()), e["magnitude"][0].size());
        expect_table(found.magnitude, e["magnitude"], "magnitude");
        expect_table(found.orientation, e["orientation"], "orientation");
        expect_table(found.on_first.cast<double>(), e["on_first"], "on_first");
        expect_table(focus_updates(std::array{trace}, layer, {.literal = true}).magnitude, e["literal"], "literal");
    }
    expect_table(rollout(*trace).maps.back().cast<double>(), golden["rollout"], "rollout");
    expect_table(rollout(*trace, {.head = Head(0)}).maps[1].cast<double>(), golden["head_rollout"], "rollout of a head");
    const Matrix flow = attention_flow(*trace).maps.back();
    for (const auto& [query, row] : golden["flow"].items())
        expect_table(flow.row(std::stol(query)).cast<double>(), json::array({row}), "flow of query " + query);
}

INSTANTIATE_TEST_SUITE_P(Models, FocusGolden, testing::ValuesIn(folders_with_golden("focus")), model_name);

}  // namespace focus_golden_test
}  // namespace headlight::analyze
