// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/prediction/logit_rows.h"

#include "model/arithmetic/kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::analyze {
namespace {

namespace kernels = model::kernels;

std::int64_t blocks_of(std::int64_t vocab) { return (vocab + kernels::kBlock - 1) / kernels::kBlock; }

/// The best `count` of x: every one of them lies in a block whose best value is at least the count-th best of all
/// blocks' best values, so only about `count` blocks are read.
template <class Better>
std::vector<TokenScore> best_of(const float* x, std::int64_t n, const float* blocks, std::int64_t count, double log_sum,
                                Better better) {
    const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, n));
    std::vector<TokenScore> found;
    if (wanted == 0) return found;
    std::vector<float> order(blocks, blocks + blocks_of(n));
    const std::size_t last = std::min(wanted, order.size()) - 1;
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(last), order.end(), better);
    const bool all = wanted > order.size();
    const float limit = order[last];
    for (std::size_t b = 0; b < order.size(); ++b) {
        if (!all && better(limit, blocks[b])) continue;
        const auto first = static_cast<std::int64_t>(b) * kernels::kBlock;
        for (std::int64_t j = first; j < std::min(first + kernels::kBlock, n); ++j)
            if (all || !better(limit, x[j])) found.push_back({j, x[j], 0});
    }
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::partial_sort(found.begin(), end, found.end(), [&](const TokenScore& a, const TokenScore& b) {
        return a.logit != b.logit ? better(a.logit, b.logit) : a.id < b.id;
    });
    found.erase(end, found.end());
    for (TokenScore& each : found) each.probability = static_cast<float>(std::exp(static_cast<double>(each.logit) - log_sum));
    return found;
}

}  // namespace

LogitRow::LogitRow(const float* logits, std::int64_t vocab)
    : x_(logits), vocab_(vocab), own_(static_cast<std::size_t>(blocks_of(vocab))) {
    kernels::block_maxima(x_, vocab_, own_.data());
    known_.maxima = own_.data();
    known_.highest = *std::max_element(own_.begin(), own_.end());
}

LogitRow::LogitRow(const float* logits, std::int64_t vocab, const ReadRow& known) : x_(logits), vocab_(vocab), known_(known) {}

RowNumbers LogitRow::numbers() const {
    const kernels::ExpSums sums =
        known_.sum > 0 ? kernels::ExpSums{known_.sum, known_.weighted} : kernels::exp_sums(x_, vocab_, known_.highest);
    const double log = std::log(sums.sum);
    return {static_cast<double>(known_.highest) + log, log - sums.weighted / sums.sum};
}

std::vector<TokenScore> LogitRow::largest(std::int64_t count, double log_sum) const {
    return best_of(x_, vocab_, known_.maxima, count, log_sum, std::greater<float>());
}

std::vector<TokenScore> LogitRow::smallest(std::int64_t count, double log_sum) const {
    if (known_.minima) return best_of(x_, vocab_, known_.minima, count, log_sum, std::less<float>());
    std::vector<float> minima(static_cast<std::size_t>(blocks_of(vocab_)));
    kernels::block_minima(x_, vocab_, minima.data());
    return best_of(x_, vocab_, minima.data(), count, log_sum, std::less<float>());
}

std::int64_t LogitRow::rank(std::int64_t id) const { return kernels::count_above(x_, vocab_, x_[id]); }

namespace {

/// Sums over exp(x - highest) of one row, each with the highest of its own tile.
struct TileSums {
    float highest = -std::numeric_limits<float>::infinity();
    double sum = 0, weighted = 0;

    /// sum of e^(x - H) = e^(h - H) sum of e^(x - h), and of (x - H) e^(x - H) likewise.
    void add(const TileSums& other) {
        const float top = std::max(highest, other.highest);
        TileSums all{top, 0, 0};
        for (const TileSums* each : {static_cast<const TileSums*>(this), &other}) {
            if (each->sum == 0) continue;
            const double shift = static_cast<double>(each->highest) - static_cast<double>(top), by = std::exp(shift);
            all.sum += by * each->sum;
            all.weighted += by * (each->weighted + shift * each->sum);
        }
        *this = all;
    }
};

/// Width of the tile that a core makes and reads at a time, in the kernels' blocks: about 1 MB of logits.
constexpr std::int64_t kTileBlocks = 16;

/// Logits of some rows and what is known of them.
class ProductRows {
public:
    ProductRows(const at::Tensor& w_u, std::int64_t most)
        : vocab_(w_u.size(1)),
          d_model_(w_u.size(0)),
          weights_(w_u.data_ptr<float>()),
          turned_(w_u.stride(1) != 1),
          step_(turned_ ? w_u.stride(1) : w_u.stride(0)),
          blocks_(blocks_of(vocab_)) {
        // As many for every thread, of about the same size.
        const std::int64_t threads = std::max(1, at::get_num_threads()), share = threads * kTileBlocks;
        tiles_ = std::min(blocks_, threads * ((blocks_ + share - 1) / share));
        logits_ = at::empty({most, vocab_}, w_u.options());
        maxima_ = at::empty({most, blocks_}, w_u.options());
        minima_ = at::empty({most, blocks_}, w_u.options());
    }

