// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/encoding.h"

#include <algorithm>

namespace headlight::text {

std::int64_t Encoding::pair_start() const noexcept {
    const auto first_b = std::find(sequence.begin(), sequence.end(), 1);
    if (first_b == sequence.end()) return size();
    const auto b_at = static_cast<std::size_t>(first_b - sequence.begin());
    std::size_t at = b_at;
    while (at > 0 && sequence[at - 1] < 0) --at;          // what the template puts between the sentences
    if (at == 0) return static_cast<std::int64_t>(b_at);  // A is empty
    if (type_ids[b_at] == type_ids[at - 1]) {
        // No type tells the two apart (RoBERTa's </s></s>): the first separator closes A, the rest opens B.
        return static_cast<std::int64_t>(std::min(at + 1, b_at));
    }
    while (at < b_at && type_ids[at] != type_ids[b_at]) ++at;
    return static_cast<std::int64_t>(at);
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
