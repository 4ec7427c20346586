// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/copy_suppression.h"

#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/analyze/traces.h"
#include "tests/support/hand_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace headlight::analyze {
namespace copy_suppression_test {

TEST(CopySuppression, AHeadThatOnlySuppressesIsWhollyExplained) {
    HandModel hand;
    hand.q = [](std::int64_t r, std::int64_t c) { return r == c ? 30.0F : 0.0F; };
    // Attends to its own token and writes the negative of what it reads: the model, whose only other guess is the token it
    // just read, is kept from repeating it.
    hand.o = [](std::int64_t r, std::int64_t c) { return r == c ? -0.1F : 0.0F; };
    const auto trace = trace::run(hand.load(), letters(), {.text = "a c e g i b d f"});
    ASSERT_EQ(trace->tokens(), 8);
    const std::vector<SuppressedPair> pairs = suppressed_pairs(*trace, std::nullopt);
    ASSERT_EQ(pairs.size(), 7U) << "row 0 is left out";
    for (const SuppressedPair& p : pairs) {
        EXPECT_EQ(p.source, p.destination);
        EXPECT_GT(p.attention, 0.99);
        EXPECT_EQ(p.predicted_rank, 0);
        EXPECT_EQ(p.rank, 0);
        EXPECT_LT(p.logit_change, 0);
        EXPECT_NEAR(p.pair_logit_change, p.logit_change, 1e-3);
    }
    const SuppressionExplained e = suppression_explained(*trace, head_id(0, 0));
    EXPECT_EQ(e.pairs, 7);
    EXPECT_EQ(e.share_bottom_10, 1);
    EXPECT_EQ(e.share_bottom_5pc, 1);
    EXPECT_GT(e.kl_ablated, 1e-3);
    EXPECT_GT(e.explained, 0.999);
}

TEST(CopySuppression, AHeadThatCopiesIsNotExplained) {
    HandModel hand;
    hand.q = [](std::int64_t r, std::int64_t c) { return r == c ? 30.0F : 0.0F; };
    hand.o = [](std::int64_t r, std::int64_t c) { return r == c ? 0.1F : 0.0F; };
    const auto trace = trace::run(hand.load(), letters(), {.text = "a c e g i b d f"});
    for (const SuppressedPair& p : suppressed_pairs(*trace, head_id(0, 0))) {
        EXPECT_EQ(p.rank, 11) << "of all tokens the least suppressed";
        EXPECT_GT(p.logit_change, 0);
    }
    const SuppressionExplained e = suppression_explained(*trace, head_id(0, 0));
    EXPECT_EQ(e.share_bottom_10, 0);
    EXPECT_NEAR(e.explained, 0, 1e-6) << "nothing of it is kept";
}

TEST(CopySuppression, AgreesWithNumPy) {
    const auto golden = io::read_json(source_folder() / "tests/golden/copy_suppression.json");
    ASSERT_EQ(golden.size(), 2U);
    for (const auto& [name, of] : golden.items()) {
        const TracePtr trace =
            run_model(source_folder() / (name == "novella-7m" ? "models" : "tests/fixtures/models") / name, of["text"]);
        for (const auto& e : of["heads"]) {
            const HeadId id = head_id(e["layer"], e["head"]);
            SCOPED_TRACE(name + " L" + e["layer"].dump() + "H" + e["head"].dump());
            const std::vector<SuppressedPair> pairs = suppressed_pairs(*trace, id);
            ASSERT_EQ(pairs.size(), e["pairs"].size());
            for (std::size_t k = 0; k < pairs.size(); ++k) {
                const auto& row = e["pairs"][k];
                EXPECT_EQ(pairs[k].destination.value, row[0].get<std::int64_t>());
                EXPECT_EQ(pairs[k].source.value, row[1].get<std::int64_t>());
                EXPECT_NEAR(pairs[k].attention, row[2].get<double>(), 1e-4);
                EXPECT_NEAR(pairs[k].predicted_rank, row[3].get<double>(), 1);
                EXPECT_NEAR(pairs[k].logit_change, row[4].get<double>(), 1e-4);
                EXPECT_NEAR(pairs[k].rank, row[5].get<double>(), 2);
                EXPECT_NEAR(pairs[k].pair_logit_change, row[6].get<double>(), 1e-4);
            }
            const SuppressionExplained found = suppression_explained(*trace, id);
            EXPECT_NEAR(found.kl_preserved, e["kl_preserved"].get<double>(), 1e-4 * std::max(1e-3, found.kl_preserved));
            EXPECT_NEAR(found.kl_ablated, e["kl_ablated"].get<double>(), 1e-4 * std::max(1e-3, found.kl_ablated));
        }
    }
}

TEST(CopySuppression, SaysWhyNot) {
    for (const char* name : {"bert", "bert-mlm"}) {
        const TracePtr trace = run_model(source_folder() / "tests/fixtures/models" / name, "The cats asked.");
        EXPECT_THROW(suppressed_pairs(*trace, std::nullopt), Error);
        EXPECT_THROW(suppression_explained(*trace, head_id(0, 0)), Error);
    }
    const TracePtr trace = built_in(doctor);
    EXPECT_THROW(suppressed_pairs(*trace, head_id(6, 0)), Error);
    EXPECT_TRUE(suppressed_pairs(*trace, std::nullopt, {.threshold = 1.0}).empty());
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(suppressed_pairs(*trace, std::nullopt, {}, cancel), Cancelled);
    const TracePtr one = trace::run(trace->model(), trace->tokenizer(), {.text = "a", .pair = {}, .add_special_tokens = false});
    EXPECT_TRUE(suppressed_pairs(*one, std::nullopt).empty());
    EXPECT_TRUE(std::isnan(suppression_explained(*one, head_id(0, 0)).explained));
}

}  // namespace copy_suppression_test
}  // namespace headlight::analyze
