// SPDX-License-Identifier: GPL-3.0-or-later
// A head's attention around its best examples, from their texts, which are run again.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headlight::corpus {

/// The tokens of a text that are near an example's key or query.
struct HeadSnippet {
    Example example;
    std::vector<std::int64_t> positions{};  ///< in the chunk, ascending; both of the example's are among them
    std::vector<std::string> tokens{};      ///< text::token_label()
    std::vector<float> weights{};           ///< [query, key] of these positions
    float weight(std::size_t query, std::size_t key) const { return weights[query * positions.size() + key]; }
};

/// With up to `before` tokens before the query, two on either side of the key, and one after the query. `model`: the one that ran
/// the store's texts; every text is run once. Errors: an example without a key, as TextStore::chunk(), a model without that head.
std::vector<HeadSnippet> head_snippets(TextStore&, const std::shared_ptr<const model::Model>& model,
                                       const std::shared_ptr<const headlight::text::Tokenizer>&, HeadId,
                                       const std::vector<Example>&, std::int64_t before = 5, const CancelToken& = {});

}  // namespace headlight::corpus
