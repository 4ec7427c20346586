// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/measure_groups.h"

namespace headlight::analyze {

const std::vector<MeasureGroup>& measure_groups() {
    static const std::vector<MeasureGroup> groups{
        {"What kind of head", {"induction", "previous_token", "duplicate_token"}},
        {"Where it looks",
         {"share_self", "share_previous", "share_next", "share_first", "share_same_token", "mean_distance", "argmax_self",
          "argmax_first"}},
        {"Which tokens it looks at",
         {"share_special", "share_punctuation", "share_any_punctuation", "share_cls", "share_sep", "sep_to_sep", "other_to_sep"}},
        {"How widely it looks",
         {"entropy", "entropy_smoothed", "entropy_uniform", "entropy_cls", "top1_minus_top2", "max_weight", "variability"}},
        {"What it writes", {"update_magnitude", "update_orientation", "update_inner", "value_norm", "weighted_value_norm"}},
        {"Weighted by the values", {"vw_share_first", "vw_share_self", "vw_share_special"}},
    };
    return groups;
}

}  // namespace headlight::analyze
