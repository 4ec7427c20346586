// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/cli/cli.h"

#ifdef HEADLIGHT_WITH_GUI
#include "headlight/model/runtime.h"
#include "ui/app.h"
#endif

int main(int argc, char** argv) {
    headlight::cli::Frontend frontend;
#ifdef HEADLIGHT_WITH_GUI
    // Qt takes its own options (-style, -platform …) from the same argv.
    frontend.open_window = [&](const headlight::cli::WindowRequest& request) {
        headlight::model::start_runtime();
        return headlight::ui::run_window(argc, argv, {request.model, request.text, request.pair, request.device, request.image});
    };
    frontend.write_gallery = [&](const std::string& folder) {
        headlight::model::start_runtime();
        return headlight::ui::write_gallery(argc, argv, folder);
    };
#endif
    return headlight::cli::run(argc, argv, frontend);
}
