// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of large tensors: who has it, and when it goes back.
#include "model/arithmetic/large_tensors.h"

#include "headlight/base/memory_account.h"
#include "tests/support/memory_budget.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace headlight::model {
namespace large_tensors_test {

constexpr std::int64_t kMiB = 1 << 20, kNumbers = 4 * kMiB, kBytes = 16 * kMiB;

at::Tensor numbers(std::int64_t count) { return at::empty({count}, at::kFloat); }

class LargeTensors : public testing::Test {
protected:
    void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        GTEST_SKIP() << "tensors are the sanitizer's";
#endif
        map_large_tensors();
        release_large_tensors();
        ASSERT_EQ(large_tensors_waiting(), 0);
    }
    void TearDown() override { release_large_tensors(); }
};

TEST_F(LargeTensors, LeaveTheirMemoryToTheNextOfTheirSize) {
    at::Tensor first = at::empty({kNumbers / 1024, 1024}, at::kFloat).fill_(1);
    const void* place = first.data_ptr();
    at::Tensor view = first.t().narrow(0, 1, 2);
    first = at::Tensor();
    EXPECT_EQ(large_tensors_waiting(), 0) << "a view still has it";
    const at::Tensor beside = numbers(kNumbers).fill_(2);
    EXPECT_NE(beside.data_ptr(), place);
    EXPECT_EQ(view.min().item<float>(), 1);
    view = at::Tensor();
    EXPECT_EQ(large_tensors_waiting(), kBytes);
    EXPECT_EQ(memory_in_use(MemoryUse::spare), kBytes);
    const at::Tensor larger = numbers(kNumbers + 1), much_smaller = numbers(kNumbers * 3 / 4);
    EXPECT_EQ(large_tensors_waiting(), kBytes) << "too small for one, too large for the other";
    const at::Tensor next = at::empty({kNumbers / 2 - kMiB / 8}, at::kDouble);
    EXPECT_EQ(next.data_ptr(), place) << "an eighth may be left over";
    EXPECT_EQ(large_tensors_waiting(), 0);
}

TEST_F(LargeTensors, AreApartFromTheHeap) {
    const std::size_t before = mallinfo2().hblkhd + mallinfo2().uordblks;
    const at::Tensor large = numbers(kNumbers);
    EXPECT_LT(mallinfo2().hblkhd + mallinfo2().uordblks, before + kMiB);
    numbers(kNumbers / 16);
    EXPECT_EQ(large_tensors_waiting(), 0) << "small ones are the heap's";
}

TEST_F(LargeTensors, TheOldestThatWaitGoBackBeyondAnEighthOfTheBudget) {
    const test::Budget budget(8 * 320 * kMiB);
    const void* newest = nullptr;
    {
        std::vector<at::Tensor> tensors;
        for (int i = 0; i < 30; ++i) tensors.push_back(numbers(kNumbers));
        newest = tensors.back().data_ptr();
        for (at::Tensor& tensor : tensors) tensor = at::Tensor();
    }
    EXPECT_EQ(large_tensors_waiting(), 320 * kMiB);
    const at::Tensor next = numbers(kNumbers);
    EXPECT_EQ(next.data_ptr(), newest);
    EXPECT_EQ(large_tensors_waiting(), 304 * kMiB);
}

TEST_F(LargeTensors, ThatWaitAreTheFirstThatTheBudgetTakes) {
    numbers(kNumbers);
    bool asked = false;
    MemoryAccount results(MemoryUse::results, [&](std::int64_t) {
        asked = true;
        return std::int64_t{0};
    });
    const std::int64_t mapped = test::resident_bytes();
    { numbers(kNumbers).fill_(1); }
    EXPECT_GT(test::resident_bytes(), mapped + kBytes / 2);
    results.set(kMiB);
    const test::Budget budget(64 * kMiB);
    keep_to_budget(memory_left() - results.bytes() - kBytes / 2);
    EXPECT_EQ(large_tensors_waiting(), 0);
    EXPECT_LT(test::resident_bytes(), mapped + kBytes / 2);
    EXPECT_FALSE(asked) << "that was enough";
}

TEST_F(LargeTensors, ThatFindNoMemoryAreAnErrorWithTheirSize) {
    try {
        numbers(std::int64_t{1} << 45);
        FAIL() << "a machine with 128 TiB";
    } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("allocate 140737488355328 bytes"), std::string::npos) << e.what();
    }
}

}  // namespace large_tensors_test
}  // namespace headlight::model
