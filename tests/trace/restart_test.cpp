// SPDX-License-Identifier: GPL-3.0-or-later
// Edited runs that begin in the middle of the unedited one, against whole runs: bit for bit, whatever the model.
#include "headlight/trace/edited.h"
#include "headlight/trace/remade.h"
#include "tests/support/case_name.h"
#include "tests/support/memory_budget.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace headlight::trace {
namespace restart_test {

using model::Hook;
using model::HookPoint;
using model::Stack;
using namespace testing_support;

void expect_same(const Trace& made, const Trace& whole) {
    EXPECT_EQ(made.kept(), whole.kept());
    for (const HookPoint& point : whole.kept()) {
        ASSERT_TRUE(made.has(point)) << name_of(point);
        const at::Tensor a = tensor(made, point), b = tensor(whole, point);
        EXPECT_TRUE(a.sizes() == b.sizes() && at::equal(a, b)) << name_of(point);
    }
    for (std::int64_t l = 0; l < whole.config().n_layers; ++l)
        for (std::int64_t h = 0; h < whole.config().n_heads; ++h)
            EXPECT_EQ(made.pooled(Layer(l), Head(h)).mean, whole.pooled(Layer(l), Head(h)).mean);
}

struct Prompted : Opened {
    explicit Prompted(const std::string& name) : Opened(fixtures() / name) {
        if (model->part(Stack::encoder)) prompt.pair = "die alte Katze";
    }
    Prompt prompt{.text = "the nurse asked the old nurse"};

    std::shared_ptr<const Trace> edited(const std::string& glob, const std::shared_ptr<const Trace>& unedited) const {
        const Intervention change{glob, [](HookPoint, const at::Tensor& t) { return t * 1.5; }};
        return run_edited(model, tokenizer, prompt, {}, {change}, {.words = {"an edit"}}, {}, {}, unedited);
    }
    void compare(const std::string& glob, const std::shared_ptr<const Trace>& unedited) const {
        SCOPED_TRACE(glob);
        const auto whole = edited(glob, nullptr), made = edited(glob, unedited);
        expect_same(*made, *whole);
        for (const Stack stack : {Stack::encoder, Stack::cross})
            if (const auto& part = whole->part(stack)) expect_same(*made->part(stack), *part);
    }
};

class RestartFamilies : public testing::TestWithParam<std::string> {};

TEST_P(RestartFamilies, GivesWhatAWholeRunGives) {
    const Prompted opened(GetParam());
    const auto unedited = run(opened.model, opened.tokenizer, opened.prompt);
    const bool two = opened.model->part(Stack::encoder) != nullptr;
    const std::int64_t last = opened.model->config().n_layers - 1;
    for (const std::int64_t l : {std::int64_t{0}, last}) {
        const std::string block = (two ? "decoder.blocks." : "blocks.") + std::to_string(l);
        opened.compare(block + ".attn.hook_z", unedited);
        opened.compare(block + ".attn.hook_pattern", unedited);
        opened.compare(block + ".hook_mlp_out", unedited);
        if (two) opened.compare(block + ".cross_attn.hook_z", unedited);
    }
    if (two) opened.compare("encoder.blocks.1.hook_attn_out", unedited);
    const test::Budget none;
    const auto streams = run(opened.model, opened.tokenizer, opened.prompt);
    opened.compare((two ? "decoder.blocks." : "blocks.") + std::to_string(last) + ".attn.hook_z", streams);
}

INSTANTIATE_TEST_SUITE_P(EveryFixture, RestartFamilies, testing::ValuesIn(text_fixtures()),
                         [](const auto& p) { return test::case_name(p.param); });

/// The same decoder's text behind another source, of which the typed text is the same: only what a template adds differs.
TEST(Restart, SharesNothingBehindAnotherSource) {
    Prompted opened("encoder_decoders/t5");
    const auto unedited = run(opened.model, opened.tokenizer, opened.prompt);
    opened.prompt.add_special_tokens = false;
    const auto other = run(opened.model, opened.tokenizer, opened.prompt);
    ASSERT_EQ(other->encoding().ids, unedited->encoding().ids);
    ASSERT_NE(other->part(Stack::encoder)->encoding().ids, unedited->part(Stack::encoder)->encoding().ids);
    opened.compare("decoder.blocks.1.hook_mlp_out", unedited);
}

Intervention half(const std::string& glob) {
    return {glob, [](HookPoint, const at::Tensor& t) { return t * 0.5; }};
}

TEST(Restart, SharesLayersBeforeTheEditAndNoOthers) {
    const Novella& novella = Novella::get();
    const auto unedited = novella.run(kSentence);
    const auto made = run_edited(novella.model, novella.tokenizer, {.text = kSentence}, {}, {half("blocks.2.attn.hook_z")}, {},
                                 {}, {}, unedited);
    const auto shares = [&](HookPoint point) { return tensor(*made, point).data_ptr() == tensor(*unedited, point).data_ptr(); };
    EXPECT_TRUE(shares({Hook::z, Layer(1)}));
    EXPECT_TRUE(shares({Hook::resid_pre, Layer(2)}) || shares({Hook::resid_post, Layer(1)}));
    EXPECT_FALSE(shares({Hook::z, Layer(2)}));
    EXPECT_LT(made->bytes(), unedited->bytes());
}

TEST(Restart, EditsAroundTheLayersAreThoseOfAWholeRun) {
    const Novella& novella = Novella::get();
    const auto unedited = novella.run(kSentence);
    for (const char* glob : {"hook_embed", "ln_final.hook_normalized"}) {
        SCOPED_TRACE(glob);
        const auto of = [&](const std::shared_ptr<const Trace>& from) {
            return run_edited(novella.model, novella.tokenizer, {.text = kSentence}, {}, {half(glob)}, {}, {}, {}, from);
        };
        expect_same(*of(unedited), *of(nullptr));
    }
}

/// A run of another text, or one that is edited itself, is no beginning.
TEST(Restart, ForeignRunsAreNotUsed) {
    const Novella& novella = Novella::get();
    const auto of = [&](const std::shared_ptr<const Trace>& from) {
        return run_edited(novella.model, novella.tokenizer, {.text = kSentence}, {}, {half("blocks.3.attn.hook_z")},
                          {.words = {"an edit"}}, {}, {}, from);
    };
    const auto whole = of(nullptr);
    expect_same(*of(novella.run("Once upon a midnight dreary")), *whole);
    const auto changed = run_edited(novella.model, novella.tokenizer, {.text = kSentence}, {}, {half("blocks.0.attn.hook_z")},
                                    {.words = {"another edit"}});
    expect_same(*of(changed), *whole);
}

}  // namespace restart_test
}  // namespace headlight::trace
