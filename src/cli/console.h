// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <string>
#include <string_view>

namespace headlight::cli {

/// Results go to standard output, everything said to a person to standard error.
class Console {
public:
    bool quiet = false;
    std::string streamed{};  ///< the file that goes to standard output in the end (--out -)

    /// A line on standard error, unless --quiet.
    void note(std::string_view line) const;
    /// "wrote FILE", a note.
    void wrote(const std::string& file) const;
    /// Standard output, whole: Error when it cannot take it (a full disk behind a redirection).
    void result(std::string_view text) const;
    /// A bar on standard error while it is a terminal and --quiet was not given; empty otherwise.
    Progress progress() const;
    /// Removes the bar.
    void clear_progress() const;

private:
    bool shows_progress() const;
};

/// A token that Ctrl+C, SIGTERM and, without nohup, SIGHUP cancel: the first one stops the work cleanly, the second ends the
/// program at once.
CancelToken interruptible();

/// Answers a mapped file that was cut short under us, and a file that may not grow, with a message instead of a crash.
void install_signal_messages();

/// After a cancelled run: ends the program by the signal that cancelled it, so that who started it sees which.
[[noreturn]] void end_interrupted();

}  // namespace headlight::cli
