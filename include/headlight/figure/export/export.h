// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/figure/core/figure.h"

#include <QImage>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// How a figure becomes a file. Light theme, footer and white paper unless said otherwise.
/// A4 less margins of 25 mm: a file with a physical width is no taller.
inline constexpr double page_height_mm = 247;
/// Smaller type is hard to read on paper.
inline constexpr double least_points = 6;

struct ExportOptions {
    Style style;                     ///< zoom is set by export; exporting is forced to true
    QSizeF size_px{1000, 0};         ///< width (and height; 0: as tall as the content)
    std::optional<double> width_mm;  ///< 85, 178 …: physical width; text keeps its point size
    /// Rows of each list; empty: all, or with a physical width as many as the page holds. Files of data have every row.
    std::optional<std::int64_t> list_rows{};
    double scale = 2;  ///< PNG pixels per px, 1-4
    bool transparent = false;
    bool footer = true;
};

enum class Format { png, svg, pdf, html, csv, npz, json };
inline constexpr EnumRow<Format> formats[] = {{Format::png, "png", "PNG"},   {Format::svg, "svg", "SVG"},
                                              {Format::pdf, "pdf", "PDF"},   {Format::html, "html", "HTML"},
                                              {Format::csv, "csv", "CSV"},   {Format::npz, "npz", "NPZ (NumPy)"},
                                              {Format::json, "json", "JSON"}};
constexpr const auto& enum_rows(Format) { return formats; }
/// A file of numbers: width, looks and selection do not matter.
constexpr bool is_data(Format format) { return format == Format::csv || format == Format::npz || format == Format::json; }
/// ".png" …, of every format.
std::vector<std::string> file_endings();
/// From the extension; Error names the known ones.
Format format_of(const std::filesystem::path&);
/// Its extension is that of a picture; false for data and for unknown ones.
bool is_picture(const std::filesystem::path&);

/// Writes atomically. Byte-identical for equal input and version. Metadata (provenance) goes into every format.
void export_figure(Figure&, const Selection&, const Provenance&, const ExportOptions&, const std::filesystem::path&,
                   const CancelToken& = {});
QImage export_image(Figure&, const Selection&, const Provenance&, const ExportOptions&, const CancelToken& = {});

/// The smallest type of the file in points, with `width_mm` set or at 96 px an inch; 0: it has no text. A figure that needs
/// more room than the width gives is made smaller, and its type with it.
double smallest_type(Figure&, const Selection&, const Provenance&, const ExportOptions&, const CancelToken& = {});
/// The width in whole mm at which the smallest type has `points`; empty: a wider file has no larger type.
std::optional<int> width_for_type(Figure&, const Selection&, const Provenance&, ExportOptions, double points,
                                  const CancelToken& = {});

/// The beginning of a file of data, to look at before it is written: rows of its table, or the arrays of an NPZ.
std::string data_preview(Figure&, const Selection&, const Provenance&, const ExportOptions&, Format);

}  // namespace headlight::figure
