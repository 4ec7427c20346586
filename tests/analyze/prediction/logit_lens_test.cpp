// SPDX-License-Identifier: GPL-3.0-or-later
// The lens against every state read whole in float64, over every family; tuned lenses; tokens named by people.
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"
#include "tests/support/error_of.h"
#include "tests/support/memory_budget.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::analyze {
namespace logit_lens_test {

using model::Hook;

Hook hook_of(StreamPlace place) {
    return place == StreamPlace::resid_pre   ? Hook::resid_pre
           : place == StreamPlace::resid_mid ? Hook::resid_mid
                                             : Hook::resid_post;
}

/// Everything a lens says of one state, the slow way.
void expect_state(const LensState& state, const at::Tensor& logits, const at::Tensor& final_logits, std::int64_t watched) {
    const at::Tensor log_p = logits.to(at::kDouble).log_softmax(0), log_f = final_logits.to(at::kDouble).log_softmax(0);
    const auto [sorted, order] = logits.sort(true, 0, true);
    // A matrix product of more rows may round otherwise: what is equal is equal but for float32.
    const double near = 2e-5 * std::max(1.0F, logits.abs().max().item<float>());
    for (std::size_t k = 0; k < state.top.size(); ++k) {
        const auto i = static_cast<std::int64_t>(k);
        EXPECT_NEAR(state.top[k].logit, sorted[i].item<float>(), near);
        EXPECT_NEAR(state.top[k].probability, std::exp(log_p[state.top[k].id].item<double>()), 1e-4);
        EXPECT_NEAR(logits[state.top[k].id].item<float>(), state.top[k].logit, near);
    }
    EXPECT_NEAR(state.entropy, -(log_p.exp() * log_p).sum().item<double>(), 1e-4);
    const double divergence = (log_f.exp() * (log_f - log_p)).sum().item<double>();
    EXPECT_NEAR(state.kl_to_final, divergence, 1e-4 * std::max(1.0, divergence));
    const double own = logits[watched].item<double>();
    EXPECT_GE(state.watched_rank, logits.gt(own + near).sum().item<std::int64_t>());
    EXPECT_LE(state.watched_rank, logits.gt(own - near).sum().item<std::int64_t>());
    EXPECT_NEAR(state.watched.probability, std::exp(log_p[watched].item<double>()), 1e-4);
}

class Lens : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Lens, ReadsEveryStateAsTheModelWould) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    if (!c.has_unembedding) {
        EXPECT_THROW(logit_lens(*trace), Error);
        return;
    }
    const std::int64_t watched = trace->encoding().ids.back();
    const at::Tensor output = trace::tensor(*trace, {Hook::logits, Layer(0)});
    for (const StreamPlace place : {StreamPlace::resid_pre, StreamPlace::resid_mid, StreamPlace::resid_post}) {
        const LogitLens lens = logit_lens(*trace, {.at = place, .top = 7, .watched = watched});
        ASSERT_EQ(lens.layers, c.n_layers);
        for (std::int64_t l = 0; l < c.n_layers; ++l) {
            const at::Tensor logits = trace::logits_of(*trace->model(), trace::tensor(*trace, {hook_of(place), Layer(l)}));
            for (std::int64_t p = 0; p < trace->tokens(); ++p) {
                SCOPED_TRACE("layer " + std::to_string(l) + " position " + std::to_string(p));
                const LensState& state = lens.state(l, Position(p));
                ASSERT_EQ(state.top.size(), 7U);
                expect_state(state, logits[p], output[p], watched);
            }
        }
    }
}

TEST(LensOfLayersMadeAgain, EqualsThatOfLayersKept) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += cats + std::string(" ");
    const auto folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m";
    const TracePtr kept = run_model(folder, text);
    const LensOptions options{.at = StreamPlace::resid_mid, .top = 3};
    const LogitLens expected = logit_lens(*kept, options);
    const model::ModelConfig& c = kept->config();
    const std::int64_t a_position = c.n_layers * c.d_model * 8;
    for (const std::int64_t positions : {1, 50, 1'000'000}) {  // that there is room for at once
        const test::Budget none;
        const TracePtr made = run_model(folder, text);
        set_memory_budget(8 * a_position * positions);
        const LogitLens found = logit_lens(*made, options);
        for (std::size_t i = 0; i < expected.states.size(); ++i) {
            ASSERT_EQ(found.states[i].top.front().id, expected.states[i].top.front().id) << i;
            ASSERT_EQ(found.states[i].top.front().logit, expected.states[i].top.front().logit) << i;
            ASSERT_EQ(found.states[i].entropy, expected.states[i].entropy) << i;
        }
        EXPECT_EQ(lens_history(*made, Position(7), {1, 2}, options).ranks,
                  lens_history(*kept, Position(7), {1, 2}, options).ranks);
    }
}

