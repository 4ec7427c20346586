// SPDX-License-Identifier: GPL-3.0-or-later
// Feed-forward layers as memories: identities over every family, and a hand-built model that must agree with itself.
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/refinement.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/scratch_copy.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <sstream>

namespace headlight::analyze {
namespace mlp_test {

using model::Hook;

void expect_top_tokens(const model::Model& model, Layer layer, bool gain) {
    const std::vector<Promoted> all = promoted_tokens(model, layer, {}, {.top = 1, .gain = gain});
    std::vector<std::int64_t> asked{0, model.config().vocab_size - 1};
    for (std::size_t i = 0; i < all.size(); i += 5) asked.push_back(all[i].top[0].id);
    const std::vector<std::int64_t> found = top_tokens_among(model, layer, asked, gain);
    ASSERT_EQ(found.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::int64_t top = all[i].top[0].id;
        EXPECT_EQ(found[i], std::ranges::find(asked, top) != asked.end() ? top : -1) << i;
    }
    EXPECT_EQ(std::ranges::count(top_tokens_among(model, layer, {}, gain), -1), std::ssize(all));
}

class Memories : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Memories, SumToTheLayersOutput) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    const Position p(trace->tokens() - 1);
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const trace::MlpTensors w = trace::mlp_weights(*trace->model(), Layer(l));
        at::Tensor sum = w.b_out.defined() ? w.b_out.to(at::kDouble).clone() : at::zeros({c.d_model}, at::kDouble);
        if (w.b_experts.defined())
            sum += at::mv(w.b_experts.to(at::kDouble).t(),
                          trace::tensor(*trace, {Hook::experts, Layer(l)})[p.value].to(at::kDouble));
        const std::vector<Memory> all = memories(*trace, Layer(l), p);
        ASSERT_EQ(all.size(), static_cast<std::size_t>(model::mlp_width(c, l)));
        for (const Memory& m : all) {
            sum += w.w_out[m.neuron.value].to(at::kDouble) * m.coefficient;
            EXPECT_NEAR(m.contribution_norm,
                        std::abs(m.coefficient) * w.w_out[m.neuron.value].to(at::kDouble).norm().item<double>(), 1e-9);
            if (c.gated_mlp) {
                const double cut = c.mlp_clamp > 0 ? c.mlp_clamp : std::numeric_limits<double>::infinity();
                const double up = c.mlp_clamp > 0 ? std::clamp(m.up, -cut, cut) + 1 : m.up;
                const double gate =
                    trace::activate(*trace->model(), Layer(l), at::full({1, 1}, std::min(m.pre, cut), at::kFloat)).item<double>();
                EXPECT_NEAR(m.coefficient, m.weight * gate * up, 1e-5 * std::max(1.0, std::abs(m.coefficient)));
            } else {
                EXPECT_TRUE(std::isnan(m.up));
            }
        }
        if (w.branch.gain.defined())
            sum = sum / trace::tensor(*trace, {Hook::ln2_post_scale, Layer(l)})[p.value].to(at::kDouble) * w.branch.gain;
        const at::Tensor out = trace::tensor(*trace, {Hook::mlp_out, Layer(l)})[p.value].to(at::kDouble);
        EXPECT_LT((sum - out).abs().max().item<double>(), 1e-5 * std::max(1.0, out.abs().max().item<double>()));
        const std::vector<Memory> few = memories(*trace, Layer(l), p, 3);
        ASSERT_EQ(few.size(), 3U);
        EXPECT_EQ(few[2].neuron, all[2].neuron);
        EXPECT_GE(few[0].contribution_norm, few[1].contribution_norm);
    }
}

TEST_P(Memories, PromoteWhatTheirValuesSay) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    const model::Model& model = *trace->model();
    if (!unembeds_stream(c)) {
        EXPECT_THROW(promoted_tokens(model, Layer(0), {}), Error);
        return;
    }
    const std::vector<Neuron> neurons{Neuron(3), Neuron(0)};
    for (const bool gain : {false, true}) {
        const std::vector<Promoted> found = promoted_tokens(model, Layer(1), neurons, {.top = 4, .gain = gain, .watched = 6});
        ASSERT_EQ(found.size(), 2U);
        for (const Promoted& each : found) {
            at::Tensor value = trace::mlp_weights(model, Layer(1)).w_out[each.neuron.value];
            const at::Tensor branch = trace::mlp_weights(model, Layer(1)).branch.gain;
            if (branch.defined()) value = value * branch;
            const at::Tensor read =
                c.post_norm && !c.mlm_head ? trace::mlp_weights(model, Layer(1)).norm.gain : trace::final_norm(model).gain;
            if (gain && read.defined()) value = value * read;
            const at::Tensor logits = at::mv(trace::unembed(model).t(), value);
            const at::Tensor p = logits.to(at::kDouble).softmax(0);
            EXPECT_EQ(each.top[0].id, logits.argmax().item<std::int64_t>());
            EXPECT_EQ(each.bottom[0].id, logits.argmin().item<std::int64_t>());
            EXPECT_NEAR(each.max_probability, p.max().item<double>(), 1e-6);
            EXPECT_NEAR(each.top[3].probability, p[each.top[3].id].item<double>(), 1e-6);
            EXPECT_EQ(each.watched_rank, logits.gt(logits[6]).sum().item<std::int64_t>());
        }
    }
    EXPECT_EQ(promoted_tokens(model, Layer(1), {}, {.top = 1}).size(), static_cast<std::size_t>(model::mlp_width(c, 1)));
    expect_top_tokens(model, Layer(1), false);
    expect_top_tokens(model, Layer(1), true);
}

