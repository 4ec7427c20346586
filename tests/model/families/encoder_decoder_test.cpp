// SPDX-License-Identifier: GPL-3.0-or-later
// Encoder-decoder models: every hook of encoder, decoder and cross attention against Hugging Face transformers
// (tests/golden/encoder_decoders.py), and what must hold of the three whatever the numbers.
#include "headlight/base/error.h"
#include "headlight/model/generate.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/support/case_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headlight::model {
namespace encoder_decoder_test {

using testing::HasSubstr;

std::filesystem::path folder_of_pairs() { return tests_folder() / "fixtures" / "encoder_decoders"; }

std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_of_pairs()))
        found.push_back(entry.path().filename().string());
    std::ranges::sort(found);
    return found;
}

struct Expected {
    Tensors tensors;
    std::vector<std::int64_t> source, target;
};

Expected read(const std::string& name, const std::string& precision) {
    Expected e;
    e.tensors = tensors_in(tests_folder() / "golden" / "encoder_decoders" / (name + "." + precision + ".safetensors"));
    e.source = take_ids(e.tensors, "source_ids");
    e.target = take_ids(e.tensors, "ids");
    return e;
}

/// Both passes, all hooks by their full names.
struct Both {
    Tensors tensors;
    Collector encoder, decoder;
    at::Tensor states;
};

Both run(const Model& model, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target) {
    Both both;
    const Model& encoder = *model.part(Stack::encoder);
    both.states = encode(encoder, {source, {}}, both.encoder, {}, {});
    forward(model, {target, {}, both.states}, both.decoder, {}, {});
    const auto take = [&](const Collector& seen, const ModelConfig& c) {
        for (const HookPoint& point : seen.order) both.tensors[name_of(point, c)] = seen.tensors.at(name_of(point));
    };
    take(both.encoder, encoder.config());
    take(both.decoder, model.config());
    return both;
}

class EncoderDecoder : public testing::TestWithParam<std::string> {
protected:
    static std::shared_ptr<const Model> load(ComputeType type = ComputeType::float32) {
        return Model::load(folder_of_pairs() / GetParam(), {.dtype = type, .device = "cpu"});
    }
};

TEST_P(EncoderDecoder, EveryHookIsTheReferences) {
    for (const auto& [precision, type, tolerance] :
         {std::tuple("f32", ComputeType::float32, 2e-5), std::tuple("f64", ComputeType::float64, 1e-10)}) {
        const Expected expected = read(GetParam(), precision);
        const auto model = load(type);
        const Both both = run(*model, expected.source, expected.target);
        std::vector<std::string> listed;
        for (const ModelConfig* c : {&model->part(Stack::encoder)->config(), &model->config()})
            for (const HookPoint& point : hooks_of(*c)) listed.push_back(name_of(point, *c));
        for (const std::string& name : listed) {
            ASSERT_TRUE(both.tensors.contains(name)) << "the pass does not visit " << name;
            ASSERT_TRUE(expected.tensors.contains(name)) << "the golden lacks " << name;
            const at::Tensor& ours = both.tensors.at(name);
            ASSERT_EQ(ours.sizes(), expected.tensors.at(name).sizes()) << name;
            ASSERT_LE(deviation(name, ours, expected.tensors.at(name)), tolerance) << name << " in " << precision;
        }
        EXPECT_EQ(listed.size(), expected.tensors.size()) << "the golden has hooks that the model does not visit";
    }
}

TEST_P(EncoderDecoder, HooksComeInTheListedOrderAndShape) {
    const auto model = load();
    const Expected expected = read(GetParam(), "f32");
    const Both both = run(*model, expected.source, expected.target);
    const auto tokens = static_cast<std::int64_t>(expected.target.size()),
               source = static_cast<std::int64_t>(expected.source.size());
    ASSERT_NE(tokens, source) << "equal lengths prove nothing";
    const auto listed = hooks_of(model->config());
    ASSERT_EQ(both.decoder.order.size(), listed.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
        ASSERT_EQ(name_of(both.decoder.order[i]), name_of(listed[i]));
        EXPECT_EQ(both.decoder.tensors.at(name_of(listed[i])).sizes().vec(), shape_of(listed[i], model->config(), tokens, source))
            << name_of(listed[i]);
    }
}