TEST_P(Lens, OfTheLastStateIsTheOutput) {
    const TracePtr trace = run_model(GetParam(), cats);
    if (!trace->config().has_unembedding) return;
    const LogitLens lens = logit_lens(*trace, {.top = 5});
    for (std::int64_t p = 0; p < trace->tokens(); ++p) {
        const LensState &last = lens.state(lens.layers - 1, Position(p)), &output = lens.state(-1, Position(p));
        EXPECT_NEAR(last.kl_to_final, 0, 2e-5);
        EXPECT_EQ(output.kl_to_final, 0);
        for (std::size_t k = 0; k < 5; ++k) {
            if (k == 0) {
                EXPECT_EQ(last.top[k].id, output.top[k].id);
            }
            EXPECT_NEAR(last.top[k].logit, output.top[k].logit, 1e-4 * std::max(1.0F, std::abs(output.top[k].logit)));
        }
    }
    const LogitLens text = logit_lens(*trace, {.top = 1, .watch_text = true});
    const std::int64_t shift = trace->config().causal ? 1 : 0;
    EXPECT_EQ(text.state(0, Position(1)).watched.id, trace->encoding().ids[static_cast<std::size_t>(1 + shift)]);
    EXPECT_EQ(text.state(0, Position(trace->tokens() - 1)).watched_rank >= 0, shift == 0) << "nothing follows the last token";
    EXPECT_EQ(next_tokens(*trace, Position(2), 1)[0].id, lens.state(-1, Position(2)).top[0].id);
    const LensHistory history = lens_history(*trace, Position(0), {lens.state(-1, Position(0)).top[0].id, 3});
    ASSERT_EQ(history.ranks.size(), static_cast<std::size_t>(2 * (lens.layers + 1)));
    EXPECT_EQ(history.ranks[history.ranks.size() - 2], 0) << "the likeliest token of the output";
}

INSTANTIATE_TEST_SUITE_P(Models, Lens, testing::ValuesIn(model_folders()), model_name);

/// A lens file for GPT-2's fixture: 2 layers of width 16.
struct LensFile {
    std::vector<std::pair<std::string, std::vector<float>>> tensors;
    std::map<std::string, std::string> metadata;

    void add(const std::string& name, std::int64_t rows, float diagonal, float rest) {
        std::vector<float> values(static_cast<std::size_t>(rows * rows), rest);
        for (std::int64_t i = 0; i < rows; ++i) values[static_cast<std::size_t>(i * rows + i)] = diagonal;
        tensors.emplace_back(name, std::move(values));
    }
    void add_vector(const std::string& name, std::int64_t n, float value) {
        tensors.emplace_back(name, std::vector<float>(static_cast<std::size_t>(n), value));
    }
    std::filesystem::path write(const test::TempFolder& folder) const {
        std::vector<io::ArrayRef> refs;
        for (const auto& [name, values] : tensors) {
            const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(values.size()))));
            const bool square = name.ends_with("A") || name.ends_with("weight");
            const auto n = static_cast<std::int64_t>(values.size());
            refs.push_back({name, io::DType::F32, square ? std::vector<std::int64_t>{side, side} : std::vector<std::int64_t>{n},
                            std::as_bytes(std::span(values))});
        }
        io::write_safetensors(folder.path() / "lens.safetensors", refs, metadata);
        return folder.path() / "lens.safetensors";
    }
};

TracePtr gpt2() { return run_model(source_folder() / "tests/fixtures/models/gpt2", cats); }

LogitLens through(const TracePtr& trace, const LensFile& file, StreamPlace at) {
    const test::TempFolder folder;
    return logit_lens(
        *trace,
        {.at = at, .top = 3, .watched = {}, .watch_text = false, .tuned = TunedLens::load(file.write(folder), trace->config())});
}

