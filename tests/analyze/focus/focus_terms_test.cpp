// SPDX-License-Identifier: GPL-3.0-or-later
// The score taken apart: identities that hold whatever the weights are, over every family.
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/pattern/sinks.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/scratch_copy.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace focus_terms_test {

const std::vector<FocusOptions>& all_options() {
    static const std::vector<FocusOptions> options = {
        {}, {.five_terms = true}, {.absolute_positions = true}, {.five_terms = true, .absolute_positions = true}};
    return options;
}

std::vector<HeadId> heads_of(const trace::Trace& trace) {
    std::vector<HeadId> heads;
    for (std::int64_t l = 0; l < trace.config().n_layers; ++l)
        for (std::int64_t h = 0; h < trace.config().n_heads; ++h) heads.push_back(head_id(l, h));
    return heads;
}

/// Sum of the terms that exist.
Eigen::VectorXd sum_of(const FocusFacts& facts, const Eigen::MatrixXd& terms, bool without_row_constants = false) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(terms.rows());
    for (std::size_t t = 0; t < facts.terms.size(); ++t)
        if (facts.terms[t].exists && !(without_row_constants && facts.terms[t].row_constant))
            sum += terms.col(static_cast<Eigen::Index>(t));
    return sum;
}

Eigen::VectorXd softmax(const Eigen::VectorXd& score) {
    const Eigen::VectorXd e = (score.array() - score.maxCoeff()).exp();
    return e / e.sum();
}

class FocusTerms : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(FocusTerms, SumToTheScoreAndGiveTheWeights) {
    const TracePtr trace = run_model(GetParam(), cats);
    for (const HeadId id : heads_of(*trace))
        for (const FocusOptions& options : all_options()) {
            const FocusFacts facts = focus_facts(*trace, id, options);
            const Vector sinks = sink_shares(*trace, id);
            ASSERT_EQ(facts.terms.size(), options.five_terms ? 5U : 3U);
            std::int64_t rows = 0;
            for_each_focus_row(*trace, id, options, [&](const FocusRow& row) {
                EXPECT_EQ(row.query, Position(rows++));
                EXPECT_EQ(row.targets, facts.causal ? rows : trace->tokens());
                const model::ModelConfig& c = trace->config();
                const auto [hidden, end] =
                    model::legal_keys(row.query.value, row.targets, facts.causal, model::window_of(c, id.layer.value));
                const Eigen::Index seen = end - hidden, behind = row.targets - end;
                EXPECT_TRUE(row.score.head(hidden).array().isNaN().all() && row.terms.topRows(hidden).array().isNaN().all());
                EXPECT_TRUE(row.score.tail(behind).array().isNaN().all() && row.terms.bottomRows(behind).array().isNaN().all());
                EXPECT_EQ((row.probability.array() != 0).count(), (row.probability.segment(hidden, seen).array() != 0).count());
                const Eigen::VectorXd score = row.score.segment(hidden, seen),
                                      probability = row.probability.segment(hidden, seen);
                const Eigen::MatrixXd terms = row.terms.middleRows(hidden, seen);
                const auto capped = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
                    return c.score_softcap > 0 ? Eigen::VectorXd((x.array() / c.score_softcap).tanh() * c.score_softcap) : x;
                };
                const double scale = std::max(1.0, score.cwiseAbs().maxCoeff());
                const Eigen::VectorXd sum = capped(sum_of(facts, terms));
                EXPECT_LE((sum - score).cwiseAbs().maxCoeff(), 1e-5 * scale);
                const double left = sinks.size() > 0 ? 1 - static_cast<double>(sinks[row.query.value]) : 1;  // for the keys
                EXPECT_LE((softmax(sum) * left - probability).cwiseAbs().maxCoeff(), 1e-5 * scale);
                if (c.score_softcap == 0) {
                    const Eigen::VectorXd less = sum_of(facts, terms, true);
                    EXPECT_LE((softmax(less) * left - probability).cwiseAbs().maxCoeff(), 1e-5 * scale)
                        << "what is the same along a row must cancel";
                }
                for (std::size_t t = 0; t < facts.terms.size(); ++t) {
                    const auto column = terms.col(static_cast<Eigen::Index>(t)).array();
                    EXPECT_EQ(facts.terms[t].exists, !column.isNaN().any());
                    if (facts.terms[t].row_constant) {
                        EXPECT_LE((column - column[0]).abs().maxCoeff(), 1e-12);
                    }
                }
            });
            EXPECT_EQ(rows, trace->tokens());
        }
}

