// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/memory_account.h"

#include "headlight/base/results.h"
#include "tests/support/memory_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace headlight {
namespace memory_account_test {

/// A holder that gives up all it has, and writes down that it was asked.
struct Holder {
    Holder(MemoryUse use, std::int64_t bytes, std::string name, std::vector<std::string>& asked)
        : account(use, [this, name, &asked](std::int64_t) {
              asked.push_back(name);
              const std::int64_t freed = account.bytes();
              account.set(0);
              return freed;
          }) {
        account.set(bytes);
    }
    MemoryAccount account;
};

/// What others have reported in this process is in use too.
std::int64_t in_use() {
    std::int64_t bytes = 0;
    for (const auto& row : memory_uses) bytes += memory_in_use(row.value);
    return bytes;
}

TEST(MemoryAccount, SumsWhatHoldersReportAndForgetsThoseThatEnd) {
    const std::int64_t before = memory_in_use(MemoryUse::maps);
    {
        MemoryAccount one(MemoryUse::maps), two(MemoryUse::maps);
        one.set(100);
        two.add(30);
        two.add(-10);
        one.set(50);
        EXPECT_EQ(memory_in_use(MemoryUse::maps), before + 70);
    }
    EXPECT_EQ(memory_in_use(MemoryUse::maps), before);
}

TEST(MemoryAccount, BeyondTheBudgetHoldersGiveUpInTheStatedOrderAndNoMoreThanIsNeeded) {
    std::vector<std::string> asked;
    ASSERT_EQ(in_use(), 0);
    const Holder layers(MemoryUse::layers, 300, "layers", asked), pictures(MemoryUse::pictures, 200, "pictures", asked),
        small(MemoryUse::results, 20, "small results", asked), large(MemoryUse::results, 100, "large results", asked);
    const test::Budget budget(1000);
    keep_to_budget();
    EXPECT_TRUE(asked.empty());
    keep_to_budget(450);  // 70 too many
    EXPECT_EQ(asked, (std::vector<std::string>{"large results"}));
    keep_to_budget(700);
    EXPECT_EQ(asked, (std::vector<std::string>{"large results", "small results", "pictures"}));
    keep_to_budget(1'000'000);
    EXPECT_EQ(asked.back(), "layers");
    EXPECT_EQ(in_use(), 0);
}

TEST(MemoryAccount, RunsAndWeightsTakeRoomAndLeaveAQuarter) {
    std::vector<std::string> asked;
    ASSERT_EQ(in_use(), 0);
    const test::Budget budget(1000);
    const Holder layers(MemoryUse::layers, 240, "layers", asked);
    MemoryAccount weights(MemoryUse::weights), run(MemoryUse::runs);
    weights.set(500);
    EXPECT_EQ(memory_left(), 500);
    run.set(5000);
    EXPECT_EQ(memory_left(), 250);
    keep_to_budget();
    EXPECT_TRUE(asked.empty()) << "what can be made again still has a quarter";
    keep_to_budget(11);
    EXPECT_EQ(asked, (std::vector<std::string>{"layers"}));
}

TEST(MemoryAccount, ResultsThatNobodyHasInHandGo) {
    ASSERT_EQ(in_use(), 0);
    Results results;
    int made = 0;
    const auto get = [&](int key) {
        return results.get(
            key,
            [&] {
                ++made;
                return key;
            },
            [](int) { return std::int64_t{400}; });
    };
    const test::Budget budget(1000);
    const auto in_hand = get(1);
    get(2);
    EXPECT_EQ(results.bytes(), 800);
    get(3);
    EXPECT_EQ(results.bytes(), 800) << "2 has gone: 1 is in hand, and 3 came last";
    EXPECT_EQ(memory_in_use(MemoryUse::results), 800);
    EXPECT_EQ(get(1), in_hand);
    EXPECT_EQ(made, 3);
    get(2);
    EXPECT_EQ(made, 4);
}

TEST(MemoryAccount, AHolderMayEndWhileAnotherThreadKeepsToTheBudget) {
    const test::Budget budget(100);
    std::thread other([] {
        for (int i = 0; i < 2000; ++i) keep_to_budget(1000);
    });
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::string> own;
        const Holder holder(MemoryUse::results, 10, "holder", own);
    }
    other.join();
    EXPECT_EQ(in_use(), 0);
}

/// What is given up may be the last owner of another account.
TEST(MemoryAccount, WhatIsGivenUpMayHaveAccountsOfItsOwn) {
    ASSERT_EQ(in_use(), 0);
    const test::Budget budget(100);
    Results results;
    results.get(
        1,
        [] {
            auto inner = std::make_shared<Results>();
            inner->get(
                2, [] { return 2; }, [](int) { return std::int64_t{30}; });
            return inner;
        },
        [](const auto&) { return std::int64_t{40}; });
    EXPECT_EQ(in_use(), 70);
    keep_to_budget(1000);
    EXPECT_EQ(in_use(), 0);
}

}  // namespace memory_account_test
}  // namespace headlight
