// SPDX-License-Identifier: GPL-3.0-or-later
// Positions and words of the two runs of a comparison.
#pragma once

#include "headlight/figure/core/request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headlight::figure {

/// A selection's positions are A's. Where the figure is of B, these are its own positions, and back.
class SidePlaces {
public:
    explicit SidePlaces(const Beside&);

    /// Of B, in the place of A's token; none: B has no such token.
    std::optional<Position> query_in_b(Position) const;
    std::optional<Position> key_in_b(Position) const;
    /// Without what B does not have.
    Selection in_b(Selection) const;
    /// What a hit of B's figure is in A; tokens of B alone have no position there.
    Hit in_a(Hit) const;

private:
    struct Axis {
        std::vector<std::int64_t> to_b, to_a;  ///< by position; -1: no partner
    };
    Axis queries_, keys_;
};

/// The figure of this state shows B alone.
bool shows_b(const ViewState&);
/// What the title of a figure does not say of its run, from options_of(): "B: with “…”, zero L5H7", or of an edited run alone
/// "edited: zero L5H7"; empty: nothing.
QString side_words(const std::vector<std::pair<std::string, std::string>>& options);
/// At the right in the empty line above a figure's title; nothing for no words. `ground`: painted below the words, over what has
/// scrolled there; invalid: nothing.
void paint_side_words(QPainter&, const QRectF& page, const QString& words, const Theme&, const QColor& ground = {});

}  // namespace headlight::figure
