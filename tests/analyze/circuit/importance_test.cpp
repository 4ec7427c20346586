// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/importance.h"

#include "headlight/analyze/heads/rank_correlation.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/replay.h"
#include "tests/analyze/traces.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <random>

namespace headlight::analyze {
namespace importance_test {

using trace::TokenIds;

using Values = std::vector<double>;

TEST(RankCorrelation, KnownNumbers) {
    EXPECT_DOUBLE_EQ(spearman(Values{1, 2, 3, 4}, Values{10, 20, 30, 400}), 1);
    EXPECT_DOUBLE_EQ(kendall(Values{1, 2, 3, 4}, Values{4, 3, 2, 1}), -1);
    // scipy.stats.spearmanr and kendalltau (b) with ties on both sides.
    const Values x = {12, 2, 1, 12, 2}, y = {1, 4, 7, 1, 0};
    EXPECT_NEAR(kendall(x, y), -0.4714045207910316, 1e-12);
    EXPECT_NEAR(spearman(x, y), -0.5407380704358752, 1e-12);
    const double gap = std::nan("");
    EXPECT_DOUBLE_EQ(spearman(Values{1, gap, 3, 2}, Values{1, 5, 3, gap}), 1);
    EXPECT_TRUE(std::isnan(spearman(Values{1}, Values{1})));
    EXPECT_TRUE(std::isnan(kendall(Values{1, 1, 1}, Values{1, 2, 3})));
}

TEST(RankCorrelation, KendallCountsEveryPair) {
    std::mt19937 random(1);
    for (const int kinds : {2, 7, 1000})
        for (const std::size_t n : {2, 3, 64, 201}) {
            Values x, y;
            for (std::size_t i = 0; i < n; ++i) {
                x.push_back(static_cast<double>(random() % static_cast<unsigned>(kinds)));
                y.push_back(static_cast<double>(random() % static_cast<unsigned>(kinds)) + 0.5 * x.back());
            }
            double both = 0, of_x = 0, of_y = 0;
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < i; ++j) {
                    const int dx = (x[i] > x[j]) - (x[i] < x[j]), dy = (y[i] > y[j]) - (y[i] < y[j]);
                    both += dx * dy;
                    of_x += dx * dx;
                    of_y += dy * dy;
                }
            if (of_x == 0 || of_y == 0)
                EXPECT_TRUE(std::isnan(kendall(x, y)));
            else
                EXPECT_NEAR(kendall(x, y), both / std::sqrt(of_x * of_y), 1e-14) << kinds << " " << n;
        }
}

double probability(const model::Model& model, const TokenIds& tokens, std::int64_t row, std::int64_t target,
                   const std::vector<trace::Intervention>& hooks = {}) {
    return at::softmax(trace::replay(model, tokens, hooks).select(0, row).to(at::kDouble), 0)[target].item<double>();
}

class EveryFamilyImportance : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryFamilyImportance, GradientBlankOutAndAttentionAreThoseOfTheModel) {
    const auto model = model::Model::load(GetParam(), {.dtype = model::ComputeType::float64});
    const auto tokenizer = text::Tokenizer::load(GetParam());
    const text::Encoding encoding = tokenizer->encode(cats);
    const std::int64_t at = encoding.size() - 3;
    if (!model->config().has_unembedding) {
        EXPECT_THROW(importance(*model, *tokenizer, encoding, Position(at)), Error);
        return;
    }
    const Importance r = importance(*model, *tokenizer, encoding, Position(at), {.permutations = 5});
    TokenIds tokens = trace::ids_of(encoding);
    const bool causal = model->config().causal;
    if (causal) {
        tokens.ids.resize(static_cast<std::size_t>(at) + 1);
        tokens.type_ids.resize(tokens.ids.size());
    } else if (tokenizer->mask_id()) {
        tokens.ids[static_cast<std::size_t>(at)] = *tokenizer->mask_id();
    }
    ASSERT_EQ(r.tokens, static_cast<std::int64_t>(tokens.ids.size()));
    EXPECT_EQ(r.masked, !causal && tokenizer->mask_id().has_value());
    EXPECT_EQ(r.input, model->config().embed_norm ? InputVectors::stream : InputVectors::embedding);
    const double p = probability(*model, tokens, at, r.target);
    EXPECT_NEAR(r.probability, p, 1e-12);
    for (std::int64_t j = 0; j < r.tokens; ++j) {
        const auto index = static_cast<std::size_t>(j);
        // Along the embedding itself: d/ds p(x (1 + s)).
        constexpr double step = 1e-5;
        const auto scaled = [&](double by) {
            const auto change = [&](model::HookPoint, const at::Tensor& x) {
                at::Tensor changed = x.clone();
                changed[j] *= 1 + by;
                return changed;
            };
            const bool stream = r.input == InputVectors::stream;
            return probability(*model, tokens, at, r.target, {{stream ? "blocks.0.hook_resid_pre" : "hook_embed", change}});
        };
        EXPECT_NEAR(r.gradient_x_input[index], (scaled(step) - scaled(-step)) / (2 * step), 1e-7) << j;
        TokenIds without = tokens;
        without.ids[index] = r.neutral;
        if (r.masked && j == at)
            EXPECT_TRUE(std::isnan(r.blank_out[index]));
        else
            EXPECT_NEAR(r.blank_out[index], p - probability(*model, without, at, r.target), 1e-12);
    }
    for (std::int64_t l = 0; l < model->config().n_layers; ++l) {
        if (model->config().attention_sinks)  // the rest goes to no key
            EXPECT_LT(r.attention.row(l).sum(), 1);
        else
            EXPECT_NEAR(r.attention.row(l).sum(), 1, 1e-9);
    }
    for (const LayerImportance& layer : r.layers) {
        EXPECT_GE(layer.shuffled_low, 0);
        EXPECT_LE(layer.shuffled_low, layer.shuffled_median);
        EXPECT_LE(layer.shuffled_median, layer.shuffled_high);
        EXPECT_LE(layer.shuffled_high, 1);
        EXPECT_GT(layer.shuffled_high, 0) << "shuffled weights change the prediction";
    }
}

