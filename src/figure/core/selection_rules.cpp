// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/selection_rules.h"

#include <algorithm>

namespace headlight::figure {

void toggle_head(Selection& selection, std::int64_t n_heads, Head head, bool double_click) {
    auto& heads = selection.heads;
    const auto place = std::lower_bound(heads.begin(), heads.end(), head);
    const bool active = place != heads.end() && *place == head;
    const bool sole = active && heads.size() == 1;
    if (double_click) {
        heads.clear();
        if (sole)
            for (Head h{0}; h.value < n_heads; ++h) heads.push_back(h);
        else
            heads.push_back(head);
        selection.focus = {selection.layer, head};
    } else if (!active) {
        heads.insert(place, head);
        selection.focus = {selection.layer, head};
    } else if (!sole) {
        heads.erase(place);
        if (selection.focus == HeadId{selection.layer, head}) selection.focus.head = heads.front();
    }
}

std::vector<Head> active_heads(const Selection& selection, Layer layer, const std::vector<Head>& available) {
    if (selection.layer != layer) return available;
    std::vector<Head> active;
    std::ranges::copy_if(available, std::back_inserter(active),
                         [&](Head h) { return std::ranges::find(selection.heads, h) != selection.heads.end(); });
    return active.empty() ? available : active;
}

}  // namespace headlight::figure
