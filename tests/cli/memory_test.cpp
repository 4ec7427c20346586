// SPDX-License-Identifier: GPL-3.0-or-later
// A limit on the address space, as `ulimit -v` sets it, where a run needs more.
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <fstream>

namespace headlight {
namespace memory_test {

using test::Outcome;
using testing::HasSubstr;

/// This process may take so many bytes more than it has.
void limit_address_space(std::int64_t more) {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + more);
    const rlimit limit{most, most};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

int run_here(const std::vector<std::string>& arguments) {
    const auto argv = test::argv_of(arguments);
    return cli::run(static_cast<int>(argv.size()) - 1, argv.data(), {});
}

TEST(Memory, WhatDoesNotFitIsAnErrorAndTheProgramGoesOn) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "its shadow takes the address space";
#endif
    const test::TempFolder folder;
    std::string words;
    for (int i = 0; i < 600; ++i) words += "the doctor asked the nurse ";
    const auto text = folder.write("long.txt", words), kept = folder.write("kept.safetensors", "as it was");
    const Outcome outcome = test::in_child([&] {
        limit_address_space(std::int64_t{600} << 20);
        const int long_one = run_here({"trace", "novella-7m", "--text-file", text, "--capture", "*hook_pattern", "--out", kept});
        const int short_one = run_here({"trace", "novella-7m", "--text", "The nurse was late.", "--out", folder / "short.npz"});
        return 10 * long_one + short_one;
    });
    EXPECT_EQ(outcome.code, 10) << "the long one could not, the short one could: " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("There is not enough memory"));
    EXPECT_THAT(outcome.err, HasSubstr("Use a shorter text"));
    EXPECT_EQ(outcome.err.find("frame #"), std::string::npos);
    EXPECT_EQ(test::slurp(kept), "as it was");
    EXPECT_TRUE(std::filesystem::exists(folder / "short.npz"));
}

}  // namespace memory_test
}  // namespace headlight