TEST_P(EncoderDecoder, EveryReplacementTakesEffect) {
    const auto model = load();
    const Expected expected = read(GetParam(), "f32");
    const Both plain = run(*model, expected.source, expected.target);
    const auto change = [](const at::Tensor& t) {
        return t * 1.5 + at::arange(t.numel(), t.options()).sin().view(t.sizes()) * 0.1;
    };
    for (const HookPoint& point : hooks_of(model->config())) {
        const auto logits = [&](const std::function<at::Tensor(at::Tensor)>& replace) {
            Collector seen;
            seen.wanted = [&](HookPoint p) { return p == point || p.hook == Hook::logits; };
            seen.replace = [&](HookPoint p, at::Tensor t) { return p == point ? replace(t) : t; };
            forward(*model, {expected.target, {}, plain.states}, seen, {}, {});
            return seen.tensors.at("logits");
        };
        const at::Tensor before = plain.tensors.at("logits");
        EXPECT_FALSE(at::equal(logits(change), before)) << name_of(point) << " is not wired in";
        EXPECT_LE((logits([](const at::Tensor& t) { return t.clone(); }) - before).abs().max().item<double>(),
                  1e-4 * before.abs().max().item<double>())
            << name_of(point);
    }
}

TEST_P(EncoderDecoder, TheThreePartsTellTheTruthAboutThemselves) {
    const auto model = load();
    const auto& encoder = model->part(Stack::encoder);
    const auto& cross = model->part(Stack::cross);
    ASSERT_TRUE(encoder && cross);
    EXPECT_FALSE(model->part(Stack::whole));
    EXPECT_FALSE(encoder->part(Stack::encoder));
    EXPECT_FALSE(encoder->config().causal);
    EXPECT_TRUE(model->config().causal);
    EXPECT_FALSE(encoder->config().has_unembedding);
    EXPECT_EQ(cross->config().n_layers, model->config().n_layers);
    EXPECT_EQ(cross->config().n_heads, model->config().n_heads);
    EXPECT_TRUE(model->report().unused.empty()) << model->report().unused.front();
    EXPECT_EQ(encoder->hash(), model->hash());
    const std::string q = name_of({Hook::q, Layer(1)}, cross->config());
    EXPECT_EQ(q, "decoder.blocks.1.cross_attn.hook_q");
    EXPECT_TRUE(encoder->internals().embed.is_alias_of(model->internals().embed)) << "read twice";
    // Every number of the files is counted once; the only unread tensors are a table that is computed and LED's global
    // projections.
    std::int64_t stored = 0;
    const io::TensorStore store = io::TensorStore::open(folder_of_pairs() / GetParam());
    for (const auto& [name, view] : store.tensors())
        if (name.find("_global.") == std::string::npos) stored += view.numel();
    EXPECT_EQ(counted_parameters(*model), stored);
}

TEST_P(EncoderDecoder, ContinuesATargetAsThePassSays) {
    const auto model = load();
    const Expected expected = read(GetParam(), "f32");
    const Generated made = generate(*model, expected.target, {.tokens = 4, .source = expected.source});
    std::vector<std::int64_t> ids = expected.target;
    for (const std::int64_t id : made.ids) {
        const at::Tensor logits = run(*model, expected.source, ids).tensors.at("logits");
        EXPECT_EQ(logits[logits.size(0) - 1].argmax().item<std::int64_t>(), id) << "token " << ids.size();
        ids.push_back(id);
    }
    EXPECT_EQ(made.ids.size(), 4U);
}

