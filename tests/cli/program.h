// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/cli/cli.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace headlight::test {

struct Outcome {
    int code = -1;  ///< exit code; 128 + n when a signal ended the program
    std::string out, err;
    std::string command;  ///< the words, for failures
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
    Outcome outcome = in_child([argv = argv_of(arguments)] {
        ::execv(HEADLIGHT_PROGRAM, argv.data());
        return 127;
    });
    outcome.command = testing::PrintToString(arguments);
    return outcome;
}

/// The same command line in a copy of this process, where LibTorch is loaded already. This process itself computes nothing:
/// OpenMP's threads do not survive a fork.
inline Outcome headlight(const std::vector<std::string>& arguments, const std::string& input = "",
                         const std::map<std::string, std::string>& environment = {}, const char* stdout_to = nullptr) {
    const auto work = [argv = argv_of(arguments)] { return cli::run(static_cast<int>(argv.size()) - 1, argv.data(), {}); };
    Outcome outcome = in_child(work, input, environment, stdout_to);
    outcome.command = testing::PrintToString(arguments);
    return outcome;
}

/// What a command gave that has to succeed; the test ends here where it has not.
inline Outcome done(Outcome outcome, const std::source_location& where = std::source_location::current()) {
    if (outcome.code == 0) return outcome;
    throw std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": exit code " +
                             std::to_string(outcome.code) + " of " + outcome.command + ": " + outcome.err);
}

/// What a command gave that has to end with this exit code and print an error that matches.
inline Outcome refused(Outcome outcome, int code, const testing::Matcher<const std::string&>& error = testing::_,
                       const std::source_location& where = std::source_location::current()) {
    const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), outcome.command);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, error);
    return outcome;
}

inline std::string built_in_model() { return std::string(HEADLIGHT_SOURCE_DIR) + "/models/novella-7m"; }

/// A file or folder of tests/fixtures: "models/bert".
inline std::string fixture(const std::string& name) { return std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/" + name; }

/// The words of a command line, and more behind them.
inline std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// The cells of a line of CSV, without quotes.
inline std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells{""};
    bool quoted = false;
    for (const char c : line) {
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            cells.emplace_back();
        else
            cells.back() += c;
    }
    return cells;
}

inline std::vector<std::vector<std::string>> csv_rows(const std::string& csv) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines_of(csv)) rows.push_back(cells_of(line));
    return rows;
}

}  // namespace headlight::test
