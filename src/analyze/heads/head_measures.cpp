// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_measures.h"

#include "analyze/pattern/row_sums.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace headlight::analyze {
namespace {

/// This row does not count. Not NaN, which a broken pattern has.
constexpr double kSkipped = -std::numeric_limits<double>::infinity();

/// One row of a pattern, and sums over it that several measures share.
struct MeasuredRow {
    MeasuredRow(const trace::PatternRow&, const MeasuredText&);
    double at(std::int64_t key) const { return static_cast<double>(row.weights[key]); }
    /// Share of the weighted lengths p |f|.
    double of_length(double scaled) const { return row.weighted_length <= 0 ? kSkipped : scaled / row.weighted_length; }
    double scaled(std::int64_t key) const { return row.lengths ? at(key) * static_cast<double>(row.lengths[key]) : 0; }

    const trace::PatternRow& row;
    const MeasuredText& text;
    double special = 0, scaled_special = 0;  ///< weight on special tokens, and weight times length
    double separators = 0;                   ///< weight on special tokens behind the first position
    bool repeats = false;                    ///< the query's token stands earlier in its own text
    double copies = 0, behind_copies = 0;    ///< weight on its earlier copies, and on the keys right behind them
};

/// What a measure is made of when all rows have been seen.
struct MeasuredHead {
    const trace::RowSum& sum(const char* id) const;

