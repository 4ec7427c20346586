// SPDX-License-Identifier: GPL-3.0-or-later
// What must hold of edits in every family (docs/recipe.md).
#include "headlight/base/error.h"
#include "headlight/io/npz.h"
#include "headlight/trace/weights.h"
#include "tests/intervention/recipe/edited.h"
#include "tests/support/case_name.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace identities_test {

using namespace testing_support;

constexpr double kRounding = 1e-9;  // relative, in float64

class Identities : public testing::TestWithParam<std::string> {
protected:
    Identities() : f(GetParam()) {}
    std::int64_t last() const { return f.config().n_layers - 1; }
    /// Sums of the rows of a head's pattern and its sink.
    at::Tensor row_sums(const std::shared_ptr<const trace::Trace>& trace, std::int64_t layer, std::int64_t head) const {
        const at::Tensor sums = at_hook(trace, Hook::pattern, layer)[head].sum(-1);
        return f.config().attention_sinks ? sums + at_hook(trace, Hook::sink, layer)[head] : sums;
    }
    Fixture f;
};

TEST_P(Identities, WhatChangesNothingChangesNothing) {
    const at::Tensor usual = output_of(f.plain());
    for (const char* words : {"scale L0H0 1", "scale L0.mlp 1", "temperature L0 1", "freeze pattern", "freeze norm", "freeze mlp",
                              "freeze z", "scale L0.k 1", "freeze L0H0 @1-2", "freeze resid_post"})
        EXPECT_LT(relative(output_of(f.edited({words})), usual), kRounding) << words;
    EXPECT_TRUE(at::equal(output_of(f.edited({"off zero L0H0"})), usual));
    EXPECT_GT(relative(output_of(f.edited({"clamp L0N0 30"})), usual), 1e-6);
    EXPECT_GT(relative(output_of(f.edited({"zero L0H0"})), usual), 1e-6);
}

TEST_P(Identities, AScaleOfZeroIsZero) {
    EXPECT_LT(relative(output_of(f.edited({"scale L0H1 0"})), output_of(f.edited({"zero L0H1"}))), kRounding);
    EXPECT_LT(relative(output_of(f.edited({"clamp L0N3 0"})), output_of(f.edited({"zero L0N3"}))), kRounding);
}

TEST_P(Identities, ZeroOfAllHeadsKeepsTheOutputBiasAndZeroOfTheirSumDoesNot) {
    EXPECT_EQ(at_hook(f.edited({"zero L0.attn"}), Hook::attn_out).abs().max().item<double>(), 0.0);
    if (f.config().branch_norm) return;
    at::Tensor bias = trace::attention_output(*f.model, Layer(0)).b_o;
    const at::Tensor out = at_hook(f.edited({"zero L0.z"}), Hook::attn_out);
    if (!bias.defined()) bias = at::zeros({out.size(1)}, at::kDouble);
    EXPECT_LT((out - bias.to(at::kDouble)).abs().max().item<double>(), 1e-12);
}

TEST_P(Identities, ZeroWithoutValueBiasIsWhatTheBiasGives) {
    const model::ModelConfig& c = f.config();
    at::Tensor bias = trace::attention_weights(*f.model, Layer(0)).b_v;
    const auto trace = f.edited({"zero L0H1 without value bias"});
    const at::Tensor z = at_hook(trace, Hook::z).select(1, 1);
    if (!bias.defined()) {
        EXPECT_EQ(z.abs().max().item<double>(), 0.0);
        return;
    }
    at::Tensor expected = bias.to(at::kDouble)[1 / (c.n_heads / c.n_kv_heads)].unsqueeze(0).expand_as(z);
    if (c.attention_sinks) expected = expected * (1 - at_hook(trace, Hook::sink)[1]).unsqueeze(-1);
    EXPECT_LT((z - expected).abs().max().item<double>(), 1e-12);
}

