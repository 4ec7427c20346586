// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <QImage>

#include <filesystem>

namespace headlight::figure {

/// How a figure becomes a file. Light theme, footer and white paper unless said otherwise.
struct ExportOptions {
    Style style;                     ///< zoom is set by export; exporting is forced to true
    QSizeF size_px{1000, 0};         ///< width (and height; 0: as tall as the content)
    std::optional<double> width_mm;  ///< 85, 178 …: physical width; text keeps its point size
    double scale = 2;                ///< PNG pixels per px, 1-4
    bool transparent = false;
    bool footer = true;
};

enum class Format { png, svg, pdf, csv, npz, json };
/// From the extension; Error names the known ones.
Format format_of(const std::filesystem::path&);

/// Writes atomically. Byte-identical for equal input and version. Metadata (provenance) goes into every format.
void export_figure(Figure&, const Selection&, const Provenance&, const ExportOptions&, const std::filesystem::path&);
QImage export_image(Figure&, const Selection&, const Provenance&, const ExportOptions&);

}  // namespace headlight::figure
