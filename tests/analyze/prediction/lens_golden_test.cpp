// SPDX-License-Identifier: GPL-3.0-or-later
// Against tests/golden/lens/*.json: Hugging Face transformers and NumPy in float64 (make_lens_golden.py).
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/refinement.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace headlight::analyze {
namespace lens_golden_test {

using nlohmann::json;

/// 1e-4 of the number, or absolute for numbers below 1.
void expect_number(double found, const json& expected, const std::string& what) {
    EXPECT_NEAR(found, expected.get<double>(), 1e-4 * std::max(1.0, std::abs(expected.get<double>()))) << what;
}

void check_lens(const trace::Trace& trace, const json& e) {
    for (const StreamPlace place : {StreamPlace::resid_pre, StreamPlace::resid_mid, StreamPlace::resid_post}) {
        const LogitLens lens = logit_lens(trace, {.at = place, .top = 3});
        const json& layers = e[name_of(place)];
        for (std::size_t l = 0; l < layers.size(); ++l)
            for (std::int64_t p = 0; p < trace.tokens(); ++p) {
                const auto i = static_cast<std::size_t>(p);
                const LensState& state = lens.state(static_cast<std::int64_t>(l), Position(p));
                const std::string what = std::string(name_of(place)) + " " + std::to_string(l) + " position " + std::to_string(p);
                expect_number(state.entropy, layers[l]["entropy"][i], what);
                expect_number(state.kl_to_final, layers[l]["kl"][i], what);
                const json& top = layers[l]["top"][i];
                for (std::size_t k = 0; k < top.size(); ++k) {
                    expect_number(state.top[k].logit, top[k][1], what);
                    const bool close =
                        k + 1 < top.size() && std::abs(top[k][1].get<double>() - top[k + 1][1].get<double>()) < 1e-3;
                    const bool close_before = k > 0 && std::abs(top[k][1].get<double>() - top[k - 1][1].get<double>()) < 1e-3;
                    if (!close && !close_before && k + 1 < top.size()) {
                        EXPECT_EQ(state.top[k].id, top[k][0].get<std::int64_t>()) << what;
                    }
                }
            }
    }
}

void check_parts(const Decomposition& split, const json& e, const model::ModelConfig& c) {
    const Eigen::MatrixXd heads = split.heads(c);
    for (std::size_t l = 0; l < e["heads"].size(); ++l)
        for (std::size_t h = 0; h < e["heads"][l].size(); ++h)
            expect_number(heads(static_cast<Eigen::Index>(l), static_cast<Eigen::Index>(h)), e["heads"][l][h], "head");
    std::size_t seen = 0;
    for (const Contribution& part : split.parts) {
        const auto l = static_cast<std::size_t>(part.layer);
        if (part.component == Component::embed) expect_number(part.value, e["embed"], "embed");
        if (part.component == Component::attn_bias) expect_number(part.value, e["attn_bias"][l], "attn_bias");
        if (part.component == Component::mlp) expect_number(part.value, e["mlp"][l], "mlp");
        if (part.component == Component::final_bias) expect_number(part.value, e["final_bias"], "final_bias");
        seen += part.component == Component::mlp;
    }
    EXPECT_EQ(seen, e["mlp"].size());
    expect_number(split.total, e["total"], "total");
}

void check_memories(const trace::Trace& trace, const json& e) {
    const Layer layer(e["layer"]);
    const std::vector<Memory> found = memories(trace, layer, Position(e["position"]), 8);
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].neuron, Neuron(e["neurons"][i]));
        expect_number(found[i].coefficient, e["coefficient"][i], "coefficient");
        expect_number(found[i].value_norm, e["value_norm"][i], "value_norm");
        expect_number(found[i].contribution_norm, e["contribution"][i], "contribution");
        const Promoted p = promoted_tokens(*trace.model(), layer, {found[i].neuron}, {.top = 1})[0];
        EXPECT_EQ(p.top[0].id, e["top"][i].get<std::int64_t>());
        EXPECT_EQ(p.bottom[0].id, e["bottom"][i].get<std::int64_t>());
        expect_number(p.max_probability, e["probability"][i], "probability");
    }
    const Matrix active = active_share(trace);
    for (std::int64_t p = 0; p < trace.tokens(); ++p)
        expect_number(active(layer.value, p), e["active"][static_cast<std::size_t>(p)], "active");
}

void check_contributions(const trace::Trace& trace, const json& e) {
    const Layer layer(e["layer"]);
    const Position p(e["position"]);
    const AttentionShares shares = attention_shares(trace, layer, p);
    expect_number(shares.residual, e["residual"], "residual");
    for (std::size_t h = 0; h < e["heads"].size(); ++h)
        for (std::size_t j = 0; j < e["heads"][h].size(); ++j)
            expect_number(shares.from_heads(static_cast<Eigen::Index>(h), static_cast<Eigen::Index>(j)), e["heads"][h][j],
                          "share");
    expect_number(mlp_shares(trace, layer, p).mlp, e["mlp"], "mlp");
}

void check_refinement(const TracePtr& trace, const json& e) {
    const Refinement found = refinement({trace});
    ASSERT_EQ(found.layers.size(), e.size());
    for (std::size_t l = 0; l < e.size(); ++l) {
        const LayerRefinement& x = found.layers[l];
        expect_number(x.agreement, e[l]["agreement"], "agreement");
        expect_number(x.residual, e[l]["residual"], "residual");
        expect_number(x.ffn, e[l]["ffn"], "ffn");
        expect_number(x.active, e[l]["active"], "active");
        expect_number(x.zero_agreement, e[l]["zero_agreement"], "zero_agreement");
        expect_number(x.residual_final, e[l]["residual_final"], "residual_final");
        expect_number(x.residual_probability, e[l]["probability"], "probability");
    }
}

class LensGolden : public testing::TestWithParam<const char*> {};

TEST_P(LensGolden, AgreesWithTheReference) {
    const std::string name = std::filesystem::path(GetParam()).filename();
    std::ifstream stream(source_folder() / "tests/golden/lens" / (name + ".json"));
    ASSERT_TRUE(stream) << "make it with tests/golden/make_lens_golden.py";
    const json golden = json::parse(stream);
    const TracePtr trace = run_model(source_folder() / GetParam(), golden["text"]);
    ASSERT_EQ(trace->encoding().ids, golden["ids"].get<std::vector<std::int64_t>>());
    check_lens(*trace, golden["lens"]);
    const json& a = golden["attribution"];
    const AttributionOptions options{.token = a["token"], .minus = a["minus"].get<std::int64_t>()};
    check_parts(attribution(*trace, Position(a["position"]), options), a, trace->config());
    const Eigen::VectorXd sources =
        head_sources(*trace, head_id(trace->config().n_layers - 1, 1), Position(a["position"]), options);
    for (std::size_t j = 0; j < a["sources"].size(); ++j)
        expect_number(sources[static_cast<Eigen::Index>(j)], a["sources"][j], "source");
    check_memories(*trace, golden["memories"]);
    const json& d = golden["drivers"];
    check_parts(neuron_drivers(*trace, {Layer(d["layer"]), Neuron(d["neuron"])}, Position(d["position"])), d, trace->config());
    check_contributions(*trace, golden["contributions"]);
    check_refinement(trace, golden["refinement"]);
}

INSTANTIATE_TEST_SUITE_P(Models, LensGolden, testing::Values("models/novella-7m", "tests/fixtures/models/llama-kv2"));

}  // namespace lens_golden_test
}  // namespace headlight::analyze
