// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of a head view's lines, one for each band of its height, kept while they scroll.
#pragma once

#include "figure/pattern/head/head_lines.h"
#include "headlight/figure/core/figure.h"

#include <limits>
#include <memory>
#include <vector>

namespace headlight::figure {

/// What pictures of lines depend on.
struct LineScene {
    static constexpr double width = 2;

    std::shared_ptr<const HeadLines> lines;
    std::shared_ptr<const std::vector<std::uint32_t>> only;  ///< indices of the lines that are painted, in that order; null: all
    std::vector<QColor> hues;                                ///< of each map
    double x0 = 0, x1 = 0;                                   ///< ends of the lines
    double first_y = 0, row_height = 0;                      ///< of the middle of row 0
    double room = 0;   ///< lines that are higher fade: they cannot be followed, and would cover those that can; 0: none does
    double scale = 1;  ///< device pixels per figure unit
    bool operator==(const LineScene&) const = default;

    double y(std::int64_t row) const { return first_y + row_height * static_cast<double>(row); }
    double opacity(const HeadLine&) const;
};

/// A frame makes missing bands as far as they take a few milliseconds, the strongest lines first; sharpening() makes them
/// whole beside the painting. For the thread that paints.
class LinePictures {
public:
    LinePictures();
    static constexpr double frame_pixels = 7e5;  ///< that lines may cover in a frame, one on another: some milliseconds
    static constexpr double no_limit = std::numeric_limits<double>::infinity();
    /// The lines between two heights. `pixels`: what they may cover in bands that are made for it; no_limit: whole bands, however
    /// long they take.
    void paint(QPainter&, LineScene, double top, double bottom, double pixels, const CancelToken&);
    void clear();
    /// The last paint left out faint lines.
    bool refining() const;
    Sharpening sharpening();

private:
    struct Bands;
    std::shared_ptr<Bands> bands_;  ///< outlives the figure while it is sharpened
};

}  // namespace headlight::figure