    const trace::RowSums& sums;
    double mean_length;      ///< mean over keys of |f_j|
    double uniform_entropy;  ///< mean over rows of ln(keys of the row)
};

using R = const MeasuredRow&;
using H = const MeasuredHead&;

/// Where a measure comes from: rows, what their sums give, the head's update; nothing: several texts, or the probe.
struct Source {
    double (*of_row)(R) = nullptr;  ///< or kSkipped
    bool own_text = false;  ///< compares the query's position or token with the key's: not where another text is attended to
    bool largest = false;   ///< of all rows, not their mean
    std::vector<std::int64_t> MeasuredText::*keys = nullptr;  ///< adds the weight on these keys to what of_row gives
    double (*of_head)(H) = nullptr;
    Eigen::MatrixXd HeadUpdates::*update = nullptr;
    HeadExcess MeasuredText::*excess = nullptr;
};
constexpr Source mean(double (*of_row)(R)) { return {.of_row = of_row}; }
constexpr Source own_text(double (*of_row)(R)) { return {.of_row = of_row, .own_text = true}; }
constexpr Source largest(double (*of_row)(R)) { return {.of_row = of_row, .largest = true}; }
/// Mean weight on keys of which there may be many: summed by columns.
constexpr Source on_keys(std::vector<std::int64_t> MeasuredText::*keys) {
    return {.of_row = [](R) { return 0.0; }, .keys = keys};
}
constexpr Source of_head(double (*of)(H)) { return {.of_head = of}; }
/// Over the queries that the text has for a kind of head.
template <HeadExcess MeasuredText::*kOf>
constexpr Source in_excess() {
    return {.of_row = [](R r) { return (r.text.*kOf).of_row(r.row); }, .own_text = true, .excess = kOf};
}
constexpr Source of_update(Eigen::MatrixXd HeadUpdates::*part) { return {.update = part}; }

struct Unit {
    const char* name;
    double low, high;  ///< NaN: no limit
};
constexpr Unit kNats{"nats", 0, kNaN}, kDistance{"tokens", 0, kNaN}, kShare{"share", 0, 1}, kLength{"length", 0, kNaN},
    kRatio{"ratio", 0, kNaN}, kCosine{"cosine", -1, 1}, kGap{"length", kNaN, kNaN};

struct HeadMeasure {
    const char* id;
    const char* title;
    const char* group;
    Unit unit;
    const char* definition;  ///< one sentence with the formula and its source
    Source source;
};

/// The largest weight is on this key; of equal weights the first counts.
bool is_argmax(const trace::PatternRow& row, std::int64_t key) {
    return row.weights[key] == row.largest && !has(row.weights, key, row.largest);
}

/// It has more than one key to choose from, whatever the window.
bool has_choice(const MeasuredRow& r) { return r.text.shape.across ? r.text.shape.keys > 1 : r.row.query > 0; }

double mean_of(const trace::RowSum& sum) { return sum.rows > 0 ? sum.sum / static_cast<double>(sum.rows) : kNaN; }

/// Weight on the query and the keys right before it, so many together, of queries that have more.
double share_within(const MeasuredRow& r, std::int64_t keys) {
    const std::int64_t first = r.row.query + 1 - keys;
    if (first <= r.row.legal.first) return kSkipped;
    return weight_on(r.row.weights, {first, r.row.query + 1});
}

/// Weight on the other sentence of a pair, of queries that may attend to any of it.
double share_other_sentence(const MeasuredRow& r) {
    const model::KeyRange other = r.text.other_sentence(r.row.query);
    const model::KeyRange legal{std::max(other.first, r.row.legal.first), std::min(other.last, r.row.legal.last)};
    return legal.first < legal.last ? weight_on(r.row.weights, legal) : kSkipped;
}

constexpr const char *kKind = "What kind of head", *kWhere = "Where it attends", *kTokens = "Which tokens it attends to",
                     *kWidth = "How widely it attends", *kWrites = "What it writes", *kByValue = "Weighted by the values",
                     *kVectors = "Queries and keys";

/// The one list of measures: order of the columns everywhere.
constexpr auto kMeasures = std::to_array<HeadMeasure>({
    {"entropy", "entropy", kWidth, kNats, "Mean over queries of -sum_j a_ij ln a_ij (Clark 2019, 3.3; unsmoothed).",
     mean([](R r) { return r.row.entropy; })},
    {"entropy_smoothed", "smoothed entropy", kWidth, kNats,
     "The same of 0.9999 a_ij + 0.0001 / n_i, with n_i keys that query i may attend to (as Clark 2019 computes it).",
     mean([](R r) { return r.row.smoothed_entropy; })},
    {"entropy_uniform", "entropy of uniform attention", kWidth, kNats,
     "Mean over queries of ln n_i: ln(i + 1) in causal models, else ln n. What the entropies compare with.",
     of_head([](H h) { return h.uniform_entropy; })},
    {"mean_distance", "mean distance", kWhere, kDistance,
     "Mean over queries of sum_j a_ij |i - j| (after Vig & Belinkov 2019, with the first token).",
     own_text([](R r) { return r.row.distance; })},
    {"share_self", "share on itself", kWhere, kShare, "Mean over queries of a_ii (Clark 2019, 3.1).",
     own_text([](R r) { return r.at(r.row.query); })},
    {"share_previous", "share on the previous token", kWhere, kShare,
     "Mean over queries of a_i,i-1; a query without a previous token counts as 0 (Clark 2019, 3.1).", own_text([](R r) {
         return r.text.shape.queries < 2 ? kSkipped : r.row.query > 0 ? r.at(r.row.query - 1) : 0;
     })},
    {"share_next", "share on the next token", kWhere, kShare,
     "Mean over queries of a_i,i+1; the last query counts as 0 (Clark 2019, 3.1). 0 in causal models.", own_text([](R r) {
         return r.text.shape.queries < 2 ? kSkipped : r.row.query + 1 < r.row.legal.last ? r.at(r.row.query + 1) : 0;
     })},
    {"share_first", "share on the first token", kWhere, kShare,
     "Mean over queries of a_i0, the attention sink (Vig & Belinkov 2019).", mean([](R r) { return r.at(0); })},
    {"share_special", "share on special tokens", kTokens, kShare,
     "Mean over queries of sum_j a_ij over tokens that the tokenizer adds, such as <s>, [CLS], [SEP] (Clark 2019, 3.2).",
     mean([](R r) { return r.special; })},
    {"share_punctuation", "share on periods and commas", kTokens, kShare,
     "Mean over queries of sum_j a_ij over tokens that are \".\" or \",\" (Clark 2019, 3.2).",
     on_keys(&MeasuredText::period_or_comma)},
    {"share_same_token", "share on the same token earlier", kWhere, kShare,
     "Mean over all queries of sum_j a_ij over j < i with the same token.", own_text([](R r) { return r.copies; })},
    {"top1_minus_top2", "focus: largest minus second", kWidth, kShare,
     "Mean over queries of the largest weight minus the second largest; 1: all on one token. Queries with a single key do not "
     "count.",
     mean([](R r) {
         return r.row.legal.count() > 1 ? static_cast<double>(r.row.largest) - static_cast<double>(r.row.second) : kSkipped;
     })},
    {"argmax_self", "mostly itself", kWhere, kShare,
     "Share of queries whose largest weight is on themselves; of equal weights the first counts.",
     own_text([](R r) { return is_argmax(r.row, r.row.query) ? 1.0 : 0.0; })},
    {"argmax_first", "mostly the first token", kWhere, kShare, "Share of queries whose largest weight is on the first token.",
     mean([](R r) { return r.row.weights[0] == r.row.largest ? 1.0 : 0.0; })},
    {"variability", "variability over texts", kWidth, kShare,
     "sum_x,i,j |a_ij(x) - mean_x a_ij| / (2 sum_x,i,j a_ij(x)) over the first 10 tokens of several texts, without attention to "
     "the first token (Vig & Belinkov 2019); 0: attention by position alone. One text has none.",
     Source{}},
    {"update_magnitude", "size of the update", kWrites, kRatio,
     "Mean over queries of |u_i| / |h_i|: the head's update u_i = z_i W_O beside the stream h_i it is added to.",
     of_update(&HeadUpdates::magnitude)},
    {"update_orientation", "direction of the update", kWrites, kCosine,
     "Mean over queries of the cosine of u_i and h_i: 0 orthogonal, negative takes away.", of_update(&HeadUpdates::orientation)},
    {"vw_share_first", "value-weighted share on the first token", kByValue, kShare,
     "Mean over queries of a_i0 |f_0| / sum_j a_ij |f_j| with f_j = v_j W_O (Kobayashi 2020).",
     mean([](R r) { return r.of_length(r.scaled(0)); })},
    {"vw_share_self", "value-weighted share on itself", kByValue, kShare,
     "Mean over queries of a_ii |f_i| / sum_j a_ij |f_j| with f_j = v_j W_O (Kobayashi 2020).",
     own_text([](R r) { return r.of_length(r.scaled(r.row.query)); })},
    {"induction", "induction score", kKind, kShare,
     "Mean over queries that repeat an earlier token of the weight on tokens right behind an earlier copy (Elhage 2021, Olsson "
     "2022), on this text.",
     own_text([](R r) { return r.repeats ? r.behind_copies : kSkipped; })},
    {"previous_token", "previous-token score", kKind, kShare,
     "Mean over queries that have a previous token of a_i,i-1 (as share_previous where all have one).",
     own_text([](R r) { return r.row.query > 0 ? r.at(r.row.query - 1) : kSkipped; })},
    {"duplicate_token", "duplicate-token score", kKind, kShare,
     "Mean over queries that repeat an earlier token of the weight on its earlier copies (Wang 2022), on this text.",
     own_text([](R r) { return r.repeats ? r.copies : kSkipped; })},
    {"max_weight", "largest weight", kWidth, kShare, "Largest single weight of any query but the first token.",
     largest([](R r) { return has_choice(r) ? static_cast<double>(r.row.largest) : kSkipped; })},
    {"share_any_punctuation", "share on punctuation", kTokens, kShare,
     "Mean over queries of sum_j a_ij over tokens of nothing but punctuation (Unicode category P).",
     on_keys(&MeasuredText::any_punctuation)},
    {"vw_share_special", "value-weighted share on special tokens", kByValue, kShare,
     "Mean over queries of the same value-weighted share, summed over special tokens (Kobayashi 2020).",
     mean([](R r) { return r.of_length(r.scaled_special); })},
    {"value_norm", "length of the values", kWrites, kLength,
     "Mean over tokens of |f_j| = |v_j W_O|: what a weight of 1 writes (Kobayashi 2020).",
     of_head([](H h) { return h.mean_length; })},
    {"weighted_value_norm", "length of the weighted values", kWrites, kLength,
     "Mean over queries of sum_j |a_ij f_j| (Kobayashi 2020).",
     mean([](R r) { return r.row.lengths ? r.row.weighted_length : kSkipped; })},
    {"update_inner", "size before the output matrix", kWrites, kRatio,
     "Mean over queries of |z_i| / |h_i|: the update before W_O (BLOOM's context_layer) beside the stream.",
     of_update(&HeadUpdates::inner)},
    {"share_cls", "share on [CLS]", kTokens, kShare,
     "Mean over queries of a_i0 where the tokenizer begins a text with a special token; not in causal models (Clark 2019, 3.2).",
     own_text([](R r) { return r.text.framed ? r.at(0) : kSkipped; })},
    {"share_sep", "share on [SEP]", kTokens, kShare,
     "Mean over queries of sum_j a_ij over special tokens behind the first; not in causal models (Clark 2019, 3.2).",
     own_text([](R r) { return r.text.separated ? r.separators : kSkipped; })},
    {"sep_to_sep", "[SEP] to [SEP]", kTokens, kShare, "The same over queries that are [SEP] themselves (Clark 2019, 3.2).",
     own_text([](R r) {
         return r.text.separated && r.text.is_separator[static_cast<std::size_t>(r.row.query)] ? r.separators : kSkipped;
     })},
    {"other_to_sep", "others to [SEP]", kTokens, kShare, "The same over queries that are not [SEP] (Clark 2019, 3.2).",
     of_head([](H h) {
         const trace::RowSum &all = h.sum("share_sep"), &separators = h.sum("sep_to_sep");
         return mean_of({all.sum - separators.sum, all.rows - separators.rows});
     })},
    {"entropy_cls", "entropy from [CLS]", kWidth, kNats,
     "Smoothed entropy of the row of [CLS] alone; not in causal models (Clark 2019, 3.3).",
     own_text([](R r) { return r.text.framed && r.row.query == 0 ? r.row.smoothed_entropy : kSkipped; })},
    {"induction_excess", "excess induction", kKind, kShare,
     "The induction score minus what the text's other queries give the same keys, minus what they give the keys at the same "
     "distances: without attention sinks and positions. Special tokens repeat nothing.",
     in_excess<&MeasuredText::induction>()},
    {"duplicate_excess", "excess duplicate token", kKind, kShare,
     "The duplicate-token score minus what the text's other queries give the same keys, minus what they give the keys at the "
     "same distances.",
     in_excess<&MeasuredText::duplicate_token>()},
    {"previous_excess", "excess previous token", kKind, kShare,
     "The previous-token score minus what the text's other queries give the same keys: without attention sinks.",
     in_excess<&MeasuredText::previous_token>()},
    {"probe_induction", "induction on random tokens", kKind, kShare,
     "Mean over random tokens that are repeated of the weight on what followed the token the first time (Olsson 2022): a "
     "property of the model, the same for every text.",
     Source{}},
    {"probe_previous", "previous token on random tokens", kKind, kShare,
     "Mean over the same random tokens of a_i,i-1: the same for every text.", Source{}},
    {"probe_duplicate", "duplicates on random tokens", kKind, kShare,
     "Mean over random tokens that are repeated of the weight on the same token's first copy: the same for every text.",
     Source{}},
    {"qk_norm_gap", "norm gap of queries and keys", kVectors, kGap,
     "Mean over tokens of |q_i| minus that of |k_i|, before the rotation of positions, without first and special tokens "
     "(after Yeh 2023).",
     of_update(&HeadUpdates::norm_gap)},
    {"qk_centre_distance", "distance of query and key centres", kVectors, kRatio,
     "|mean q - mean k| over the root of the mean squared distance of queries and keys from their own mean; 0: one cloud. Of the "
     "same tokens.",
     of_update(&HeadUpdates::centre_distance)},
    {"qk_similarity", "similarity of own query and key", kVectors, kCosine,
     "Mean over the same tokens of the cosine of q_i - mean q and k_i - mean k: near 1, tokens attend to their like.",
     of_update(&HeadUpdates::similarity)},
    {"qk_weight_similarity", "similarity of W_Q and W_K", kVectors, kCosine,
     "Cosine of a head's W_Q and W_K as two lists of numbers (Yeh 2023): the same for every text.",
     of_update(&HeadUpdates::weight_similarity)},
    {"share_last_64", "share on the last 64 tokens", kWhere, kShare,
     "Mean over queries that have more than 64 keys of the weight on themselves and the 63 before them: what a window of 64 keeps.",
     own_text([](R r) { return share_within(r, 64); })},
    {"share_last_512", "share on the last 512 tokens", kWhere, kShare, "The same of 512: below 1, the head reads far back.",
     own_text([](R r) { return share_within(r, 512); })},
    {"share_other_sentence", "share on the other sentence", kTokens, kShare,
     "Mean over the queries of a sentence pair of sum_j a_ij over the tokens of the other sentence; special tokens are in neither, "
     "and queries that may attend to none of them do not count (after Vig 2019, paraphrases).",
     own_text(share_other_sentence)},
});

constexpr std::size_t index_of(std::string_view id) {
    for (std::size_t m = 0; m < kMeasures.size(); ++m)
        if (kMeasures[m].id == id) return m;
    return kMeasures.size();
}

const trace::RowSum& MeasuredHead::sum(const char* id) const { return sums[index_of(id)]; }

MeasuredRow::MeasuredRow(const trace::PatternRow& of, const MeasuredText& about) : row(of), text(about) {
    for (const std::int64_t j : text.special) {
        if (j >= row.legal.last) break;
        special += at(j);
        if (row.lengths) scaled_special += scaled(j);
    }
    separators = special - (text.starts_special ? at(0) : 0.0);
    if (text.shape.across) return;
    const std::span<const std::int32_t> earlier = text.copies.of(row.query);
    repeats = !earlier.empty();
    for (const std::int32_t j : earlier) {
        copies += at(j);
        behind_copies += at(j + 1);
    }
}

/// Unrolled over the table, so that the functions of its rows are inlined.
template <bool kOwnText, std::size_t... kIndex>
void add_measures(const MeasuredRow& row, trace::RowSum* sums, std::index_sequence<kIndex...>) {
    const auto add = []<std::size_t kAt>(const MeasuredRow& r, trace::RowSum& sum) {
        constexpr Source source = kMeasures[kAt].source;
        if constexpr (source.of_row && (kOwnText || !source.own_text)) {
            const double value = source.of_row(r);
            if (value == kSkipped) return;
            sum.sum = source.largest ? std::max(sum.sum, value) : sum.sum + value;
            ++sum.rows;
        }
    };
    (add.template operator()<kIndex>(row, sums[kIndex]), ...);
}

constexpr auto kEveryMeasure = std::make_index_sequence<kMeasures.size()>();

std::vector<std::int64_t> flagged(const std::vector<bool>& flags) {
    std::vector<std::int64_t> positions;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (flags[i]) positions.push_back(static_cast<std::int64_t>(i));
    return positions;
}

std::unique_ptr<const trace::HeadNumbers> measures_of(const trace::PatternShape& shape, const text::Tokenizer& tokenizer,
                                                      const text::Encoding& keys) {
    return std::make_unique<GatheredMeasures>(MeasuredText(shape, keys, text::punctuation(tokenizer, keys)));
}

[[maybe_unused]] const bool kGathered = trace::gather_head_numbers(measures_of);

}  // namespace