    /// rows: [count, d_model], contiguous.
    void make(const float* rows, std::int64_t count) {
        sums_.resize(static_cast<std::size_t>(count * tiles_));
        at::parallel_for(0, tiles_, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t t = begin; t < end; ++t) tile(rows, count, t);
        });
    }

    const float* logits(std::int64_t row) const { return logits_.data_ptr<float>() + row * vocab_; }
    ReadRow known(std::int64_t row) const {
        TileSums sums;
        for (std::int64_t t = 0; t < tiles_; ++t) sums.add(sums_[static_cast<std::size_t>(row * tiles_ + t)]);
        return {maxima_.data_ptr<float>() + row * blocks_, minima_.data_ptr<float>() + row * blocks_, sums.highest, sums.sum,
                sums.weighted};
    }

private:
    void tile(const float* rows, std::int64_t count, std::int64_t t) {
        const std::int64_t block = t * blocks_ / tiles_, end = (t + 1) * blocks_ / tiles_;
        const std::int64_t first = block * kernels::kBlock, width = std::min(end * kernels::kBlock, vocab_) - first;
        float* out = logits_.data_ptr<float>() + first;
        kernels::gemm(rows, d_model_, turned_ ? weights_ + first * step_ : weights_ + first, step_, turned_, out, vocab_, count,
                      width, d_model_);
        for (std::int64_t r = 0; r < count; ++r) {
            const float* x = out + r * vocab_;
            float* maxima = maxima_.data_ptr<float>() + r * blocks_ + block;
            kernels::block_maxima(x, width, maxima);
            kernels::block_minima(x, width, minima_.data_ptr<float>() + r * blocks_ + block);
            const float highest = *std::max_element(maxima, maxima + (end - block));
            const kernels::ExpSums found = kernels::exp_sums(x, width, highest);
            sums_[static_cast<std::size_t>(r * tiles_ + t)] = {highest, found.sum, found.weighted};
        }
    }

    std::int64_t vocab_, d_model_;
    const float* weights_;
    bool turned_;  ///< w_u is kept as [vocab, d_model]
    std::int64_t step_, blocks_, tiles_ = 1;
    at::Tensor logits_, maxima_, minima_;
    std::vector<TileSums> sums_;  ///< [row, tile]
};

bool can_tile(const at::Tensor& w_u) {
    return w_u.device().is_cpu() && w_u.scalar_type() == at::kFloat && (w_u.stride(0) == 1 || w_u.stride(1) == 1);
}

}  // namespace

void for_each_product_row(const at::Tensor& rows, const at::Tensor& w_u,
                          const std::function<void(std::int64_t, const LogitRow&)>& fn) {
    const std::int64_t vocab = w_u.size(1), count = rows.size(0);
    if (!can_tile(w_u)) {
        const std::int64_t at_once = logit_rows_at_a_time(vocab);
        for (std::int64_t first = 0; first < count; first += at_once) {
            const std::int64_t some = std::min(at_once, count - first);
            const at::Tensor block = rows.narrow(0, first, some).to(w_u.device(), w_u.scalar_type());
            const at::Tensor logits = at::mm(block, w_u).to(at::kCPU, at::kFloat).contiguous();
            const float* data = logits.data_ptr<float>();
            at::parallel_for(0, some, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t r = begin; r < end; ++r) fn(first + r, LogitRow(data + r * vocab, vocab));
            });
        }
        return;
    }
    const at::Tensor plain = rows.to(at::kCPU, at::kFloat).contiguous();
    const std::int64_t at_once = even_share(count, logit_rows_at_a_time(vocab));
    if (count == 0) return;
    ProductRows made(w_u, at_once);
    for (std::int64_t first = 0; first < count; first += at_once) {
        const std::int64_t some = std::min(at_once, count - first);
        made.make(plain.data_ptr<float>() + first * plain.size(1), some);
        at::parallel_for(0, some, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t r = begin; r < end; ++r) fn(first + r, LogitRow(made.logits(r), vocab, made.known(r)));
        });
    }
}

}  // namespace headlight::analyze
