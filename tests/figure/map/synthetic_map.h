// SPDX-License-Identifier: GPL-3.0-or-later
// Maps whose points are known: clusters of tokens, a shifted copy for the keys.
#pragma once

#include "headlight/map/query_key_map.h"

#include <cmath>
#include <random>

namespace headlight::figure {

/// `texts` texts of `length` tokens out of a few words; each word is a cluster of every head, turned from head to head.
inline map::QueryKeyMap synthetic_map(std::int64_t layers, std::int64_t heads, int texts, int length, int dims = 2) {
    static const char* const words[] = {"<s>", "Ġthe", "Ġnurse", "Ġdoctor", "Ġasked", ",", "Ġof", "Ġwho", "."};
    map::QueryKeyMap map;
    map.layers = layers, map.heads_per_layer = heads;
    map.projection = dims == 2 ? map::Projection::tsne : map::Projection::pca;
    std::mt19937 random(7);
    for (int t = 0; t < texts; ++t) {
        map.tokens.names.push_back("text " + std::to_string(t));
        for (int p = 0; p < length; ++p) {
            const int word = p == 0 ? 0 : 1 + static_cast<int>(random() % 8);
            map.tokens.tokens.emplace_back(words[word]);
            map.tokens.token_ids.push_back(word);
            map.tokens.text.push_back(t);
            map.tokens.position.push_back(p);
            map.tokens.apart.push_back(p == 0);
        }
    }
    const std::size_t n = map.tokens.tokens.size();
    std::normal_distribution<float> noise(0, 0.4F);
    for (std::int64_t l = 0; l < layers; ++l)
        for (std::int64_t h = 0; h < heads; ++h) {
            map::HeadMap head;
            head.layer = Layer(l), head.head = Head(h), head.dims = dims;
            head.faithfulness = 0.1F * static_cast<float>((l * heads + h) % 10);
            head.trustworthiness = head.continuity = 0.9F;
            if (head.faithfulness < 0.15F) head.poor = "the picture does not order keys as the scores do";
            for (std::size_t i = 0; i < 2 * n; ++i) {
                const auto word = static_cast<float>(map.tokens.token_ids[i % n]);
                const float angle = word * 0.7F + static_cast<float>(l + h), far = word == 0 ? 30.0F : 4.0F;
                head.points.push_back(far * std::cos(angle) + noise(random) + (i >= n ? 0.8F : 0.0F));
                head.points.push_back(far * std::sin(angle) + noise(random));
                if (dims == 3) head.points.push_back(noise(random));
                head.norms.push_back(1 + std::abs(noise(random)));
                head.trust.push_back(0.5F);
            }
            map.heads.push_back(std::move(head));
        }
    return map;
}

}  // namespace headlight::figure