std::vector<std::int64_t> previous_same_tokens(const std::vector<std::int64_t>& ids) {
    std::vector<std::int64_t> previous;
    previous.reserve(ids.size());
    std::unordered_map<std::int64_t, std::int64_t> last;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto position = static_cast<std::int64_t>(i);
        const auto [entry, first_time] = last.try_emplace(ids[i], position);
        previous.push_back(first_time ? -1 : entry->second);
        entry->second = position;
    }
    return previous;
}

MeasuredText::MeasuredText(const trace::PatternShape& of, const text::Encoding& keys, const text::Punctuation& punctuation)
    : shape(of),
      special(flagged(keys.special)),
      starts_special(!special.empty() && special.front() == 0),
      framed(!of.causal && starts_special),
      separated(!of.causal && special.size() > (starts_special ? 1 : 0)),
      is_separator(keys.special),
      period_or_comma(flagged(punctuation.period_or_comma)),
      any_punctuation(flagged(punctuation.any)) {
    if (!is_separator.empty()) is_separator.front() = false;
    if (shape.across) {
        uniform = uniform_with_first = std::log(static_cast<double>(shape.keys));
        return;
    }
    if (std::ranges::find(keys.sequence, 1) != keys.sequence.end()) {
        sentence = keys.sequence;
        for (std::int64_t i = 0; i < shape.queries; ++i) {
            const std::int64_t of_token = sentence[static_cast<std::size_t>(i)];
            if (of_token < 0) continue;
            model::KeyRange& range = of_sentence.at(static_cast<std::size_t>(of_token));
            range = {range.count() > 0 ? range.first : i, i + 1};
        }
    }
    const std::vector<std::int64_t> previous_same = previous_same_tokens(keys.ids);
    copies = EarlierCopies(previous_same);
    using Kind = HeadExcess::Kind;
    previous_token = {Kind::previous_token, shape, previous_same, keys.special};
    duplicate_token = {Kind::duplicate_token, shape, previous_same, keys.special};
    induction = {Kind::induction, shape, previous_same, keys.special};
    double logs = 0;
    for (std::int64_t i = shape.first_counted; i < shape.queries; ++i)
        logs += std::log(static_cast<double>(shape.legal(i).count()));
    const auto n = static_cast<double>(shape.queries - shape.first_counted);
    const bool first_counts = shape.causal && shape.first_counted == 0;
    uniform_with_first = logs / n;
    uniform = !first_counts ? logs / n : shape.queries > 1 ? logs / (n - 1) : kNaN;
}

