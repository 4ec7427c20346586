// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/alignment.h"

namespace headlight::ui {

figure::Selection align_selection(figure::Selection s, const std::vector<std::int64_t>& queries,
                                  const std::vector<std::int64_t>& keys) {
    const auto move = [&](std::vector<Position>& pins, const std::vector<std::int64_t>& alignment) {
        std::vector<Position> kept;
        for (const Position p : pins) {
            const bool known = p.value >= 0 && p.value < static_cast<std::int64_t>(alignment.size());
            const std::int64_t to = known ? alignment[static_cast<std::size_t>(p.value)] : -1;
            if (to >= 0) kept.push_back(Position(to));
        }
        pins = std::move(kept);
    };
    move(s.pinned_queries, queries);
    move(s.pinned_keys, keys);
    s.hover_query.reset();
    s.hover_key.reset();
    return s;
}

}  // namespace headlight::ui
