// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/heads/saved_heads.h"

#include "headlight/base/error.h"

#include <array>

namespace headlight::corpus {

void put_heads(Arrays& arrays, const std::string& name, const HeadsShape& shape) {
    const std::array<std::int64_t, 3> values{shape.layers, shape.heads, shape.causal ? 1 : 0};
    arrays.put<std::int64_t>(name, {3}, values);
}

HeadsShape get_heads(const Arrays& arrays, const std::string& name) {
    const auto values = arrays.get<std::int64_t>(name, {3});
    constexpr std::int64_t kMost = 100'000;
    if (values[0] < 1 || values[1] < 1 || values[0] > kMost || values[1] > kMost)
        throw Error({.problem = "The store is damaged", .item = name, .expected = "layers and heads"});
    return {.layers = values[0], .heads = values[1], .causal = values[2] != 0};
}

HeadsShape get_heads(const Arrays& arrays, const std::string& name, const AccumulatorKind& kind) {
    if (!arrays.has(name))
        throw Error({.problem = "The store has no words of a treebank",
                     .item = kind.id,
                     .expected = std::string("--measure with ") + kind.id,
                     .hint = "Run headlight corpus run with --texts FILE.conllu"});
    return get_heads(arrays, name);
}

}  // namespace headlight::corpus
