// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <vector>

namespace headlight::figure {

/// Both ends of a scale of colours, bars or places.
struct ScaleEnds {
    double low = 0, high = 0;
    bool operator==(const ScaleEnds&) const = default;
};

/// A figure whose scales end at numbers of its own data. Of two runs side by side, or one after the other, both have the ends
/// that hold the numbers of both.
class OwnScale {
public:
    virtual ~OwnScale() = default;
    /// Its scales are as wide as they can be, whatever the data.
    virtual bool absolute() const { return false; }
    /// In the same order in every figure of a view.
    virtual std::vector<ScaleEnds> scale_ends() const = 0;
    /// Widens each scale, before the first layout. As many as scale_ends().
    virtual void widen(const std::vector<ScaleEnds>&) = 0;
};

/// Where both figures have the same scales.
inline void share_scales(OwnScale& shown, const OwnScale& other) {
    std::vector<ScaleEnds> ends = shown.scale_ends();
    const std::vector<ScaleEnds> others = other.scale_ends();
    if (ends.size() != others.size()) return;
    for (std::size_t i = 0; i < ends.size(); ++i)
        ends[i] = {std::min(ends[i].low, others[i].low), std::max(ends[i].high, others[i].high)};
    shown.widen(ends);
}

}  // namespace headlight::figure
