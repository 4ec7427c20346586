// SPDX-License-Identifier: GPL-3.0-or-later
// A text as coloured tokens that wrap into lines: one number a token.
#pragma once

#include "figure/core/scene.h"

#include <functional>

namespace headlight::figure {

/// "·doctor (13)"
inline QString label_at(const std::vector<analyze::AxisItem>& labels, Position position) {
    return draw::label_of(labels[static_cast<std::size_t>(position.value)]).with_position(position);
}

class TokenLines {
public:
    static constexpr double line_height = 26;

    /// Places the tokens, the same each time, in lines of a width; returns the height.
    double layout(const std::vector<analyze::AxisItem>&, QPointF top_left, double width);
    /// `color` of a token is its background; invalid: none. `means` says what the pointer finds on it.
    void draw_on(Scene&, const QRectF& seen, const Theme&, const std::function<QColor(std::size_t)>& color,
                 const std::function<void(Position, const QRectF&)>& means, std::optional<Position> ringed = {}) const;
    double height() const { return height_; }

private:
    std::vector<QRectF> boxes_;
    std::vector<draw::Label> labels_;
    std::vector<double> widths_;  ///< of them with their room: tens of thousands take long to measure
    double gutter_ = 0;           ///< left of the lines of a long text, for the position that each begins with
    double left_ = 0;
    double height_ = 0;
};

}  // namespace headlight::figure
