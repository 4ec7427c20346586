// SPDX-License-Identifier: GPL-3.0-or-later
// Little address space (ulimit -v): whatever cannot be had, memory or a thread, the program ends, with one line that says so.
#include "tests/cli/program.h"

#include <sys/resource.h>

namespace headlight {
namespace address_space_test {

using test::Outcome;
using test::TempFolder;

/// With two threads, whose stacks and buffers count too; ended by a signal where it waits for ever.
Outcome limited_to(std::size_t bytes, const std::vector<std::string>& arguments) {
    Outcome outcome = test::in_child(
        [argv = test::argv_of(arguments), bytes] {
            const rlimit limit{bytes, bytes};
            ::setrlimit(RLIMIT_AS, &limit);
            ::alarm(300);
            ::execv(HEADLIGHT_PROGRAM, argv.data());
            return 127;
        },
        "", {{"OMP_NUM_THREADS", "2"}});
    outcome.command = testing::PrintToString(arguments) + " in " + std::to_string(bytes >> 20) + " MiB";
    return outcome;
}

TEST(AddressSpace, ALackOfItEndsTheProgramWithOneLine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer maps more than that";
#endif
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 60; ++i) text += "The doctor asked the nurse about the king. ";
    for (std::size_t mib = 1040; mib <= 1360; mib += 80)
        for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
                 {"trace", test::built_in_model(), "--text", text, "--out", folder / "t.npz"},
                 {"rollout", test::built_in_model(), "--text", text, "--out", folder / "r.npz"}}) {
            const Outcome outcome = limited_to(mib << 20, command);
            if (outcome.code == 0) continue;
            EXPECT_EQ(outcome.code, 1) << outcome.command << outcome.err;
            EXPECT_EQ(test::lines_of(outcome.err).size(), 1u) << outcome.command << outcome.err;
            EXPECT_THAT(outcome.err, testing::AnyOf(testing::HasSubstr("memory"), testing::HasSubstr("ddress space"),
                                                    testing::HasSubstr("hread creation failed"),
                                                    testing::HasSubstr("temporarily unavailable")))
                << outcome.command;
        }
    const Outcome least = limited_to(std::size_t{500} << 20, {"info", test::built_in_model()});
    EXPECT_TRUE(least.code > 0 && least.code < 128) << "the libraries alone need more: " << least.code;
}

}  // namespace address_space_test
}  // namespace headlight