TEST_P(EncoderDecoder, ADecoderWithoutASourceIsAnError) {
    const auto model = load();
    Collector seen;
    EXPECT_THROW(forward(*model, {{0, 3, 4}, {}}, seen, {}, {}), Error);
    EXPECT_THROW(forward(*model->part(Stack::cross), {{0, 3, 4}, {}}, seen, {}, {}), Error);
    EXPECT_THROW(generate(*model, {0, 3}, {}), Error);
    EXPECT_THROW(generate(*model->part(Stack::encoder), {0, 3}, {}), Error);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EncoderDecoder, testing::ValuesIn(names()),
                         [](const auto& each) { return test::case_name(each.param); });

/// Of a text of so many tokens.
at::Tensor bias_by_distance(const Model::Internals& m, std::int64_t layer, std::int64_t tokens) {
    return relative_bias(m, Layer(layer), distance_buckets(m, tokens));
}

TEST(RelativeBias, IsTheTableByBucketsOfDistance) {
    const auto model = Model::load(folder_of_pairs() / "t5-v1_1", {.device = "cpu"});
    const at::Tensor table = model->internals().relative_bias, bias = bias_by_distance(model->internals(), 0, 300);
    ASSERT_EQ(bias.sizes().vec(), (std::vector<std::int64_t>{2, 599}));
    const auto at_distance = [&](std::int64_t back) { return bias[1][299 - back].item<float>(); };
    const auto bucket = [&](std::int64_t b) { return table[b][1].item<float>(); };
    // 32 buckets, causal: 16 exact ones, then ln(distance / 16) / ln(8) * 16 more, up to 128.
    for (const auto& [back, which] : {std::pair(0, 0), std::pair(15, 15), std::pair(16, 16), std::pair(17, 16), std::pair(32, 21),
                                      std::pair(127, 31), std::pair(128, 31), std::pair(299, 31)})
        EXPECT_EQ(at_distance(back), bucket(which)) << back;
    const auto& encoder = model->part(Stack::encoder)->internals();
    const at::Tensor both_ways = bias_by_distance(encoder, 0, 10);
    EXPECT_EQ(both_ways[0][9].item<float>(), encoder.relative_bias[0][0].item<float>());
    EXPECT_EQ(both_ways[0][9 - 3].item<float>(), encoder.relative_bias[3][0].item<float>()) << "three behind";
    EXPECT_EQ(both_ways[0][9 + 3].item<float>(), encoder.relative_bias[16 + 3][0].item<float>()) << "three ahead";
}

TEST(RelativeBias, OfUmt5IsTheLayersOwn) {
    const auto model = Model::load(folder_of_pairs() / "umt5", {.device = "cpu"});
    const auto& m = model->internals();
    for (std::int64_t l = 0; l < model->config().n_layers; ++l)
        EXPECT_TRUE(at::equal(bias_by_distance(m, l, 4).select(1, 3), m.layers[static_cast<std::size_t>(l)].relative_bias[0]));
    EXPECT_FALSE(at::equal(bias_by_distance(m, 0, 4), bias_by_distance(m, 1, 4)));
}

TEST(EncoderDecoderNames, OfCrossAttentionsAreTheDecoders) {
    ModelConfig cross;
    cross.stack = Stack::cross;
    cross.n_layers = 1;
    std::set<std::string> names;
    for (const HookPoint& point : hooks_of(cross)) names.insert(name_of(point, cross));
    EXPECT_TRUE(names.contains("decoder.blocks.0.cross_attn.hook_pattern"));
    EXPECT_TRUE(names.contains("decoder.blocks.0.hook_resid_mid_cross"));
    EXPECT_FALSE(names.contains("decoder.blocks.0.mlp.hook_pre"));
    ModelConfig encoder;
    encoder.stack = Stack::encoder;
    EXPECT_EQ(name_of({Hook::ln_final_scale, Layer(0)}, encoder), "encoder.ln_final.hook_scale");
    EXPECT_EQ(name_of({Hook::logits, Layer(0)}, encoder), "logits");
}

}  // namespace encoder_decoder_test
}  // namespace headlight::model
