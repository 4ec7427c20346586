// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <QByteArray>
#include <QString>
#include <QUrl>

#include <cstdint>
#include <functional>

namespace headlight::fetch {

/// The outcome of one request. Nothing is thrown: the caller decides what a status means.
struct Answer {
    int status = 0;            ///< of HTTP; 0: none came
    QString problem;           ///< of the connection, empty: none
    QByteArray body;           ///< where no sink was given, or of an error
    std::int64_t length = -1;  ///< Content-Length, -1: not said
    QString retry_after;
    QString reason;    ///< the hub's own word for an error: "GatedRepo"
    bool cut = false;  ///< broke off: worth another attempt
};

struct TransferOptions {
    QByteArray token;       ///< bearer, for the host of the first address alone
    std::int64_t from = 0;  ///< Range: bytes from here
    int silence_ms = 30'000;
    std::int64_t most = 64 << 20;  ///< of a body without a sink
};

/// GET with redirects followed by hand: at most ten, never from https to http, the token left behind with the host.
/// `begin` gets status and length before the first byte of a success and may refuse; `sink` gets the bytes.
/// Cancelled: throws Cancelled.
Answer get(const QUrl&, const TransferOptions&, const std::function<bool(int status, std::int64_t length)>& begin,
           const std::function<bool(const QByteArray&)>& sink, const CancelToken&);

}  // namespace headlight::fetch