TEST_P(Identities, RowsKeepTheirSumUnderEditsThatRenormalise) {
    for (const char* words : {"knockout L0H0 2<-1", "set L0H0 2<-1 0.7", "temperature L0H0 0.3", "temperature L0H0 4"}) {
        const auto trace = f.edited({words});
        EXPECT_LT((row_sums(trace, 0, 0) - 1).abs().max().item<double>(), 1e-12) << words;
    }
    const auto trace = f.edited({"set L0H0 2<-1 0.7"});
    EXPECT_NEAR(at_hook(trace, Hook::pattern)[0][2][1].item<double>(), 0.7, 1e-12);
    EXPECT_EQ(at_hook(f.edited({"knockout L0H0 2<-1"}), Hook::pattern)[0][2][1].item<double>(), 0.0);
    const auto uniform = f.edited({"uniform L0H0"});
    const at::Tensor seen = at_hook(uniform, Hook::pattern)[0][2];
    const double largest = seen.max().item<double>();
    for (std::int64_t k = 0; k < seen.size(0); ++k)
        EXPECT_TRUE(seen[k].item<double>() == 0 || std::abs(seen[k].item<double>() - largest) < 1e-12);
    EXPECT_GT(largest, 0.0);
}

TEST_P(Identities, AKnockoutOfAMaskedEdgeDoesNothing) {
    if (!f.config().causal) return;
    EXPECT_LT(relative(output_of(f.edited({"knockout L0 1<-3"})), output_of(f.plain())), kRounding);
    EXPECT_LT(relative(output_of(f.edited({"set L0 1<-3 0.5"})), output_of(f.plain())), kRounding);
}

TEST_P(Identities, SetToWhatItIsDoesNothingAndMovesOddsByTheShiftOfTheScore) {
    const at::Tensor pattern = at_hook(f.plain(), Hook::pattern)[0][2];
    const double a = pattern[1].item<double>();
    char words[96];
    std::snprintf(words, sizeof words, "set L0H0 2<-1 %.17g", a);
    EXPECT_LT(relative(at_hook(f.edited({words}), Hook::pattern), at_hook(f.plain(), Hook::pattern)), 1e-9);
    // others · (1 − α) / (1 − a)
    const at::Tensor set = at_hook(f.edited({"set L0H0 2<-1 0.25"}), Hook::pattern)[0][2];
    for (std::int64_t k = 0; k < set.size(0); ++k)
        if (k != 1) {
            EXPECT_NEAR(set[k].item<double>(), pattern[k].item<double>() * 0.75 / (1 - a), 1e-12);
        }
}

TEST_P(Identities, AKnockoutOfAllOtherKeysIsTheDiagonal) {
    if (f.config().attention_sinks) return;  // a sink keeps what it had
    const at::Tensor out = at_hook(
        f.edited({"knockout L0H0 2<-0-1", "knockout L0H0 2<-3-" + std::to_string(f.plain()->tokens() - 1)}), Hook::pattern)[0][2];
    const at::Tensor diagonal = at_hook(f.edited({"diagonal L0H0 @2"}), Hook::pattern)[0][2];
    EXPECT_LT((out - diagonal).abs().max().item<double>(), 1e-12);
    EXPECT_NEAR(diagonal[2].item<double>(), 1.0, 1e-12);
}

TEST_P(Identities, AColdTemperatureKeepsTheLargestWeightAlone) {
    if (f.config().attention_sinks) return;  // whose score may be the largest
    const at::Tensor usual = at_hook(f.plain(), Hook::pattern)[0],
                     cold = at_hook(f.edited({"temperature L0H0 1e-6"}), Hook::pattern)[0];
    for (std::int64_t r = 0; r < usual.size(0); ++r) {
        const auto sorted = std::get<0>(usual[r].sort(-1, true));
        if (usual.size(1) > 1 && sorted[0].item<double>() - sorted[1].item<double>() < 1e-3) continue;  // nearly a tie
        EXPECT_NEAR(cold[r][usual[r].argmax()].item<double>(), 1.0, 1e-9) << r;
    }
}

TEST_P(Identities, EveryKeyKnockedOutLeavesNothingAndSaysSo) {
    const auto trace = f.edited({"knockout L0H0 0<-*"});
    const at::Tensor z = at_hook(trace, Hook::z)[0][0];
    EXPECT_EQ(z.abs().max().item<double>(), 0.0);
    EXPECT_TRUE(at::isfinite(output_of(trace)).all().item<bool>());
    if (!f.config().attention_sinks) {
        EXPECT_THAT(trace->info().warnings, testing::Contains(testing::HasSubstr("the row of position 0 is empty")));
    }
}

