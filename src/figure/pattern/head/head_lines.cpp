// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/head_lines.h"

#include "figure/core/draw.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <numeric>

namespace headlight::figure {

bool is_legal(const Mask& mask, const analyze::AxisItem& query, const analyze::AxisItem& key) {
    const std::int64_t last_query = query.first.value + query.count - 1, last_key = key.first.value + key.count - 1;
    if (mask.causal && key.first.value > last_query) return false;
    if (mask.window < 0)
        return key.first.value / -mask.window <= last_query / -mask.window &&
               last_key / -mask.window >= query.first.value / -mask.window;
    return mask.window == 0 || (query.first.value - last_key < mask.window && key.first.value - last_query < mask.window);
}

QString mask_note(bool causal, const std::vector<std::int64_t>& windows) {
    const auto [least, most] = std::ranges::minmax_element(windows);
    const bool any = !windows.empty() && (*most > 0 || *least < 0);
    if (!any) return causal ? QStringLiteral("blank: later tokens, masked") : QString();
    const QString outside = *least != *most ? (*least < 0 ? QStringLiteral("outside the query's chunk")
                                                          : QStringLiteral("outside the layer's window"))
                            : *most > 0     ? QStringLiteral("outside the window of %1 tokens").arg(draw::count_text(*most))
                                        : QStringLiteral("outside the query's chunk of %1 tokens").arg(draw::count_text(-*most));
    return causal ? QStringLiteral("blank: masked (later tokens, and those %1)").arg(outside)
                  : QStringLiteral("blank: masked (%1)").arg(outside);
}

namespace {

std::int64_t legal_pairs(const analyze::PatternAxes& axes, bool causal) {
    if (!causal) return static_cast<std::int64_t>(axes.queries.size() * axes.keys.size());
    // Keys are in order of position, and so are queries: one pass.
    std::int64_t pairs = 0;
    std::size_t legal = 0;
    for (const auto& query : axes.queries) {
        while (legal < axes.keys.size() && is_legal(true, query, axes.keys[legal])) ++legal;
        pairs += static_cast<std::int64_t>(legal);
    }
    return pairs;
}

void index_by_key(HeadLines& out, std::size_t keys) {
    out.key_begin.assign(keys + 1, 0);
    for (const HeadLine& line : out.lines) ++out.key_begin[static_cast<std::size_t>(line.key) + 1];
    std::partial_sum(out.key_begin.begin(), out.key_begin.end(), out.key_begin.begin());
    std::vector<std::size_t> next(out.key_begin.begin(), out.key_begin.end() - 1);
    out.by_key.resize(out.lines.size());
    for (std::uint32_t i = 0; i < out.lines.size(); ++i) out.by_key[next[static_cast<std::size_t>(out.lines[i].key)]++] = i;
}

struct FaintFirst {
    const std::vector<HeadLine>& lines;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
        return lines[a].opacity != lines[b].opacity ? lines[a].opacity < lines[b].opacity : a < b;
    }
};

}  // namespace

HeadLines head_lines(const std::vector<analyze::Matrix>& weights, const std::vector<std::int32_t>& active,
                     const analyze::PatternAxes& axes, bool causal, const Transfer& transfer, float share,
                     const CancelToken& cancel) {
    HeadLines out;
    out.pairs = legal_pairs(axes, causal) * std::ssize(active);
    const auto queries = static_cast<Eigen::Index>(axes.queries.size());
    // Weights beyond 1, of a signed scale, are brought below it before they go through the transfer function.
    const float before = share > 0 ? std::min(share, 1.0F) : 1.0F;
    if (share > 0) share /= before;
    if (share <= 0) share = 1.0F / static_cast<float>(active.size());
    out.query_begin.reserve(axes.queries.size() + 1);
    for (Eigen::Index i = 0; i < queries; ++i) {
        cancel.throw_if_cancelled();
        out.query_begin.push_back(out.lines.size());
        for (const std::int32_t head : active) {
            const Eigen::VectorXf row = before * weights[static_cast<std::size_t>(head)].row(i);
            const Eigen::VectorXf strength = apply(transfer, row);
            for (Eigen::Index j = 0; j < strength.size(); ++j)
                if (const float opacity = std::min(1.0F, strength[j] * share); opacity >= least_opacity)
                    out.lines.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), head, opacity});
        }
    }
    out.query_begin.push_back(out.lines.size());
    index_by_key(out, axes.keys.size());
    out.faint_first.resize(out.lines.size());
    std::iota(out.faint_first.begin(), out.faint_first.end(), 0U);
    std::ranges::sort(out.faint_first, FaintFirst{out.lines});
    out.spans.reserve(out.lines.size());
    for (const std::uint32_t i : out.faint_first) out.spans.push_back(span_of(out.lines[i]));
    out.too_faint = out.pairs - std::ssize(out.lines);
    return out;
}

std::int64_t HeadLines::bytes() const {
    const auto of = [](const auto& all) { return static_cast<std::int64_t>(all.capacity() * sizeof(all.front())); };
    return of(lines) + of(query_begin) + of(by_key) + of(key_begin) + of(faint_first) + of(spans);
}

std::int64_t bytes_of_maps(const std::vector<analyze::Matrix>& maps) {
    std::int64_t bytes = 0;
    for (const analyze::Matrix& map : maps) bytes += static_cast<std::int64_t>(map.size()) * std::int64_t{sizeof(float)};
    return bytes;
}

QString query_name(const AxisWords& words, const analyze::PatternAxes& axes, std::int64_t row) {
    const analyze::AxisItem& item = axes.queries[static_cast<std::size_t>(row)];
    return words.named_query(draw::label_of(item).with_position(item.first));
}

QString key_name(const AxisWords& words, const analyze::PatternAxes& axes, std::int64_t column) {
    const analyze::AxisItem& item = axes.keys[static_cast<std::size_t>(column)];
    return words.named_key(draw::label_of(item).with_position(item.first));
}

void require_fit(const std::vector<analyze::Matrix>& maps, const analyze::PatternAxes& axes) {
    for (const analyze::Matrix& map : maps)
        if (map.rows() != std::ssize(axes.queries) || map.cols() != std::ssize(axes.keys))
            throw Error({.problem = "A head's map does not fit the tokens",
                         .expected = std::to_string(axes.queries.size()) + " x " + std::to_string(axes.keys.size()),
                         .found = std::to_string(map.rows()) + " x " + std::to_string(map.cols())});
}

std::vector<std::uint32_t> lines_of(const HeadLines& all, const std::vector<std::int64_t>& queries, std::int64_t key) {
    std::vector<std::uint32_t> out;
    if (key >= 0)
        out.assign(all.by_key.begin() + static_cast<std::ptrdiff_t>(all.key_begin[std::size_t(key)]),
                   all.by_key.begin() + static_cast<std::ptrdiff_t>(all.key_begin[std::size_t(key) + 1]));
    for (const std::int64_t query : queries)
        for (auto i = all.query_begin[std::size_t(query)]; i < all.query_begin[std::size_t(query) + 1]; ++i)
            out.push_back(static_cast<std::uint32_t>(i));
    std::ranges::sort(out, FaintFirst{all.lines});
    const auto [rest, end] = std::ranges::unique(out);
    out.erase(rest, end);
    return out;
}

}  // namespace headlight::figure
