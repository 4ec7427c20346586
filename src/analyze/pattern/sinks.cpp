// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/sinks.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/trace/tensors.h"

#include <algorithm>

namespace headlight::analyze {
namespace {

constexpr double much_attention = 0.3, short_value = 0.5, share_of_heads = 0.1;
constexpr std::int64_t least_readers = 4, most_readers = 64, rows_of_a_tile = 64;

struct SinksKey {
    bool operator==(const SinksKey&) const = default;
};

/// Queries that stand for all: evenly spread, the last among them.
std::vector<std::int64_t> readers(std::int64_t queries) {
    const std::int64_t count = std::min(queries, most_readers);
    std::vector<std::int64_t> out;
    for (std::int64_t i = 1; i <= count; ++i) out.push_back(i * queries / count - 1);
    return out;
}

/// Keys that this head treats as sinks.
std::vector<bool> sinks_of(const trace::Trace& trace, HeadId id, const std::vector<std::int64_t>& rows,
                           const CancelToken& cancel) {
    const auto keys = static_cast<std::size_t>(trace.keys());
    const bool own = !trace.across_texts();
    std::vector<double> sum(keys, 0);
    std::vector<std::int64_t> seen_by(keys, 0);
    const RowFn add = [&](std::int64_t row, const float* weights) {
        if (!std::ranges::binary_search(rows, row)) return;
        const model::KeyRange legal = legal_keys_of(trace, id.layer, Position(row));
        for (std::int64_t j = legal.first; j < legal.last; ++j) {
            if (own && j == row) continue;
            sum[static_cast<std::size_t>(j)] += static_cast<double>(weights[j]);
            ++seen_by[static_cast<std::size_t>(j)];
        }
    };
    // A row comes with the tile it lies in: up to so many tokens all rows cost no more than those that are read.
    if (trace.tokens() <= most_readers * rows_of_a_tile)
        for_each_pattern_row(trace, id, 0, trace.tokens(), add, cancel);
    else
        for (const std::int64_t row : rows) for_each_pattern_row(trace, id, row, 1, add, cancel);
    std::vector<bool> out(keys, false);
    for (std::size_t j = 0; j < keys; ++j)
        out[j] = seen_by[j] >= least_readers && sum[j] > much_attention * static_cast<double>(seen_by[j]);
    if (std::ranges::none_of(out, [](bool sink) { return sink; })) return out;
    const Vector norms = to_vector(value_norms(trace, id));
    std::vector<float> sorted(norms.begin(), norms.end());
    std::ranges::nth_element(sorted, sorted.begin() + std::ssize(sorted) / 2);
    const double middle = static_cast<double>(sorted[sorted.size() / 2]);
    for (std::size_t j = 0; j < keys; ++j)
        out[j] = out[j] && static_cast<double>(norms[static_cast<Eigen::Index>(j)]) < short_value * middle;
    return out;
}

}  // namespace

std::shared_ptr<const std::vector<bool>> attention_sinks(const trace::Trace& trace, const CancelToken& cancel) {
    return trace.results().get(
        SinksKey{},
        [&] {
            const auto keys = static_cast<std::size_t>(trace.keys());
            const std::vector<std::int64_t> rows = readers(trace.tokens());
            const auto& config = trace.config();
            std::vector<std::int64_t> heads(keys, 0);
            for (std::int64_t l = 0; l < config.n_layers; ++l)
                for (std::int64_t h = 0; h < config.n_heads && trace.has({model::Hook::v, Layer(l)}); ++h) {
                    const std::vector<bool> own = sinks_of(trace, {Layer(l), Head(h)}, rows, cancel);
                    for (std::size_t j = 0; j < keys; ++j) heads[j] += own[j];
                }
            std::vector<bool> sinks(keys, false);
            const double least = share_of_heads * static_cast<double>(config.n_layers * config.n_heads);
            for (std::size_t j = 0; j < keys; ++j) sinks[j] = j == 0 || static_cast<double>(heads[j]) >= least;
            return sinks;
        },
        [](const std::vector<bool>& sinks) { return static_cast<std::int64_t>(sinks.size() / 8); });
}

Vector sink_shares(const trace::Trace& trace, HeadId id) {
    check_head(trace, id);
    if (!trace.config().attention_sinks) return {};
    return to_vector(trace::tensor(trace, {model::Hook::sink, id.layer}).select(0, id.head.value));
}

}  // namespace headlight::analyze
