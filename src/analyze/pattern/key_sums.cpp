// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/key_sums.h"

#include "analyze/pattern/head_reader.h"

namespace headlight::analyze {

// Four parts of the row are summed side by side, since each sum waits for the one before it. A part's last sum is the next one's
// base, so that keys without weight add nothing, exactly.
void KeySums::read(const float* weights, KeyRange legal) {
    legal_ = legal;
    const auto n = static_cast<std::size_t>(legal.count()), each = n / 4;
    if (sums_.size() <= n) sums_.resize(n + 1);
    const float* from = weights + legal.first;
    double *to = sums_.data() + 1, a = 0, b = 0, c = 0, d = 0;
    sums_[0] = 0;
    for (std::size_t j = 0; j < each; ++j) {
        to[j] = a += static_cast<double>(from[j]);
        to[each + j] = b += static_cast<double>(from[each + j]);
        to[2 * each + j] = c += static_cast<double>(from[2 * each + j]);
        to[3 * each + j] = d += static_cast<double>(from[3 * each + j]);
    }
    double base = 0;
    for (const double part : {a, b, c, d}) {
        if (base > 0)
            for (std::size_t j = 0; j < each; ++j) to[j] += base;
        base += part;
        to += each;
    }
    for (std::size_t j = 4 * each; j < n; ++j) *to++ = base += static_cast<double>(from[j]);
}

void for_each_summed_row(const trace::Trace& trace, Layer layer, std::int64_t first_head, std::int64_t heads,
                         const SummedRow& row, const CancelToken& cancel) {
    trace::for_pattern_rows(trace, layer, first_head, heads, heads,
                            [&](std::int64_t, std::int64_t first, const at::Tensor& of_heads) {
                                cancel.throw_if_cancelled();
                                const at::Tensor rows = plain(of_heads);
                                std::vector<const float*> weights(static_cast<std::size_t>(heads));
                                std::vector<KeySums> sums(weights.size());
                                for (std::int64_t r = 0; r < rows.size(1); ++r) {
                                    const KeyRange legal = legal_keys_of(trace, layer, Position(first + r));
                                    for (std::int64_t h = 0; h < heads; ++h) {
                                        const float*& of_head = weights[static_cast<std::size_t>(h)];
                                        of_head = rows.data_ptr<float>() + (h * rows.size(1) + r) * rows.size(2);
                                        sums[static_cast<std::size_t>(h)].read(of_head, legal);
                                    }
                                    row(first + r, legal, weights, sums);
                                }
                            });
}

}  // namespace headlight::analyze