model::KeyRange MeasuredText::other_sentence(std::int64_t position) const {
    const std::int64_t own = sentence.empty() ? -1 : sentence[static_cast<std::size_t>(position)];
    return own < 0 ? model::KeyRange() : of_sentence.at(own == 0 ? 1 : 0);
}

std::size_t GatheredMeasures::size() const noexcept { return kMeasures.size(); }

void GatheredMeasures::add_row(const trace::PatternRow& row, trace::RowSums& sums) const {
    const MeasuredRow measured(row, text_);
    text_.shape.across ? add_measures<false>(measured, sums.data(), kEveryMeasure)
                       : add_measures<true>(measured, sums.data(), kEveryMeasure);
}

void GatheredMeasures::add_columns(const float* columns, std::int64_t keys, double sign, trace::RowSums& sums) const {
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
        const Source& source = kMeasures[m].source;
        if (source.excess) sums[m].sum -= sign * (text_.*source.excess).of_columns(columns, keys);
        if (!source.keys) continue;
        for (const std::int64_t j : text_.*source.keys) {
            if (j >= keys) break;
            sums[m].sum += sign * static_cast<double>(columns[j]);
        }
    }
}

model::KeyRange GatheredMeasures::distances() const {
    model::KeyRange all;
    for (const HeadMeasure& m : kMeasures) {
        if (!m.source.excess) continue;
        const model::KeyRange of = (text_.*m.source.excess).distances();
        if (of.count() > 0)
            all = all.count() > 0 ? model::KeyRange{std::min(all.first, of.first), std::max(all.last, of.last)} : of;
    }
    return all;
}

