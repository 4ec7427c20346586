// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/picture_options.h"

#include "cli/options.h"

namespace headlight::cli {

void PictureOptions::add_theme(Definition& d) { d.add_choice("--theme", theme, {"light", "dark"}, "colours"); }

void PictureOptions::add_size(Definition& d) {
    add_number(d, "--width", output.size_px.rwidth(), "width in px", 100.0, 20000.0, "X");
    add_number(d, "--height", output.size_px.rheight(), "height in px; 0: as tall as the content", 0.0, 20000.0, "X");
    add_value(d, "--size-mm", output.width_mm, "width in mm: one column of a journal is 85, two are 178", "X")
        ->check(CLI::Range(20.0, 2000.0));
    add_number(d, "--scale", output.scale, "PNG pixels per px", 1.0, 4.0, "X");
    d.app->add_flag("--transparent", output.transparent, "no background behind the figure");
    d.app->add_flag_callback(
        "--no-footer", [this] { output.footer = false; }, "without the provenance line");
}

void PictureOptions::check(const CLI::App& app, const std::string& file) const {
    const bool table = !figure::is_picture(file);
    const char* const why = "it is for pictures: --out FILE.png, .svg or .pdf";
    refuse_unused(app, {{"--theme", table, why},
                        {"--width", table, why},
                        {"--height", table, why},
                        {"--size-mm", table, why},
                        {"--scale", table, why},
                        {"--transparent", table, why},
                        {"--no-footer", table, why}});
}

figure::ExportOptions PictureOptions::chosen() const {
    figure::ExportOptions out = output;
    out.style.theme = theme == "dark" ? &figure::Theme::dark_theme() : &figure::Theme::light();
    return out;
}

}  // namespace headlight::cli