TEST_P(Memories, ActivationsAreThoseOfTheRun) {
    const TracePtr trace = run_model(GetParam(), cats);
    const at::Tensor post = trace::tensor(*trace, {Hook::mlp_post, Layer(1)});
    const Matrix map = layer_activations(*trace, Layer(1));
    ASSERT_EQ(map.rows(), model::mlp_width(trace->config(), 1));
    EXPECT_EQ(neuron_activations(*trace, Layer(1), Neuron(5))[2], post[2][5].item<float>());
    EXPECT_EQ(map(5, 2), post[2][5].item<float>());
    const Matrix share = active_share(*trace);
    for (std::int64_t p = 0; p < trace->tokens(); ++p)
        EXPECT_NEAR(share(1, p) * static_cast<float>(post.size(1)), post[p].gt(0).sum().item<float>(), 1e-3)
            << "only what is above 0 counts, and the residual is no memory";
}

TEST_P(Memories, BreakdownOfPredictionsAddsUp) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    if (!c.has_unembedding || c.mlm_head) {
        EXPECT_THROW(refinement({trace}), Error);
        return;
    }
    for (const ReadOut how : {ReadOut::model, ReadOut::unembedding}) {
        const Refinement found = refinement({trace, trace}, {.read_out = how});
        EXPECT_EQ(found.tokens, 2 * (trace->tokens() - 1)) << "the first token is left out";
        ASSERT_EQ(found.layers.size(), static_cast<std::size_t>(c.n_layers));
        for (const LayerRefinement& l : found.layers) {
            EXPECT_NEAR(l.agreement + l.residual + l.ffn + l.composition, 1, 1e-12);
            EXPECT_LE(l.residual_probability_low, l.residual_probability_median);
            EXPECT_LE(l.residual_probability_median, l.residual_probability_high);
            EXPECT_GE(l.zero_agreement, 0);
        }
        if (how == ReadOut::model && !c.post_norm) {  // there the stream before goes through the norm behind the MLP first
            // What the last MLP does to the prediction, by the model's own output.
            const at::Tensor output = trace::tensor(*trace, {Hook::logits, Layer(0)}).argmax(-1),
                             before = trace::logits_of(*trace->model(),
                                                       trace::tensor(*trace, {Hook::resid_mid, Layer(c.n_layers - 1)}))
                                          .argmax(-1);
            std::int64_t changed = 0;
            for (std::int64_t p = 1; p < trace->tokens(); ++p)
                changed += output[p].item<std::int64_t>() != before[p].item<std::int64_t>();
            EXPECT_EQ(static_cast<std::int64_t>(found.last_layer.size()), 2 * changed);
        }
    }
    const TracePtr one = run_model(GetParam(), "a");
    if (one->tokens() == 1) {
        EXPECT_TRUE(std::isnan(refinement({one}).layers[0].agreement)) << "no token is left to look at";
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Memories, testing::ValuesIn(model_folders()), model_name);

/// GPT-2's fixture (2 layers, width 16, 24 neurons) made into a machine: layer 0 has one ReLU neuron for each token of a
/// cycle, which writes the next token's row of the unembedding; nothing else writes anything.
struct Detector {
    ScratchCopy copy{"gpt2-untied"};
    std::vector<std::int64_t> cycle;  ///< distinct ids in the order they follow each other

