// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/picture_options.h"

namespace headlight::cli {

void PictureOptions::add_theme(Definition& d) { d.add_choice("--theme", theme, {"light", "dark"}, "colours"); }

void PictureOptions::add_size(Definition& d) {
    const auto number = [&](const char* flag, double& value, const char* help, double low, double high) {
        d.app->add_option(flag, value, help)->type_name("X")->check(CLI::Range(low, high))->capture_default_str();
    };
    number("--width", output.size_px.rwidth(), "width in px", 100, 20000);
    number("--height", output.size_px.rheight(), "height in px; 0: as tall as the content", 0, 20000);
    d.app->add_option("--size-mm", output.width_mm, "width in mm: one column of a journal is 85, two are 178")
        ->type_name("X")
        ->check(CLI::Range(20.0, 2000.0));
    number("--scale", output.scale, "PNG pixels per px", 1, 4);
    d.app->add_flag("--transparent", output.transparent, "no background behind the figure");
    d.app->add_flag_callback(
        "--no-footer", [this] { output.footer = false; }, "without the provenance line");
}

figure::ExportOptions PictureOptions::chosen() const {
    figure::ExportOptions out = output;
    out.style.theme = theme == "dark" ? &figure::Theme::dark_theme() : &figure::Theme::light();
    return out;
}

}  // namespace headlight::cli
