// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that begin at the first other token of a text against whole runs, on every fixture that reads text.
#include "headlight/trace/shared_rows.h"
#include "headlight/trace/edited.h"
#include "headlight/trace/remade.h"
#include "tests/support/case_name.h"
#include "tests/support/memory_budget.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace headlight::trace {
namespace shared_rows_test {

using model::Hook;
using model::HookPoint;
using namespace testing_support;

constexpr double kTolerance = 1e-9;  // in float64: other shapes of products are all that differs

struct OpenedInFloat64 : Opened {
    explicit OpenedInFloat64(const std::string& name) : Opened(fixtures() / name, model::ComputeType::float64) {}

    std::shared_ptr<const Trace> run_ids(std::vector<std::int64_t> ids, const std::shared_ptr<const Trace>& earlier,
                                         const CapturePlan& plan = {}) const {
        Prompt prompt;
        prompt.ids = std::move(ids);
        prompt.add_special_tokens = false;
        return run_after(earlier, model, tokenizer, prompt, plan);
    }
    /// Ids that the embedding has, `tokens` of them.
    std::vector<std::int64_t> ids(std::int64_t tokens) const {
        return some_ids(tokens, std::min<std::int64_t>(model->config().vocab_size, 60));
    }
};

double apart(const at::Tensor& a, const at::Tensor& b) {
    const double scale = std::max(1.0, b.abs().max().item<double>());
    return (a - b).abs().max().item<double>() / scale;
}

void expect_close(const Trace& made, const Trace& whole, double tolerance) {
    EXPECT_EQ(made.kept(), whole.kept());
    std::vector<HookPoint> points = whole.kept();
    for (std::int64_t l = 0; l < whole.config().n_layers; ++l) points.push_back({Hook::pattern, Layer(l)});
    for (const HookPoint& point : points) {
        ASSERT_TRUE(made.has(point)) << name_of(point);
        const at::Tensor a = tensor(made, point), b = tensor(whole, point);
        ASSERT_TRUE(a.sizes() == b.sizes()) << name_of(point);
        EXPECT_LE(apart(a, b), tolerance) << name_of(point);
    }
    for (std::int64_t l = 0; l < whole.config().n_layers; ++l)
        for (std::int64_t h = 0; h < whole.config().n_heads; ++h) {
            const auto &a = made.pooled(Layer(l), Head(h)), &b = whole.pooled(Layer(l), Head(h));
            ASSERT_EQ(a.rows, b.rows);
            for (std::size_t i = 0; i < b.mean.size(); ++i) {
                EXPECT_NEAR(a.mean[i], b.mean[i], 1e-6);
                EXPECT_NEAR(a.max[i], b.max[i], 1e-6);
            }
        }
}

class SharedRowsFamilies : public testing::TestWithParam<std::string> {};

/// A text that grows by one token and by four, one whose end changes, one that is cut, and one cut and continued elsewhere.
TEST_P(SharedRowsFamilies, GiveWhatAWholeRunGives) {
    const OpenedInFloat64 opened(GetParam());
    const model::ModelConfig& c = opened.model->config();
    if (c.stack != model::Stack::whole || !c.causal) GTEST_SKIP() << "rows of such a model depend on later tokens";
    const std::vector<std::int64_t> all = opened.ids(40);
    const auto first = [&](std::int64_t n) { return std::vector<std::int64_t>(all.begin(), all.begin() + n); };
    const auto earlier = opened.run_ids(first(36), nullptr);
    std::vector<std::int64_t> other = first(38);
    other[34] = (other[34] + 1) % 60;
    struct Case {
        std::vector<std::int64_t> ids;
        std::int64_t shared;
    };
    const bool stays = c.rope.scaling != model::RopeScaling::dynamic;
    for (const Case& each : {Case{first(37), 36}, {first(40), 36}, {other, 34}, {first(35), 34}}) {
        SCOPED_TRACE(each.ids.size());
        const auto made = opened.run_ids(each.ids, earlier);
        EXPECT_EQ(shared_rows_of(*made), stays ? each.shared : 0);
        expect_close(*made, *opened.run_ids(each.ids, nullptr), kTolerance);
    }
    const test::Budget none;  // streams alone are kept, and layers remade from them
    const auto streams = opened.run_ids(first(36), nullptr);
    EXPECT_TRUE(remade_now(*streams).any);
    const auto made = opened.run_ids(first(39), streams);
    EXPECT_EQ(shared_rows_of(*made), stays ? 36 : 0);
    const auto again = opened.run_ids(first(40), made);
    EXPECT_EQ(shared_rows_of(*again), stays ? 39 : 0);
    expect_close(*again, *opened.run_ids(first(40), nullptr), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(EveryFixture, SharedRowsFamilies, testing::ValuesIn(text_fixtures()),
                         [](const auto& p) { return test::case_name(p.param); });

/// Longrope turns by other factors from a length on: keys of the shorter text are none of the longer one.
TEST(SharedRows, OfATextAcrossTheBorderOfItsRotationAreNotUsed) {
    const OpenedInFloat64 opened("models/phi3");
    ASSERT_LT(opened.model->config().rope.original_context, 36);
    const auto earlier = opened.run_ids(opened.ids(36), nullptr);
    EXPECT_EQ(shared_rows_of(*opened.run_ids(opened.ids(38), earlier)), 36);
}

TEST(SharedRows, AreNoneOfAnEditedRunAnotherModelOrAShortText) {
    const OpenedInFloat64 opened("models/llama-kv2"), other("models/llama-mha");
    const auto ids = opened.ids(40);
    const auto earlier = opened.run_ids({ids.begin(), ids.end() - 4}, nullptr);
    EXPECT_EQ(shared_rows_of(*opened.run_ids(ids, earlier)), 36);
    EXPECT_EQ(shared_rows_of(*other.run_ids(ids, earlier)), 0);
    EXPECT_EQ(shared_rows_of(*opened.run_ids({ids.begin(), ids.begin() + 20}, earlier)), 0);
    std::vector<std::int64_t> another = ids;
    another[3] = (another[3] + 1) % 60;
    EXPECT_EQ(shared_rows_of(*opened.run_ids(another, earlier)), 0);
    EXPECT_EQ(shared_rows_of(*opened.run_ids(ids, earlier, {.globs = {"*hook_pattern", "*hook_result"}})), 36);
    EXPECT_EQ(shared_rows_of(*opened.run_ids(ids, earlier, CapturePlan::everything())), 0)
        << "which the earlier run did not keep";
    Prompt prompt;
    prompt.ids = {ids.begin(), ids.end() - 4};
    prompt.add_special_tokens = false;
    const Intervention half{"blocks.0.attn.hook_z", [](HookPoint, const at::Tensor& t) { return t * 0.5; }};
    const auto edited = run_edited(opened.model, opened.tokenizer, prompt, {}, {half}, {.words = {"an edit"}});
    EXPECT_EQ(shared_rows_of(*opened.run_ids(ids, edited)), 0);
    prompt.ids = ids;
    EXPECT_EQ(shared_rows_of(*run_edited(opened.model, opened.tokenizer, prompt, {}, {half}, {}, {}, {}, earlier)), 0);
}

/// The same in the window's type, with the tokens of a text that is typed on: its last word was cut into other tokens.
TEST(SharedRows, OfATextWhoseLastWordGrows) {
    const Novella& novella = Novella::get();
    std::string text;
    for (int i = 0; i < 8; ++i) text += kSentence + std::string(" ");
    text += "The hou";
    const auto earlier = novella.run(text);
    const auto of = [&](const std::shared_ptr<const Trace>& from) {
        return run_after(from, novella.model, novella.tokenizer, {.text = text + "ses were"}, {});
    };
    const auto made = of(earlier);
    EXPECT_GT(shared_rows_of(*made), earlier->tokens() - 4);
    EXPECT_LT(shared_rows_of(*made), earlier->tokens());
    expect_close(*made, *of(nullptr), 2e-5);
}

}  // namespace shared_rows_test
}  // namespace headlight::trace