    explicit Detector(const std::string& text) {
        const auto ids = text::Tokenizer::load(copy.folder)->encode(text).ids;
        for (const std::int64_t id : ids)
            if (std::find(cycle.begin(), cycle.end(), id) == cycle.end()) cycle.push_back(id);
        use_relu();
        constexpr std::int64_t d = 16, m = 24, vocab = 272;
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        const auto unit = [&](bool centred, float length) {
            std::vector<float> x(d);
            float mean = 0, squares = 0;
            for (float& v : x) mean += (v = normal(random)) / d;
            for (float& v : x) v -= centred ? mean : 0.0F;
            for (const float v : x) squares += v * v;
            for (float& v : x) v *= length / std::sqrt(squares);
            return x;
        };
        std::vector<std::vector<float>> tokens, words;
        for (std::int64_t t = 0; t < vocab; ++t) {
            tokens.push_back(unit(true, 4));
            words.push_back(unit(false, 1));
        }
        const auto fill = [](ScratchCopy::Values v, float value) {
            for (std::int64_t i = 0; i < v.size(); ++i) v.set(i, value);
        };
        const auto rows = [](const std::vector<std::vector<float>>& table) {
            return [&table](ScratchCopy::Values v) {
                for (std::int64_t i = 0; i < v.size(); ++i)
                    v.set(i, table[static_cast<std::size_t>(i / 16)][static_cast<std::size_t>(i % 16)]);
            };
        };
        copy.edit("wte.weight", rows(tokens));
        copy.edit("lm_head.weight", rows(words));
        for (const char* zero : {"wpe.weight", "attn.c_proj.weight", "attn.c_proj.bias", "mlp.c_proj.bias", "mlp.c_fc.weight",
                                 "mlp.c_proj.weight", "ln_1.bias", "ln_2.bias"})
            copy.edit(zero, [&](ScratchCopy::Values v) { fill(v, 0); });
        for (const char* one : {"ln_1.weight", "ln_2.weight"}) copy.edit(one, [&](ScratchCopy::Values v) { fill(v, 1); });
        copy.edit("mlp.c_fc.bias", [&](ScratchCopy::Values v) { fill(v, -1); });
        const auto n = static_cast<std::int64_t>(cycle.size());
        const auto of = [&](const std::vector<std::vector<float>>& table, std::int64_t i) -> const std::vector<float>& {
            return table[static_cast<std::size_t>(cycle[static_cast<std::size_t>(i % n)])];
        };
        copy.edit("h.0.mlp.c_fc.weight", [&](ScratchCopy::Values v) {
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t k = 0; k < d; ++k) v.set(k * m + i, of(tokens, i)[static_cast<std::size_t>(k)]);
        });
        // A token reads 16 of its own key and clearly less of any other's.
        copy.edit("h.0.mlp.c_fc.bias", [&](ScratchCopy::Values v) {
            for (std::int64_t i = 0; i < n; ++i) v.set(i, -15);
        });
        copy.edit("h.0.mlp.c_proj.weight", [&](ScratchCopy::Values v) {
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t k = 0; k < d; ++k) v.set(i * d + k, 100 * of(words, i + 1)[static_cast<std::size_t>(k)]);
        });
    }

    void use_relu() const {
        std::stringstream text;
        text << std::ifstream(copy.folder / "config.json").rdbuf();
        std::string config = text.str();
        const std::string from = "\"activation_function\": \"gelu\"";
        ASSERT_NE(config.find(from), std::string::npos);
        config.replace(config.find(from), from.size(), "\"activation_function\": \"relu\"");
        std::ofstream(copy.folder / "config.json") << config;
    }
};

TEST(DetectorModel, AgreesWithItself) {
    std::string text;
    for (int i = 0; i < 6; ++i) text += "aqzjx";
    const Detector detector(text);
    const TracePtr trace = run_model(detector.copy.folder, text);
    ASSERT_GE(detector.cycle.size(), 3U);
    const Refinement found = refinement({trace}, {.read_out = ReadOut::unembedding, .skip_first = false});
    const LayerRefinement &first = found.layers[0], &second = found.layers[1];
    EXPECT_DOUBLE_EQ(first.active, 1.0 / 24) << "one memory knows each token";
    EXPECT_DOUBLE_EQ(first.value_agreement, 1) << "every value holds the token that followed its trigger";
    EXPECT_EQ(first.active_memories, static_cast<std::int64_t>(detector.cycle.size()));
    EXPECT_DOUBLE_EQ(first.zero_agreement, 0);
    EXPECT_DOUBLE_EQ(first.ffn + first.agreement, 1) << "the MLP decides";
    EXPECT_DOUBLE_EQ(second.active, 0);
    EXPECT_DOUBLE_EQ(second.zero_agreement, 1);
    EXPECT_TRUE(std::isnan(second.value_agreement)) << "no memory was ever active";
    EXPECT_DOUBLE_EQ(second.residual_final, 1);
    EXPECT_TRUE(found.last_layer.empty());
    for (std::int64_t p = 0; p + 1 < trace->tokens(); ++p) {
        const Memory strongest = memories(*trace, Layer(0), Position(p), 1)[0];
        const std::int64_t promoted = promoted_tokens(*trace->model(), Layer(0), {strongest.neuron}, {.top = 1})[0].top[0].id;
        EXPECT_EQ(promoted, trace->encoding().ids[static_cast<std::size_t>(p + 1)]) << "position " << p;
    }
}

TEST(MemoryErrors, NameWhatIsNotThere) {
    const TracePtr trace = built_in("a");
    const model::ModelConfig& c = trace->config();
    EXPECT_THROW(memories(*trace, Layer(c.n_layers), Position(0)), Error);
    EXPECT_THROW(memories(*trace, Layer(0), Position(trace->tokens())), Error);
    EXPECT_THROW(promoted_tokens(*trace->model(), Layer(0), {Neuron(c.d_mlp)}), Error);
    EXPECT_THROW(promoted_tokens(*trace->model(), Layer(0), {Neuron(0)}, {.top = 1, .gain = false, .watched = c.vocab_size}),
                 Error);
    EXPECT_THROW(refinement({}), Error);
}

}  // namespace mlp_test
}  // namespace headlight::analyze
