// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/bus_guard.h"

#include "headlight/base/error.h"
#include "headlight/io/mapped_file.h"

#include <QSocketNotifier>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace headlight::ui {
namespace {

int ends[2] = {-1, -1};  ///< of a pipe: the handler writes a byte, the window's thread reads it
struct sigaction action_before {};

void on_bus_error(int signal, siginfo_t* info, void*) {
    const int before_this = errno;  // of the work that is interrupted
    const io::MappedFile* file = io::MappedFile::holding(info->si_addr);
    if (!file || !file->blank_from(info->si_addr)) {
        ::sigaction(signal, &action_before, nullptr);  // comes again at once, to whoever had it
        return;
    }
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = ::write(ends[1], &byte, 1);
    errno = before_this;
}

}  // namespace

BusGuard::BusGuard(QObject* parent) : QObject(parent) {
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("There is no pipe for messages of the system");
    auto* notifier = new QSocketNotifier(ends[0], QSocketNotifier::Read, this);
    connect(notifier, &QSocketNotifier::activated, this, [this] {
        char bytes[64];
        while (::read(ends[0], bytes, sizeof bytes) > 0) {
        }
        Q_EMIT lost(QString::fromStdString(io::MappedFile::damaged().string()));
    });
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;  // a handler that returns: see model/arithmetic/signal_stack.h
    ::sigaction(SIGBUS, &action, &action_before);
}

BusGuard::~BusGuard() {
    ::sigaction(SIGBUS, &action_before, nullptr);
    for (int& end : ends) ::close(std::exchange(end, -1));
}

}  // namespace headlight::ui
