// SPDX-License-Identifier: GPL-3.0-or-later
// What ends a command: the first signal is obeyed, and who started the program sees which one it was.
#include "cli/console.h"
#include "tests/cli/program.h"

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

}  // namespace signals_test
}  // namespace headlight::cli
