// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/model/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::analyze {

/// What the cache of keys and values would be with this way of attention (DeepSeek-V2, arXiv:2405.04434, table 1),
/// with the model's own layers L, heads H and head width d:
///   MHA 2 H d L, GQA 2 g d L, MQA 2 d L, MLA (d_c + d_r) L elements a token.
/// Of a model with a latent d_c and d_r are its own, 2 d is a key's content and a value (as in that table), and there is one
/// scheme more: "expanded", the keys and values that are made of the latent, kept instead of it: H (d_head + d_value) L.
struct KvScheme {
    std::string id;    ///< "MHA", "GQA", "MQA", "MLA", "expanded"
    std::string what;  ///< "8 key/value heads", "latent 512 + rotary 64"
    bool own = false;  ///< what this model does
    std::int64_t elements_per_token = 0;
    double share_of_mha = 0;
};

struct KvCacheOptions {
    std::int64_t batch = 1;
    double bytes_per_element = 2;          ///< float16
    std::int64_t groups = 0;               ///< GQA's key/value heads; 0: the model's own where it groups, else H / 4 (at least 1)
    std::int64_t latent = 0;               ///< MLA's d_c; 0: the model's own, else 4 d, as DeepSeek-V2 has it
    std::int64_t rotary = -1;              ///< MLA's d_r; -1: the model's own, else d / 2
    std::vector<std::int64_t> contexts{};  ///< empty: powers of two up to the model's context, at least 32,768
};
void describe(Describes<KvCacheOptions> auto& r, const auto& field) {
    field(Field{"context", "Tokens in the cache", "tokens in the cache: 4096,32768 (default: powers of two)"}.or_if_empty(
              "4096,32768; powers of two"),
          r.contexts);
    field(Field{"batch", "Texts at the same time", "texts at the same time"}.within(1, 1 << 20), r.batch);
    field(Field{"cache-bytes", "Bytes of a number", "bytes of a kept number, 4 float32, 2 float16, 1 fp8, 0.5 int4"}.within(0.125,
                                                                                                                            16),
          r.bytes_per_element);
    field(Field{"groups", "Key/value heads of GQA", "key/value heads of GQA, 0: the model's, or a quarter of its heads"}.within(
              0, 1 << 16),
          r.groups);
    field(
        Field{"latent", "Width of MLA's latent", "width of MLA's latent, 0: the model's, or 4 times the width of a head"}.within(
            0, 1 << 24),
        r.latent);
    field(Field{"rotary", "Width of MLA's rotary key", "width of MLA's rotary key, -1: the model's, or half the width of a head"}
              .within(-1, 1 << 24),
          r.rotary);
}

struct KvCache {
    std::vector<KvScheme> schemes;       ///< MHA, GQA, MQA, MLA, and of a model with a latent "expanded"
    std::vector<std::int64_t> contexts;  ///< ascending
    std::int64_t batch = 1;
    double bytes_per_element = 2;
    std::int64_t context_length = 0;  ///< the model's; 0: not said

    /// elements * context * batch * bytes of an element.
    double bytes(const KvScheme& scheme, std::int64_t context) const noexcept {
        return static_cast<double>(scheme.elements_per_token) * static_cast<double>(context) * static_cast<double>(batch) *
               bytes_per_element;
    }
};

/// Error for options out of range (groups that do not divide H, a batch or context below 1).
KvCache kv_cache(const model::ModelConfig&, const KvCacheOptions& = {});

/// A row for each scheme and context: scheme, what, own, context, elements_per_token, bytes, share_of_mha.
Table table_of(const KvCache&);

}  // namespace headlight::analyze
