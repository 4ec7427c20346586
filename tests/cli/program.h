// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/cli/cli.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headlight::test {

struct Outcome {
    int code = -1;  ///< exit code; 128 + n when a signal ended the program
    std::string out, err;
};

/// Runs `work` in a child process without a display and with nothing but `input` on standard input.
inline Outcome in_child(const std::function<int()>& work, const std::string& input = "",
                        const std::map<std::string, std::string>& environment = {}, const char* stdout_to = nullptr) {
    const TempFolder folder;
    const std::filesystem::path in = folder.write("in", input), out = folder.write("out", ""), err = folder.write("err", "");
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(in.c_str(), O_RDONLY), 0);
        ::dup2(::open(stdout_to ? stdout_to : out.c_str(), O_WRONLY), 1);
        ::dup2(::open(err.c_str(), O_WRONLY), 2);
        ::unsetenv("DISPLAY");
        ::unsetenv("WAYLAND_DISPLAY");
        ::unsetenv("QT_QPA_PLATFORM");
        ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);  // what is kept of models
        for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
        const int code = work();
#ifdef __SANITIZE_ADDRESS__
        std::exit(code);  // looks for leaks
#else
        std::fflush(nullptr);
        ::_exit(code);  // what LibTorch does at the end of a process takes longer than the work
#endif
    }
    Outcome outcome;
    int status = 0;
    ::waitpid(child, &status, 0);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = slurp(out);
    outcome.err = slurp(err);
    return outcome;
}

inline std::vector<char*> argv_of(const std::vector<std::string>& arguments) {
    std::vector<char*> argv{const_cast<char*>(HEADLIGHT_PROGRAM)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    return argv;
}

/// The built program, as a user starts it: half a second of loading LibTorch.
inline Outcome program(const std::vector<std::string>& arguments) {
    return in_child([argv = argv_of(arguments)] {
        ::execv(HEADLIGHT_PROGRAM, argv.data());
        return 127;
    });
}

/// The same command line in a copy of this process, where LibTorch is loaded already. This process itself computes nothing:
/// OpenMP's threads do not survive a fork.
inline Outcome headlight(const std::vector<std::string>& arguments, const std::string& input = "",
                         const std::map<std::string, std::string>& environment = {}, const char* stdout_to = nullptr) {
    const auto work = [argv = argv_of(arguments)] { return cli::run(static_cast<int>(argv.size()) - 1, argv.data(), {}); };
    return in_child(work, input, environment, stdout_to);
}

inline std::string built_in_model() { return std::string(HEADLIGHT_SOURCE_DIR) + "/models/novella-7m"; }

}  // namespace headlight::test
