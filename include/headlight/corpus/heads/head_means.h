// SPDX-License-Identifier: GPL-3.0-or-later
// Means of the measures of heads over a corpus, from the arrays of Heads.
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/table.h"
#include "headlight/base/job.h"
#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/statistics/bootstrap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Two means side by side: in `by_text` every text has weight one, as in Clark et al. 2019; in `by_query` every query has, as
/// if the texts were joined. They differ if texts differ in length. A text's value is the mean over the queries of its chunks;
/// for `max_weight`, which is a maximum, it is the largest, and there is no mean by query.
struct HeadMeans {
    std::vector<std::string> measures;
    std::int64_t layers = 0, heads = 0;
    bool causal = true;                    ///< of the model
    std::int64_t texts = 0;                ///< that were run
    std::vector<Interval> by_text;         ///< [measure, layer, head], with the bootstrap's interval over texts
    std::vector<double> by_query;          ///< [measure, layer, head]; NaN: no query has it
    std::vector<std::int64_t> with, rows;  ///< [measure, layer, head]: texts and queries that have the measure
    std::size_t index(std::size_t measure, std::int64_t layer, std::int64_t head) const noexcept {
        return (measure * static_cast<std::size_t>(layers) + static_cast<std::size_t>(layer)) * static_cast<std::size_t>(heads) +
               static_cast<std::size_t>(head);
    }
};
/// `merged`: of a store (store/segments.h); `text_of_chunk`: TextStore::text_of_chunk(). Errors: no measures of heads were
/// gathered, arrays of another version.
HeadMeans head_means(const Arrays& merged, const std::vector<std::int64_t>& text_of_chunk, const BootstrapOptions& = {},
                     const CancelToken& = {});
/// The means by text in the form of a text's measures, for any code that takes those.
analyze::HeadTable head_table_of(const HeadMeans&);
/// measure, layer, head, mean, low, high, mean_by_query, texts, queries: one row per measure and head that any text has.
analyze::Table table_of(const HeadMeans&);

}  // namespace headlight::corpus
