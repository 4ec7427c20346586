// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"
#include "ui/document/state.h"

#include <optional>
#include <string>

namespace headlight::ui {

/// What the command line asked the window to start with.
struct WindowOptions {
    std::optional<std::string> model{};  ///< path or name as typed; empty: the built-in model
    std::optional<std::string> text{};
    std::optional<std::string> pair{};
    model::LoadOptions load{};
    std::optional<std::string> image{};  ///< a picture's file
    std::optional<View> view{};
    FirstLook look{};
    bool announces = false;  ///< prints a line on standard output once the window is shown
};

class MainWindow;

/// Fills a new window: with the command line's document, or the one a crash left, or the example sentence on the built-in
/// model. What crashes left and the window does not show is offered.
void start_document(MainWindow&, const WindowOptions&);

/// Opens the window and runs until it is closed; the exit code.
int run_window(int& argc, char** argv, const WindowOptions&);

/// With no display: writes a gallery of every view of the example sentence (PNG, index.html) to `folder`.
int write_gallery(int& argc, char** argv, const std::string& folder);

}  // namespace headlight::ui
