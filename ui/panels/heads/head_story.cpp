// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/head_story.h"

#include <QCoreApplication>

#include <cmath>

namespace headlight::ui {

namespace {

struct Kind {
    const char* measure;
    double above;  ///< share that makes the kind worth naming
    const char* story;
};

// In the order of how much they tell: the first that fits is told.
const Kind kinds[] = {
    {"induction", 0.3,
     QT_TRANSLATE_NOOP(
         "HeadStory",
         "An induction head: where a token stood before, it looks at what followed it there. Elhage 2021; Olsson 2022.")},
    {"duplicate_token", 0.4,
     QT_TRANSLATE_NOOP("HeadStory", "A duplicate-token head: it looks back at the same token earlier in the text. Wang 2022.")},
    {"share_previous", 0.5,
     QT_TRANSLATE_NOOP("HeadStory",
                       "A previous-token head: it looks at the token just before. Clark 2019; Vig and Belinkov 2019.")},
    {"share_next", 0.5, QT_TRANSLATE_NOOP("HeadStory", "A next-token head: it looks at the token just after. Clark 2019.")},
    {"share_first", 0.6,
     QT_TRANSLATE_NOOP(
         "HeadStory",
         "Most of its weight rests on the first token, where a head looks when it has nothing to say: an attention sink. Xiao 2023.")},
    {"share_special", 0.6,
     QT_TRANSLATE_NOOP("HeadStory", "Most of its weight rests on special tokens, which works as a pause. Clark 2019.")},
    {"share_self", 0.6, QT_TRANSLATE_NOOP("HeadStory", "It mostly looks at the token itself. Clark 2019.")},
};

}  // namespace

QString head_story(const analyze::HeadTable& table, HeadId head) {
    for (const Kind& kind : kinds) {
        const auto* values = table.find(kind.measure);
        if (!values) continue;
        const double value = (*values)(head.layer.value, head.head.value);
        if (!std::isnan(value) && value >= kind.above) return QCoreApplication::translate("HeadStory", kind.story);
    }
    return {};
}

}  // namespace headlight::ui