TEST_P(Identities, PatternAndValuesTogetherAreTheHeadsOutput) {
    if (f.encodes()) return;  // the texts differ in the source: see the cross attention
    const std::string from = std::string(" from \"") + kOther + "\"";
    const at::Tensor there = at_hook(f.plain(kOther), Hook::z).select(1, 0);
    EXPECT_LT(relative(at_hook(f.edited({"patch L0H0" + from}), Hook::z).select(1, 0), there), kRounding);
    EXPECT_LT(relative(at_hook(f.edited({"patch L0H0.pattern" + from, "patch L0H0.v" + from}), Hook::z).select(1, 0), there),
              kRounding);
    if (f.config().qk_norm == model::QkNorm::whole) return;  // whose queries share a scale
    const auto by_scores = f.edited({"patch L0H0.q" + from, "patch L0H0.k" + from});
    EXPECT_LT(relative(at_hook(by_scores, Hook::pattern)[0], at_hook(f.plain(kOther), Hook::pattern)[0]), kRounding);
}

TEST_P(Identities, AllOfTheStreamIsTheOtherRun) {
    if (f.encodes()) return;
    const std::string from = std::string(" from \"") + kOther + "\"";
    const at::Tensor there = output_of(f.plain(kOther));
    for (std::int64_t l = 0; l <= last(); ++l) {
        // The convolution of DeBERTa's layer 0 reads the stream too.
        EXPECT_LT(relative(output_of(f.edited({"patch L" + std::to_string(l) + ".resid_pre" + from})), there), kRounding) << l;
    }
    EXPECT_LT(relative(output_of(f.edited({"patch L0.resid_pre from \"" + std::string(kText) + "\""})), output_of(f.plain())),
              kRounding);
}

TEST_P(Identities, TheLastStreamAtAPositionIsTheOtherRunThereAndNothingElsewhere) {
    if (f.encodes()) return;
    const std::string edit = "patch L" + std::to_string(last()) + ".resid_post from \"" + kOther + "\" @2";
    const at::Tensor edited = at_hook(f.edited({edit}), Hook::resid_post, last()),
                     own = at_hook(f.plain(), Hook::resid_post, last());
    EXPECT_LT(relative(edited[2], at_hook(f.plain(kOther), Hook::resid_post, last())[2]), kRounding);
    EXPECT_TRUE(at::equal(edited.slice(0, 0, 2), own.slice(0, 0, 2)));
    EXPECT_TRUE(at::equal(edited.slice(0, 3), own.slice(0, 3)));
}

TEST_P(Identities, AllHeadsTogetherAreTheOutputOfAttention) {
    if (f.encodes()) return;
    const std::string from = std::string(" from \"") + kOther + "\"";
    const std::string heads = "patch L0H0-" + std::to_string(f.config().n_heads - 1) + ".z";
    EXPECT_LT(relative(output_of(f.edited({heads + from})), output_of(f.edited({"patch L0.attn" + from}))), kRounding);
}

/// The stream is the sum of them.
TEST_P(Identities, EmbeddingsAndEveryOutputAreTheOtherRun) {
    if (f.encodes() || model::has_convolution(f.config(), 0)) return;
    const std::string from = std::string(" from \"") + kOther + "\"";
    const auto all = f.edited({"patch embed" + from, "patch attn_out" + from, "patch mlp_out" + from});
    EXPECT_LT(relative(output_of(all), output_of(f.plain(kOther))), kRounding);
}

/// With attention and MLPs as they are without the edit, what a head writes goes straight to the end.
TEST_P(Identities, BesideFrozenHeadsAndMlpsTheStreamLosesWhatTheHeadWrites) {
    const model::ModelConfig& c = f.config();
    if (f.encodes() || c.branch_norm || c.post_norm || c.residual_after_norm) return;  // the stream is no sum of outputs
    const auto at_end = [&](const std::vector<std::string>& zeros) {
        std::vector<std::string> words{"freeze z", "freeze mlp"};
        words.insert(words.end(), zeros.begin(), zeros.end());
        return at_hook(f.edited(words), Hook::resid_post, last()) - at_hook(f.plain(), Hook::resid_post, last());
    };
    const at::Tensor written = at_hook(f.plain(), Hook::result);
    EXPECT_LT(relative(at_end({"zero L0H0"}), -written.select(1, 0)), kRounding);
    EXPECT_LT(relative(at_end({"zero L0H0", "zero L0H1"}), at_end({"zero L0H0"}) + at_end({"zero L0H1"})), kRounding);
}

