// SPDX-License-Identifier: GPL-3.0-or-later
// The lines of a head view: which pairs are drawn, and how strongly; and what views of maps share.
#pragma once

#include "figure/core/axis_words.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/job.h"
#include "headlight/figure/core/transfer.h"

#include <QString>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headlight::figure {

struct HeadLine {
    std::int32_t query = 0, key = 0;  ///< rows of the axes
    std::int32_t head = 0;            ///< index into the figure's heads
    float opacity = 0;                ///< transferred weight / number of active heads (BertViz)
};

/// Rows from one end of a line to the other.
struct RowSpan {
    std::int32_t first = 0, last = 0;
};
inline RowSpan span_of(const HeadLine& line) { return {std::min(line.query, line.key), std::max(line.query, line.key)}; }

struct HeadLines {
    std::vector<HeadLine> lines;             ///< by query, head, key
    std::vector<std::size_t> query_begin;    ///< [queries + 1]: the lines of a query
    std::vector<std::uint32_t> by_key;       ///< indices of the lines in the order of their keys
    std::vector<std::size_t> key_begin;      ///< [keys + 1]: the lines to a key, in by_key
    std::vector<std::uint32_t> faint_first;  ///< indices of the lines in the order of painting
    std::vector<RowSpan> spans;              ///< of the lines in that order
    std::int64_t pairs = 0;                  ///< legal pairs of the active heads
    std::int64_t too_faint = 0;              ///< of these, not drawn because the opacity is below 1/255
    std::int64_t bytes() const;
};

/// What maps take in memory.
std::int64_t bytes_of_maps(const std::vector<analyze::Matrix>&);
/// Tokens that are merged have one item.
inline bool covers(const analyze::AxisItem& item, Position position) {
    return position >= item.first && position.value < item.first.value + item.count;
}
/// The token of a row or column with its position: "cat (4)", "source cat (4)".
QString query_name(const AxisWords&, const analyze::PatternAxes&, std::int64_t row);
QString key_name(const AxisWords&, const analyze::PatternAxes&, std::int64_t column);
/// Throws an Error unless every map is [queries, keys].
void require_fit(const std::vector<analyze::Matrix>&, const analyze::PatternAxes&);

/// Least opacity that an 8-bit picture can show.
inline constexpr float least_opacity = 1.0F / 255;

/// What lets a query see a key, going by positions.
struct Mask {
    Mask(bool is_causal, std::int64_t to = 0) : causal(is_causal), window(to) {}
    bool causal = true;
    std::int64_t window = 0;  ///< keys at this distance and farther are masked; 0: none
};
bool is_legal(const Mask&, const analyze::AxisItem& query, const analyze::AxisItem& key);
/// For the legend: "later tokens, masked"; empty where nothing is masked. `windows`: of the maps that are shown.
QString mask_note(bool causal, const std::vector<std::int64_t>& windows);

/// Lines of the heads listed in `active` (indices into `weights`), each [queries, keys]. `share`: of a weight in its line's
/// opacity; 0: it is divided by the number of heads.
HeadLines head_lines(const std::vector<analyze::Matrix>& weights, const std::vector<std::int32_t>& active,
                     const analyze::PatternAxes&, bool causal, const Transfer&, float share = 0, const CancelToken& = {});
/// The lines of some queries or to a key (-1: none), in the order of painting.
std::vector<std::uint32_t> lines_of(const HeadLines&, const std::vector<std::int64_t>& queries, std::int64_t key);

}  // namespace headlight::figure
