// SPDX-License-Identifier: GPL-3.0-or-later
// Rectangular maps of the attention from a target to its source, and what a decoder behind an encoder has or refuses.
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/pattern/neuron_view.h"
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/refinement.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace headlight::analyze {
namespace encoder_decoder_test {

using model::Hook;
using model::Stack;

class CrossMaps : public testing::TestWithParam<std::string> {
protected:
    TracePtr cross = run_pair(GetParam(), Stack::cross);
    HeadId head{Layer(1), Head(1)};
    at::Tensor pattern() const { return trace::tensor(*cross, {Hook::pattern, head.layer})[head.head.value].contiguous(); }
};

TEST_P(CrossMaps, RowsAreTheTargetAndColumnsTheSource) {
    const at::Tensor p = pattern();
    const PatternAxes axes = pattern_axes(*cross, {});
    ASSERT_EQ(axes.queries.size(), static_cast<std::size_t>(cross->tokens()));
    ASSERT_EQ(axes.keys.size(), static_cast<std::size_t>(cross->keys()));
    ASSERT_NE(cross->tokens(), cross->keys());
    for (std::size_t i = 0; i < axes.queries.size(); ++i) EXPECT_EQ(axes.queries[i].special, cross->encoding().special[i]);
    for (std::size_t j = 0; j < axes.keys.size(); ++j) EXPECT_EQ(axes.keys[j].label, cross->key_labels()[j].text);
    const Matrix map = analyze::pattern(*cross, head, {});
    ASSERT_EQ(map.rows(), cross->tokens());
    ASSERT_EQ(map.cols(), cross->keys());
    for (Eigen::Index i = 0; i < map.rows(); ++i)
        for (Eigen::Index j = 0; j < map.cols(); ++j) ASSERT_FLOAT_EQ(map(i, j), p[i][j].item<float>());
    EXPECT_LE((pattern_row(*cross, {head}, 2, {}).row(0) - map.row(2)).cwiseAbs().maxCoeff(), 1e-6F);
    const auto last = static_cast<std::int64_t>(map.cols()) - 1;
    EXPECT_LE((pattern_column(*cross, {head}, last, {}).row(0).transpose() - map.col(last)).cwiseAbs().maxCoeff(), 1e-6F);
    const PooledMap pooled = pooled_pattern(*cross, head, {}, 3);
    EXPECT_EQ(pooled.max.rows(), 3);
    EXPECT_EQ(pooled.max.cols(), 3);
    EXPECT_FLOAT_EQ(pooled.max.maxCoeff(), map.maxCoeff());
}

TEST_P(CrossMaps, HidingAndWordsGoByEachTextsOwnTokens) {
    PatternOptions options{.hide_special = true, .merge_words = true};
    const PatternAxes axes = pattern_axes(*cross, options);
    std::int64_t shown = 0;
    for (const bool special : cross->key_encoding().special) shown += !special;
    std::int64_t covered = 0;
    for (const AxisItem& item : axes.keys) covered += item.count;
    EXPECT_EQ(covered, shown);
    const Matrix map = analyze::pattern(*cross, head, options);
    for (Eigen::Index i = 0; i < map.rows(); ++i) EXPECT_NEAR(map.row(i).sum(), 1, 1e-5);
    options = {.weighting = Weighting::output_norm};
    const Matrix weighted = analyze::pattern(*cross, head, options);
    ASSERT_EQ(weighted.cols(), cross->keys());
    for (Eigen::Index i = 0; i < weighted.rows(); ++i) EXPECT_NEAR(weighted.row(i).sum(), 1, 1e-5);
    EXPECT_THROW(analyze::pattern(*cross, head, {.weighting = Weighting::layer_mix}), Error);
}

TEST_P(CrossMaps, OneQueryNumberByNumber) {
    for (const Stack stack : {Stack::encoder, Stack::decoder, Stack::cross}) {
        const TracePtr part = run_pair(GetParam(), stack);
        const NeuronView view = neuron_view(*part, head, Position(2));
        ASSERT_EQ(view.weight.size(), part->keys());
        EXPECT_EQ(!view.position.empty(), part->config().positions == model::Positions::relative);
        const at::Tensor scores = trace::score_rows(*part, head.layer, head.head, 2, 1)[0].contiguous();
        for (Eigen::Index j = 0; j < view.weight.size(); ++j) {
            if (std::isnan(view.score[j])) continue;
            const float position = view.position.empty() ? 0.0F : view.position[static_cast<std::size_t>(j)];
            EXPECT_NEAR(view.dot[j] + position, view.score[j], 1e-5);
            EXPECT_NEAR(view.score[j], scores[j].item<float>(), 1e-4);
        }
        EXPECT_NEAR(view.weight.sum(), 1, 1e-5);
        const PairChain chain = pair_chain(*part, head, Position(2), Position(1));
        EXPECT_NEAR(chain.score, scores[1].item<double>(), 1e-4);
        EXPECT_EQ(chain.position.has_value(), !view.position.empty());
    }
    EXPECT_THROW(pair_chain(*cross, head, Position(0), Position(cross->keys())), Error);
}

TEST_P(CrossMaps, TheHeadTableHasWhatTwoTextsHave) {
    const HeadTable table = head_table(*cross);
    EXPECT_FALSE(std::isnan((*table.find("entropy"))(1, 1)));
    EXPECT_TRUE(std::isnan((*table.find("share_self"))(1, 1)));
    EXPECT_TRUE(std::isnan((*table.find("induction"))(1, 1)));
    const InterestingPair pair = interesting_pair(*cross, interesting_head(table));
    EXPECT_LT(pair.query.value, cross->tokens());
    EXPECT_LT(pair.key.value, cross->keys());
}

TEST_P(CrossMaps, MeasuresAreThoseOfThePattern) {
    const at::Tensor p = pattern().to(at::kDouble);
    const auto found = [&](const char* id) { return head_measure(*cross, head, id); };
    EXPECT_NEAR(found("entropy"), -(p * p.clamp_min(1e-300).log()).sum(1).mean().item<double>(), 1e-5);
    EXPECT_NEAR(found("entropy_uniform"), std::log(static_cast<double>(cross->keys())), 1e-12);
    EXPECT_NEAR(found("share_first"), p.select(1, 0).mean().item<double>(), 1e-6);
    EXPECT_NEAR(found("max_weight"), p.max().item<double>(), 1e-6);
    double special = 0;
    for (std::int64_t j = 0; j < cross->keys(); ++j)
        if (cross->key_encoding().special[static_cast<std::size_t>(j)]) special += p.select(1, j).mean().item<double>();
    EXPECT_NEAR(found("share_special"), special, 1e-6);
    const at::Tensor f = at::mm(trace::tensor(*cross, {Hook::v, head.layer}).select(1, head.head.value),
                                trace::attention_weights(*cross->model(), head.layer).w_o.select(0, head.head.value));
    EXPECT_NEAR(found("value_norm"), f.to(at::kDouble).square().sum(1).sqrt().mean().item<double>(), 1e-5);
    for (const char* id :
         {"share_self", "mean_distance", "induction", "previous_token", "share_next", "share_cls", "other_to_sep"})
        EXPECT_TRUE(std::isnan(found(id))) << id;
}

TEST_P(CrossMaps, WhatIsOfOneTextOrOneStackSaysSo) {
    EXPECT_THROW(rollout(*cross), Error);
    EXPECT_THROW(value_mix(*cross, Layer(0), MixScope::attention), Error);
    EXPECT_THROW(focus_facts(*cross, head), Error);
    const TracePtr decoder = run_pair(GetParam());
    EXPECT_THROW(rollout(*decoder, {.by_receptive_field = true}), Error);
    EXPECT_THROW(rollout(*run_pair(GetParam(), Stack::encoder), {.of_source = true}), Error);
    EXPECT_THROW(contribution_graph(*cross, Position(2)), Error);
    EXPECT_THROW(cross_shares(*run_pair(GetParam(), Stack::encoder), Layer(0), Position(0)), Error);
    EXPECT_THROW(importance(*decoder->model(), *decoder->tokenizer(), decoder->encoding(), Position(2)), Error);
    EXPECT_NO_THROW(value_mix(*decoder, Layer(0), MixScope::attention));
    EXPECT_NO_THROW(rollout(*run_pair(GetParam(), Stack::encoder)));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CrossMaps, testing::ValuesIn(pair_models()), pair_name);

double cross_part(const Decomposition& split) {
    double sum = 0;
    for (const Contribution& part : split.parts)
        if (part.component == Component::cross_head || part.component == Component::cross_bias) sum += part.value;
    return sum;
}

/// The parts are all that was written into the stream, also through the norms behind each sub-layer (BART, Marian): the
/// heads that read the source are among them.
TEST(DecoderAttribution, SumsToTheLogitWithTheCrossHeads) {
    for (const std::string& name : pair_models()) {
        const TracePtr decoder = run_pair(name);
        for (const bool neurons : {false, true})
            for (const AttributionOptions& o :
                 {AttributionOptions{.token = 7, .neurons = neurons}, {.token = 7, .minus = 9, .neurons = neurons}}) {
                const Decomposition split = attribution(*decoder, Position(3), o);
                EXPECT_NEAR(split.sum, split.total, 1e-4 * std::max(1.0, std::abs(split.total))) << name;
                EXPECT_GT(std::abs(cross_part(split)), 1e-4) << name << ": proves nothing";
            }
        const at::Tensor logits = trace::tensor(*decoder, {Hook::logits, Layer(0)});
        EXPECT_NEAR(attribution(*decoder, Position(3), {.token = 7}).total, logits[3][7].item<double>(), 1e-6) << name;
    }
}

TEST(DecoderAttribution, CrossHeadsArePartsOfTheirOwn) {
    for (const std::string& name : pair_models()) {
        const TracePtr decoder = run_pair(name);
        const auto& cross = decoder->part(Stack::cross);
        const Position p(3);
        const AttributionOptions o{.token = 7};
        const Decomposition split = attribution(*decoder, p, o);
        const Eigen::MatrixXd map = split.cross_heads(decoder->config()), own = split.heads(decoder->config());
        ASSERT_EQ(map.rows(), decoder->config().n_layers);
        ASSERT_EQ(map.cols(), decoder->config().n_heads);
        double whole = 0;
        for (std::int64_t l = 0; l < map.rows(); ++l)
            for (std::int64_t h = 0; h < map.cols(); ++h) {
                // What a head read of each token of the source adds up to what the head adds.
                const Eigen::VectorXd sources = cross_head_sources(*decoder, {Layer(l), Head(h)}, p, o);
                ASSERT_EQ(sources.size(), cross->keys());
                EXPECT_NEAR(sources.sum(), map(l, h), 1e-6 * std::max(1.0, std::abs(map(l, h)))) << name;
                EXPECT_NE(map(l, h), own(l, h));
                whole += map(l, h);
            }
        for (const Contribution& part : split.parts)
            if (part.component == Component::cross_bias) whole += part.value;
        EXPECT_NEAR(whole, cross_part(split), 1e-9) << name;
    }
    const auto novella = built_in("the cat");
    EXPECT_EQ(attribution(*novella, Position(1), {.token = 7}).cross_heads(novella->config()).size(), 0);
    EXPECT_THROW(cross_head_sources(*novella, {Layer(0), Head(0)}, Position(1), {.token = 7}), Error);
}

/// A part is the derivative of the logit by what the head writes, times that, where the norms stand still: in a model without
/// their change, by hand from the tensors of the last layer (T5: one RMSNorm between its output and the logits).
TEST(DecoderAttribution, ACrossHeadOfTheLastLayerByHand) {
    const auto folder = source_folder() / "tests/fixtures/encoder_decoders/t5-v1_1";
    const TracePtr decoder = trace::run(model::Model::load(folder, {.dtype = model::ComputeType::float64}),
                                        text::Tokenizer::load(folder), pair_prompt(), {});
    const auto& cross = decoder->part(Stack::cross);
    const Layer last(decoder->config().n_layers - 1);
    const Eigen::MatrixXd map = attribution(*decoder, Position(3), {.token = 7}).cross_heads(decoder->config());
    const at::Tensor z = trace::tensor(*cross, {Hook::z, last})[3];
    const at::Tensor written =
        at::bmm(z.unsqueeze(1), trace::attention_output(*cross->model(), last).w_o).squeeze(1);  // [head, d_model]
    const double scale = trace::tensor(*decoder, {Hook::ln_final_scale, Layer(0)})[3][0].item<double>();
    const at::Tensor gain = trace::final_norm(*decoder->model()).gain;
    const at::Tensor column = trace::unembed(*decoder->model()).select(1, 7);
    const at::Tensor parts = at::mv(written, gain * column) / scale;
    for (std::int64_t h = 0; h < map.cols(); ++h) EXPECT_NEAR(map(last.value, h), parts[h].item<double>(), 1e-9);
}

/// Source and target as one text of many tokens: an encoder's layer mixes the source's rows, a decoder's own attention the
/// target's, its cross attention takes half of each target's row from the source's. The product of all layers is the rollout.
TEST(DecoderRollout, IsTheProductOverBothTexts) {
    for (const std::string& name : pair_models()) {
        const TracePtr decoder = run_pair(name), encoder = decoder->part(Stack::encoder), cross = decoder->part(Stack::cross);
        const std::int64_t s = encoder->tokens(), t = decoder->tokens();
        const auto mean = [](const trace::Trace& trace, std::int64_t layer) {
            const at::Tensor p = trace::tensor(trace, {Hook::pattern, Layer(layer)}).mean(0).to(at::kDouble).contiguous();
            return Eigen::MatrixXd(Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                p.data_ptr<double>(), p.size(0), p.size(1)));
        };
        Eigen::MatrixXd all = Eigen::MatrixXd::Identity(s + t, s + t);
        for (std::int64_t l = 0; l < encoder->config().n_layers; ++l) {
            Eigen::MatrixXd step = Eigen::MatrixXd::Identity(s + t, s + t);
            step.topLeftCorner(s, s) = (mean(*encoder, l) + Eigen::MatrixXd::Identity(s, s)) / 2;
            all = step * all;
        }
        const Rollout own = rollout(*decoder), read = rollout(*decoder, {.of_source = true});
        ASSERT_EQ(std::ssize(own.maps), decoder->config().n_layers);
        for (std::int64_t l = 0; l < decoder->config().n_layers; ++l) {
            Eigen::MatrixXd self = Eigen::MatrixXd::Identity(s + t, s + t), second = self;
            self.bottomRightCorner(t, t) = (mean(*decoder, l) + Eigen::MatrixXd::Identity(t, t)) / 2;
            second.bottomLeftCorner(t, s) = mean(*cross, l) / 2;
            second.bottomRightCorner(t, t) /= 2;
            all = second * self * all;
            const auto at = static_cast<std::size_t>(l);
            EXPECT_LE((all.bottomRightCorner(t, t) - own.maps[at].cast<double>()).cwiseAbs().maxCoeff(), 1e-6) << name;
            EXPECT_LE((all.bottomLeftCorner(t, s) - read.maps[at].cast<double>()).cwiseAbs().maxCoeff(), 1e-6) << name;
            const Eigen::VectorXd sums = (own.maps[at].rowwise().sum() + read.maps[at].rowwise().sum()).cast<double>();
            EXPECT_LE((sums.array() - 1).abs().maxCoeff(), 1e-5) << name;
        }
        const Rollout one = rollout(*decoder, {.layer = Layer(1), .query = Position(2), .of_source = true});
        EXPECT_EQ(one.maps.size(), 1u);
        EXPECT_LE((one.maps[0].row(0) - read.maps[1].row(2)).cwiseAbs().maxCoeff(), 1e-6F);
    }
}

struct Asked {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    TracePtr run;
};
Asked asked(const std::string& name) {
    const auto folder = source_folder() / "tests/fixtures/encoder_decoders" / name;
    Asked out{
        model::Model::load(folder, {.dtype = model::ComputeType::float64, .device = "cpu"}), text::Tokenizer::load(folder), {}};
    out.run = trace::run(out.model, out.tokenizer, pair_prompt());
    return out;
}

/// Probability of the target with one row of what enters a stack changed, by an intervention of the run.
double probability_with(const Asked& a, const std::string& hook, std::int64_t row,
                        const std::function<at::Tensor(const at::Tensor&)>& change, std::int64_t position, std::int64_t target) {
    const trace::Intervention other{hook, [&](model::HookPoint, const at::Tensor& t) {
                                        const at::Tensor out = t.clone();
                                        out[row].copy_(change(t[row]));
                                        return out;
                                    }};
    const auto run = trace::run_with_hooks(a.model, a.tokenizer, pair_prompt(),
                                           {.globs = {"logits"}, .overview = trace::no_overview}, {other});
    return at::softmax(trace::tensor(*run, {Hook::logits, Layer(0)})[position].to(at::kDouble), 0)[target].item<double>();
}

TEST(DecoderImportance, AsksBothTexts) {
    for (const char* name : {"t5-v1_1", "bart"}) {
        const Asked a = asked(name);
        const trace::Trace& encoder = *a.run->part(Stack::encoder);
        const std::int64_t position = 2;
        const Importance r = importance(*a.model, *a.tokenizer, a.run->encoding(), Position(position),
                                        {.source = encoder.encoding(), .permutations = 3});
        ASSERT_EQ(r.source, encoder.tokens());
        ASSERT_EQ(r.tokens, encoder.tokens() + position + 1);
        const at::Tensor p = at::softmax(trace::tensor(*a.run, {Hook::logits, Layer(0)})[position].to(at::kDouble), 0);
        EXPECT_EQ(r.target, p.argmax().item<std::int64_t>());
        EXPECT_NEAR(r.probability, p[r.target].item<double>(), 1e-12);
        // Gradient x input is the slope along the vector itself: by differences of two runs.
        const bool stream = r.input == InputVectors::stream;
        const auto hook = [&](bool of_source) {
            return std::string(of_source ? "encoder." : "decoder.") + (stream ? "blocks.0.hook_resid_pre" : "hook_embed");
        };
        double largest = 0;
        for (std::int64_t j : {std::int64_t{0}, r.source - 1, r.source, r.tokens - 1}) {
            const bool of_source = j < r.source;
            const std::int64_t row = of_source ? j : j - r.source;
            constexpr double step = 1e-4;
            const auto scaled = [&](double by) {
                return probability_with(
                    a, hook(of_source), row, [by](const at::Tensor& x) { return x * by; }, position, r.target);
            };
            const double slope = (scaled(1 + step) - scaled(1 - step)) / (2 * step);
            EXPECT_NEAR(r.gradient_x_input[static_cast<std::size_t>(j)], slope, 1e-6 + 1e-4 * std::abs(slope))
                << name << " " << j;
            largest = std::max(largest, std::abs(slope));
        }
        EXPECT_GT(largest, 1e-6) << name << ": proves nothing";
        // Attention is that of the run, mean over heads; each attention sums to one by itself.
        const auto& cross = a.run->part(Stack::cross);
        for (std::int64_t l = 0; l < a.run->config().n_layers; ++l) {
            const at::Tensor own = trace::tensor(*a.run, {Hook::pattern, Layer(l)}).mean(0)[position],
                             other = trace::tensor(*cross, {Hook::pattern, Layer(l)}).mean(0)[position];
            for (std::int64_t j = 0; j < r.tokens; ++j)
                EXPECT_NEAR(r.attention(l, j), (j < r.source ? other[j] : own[j - r.source]).item<double>(), 1e-9);
            EXPECT_NEAR(r.attention.row(l).head(r.source).sum(), 1, 1e-9);
            EXPECT_NEAR(r.attention.row(l).tail(r.tokens - r.source).sum(), 1, 1e-9);
        }
        ASSERT_EQ(r.layers.size(), static_cast<std::size_t>(a.run->config().n_layers));
        ASSERT_EQ(r.cross_layers.size(), r.layers.size());
        EXPECT_GT(r.cross_layers[0].shuffled_high, 0) << name;
        EXPECT_THROW(importance(*a.model, *a.tokenizer, a.run->encoding(), Position(position)), Error);
    }
    const auto novella = built_in("the cat");
    EXPECT_THROW(
        importance(*novella->model(), *novella->tokenizer(), novella->encoding(), Position(1), {.source = novella->encoding()}),
        Error);
}

/// A token that is blanked out is another row of the embedding: the same by an intervention on the run.
TEST(DecoderImportance, BlankOutPutsAnotherTokenInItsPlace) {
    const Asked a = asked("t5");
    const trace::Trace& encoder = *a.run->part(Stack::encoder);
    const Importance r =
        importance(*a.model, *a.tokenizer, a.run->encoding(), Position(2), {.source = encoder.encoding(), .permutations = 0});
    const at::Tensor blank = trace::embedding(*a.model)[r.neutral];
    for (const std::int64_t j : {std::int64_t{1}, r.source + 1}) {
        const bool of_source = j < r.source;
        const double without = probability_with(
            a, of_source ? "encoder.hook_embed" : "decoder.hook_embed", of_source ? j : j - r.source,
            [&](const at::Tensor&) { return blank; }, 2, r.target);
        EXPECT_NEAR(r.blank_out[static_cast<std::size_t>(j)], r.probability - without, 1e-9) << j;
    }
}

/// The shares of a layer, from the top token of every position: of the stream before the MLP, of the MLP's output, of their sum
/// and of the model's output.
void expect_deciders(const LayerRefinement& layer, const at::Tensor& r, const at::Tensor& y, const at::Tensor& o,
                     const at::Tensor& output) {
    const auto share = [](const at::Tensor& t) { return t.to(at::kDouble).mean().item<double>(); };
    EXPECT_NEAR(layer.agreement, share((r == y).logical_and(y == o)), 1e-12);
    EXPECT_NEAR(layer.residual, share((o == r).logical_and(r != y)), 1e-12);
    EXPECT_NEAR(layer.ffn, share((o == y).logical_and(r != y)), 1e-12);
    EXPECT_NEAR(layer.residual_final, share(r == output), 1e-12);
    EXPECT_NEAR(layer.agreement + layer.residual + layer.ffn + layer.composition, 1, 1e-12);
}

/// Against the definition: the top tokens of the stream before the MLP (with what was read from the source), of its output and of
/// the stream behind it, each through the model's own read-out.
TEST(DecoderRefinement, CountsWhoDecidesThePrediction) {
    for (const char* name : {"t5", "t5-v1_1", "mt5", "mbart"}) {
        const TracePtr decoder = run_pair(name);
        const Refinement found = refinement({decoder}, {.values = false, .skip_first = false});
        const auto top = [&](Hook hook, std::int64_t l) {
            return trace::logits_of(*decoder->model(), trace::tensor(*decoder, {hook, Layer(l)})).argmax(1);
        };
        const std::int64_t last = decoder->config().n_layers - 1;
        const at::Tensor output = trace::tensor(*decoder, {Hook::logits, Layer(0)}).argmax(1);
        EXPECT_EQ(found.tokens, decoder->tokens());
        for (std::int64_t l = 0; l <= last; ++l) {
            const at::Tensor r = top(Hook::resid_mid_cross, l), y = top(Hook::mlp_out, l), o = top(Hook::resid_post, l);
            EXPECT_TRUE(l < last || at::equal(o, output)) << name;
            SCOPED_TRACE(name);
            expect_deciders(found.layers[static_cast<std::size_t>(l)], r, y, o, output);
        }
    }
    EXPECT_THROW(refinement({run_pair("t5", Stack::cross)}), Error);
}

/// BART and Marian: r, y and their sum through the norm that stands behind the sum, computed here in float64.
TEST(DecoderRefinement, ReadsTheSumAndItsPartsByTheNormBehindIt) {
    for (const char* name : {"bart", "marian"}) {
        const TracePtr decoder = run_pair(name);
        const at::Tensor w_u = trace::unembed(*decoder->model()).to(at::kDouble), b_u = trace::unembed_bias(*decoder->model());
        ASSERT_FALSE(trace::final_norm(*decoder->model()).gain.defined()) << "the last layer's norm is what reads the stream";
        const auto of = [&](Hook hook, std::int64_t l) { return trace::tensor(*decoder, {hook, Layer(l)}).to(at::kDouble); };
        const std::int64_t last = decoder->config().n_layers - 1;
        for (const ReadOut how : {ReadOut::model, ReadOut::unembedding}) {
            const Refinement found = refinement({decoder}, {.read_out = how, .values = false, .skip_first = false});
            const auto logits = [&](const at::Tensor& x, std::int64_t l) {
                if (how == ReadOut::unembedding) return at::mm(x, w_u);
                const trace::NormTensors norm = trace::mlp_weights(*decoder->model(), Layer(l)).norm;
                at::Tensor out = at::mm(at::layer_norm(x, {x.size(1)}, norm.gain.to(at::kDouble), norm.bias.to(at::kDouble),
                                                       decoder->config().norm_epsilon),
                                        w_u);
                if (b_u.defined()) out = out + b_u.to(at::kDouble);
                return out;
            };
            const auto top = [&](const at::Tensor& x, std::int64_t l) { return logits(x, l).argmax(1); };
            const at::Tensor output = top(of(Hook::resid_mid_cross, last) + of(Hook::mlp_out, last), last);
            if (how == ReadOut::model) {
                EXPECT_TRUE(at::equal(output, of(Hook::logits, 0).argmax(1))) << name;
            }
            for (std::int64_t l = 0; l <= last; ++l) {
                const at::Tensor before = of(Hook::resid_mid_cross, l), added = of(Hook::mlp_out, l);
                const at::Tensor r = top(before, l), y = top(added, l), o = top(before + added, l);
                SCOPED_TRACE(name);
                const LayerRefinement& layer = found.layers[static_cast<std::size_t>(l)];
                expect_deciders(layer, r, y, o, output);
                const at::Tensor p = at::softmax(logits(before, l), 1).gather(1, output.unsqueeze(1));
                EXPECT_NEAR(layer.residual_probability, p.mean().item<double>(), 1e-5) << name;
            }
        }
    }
}

/// An MLP that adds nothing leaves the token of the residual standing: r and the sum are read by the same norm.
TEST(DecoderRefinement, AnMlpThatAddsNothingDecidesNothing) {
    for (const char* name : {"t5", "bart", "mbart", "marian"}) {
        const TracePtr usual = run_pair(name);
        const trace::Intervention silent{"decoder.blocks.*.hook_mlp_out",
                                         [](model::HookPoint, const at::Tensor& t) { return at::zeros_like(t); }};
        const TracePtr run = trace::run_with_hooks(usual->model(), usual->tokenizer(), pair_prompt(), {}, {silent});
        for (const LayerRefinement& layer : refinement({run}, {.values = false, .skip_first = false}).layers)
            EXPECT_NEAR(layer.agreement + layer.residual, 1, 1e-12) << name;
    }
}

/// Of each of the three attentions: central differences of the loss by every weight of a head's columns of one group.
TEST(DecoderAttentionGradient, IsTheSlopeOfTheLossByEachAttention) {
    for (const char* name : {"t5", "bart"}) {
        const Asked a = asked(name);
        const text::Encoding &target = a.run->encoding(), &source = a.run->part(Stack::encoder)->encoding();
        const AttentionGradient g = attention_gradient(*a.model, *a.tokenizer, target, 0, {}, {}, source);
        EXPECT_THROW(attention_gradient(*a.model, *a.tokenizer, target), Error);
        EXPECT_EQ(g.predicted, target.size() - 1);
        ASSERT_TRUE(g.cross && g.encoder);
        const auto loss_with = [&](const std::string& hook, std::int64_t head, std::int64_t i, std::int64_t j, double step) {
            const trace::Intervention other{hook, [&](model::HookPoint, const at::Tensor& t) {
                                                const at::Tensor out = t.clone();
                                                out[head][i][j].add_(step);
                                                return out;
                                            }};
            const auto run = trace::run_with_hooks(a.model, a.tokenizer, pair_prompt(),
                                                   {.globs = {"logits"}, .overview = trace::no_overview}, {other});
            const at::Tensor p = at::log_softmax(trace::tensor(*run, {Hook::logits, Layer(0)}).to(at::kDouble), 1);
            double loss = 0;
            for (std::int64_t t = 0; t + 1 < target.size(); ++t)
                loss -= p[t][target.ids[static_cast<std::size_t>(t) + 1]].item<double>();
            return loss / static_cast<double>(target.size() - 1);
        };
        EXPECT_NEAR(g.loss, loss_with("decoder.blocks.0.attn.hook_pattern", 0, 0, 0, 0.0), 1e-6);
        struct Case {
            const char* hook;
            const GradientByKey& found;
            std::int64_t queries;
            bool causal;
        };
        for (const Case& each : {Case{"decoder.blocks.0.attn.hook_pattern", g, target.size(), true},
                                 Case{"decoder.blocks.0.cross_attn.hook_pattern", *g.cross, target.size(), false},
                                 Case{"encoder.blocks.0.attn.hook_pattern", *g.encoder, source.size(), false}}) {
            // Key 0 is a group by itself.
            double sum = 0;
            constexpr double step = 1e-4;
            const std::int64_t first = each.causal ? 1 : 0;
            for (std::int64_t i = first; i < each.queries; ++i)
                sum += std::abs(loss_with(each.hook, 1, i, 0, step) - loss_with(each.hook, 1, i, 0, -step)) / (2 * step);
            const double mean = sum / static_cast<double>(each.queries - first);
            EXPECT_GT(mean, 1e-7) << name << " " << each.hook << ": proves nothing";
            EXPECT_NEAR(each.found.gradient[0](0, 1), mean, 1e-4 * mean + 1e-9) << name << " " << each.hook;
            EXPECT_EQ(each.found.group_tokens[0], 1);
        }
        EXPECT_THROW(
            attention_gradient(*built_in("the cat")->model(), *built_in("the cat")->tokenizer(), target, 0, {}, {}, source),
            Error);
        // The weights themselves, mean over the pairs of a group.
        const auto& cross = a.run->part(Stack::cross);
        EXPECT_NEAR(g.cross->weight[0](1, 0),
                    trace::tensor(*cross, {Hook::pattern, Layer(1)})[0].select(1, 0).mean().item<double>(), 1e-9);
    }
}

TEST(DecoderDrivers, SumToThePreActivationAlsoBehindNorms) {
    for (const char* name : {"t5", "t5-v1_1", "bart", "mbart", "marian"}) {
        const TracePtr decoder = run_pair(name);
        const Decomposition split = neuron_drivers(*decoder, {Layer(1), Neuron(3)}, Position(3));
        EXPECT_NEAR(split.sum, split.total, 1e-4 * std::max(1.0, std::abs(split.total))) << name;
        EXPECT_GT(std::abs(cross_part(split)), 1e-4) << name;
    }
}

}  // namespace encoder_decoder_test
}  // namespace headlight::analyze