TEST_P(FocusTerms, FiveAreTheThreeTakenFurtherApart) {
    const TracePtr trace = run_model(GetParam(), cats);
    const HeadId id = head_id(trace->config().n_layers - 1, trace->config().n_heads - 1);
    std::vector<FocusRow> three;
    for_each_focus_row(*trace, id, {}, [&](const FocusRow& row) { three.push_back(row); });
    for_each_focus_row(*trace, id, {.five_terms = true}, [&](const FocusRow& row) {
        const Eigen::MatrixXd& of_three = three[static_cast<std::size_t>(row.query.value)].terms;
        const Eigen::ArrayXd bias = row.terms.col(1) + row.terms.col(4) - of_three.col(1);
        const Eigen::ArrayXd content = row.terms.col(2) + row.terms.col(3) - of_three.col(2);
        EXPECT_LT(bias.isNaN().count(), bias.size());
        EXPECT_TRUE((bias.isNaN() == content.isNaN()).all());
        EXPECT_LE(bias.isNaN().select(0, bias).abs().maxCoeff(), 1e-9) << "bias";
        EXPECT_LE(content.isNaN().select(0, content).abs().maxCoeff(), 1e-9) << "content";
    });
}

/// W_q, W_k and the biases applied to what attention reads give the same five terms.
TEST_P(FocusTerms, FiveAreWhatTheWeightsSay) {
    const TracePtr trace = run_model(GetParam(), cats);
    const auto& config = trace->config();
    const HeadId id = head_id(1, 0);
    const trace::AttentionTensors w = trace::attention_weights(*trace->model(), id.layer);
    if (config.qk_norm != model::QkNorm::none || config.qkv_clip > 0 || config.latent.any())
        return;  // not linear in what attention reads
    at::Tensor x = trace::tensor(*trace, {model::Hook::resid_pre, id.layer});
    if (model::norm_before_attention(config, id.layer.value)) {
        x = trace::tensor(*trace, {model::Hook::ln1_normalized, id.layer}) * w.norm.gain;
        if (w.norm.bias.defined()) x = x + w.norm.bias;
    }
    const at::Tensor q = at::matmul(x, w.w_q[0]), k = at::matmul(x, w.w_k[0]);
    const auto zeros = at::zeros({config.d_head});
    const at::Tensor b_q = w.b_q.defined() ? w.b_q[0] : zeros, b_k = w.b_k.defined() ? w.b_k[0] : zeros;
    for_each_focus_row(*trace, id, {.five_terms = true}, [&](const FocusRow& row) {
        for (std::int64_t j = 0; j < row.targets; ++j) {
            if (std::isnan(row.score[j])) continue;  // outside a window
            const at::Tensor own = q[row.query.value], key = k[j];
            const double s = model::score_scale_of(config, id.layer.value);
            const auto product = [&](const at::Tensor& a, const at::Tensor& b) { return s * at::dot(a, b).item<double>(); };
            EXPECT_NEAR(row.terms(j, 1), product(b_q, key), 2e-5);
            EXPECT_NEAR(row.terms(j, 2), product(own, key), 2e-5);
            EXPECT_NEAR(row.terms(j, 3), product(own, b_k), 2e-5);
            EXPECT_NEAR(row.terms(j, 4), product(b_q, b_k), 2e-5);
        }
    });
}

TEST_P(FocusTerms, TheBreakdownIsTheRowsInOrderOfTheirScores) {
    const TracePtr trace = run_model(GetParam(), cats);
    for (const FocusOptions& options : all_options()) {
        const HeadId id = head_id(1, trace->config().n_heads - 1);
        std::vector<FocusRow> rows;
        for_each_focus_row(*trace, id, options, [&](const FocusRow& row) { rows.push_back(row); });
        for (std::int64_t rank = 0; rank < trace->tokens(); ++rank) {
            const FocusBreakdown found = focus_breakdown(std::array{trace}, id, rank, options);
            ASSERT_EQ(found.queries.size(), rows.size());
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const FocusRow& row = rows[i];
                const auto at = static_cast<Eigen::Index>(i);
                EXPECT_EQ(found.queries[i].position, row.query);
                const std::int64_t hidden = row.score.array().isNaN().count();
                if (rank >= row.targets - hidden) {
                    EXPECT_EQ(found.keys[i], -1);
                    EXPECT_TRUE(std::isnan(found.score[at]) && std::isnan(found.probability[at]));
                    EXPECT_TRUE(found.terms.row(at).array().isNaN().all());
                    continue;
                }
                std::vector<std::int64_t> order;
                for (std::int64_t k = 0; k < row.targets; ++k)
                    if (!std::isnan(row.score[k])) order.push_back(k);
                std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return row.score[a] > row.score[b]; });
                const std::int64_t key = order[static_cast<std::size_t>(rank)];
                ASSERT_EQ(found.keys[i], key);
                EXPECT_EQ(found.score[at], row.score[key]);
                EXPECT_EQ(found.probability[at], row.probability[key]);
                for (Eigen::Index t = 0; t < row.terms.cols(); ++t)
                    if (found.facts.terms[static_cast<std::size_t>(t)].exists) {
                        EXPECT_NEAR(found.terms(at, t), row.terms(key, t), 1e-9);
                    }
            }
        }
    }
}

