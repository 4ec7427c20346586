// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/map/map_figure.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/options.h"
#include "headlight/map/search/search.h"

#include <QString>

namespace headlight::ui {

/// The map to draw.
struct MapOrder {
    QString texts{};              ///< a file, a folder or a corpus store; empty: the text of the window
    map::GatherOptions gather{};  ///< `heads` is set from one_head
    map::MapOptions options{};
    bool one_head = false;  ///< the selected head alone, of as many tokens as one likes
    bool operator==(const MapOrder&) const = default;
};

/// The page of the map as a session keeps it: what it draws and how, without the pointer's doings.
struct MapPage {
    bool open = false;
    MapOrder order{};
    figure::MapLook look{};  ///< what kept_look() leaves of it
    map::SearchKind search_by = map::SearchKind::token;
    QString search{}, sentence{};
    bool operator==(const MapPage&) const = default;
};

/// A look without marks, rings, lines, guests and lasso, which belong to the texts on screen.
inline figure::MapLook kept_look(const figure::MapLook& look) {
    figure::MapLook kept = look;
    kept.marked.reset();
    kept.marked_words.clear();
    kept.spreads.reset();
    kept.chosen.reset();
    kept.hovered.reset();
    kept.lines.clear();
    kept.guests.reset();
    kept.lasso.clear();
    return kept;
}

}  // namespace headlight::ui
