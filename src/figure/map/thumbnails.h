// SPDX-License-Identifier: GPL-3.0-or-later
// The patches of pictures, drawn in place of their points.
#pragma once

#include "headlight/figure/map/map_figure.h"

#include <QImage>

#include <vector>

namespace headlight::figure {

class MapThumbnails {
public:
    /// Without any if the map is of texts.
    explicit MapThumbnails(const map::QueryKeyMap&);
    bool empty() const { return patches_.empty(); }
    /// Null for a class token.
    QImage of(const MapToken&) const;

private:
    std::size_t class_tokens_ = 0;
    std::vector<std::vector<QImage>> patches_;  ///< [text, patch]
};

}  // namespace headlight::figure