TEST_P(FocusTerms, MapAndMaximaAreThoseOfTheScores) {
    const TracePtr trace = run_model(GetParam(), cats);
    const bool causal = trace->config().causal;
    for (const HeadId id : heads_of(*trace)) {
        const FocusMap map = focus_map(*trace, id);
        const FocusMaxima alone = focus_maxima(*trace, id);
        const Matrix expected = scores(*trace, id);
        std::int64_t self = 0, first = 0;
        for (std::int64_t i = 0; i < trace->tokens(); ++i) {
            const model::KeyRange keys =
                model::legal_keys(i, trace->tokens(), causal, model::window_of(trace->config(), id.layer.value));
            Eigen::Index best = 0;
            expected.row(i).segment(keys.first, keys.count()).maxCoeff(&best);
            best += keys.first;
            for (const FocusMaxima* maxima : {&map.maxima, &alone}) {
                const RowMaximum& row = maxima->rows[static_cast<std::size_t>(i)];
                EXPECT_EQ(row.key, best);
                EXPECT_EQ(row.kind, best == i ? Maximum::self : best == 0 ? Maximum::first : Maximum::other);
                EXPECT_EQ(row.counted, !causal || i > 0);
                EXPECT_NEAR(maxima->row_mean[i], expected.row(i).segment(keys.first, keys.count()).mean(), 1e-5);
            }
            if (causal && i == 0) continue;
            self += best == i;
            first += best == 0 && i != 0;
            for (std::int64_t j = 0; j < trace->tokens(); ++j)
                EXPECT_TRUE(keys.has(j) ? map.score(i, j) == expected(i, j) : std::isnan(map.score(i, j)));
        }
        EXPECT_EQ(map.maxima.on_self, self);
        EXPECT_EQ(map.maxima.on_first, first);
        EXPECT_EQ(map.maxima.counted, trace->tokens() - (causal ? 1 : 0));
        EXPECT_NEAR(alone.on_self / static_cast<double>(alone.counted), head_measure(*trace, id, "argmax_self"), 1e-9);
    }
}

TEST_P(FocusTerms, CaptionsSayWhatTheModelLacks) {
    const TracePtr trace = run_model(GetParam(), cats);
    const auto& config = trace->config();
    const FocusFacts facts = focus_facts(*trace, head_id(0, 0));
    std::string notes;
    for (const std::string& note : facts.notes) notes += note + "\n";
    const bool relative = config.disentangled.any();
    const bool separable =
        config.positions == model::Positions::alibi || config.positions == model::Positions::rotary || relative;
    EXPECT_EQ(facts.terms[0].exists, separable);
    EXPECT_EQ(notes.find("position term is of relative positions") != std::string::npos, relative);
    EXPECT_EQ(notes.find("no separate position term") != std::string::npos,
              config.positions == model::Positions::learned && !relative);
    EXPECT_EQ(notes.find("with rotation minus") != std::string::npos, config.positions == model::Positions::rotary);
    EXPECT_EQ(notes.find("-m_h (i - j)") != std::string::npos, config.positions == model::Positions::alibi);
    EXPECT_EQ(notes.find("looks both ways") != std::string::npos, !config.causal);
    EXPECT_EQ(facts.other_words, config.causal ? "an earlier token" : "another token");
    const bool query_bias =
        trace::attention_weights(*trace->model(), Layer(0)).b_q.defined() && config.qk_norm == model::QkNorm::none;
    EXPECT_EQ(notes.find("bias term is 0 everywhere") != std::string::npos, !query_bias);
    if (!query_bias) {
        const FocusBreakdown found = focus_breakdown(std::array{trace}, head_id(0, 0), 0);
        EXPECT_TRUE((found.terms.col(1).array() == 0).all());
        EXPECT_TRUE((focus_trend(*trace, head_id(0, 0)).bias.array() == 0).all());
    }
}

