// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/cli/cli.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace headlight::test {

struct Outcome {
    int code = -1;  ///< exit code; 128 + n when a signal ended the program
    std::string out, err;
};

/// Runs the built program without a display and with nothing but `input` on standard input.
inline Outcome headlight(const std::vector<std::string>& arguments, const std::string& input = "",
                         const std::map<std::string, std::string>& environment = {}, const char* stdout_to = nullptr) {
    const TempFolder folder;
    const std::filesystem::path in = folder.write("in", input), out = folder.write("out", ""), err = folder.write("err", "");
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(in.c_str(), O_RDONLY), 0);
        ::dup2(::open(stdout_to ? stdout_to : out.c_str(), O_WRONLY), 1);
        ::dup2(::open(err.c_str(), O_WRONLY), 2);
        ::unsetenv("DISPLAY");
        ::unsetenv("WAYLAND_DISPLAY");
        ::unsetenv("QT_QPA_PLATFORM");
        for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
        std::vector<char*> argv{const_cast<char*>(HEADLIGHT_PROGRAM)};
        for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        ::execv(HEADLIGHT_PROGRAM, argv.data());
        ::_exit(127);
    }
    Outcome outcome;
    int status = 0;
    ::waitpid(child, &status, 0);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = slurp(out);
    outcome.err = slurp(err);
    return outcome;
}

/// The same command line inside this process: for many calls that need no process of their own.
inline Outcome in_process(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv{"headlight"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.code = cli::run(static_cast<int>(argv.size()), argv.data(), {});
    outcome.err = testing::internal::GetCapturedStderr();
    outcome.out = testing::internal::GetCapturedStdout();
    return outcome;
}

inline std::string built_in_model() { return std::string(HEADLIGHT_SOURCE_DIR) + "/models/novella-7m"; }

}  // namespace headlight::test
