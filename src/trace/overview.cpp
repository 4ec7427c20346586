// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/overview.h"

#include "model/arithmetic/kernels.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numeric>

namespace headlight::trace {

Overview::Overview(const HeadOverview& gathered, const model::ModelConfig& c, const text::Tokenizer& tokenizer,
                   const text::Encoding& queries, const text::Encoding* keys, std::int64_t first_counted)
    : gathered_(gathered), n_heads_(c.n_heads) {
    if (!gathered_.any()) return;
    const text::Encoding& columns = keys ? *keys : queries;
    const auto window_of = [&](std::int64_t layer) { return keys ? 0 : model::window_of(c, layer); };
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        const std::int64_t window = window_of(layer);
        const PatternShape shape{queries.size(), columns.size(), keys != nullptr, !keys && c.causal, window, first_counted};
        if (!facts_.contains(window)) facts_.try_emplace(window, shape, tokenizer, columns, gathered_);
    }
    const auto heads = static_cast<std::size_t>(c.n_layers * c.n_heads);
    pooled_.resize(heads);
    numbers_.resize(heads);
    for (std::size_t h = 0; h < heads; ++h) {
        const PatternFacts& facts = facts_.at(window_of(static_cast<std::int64_t>(h) / c.n_heads));
        heads_.push_back(std::make_unique<HeadAccumulator>(facts, pooled_[h], numbers_[h]));
    }
}

Overview::Overview(const PatternFacts& facts, std::int64_t heads) : n_heads_(heads) {
    pooled_.resize(static_cast<std::size_t>(heads));
    numbers_.resize(static_cast<std::size_t>(heads));
    for (std::size_t h = 0; h < pooled_.size(); ++h)
        heads_.push_back(std::make_unique<HeadAccumulator>(facts, pooled_[h], numbers_[h]));
}

void Overview::weigh_values(Layer layer, const at::Tensor& v, const at::Tensor& factors) {
    const std::int64_t n_kv = v.size(1), group = n_heads_ / n_kv, d = v.size(2), tokens = v.size(0);
    const at::Tensor values = v.to(at::kCPU, at::kFloat).contiguous();
    // A head a thread: splitting such small products would cost more than they do.
    at::parallel_for(0, n_heads_, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> along(static_cast<std::size_t>(tokens * d));
        for (std::int64_t h = begin; h < end; ++h) {
            model::kernels::gemm(values.data_ptr<float>() + h / group * d, n_kv * d, factors.data_ptr<float>() + h * d * d, d,
                                 false, along.data(), d, tokens, d, d);
            std::vector<float> norms(static_cast<std::size_t>(tokens));
            for (std::int64_t t = 0; t < tokens; ++t) {
                const float* x = along.data() + t * d;
                norms[static_cast<std::size_t>(t)] = std::sqrt(std::inner_product(x, x + d, x, 0.0F));
            }
            heads_[static_cast<std::size_t>(layer.value * n_heads_ + h)]->set_value_norms(std::move(norms));
        }
    });
}

std::span<const float> Overview::lengths(HeadId id) const {
    if (!gathers()) return {};
    return heads_[static_cast<std::size_t>(id.layer.value * n_heads_ + id.head.value)]->value_norms();
}

void Overview::add_rows(HeadId id, const HeadRows& rows, std::span<const model::RowLogs> logs) {
    heads_[static_cast<std::size_t>(id.layer.value * n_heads_ + id.head.value)]->add_rows(rows.weights, rows.first, rows.count,
                                                                                          rows.keys, rows.stride, logs);
}

void Overview::add_tile(Layer layer, std::int64_t head0, std::int64_t row0, const at::Tensor& rows) {
    const std::int64_t heads = rows.size(0), first = layer.value * n_heads_ + head0;
    const float* data = rows.data_ptr<float>();
    at::parallel_for(0, heads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h)
            heads_[static_cast<std::size_t>(first + h)]->add_rows(data + h * rows.stride(0), row0, rows.size(1), rows.size(2),
                                                                  rows.stride(1));
    });
}

void Overview::finish(std::vector<PooledPattern>& pooled, std::vector<GatheredNumbers>& numbers) {
    heads_.clear();
    pooled = std::move(pooled_);
    numbers = std::move(numbers_);
}

}  // namespace headlight::trace
