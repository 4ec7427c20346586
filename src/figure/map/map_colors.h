// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of points and their legend.
#pragma once

#include "headlight/figure/core/theme.h"
#include "headlight/figure/map/map_figure.h"

#include <QRgb>

#include <cstdint>
#include <vector>

namespace headlight::figure {

inline constexpr std::uint8_t map_ramp_steps = 24;
/// Colours at the end of every palette: unmarked points, and first and special tokens.
inline constexpr std::uint8_t map_grey = 60, map_apart = 61;

/// Point data that do not depend on the head; [point] each.
struct MapPointFacts {
    std::vector<QString> text;  ///< in readable form
    std::vector<std::uint8_t> apart, punctuation;
    std::vector<std::int32_t> count, length, position,
        of_text;                           ///< how often the token occurs; characters; place; number of the text
    std::vector<std::uint8_t> word_class;  ///< of the part of speech; empty: not known
    std::int32_t most = 1, longest = 1, last_position = 0;
    std::size_t queries = 0;

    std::size_t size() const { return text.size(); }
    bool key(std::size_t point) const { return point >= queries; }
};
MapPointFacts map_point_facts(const map::QueryKeyMap&);

/// [point] index into the palette of this colour; points the look does not show are cloud_hidden.
std::vector<std::uint8_t> map_classes(const MapPointFacts&, const map::HeadMap&, const MapLook&);
std::vector<QRgb> map_palette(MapColor, const Theme&);
/// The colour of a point in the palette of roles, for labels and lines.
QColor map_role_color(const Theme&, bool key);

/// The range of lengths of a head's vectors: 1 % and 99 % quantile of the points that are not apart.
std::pair<float, float> map_norm_range(const MapPointFacts&, const map::HeadMap&);

struct MapLegend {
    struct Entry {
        std::uint8_t color = 0;
        QString words;
    };
    std::vector<Entry> entries;  ///< discs of the palette with their words
    QString name, low, high;     ///< of a ramp; empty name: no ramp
    QString note;                ///< after the entries
    bool roles_apart = false;    ///< queries and keys have separate ramps
};
/// `single`: the head whose numbers the ends of a ramp show; null: words.
MapLegend map_legend(MapColor, const map::QueryKeyMap&, const MapPointFacts&, const map::HeadMap* single);

}  // namespace headlight::figure
