// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/memory.h"

#include "headlight/model/runtime.h"
#include "tests/support/memory_budget.h"
#include "tests/support/temp_folder.h"
#include "tests/trace/novella.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

namespace headlight::trace {
namespace memory_test {

/// A made-up machine: files as /proc and /sys have them.
class Memory : public testing::Test {
protected:
    void write(std::string_view file, std::string_view text) const { folder_.write(file, text); }
    const test::TempFolder folder_;
    const std::filesystem::path root_ = folder_.path();
};

TEST_F(Memory, WithoutLimitsTheMachineCounts) {
    write("proc/meminfo", "MemTotal: 2000 kB\nMemFree: 100 kB\nMemAvailable:   1500 kB\n");
    write("proc/self/cgroup", "0::/user.slice\n");
    write("sys/fs/cgroup/user.slice/memory.max", "max\n");
    write("sys/fs/cgroup/user.slice/memory.current", "1000\n");
    EXPECT_EQ(available_memory(root_), 1500 * 1024);
}

TEST_F(Memory, AGroupOfTheSecondVersionLimits) {
    write("proc/meminfo", "MemAvailable: 999999999 kB\n");
    write("proc/self/cgroup", "0::/a/b\n");
    write("sys/fs/cgroup/a/memory.max", "1000000\n");
    write("sys/fs/cgroup/a/memory.current", "700000\n");
    write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 200000\n");
    write("sys/fs/cgroup/a/b/memory.max", "max\n");
    EXPECT_EQ(available_memory(root_), 500000);  // 200,000 of what is in use are droppable file pages
}

TEST_F(Memory, AGroupOfTheFirstVersionLimits) {
    write("proc/meminfo", "MemAvailable: 999999999 kB\n");
    write("proc/self/cgroup", "5:devices:/\n4:cpu,memory:/job\n0::/\n");
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
    write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "6000\n");
    EXPECT_EQ(available_memory(root_), 0);
}

TEST_F(Memory, ThisMachineHasSome) {
    EXPECT_GT(available_memory(), 1 << 20);
    EXPECT_EQ(available_memory(root_ / "nowhere"), std::numeric_limits<std::int64_t>::max());
}

TEST(MemoryOfRuns, IsGivenBackWhenALongTextIsDropped) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "another allocator";
#endif
    model::start_runtime();
    std::string text;
    for (int i = 0; i < 3000; ++i) text += i % 3 ? " river" : " the";
    testing_support::Novella::get().run("a", CapturePlan::everything());  // what is made once
    malloc_trim(0);
    const std::int64_t before = test::resident_bytes();
    auto trace = testing_support::Novella::get().run(text, CapturePlan::everything());
    const std::int64_t held = test::resident_bytes() - before;
    ASSERT_GT(held, 200 << 20);
    trace.reset();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (test::resident_bytes() - before > held / 5 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LT(test::resident_bytes() - before, held / 5);
}

}  // namespace memory_test
}  // namespace headlight::trace
