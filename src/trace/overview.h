// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/config.h"
#include "headlight/trace/encoded.h"
#include "trace/head_kernels.h"

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace headlight::trace {

/// Pooled maps and numbers of all heads of a stack, gathered from the tiles of a pass.
class Overview {
public:
    Overview() = default;  ///< gathers nothing
    /// `keys`: the text that is attended to, where it is not the one that attends. Queries before `first_counted` are in no
    /// number.
    Overview(const HeadOverview&, const model::ModelConfig&, const text::Tokenizer&, const text::Encoding& queries,
             const text::Encoding* keys = nullptr, std::int64_t first_counted = 0);

    /// One layer of `heads` heads that share these facts, which must outlive it.
    Overview(const PatternFacts&, std::int64_t heads);

    bool gathers() const noexcept { return !heads_.empty(); }
    bool reads_lengths() const noexcept { return gathers() && gathered_.numbers; }
    /// |v_j W_O^h| of every head, from the values [key, kv_head, d_head] and model::length_factors() of a layer, before its
    /// tiles. Nothing of [head, token, d_model] is made.
    void weigh_values(Layer, const at::Tensor& v, const at::Tensor& factors);
    /// Of a head whose last rows have not been added; empty: not known.
    std::span<const float> lengths(HeadId) const;
    void add_rows(HeadId, const HeadRows&, std::span<const model::RowLogs> logs = {});
    /// Rows [head, row, key] in float32 on the CPU, each contiguous.
    void add_tile(Layer, std::int64_t head0, std::int64_t row0, const at::Tensor&);
    /// Once, after the pass.
    void finish(std::vector<PooledPattern>&, std::vector<GatheredNumbers>&);

private:
    HeadOverview gathered_;
    std::int64_t n_heads_ = 0;
    std::map<std::int64_t, PatternFacts> facts_;  ///< by the window of a layer
    std::vector<PooledPattern> pooled_;
    std::vector<GatheredNumbers> numbers_;
    std::vector<std::unique_ptr<HeadAccumulator>> heads_;  ///< [layer * head]; empty: no overview
};

}  // namespace headlight::trace
