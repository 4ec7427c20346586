// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/pattern/pattern_views.h"

#include <QSize>

#include <string>
#include <vector>

namespace headlight::figure {

/// One thing that was painted off screen, and how long it took (wall clock).
struct PaintTiming {
    std::string view;  ///< "model", "head", "matrix", "neuron", "heads", "plot"
    std::string what;  ///< "first paint", "pan", "zoom", "hover"
    double median_ms = 0, worst_ms = 0;
    double limit_ms = 0;  ///< what a person does not notice: 100 for a first paint, 16 for a frame
    int frames = 0;
    bool within() const { return median_ms <= limit_ms; }
};

/// Paints every view of a finished trace into an image of the canvas' size (one device pixel a px), as the window does:
/// first paints from nothing (making the figure counts), then pans, zooms and hovers. Needs a QApplication
/// (offscreen will do).
std::vector<PaintTiming> benchmark_views(TracePtr, QSize canvas = {1440, 900});

}  // namespace headlight::figure