TEST_P(EveryFamilyImportance, ValueWeightedIsTheLengthOfWhatIsWritten) {
    const TracePtr trace = run_model(GetParam(), cats);
    if (!trace->config().has_unembedding || !trace->config().causal) return;
    const std::int64_t at = trace->tokens() - 1;
    const Importance r = importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(at),
                                    {.blank_out = false, .permutations = 0});
    EXPECT_EQ(r.neutral, -1);
    EXPECT_TRUE(std::isnan(r.blank_out[0]));
    EXPECT_TRUE(std::isnan(r.layers[0].attention_blank.spearman));
    EXPECT_TRUE(std::isnan(r.layers[0].shuffled_median));
    // What all heads write is the sum over tokens; one token's part, by making its weight the only one.
    for (std::int64_t l = 0; l < trace->config().n_layers; ++l)
        for (const std::int64_t j : {std::int64_t{0}, at / 2, at}) {
            at::Tensor written;
            const auto only = [&](model::HookPoint, const at::Tensor& p) {
                at::Tensor changed = at::zeros_like(p);
                changed.select(1, at).select(1, j).copy_(p.select(1, at).select(1, j));
                return changed;
            };
            const auto keep = [&](model::HookPoint, const at::Tensor& t) {
                written = t.select(0, at).sum(0);
                return t;
            };
            const std::string block = "blocks." + std::to_string(l) + ".attn.";
            trace::replay(*trace->model(), trace::ids_of(trace->encoding()),
                          {{block + "hook_pattern", only}, {block + "hook_result", keep}});
            EXPECT_NEAR(r.value_weighted(l, j), written.norm().item<double>(), 1e-4 * std::max(1.0, r.value_weighted(l, j)));
        }
}

