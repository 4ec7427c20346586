// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options.h"
#include "headlight/base/error.h"

namespace headlight::cli {

Action define_gallery(Definition& definition, const Frontend& frontend) {
    auto folder = std::make_shared<std::string>("gallery");
    add_path(definition, "--out", *folder, "folder for the pictures and index.html", "FOLDER", ValueKind::folder)
        ->capture_default_str();
    return [folder, write = frontend.write_gallery] {
        if (!write)
            throw Error(ErrorFacts{.problem = "This build of Headlight has no window to draw",
                                   .hint = "Build with -DHEADLIGHT_GUI=ON, or use headlight render"});
        return write(*folder);
    };
}

}  // namespace headlight::cli
