// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include <unistd.h>

namespace headlight::trace {
namespace memory_test {

namespace fs = std::filesystem;

/// A made-up machine: files as /proc and /sys have them.
class Memory : public testing::Test {
protected:
    Memory() : root_(fs::path(testing::TempDir()) / ("memory_" + std::to_string(::getpid()))) {}
    ~Memory() override { fs::remove_all(root_); }
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    fs::path root_;
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

}  // namespace memory_test
}  // namespace headlight::trace
