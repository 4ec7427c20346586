// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/picture_options.h"

#include "cli/options.h"
#include "headlight/figure/core/number_text.h"

namespace headlight::cli {

void PictureOptions::add_theme(Definition& d) { d.add_choice("--theme", theme, {"light", "dark"}, "colours"); }

void PictureOptions::add_size(Definition& d) {
    add_number(d, "--width", output.size_px.rwidth(), "width in px", 100.0, 20000.0, "X");
    add_number(d, "--height", output.size_px.rheight(), "height in px; 0: as tall as the content", 0.0, 20000.0, "X");
    add_value(d, "--size-mm", output.width_mm, "width in mm: one column of a journal is 85, two are 178", "X")
        ->check(CLI::Range(20.0, 2000.0));
    add_value(d, "--list-rows", output.list_rows,
              "rows of each list in a picture; by default all, with --size-mm as many as an A4 page holds", "N")
        ->check(CLI::Range(1, 100'000));
    add_number(d, "--scale", output.scale, "PNG pixels per px", 1.0, 4.0, "X");
    d.app->add_flag("--transparent", output.transparent, "no background behind the figure");
    d.app->add_flag_callback(
        "--no-footer", [this] { output.footer = false; }, "without the provenance line");
}

void PictureOptions::check(const CLI::App& app, const std::string& file) const {
    const bool table = !figure::is_picture(file);
    for (const char* const name : names)
        refuse_unused(app, {{name, table, "it is for pictures: --out FILE.png, .svg, .pdf or .html"}});
}

figure::ExportOptions PictureOptions::chosen() const {
    figure::ExportOptions out = output;
    out.style.theme = theme == "dark" ? &figure::Theme::dark_theme() : &figure::Theme::light();
    return out;
}

void export_figure(figure::Figure& figure, const figure::Selection& selection, const figure::Provenance& provenance,
                   const figure::ExportOptions& options, const std::filesystem::path& path, const Console& console) {
    figure::export_figure(figure, selection, provenance, options, path);
    console.wrote(path.string());
    if (!figure::is_picture(path) || !options.width_mm) return;
    const double points = figure::smallest_type(figure, selection, provenance, options);
    if (points <= 0 || points > figure::least_points - 0.05) return;
    const auto wide = figure::width_for_type(figure, selection, provenance, options, figure::least_points);
    console.note("its smallest type is " + figure::number_text(points, 1).toStdString() +
                 " pt, which is hard to read on paper: " +
                 (wide ? "from " + std::to_string(*wide) + " mm on it is " +
                             figure::number_text(figure::least_points, 0).toStdString() + " pt"
                       : "a larger file has no larger type"));
}

}  // namespace headlight::cli
