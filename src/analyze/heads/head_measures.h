// SPDX-License-Identifier: GPL-3.0-or-later
// How the measures of a head are gathered from the rows of its pattern; the table of measures is in head_measures.cpp.
#pragma once

#include "analyze/heads/head_excess.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/text/encoding.h"
#include "headlight/trace/head_numbers.h"

#include <array>

namespace headlight::analyze {

/// Numbers of heads that are not of their patterns: [layer, head]. What they add to the stream, means over queries (NaN when the
/// trace kept no z or resid_pre), and what their queries and keys are (NaN when it kept no q or k).
struct HeadUpdates {
    Eigen::MatrixXd magnitude;                              ///< |u_i| / |h_i|, u_i = z_i W_O of the head, h_i = resid_pre
    Eigen::MatrixXd orientation;                            ///< cosine of u_i and h_i
    Eigen::MatrixXd inner;                                  ///< |z_i| / |h_i|
    Eigen::MatrixXd norm_gap, centre_distance, similarity;  ///< QueryKeySigns, before the rotation of positions
    Eigen::MatrixXd weight_similarity;                      ///< the same for every text
};
/// Row 0 of causal models is left out unless it is asked for; rows where either length is 0 are skipped.
/// Queries before `first_counted` neither count. Queries and keys: the first token and special ones do not count.
/// `with_vectors`: those of queries and keys too.
HeadUpdates head_updates(const trace::Trace&, bool with_first_row, std::int64_t first_counted = 0, bool with_vectors = false);

/// [position] nearest earlier position of the same token, -1: none.
std::vector<std::int64_t> previous_same_tokens(const std::vector<std::int64_t>& ids);

/// What the measures ask of the text of a pattern's columns; of one's own text it is that of the rows as well.
struct MeasuredText {
    MeasuredText(const trace::PatternShape&, const text::Encoding&, const text::Punctuation&);
    /// Positions of the sentence of a pair that the token at `position` is not in; none: it is in neither, or there is one text.
    model::KeyRange other_sentence(std::int64_t position) const;

    trace::PatternShape shape;
    std::vector<std::int64_t> special;  ///< positions of special tokens
    bool starts_special = false;        ///< position 0 is one: [CLS], <s>
    /// Of models that attend both ways: the text starts with a special token; has some behind the first: [SEP], </s>.
    bool framed = false, separated = false;
    std::vector<bool> is_separator;                              ///< [position]
    std::vector<std::int64_t> period_or_comma, any_punctuation;  ///< positions
    std::vector<std::int64_t> sentence;                          ///< Encoding::sequence of each token of a pair; empty: one text
    std::array<model::KeyRange, 2> of_sentence{};                ///< their tokens
    EarlierCopies copies;
    HeadExcess previous_token, duplicate_token, induction;
    double uniform = 0, uniform_with_first = 0;  ///< entropy of uniform attention without and with row 0; NaN: no rows
};

/// Gathers every measure of a pattern's heads that is made of its rows, in the order of head_measures().
class GatheredMeasures final : public trace::HeadNumbers {
public:
    explicit GatheredMeasures(MeasuredText text) : text_(std::move(text)) {}
    std::size_t size() const noexcept override;
    void add_row(const trace::PatternRow&, trace::RowSums&) const override;
    void add_columns(const float* columns, std::int64_t keys, double sign, trace::RowSums&) const override;
    model::KeyRange distances() const override;
    void add_diagonals(const float* diagonals, trace::RowSums&) const override;
    void merge(trace::RowSums& into, const trace::RowSums& from) const override;
    std::vector<double> finish(const trace::RowSums&, double mean_length, bool with_first_row) const override;
    std::vector<std::int64_t> counted(const trace::RowSums&) const override;

private:
    MeasuredText text_;
};

/// The updates of the measure with that index in head_measures(); nullptr: it is not one of the head's update.
const Eigen::MatrixXd* update_of(std::size_t measure, const HeadUpdates&);

}  // namespace headlight::analyze
