// SPDX-License-Identifier: GPL-3.0-or-later
// What ends a command: the first signal is obeyed, and who started the program sees which one it was.
#include "cli/console.h"
#include "tests/cli/program.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

namespace headlight::cli {
namespace signals_test {

using test::in_child;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;

bool caught(int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/// The command in a process that gets the signal as soon as it catches it; `before` it starts.
Outcome signalled(
    const std::vector<std::string>& words, int signal, const std::function<void()>& before = [] {}) {
    Outcome outcome = in_child([&] {
        std::signal(signal, SIG_DFL);  // whoever started the tests may ignore it
        before();
        std::thread([signal] {
            while (!caught(signal)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ::kill(::getpid(), signal);
        }).detach();
        const std::vector<char*> argv = test::argv_of(words);
        return run(static_cast<int>(argv.size()) - 1, argv.data(), {});
    });
    outcome.command = testing::PrintToString(words);
    return outcome;
}

TEST(Signals, EndTheProgramByThemselves) {
    // Minutes of work.
    const std::vector<std::string> words{"generate", "novella-7m", "--text", "The", "--tokens", "2000", "--ignore-end"};
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const Outcome ended = signalled(words, signal);
        EXPECT_EQ(ended.code, 128 + signal) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr("Cancelled"));
    }
}

TEST(Signals, AHangUpThatIsIgnoredStaysIgnored) {
    const Outcome kept = in_child([] {
        std::signal(SIGHUP, SIG_IGN);  // nohup
        interruptible();
        return caught(SIGHUP) || !caught(SIGTERM) ? 1 : 0;
    });
    EXPECT_EQ(kept.code, 0);
}

/// Nothing is ever written to the pipe that the text would come from.
TEST(Signals, AreObeyedWhereStandardInputIsWaitedFor) {
    const TempFolder folder;
    const std::filesystem::path pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const Outcome read = signalled({"analyze", "heads", "novella-7m", "--text", "-"}, SIGINT, [&] {
        ::dup2(::open(pipe.c_str(), O_RDWR), STDIN_FILENO);
        interruptible();  // before a text is read, the signal's own action ends the program
    });
    EXPECT_EQ(read.code, 128 + SIGINT) << read.err;
    EXPECT_THAT(read.err, HasSubstr("Cancelled"));
}

// Little address space (ulimit -v): whatever cannot be had, memory or a thread, the program ends, with one line that says so.

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

}  // namespace signals_test
}  // namespace headlight::cli