void GatheredMeasures::add_diagonals(const float* diagonals, trace::RowSums& sums) const {
    for (std::size_t m = 0; m < kMeasures.size(); ++m)
        if (const auto excess = kMeasures[m].source.excess) sums[m].sum -= (text_.*excess).of_diagonals(diagonals);
}

void GatheredMeasures::merge(trace::RowSums& into, const trace::RowSums& from) const {
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
        into[m].sum = kMeasures[m].source.largest ? std::max(into[m].sum, from[m].sum) : into[m].sum + from[m].sum;
        into[m].rows += from[m].rows;
    }
}

std::vector<double> GatheredMeasures::finish(const trace::RowSums& sums, double mean_length, bool with_first_row) const {
    const MeasuredHead head{sums, mean_length, with_first_row ? text_.uniform_with_first : text_.uniform};
    std::vector<double> numbers;
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
        const Source& source = kMeasures[m].source;
        const bool is_largest = source.largest && sums[m].rows > 0;
        if (source.excess) {
            const std::int64_t queries = (text_.*source.excess).queries();
            numbers.push_back(queries > 0 ? sums[m].sum / static_cast<double>(queries) : kNaN);
            continue;
        }
        numbers.push_back(source.of_head ? source.of_head(head) : is_largest ? sums[m].sum : mean_of(sums[m]));
    }
    return numbers;
}

