// SPDX-License-Identifier: GPL-3.0-or-later
// Edited versions of a text in shared, shortened passes against passes of their own, in every family.
#include "headlight/trace/variants.h"

#include "headlight/base/error.h"
#include "headlight/trace/replay.h"
#include "tests/support/case_name.h"
#include "tests/trace/text_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace headlight::trace {
namespace variants_test {

using model::Hook;
using model::HookPoint;
using namespace testing_support;

bool is_square(Hook hook) {
    return hook == Hook::attn_scores || hook == Hook::pattern || hook == Hook::cross_scores || hook == Hook::cross_pattern ||
           model::is_score_term(hook) || hook == Hook::sink;
}

/// Changes every number from a position on, each position by an amount of its own.
Edit nudge(HookPoint point, std::int64_t first) {
    return {point, first, [=](HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                const std::int64_t axis = is_square(point.hook) ? 1 : 0, n = rows.size(axis);
                at::Tensor changed = rows.clone();
                for (std::int64_t i = std::max<std::int64_t>(first - first_row, 0); i < n; ++i) {
                    const at::Tensor row = changed.select(axis, i);
                    row.copy_(row * (0.7 + 0.05 * static_cast<double>(i + first_row)) + (is_square(point.hook) ? 0.0 : 0.02));
                }
                return changed;
            }};
}

at::Tensor replayed(const model::Model& model, const TokenIds& tokens, const Variant& v) {
    std::vector<Intervention> hooks;
    for (const Edit& edit : v.edits)
        hooks.push_back({name_of(edit.point, model.config()),
                         [&edit](HookPoint point, const at::Tensor& t) { return edit.fn(point, t, 0); }});
    TokenIds ids = tokens;
    if (!v.ids.empty()) ids.ids = v.ids;
    return replay(model, ids, hooks);
}

std::vector<at::Tensor> logits_of(const Variants& text, const std::vector<Variant>& variants) {
    std::vector<at::Tensor> found(variants.size());
    text.run(variants, [&](std::int64_t i, const at::Tensor& logits) {
        EXPECT_FALSE(found[static_cast<std::size_t>(i)].defined()) << "twice";
        found[static_cast<std::size_t>(i)] = logits.clone();
    });
    return found;
}

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

class EveryFamilyVariants : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryFamilyVariants, AreTheirOwnPasses) {
    for (const auto type : {model::ComputeType::float64, model::ComputeType::float32}) {
        const auto model = model::Model::load(GetParam(), {.dtype = type});
        const model::ModelConfig& c = model->config();
        if (!c.has_unembedding) continue;
        const TokenIds tokens = some_input(*model);
        const auto count = std::ssize(tokens.ids);
        const bool wide = type == model::ComputeType::float64;
        std::vector<Variant> variants;
        std::vector<std::string> names;
        const auto add = [&](std::string name, Variant v) {
            names.push_back(std::move(name));
            variants.push_back(std::move(v));
        };
        for (const HookPoint point : model::hooks_of(c)) {
            if (point.hook == Hook::logits || (point.layer.value != 0 && point.layer.value != c.n_layers - 1)) continue;
            // The rows of the source, and classes that a picture is read as, are on other axes.
            if (point.hook == Hook::cross_k || point.hook == Hook::cross_v) continue;
            if (!wide && !can_batch(point.hook)) continue;
            add(name_of(point, c) + " from 4", {.edits = {nudge(point, 4)}});
            if (wide && can_batch(point.hook) && point.layer.value == 0)
                add(name_of(point, c) + " from 0", {.edits = {nudge(point, 0)}});
        }
        add("three edits", {.edits = {nudge({Hook::z, Layer(c.n_layers - 1)}, 6), nudge({Hook::k, Layer(0)}, 3),
                                      nudge({Hook::k, Layer(0)}, 5)}});
        add("nothing", {});
        if (!tokens.pixels) {
            Variant other{.ids = tokens.ids, .edits = {nudge({Hook::mlp_out, Layer(c.n_layers - 1)}, 2)}};
            other.ids[5] = (other.ids[5] + 3) % c.vocab_size;
            add("another token", other);
        }
        const Variants all(model, tokens, {}), last(model, tokens, {.first = count - 2, .last = count - 1, .columns = {3, 1}});
        const at::Tensor usual = replay(*model, tokens);
        const double size = std::max(1.0, usual.abs().max().item<double>()), allowed = size * (wide ? 1e-6 : 1e-5);
        EXPECT_LE(difference(all.logits(), usual), allowed);
        const std::vector<at::Tensor> rows = logits_of(all, variants), one = logits_of(last, variants);
        for (std::size_t i = 0; i < variants.size(); ++i) {
            SCOPED_TRACE(names[i]);
            ASSERT_TRUE(rows[i].defined() && one[i].defined());
            const at::Tensor expected = replayed(*model, tokens, variants[i]);
            EXPECT_LE(difference(rows[i], expected), allowed);
            const at::Tensor row = expected.select(0, count - 2);
            EXPECT_LE(std::abs((one[i][0][0] - row[3]).item<double>()), allowed);
            EXPECT_LE(std::abs((one[i][0][1] - row[1]).item<double>()), allowed);
            // An edit that does nothing proves nothing; the numbers above would be right without the machinery.
            if (names[i] == "three edits") {
                EXPECT_GT(difference(expected, usual), 1e3 * allowed / size);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamilyVariants,
                         testing::ValuesIn(fixture_folders({"models", "encoder_decoders"}, "config.json")),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

TEST(Variants, OrderAndSizeOfPassesChangeNothing) {
    for (const char* name : {"gpt2", "llama-kv2", "bert-mlm"}) {
        SCOPED_TRACE(name);
        const auto model = model::Model::load(fixtures() / "models" / name, {.dtype = model::ComputeType::float64});
        const TokenIds tokens = some_input(*model);
        std::vector<Variant> variants;
        for (std::int64_t l = 0; l < model->config().n_layers; ++l)
            for (std::int64_t p = 0; p < 9; ++p)
                for (const Hook hook : {Hook::z, Hook::pattern, Hook::resid_mid})
                    variants.push_back({.edits = {nudge({hook, Layer(l)}, p)}});
        const Variants together(model, tokens, {.first = 8}), alone(model, tokens, {.first = 8, .memory = 1});
        const std::vector<at::Tensor> expected = logits_of(together, variants), single = logits_of(alone, variants);
        std::vector<Variant> backwards(variants.rbegin(), variants.rend());
        const std::vector<at::Tensor> reversed = logits_of(together, backwards);
        for (std::size_t i = 0; i < variants.size(); ++i) {
            EXPECT_LE(difference(single[i], expected[i]), 1e-12);
            EXPECT_LE(difference(reversed[variants.size() - 1 - i], expected[i]), 1e-12);
        }
    }
}

TEST(Variants, RowsBeforeAnEditAreTheTextsOwnBitForBit) {
    const auto model = model::Model::load(fixtures() / "models/gpt2");
    const TokenIds tokens = some_input(*model);
    const Variants text(model, tokens, {});
    for (const at::Tensor& logits : logits_of(text, {{.edits = {nudge({Hook::v, Layer(0)}, 6)}}})) {
        EXPECT_TRUE(at::equal(logits.narrow(0, 0, 6), text.logits().narrow(0, 0, 6)));
        EXPECT_GT(difference(logits[6], text.logits()[6]), 0);
    }
}

TEST(Variants, CostFallsWithLayerAndPosition) {
    const auto model = model::Model::load(fixtures() / "models/gpt2");
    const std::int64_t layers = model->config().n_layers;
    const Variants text(model, some_input(*model), {.first = 7, .last = 8});
    EXPECT_EQ(text.cost({.edits = {nudge({Hook::z, Layer(0)}, 0)}}), layers * 8);
    EXPECT_EQ(text.cost({.edits = {nudge({Hook::z, Layer(1)}, 5)}}), (layers - 1) * 3);
    EXPECT_EQ(text.cost({.edits = {nudge({Hook::embed, Layer(0)}, 8)}}), text.whole_cost());
}

TEST(Variants, ErrorsNameWhatIsWrong) {
    const auto model = model::Model::load(fixtures() / "models/gpt2");
    const TokenIds tokens = some_input(*model);
    EXPECT_THROW(Variants(model, tokens, {.first = 3, .last = 10}), Error);
    EXPECT_THROW(Variants(model, tokens, {.columns = {1'000'000}}), Error);
    const Variants text(model, tokens, {});
    EXPECT_THROW(text.run({{.edits = {nudge({Hook::router, Layer(0)}, 0)}}}, [](auto, const auto&) {}), Error);
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(text.run(
                     {{.edits = {nudge({Hook::z, Layer(0)}, 0)}}}, [](auto, const auto&) {}, cancel),
                 Cancelled);
}

}  // namespace variants_test
}  // namespace headlight::trace
