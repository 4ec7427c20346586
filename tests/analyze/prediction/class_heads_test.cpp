// SPDX-License-Identifier: GPL-3.0-or-later
// Classifiers of texts and tokens, and question answering: what the analyses say of a class.
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/model/classes.h"
#include "headlight/model/peek.h"
#include "headlight/trace/pictures.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace headlight::analyze {
namespace class_heads_test {

using model::Hook;
using testing::HasSubstr;

std::filesystem::path classifier(const std::string& name) { return source_folder() / "tests/fixtures/class_heads" / name; }
TracePtr run(const std::string& name) {
    const auto model = model::read_config(classifier(name));
    if (!reads_pictures(model)) return run_model(classifier(name), cats);
    auto picture = std::make_shared<model::Picture>(model::Picture{20, 12, {}});
    for (int i = 0; i < 20 * 12 * 3; ++i) picture->rgb.push_back(static_cast<std::uint8_t>((i * 37 + i / 60 * 11) % 251));
    return trace::run(model::Model::load(classifier(name)), trace::load_tokenizer(classifier(name)),
                      {.image = "some.png", .picture = picture});
}

/// The fixtures with a tokenizer: an encoder with a pooler, one of means, a decoder with a linear head, tokens, answers, BART,
/// mBART; and those of pictures that read several rows.
constexpr const char* kNames[] = {"bert",
                                  "modernbert-mean",
                                  "gpt2",
                                  "bert-token",
                                  "bert-answer",
                                  "bart",
                                  "mbart",
                                  "clip-picture",
                                  "siglip-picture",
                                  "dinov2-picture",
                                  "dinov2-registers-picture"};

std::int64_t some_row(const trace::Trace& trace) {
    return model::class_position(trace.config(), trace.encoding().ids).value_or(2);
}

double at(const at::Tensor& t, std::int64_t row, std::int64_t column) { return t[row][column].to(at::kDouble).item<double>(); }

class EveryHead : public testing::TestWithParam<const char*> {};

TEST_P(EveryHead, AttributionClosesAndItsRestIsThatOfADenseLayer) {
    const TracePtr trace = run(GetParam());
    const model::ModelConfig& c = trace->config();
    const Position p(some_row(*trace));
    const at::Tensor logits = trace::tensor(*trace, {Hook::logits, Layer(0)});
    for (std::int64_t token = 0; token < logit_count(c); ++token) {
        const Decomposition one = attribution(*trace, p, {.token = token});
        EXPECT_NEAR(one.total, at(logits, p.value, token), 1e-6);
        EXPECT_NEAR(one.sum, one.total, 1e-5) << "class " << token;
        if (token > 0) {
            const Decomposition two = attribution(*trace, p, {.token = token, .minus = 0, .neurons = true});
            EXPECT_NEAR(two.sum, at(logits, p.value, token) - at(logits, p.value, 0), 1e-5);
        }
        const bool rest =
            std::ranges::any_of(one.parts, [](const Contribution& part) { return part.component == Component::nonlinear; });
        EXPECT_EQ(rest, c.class_head.dense);
    }
    const AttributionOptions asked{.token = 1};
    const Eigen::MatrixXd heads = attribution(*trace, p, asked).heads(c), all = all_head_sources(*trace, p, asked);
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            const Eigen::VectorXd sources = head_sources(*trace, head_id(l, h), p, asked);
            EXPECT_NEAR(sources.sum(), heads(l, h), 1e-5);
            EXPECT_NEAR((all.row(l * c.n_heads + h).transpose() - sources).norm(), 0, 1e-9);
        }
}

/// What is added behind the last layer changes a class logit, to first order, by the direction of its attribution: by the
/// gradient.
TEST_P(EveryHead, PartsOfTheLastLayerAreThoseOfTheGradient) {
    const TracePtr trace = run(GetParam());
    const model::ModelConfig& c = trace->config();
    const bool straight = !c.post_norm && !c.final_norm;  // no norm between the last layer and the head
    const bool behind_norm = c.post_norm && !has_cross_attention(c);
    if (!straight && !behind_norm) GTEST_SKIP() << "the norm's scale is held";
    const Position p(some_row(*trace));
    const model::HookPoint last{Hook::resid_post, Layer(c.n_layers - 1)};
    const trace::Gradients g = trace::gradients(*trace->model(), trace::ids_of(trace->encoding()), {last},
                                                [&](const at::Tensor& logits) { return logits[p.value][1]; });
    const at::Tensor u = g.gradients.at(last).to(at::kDouble), x = g.values.at(last).to(at::kDouble);
    double constant = 0;
    for (const Contribution& part : attribution(*trace, p, {.token = 1}).parts)
        if (part.component == Component::final_bias || part.component == Component::nonlinear) constant += part.value;
    EXPECT_NEAR((u * x).sum().item<double>(), at(trace::tensor(*trace, {Hook::logits, Layer(0)}), p.value, 1) - constant, 1e-4);
}

