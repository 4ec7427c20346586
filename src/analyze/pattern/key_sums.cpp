// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/key_sums.h"

#include "analyze/pattern/head_reader.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace headlight::analyze {

KeySums::KeySums(const float* weights, KeyRange legal)
    : legal_(legal), sums_(static_cast<std::size_t>(legal.last - legal.first) + 1) {
    double sum = 0;
    for (std::int64_t j = legal.first; j < legal.last; ++j)
        sums_[static_cast<std::size_t>(j - legal.first) + 1] = sum += static_cast<double>(weights[j]);
}

void for_each_summed_row(const trace::Trace& trace, Layer layer, std::int64_t first_head, std::int64_t heads,
                         const SummedRow& row, const CancelToken& cancel) {
    const std::int64_t queries = trace.tokens(), keys = trace.keys(), block = row_block(trace);
    for (std::int64_t first = 0; first < queries; first += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, queries - first);
        std::vector<at::Tensor> tiles;
        for (std::int64_t h = 0; h < heads; ++h)
            tiles.push_back(plain(trace::pattern_rows(trace, layer, Head(first_head + h), first, count)));
        at::parallel_for(0, count, 4, [&](std::int64_t begin, std::int64_t end) {
            std::vector<const float*> weights(tiles.size());
            for (std::int64_t r = begin; r < end; ++r) {
                const KeyRange legal = legal_keys_of(trace, layer, Position(first + r));
                std::vector<KeySums> sums;
                for (std::size_t h = 0; h < tiles.size(); ++h) {
                    weights[h] = tiles[h].data_ptr<float>() + r * keys;
                    sums.emplace_back(weights[h], legal);
                }
                row(first + r, legal, weights, sums);
            }
        });
    }
}

}  // namespace headlight::analyze
