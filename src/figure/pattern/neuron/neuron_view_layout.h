// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/axis_words.h"
#include "headlight/analyze/pattern/neuron_view.h"

#include <QRectF>
#include <QString>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// What the neuron view shows, without a model behind it: filled from a trace by neuron_view(), by hand in tests.
struct NeuronViewData {
    analyze::NeuronView view;
    std::vector<analyze::AxisItem> labels;  ///< one a key position
    analyze::AxisItem query;                ///< what looks
    std::string model, dtype;
    AxisWords words;
    QString attention;  ///< which one of an encoder-decoder model

    std::int64_t d_head() const { return view.q.size(); }
    /// Keys that the query may look at; later ones are masked in causal models.
    std::int64_t rows() const;
    std::int64_t masked() const { return view.k.rows() - rows(); }
    bool has_position() const { return !view.position.empty(); }
    /// The key with the largest weight (the first of equals).
    std::int64_t strongest() const;
    /// Slope of ALiBi, positive; nothing when the query is the first token or there is no additive term.
    std::optional<double> alibi_slope() const;
};

/// Order of the numbers of a vector: by index, or by their contribution to the strongest key, largest first.
std::vector<std::int64_t> dimension_order(const NeuronViewData&, bool sorted);

/// How strongly a number is coloured: tanh(|x| / divisor); BertViz divides by 4.
double number_opacity(double x, double divisor = 4);
/// How strongly a key's mark is drawn, as BertViz's connecting lines: tanh(1.8 weight).
double connector_opacity(double weight);
/// 4 where that separates the numbers; else 1, 2 or 5 times a power of ten near half of the 90th percentile of |x|.
double color_divisor(const float* values, std::int64_t count);

/// The terms of a row as shown: rounded to `digits`, and still adding up to the score rounded so. A term may move by one
/// unit of the last digit: the one that was closest to being rounded the other way; a term of 0 (but the first) never.
std::vector<double> round_to_sum(const std::vector<double>& terms, double score, int digits);
/// Digits after the point that the score columns need: 2, or 3 where the position's steps are small.
int score_digits(const NeuronViewData&);
/// Fixed digits with a real minus sign, never "−0.00"; "–" for NaN (a masked key).
QString fixed(double value, int digits);
/// "q·k / √32", "q·k × 0.25", "q·k": what turns the sum of products into the dot column.
QString dot_heading(double scale, std::int64_t d_head);
/// "c→p", what stands over the column of a further term of the score.
QString term_heading(const std::string& name);

/// Where everything of the neuron view stands. Rows are keys in the order of the text.
struct NeuronLayout {
    double width = 0, height = 0;
    double token_x = 0, token_width = 0;
    double key_x = 0, product_x = 0, strip_width = 0;
    double dot_right = 0, position_right = 0, score_right = 0;  ///< behind parts there is no dot column: their sum is the score
    std::vector<double> terms_right;                            ///< of the view's further terms
    std::vector<double> parts_right;                            ///< of what the score is the sum of
    double bar_x = 0, bar_width = 0, weight_x = 0;
    double value_right = 0, weighted_right = 0;
    std::int64_t rows = 0, dimensions = 0;
    bool compact = false;  ///< of a file as narrow as a journal's column: shorter names and vectors
    bool folded = false;   ///< too narrow for the lengths of values: those columns are in tips and tables alone
    double footer_height = least_footer;

    static constexpr double margin = 16, title_baseline = 36, sticky_top = 50, band_top = 58, band_height = 40;
    static constexpr double heading_baseline = 128, rows_top = 142, row_height = 30, least_footer = 64;

    QRectF row(std::int64_t) const;
    /// Row under a height; nothing above the first or below the last.
    std::optional<std::int64_t> row_at(double y) const;
    QRectF cell(double strip_x, std::int64_t slot) const;  ///< of a strip at row 0, height 0: only x and width
    /// Slot (place in the order, not dimension) under an x in the key or the product strip.
    std::optional<std::int64_t> slot_at(double x) const;
};
/// `token_text` is the width of the longest label; the columns close up when the canvas is narrow, until they are as close as
/// their numbers allow, then the lengths of values go and the vectors shrink; `compact` ones are so from the beginning.
/// `positions_width`: what positions beside the tokens take.
NeuronLayout neuron_layout(const NeuronViewData&, double available_width, double token_text, bool compact = false,
                           double positions_width = 0);

}  // namespace headlight::figure
