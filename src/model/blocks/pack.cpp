// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/pack.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

namespace headlight::model {

std::size_t Pack::text_of(std::int64_t row) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(starts, row) - starts.begin()) - 1;
}

at::Tensor attend_packed(Pack& pack, Layer layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::function<AttentionInput(const Pass&, const at::Tensor&, const at::Tensor&)>& input) {
    at::Tensor z = at::empty({q.size(1), q.size(0), v.size(2)}, q.options());
    const auto one = [&](std::size_t index) {
        Pass& text = pack.texts[index];
        text.cancel.throw_if_cancelled();
        const auto own = [&](const at::Tensor& t) { return t.narrow(1, pack.starts[index], text.tokens()).contiguous(); };
        const AttentionInput in = input(text, own(q), own(k));
        text.observer.attention_input(layer, in);
        pack.of_text(index, z).copy_(attend(text, layer, kOwnAttention, in, own(v)));
    };
    // Tiles of a long text are enough work for all threads; a short one is done by a single thread.
    constexpr std::int64_t kLong = 128;
    std::vector<std::size_t> brief;
    for (std::size_t i = 0; i < pack.texts.size(); ++i)
        if (has_kernels(q) && pack.texts[i].tokens() < kLong)
            brief.push_back(i);
        else
            one(i);
    std::atomic<std::size_t> next = 0;
    at::parallel_for(0, brief.empty() ? 0 : at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
        for (std::size_t i = next++; i < brief.size(); i = next++) one(brief[i]);
    });
    return z;
}

}  // namespace headlight::model