TEST_P(Identities, NothingChangesBeforeThePositionOfACausalEditNorBelowItsLayer) {
    if (!f.config().causal) return;
    const auto plain = f.plain();
    for (const std::int64_t layer : {std::int64_t{0}, last()}) {
        const auto edited = f.edited({"scale L" + std::to_string(layer) + ".attn 3 @3"});
        for (const Hook hook : {Hook::resid_pre, Hook::z, Hook::attn_out, Hook::mlp_out, Hook::resid_post})
            for (std::int64_t l = 0; l <= last(); ++l) {
                const at::Tensor now = at_hook(edited, hook, l), before = at_hook(plain, hook, l);
                EXPECT_TRUE(at::equal(now.slice(0, 0, 3), before.slice(0, 0, 3))) << static_cast<int>(hook) << " " << l;
                if (l < layer) {
                    EXPECT_TRUE(at::equal(now, before)) << l;
                }
            }
        EXPECT_FALSE(at::equal(at_hook(edited, Hook::resid_post, layer), at_hook(plain, Hook::resid_post, layer)));
    }
}

TEST_P(Identities, TheStreamInTheMiddleIsAsGoodAsAtTheEndOfASequentialBlock) {
    const model::ModelConfig& c = f.config();
    if (f.encodes() || model::has_convolution(c, 0)) return;
    const std::string from = std::string(" from \"") + kOther + "\" @2";
    if (c.parallel) {
        EXPECT_THROW(f.edited({"patch L0.resid_mid" + from}), Error);
        return;
    }
    EXPECT_LT(relative(output_of(f.edited({"patch L0.resid_mid" + from})), output_of(f.edited({"patch L0.resid_post" + from}))),
              kRounding);
}

TEST_P(Identities, AMeanOverOneTextIsAPatchFromIt) {
    if (f.pictures()) return;
    const test::TempFolder folder;
    folder.write("one.txt", std::string(kOther) + "\n");
    const std::string file = (folder.path() / "one.txt").string();
    const std::string stack = f.encodes() ? "encoder." : "";
    EXPECT_LT(relative(output_of(f.edited({"mean " + stack + "L0H1 over \"" + file + "\" per position"})),
                       output_of(f.edited({"patch " + stack + "L0H1 from \"" + kOther + "\""}))),
              kRounding);
    const auto mean = f.edited({"mean " + stack + "L0H1 over \"" + file + "\""});
    const model::Stack of = f.encodes() ? model::Stack::encoder : model::Stack::decoder;
    const at::Tensor there = at_hook(f.plain(kOther), Hook::z, 0, of).select(1, 1).mean(0);
    EXPECT_LT(relative(at_hook(mean, Hook::z, 0, of).select(1, 1)[2], there), kRounding);
    // The only text of its length is also the one that is drawn.
    EXPECT_LT(relative(output_of(f.edited({"resample " + stack + "L0H1 over \"" + file + "\""})),
                       output_of(f.edited({"patch " + stack + "L0H1 from \"" + kOther + "\""}))),
              kRounding);
}

TEST_P(Identities, DirectionsAreAddedProjectedOutAndSet) {
    const std::string site = "L0.resid_pre";
    const std::string v = " difference @2 @1";
    const at::Tensor usual = output_of(f.plain());
    EXPECT_LT(relative(output_of(f.edited({"add " + site + v + " 0"})), usual), kRounding);
    const at::Tensor before = at_hook(f.plain(), Hook::resid_pre), direction = before[2] - before[1];
    const at::Tensor unit = direction / direction.norm();
    EXPECT_LT(relative(at_hook(f.edited({"add " + site + v + " 3 @1"}), Hook::resid_pre)[1], before[1] + 3 * direction),
              kRounding);
    const auto out = f.edited({"project " + site + v});
    EXPECT_LT(at_hook(out, Hook::resid_pre).matmul(unit).abs().max().item<double>(), 1e-12);
    EXPECT_LT(relative(output_of(f.edited({"project " + site + v, "project " + site + v})), output_of(out)), kRounding);
    EXPECT_LT((at_hook(f.edited({"direct " + site + v + " 2"}), Hook::resid_pre).matmul(unit) - 2).abs().max().item<double>(),
              1e-12);
    const at::Tensor longer = at_hook(f.edited({"add " + site + v + " 0.5 norm"}), Hook::resid_pre);
    EXPECT_LT(relative((longer - before).norm(2, -1), 0.5 * before.norm(2, -1)), kRounding);
}