TEST_P(EveryHead, TheLensEndsAtTheOutput) {
    const TracePtr trace = run(GetParam());
    const model::ModelConfig& c = trace->config();
    if (head_of(c) == model::HeadKind::question_answering) GTEST_SKIP() << "TheLensOfAnAnswerIsOverTheTokens";
    const LogitLens lens = logit_lens(*trace, {.top = 3, .watch_text = true});
    const Position p(some_row(*trace));
    const LensState& output = lens.state(-1, p);
    const at::Tensor logits = trace::tensor(*trace, {Hook::logits, Layer(0)});
    ASSERT_EQ(std::ssize(output.top), logit_count(c));
    for (const TokenScore& each : output.top) EXPECT_NEAR(static_cast<double>(each.logit), at(logits, p.value, each.id), 1e-6);
    if (!reads_mean(c)) {
        EXPECT_NEAR(lens.state(c.n_layers - 1, p).kl_to_final, 0, 1e-6);
    }
    const Table table = table_of(lens, *trace, 1);
    EXPECT_EQ(std::get<std::string>(table.rows.back()[4]),
              c.labels[static_cast<std::size_t>(lens.state(-1, Position(trace->tokens() - 1)).top.front().id)]);
}

TEST_P(EveryHead, PredictionsAreTheDistributionOfTheLogits) {
    const TracePtr trace = run(GetParam());
    const model::ModelConfig& c = trace->config();
    const at::Tensor logits = trace::tensor(*trace, {Hook::logits, Layer(0)}).to(at::kDouble);
    const bool answer = head_of(c) == model::HeadKind::question_answering;
    const at::Tensor chances = at::softmax(logits, answer ? 0 : 1);
    const std::vector<ClassScore> scores = class_predictions(*trace, 100);
    const std::int64_t rows = answer || !model::class_position(c, trace->encoding().ids) ? trace->tokens() : 1;
    EXPECT_EQ(std::ssize(scores), rows * logit_count(c));
    double sum = 0;
    for (const ClassScore& each : scores) {
        EXPECT_NEAR(each.logit, at(logits, each.position.value, each.id), 1e-6);
        EXPECT_NEAR(each.probability, at(chances, each.position.value, each.id), 1e-6);
        sum += each.probability;
    }
    EXPECT_NEAR(sum, static_cast<double>(answer ? 2 : rows), 1e-5);
}

TEST_P(EveryHead, ImportanceIsOfTheClass) {
    const TracePtr trace = run(GetParam());
    const model::ModelConfig& c = trace->config();
    if (reads_pictures(c)) GTEST_SKIP() << "importance is of tokens";
    ImportanceOptions asked{.target = 1, .permutations = 0};
    if (has_cross_attention(c)) asked.source = trace->part(model::Stack::encoder)->encoding();
    const auto of = [&] {
        return importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(some_row(*trace)), asked);
    };
    const bool answer = head_of(c) == model::HeadKind::question_answering;
    const Importance found = of();
    EXPECT_FALSE(found.masked);
    const at::Tensor chances = at::softmax(trace::tensor(*trace, {Hook::logits, Layer(0)}).to(at::kDouble), answer ? 0 : 1);
    EXPECT_NEAR(found.probability, at(chances, some_row(*trace), 1), 1e-6);
    EXPECT_TRUE(std::ranges::all_of(found.blank_out, [](double lost) { return std::isfinite(lost); }));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EveryHead, testing::ValuesIn(kNames),
                         [](const auto& each) { return test::case_name(each.param); });

/// Each row of a head of means is the output, and each of them has the mean of the parts.
TEST(ClassHeads, OfAMeanEveryRowIsTheOutput) {
    for (const char* name : {"modernbert-mean", "clip-picture", "dinov2-picture"}) {
        const TracePtr trace = run(name);
        const at::Tensor logits = trace::tensor(*trace, {Hook::logits, Layer(0)});
        EXPECT_TRUE(at::allclose(logits, logits[0].expand_as(logits), 1e-5, 1e-6)) << name;
    }
}