void expect_equal(const LogitLens& a, const LogitLens& b) {
    ASSERT_EQ(a.states.size(), b.states.size());
    for (std::size_t i = 0; i < a.states.size(); ++i) {
        EXPECT_EQ(a.states[i].top[0].id, b.states[i].top[0].id);
        EXPECT_NEAR(a.states[i].top[0].logit, b.states[i].top[0].logit, 1e-5);
        EXPECT_NEAR(a.states[i].entropy, b.states[i].entropy, 1e-5);
    }
}

TEST(Tuned, TheIdentityIsTheLogitLens) {
    const TracePtr trace = gpt2();
    LensFile ours, package;
    for (const char* layer : {"0", "1"}) {
        ours.add(std::string(layer) + ".A", 16, 1, 0);
        ours.add_vector(std::string(layer) + ".b", 16, 0);
        package.add(std::string(layer) + ".weight", 16, 0, 0);
        package.add_vector(std::string(layer) + ".bias", 16, 0);
    }
    for (const StreamPlace at : {StreamPlace::resid_pre, StreamPlace::resid_post}) {
        const LogitLens plain = logit_lens(*trace, {.at = at, .top = 3});
        expect_equal(through(trace, ours, at), plain);
        expect_equal(through(trace, package, at), plain);
    }
    ours.metadata["at"] = "resid_mid";
    expect_equal(through(trace, ours, StreamPlace::resid_mid), logit_lens(*trace, {.at = StreamPlace::resid_mid, .top = 3}));
    EXPECT_THROW(through(trace, ours, StreamPlace::resid_post), Error);
}

TEST(Tuned, IsAnAffineMapBeforeTheReadOut) {
    const TracePtr trace = gpt2();
    LensFile file;
    file.add("0.weight", 16, 0.5F, 0.125F);
    file.add_vector("0.bias", 16, 0.25F);
    file.tensors.back().second[3] = 2;
    file.tensors.front().second[5] = -1;  // row 0, column 5
    file.add("1.weight", 16, -0.25F, 0);
    file.add_vector("1.bias", 16, 0);
    file.tensors.back().second[7] = -3;
    const at::Tensor w0 = at::from_blob(file.tensors[0].second.data(), {16, 16}, at::kFloat).clone(),
                     b0 = at::from_blob(file.tensors[1].second.data(), {16}, at::kFloat).clone(),
                     w1 = at::from_blob(file.tensors[2].second.data(), {16, 16}, at::kFloat).clone(),
                     b1 = at::from_blob(file.tensors[3].second.data(), {16}, at::kFloat).clone();
    const at::Tensor first = trace::tensor(*trace, {Hook::resid_pre, Layer(0)}),
                     second = trace::tensor(*trace, {Hook::resid_pre, Layer(1)});
    const at::Tensor read0 = trace::logits_of(*trace->model(), first + at::mm(first, w0.t()) + b0),
                     read1 = trace::logits_of(*trace->model(), second + at::mm(second, w1.t()) + b1);
    const LogitLens pre = through(trace, file, StreamPlace::resid_pre), post = through(trace, file, StreamPlace::resid_post);
    for (std::int64_t p = 0; p < trace->tokens(); ++p) {
        EXPECT_NEAR(pre.state(0, Position(p)).top[0].logit, read0[p].max().item<float>(), 1e-4);
        EXPECT_NEAR(pre.state(1, Position(p)).top[0].logit, read1[p].max().item<float>(), 1e-4);
        EXPECT_NEAR(post.state(0, Position(p)).top[0].logit, read1[p].max().item<float>(), 1e-4) << "resid_post 0 is resid_pre 1";
        EXPECT_NEAR(post.state(1, Position(p)).top[0].logit, post.state(-1, Position(p)).top[0].logit, 1e-4)
            << "behind the last layer there is nothing to translate";
    }
}

std::string load_error(const LensFile& file) {
    const test::TempFolder folder;
    return test::error_of([&] { TunedLens::load(file.write(folder), gpt2()->config()); });
}

TEST(Tuned, OfAnotherModelIsRefusedByName) {
    LensFile wide, shallow, deep, other;
    wide.add("0.weight", 24, 0, 0);
    EXPECT_NE(load_error(wide).find("[16, 16]"), std::string::npos) << load_error(wide);
    EXPECT_NE(load_error(wide).find("[24, 24]"), std::string::npos);
    shallow.add("0.weight", 16, 0, 0);
    EXPECT_NE(load_error(shallow).find("fewer layers"), std::string::npos) << load_error(shallow);
    for (const char* layer : {"0", "1", "2"}) deep.add(std::string(layer) + ".A", 16, 1, 0);
    EXPECT_NE(load_error(deep).find("more layers"), std::string::npos) << load_error(deep);
    other.add("unembed.weight", 16, 1, 0);
    EXPECT_NE(load_error(other).find("not a tuned lens"), std::string::npos) << load_error(other);
}

