// SPDX-License-Identifier: GPL-3.0-or-later
// Options of files that are pictures.
#pragma once

#include "cli/command.h"
#include "headlight/figure/export/export.h"

#include <string>

namespace headlight::cli {

struct PictureOptions {
    figure::ExportOptions output{};
    std::string theme = "light";

    /// Options of add_theme() and add_size().
    static constexpr const char* names[] = {"--theme",     "--width", "--height",      "--size-mm",
                                            "--list-rows", "--scale", "--transparent", "--no-footer"};

    void add_theme(Definition&);
    void add_size(Definition&);
    /// UsageError for one of them with a file that is no picture.
    void check(const CLI::App&, const std::string& file) const;
    /// With the theme that was chosen.
    figure::ExportOptions chosen() const;
};

/// figure::export_figure(), and what was written; a note where a picture of a physical width has type that is hard to read on
/// paper.
void export_figure(figure::Figure&, const figure::Selection&, const figure::Provenance&, const figure::ExportOptions&,
                   const std::filesystem::path&, const Console&);

}  // namespace headlight::cli
