// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/heads/saved_heads.h"

#include "headlight/base/error.h"

namespace headlight::corpus {

HeadsShape get_heads(const Arrays& arrays, const std::string& name) {
    const auto values = arrays.get<std::int64_t>(name, {3});
    check_heads(arrays, name, values[0], values[1]);
    return {.layers = values[0], .heads = values[1], .causal = values[2] != 0};
}

void check_heads(const Arrays& arrays, const std::string& name, std::int64_t layers, std::int64_t heads) {
    constexpr std::int64_t kMost = 1 << 17;
    if (layers < 1 || heads < 1 || layers > kMost || heads > kMost / layers)
        arrays.throw_damaged(name, "layers and heads of a model", std::to_string(layers) + " and " + std::to_string(heads));
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
