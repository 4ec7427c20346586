// SPDX-License-Identifier: GPL-3.0-or-later
// Texts in one pass give the numbers that each has alone, and a pass that ends early those of a whole one.
#include "model/run/packed.h"

#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/same_products.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>

namespace headlight::model {
namespace packed_test {

/// A number of the bits at the row, whatever stands in the others.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    const at::Tensor x = a.contiguous(), y = b.contiguous();
    return x.sizes() == y.sizes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

ForwardInput text_of(const ModelConfig& c, std::int64_t n, std::int64_t shift) {
    ForwardInput input = some_text(c, n + shift);
    input.ids.erase(input.ids.begin(), input.ids.begin() + shift);
    if (!input.type_ids.empty()) input.type_ids.erase(input.type_ids.begin(), input.type_ids.begin() + shift);
    return input;
}

/// Texts of a token, of a few, of more than a tile of rows, and of more than the threads share.
std::vector<ForwardInput> texts_of(const ModelConfig& c) {
    std::vector<ForwardInput> texts;
    std::int64_t shift = 0;
    for (const std::int64_t n : {5, 1, 17, 9, 140, 2, 33})
        texts.push_back(text_of(c, c.context_length > 0 ? std::min(n, c.context_length) : n, shift++));
    return texts;
}

void run(const Model& model, const std::vector<ForwardInput>& texts, std::vector<Collector>& seen) {
    std::vector<PackedText> pack;
    for (std::size_t i = 0; i < texts.size(); ++i) pack.push_back({texts[i], seen[i]});
    forward_packed(model, pack, {}, {});
}

class PackedFamilies : public testing::TestWithParam<std::string> {};

TEST_P(PackedFamilies, EveryHookOfEveryTextIsThatOfTheTextAlone) {
    const auto model = Model::load(fixture(GetParam()), {.device = "cpu"});
    if (reads_pictures(model->config())) GTEST_SKIP() << "reads pictures";
    const std::vector<ForwardInput> texts = texts_of(model->config());
    std::vector<Collector> packed(texts.size()), whole_patterns(texts.size());
    {
        const SameProducts rows(SameProducts::Of::row);
        run(*model, texts, packed);
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        SCOPED_TRACE("text of " + std::to_string(texts[i].ids.size()) + " tokens");
        std::vector<Collector> alone(1);
        {
            const SameProducts rows(SameProducts::Of::row);
            run(*model, {texts[i]}, alone);
        }
        const Collector plain = run_all(*model, texts[i]);
        for (const HookPoint& point : hooks_of(model->config())) {
            const std::string name = name_of(point);
            ASSERT_TRUE(packed[i].tensors.contains(name)) << name;
            const at::Tensor ours = packed[i].tensors.at(name);
            ASSERT_TRUE(same_bits(ours, alone.front().tensors.at(name))) << name;
            const at::Tensor theirs = plain.tensors.at(name);
            ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
            const at::Tensor finite = at::isfinite(theirs);
            ASSERT_TRUE(at::equal(at::isfinite(ours), finite)) << name;
            const double largest = at::where(finite, theirs, at::zeros_like(theirs)).abs().max().item<double>();
            const at::Tensor difference = at::where(finite, ours - theirs, at::zeros_like(theirs));
            ASSERT_LE(difference.abs().max().item<double>(), 2e-5 * std::max(largest, 1e-3)) << name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, PackedFamilies, testing::ValuesIn(fixture_names()),
                         [](const auto& each) { return test::case_name(each.param); });

/// Tiles of every text's own patterns.
class Tiles final : public Observer {
public:
    bool wants(HookPoint) const override { return false; }
    at::Tensor visit(HookPoint, at::Tensor t) override { return t; }
    bool wants_pattern_tiles() const override { return true; }
    void pattern_tile(Layer layer, std::int64_t head0, std::int64_t row0, const at::Tensor& tile,
                      std::span<const RowLogs>) override {
        const std::lock_guard lock(mutex);
        tiles[{layer.value, head0, row0}] = tile.clone();
    }
    std::mutex mutex;
    std::map<std::array<std::int64_t, 3>, at::Tensor> tiles;
};

TEST(Packed, EachTextHasTheTilesThatItHasAloneAndThePassEndsAtThem) {
    const auto model = Model::load(fixture("mistral"), {.device = "cpu"});
    // Behind the last patterns nothing is computed.
    const_cast<Model::Internals&>(model->internals()).layers.back().o.weight = at::Tensor();
    const std::vector<ForwardInput> texts = texts_of(model->config());
    const SameProducts rows(SameProducts::Of::row);
    std::vector<Tiles> seen(texts.size());
    std::vector<PackedText> pack;
    for (std::size_t i = 0; i < texts.size(); ++i) pack.push_back({texts[i], seen[i]});
    forward_packed(*model, pack, {}, {});
    for (std::size_t i = 0; i < texts.size(); ++i) {
        Tiles alone;
        forward(*model, texts[i], alone, {}, {});
        ASSERT_EQ(seen[i].tiles.size(), alone.tiles.size());
        for (const auto& [place, tile] : alone.tiles) EXPECT_TRUE(same_bits(seen[i].tiles.at(place), tile));
    }
}

TEST(Packed, AReplacementIsOfItsOwnText) {
    const auto model = Model::load(fixture("gpt2"), {.device = "cpu"});
    const std::vector<ForwardInput> texts = texts_of(model->config());
    const SameProducts rows(SameProducts::Of::row);
    std::vector<Collector> plain(texts.size()), changed(texts.size());
    run(*model, texts, plain);
    changed[2].replace = [](HookPoint point, at::Tensor t) {
        return point == HookPoint{Hook::mlp_out, Layer(0)} ? at::zeros_like(t) : t;
    };
    run(*model, texts, changed);
    for (std::size_t i = 0; i < texts.size(); ++i)
        EXPECT_EQ(same_bits(plain[i].tensors.at("logits"), changed[i].tensors.at("logits")), i != 2);
}

TEST(Packed, ErrorsNameThePositionInTheirText) {
    const auto model = Model::load(fixture("gpt2"), {.device = "cpu"});
    const std::vector<ForwardInput> texts = texts_of(model->config());
    std::vector<Collector> seen(texts.size());
    seen[2].replace = [](HookPoint point, at::Tensor t) {
        if (!(point == HookPoint{Hook::mlp_out, Layer(0)})) return t;
        at::Tensor bad = t.clone();
        bad[7].fill_(std::numeric_limits<float>::quiet_NaN());
        return bad;
    };
    EXPECT_THAT(test::error_of([&] { run(*model, texts, seen); }), testing::HasSubstr("position 7"));
    const auto pictures = Model::load(fixture("vit"), {.device = "cpu"});
    std::vector<Collector> one(1);
    EXPECT_THROW(run(*pictures, {some_text(pictures->config(), 1)}, one), Error);
}

/// Another way for few rows, a last tile that is not full, one tile and many, any place in a tile: a row keeps its bits.
TEST(SameRows, ARowOfAProductDoesNotDependOnTheOthers) {
    if (product_library() == "LibTorch") GTEST_SKIP() << "promised of oneDNN and OpenBLAS";
    const int threads = at::get_num_threads();
    for (const auto& [inner, columns] : {std::pair<std::int64_t, std::int64_t>{96, 500}, {33, 7}, {257, 384}}) {
        const at::Tensor x = at::randn({300, inner}), w = at::randn({inner, columns}), turned = at::randn({columns, inner}).t();
        for (const at::Tensor& weight : {w, turned}) {
            const SameProducts rows(SameProducts::Of::row);
            const at::Tensor whole = matrix_product(x, weight);
            ASSERT_LE((whole - at::mm(x, weight)).abs().max().item<float>(), 1e-4F);
            const at::Tensor alike = matrix_product(x.narrow(0, 7, 1).expand({300, inner}).contiguous(), weight);
            EXPECT_TRUE(same_bits(alike, whole.narrow(0, 7, 1).expand_as(alike))) << "one row in every place";
            for (const int n : {1, 2}) {
                at::set_num_threads(n);
                for (const std::int64_t count : {1, 2, 7, 16, 17, 63, 64, 65, 128, 129, 300})
                    for (const std::int64_t first : {std::int64_t{0}, 300 - count})
                        EXPECT_TRUE(same_bits(matrix_product(x.narrow(0, first, count), weight), whole.narrow(0, first, count)))
                            << count << " rows from " << first << ", " << n << " threads";
            }
            at::set_num_threads(threads);
        }
    }
}

/// A pass that ends behind each hook gives it as the whole pass does, and visits nothing else.
TEST(EarlyEnd, WhatIsReadIsThatOfAWholePass) {
    for (const char* name : {"gpt2", "bert-mlm", "gptj", "deberta-conv", "gemma2", "qwen2-moe"}) {
        const auto model = Model::load(fixture(name), {.device = "cpu"});
        const ForwardInput input = some_text(model->config(), 6);
        const Collector whole = run_all(*model, input);
        for (const HookPoint& point : hooks_of(model->config())) {
            Collector one;
            one.wanted = [&](HookPoint each) { return each == point; };
            forward(*model, input, one, {}, {});
            ASSERT_EQ(one.tensors.size(), 1u) << name << " " << name_of(point);
            EXPECT_TRUE(same_bits(one.tensors.begin()->second, whole.tensors.at(name_of(point))))
                << name << " " << name_of(point);
        }
    }
}

TEST(EarlyEnd, NoLayerIsComputedThatNobodyReads) {
    const auto model = Model::load(fixture("gpt2"), {.device = "cpu"});
    Model::Internals& internals = const_cast<Model::Internals&>(model->internals());
    internals.layers.back().mlp_in.weight = internals.layers.back().o.weight = at::Tensor();
    const ForwardInput input = some_text(model->config(), 6);
    const auto read = [&](const HookPoint& point) {
        Collector seen;
        seen.wanted = [&](HookPoint each) { return each == point; };
        forward(*model, input, seen, {}, {});
        return seen.inputs.size();
    };
    EXPECT_EQ(read({Hook::embed, Layer(0)}), 0u);
    EXPECT_EQ(read({Hook::resid_post, Layer(0)}), 1u);
    EXPECT_EQ(read({Hook::z, Layer(1)}), 2u);
    EXPECT_ANY_THROW(read({Hook::attn_out, Layer(1)}));
}

}  // namespace packed_test
}  // namespace headlight::model
