// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors that are computed while they are written: the same bytes, in pieces.
#include "headlight/trace/arrays.h"

#include "headlight/model/runtime.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/tensors.h"
#include "tests/support/case_name.h"
#include "tests/support/memory_budget.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"
#include "trace/pieces.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>

namespace headlight::trace {
namespace array_streams_test {

using model::Hook;
using model::HookPoint;
using model::Stack;
using namespace testing_support;

std::vector<std::byte> all_of(const io::ArrayStream& stream) {
    std::vector<std::byte> bytes;
    stream.feed([&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
    return bytes;
}

void expect_tensors(const std::shared_ptr<const Trace>& trace) {
    std::vector<HookPoint> points;
    for (const HookPoint& point : model::hooks_of(trace->config()))
        if (trace->has(point)) points.push_back(point);
    ASSERT_GT(points.size(), 5u);
    const std::vector<io::ArrayStream> streams = array_streams(trace, points);
    ASSERT_EQ(streams.size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const at::Tensor whole = tensor(*trace, points[i]).contiguous();
        EXPECT_EQ(streams[i].name, model::name_of(points[i], trace->config()));
        EXPECT_EQ(streams[i].shape, whole.sizes().vec()) << streams[i].name;
        const std::vector<std::byte> bytes = all_of(streams[i]);
        ASSERT_EQ(bytes.size(), whole.nbytes()) << streams[i].name;
        EXPECT_EQ(std::memcmp(bytes.data(), whole.data_ptr(), bytes.size()), 0) << streams[i].name;
    }
}

class ArrayStreams : public testing::TestWithParam<std::string> {};

TEST_P(ArrayStreams, AreTheTensorsKeptAndRecomputed) {
    const Opened opened(fixtures() / GetParam());
    const bool two = opened.model->part(Stack::encoder) != nullptr;
    const Prompt prompt{.text = "the nurse asked the old nurse", .pair = two ? "die alte Katze" : ""};
    const auto every = [&] {
        const auto trace = run(opened.model, opened.tokenizer, prompt, CapturePlan::everything());
        expect_tensors(trace);
        if (two) expect_tensors(trace->part(Stack::encoder));
    };
    every();
    const test::Budget none;
    every();
}

INSTANTIATE_TEST_SUITE_P(EveryFixture, ArrayStreams, testing::ValuesIn(text_fixtures()),
                         [](const auto& p) { return test::case_name(p.param); });

// 3,500 tokens: 2.4 GB of patterns, of which one head's is in memory.
TEST(LongArrayStreams, HoldOnePieceOfWhatIsComputed) {
    model::start_runtime();
    std::string text;
    for (int i = 0; i < 3500; ++i) text += i % 3 ? " river" : " the";
    const auto trace = Novella::get().run(text);
    const model::ModelConfig& c = trace->config();
    std::vector<HookPoint> points;
    for (std::int64_t l = 0; l < c.n_layers; ++l) points.push_back({Hook::pattern, Layer(l)});
    points.push_back({Hook::attn_scores, Layer(1)});
    points.push_back({Hook::result, Layer(2)});
    const std::int64_t before = test::resident_bytes();
    std::int64_t most = 0, largest = 0;
    for (const io::ArrayStream& stream : array_streams(trace, points)) {
        std::int64_t fed = 0, expected = 4;
        stream.feed([&](std::span<const std::byte> part) {
            fed += std::ssize(part);
            largest = std::max(largest, std::ssize(part));
            most = std::max(most, test::resident_bytes() - before);
        });
        for (const std::int64_t side : stream.shape) expected *= side;
        EXPECT_EQ(fed, expected) << stream.name;
    }
    EXPECT_LE(largest, kPieceBytes);
    const std::int64_t forecast = bytes_to_feed(c, points, trace->tokens());
    EXPECT_LE(forecast, 2 * kPieceBytes);
#ifndef __SANITIZE_ADDRESS__
    EXPECT_LT(most, forecast + remade_now(*trace).bytes + (64 << 20));
#endif
    // A piece is what a view reads.
    const at::Tensor rows = pattern_rows(*trace, Layer(3), Head(5), 3000, 2);
    std::int64_t at = 0;
    for_pieces(*trace, {Hook::pattern, Layer(3)}, [&](const at::Tensor& piece) {
        if (at == 5) {
            EXPECT_TRUE(at::equal(piece.view({trace->tokens(), trace->tokens()}).narrow(0, 3000, 2), rows));
        }
        at += piece.size(0);
    });
    EXPECT_EQ(at, c.n_heads) << "at 3,500 tokens a piece is a head";
}

}  // namespace array_streams_test
}  // namespace headlight::trace