TEST_P(EveryFamilyImportance, AttentionGradientIsThatOfTheLoss) {
    const auto model = model::Model::load(GetParam(), {.dtype = model::ComputeType::float64});
    const auto tokenizer = text::Tokenizer::load(GetParam());
    const text::Encoding encoding = tokenizer->encode(cats);
    const auto& c = model->config();
    if (!c.has_unembedding || (!c.causal && !tokenizer->mask_id())) {
        EXPECT_THROW(attention_gradient(*model, *tokenizer, encoding), Error);
        return;
    }
    const AttentionGradient g = attention_gradient(*model, *tokenizer, encoding, 3);
    EXPECT_GT(g.loss, 0);
    std::int64_t keys = 0;
    for (const std::int64_t count : g.group_tokens) keys += count;
    EXPECT_EQ(keys, encoding.size());
    EXPECT_EQ(g.group_tokens[0], 1);
    EXPECT_GE(g.group_tokens[2], 1) << "the full stop";
    if (!c.causal) return;
    const auto loss = [&](const at::Tensor& logits) {
        at::Tensor sum = at::zeros({}, at::kDouble);
        for (std::int64_t i = 0; i + 1 < encoding.size(); ++i)
            sum = sum - at::log_softmax(logits[i], 0)[encoding.ids[static_cast<std::size_t>(i) + 1]];
        return sum / static_cast<double>(encoding.size() - 1);
    };
    const model::HookPoint first{model::Hook::pattern, Layer(0)};
    const trace::Gradients direct = trace::gradients(*model, trace::ids_of(encoding), {first}, loss);
    EXPECT_NEAR(g.loss, direct.value, 1e-9);
    const at::Tensor column = direct.gradients.at(first).abs().select(2, 0);  // key 0: [head, query]
    for (std::int64_t h = 0; h < c.n_heads; ++h)
        EXPECT_NEAR(g.gradient[0](0, h), column[h].narrow(0, 1, encoding.size() - 1).mean().item<double>(), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamilyImportance, testing::ValuesIn([] {
                             auto folders = model_folders();
                             folders.erase(folders.begin());  // the built-in model has its golden
                             return folders;
                         }()),
                         [](const auto& each) {
                             std::string name = each.param.filename();
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(Importance, OfATextTooLongForGradientsIsAnErrorBeforeAnyPass) {
    const auto model = model::Model::load(source_folder() / "models/novella-7m");
    const auto tokenizer = text::Tokenizer::load(source_folder() / "models/novella-7m");
    const text::Encoding encoding = tokenizer->encode_ids(std::vector<std::int64_t>(200'000, 5));
    const Progress progress = [](const ProgressStep&) { FAIL() << "a pass has begun"; };
    const std::string message =
        test::error_of([&] { importance(*model, *tokenizer, encoding, Position(199'999), {}, {}, progress); });
    EXPECT_THAT(message, testing::HasSubstr("Not enough memory for gradients over 200000 tokens"));
    EXPECT_THAT(message, testing::HasSubstr("Shorten the text"));
}

TEST(Importance, ANormBehindTheEmbeddingTakesOutItsLength) {
    const TracePtr trace = built_in(doctor);
    const auto largest = [&](InputVectors input) {
        const Importance r = importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(13),
                                        {.input = input, .blank_out = false, .permutations = 0});
        double most = 0;
        for (const double v : r.gradient_x_input) most = std::max(most, std::abs(v));
        return most;
    };
    EXPECT_LT(largest(InputVectors::embedding), 1e-2 * largest(InputVectors::stream)) << "why it is not the default here";
}

/// A layer of one of hundreds of passes is no layer of the model.
TEST(Importance, ProgressCountsPasses) {
    const TracePtr trace = built_in(doctor);
    std::vector<ProgressStep> steps;
    importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(13), {.permutations = 2}, {},
               [&](const ProgressStep& step) { steps.push_back(step); });
    ASSERT_FALSE(steps.empty());
    std::int64_t done = 0;
    for (const ProgressStep& step : steps) {
        EXPECT_EQ(step.unit, "pass");
        EXPECT_EQ(step.total, steps.front().total);
        EXPECT_GE(step.done, done);
        done = step.done;
    }
    EXPECT_EQ(done, steps.front().total);
}

TEST(Importance, SameSeedSameShuffles) {
    const TracePtr trace = built_in(doctor);
    const auto ask = [&](std::uint64_t seed) {
        return importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(8),
                          {.blank_out = false, .permutations = 6, .seed = seed});
    };
    const Importance a = ask(1), b = ask(1), other = ask(2);
    EXPECT_EQ(a.layers[3].shuffled_median, b.layers[3].shuffled_median);
    EXPECT_NE(a.layers[3].shuffled_median, other.layers[3].shuffled_median);
}

TEST(Importance, OneTokenLeavesGaps) {
    const TracePtr trace = built_in(doctor);
    const Importance r = importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(0));
    EXPECT_EQ(r.tokens, 1);
    EXPECT_TRUE(std::isnan(r.layers[0].attention_gradient.spearman));
    EXPECT_TRUE(std::isnan(r.layers[0].shuffled_median));
    EXPECT_EQ(r.attention(0, 0), 1);
}

TEST(Importance, SaysWhatDoesNotExist) {
    const TracePtr trace = built_in(doctor);
    const auto message = [&](Position position, const ImportanceOptions& o) {
        return test::error_of([&] { importance(*trace->model(), *trace->tokenizer(), trace->encoding(), position, o); });
    };
    EXPECT_THAT(message(Position(99), {}), testing::HasSubstr("99"));
    EXPECT_THAT(message(Position(3), {.target = 8192}), testing::AllOf(testing::HasSubstr("8191"), testing::HasSubstr("8192")));
    EXPECT_THAT(message(Position(3), {.neutral = -5}), testing::HasSubstr("-5"));
}

/// tests/golden/make_circuit_golden.py: autograd and plain passes of Hugging Face transformers in float64.
TEST(Importance, AgreesWithTransformers) {
    const auto golden = io::read_json(source_folder() / "tests/golden/importance.json");
    ASSERT_EQ(golden.size(), 2U);
    for (const auto& [name, e] : golden.items()) {
        SCOPED_TRACE(name);
        const auto folder = source_folder() / (name == "novella-7m" ? "models" : "tests/fixtures/models") / name;
        const auto model = model::Model::load(folder);
        const auto tokenizer = text::Tokenizer::load(folder);
        const text::Encoding encoding = tokenizer->encode(e["text"].get<std::string>());
        const Importance r = importance(*model, *tokenizer, encoding, Position(e["position"]), {.permutations = 0});
        EXPECT_EQ(r.target, e["target"].get<std::int64_t>());
        EXPECT_NEAR(r.probability, e["probability"].get<double>(), 1e-4 * r.probability);
        const auto expect_row = [](const auto& found, const nlohmann::json& row, const char* what) {
            ASSERT_EQ(static_cast<std::size_t>(found.size()), row.size()) << what;
            double largest = 0;
            for (const auto& v : row) largest = std::max(largest, std::abs(v.get<double>()));
            for (std::size_t j = 0; j < row.size(); ++j)
                EXPECT_NEAR(found[static_cast<Eigen::Index>(j)], row[j].get<double>(), 1e-4 * largest) << what << " " << j;
        };
        const auto vector = [](const Values& v) {
            return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size())));
        };
        expect_row(vector(r.gradient_x_input), e["gradient_x_input"], "gradient x input");
        expect_row(vector(r.blank_out), e["blank_out"], "blank-out");
        for (Eigen::Index l = 0; l < r.attention.rows(); ++l) {
            const auto layer = static_cast<std::size_t>(l);
            expect_row(Eigen::VectorXd(r.attention.row(l)), e["attention"][layer], "attention");
            EXPECT_NEAR(r.layers[layer].attention_blank.spearman, e["spearman_blank"][layer].get<double>(), 1e-6);
            EXPECT_NEAR(r.layers[layer].attention_gradient.kendall, e["kendall_gradient"][layer].get<double>(), 1e-6);
        }
        const AttentionGradient g = attention_gradient(*model, *tokenizer, encoding);
        EXPECT_NEAR(g.loss, e["loss"].get<double>(), 1e-4 * g.loss);
        for (std::size_t group = 0; group < g.groups.size(); ++group)
            for (Eigen::Index l = 0; l < g.gradient[group].rows(); ++l)
                for (Eigen::Index h = 0; h < g.gradient[group].cols(); ++h) {
                    const auto& expected =
                        e["gradient"][g.groups[group]][static_cast<std::size_t>(l)][static_cast<std::size_t>(h)];
                    if (expected.is_null())
                        EXPECT_TRUE(std::isnan(g.gradient[group](l, h)));
                    else
                        EXPECT_NEAR(g.gradient[group](l, h), expected.get<double>(), 1e-3 * expected.get<double>() + 1e-7);
                }
    }
}

}  // namespace importance_test
}  // namespace headlight::analyze
