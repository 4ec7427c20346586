// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/encoding.h"

#include <algorithm>

namespace headlight::text {

std::int64_t Encoding::pair_start() const noexcept {
    const auto first_b = std::find(sequence.begin(), sequence.end(), 1);
    if (first_b == sequence.end()) return size();
    // A template may put a separator of B's own before B (RoBERTa's </s></s>): the first one behind A belongs to A.
    auto at = first_b - sequence.begin();
    const auto a_end = std::find(sequence.rbegin(), sequence.rend(), 0);
    if (a_end == sequence.rend()) return at;
    const auto behind_a = sequence.rend() - a_end;
    return behind_a < at ? std::min<std::int64_t>(at, behind_a + 1) : at;
}

void Encoding::append(const Encoding& o) {
    const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    add(ids, o.ids);
    add(tokens, o.tokens);
    add(offsets, o.offsets);
    add(type_ids, o.type_ids);
    add(special, o.special);
    add(words, o.words);
    add(sequence, o.sequence);
}

}  // namespace headlight::text
