// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <QByteArray>
#include <QString>
#include <QUrl>

#include <cstdint>
#include <filesystem>
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

/// The lock of a file that is brought into the cache, in the words of huggingface_hub: HUB/.locks/ENTRY/NAME.lock, so that its
/// programs and this one wait for each other.
inline std::filesystem::path lock_of(const std::filesystem::path& hub, const std::string& entry, const std::string& name) {
    return hub / ".locks" / entry / (name + ".lock");
}
inline constexpr const char* kCacheHint = "Set HF_HUB_CACHE to a folder that can be written";

}  // namespace headlight::fetch
