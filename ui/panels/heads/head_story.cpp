// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/head_story.h"

#include <cmath>

namespace headlight::ui {

namespace {

struct Kind {
    const char* measure;
    double above;  ///< the kind is named from this share on
    const char* story;
};

// Most informative first; the first match is used.
const Kind kinds[] = {
    {"induction", 0.3,
     "An induction head: where the same token occurred before, it attends to what followed it. Elhage 2021; Olsson 2022."},
    {"duplicate_token", 0.4, "A duplicate-token head: it attends to earlier occurrences of the same token. Wang 2022."},
    {"share_previous", 0.5, "A previous-token head: it attends to the token just before. Clark 2019; Vig and Belinkov 2019."},
    {"share_next", 0.5, "A next-token head: it attends to the token just after. Clark 2019."},
    {"share_first", 0.6,
     "Most of its weight rests on the first token, where a head attends when it has nothing to write: an attention sink. Xiao 2023."},
    {"share_special", 0.6, "Most of its weight rests on special tokens, which acts as a no-op. Clark 2019."},
    {"share_self", 0.6, "It mostly attends to the token itself. Clark 2019."},
};

}  // namespace

QString head_story(const analyze::HeadTable& table, HeadId head) {
    for (const Kind& kind : kinds) {
        const auto* values = table.find(kind.measure);
        if (!values) continue;
        const double value = (*values)(head.layer.value, head.head.value);
        if (!std::isnan(value) && value >= kind.above) return QString::fromUtf8(kind.story);
    }
    return {};
}

}  // namespace headlight::ui