std::vector<std::int64_t> GatheredMeasures::counted(const trace::RowSums& sums) const {
    const auto rows = [&](const char* id) { return sums[index_of(id)].rows; };
    std::vector<std::int64_t> out;
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
        const Source& source = kMeasures[m].source;
        const std::string_view id = kMeasures[m].id;
        out.push_back(source.excess          ? (text_.*source.excess).queries()
                      : source.update        ? rows("entropy")
                      : id == "other_to_sep" ? rows("share_sep") - rows("sep_to_sep")
                      : id == "value_norm"   ? text_.shape.counted_keys()
                      : source.of_head       ? rows("entropy")
                                             : sums[m].rows);
    }
    return out;
}

const Eigen::MatrixXd* update_of(std::size_t measure, const HeadUpdates& updates) {
    const auto member = kMeasures[measure].source.update;
    return member ? &(updates.*member) : nullptr;
}

double head_measure(const trace::Trace& trace, HeadId id, std::string_view measure, bool with_first_row) {
    const std::size_t index = index_of(measure);
    if (index == kMeasures.size()) throw Error("There is no measure of heads called " + std::string(measure));
    return trace.head_numbers(id.layer, id.head, with_first_row)[index];
}

const std::vector<MeasureInfo>& head_measures() {
    static const std::vector<MeasureInfo> infos = [] {
        std::vector<MeasureInfo> out;
        for (const HeadMeasure& m : kMeasures)
            out.push_back({m.id, m.title, m.definition, m.unit.name, m.unit.low, m.unit.high, m.group});
        return out;
    }();
    return infos;
}

const std::vector<std::string>& measure_groups() {
    static const std::vector<std::string> groups{kKind, kWhere, kTokens, kWidth, kWrites, kByValue, kVectors};
    return groups;
}

}  // namespace headlight::analyze
