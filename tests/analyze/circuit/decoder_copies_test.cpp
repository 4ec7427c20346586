// SPDX-License-Identifier: GPL-3.0-or-later
// Copy suppression behind an encoder: the decoder's own heads and those that read the source, against other ways to the same
// numbers.
#include "headlight/analyze/circuit/copy_suppression.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/pairs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::analyze {
namespace decoder_copies_test {

using model::Hook;
using model::Stack;

TEST(DecoderCopySuppression, EffectsAreThoseOfAttribution) {
    for (const char* name : {"t5", "t5-v1_1", "mt5", "mbart"}) {
        const TracePtr decoder = run_pair(name), cross = decoder->part(Stack::cross);
        for (const bool of_source : {false, true}) {
            const trace::Trace& attention = of_source ? *cross : *decoder;
            const std::vector<SuppressedPair> pairs =
                suppressed_pairs(*decoder, std::nullopt, {.threshold = 0.05, .of_source = of_source});
            ASSERT_FALSE(pairs.empty()) << name;
            bool first_row = false;
            for (const SuppressedPair& pair : pairs) {
                first_row |= pair.destination == Position(0);
                const std::int64_t id = attention.key_encoding().ids[static_cast<std::size_t>(pair.source.value)];
                const AttributionOptions o{.token = id};
                const Eigen::VectorXd sources = of_source ? cross_head_sources(*decoder, pair.head, pair.destination, o)
                                                          : head_sources(*decoder, pair.head, pair.destination, o);
                const double size = 1e-4 * std::max(1.0, sources.cwiseAbs().maxCoeff());
                EXPECT_NEAR(pair.pair_logit_change, sources[pair.source.value], size) << name;
                EXPECT_NEAR(pair.logit_change, sources.sum(), size) << name;
                EXPECT_NEAR(
                    pair.attention,
                    trace::tensor(attention, {Hook::pattern,
                                              pair.head.layer})[pair.head.head.value][pair.destination.value][pair.source.value]
                        .item<double>(),
                    1e-6);
                // What the model would say before it reads: the stream in front of that attention.
                const at::Tensor stream = trace::tensor_rows(
                    *decoder, {of_source ? Hook::resid_mid : Hook::resid_pre, pair.head.layer}, pair.destination.value, 1);
                const at::Tensor logits = trace::logits_of(*decoder->model(), stream)[0];
                EXPECT_EQ(pair.predicted_rank, logits.gt(logits[id]).sum().item<std::int64_t>()) << name;
            }
            EXPECT_EQ(first_row, of_source)
                << "the first token of the target attends to all of the source, and only at itself in the target";
        }
    }
}

TEST(DecoderCopySuppression, AblationIsThatOfTheRun) {
    for (const char* name : {"t5", "mbart"}) {
        const TracePtr decoder = run_pair(name);
        const HeadId id{Layer(1), Head(1)};
        for (const bool of_source : {false, true}) {
            const SuppressionExplained found = suppression_explained(*decoder, id, {.of_source = of_source});
            const std::int64_t first = of_source ? 0 : 1, n = decoder->tokens() - first;
            const std::string hook = std::string("decoder.blocks.1.") + (of_source ? "cross_attn" : "attn") + ".hook_result";
            const trace::Intervention ablate{hook, [&](model::HookPoint, const at::Tensor& t) {
                                                 const at::Tensor out = t.clone(), rows = out.select(1, 1).narrow(0, first, n);
                                                 rows.copy_(rows.mean(0, true).expand_as(rows).clone());
                                                 return out;
                                             }};
            const TracePtr run = trace::run_with_hooks(decoder->model(), decoder->tokenizer(), pair_prompt(), {}, {ablate});
            const auto logs = [&](const trace::Trace& t) {
                return at::log_softmax(trace::tensor(t, {Hook::logits, Layer(0)}).narrow(0, first, n).to(at::kDouble), 1);
            };
            const at::Tensor p = logs(*decoder), q = logs(*run);
            const double expected = (p.exp() * (p - q)).sum(1).mean().item<double>();
            EXPECT_GT(expected, 1e-9) << name;
            EXPECT_NEAR(found.kl_ablated, expected, 1e-3 * expected + 1e-9) << name << " " << of_source;
        }
    }
}

TEST(DecoderCopySuppression, NormsBehindTheLayersLeaveNoDirectPath) {
    for (const char* name : {"bart", "marian"})
        for (const bool of_source : {false, true})
            EXPECT_THROW(suppressed_pairs(*run_pair(name), std::nullopt, {.of_source = of_source}), Error);
    EXPECT_THROW(suppressed_pairs(*run_pair("t5", Stack::cross), std::nullopt), Error);
    EXPECT_THROW(suppressed_pairs(*built_in("the cat"), std::nullopt, {.of_source = true}), Error);
}

}  // namespace decoder_copies_test
}  // namespace headlight::analyze