TEST(TokenChoice, IdTextAndVocabularyString) {
    const auto trace = built_in("a");
    const text::Tokenizer& tokenizer = *trace->tokenizer();
    const std::int64_t vocab = trace->config().vocab_size;
    const auto nurse = tokenizer.encode(" nurse", std::nullopt, false).ids;
    ASSERT_EQ(nurse.size(), 1U);
    EXPECT_EQ(choose_token(tokenizer, vocab, " nurse").id, nurse[0]);
    EXPECT_EQ(choose_token(tokenizer, vocab, std::to_string(nurse[0])).id, nurse[0]);
    EXPECT_EQ(choose_token(tokenizer, vocab, tokenizer.token_of(nurse[0])).id, nurse[0]);
    const TokenChoice plain = choose_token(tokenizer, vocab, "nurse");
    EXPECT_NE(plain.note.find(std::to_string(nurse[0])), std::string::npos) << "says which of the two it took: " << plain.note;
    const ErrorFacts facts = error_facts([&] { choose_token(tokenizer, vocab, "handkerchiefs of Brocklehurst", "--token"); });
    const std::string what = Error(facts).what();
    for (const std::int64_t id : tokenizer.encode("handkerchiefs of Brocklehurst", std::nullopt, false).ids)
        if (what.find("…") == std::string::npos) {
            EXPECT_NE(what.find("(" + std::to_string(id) + ")"), std::string::npos) << what;
        }
    EXPECT_EQ(facts.item, "--token");
    EXPECT_THROW(choose_token(tokenizer, vocab, "999999999"), Error);
    EXPECT_THROW(choose_token(tokenizer, vocab, ""), Error);
}

TEST(Predictions, AreTheLogSoftmaxOfTheRun) {
    const TracePtr trace = built_in(doctor);
    const std::vector<TokenPrediction> found = predictions(*trace, 4);
    const at::Tensor log_p = trace::tensor(*trace, {Hook::logits, Layer(0)}).to(at::kDouble).log_softmax(-1);
    EXPECT_TRUE(std::isnan(found[0].log_probability));
    EXPECT_EQ(found[0].rank, -1);
    for (std::int64_t i = 1; i < trace->tokens(); ++i) {
        const TokenPrediction& p = found[static_cast<std::size_t>(i)];
        EXPECT_NEAR(p.log_probability, log_p[i - 1][p.id].item<double>(), 1e-5);
        EXPECT_EQ(p.rank, log_p[i - 1].gt(log_p[i - 1][p.id]).sum().item<std::int64_t>());
        EXPECT_EQ(p.next[0].id, log_p[i].argmax().item<std::int64_t>());
    }
    EXPECT_EQ(predictions(*built_in("a"), 1).size(), static_cast<std::size_t>(built_in("a")->tokens()));
}

TEST(Predictions, OfAMaskAreThoseOfATextWithTheMaskInIt) {
    const auto folder = source_folder() / "tests/fixtures/models/bert-mlm";
    const TracePtr plain = run_model(folder, "the cat."), masked = run_model(folder, "the [MASK].");
    const auto mask = masked->tokenizer()->mask_id();
    const auto& ids = masked->encoding().ids;
    const auto at = std::find(ids.begin(), ids.end(), mask.value_or(-1));
    ASSERT_NE(at, ids.end());
    ASSERT_EQ(plain->tokens(), masked->tokens());
    const Position p(at - ids.begin());
    const MaskedCandidates found = masked_candidates(*plain, p, 5);
    const at::Tensor logits = trace::tensor(*masked, {Hook::logits, Layer(0)})[p.value];
    EXPECT_EQ(found.candidates[0].id, logits.argmax().item<std::int64_t>());
    EXPECT_NEAR(found.candidates[0].logit, logits.max().item<float>(), 1e-5);
    EXPECT_THROW(predictions(*plain, 1), Error);
    EXPECT_THROW(masked_candidates(*plain, Position(99), 1), Error);
    EXPECT_THROW(masked_candidates(*built_in("a"), Position(0), 1), Error);
}

}  // namespace logit_lens_test
}  // namespace headlight::analyze
