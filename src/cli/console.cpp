// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/console.h"

#include "cli/interrupt.h"
#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "headlight/io/mapped_file.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace headlight::cli {
namespace {

/// The token the signal handler cancels; never destroyed, because a signal may come at any time.
CancelToken& token_of_interrupts() {
    static CancelToken& token = *new CancelToken;
    return token;
}

/// The first one that came; 0: none.
volatile std::sig_atomic_t received_signal = 0;

void on_interrupt(int signal) {
    if (received_signal == 0) received_signal = signal;
    token_of_interrupts().cancel();
    std::signal(signal, SIG_DFL);  // the next one ends the program
}

void put(std::string_view text) { [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size()); }

void on_bus_error(int, siginfo_t* info, void*) {
    const io::MappedFile* file = io::MappedFile::holding(info->si_addr);
    put("headlight: A model file was cut short or its disk went away while it was open");
    if (file) put(": ");
    if (file) put(file->path().native());
    put(". Open the model again\n");
    ::_exit(1);
}

}  // namespace

void Console::note(std::string_view line) const {
    if (quiet) return;
    clear_progress();
    std::fprintf(stderr, "headlight: %.*s\n", static_cast<int>(line.size()), line.data());
}

void Console::wrote(const std::string& file) const {
    if (file != streamed) note("wrote " + file);
}

void Console::result(std::string_view text) const {
    while (!text.empty()) {
        // A pipe that has room takes PIPE_BUF bytes at once, so nothing here waits for its reader but poll().
        constexpr int kMilliseconds = 100;
        struct pollfd out {
            .fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0
        };
        WorkingFor::token().throw_if_cancelled();
        // After a signal too: the wait ends, and writing would go on waiting.
        if (const int ready = ::poll(&out, 1, kMilliseconds); ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t put = ::write(STDOUT_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            throw Error(
                ErrorFacts{.problem = "Cannot write to standard output", .found = std::generic_category().message(errno)});
        text.remove_prefix(static_cast<std::size_t>(put));
    }
}

bool Console::shows_progress() const { return !quiet && ::isatty(STDERR_FILENO) == 1; }

Progress Console::progress() const {
    if (!shows_progress()) return {};
    return [](const ProgressStep& step) {
        if (step.total <= 0) {
            std::fprintf(stderr, "\r\033[K%s", step.what.c_str());
            return;
        }
        constexpr int kWidth = 30;
        const int full = static_cast<int>(kWidth * std::min(step.done, step.total) / step.total);
        std::fprintf(stderr, "\r\033[K%s [%s%s] %s %lld of %lld", step.what.c_str(), std::string(full, '#').c_str(),
                     std::string(kWidth - full, ' ').c_str(), step.unit.c_str(), static_cast<long long>(step.done),
                     static_cast<long long>(step.total));
    };
}

void Console::clear_progress() const {
    if (shows_progress()) std::fputs("\r\033[K", stderr);
}

CancelToken interruptible() {
    const CancelToken token = token_of_interrupts();
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_ONSTACK | SA_RESTART;  // on the stack that model/arithmetic/signal_stack.h gives each thread
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        const bool ignored = ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!(signal == SIGHUP && ignored)) ::sigaction(signal, &action, nullptr);  // nohup
    }
    return token;
}

CancelToken interrupt_token() { return token_of_interrupts(); }

void install_signal_messages() {
    struct sigaction on_bus {};
    on_bus.sa_sigaction = on_bus_error;
    on_bus.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGBUS, &on_bus, nullptr);
    std::signal(SIGXFSZ,
                SIG_IGN);  // a file that may not grow is an error of write(2), which cleans up, and no sudden end
}

void end_interrupted() {
    const int signal = received_signal != 0 ? received_signal : SIGINT;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    std::_Exit(1);
}

}  // namespace headlight::cli
