// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/head_circuit.h"

#include "headlight/analyze/circuit/composition.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"
#include "tests/support/error_of.h"
#include "tests/support/hand_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <Eigen/Eigenvalues>

#include <cmath>
#include <random>

namespace headlight::analyze {
namespace head_circuit_test {

using Complex = std::complex<double>;
using ModelPtr = std::shared_ptr<const model::Model>;
using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

const HeadId first_head{Layer(0), Head(0)};

ModelPtr load(const std::filesystem::path& folder) {
    static std::map<std::string, ModelPtr> loaded;
    ModelPtr& model = loaded[folder.string()];
    if (!model) model = model::Model::load(folder);
    return model;
}

Dense dense(const at::Tensor& t) {
    const at::Tensor d = t.to(at::kDouble).contiguous();
    return Eigen::Map<const Dense>(d.data_ptr<double>(), d.size(0), d.size(1));
}

/// The whole matrices [d_model, d_model] of a head, as nobody but a test builds them.
struct Whole {
    Dense ov, qk;
    Whole(const model::Model& model, HeadId id) {
        const auto w = trace::attention_weights(model, id.layer);
        const std::int64_t group = model.config().n_heads / model.config().n_kv_heads, kv = id.head.value / group;
        ov = dense(w.w_v[kv]) * dense(w.w_o[id.head.value]);
        qk = dense(w.w_q[id.head.value]) * dense(w.w_k[kv]).transpose();
    }
};

HandModel::Entry random_entry(unsigned seed) {
    return [seed](std::int64_t r, std::int64_t c) {
        std::mt19937 random(seed * 7919U + static_cast<unsigned>(r * 131 + c));
        random.discard(3);
        return static_cast<float>(random() >> 8) / 8388608.0F - 1.0F;
    };
}

TEST(CopyingScore, KnownEigenvalues) {
    const std::vector<Complex> values = {2.0, -1.0, {1, 1}, {1, -1}};
    EXPECT_NEAR(copying_score(values), 0.514719, 5e-7);  // 3 / (3 + 2 sqrt 2)
    EXPECT_TRUE(std::isnan(copying_score({})));
    EXPECT_TRUE(std::isnan(copying_score(std::vector<Complex>(3))));
}

TEST(HeadCircuit, IdentityCopiesAndItsNegativeSuppresses) {
    for (const float sign : {1.0F, -1.0F}) {
        HandModel hand;
        hand.o = [sign](std::int64_t r, std::int64_t c) { return sign * HandModel::identity(r, c); };
        const ModelPtr model = hand.load();
        for (const bool fold : {false, true}) {
            const CircuitSpectrum s = circuit_spectrum(*model, Circuit::ov, first_head, {.fold_norms = fold});
            EXPECT_NEAR(s.score, sign, 1e-12);
            EXPECT_NEAR(s.full_score, sign, 1e-12);
            EXPECT_EQ(s.eigenvalues.size(), 12U);
            EXPECT_NEAR(s.norm, std::sqrt(12.0), 1e-6);
            const DiagonalRanks ranks = diagonal_ranks(*model, Circuit::ov, first_head, {.fold_norms = fold});
            for (const std::int32_t rank : ranks.rank) EXPECT_EQ(rank, sign > 0 ? 11 : 0);
            EXPECT_EQ(ranks.share_smallest, sign > 0 ? 0 : 1);
            EXPECT_EQ(ranks.share_largest, sign > 0 ? 1 : 0);
            EXPECT_EQ(ranks.median, sign > 0 ? 1 : 0);
        }
    }
}

TEST(HeadCircuit, EigenvaluesThatAreWrittenIn) {
    HandModel hand;
    hand.size = 4;
    // diag(2, -1) and a rotation of 45 degrees times sqrt 2: eigenvalues 2, -1, 1 + i, 1 - i.
    hand.v = [](std::int64_t r, std::int64_t c) {
        const float m[4][4] = {{2, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 1}, {0, 0, -1, 1}};
        return m[r][c];
    };
    const CircuitSpectrum s = circuit_spectrum(*hand.load(), Circuit::ov, first_head);
    EXPECT_NEAR(s.score, 0.514719, 5e-7);
    EXPECT_NEAR(s.eigenvalues.front().real(), 2, 1e-6);
}

TEST(HeadCircuit, SmallestOfTheOtherTokensIsNotRankZero) {
    HandModel hand;
    // Reading t lowers the logit of t by 1 and of t + 1 by 2: the diagonal is second.
    hand.o = [n = hand.size](std::int64_t r, std::int64_t c) { return c == r ? -1.0F : c == (r + 1) % n ? -2.0F : 0.0F; };
    const ModelPtr model = hand.load();
    const DiagonalRanks ranks = diagonal_ranks(*model, Circuit::ov, first_head);
    EXPECT_EQ(ranks.share_smallest, 0);
    EXPECT_EQ(ranks.share_bottom_10, 1);
    for (const std::int32_t rank : ranks.rank) EXPECT_EQ(rank, 1);
    const std::vector<std::int64_t> ids = {3, 11};
    const std::vector<CircuitRow> rows = circuit_rows(*model, Circuit::ov, first_head, ids, 2);
    EXPECT_EQ(rows[0].smallest[0].id, 4);
    EXPECT_EQ(rows[0].smallest[1].id, 3);
    EXPECT_EQ(rows[1].smallest[0].id, 0);
    EXPECT_FLOAT_EQ(static_cast<float>(rows[1].smallest[0].value), -2);
    EXPECT_EQ(rows[1].diagonal_rank, 1);
    EXPECT_EQ(rows[0].largest.size(), 2U);
}

TEST(HeadCircuit, LooksAtWhatFollows) {
    HandModel hand;
    hand.q = [n = hand.size](std::int64_t r, std::int64_t c) { return c == (r + 1) % n ? 1.0F : 0.0F; };
    const ModelPtr model = hand.load();
    const std::vector<std::int64_t> ids = {5};
    const CircuitRow row = circuit_rows(*model, Circuit::qk, first_head, ids, 1)[0];
    EXPECT_EQ(row.largest[0].id, 6);
    EXPECT_FLOAT_EQ(static_cast<float>(row.largest[0].value), 1);
    // A cyclic shift: its eigenvalues are the roots of unity, whose sum is 0.
    EXPECT_NEAR(circuit_spectrum(*model, Circuit::qk, first_head).score, 0, 1e-6);
    EXPECT_EQ(diagonal_ranks(*model, Circuit::qk, first_head).share_largest, 0);
}

TEST(HeadCircuit, EffectiveEmbeddingHoldsTheFirstMlp) {
    HandModel hand;
    hand.embed = random_entry(1);
    hand.unembed = random_entry(2);
    hand.mlp = hand.down = random_entry(3);
    hand.v = random_entry(4);
    const ModelPtr model = hand.load(model::ComputeType::float64);
    // By hand: e + silu(n W) * (n W) W with n = e / rms(e).
    const at::Tensor e = trace::stream_embedding(*model);
    const at::Tensor n = e / (e.square().mean(1, true) + 1e-6).sqrt();
    const trace::MlpTensors w = trace::mlp_weights(*model, Layer(0));
    const at::Tensor pre = at::mm(n, w.w_in);
    const at::Tensor expected = e + at::mm(at::silu(pre) * at::mm(n, w.w_up), w.w_out);
    EXPECT_LT((trace::token_streams(*model, 0, hand.size, true) - expected).abs().max().item<double>(), 1e-12);
    EXPECT_TRUE(at::equal(trace::token_streams(*model, 2, 3, false), e.narrow(0, 2, 3)));

    const at::Tensor map = at::mm(at::mm(expected, at::mm(trace::attention_weights(*model, Layer(0)).w_v[0],
                                                          trace::attention_weights(*model, Layer(0)).w_o[0])),
                                  trace::unembed(*model));
    const DiagonalRanks ranks = diagonal_ranks(*model, Circuit::ov, first_head, {.source = TokenVectors::mlp0});
    bool plain_differs = false;
    const DiagonalRanks plain = diagonal_ranks(*model, Circuit::ov, first_head);
    for (std::int64_t t = 0; t < hand.size; ++t) {
        const auto smaller = (map[t] < map[t][t]).sum().item<std::int64_t>();
        EXPECT_EQ(ranks.rank[static_cast<std::size_t>(t)], smaller);
        plain_differs |= plain.rank[static_cast<std::size_t>(t)] != smaller;
    }
    EXPECT_TRUE(plain_differs) << "the test would not see a missing MLP";
}

class EveryFamilyCircuit : public testing::TestWithParam<std::filesystem::path> {};

/// Every eigenvalue of the small product is one of the large one, and what is left over there is 0.
TEST_P(EveryFamilyCircuit, SmallProductHasTheEigenvaluesOfTheLargeOne) {
    const ModelPtr model = load(GetParam());
    const auto& c = model->config();
    for (const HeadId id : {first_head, HeadId{Layer(c.n_layers - 1), Head(c.n_heads - 1)}}) {
        const Whole whole(*model, id);
        for (const Circuit circuit : {Circuit::ov, Circuit::qk}) {
            const Dense& matrix = circuit == Circuit::ov ? whole.ov : whole.qk;
            const CircuitSpectrum s = circuit_spectrum(*model, circuit, id);
            const Eigen::VectorXcd direct = Eigen::EigenSolver<Eigen::MatrixXd>(matrix, false).eigenvalues();
            const double largest = direct.cwiseAbs().maxCoeff();
            ASSERT_EQ(static_cast<std::int64_t>(s.eigenvalues.size()), circuit == Circuit::ov ? model::value_width(c)
                                                                       : c.latent.any()       ? c.latent.content
                                                                                              : c.d_head);
            for (const Complex& value : s.eigenvalues) EXPECT_LT((direct.array() - value).abs().minCoeff(), 1e-6 * largest);
            EXPECT_NEAR(direct.sum().real() / direct.cwiseAbs().sum(), s.score, 1e-4);
            EXPECT_NEAR(s.norm, matrix.norm(), 1e-6 * matrix.norm());
            EXPECT_EQ(s.kv_head, id.head.value / (c.n_heads / c.n_kv_heads));
        }
    }
}

TEST_P(EveryFamilyCircuit, FullScoreIsThatOfTheVocabularyMatrix) {
    const ModelPtr model = load(GetParam());
    if (model->config().vocab_size > 1000) return;  // the golden covers it
    const HeadId id{Layer(1), Head(model->config().n_heads - 1)};
    const Dense e = dense(trace::stream_embedding(*model));
    const Whole whole(*model, id);
    const auto score = [](const Dense& m) {
        const Eigen::VectorXcd values = Eigen::EigenSolver<Eigen::MatrixXd>(m, false).eigenvalues();
        return values.sum().real() / values.cwiseAbs().sum();
    };
    EXPECT_NEAR(circuit_spectrum(*model, Circuit::qk, id).full_score, score(e * whole.qk * e.transpose()), 1e-4);
    const CircuitSpectrum ov = circuit_spectrum(*model, Circuit::ov, id);
    if (!unembeds_stream(model->config())) {
        EXPECT_TRUE(std::isnan(ov.full_score));
        EXPECT_TRUE(ov.full_eigenvalues.empty());
        EXPECT_FALSE(ov.full_missing.empty());
        EXPECT_THROW(diagonal_ranks(*model, Circuit::ov, id), Error);
        EXPECT_EQ(static_cast<std::int64_t>(diagonal_ranks(*model, Circuit::qk, id).rank.size()), model->config().vocab_size);
        return;
    }
    EXPECT_NEAR(ov.full_score, score(e * whole.ov * dense(trace::unembed(*model))), 1e-4);
}

/// Folding by hand: the centred, gained matrices give the ranks of the vocabulary matrix behind real norms.
TEST_P(EveryFamilyCircuit, FoldedRanksAreThoseBehindTheNorms) {
    const ModelPtr model = load(GetParam());
    const auto& c = model->config();
    if (c.vocab_size > 1000 || !c.has_unembedding) return;
    const HeadId id{Layer(1), Head(0)};
    if (c.post_norm) {
        EXPECT_THROW(circuit_spectrum(*model, Circuit::ov, id, {.fold_norms = true}), Error);
        EXPECT_THROW(composition_scores(*model, true), Error);
        return;
    }
    const auto centre = [&](const at::Tensor& x) { return c.norm == model::Norm::layer_norm ? x - x.mean(1, true) : x; };
    const auto w = trace::attention_weights(*model, id.layer);
    at::Tensor x = centre(trace::token_streams(*model, 0, c.vocab_size, true).to(at::kDouble));
    if (w.norm.gain.defined()) x = x / x.square().mean(1, true).sqrt() * w.norm.gain;
    if (w.w_kv_latent.defined())
        x = x / at::mm(x, w.w_kv_latent.to(at::kDouble)).square().mean(1, true).sqrt();  // what the latent's norm divides by
    at::Tensor out = at::mm(at::mm(x, w.w_v[0].to(at::kDouble)), w.w_o[0].to(at::kDouble));
    if (w.branch.gain.defined()) out = out * w.branch.gain;
    at::Tensor written = centre(out);
    const at::Tensor map = at::mm(written * trace::final_norm(*model).gain, trace::unembed(*model).to(at::kDouble));
    const DiagonalRanks ranks = diagonal_ranks(*model, Circuit::ov, id, {.fold_norms = true, .source = TokenVectors::mlp0});
    for (std::int64_t t = 0; t < c.vocab_size; ++t)
        EXPECT_NEAR(ranks.rank[static_cast<std::size_t>(t)], (map[t] < map[t][t]).sum().item<double>(), 1) << t;
    const std::vector<std::int64_t> ids = {7};
    EXPECT_NEAR(circuit_rows(*model, Circuit::ov, id, ids, 1, {.fold_norms = true, .source = TokenVectors::mlp0})[0].diagonal,
                map[7][7].item<double>(), 1e-4 * std::max(1.0, map[7].abs().max().item<double>()));
}

TEST_P(EveryFamilyCircuit, CompositionIsTheFrobeniusNormOfTheProduct) {
    const ModelPtr model = load(GetParam());
    const auto& c = model->config();
    const CompositionScores scores = composition_scores(*model);
    const std::int64_t last = c.n_layers - 1;
    const std::vector<HeadId> heads = {first_head,
                                       {Layer(0), Head(c.n_heads - 1)},
                                       {Layer(last), Head(0)},
                                       {Layer(last), Head(c.n_heads / 2)},
                                       {Layer(last), Head(c.n_heads - 1)}};
    for (const HeadId from : heads)
        for (const HeadId to : heads) {
            const Whole a(*model, from), b(*model, to);
            const bool later = to.layer > from.layer;
            const auto direct = [&](const Dense& second) {
                return later ? (a.ov * second).norm() / (a.ov.norm() * second.norm()) : 0.0;
            };
            EXPECT_NEAR(scores.at(Composition::q, from, to), direct(b.qk), 1e-5);
            EXPECT_NEAR(scores.at(Composition::k, from, to), direct(b.qk.transpose()), 1e-5);
            EXPECT_NEAR(scores.at(Composition::v, from, to), direct(b.ov), 1e-5);
        }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamilyCircuit, testing::ValuesIn(model_folders()), model_name);

TEST(HeadCircuit, SaysWhatDoesNotExist) {
    const ModelPtr model = load(source_folder() / "tests/fixtures/models/llama-kv2");
    EXPECT_THAT(test::error_of([&] { circuit_spectrum(*model, Circuit::ov, head_id(2, 0)); }),
                testing::AllOf(testing::HasSubstr("layer 0 to 1"), testing::HasSubstr("L2H0")));
    const std::vector<std::int64_t> ids = {272};
    EXPECT_THAT(test::error_of([&] { circuit_rows(*model, Circuit::ov, first_head, ids, 1); }),
                testing::AllOf(testing::HasSubstr("0 to 271"), testing::HasSubstr("272")));
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(diagonal_ranks(*model, Circuit::ov, first_head, {}, cancel), Cancelled);
    EXPECT_THROW(composition_scores(*model, false, cancel), Cancelled);
}

/// tests/golden/make_circuit_golden.py: NumPy on the weights as Hugging Face transformers loads them.
TEST(HeadCircuit, AgreesWithNumPy) {
    const auto golden = io::read_json(source_folder() / "tests/golden/circuit.json");
    ASSERT_EQ(golden.size(), 2U);
    for (const auto& [name, of] : golden.items()) {
        const bool built_in_model = name == "novella-7m";
        const ModelPtr model = load(source_folder() / (built_in_model ? "models" : "tests/fixtures/models") / name);
        const CompositionScores scores = composition_scores(*model), folded = composition_scores(*model, true);
        for (const auto& e : of["heads"]) {
            const HeadId id = head_id(e["layer"], e["head"]);
            SCOPED_TRACE(name + " L" + e["layer"].dump() + "H" + e["head"].dump());
            for (const bool fold : {false, true}) {
                const auto& f = e[fold ? "folded" : "plain"];
                const CircuitSpectrum ov = circuit_spectrum(*model, Circuit::ov, id, {.fold_norms = fold});
                const CircuitSpectrum qk = circuit_spectrum(*model, Circuit::qk, id, {.fold_norms = fold});
                EXPECT_NEAR(ov.score, f["copying"].get<double>(), 1e-4);
                EXPECT_NEAR(ov.full_score, f["copying_full"].get<double>(), 1e-4);
                EXPECT_NEAR(qk.score, f["matching"].get<double>(), 1e-4);
                EXPECT_NEAR(qk.full_score, f["matching_full"].get<double>(), 1e-4);
                EXPECT_NEAR(std::abs(ov.eigenvalues.front()) / f["largest"].get<double>(), 1, 1e-4);
            }
            const DiagonalRanks ov = diagonal_ranks(*model, Circuit::ov, id, {.source = TokenVectors::mlp0});
            EXPECT_NEAR(ov.share_bottom_10, e["ov_bottom_10"].get<double>(), 1e-3);
            EXPECT_NEAR(ov.share_bottom_5pc, e["ov_bottom_5pc"].get<double>(), 1e-3);
            EXPECT_NEAR(ov.share_top_10, e["ov_top_10"].get<double>(), 1e-3);
            EXPECT_NEAR(ov.median, e["ov_median"].get<double>(), 1e-3);
            const DiagonalRanks qk =
                diagonal_ranks(*model, Circuit::qk, id, {.source = TokenVectors::mlp0, .query = TokenVectors::unembedding});
            EXPECT_NEAR(qk.share_largest, e["qk_largest"].get<double>(), 1e-3);
        }
        for (const auto& e : of["composition"]) {
            const HeadId from = head_id(e[1], e[2]), to = head_id(e[3], e[4]);
            const auto kind = static_cast<Composition>(e[0].get<int>());
            EXPECT_NEAR(scores.at(kind, from, to), e[5].get<double>(), 1e-5);
            EXPECT_NEAR(folded.at(kind, from, to), e[6].get<double>(), 1e-5);
        }
    }
}

}  // namespace head_circuit_test
}  // namespace headlight::analyze
