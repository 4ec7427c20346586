// SPDX-License-Identifier: GPL-3.0-or-later
// The choices that all views share, each once: `headlight render` defines them, requests write them out, sessions keep them.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/theme.h"
#include "headlight/figure/core/transfer.h"

namespace headlight::figure {

struct CommonOption {
    const char* flag;          ///< of `headlight render`, without dashes; of a bool that is on by default it switches it off
    const char* key;           ///< in a session
    const char* help;          ///< on the command line
    double low = 0, high = 0;  ///< of a number
};

/// Calls visit(CommonOption, field) for every field of analyze::PatternOptions: enums with a table, and bools.
template <class Pattern, class Visit>
void visit_pattern(Pattern& p, const Visit& visit) {
    visit(CommonOption{"filter", "filter", "of a pair: which sentence attends to which"}, p.filter);
    visit(CommonOption{"weighting", "weighting", "what a weight is"}, p.weighting);
    visit(CommonOption{"hide-sinks", "hide_first",
                       "leave out attention to sinks: the first token, and others that most of it goes to for nothing"},
          p.hide_sinks);
    visit(CommonOption{"hide-special", "hide_special", "leave out special tokens"}, p.hide_special);
    visit(CommonOption{"no-renormalise", "renormalise", "rows keep what is left after hiding"}, p.renormalise);
    visit(CommonOption{"words", "merge_words", "merge sub-words into words"}, p.merge_words);
}

/// The same for colours and strengths, of a figure::Style or of what the window keeps of one.
template <class Looks, class Visit>
void visit_looks(Looks& s, const Visit& visit) {
    visit(CommonOption{"ramp", "ramp", "colours of maps"}, s.ramp);
    visit(CommonOption{"palette", "palette", "colours of heads"}, s.palette);
    visit(CommonOption{"transfer", "curve", "from a weight to its strength"}, s.transfer.curve);
    visit(CommonOption{"gamma", "gamma", "exponent of --transfer gamma", 0.01, 10}, s.transfer.gamma);
    visit(CommonOption{"threshold", "threshold", "weights below are not drawn", 0, 1}, s.transfer.threshold);
    visit(CommonOption{"keep-mass", "keep_mass", "of each row draw the largest weights up to this share", 0, 1},
          s.transfer.keep_mass);
}

}  // namespace headlight::figure
