// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"

#include <functional>
#include <optional>
#include <string>

namespace headlight::corpus {
class Team;
}

namespace headlight::cli {

/// What `headlight [MODEL] [--text T]` asks the window to start with.
struct WindowRequest {
    std::optional<std::string> model;  ///< as typed; empty: the built-in model
    std::optional<std::string> text;
    std::optional<std::string> pair;
    model::LoadOptions load{};
    std::optional<std::string> image{};  ///< a picture's file
};

/// Functions of the window; empty in a build without one. `team`: the processes of headlight-mpi.
struct Frontend {
    std::function<int(const WindowRequest&)> open_window;
    std::function<int(const std::string& folder)> write_gallery;
    corpus::Team* team = nullptr;
};

/// Runs the command line and returns the exit code: 0 done, 1 could not (message on standard error),
/// 2 wrong usage (message with the nearest valid word on standard error).
int run(int argc, const char* const* argv, const Frontend&);

}  // namespace headlight::cli