TEST_P(FocusTerms, TrendsAreTheTermsOfTheLastQueryCentred) {
    const TracePtr trace = run_model(GetParam(), cats);
    const HeadId id = head_id(1, 0);
    const FocusTrend trend = focus_trend(*trace, id);
    const bool alibi = trace->config().positions == model::Positions::alibi;
    for_each_focus_row(*trace, id, {.absolute_positions = true}, [&](const FocusRow& row) {
        if (row.query.value != trace->tokens() - 1) return;
        const Eigen::Index seen = (!row.score.array().isNaN()).count();
        const Eigen::VectorXd off = (trend.bias.array() + trend.bias_mean).matrix() - row.terms.col(1);
        EXPECT_LE(off.tail(seen).cwiseAbs().maxCoeff(), 1e-9);
        if (alibi) {
            EXPECT_LE((trend.position.array() + trend.position_mean - row.terms.col(0).array()).abs().maxCoeff(), 1e-9);
        }
    });
    EXPECT_NEAR(trend.bias.sum(), 0, 1e-9);
    if (alibi) {
        EXPECT_NEAR(trend.position.sum(), 0, 1e-9);
    } else {
        EXPECT_TRUE(trend.position.array().isNaN().all() && std::isnan(trend.position_mean));
    }
}

TEST_P(FocusTerms, OneTokenLeavesGaps) {
    const TracePtr loaded = run_model(GetParam(), "a");
    const TracePtr trace = trace::run(loaded->model(), loaded->tokenizer(), {.text = "a", .add_special_tokens = false});
    ASSERT_EQ(trace->tokens(), 1);
    const FocusBreakdown found = focus_breakdown(std::array{trace}, head_id(0, 0), 0);
    EXPECT_EQ(found.keys, std::vector<std::int64_t>{0});
    const Vector sinks = sink_shares(*trace, head_id(0, 0));
    EXPECT_NEAR(found.probability[0], sinks.size() > 0 ? 1 - static_cast<double>(sinks[0]) : 1, sinks.size() > 0 ? 1e-6 : 0);
    EXPECT_THROW(focus_breakdown(std::array{trace}, head_id(0, 0), 1), Error);
    const FocusTrend trend = focus_trend(*trace, head_id(0, 0));
    EXPECT_TRUE(std::isnan(trend.bias[0]) && std::isnan(trend.position[0]));
    const FocusMaxima maxima = focus_maxima(*trace, head_id(0, 0));
    EXPECT_EQ(maxima.rows[0].kind, Maximum::self);
    EXPECT_EQ(maxima.counted, trace->config().causal ? 0 : 1);
}

/// A bias by distance is no term.
std::vector<std::filesystem::path> folders_with_terms() {
    std::vector<std::filesystem::path> folders = model_folders();
    std::erase_if(folders, [](const auto& folder) { return folder.filename() == "mpnet"; });
    return folders;
}

INSTANTIATE_TEST_SUITE_P(Models, FocusTerms, testing::ValuesIn(folders_with_terms()), model_name);

TEST(FocusAlibi, RelativeAndAbsoluteDifferByANumberOfTheRow) {
    const TracePtr trace = run_model(source_folder() / "tests/fixtures/models/bloom-h6", cats);
    const HeadId id = head_id(0, 5);
    const double slope = focus_facts(*trace, id).alibi_slope;
    EXPECT_NEAR(slope, std::pow(2.0, -3.0), 1e-12) << "head 5 of 6: the third of the slopes between those of 8 heads";
    std::vector<FocusRow> relative;
    for_each_focus_row(*trace, id, {}, [&](const FocusRow& row) { relative.push_back(row); });
    for_each_focus_row(*trace, id, {.absolute_positions = true}, [&](const FocusRow& row) {
        const FocusRow& other = relative[static_cast<std::size_t>(row.query.value)];
        EXPECT_EQ(other.terms(row.query.value, 0), 0) << "0 at self";
        const double gap = slope * static_cast<double>(row.query.value);
        EXPECT_LE(((row.terms.col(0) - other.terms.col(0)).array() - gap).abs().maxCoeff(), 1e-9);
        EXPECT_LE(((row.score - other.score).array() - gap).abs().maxCoeff(), 1e-9);
        EXPECT_LE((softmax(sum_of(focus_facts(*trace, id), row.terms)) - other.probability).cwiseAbs().maxCoeff(), 1e-5);
        EXPECT_EQ(row.probability, other.probability);
    });
}

