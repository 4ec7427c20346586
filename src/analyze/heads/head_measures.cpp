// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_measures.h"
#include "headlight/base/numbers.h"

namespace headlight::analyze {
namespace {

using Field = double trace::HeadSummary::*;

Measure nats(const char* id, const char* title, const char* definition, Field field) {
    return {{id, title, definition, "nats", 0, kNaN}, field, nullptr};
}

Measure share(const char* id, const char* title, const char* definition, Field field) {
    return {{id, title, definition, "share", 0, 1}, field, nullptr};
}

Measure length_measure(const char* id, const char* title, const char* definition, Field field) {
    return {{id, title, definition, "length", 0, kNaN}, field, nullptr};
}

std::vector<Measure> make_list() {
    using S = trace::HeadSummary;
    return {
        nats("entropy", "entropy", "Mean over queries of -sum_j a_ij ln a_ij (Clark 2019, 3.3; unsmoothed).", &S::entropy),
        nats("entropy_smoothed", "smoothed entropy",
             "The same of 0.9999 a_ij + 0.0001 / n_i, with n_i keys that query i may look at (as Clark 2019 computes "
             "it).",
             &S::entropy_smoothed),
        nats("entropy_uniform", "entropy of uniform attention",
             "Mean over queries of ln n_i: ln(i + 1) in causal models, else ln n. What the entropies compare with.",
             &S::entropy_uniform),
        {{"mean_distance", "mean distance",
          "Mean over queries of sum_j a_ij |i - j| (after Vig & Belinkov 2019, with the first token).", "tokens", 0, kNaN},
         &S::mean_distance,
         nullptr},
        share("share_self", "share on itself", "Mean over queries of a_ii (Clark 2019, 3.1).", &S::share_self),
        share("share_previous", "share on the previous token",
              "Mean over queries of a_i,i-1; a query without a previous token counts as 0 (Clark 2019, 3.1).",
              &S::share_previous),
        share("share_next", "share on the next token",
              "Mean over queries of a_i,i+1; the last query counts as 0 (Clark 2019, 3.1). 0 in causal models.", &S::share_next),
        share("share_first", "share on the first token", "Mean over queries of a_i0, the attention sink (Vig & Belinkov 2019).",
              &S::share_first),
        share("share_special", "share on special tokens",
              "Mean over queries of sum_j a_ij over tokens that the tokenizer adds, such as <s>, [CLS], [SEP] (Clark "
              "2019, 3.2).",
              &S::share_special),
        share("share_punctuation", "share on . and ,",
              "Mean over queries of sum_j a_ij over tokens that are \".\" or \",\" (Clark 2019, 3.2).", &S::share_punctuation),
        share("share_same_token", "share on the same token earlier",
              "Mean over all queries of sum_j a_ij over j < i with the same token.", &S::share_same_token),
        share("top1_minus_top2", "focus: largest minus second",
              "Mean over queries of the largest weight minus the second largest; 1: all on one token. Queries with a "
              "single key do not count.",
              &S::top1_minus_top2),
        share("argmax_self", "mostly itself",
              "Share of queries whose largest weight is on themselves; of equal weights the first counts.", &S::argmax_self),
        share("argmax_first", "mostly the first token", "Share of queries whose largest weight is on the first token.",
              &S::argmax_first),
        share("variability", "variability over texts",
              "sum_x,i,j |a_ij(x) - mean_x a_ij| / (2 sum_x,i,j a_ij(x)) over the first 10 tokens of several texts "
              "(Vig & Belinkov 2019); 0: attention by position alone. One text has none.",
              nullptr),
        {{"update_magnitude", "size of the update",
          "Mean over queries of |u_i| / |h_i|: the head's update u_i = z_i W_O beside the stream h_i it is added to.", "ratio", 0,
          kNaN},
         nullptr,
         &HeadUpdates::magnitude},
        {{"update_orientation", "direction of the update",
          "Mean over queries of the cosine of u_i and h_i: 0 orthogonal, negative takes away.", "cosine", -1, 1},
         nullptr,
         &HeadUpdates::orientation},
        share("vw_share_first", "value-weighted share on the first token",
              "Mean over queries of a_i0 |f_0| / sum_j a_ij |f_j| with f_j = v_j W_O (Kobayashi 2020).", &S::vw_share_first),
        share("vw_share_self", "value-weighted share on itself",
              "Mean over queries of a_ii |f_i| / sum_j a_ij |f_j| with f_j = v_j W_O (Kobayashi 2020).", &S::vw_share_self),
        share("induction", "induction score",
              "Mean over queries that repeat an earlier token of the weight on tokens right behind an earlier copy "
              "(Elhage 2021, Olsson 2022), on this text.",
              &S::induction),
        share("previous_token", "previous-token score",
              "Mean over queries that have a previous token of a_i,i-1 (as share_previous where all have one).",
              &S::previous_token),
        share("duplicate_token", "duplicate-token score",
              "Mean over queries that repeat an earlier token of the weight on its earlier copies (Wang 2022), on this "
              "text.",
              &S::duplicate_token),
        share("max_weight", "largest weight", "Largest single weight of any query but the first token.", &S::max_weight),
        share("share_any_punctuation", "share on punctuation",
              "Mean over queries of sum_j a_ij over tokens of nothing but punctuation (Unicode category P).",
              &S::share_any_punctuation),
        share("vw_share_special", "value-weighted share on special tokens",
              "Mean over queries of the same value-weighted share, summed over special tokens (Kobayashi 2020).",
              &S::vw_share_special),
        length_measure("value_norm", "length of the values",
                       "Mean over tokens of |f_j| = |v_j W_O|: what a weight of 1 writes (Kobayashi 2020).", &S::value_norm),
        length_measure("weighted_value_norm", "length of the weighted values",
                       "Mean over queries of sum_j |a_ij f_j| (Kobayashi 2020).", &S::weighted_value_norm),
        {{"update_inner", "size of z",
          "Mean over queries of |z_i| / |h_i|: the update before W_O (BLOOM's context_layer) beside the stream.", "ratio", 0,
          kNaN},
         nullptr,
         &HeadUpdates::inner},
        share("share_cls", "share on [CLS]",
              "Mean over queries of a_i0 where the tokenizer begins a text with a special token; not in causal models "
              "(Clark 2019, 3.2).",
              &S::share_cls),
        share("share_sep", "share on [SEP]",
              "Mean over queries of sum_j a_ij over special tokens behind the first; not in causal models (Clark 2019, "
              "3.2).",
              &S::share_sep),
        share("sep_to_sep", "[SEP] to [SEP]", "The same over queries that are [SEP] themselves (Clark 2019, 3.2).",
              &S::sep_to_sep),
        share("other_to_sep", "others to [SEP]", "The same over queries that are not [SEP] (Clark 2019, 3.2).", &S::other_to_sep),
        nats("entropy_cls", "entropy from [CLS]",
             "Smoothed entropy of the row of [CLS] alone; not in causal models (Clark 2019, 3.3).", &S::entropy_cls),
    };
}

}  // namespace

const std::vector<Measure>& measure_list() {
    static const std::vector<Measure> list = make_list();
    return list;
}

const std::vector<MeasureInfo>& head_measures() {
    static const std::vector<MeasureInfo> infos = [] {
        std::vector<MeasureInfo> out;
        for (const Measure& measure : measure_list()) out.push_back(measure.info);
        return out;
    }();
    return infos;
}

}  // namespace headlight::analyze
