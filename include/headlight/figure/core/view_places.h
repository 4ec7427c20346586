// SPDX-License-Identifier: GPL-3.0-or-later
// Where views stand in the window: five questions, the views that answer each, and the forms that a view has. The window's tabs,
// pills, keys and menus read this table; the command line, sessions and the palette name a view by its id.
#pragma once

#include "headlight/figure/core/view_spec.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::figure {

/// One form of a view: a row of view_specs().
struct ViewPreset {
    std::string view;   ///< its id
    std::string title;  ///< in the list of the place's presets
};

/// A view as the window offers it.
struct ViewPlace {
    std::string title;                ///< of the pill
    char key = 0;                     ///< digit that opens it; 0: none
    std::vector<ViewPreset> presets;  ///< the first one is shown first
};

struct ViewQuestion {
    std::string title;
    std::vector<ViewPlace> places;
};

/// The questions in the order of the window.
std::span<const ViewQuestion> view_questions();
/// Views about the model itself, which have a page of their own.
const ViewQuestion& model_views();

/// The place of a view; a view of the model's page has none.
struct ViewSeat {
    std::size_t question = 0, place = 0, preset = 0;
    bool operator==(const ViewSeat&) const = default;
};
std::optional<ViewSeat> seat_of(std::string_view view);
const ViewPlace& place_at(const ViewSeat&);

}  // namespace headlight::figure