/// Each layer gives a distribution over the tokens for the start, and one for the end.
TEST(ClassHeads, TheLensOfAnAnswerIsOverTheTokens) {
    const TracePtr trace = run("bert-answer");
    const std::int64_t layers = trace->config().n_layers, tokens = trace->tokens();
    for (const std::int64_t end : {0, 1}) {
        const LogitLens lens = logit_lens(*trace, {.top = 2, .watched = end});
        EXPECT_TRUE(lens.over_tokens);
        for (std::int64_t l = 0; l <= layers; ++l) {
            const at::Tensor stream = trace::tensor(*trace, {Hook::resid_post, Layer(std::min(l, layers - 1))});
            const at::Tensor column =
                (l < layers ? trace::logits_of(*trace->model(), stream) : trace::tensor(*trace, {Hook::logits, Layer(0)}))
                    .to(at::kDouble)
                    .select(1, end);
            const at::Tensor log = at::log_softmax(column, 0),
                             out = at::log_softmax(trace::tensor(*trace, {Hook::logits, Layer(0)}).to(at::kDouble).select(1, end),
                                                   0);
            for (std::int64_t i = 0; i < tokens; ++i) {
                const LensState& state = lens.state(l < layers ? l : -1, Position(i));
                ASSERT_EQ(state.top.size(), 2);
                EXPECT_GE(state.top[0].probability, state.top[1].probability);
                EXPECT_EQ(state.watched.id, end);
                EXPECT_NEAR(static_cast<double>(state.watched.logit), column[i].item<double>(), 1e-5);
                EXPECT_NEAR(static_cast<double>(state.watched.probability), log[i].exp().item<double>(), 1e-6);
                EXPECT_EQ(state.watched_rank, (column > column[i]).sum().item<std::int64_t>());
                EXPECT_NEAR(state.entropy, -(log.exp() * log).sum().item<double>(), 1e-5);
                EXPECT_NEAR(state.kl_to_final, (out.exp() * (out - log)).sum().item<double>(), 1e-5);
            }
        }
        const LensHistory history = lens_history(*trace, Position(3), {end});
        for (std::int64_t l = 0; l <= layers; ++l) {
            const LensState& state = lens.state(l < layers ? l : -1, Position(3));
            EXPECT_EQ(history.scores[static_cast<std::size_t>(l)].probability, state.watched.probability);
            EXPECT_EQ(history.ranks[static_cast<std::size_t>(l)], state.watched_rank);
        }
    }
    EXPECT_EQ(logit_lens(*trace).watched, 0) << "the start unless asked";
}

/// What a token's absence takes from the probability of a start, by runs of the changed texts.
TEST(ClassHeads, ImportanceOfAnAnswerIsThatOfItsPlaceAmongTheTokens) {
    const TracePtr trace = run("bert-answer");
    const model::Model& model = *trace->model();
    const trace::TokenIds ids = trace::ids_of(trace->encoding());
    for (const std::int64_t end : {0, 1}) {
        const Importance found =
            importance(model, *trace->tokenizer(), trace->encoding(), Position(3), {.target = end, .permutations = 2});
        const auto chance = [&](const trace::TokenIds& read) {
            return at::softmax(trace::replay(model, read).to(at::kDouble).select(1, end), 0)[3].item<double>();
        };
        EXPECT_NEAR(found.probability, chance(ids), 1e-6);
        EXPECT_FALSE(found.masked);
        for (std::size_t j = 0; j < ids.ids.size(); ++j) {
            trace::TokenIds other = ids;
            other.ids[j] = found.neutral;
            EXPECT_NEAR(found.blank_out[j], found.probability - chance(other), 1e-6) << j;
        }
        const model::HookPoint input{Hook::resid_pre, Layer(0)};
        const trace::Gradients g = trace::gradients(
            model, ids, {input}, [&](const at::Tensor& logits) { return at::softmax(logits.select(1, end), 0)[3]; });
        const at::Tensor product = (g.values.at(input).to(at::kDouble) * g.gradients.at(input).to(at::kDouble)).sum(1);
        for (std::size_t j = 0; j < ids.ids.size(); ++j)
            EXPECT_NEAR(found.gradient_x_input[j], product[static_cast<std::int64_t>(j)].item<double>(), 1e-6);
        EXPECT_GT(found.layers.front().shuffled_high, 0);
    }
}

/// One score, whose probability is that against a choice of score 0.
TEST(ClassHeads, AChoiceHasOneScore) {
    const TracePtr trace = run("bert-choice");
    const double score = at(trace::tensor(*trace, {Hook::logits, Layer(0)}), 0, 0);
    const std::vector<ClassScore> scores = class_predictions(*trace, 10);
    ASSERT_EQ(scores.size(), 1);
    EXPECT_EQ(output_label(*trace, scores.front().id), "choice");
    EXPECT_NEAR(scores.front().logit, score, 1e-6);
    EXPECT_NEAR(scores.front().probability, 1 / (1 + std::exp(-score)), 1e-6);
    const Decomposition parts = attribution(*trace, Position(0), {.token = 0});
    EXPECT_NEAR(parts.sum, score, 1e-5);
    EXPECT_NEAR(logit_lens(*trace).state(-1, Position(0)).top.front().logit, score, 1e-6);
    const Importance found =
        importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(0), {.target = 0, .permutations = 0});
    EXPECT_NEAR(found.probability, scores.front().probability, 1e-6);
}

TEST(ClassHeads, WhatIsAboutTokensIsRefused) {
    const TracePtr trace = run("gpt2");
    EXPECT_THAT(test::error_of([&] { predictions(*trace); }), HasSubstr("sequence classifier of 3 classes"));
    EXPECT_FALSE(unembeds_stream(trace->config()));
    EXPECT_EQ(output_label(*trace, 2), "POSITIVE");
    EXPECT_EQ(choose_output(trace->config(), *trace->tokenizer(), "negative", "--token").id, 0);
}

}  // namespace class_heads_test
}  // namespace headlight::analyze