TEST_P(Identities, LayerNormDoesNotSeeAConstant) {
    const model::ModelConfig& c = f.config();
    if (c.post_norm || c.residual_after_norm || f.encodes() || !model::norm_before_attention(c, 0) ||
        model::has_convolution(c, 0))
        return;
    // Width ones added to the last stream; the final norm is all that reads it.
    const test::TempFolder folder;
    const std::vector<double> ones(static_cast<std::size_t>(c.d_model), 1.0);
    io::write_npz(folder.path() / "ones.npz", {{"v", io::DType::F64, {c.d_model}, std::as_bytes(std::span(ones))}}, {});
    const std::string add = "add L0.resid_pre \"" + (folder.path() / "ones.npz").string() + "\" 0.7";
    const double moved = relative(at_hook(f.edited({add}), Hook::ln1_normalized), at_hook(f.plain(), Hook::ln1_normalized));
    if (c.norm == model::Norm::layer_norm)
        EXPECT_LT(moved, 1e-9);
    else
        EXPECT_GT(moved, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Models, Identities, testing::ValuesIn(all_fixtures()),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(OutputDirections, AreTheSingularVectorsOfAHeadsCircuitInTheirOrder) {
    for (const char* name : {"models/gpt2", "models/llama-kv2"}) {
        const Fixture f(name);
        const trace::AttentionTensors w = trace::attention_weights(*f.model, Layer(0));
        const std::int64_t head = 1, kv = head / (f.config().n_heads / f.config().n_kv_heads);
        const at::Tensor circuit = at::mm(w.w_v[kv].to(at::kDouble), w.w_o[head].to(at::kDouble));
        const at::Tensor before = at_hook(f.plain(), Hook::resid_pre);
        double larger = at::linalg_matrix_norm(circuit, 2).item<double>();
        for (const char* index : {"0", "1", "2"}) {
            const at::Tensor added =
                at_hook(f.edited({std::string("add L0.resid_pre ov L0H1.") + index + " 1 @1"}), Hook::resid_pre)[1] - before[1];
            EXPECT_NEAR(added.norm().item<double>(), 1, 1e-9);
            EXPECT_NEAR(added.max().item<double>(), added.abs().max().item<double>(), 1e-9) << "its largest number is positive";
            const at::Tensor through = at::mv(circuit, added);
            const double value = through.norm().item<double>();
            EXPECT_LT(relative(at::mv(circuit.t(), through), value * value * added), kRounding) << name << " " << index;
            EXPECT_LE(value, larger * (1 + kRounding));
            EXPECT_TRUE(index[0] != '0' || value >= larger * (1 - kRounding)) << "the largest singular value first";
            larger = value;
        }
    }
}

TEST(FrozenModel, IsAffineInTheEmbedding) {
    for (const char* name : {"models/gpt2", "models/llama-kv2", "models/gpt-neox", "models/gemma2"}) {
        const Fixture f(name);
        // The embeddings of two texts and their middle, with patterns, scales and MLPs frozen to a third text's.
        const auto x = f.plain(kText), y = f.plain(kOther);
        const Recipe recipe = recipe_of({"freeze pattern", "freeze norm", "freeze mlp"});
        const auto logits = [&](const at::Tensor& embedding) {
            Sources sources(f.model, f.tokenizer, f.prompt);
            Compiled compiled = compile(sources, recipe);
            compiled.interventions.push_back(
                {"blocks.0.hook_resid_pre", [&](HookPoint, const at::Tensor&) { return embedding.clone(); }});
            return output_of(trace::run_with_hooks(f.model, f.tokenizer, f.prompt, {}, compiled.interventions));
        };
        const at::Tensor a = at_hook(x, Hook::resid_pre), b = at_hook(y, Hook::resid_pre);
        at::Tensor fa = logits(a), fb = logits(b), fm = logits((a + b) / 2);
        if (f.config().final_softcap > 0) {  // affine before the cap
            const double cap = f.config().final_softcap;
            for (at::Tensor* t : {&fa, &fb, &fm}) *t = (*t / cap).atanh() * cap;
        }
        EXPECT_LT(relative(fm, (fa + fb) / 2), 1e-9) << name;
        EXPECT_GT(relative(fa, fb), 1e-3) << name;
    }
}

TEST(CrossAttention, IsEditedLikeAnyOther) {
    for (const char* name : {"encoder_decoders/t5", "encoder_decoders/bart", "encoder_decoders/marian"}) {
        const Fixture f(name);
        const auto plain = f.plain(), other = f.plain(kOther);
        const at::Tensor usual = at_hook(plain, Hook::pattern, 1, model::Stack::cross);
        const auto out = f.edited({"knockout cross.L1H0 1<-2"});
        const at::Tensor row = at_hook(out, Hook::pattern, 1, model::Stack::cross)[0][1];
        EXPECT_EQ(row[2].item<double>(), 0.0) << name;
        EXPECT_NEAR(row.sum().item<double>(), 1.0, 1e-12);
        EXPECT_NEAR(row[0].item<double>(), (usual[0][1][0] / (1 - usual[0][1][2])).item<double>(), 1e-12);
        const std::string from = std::string(" from \"") + kOther + "\"";
        EXPECT_LT(relative(output_of(f.edited({"patch encoder.L0.resid_pre" + from})), output_of(other)), kRounding) << name;
        // Its own text is the decoder's, which is equal in both: keys and values are all that comes from the source.
        EXPECT_LT(relative(output_of(f.edited({"patch cross.k" + from, "patch cross.v" + from})), output_of(other)), kRounding)
            << name;
        EXPECT_LT(relative(at_hook(f.edited({"patch cross.L0H1" + from}), Hook::z, 0, model::Stack::cross).select(1, 1),
                           at_hook(other, Hook::z, 0, model::Stack::cross).select(1, 1)),
                  kRounding);
        EXPECT_EQ(at_hook(f.edited({"zero cross.L0.attn"}), Hook::cross_attn_out).abs().max().item<double>(), 0.0);
        EXPECT_THROW(f.edited({"diagonal cross.L0H0"}), Error);
        EXPECT_THROW(f.edited({"zero cross.L0.mlp"}), Error);
    }
}

TEST(Groups, AnEditOfKeysActsOnAllHeadsThatReadThem) {
    const Fixture f("models/llama-kv2");
    const std::int64_t group = f.config().n_heads / f.config().n_kv_heads;
    ASSERT_GT(group, 1);
    const auto by_head = f.edited({"zero L0H0.v"}), by_group = f.edited({"zero L0G0.v"});
    EXPECT_TRUE(at::equal(output_of(by_head), output_of(by_group)));
    for (std::int64_t h = 0; h < group; ++h) EXPECT_EQ(at_hook(by_head, Hook::z).select(1, h).abs().max().item<double>(), 0.0);
    EXPECT_GT(at_hook(by_head, Hook::z).select(1, group).abs().max().item<double>(), 0.0);
    EXPECT_THAT(by_head->info().warnings, testing::Contains(testing::HasSubstr("query heads read each")));
}

TEST(Experts, AreForbiddenAndForced) {
    for (const char* name : {"models/mixtral", "models/qwen2-moe", "models/gpt-oss", "models/deepseek-v2"}) {
        const Fixture f(name);
        const std::int64_t layer = f.config().n_layers - 1;
        ASSERT_TRUE(model::has_experts(f.config(), layer));
        const std::string expert = "L" + std::to_string(layer) + "E1";
        EXPECT_EQ(at_hook(f.edited({"forbid " + expert}), Hook::experts, layer).select(1, 1).abs().max().item<double>(), 0.0)
            << name;
        EXPECT_GT(at_hook(f.edited({"force " + expert}), Hook::experts, layer).select(1, 1).min().item<double>(), 0.0) << name;
        const at::Tensor one = at_hook(f.edited({"force " + expert + " @2"}), Hook::router, layer);
        EXPECT_EQ(one[2].argmax().item<std::int64_t>(), 1);
        EXPECT_LT(relative(one[1], at_hook(f.plain(), Hook::router, layer)[1]), kRounding);
    }
}

}  // namespace identities_test
}  // namespace headlight::intervention
