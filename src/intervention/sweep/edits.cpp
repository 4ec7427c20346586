// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/edits.h"

#include "intervention/recipe/tensor_edits.h"

#include <algorithm>
#include <limits>

namespace headlight::intervention {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

bool is_pattern(model::HookPoint point) { return point.hook == model::Hook::pattern || point.hook == model::Hook::cross_pattern; }

/// Of a tensor the rows of one unit: [pos, ...].
at::Tensor unit_of(const at::Tensor& t, model::HookPoint point, std::int64_t unit) {
    return unit < 0 ? t : t.select(is_pattern(point) ? 0 : 1, unit);
}

/// Calls `change` with every row of a head's pattern, [key] float64, and its query; writes back what it makes of it.
template <class Change>
at::Tensor with_rows(const at::Tensor& pattern, std::int64_t first, std::int64_t head, const std::vector<std::int64_t>& queries,
                     const Change& change) {
    at::Tensor changed = pattern.clone();
    for (std::int64_t h = head < 0 ? 0 : head; h < (head < 0 ? pattern.size(0) : head + 1); ++h)
        for (const std::int64_t query : queries) {
            if (query < first || query >= first + pattern.size(1)) continue;
            const at::Tensor row = changed[h][query - first];
            at::Tensor wide = row.to(at::kCPU, at::kDouble).clone();
            change(h, query, wide.data_ptr<double>(), wide.size(0));
            row.copy_(wide);
        }
    return changed;
}

std::int64_t first_of(const std::vector<std::int64_t>& queries) { return std::ranges::min(queries); }

std::vector<std::int64_t> targets_of(const Pairs& pairs) {
    std::vector<std::int64_t> targets;
    for (const auto& [target, source] : pairs) targets.push_back(target);
    return targets;
}

}  // namespace

std::vector<RowRun> runs_of(const Pairs& pairs) {
    std::vector<RowRun> runs;
    for (const auto& [target, source] : pairs) {
        if (!runs.empty() && runs.back().target + runs.back().count == target && runs.back().source + runs.back().count == source)
            ++runs.back().count;
        else
            runs.push_back({target, source, 1});
    }
    return runs;
}

trace::Edit copy_rows(model::HookPoint point, std::vector<RowRun> runs, std::int64_t unit, at::Tensor source) {
    const std::int64_t first = runs.front().target;
    return {point, first, [=](model::HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                at::Tensor changed = rows.clone();
                // A whole pattern has its queries on the second axis.
                const std::int64_t axis = is_pattern(point) && unit < 0 ? 1 : 0;
                const at::Tensor to = unit_of(changed, point, unit);
                const at::Tensor from = source.defined() ? unit_of(source, point, unit) : source;
                for (const RowRun& run : runs) {
                    const std::int64_t low = std::max(run.target, first_row),
                                       high = std::min(run.target + run.count, first_row + to.size(axis));
                    if (low >= high) continue;
                    at::Tensor part = to.narrow(axis, low - first_row, high - low);
                    from.defined() ? part.copy_(from.narrow(axis, low - run.target + run.source, high - low)) : part.zero_();
                }
                return changed;
            }};
}

trace::Edit copy_weights(model::HookPoint point, std::int64_t head, Pairs queries, Pairs keys, at::Tensor source) {
    return {point, queries.front().first, [=](model::HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                at::Tensor changed = rows.clone();
                for (const auto& [i, from_i] : queries) {
                    if (i < first_row || i >= first_row + rows.size(1)) continue;
                    const at::Tensor row = unit_of(changed, point, head).select(-2, i - first_row);
                    for (const auto& [j, from_j] : keys) {
                        at::Tensor weight = row.narrow(-1, j, 1);
                        source.defined() ? weight.copy_(unit_of(source, point, head).select(-2, from_i).narrow(-1, from_j, 1))
                                         : weight.zero_();
                    }
                }
                return changed;
            }};
}

trace::Edit copy_aligned(model::HookPoint point, std::int64_t head, Pairs queries, Pairs keys, at::Tensor source) {
    const at::Tensor wide = source.to(at::kDouble);
    return {point, queries.front().first, [=](model::HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                return with_rows(rows, first_row, head, targets_of(queries),
                                 [&](std::int64_t h, std::int64_t query, double* row, std::int64_t count) {
                                     const auto at = std::ranges::find(queries, query, &Pairs::value_type::first);
                                     const at::Tensor from = wide[h][at->second];
                                     double before = 0, total = 0, given = 0;
                                     std::vector<bool> is_given(static_cast<std::size_t>(count));
                                     for (std::int64_t j = 0; j < count; ++j) total += row[j];
                                     for (const auto& [j, from_j] : keys) {
                                         if (j > query && row[j] == 0) continue;  // a masked key of this text stays one
                                         is_given[static_cast<std::size_t>(j)] = true;
                                         before += row[j];
                                         row[j] = from[from_j].item<double>();
                                         given += row[j];
                                     }
                                     const double rest = total - before, by = rest > 0 ? std::max(total - given, 0.0) / rest : 0;
                                     for (std::int64_t j = 0; j < count; ++j)
                                         if (!is_given[static_cast<std::size_t>(j)]) row[j] *= by;
                                 });
            }};
}

trace::Edit knock_out(model::HookPoint point, std::int64_t head, std::vector<std::int64_t> queries,
                      std::vector<std::int64_t> keys) {
    const std::int64_t first = first_of(queries);
    return {point, first, [=](model::HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                return with_rows(rows, first_row, head, queries,
                                 [&](std::int64_t, std::int64_t, double* row, std::int64_t count) {
                                     double total = 0, rest = 0;
                                     for (std::int64_t j = 0; j < count; ++j) total += row[j];
                                     for (const std::int64_t key : keys) row[key] = 0;
                                     for (std::int64_t j = 0; j < count; ++j) rest += row[j];
                                     // What a sink takes stays in the sum; without one the weights summed to 1 up to rounding.
                                     const double sink = total < 1 - 1e-4 ? 1 - total : 0;
                                     for (std::int64_t j = 0; j < count; ++j) row[j] = rest > 0 ? row[j] / (rest + sink) : 0;
                                 });
            }};
}

trace::Edit choose_expert(model::HookPoint point, std::int64_t expert, std::vector<std::int64_t> rows, bool force) {
    const std::int64_t first = first_of(rows);
    return {point, first, [=](model::HookPoint, const at::Tensor& logits, std::int64_t first_row) {
                at::Tensor changed = logits.clone();
                for (const std::int64_t row : rows) {
                    if (row < first_row || row >= first_row + logits.size(0)) continue;
                    const at::Tensor logit = changed[row - first_row][expert];
                    force ? logit.copy_(just_above(logits[row - first_row].to(at::kDouble).max()))
                          : logit.fill_(-std::numeric_limits<double>::infinity());
                }
                return changed;
            }};
}

}  // namespace headlight::intervention
