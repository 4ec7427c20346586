// SPDX-License-Identifier: GPL-3.0-or-later
// Interventions, bad input and cancelling: what the pass does beside computing.
#include "headlight/base/error.h"
#include "headlight/model/runtime.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>

namespace headlight::model {
namespace forward_test {

using testing::AllOf;
using testing::HasSubstr;

std::string failure(const Model& model, const ForwardInput& input, Observer& observer) {
    return test::error_of([&] { forward(model, input, observer, {}, {}); });
}

std::string failure(const Model& model, const ForwardInput& input) {
    Collector seen;
    return failure(model, input, seen);
}

TEST(Forward, BadInputIsNamed) {
    const auto gpt2 = Model::load(fixture("gpt2"));
    EXPECT_THAT(failure(*gpt2, {}), HasSubstr("no token"));
    EXPECT_THAT(failure(*gpt2, {{1, 2, 272}, {}}), AllOf(HasSubstr("position 2"), HasSubstr("0 to 271"), HasSubstr("272")));
    EXPECT_THAT(failure(*gpt2, {{-1}, {}}), AllOf(HasSubstr("position 0"), HasSubstr("-1")));
    EXPECT_THAT(failure(*gpt2, some_text(gpt2->config(), 41)), AllOf(HasSubstr("40"), HasSubstr("41")));
    const auto bert = Model::load(fixture("bert"));
    EXPECT_THAT(failure(*bert, {{1, 2}, {0, 2}}), AllOf(HasSubstr("token type"), HasSubstr("position 1")));
    EXPECT_THAT(failure(*bert, {{1, 2}, {0}}), HasSubstr("Token types"));
}

TEST(Forward, OneTokenWorksInEveryFamily) {
    for (const std::string& name : fixture_names()) {
        const auto model = Model::load(fixture(name));
        if (reads_pictures(model->config())) continue;
        const Collector seen = run_all(*model, some_text(model->config(), 1));
        at::Tensor pattern = seen.tensors.at("blocks.1.attn.hook_pattern");
        if (model->config().attention_sinks) pattern = pattern + seen.tensors.at("blocks.1.attn.hook_sink").unsqueeze(-1);
        EXPECT_TRUE(
            at::allclose(pattern, at::ones({model->config().n_heads, 1, 1}), 0, model->config().attention_sinks ? 1e-6 : 0))
            << name;
    }
}

/// A change that no norm and no softmax takes back.
at::Tensor disturbed(const at::Tensor& t) { return t * 1.5 + at::arange(t.numel(), t.options()).sin().view(t.sizes()) * 0.1; }

/// Every hook of every fixture: a change there must change what comes out (hooks are wired in), a replacement equal to
/// the original must not.
TEST(Forward, EveryReplacementTakesEffect) {
    for (const std::string& name : fixture_names()) {
        const auto model = Model::load(fixture(name), {.device = "cpu"});
        const ForwardInput input = some_text(model->config(), 9);
        const Collector plain = run_all(*model, input);
        const auto points = hooks_of(model->config());
        const std::string end = name_of(points.back());
        for (const HookPoint& point : points) {
            const auto run = [&](const std::function<at::Tensor(at::Tensor)>& change) {
                Collector seen;
                seen.wanted = [&](HookPoint p) { return p == point || p == points.back(); };
                seen.replace = [&](HookPoint p, at::Tensor t) { return p == point ? change(t) : t; };
                forward(*model, input, seen, {}, {});
                return seen.tensors.at(end);
            };
            EXPECT_FALSE(at::equal(run(disturbed), plain.tensors.at(end)))
                << name << ": " << name_of(point) << " is not wired in";
            const at::Tensor same = run([](const at::Tensor& t) { return t.clone(); });
            const double change = ((same - plain.tensors.at(end)).abs().max() / plain.tensors.at(end).abs().max()).item<double>();
            EXPECT_LE(change, 1e-5) << name << ": an equal replacement at " << name_of(point) << " changed the result";
        }
    }
}

TEST(Forward, AReplacedPatternMayLookIntoTheFuture) {
    const auto model = Model::load(fixture("bloom"));
    Collector seen;
    seen.replace = [](HookPoint p, at::Tensor t) {
        if (p.hook != Hook::pattern) return t;
        at::Tensor last = at::zeros_like(t);
        last.select(2, t.size(2) - 1).fill_(1);  // every query reads the last key alone
        return last;
    };
    forward(*model, some_text(model->config(), 70), seen, {}, {});
    const at::Tensor v = seen.tensors.at("blocks.0.attn.hook_v"), z = seen.tensors.at("blocks.0.attn.hook_z");
    EXPECT_TRUE(at::equal(z, v.narrow(0, 69, 1).expand_as(z)));
}

TEST(Forward, ReplacedScoresMakeThePattern) {
    const auto model = Model::load(fixture("bert"));
    Collector seen;
    seen.replace = [](HookPoint p, at::Tensor t) { return p.hook == Hook::attn_scores ? at::zeros_like(t) : t; };
    forward(*model, some_text(model->config(), 8), seen, {}, {});
    const at::Tensor p = seen.tensors.at("blocks.1.attn.hook_pattern");
    EXPECT_TRUE(at::allclose(p, at::full_like(p, 0.125)));
}

TEST(Forward, AReplacementThatDoesNotFitIsAnError) {
    const auto model = Model::load(fixture("gpt2"));
    Collector seen;
    seen.replace = [](HookPoint p, at::Tensor t) { return p.hook == Hook::z ? t.narrow(0, 0, 1) : t; };
    EXPECT_THAT(failure(*model, some_text(model->config(), 4), seen),
                AllOf(HasSubstr("blocks.0.attn.hook_z"), HasSubstr("[4, 2, 8]"), HasSubstr("[1, 2, 8]")));
    seen.replace = [](HookPoint p, at::Tensor t) { return p.hook == Hook::z ? t.to(at::kDouble) : t; };
    EXPECT_THAT(failure(*model, some_text(model->config(), 4), seen), HasSubstr("Double"));
}

TEST(Forward, NumbersThatAreNotFiniteStopTheRun) {
    const auto model = Model::load(fixture("llama-mha"));
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Collector seen;
        seen.replace = [&](HookPoint p, at::Tensor t) {
            if (!(p == HookPoint{Hook::mlp_out, Layer(1)})) return t;
            t = t.clone();
            t[3][5] = value;
            return t;
        };
        EXPECT_THAT(failure(*model, some_text(model->config(), 6), seen),
                    AllOf(HasSubstr("blocks.1.hook_resid_post"), HasSubstr("position 3")));
    }
}

TEST(Forward, CancelledBeforeTheNextLayer) {
    const auto model = Model::load(fixture("gpt2"));
    const CancelToken cancel;
    Collector seen;
    seen.replace = [&](HookPoint p, at::Tensor t) {
        if (p == HookPoint{Hook::resid_post, Layer(0)}) cancel.cancel();
        return t;
    };
    EXPECT_THROW(forward(*model, some_text(model->config(), 4), seen, cancel, {}), Cancelled);
    EXPECT_FALSE(seen.tensors.contains("blocks.1.hook_resid_pre"));
}

TEST(Forward, ProgressByLayer) {
    const auto model = Model::load(fixture("gpt2"));
    Collector seen;
    std::vector<std::int64_t> done;
    forward(*model, some_text(model->config(), 4), seen, {}, [&](const ProgressStep& s) {
        EXPECT_EQ(s.unit, "layer");
        EXPECT_EQ(s.total, 2);
        done.push_back(s.done);
    });
    EXPECT_EQ(done, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Forward, ErrorsOfAnObserverComeOutOfTheParallelTiles) {
    class Thrower : public Observer {
        bool wants(HookPoint) const override { return false; }
        at::Tensor visit(HookPoint, at::Tensor t) override { return t; }
        bool wants_pattern_tiles() const override { return true; }
        void pattern_tile(Layer, std::int64_t, std::int64_t, const at::Tensor&, std::span<const RowLogs>) override {
            throw Error("stop here");
        }
    } thrower;
    const auto model = Model::load(fixture("bloom"));
    EXPECT_EQ(failure(*model, some_text(model->config(), 200), thrower), "stop here");
}

// A corpus run asks for no logits: a third of a small model's work.
TEST(Forward, LeavesOutWhatIsBehindTheLayersUnlessItIsWanted) {
    class Wanting : public Observer {
    public:
        explicit Wanting(std::set<Hook> hooks) : hooks_(std::move(hooks)) {}
        bool wants(HookPoint point) const override { return hooks_.contains(point.hook); }
        at::Tensor visit(HookPoint, at::Tensor t) override { return t; }

    private:
        std::set<Hook> hooks_;
    };
    const auto model = Model::load(fixture("gpt2"));
    const ForwardInput input = some_text(model->config(), 5);
    const_cast<Model::Internals&>(model->internals()).unembed.weight = at::Tensor();
    Wanting stream({Hook::resid_post}), logits({Hook::logits});
    EXPECT_NO_THROW(forward(*model, input, stream, {}, {}));
    EXPECT_ANY_THROW(forward(*model, input, logits, {}, {}));
}

TEST(Forward, BrainFloatIsNearFloat) {
    for (const std::string& name : fixture_names()) {
        const auto wide = Model::load(fixture(name), {.device = "cpu"});
        const auto narrow = Model::load(fixture(name), {.dtype = ComputeType::bfloat16, .device = "cpu"});
        const ForwardInput input = some_text(wide->config(), 12);
        const Collector a = run_all(*wide, input), b = run_all(*narrow, input);
        const at::Tensor x = a.tensors.at("blocks.0.hook_resid_post"), y = b.tensors.at("blocks.0.hook_resid_post");
        EXPECT_EQ(y.scalar_type(), at::kBFloat16);
        // A router whose scores nearly tie chooses another expert for a token or two; for which depends on the processor's sums.
        const at::Tensor off = (x - y.to(at::kFloat)).abs().mean(-1) / x.abs().mean(-1);  // [pos]
        EXPECT_LE((wide->config().experts.count > 0 ? off.median() : off.mean()).item<double>(), 0.05) << name;
        const at::Tensor p = b.tensors.at("blocks.0.attn.hook_pattern").to(at::kFloat);
        if (wide->config().causal) {
            EXPECT_EQ(p.triu(1).abs().max().item<float>(), 0.0f) << name;
        }
    }
}

/// reorder_and_upcast_attn: scores are rounded nowhere, patterns are bfloat16 as the values are.
TEST(Forward, UpcastScoresStayFloatInABrainFloatRun) {
    const auto model = Model::load(fixture("gpt2-inverse-layers"), {.dtype = ComputeType::bfloat16, .device = "cpu"});
    const Collector seen = run_all(*model, some_text(model->config(), 12));
    const at::Tensor scores = seen.tensors.at("blocks.1.attn.hook_attn_scores").tril();
    ASSERT_EQ(scores.scalar_type(), at::kFloat);
    EXPECT_FALSE(at::equal(scores, scores.to(at::kBFloat16).to(at::kFloat)));
    EXPECT_EQ(seen.tensors.at("blocks.1.attn.hook_pattern").scalar_type(), at::kBFloat16);
}

/// EmbeddingGemma: every key counts, in local layers those within half the window on either side.
TEST(Forward, BidirectionalGemmaSeesBothSides) {
    const ScratchModel copy("gemma3");
    copy.edit_config([](nlohmann::json& c) { c["use_bidirectional_attention"] = true; });
    const auto model = Model::load(copy.folder);
    EXPECT_FALSE(model->config().has_unembedding);
    const Collector seen = run_all(*model, some_text(model->config(), 12));
    const at::Tensor i = at::arange(12).unsqueeze(1), j = at::arange(12).unsqueeze(0);
    const at::Tensor local = (i - j).abs() < 3;  // sliding_window 4: half of it and the token itself
    EXPECT_TRUE(at::equal(seen.tensors.at("blocks.0.attn.hook_pattern")[0] > 0, local));
    EXPECT_TRUE((seen.tensors.at("blocks.1.attn.hook_pattern") > 0).all().item<bool>());
}

TEST(Runtime, OneThreadOnEveryThread) {
    start_runtime(1);
    int seen = 0;
    std::thread([&] { seen = runtime_facts().threads; }).join();
    EXPECT_EQ(seen, 1) << "worker threads must follow the setting";
    start_runtime(2);
    EXPECT_EQ(runtime_facts().threads, 2);
    EXPECT_FALSE(runtime_facts().torch_version.empty());
    EXPECT_FALSE(runtime_facts().blas.empty());
}

}  // namespace forward_test
}  // namespace headlight::model
