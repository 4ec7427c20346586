// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/command.h"

#include <filesystem>

namespace headlight::cli {

/// "--out -": the command writes a file of its own in a private temporary folder, which goes to standard output when the
/// command is done. Does nothing for a command whose --out names a file.
class StreamedOut {
public:
    /// UsageError: no format, or one where the file's ending says it.
    explicit StreamedOut(const Definition&);
    ~StreamedOut();
    StreamedOut(const StreamedOut&) = delete;
    StreamedOut& operator=(const StreamedOut&) = delete;
    void send() const;

private:
    const Definition& definition_;
    std::filesystem::path folder_;  ///< empty: nothing is streamed
};

}  // namespace headlight::cli