/// The slopes of ALiBi, in closed form.
TEST(FocusAlibi, SlopesAreThoseOfThePaperAndOfBloom) {
    const TracePtr eight = built_in(doctor);
    ASSERT_EQ(eight->config().n_heads, 8);
    for (std::int64_t h = 0; h < 8; ++h)
        EXPECT_DOUBLE_EQ(focus_facts(*eight, head_id(0, h)).alibi_slope, std::pow(2.0, -static_cast<double>(h + 1)));
}

TEST(FocusWithoutBias, BiasTermIsZero) {
    const ScratchCopy copy("bloom");
    copy.edit("query_key_value.bias", [](ScratchCopy::Values v) {
        // [head, 3, d_head]: q of every head
        const std::int64_t heads = 4, d_head = v.size() / heads / 3;
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t d = 0; d < d_head; ++d) v.set(h * 3 * d_head + d, 0);
    });
    const TracePtr trace = run_model(copy.folder, cats);
    for (const HeadId id : heads_of(*trace))
        EXPECT_TRUE((focus_breakdown(std::array{trace}, id, 0).terms.col(1).array() == 0).all());
}

TEST(FocusWithoutQueryWeights, ContentIsZeroAndEveryRowRanksTargetsTheSame) {
    const ScratchCopy copy("bloom");
    copy.edit("query_key_value.weight", [](ScratchCopy::Values v) {
        const std::int64_t heads = 4, rows = v.shape(0), width = v.shape(1), d_head = rows / heads / 3;
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t d = 0; d < d_head * width; ++d) v.set(h * 3 * d_head * width + d, 0);
    });
    const TracePtr trace = run_model(copy.folder, cats);
    for (const HeadId id : heads_of(*trace)) {
        Eigen::VectorXd before(0);
        for_each_focus_row(*trace, id, {}, [&](const FocusRow& row) {
            EXPECT_LE(row.terms.col(2).cwiseAbs().maxCoeff(), 1e-6);
            EXPECT_TRUE(before.isApprox(row.terms.col(1).head(before.size()), 1e-12)) << "of the target alone";
            before = row.terms.col(1);
        });
        EXPECT_GT(before.cwiseAbs().maxCoeff(), 1e-3);
    }
}

TEST(FocusBreakdown, TextsFollowEachOther) {
    const TracePtr a = built_in(doctor), b = built_in("The cats asked.");
    const HeadId id = head_id(4, 5);
    const FocusBreakdown both = focus_breakdown(std::array{a, b}, id, 1), first = focus_breakdown(std::array{a}, id, 1),
                         second = focus_breakdown(std::array{b}, id, 1);
    ASSERT_EQ(both.score.size(), a->tokens() + b->tokens());
    const auto same = [](const Eigen::VectorXd& x, const Eigen::VectorXd& y) {
        return ((x.array() == y.array()) || (x.array().isNaN() && y.array().isNaN())).all();
    };
    EXPECT_TRUE(same(both.score.head(a->tokens()), first.score));
    EXPECT_TRUE(same(both.score.tail(b->tokens()), second.score));
    EXPECT_TRUE(same(both.probability.tail(b->tokens()), second.probability));
    EXPECT_EQ(both.queries[static_cast<std::size_t>(a->tokens()) + 2].text, 1);
    EXPECT_EQ(both.queries[static_cast<std::size_t>(a->tokens()) + 2].position, Position(2));
    EXPECT_THROW(focus_breakdown({}, id, 0), Error);
    const TracePtr other = run_model(source_folder() / "tests/fixtures/models/bloom", cats);
    EXPECT_THROW(focus_breakdown(std::array{a, other}, id, 0), Error);
}

TEST(FocusBreakdown, WrongHeadOrRankSaysWhatThereIs) {
    const TracePtr trace = built_in(doctor);
    EXPECT_EQ(error_facts([&] { focus_breakdown(std::array{trace}, head_id(0, 8), 0); }).expected, "layer 0 to 5, head 0 to 7");
    for (const std::int64_t rank : {-1L, 17L}) {
        const ErrorFacts facts = error_facts([&] { focus_breakdown(std::array{trace}, head_id(0, 0), rank); });
        EXPECT_EQ(facts.item, "sort_idx");
        EXPECT_EQ(facts.found, std::to_string(rank));
        EXPECT_NE(facts.expected.find("0 to 16"), std::string::npos);
    }
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(focus_breakdown(std::array{trace}, head_id(0, 0), 0, {}, cancel), Cancelled);
}

}  // namespace focus_terms_test
}  // namespace headlight::analyze
