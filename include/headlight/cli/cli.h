// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"
#include "headlight/model/model.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

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
    std::optional<std::string> view{};   ///< an id of figure::view_specs()
    model::Stack attention = model::Stack::decoder;
    std::optional<Layer> layer{};  ///< without one, the layer and head that show most
    std::vector<Head> heads{};
    std::optional<Position> query{}, key{};
    bool announces = false;  ///< prints a line on standard output once the window is shown
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
