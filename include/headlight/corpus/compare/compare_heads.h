// SPDX-License-Identifier: GPL-3.0-or-later
// Two models, or two stages of one, over the same texts.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/ids.h"
#include "headlight/corpus/heads/head_texts.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/text_store.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// A measure of a head of the first store beside that of its partner in the second.
struct HeadDifference {
    std::string measure;
    HeadId head, partner;
    double mean = kNaN, partner_mean = kNaN;  ///< over the texts that have it in both, each of weight one
    Interval difference;                      ///< mean - partner_mean, texts paired
    std::int64_t texts = 0;
};

/// Heads and their partners.
using HeadPairs = std::vector<std::pair<HeadId, HeadId>>;
/// Every head with the one of the same layer and number that both stores have.
HeadPairs same_heads(const HeadTexts&, const HeadTexts&);

/// Every measure that both stores have, for every pair; texts are those that both have run, by their numbers. Errors: no text and
/// no measure in common, a head that does not exist.
std::vector<HeadDifference> compare_heads(const HeadTexts&, const HeadTexts&, const HeadPairs&, const BootstrapOptions& = {});
/// One row per measure and pair: measure, layer, head, partner_layer, partner_head, mean, partner_mean, difference, low, high,
/// texts.
analyze::Table table_of(const std::vector<HeadDifference>&);

/// Error if the texts of two stores differ, naming the first that does. One store may have further texts.
void check_same_texts(TextStore& a, TextStore& b);

}  // namespace headlight::corpus
