// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/head_means.h"

#include "corpus/heads/saved_heads.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/corpus/accumulate/fixed_sum.h"
#include "headlight/corpus/heads/head_texts.h"

#include <algorithm>

namespace headlight::corpus {

HeadMeans head_means(const Arrays& merged, const std::vector<std::int64_t>& text_of_chunk, const BootstrapOptions& options,
                     const CancelToken& cancel) {
    const HeadTexts texts(merged, text_of_chunk);
    HeadMeans out;
    out.measures = texts.measures();
    out.layers = texts.layers();
    out.heads = texts.heads();
    out.causal = get_heads(merged, "heads.shape").causal;
    out.texts = std::ssize(texts.texts());
    const auto measures = std::ssize(out.measures) - (texts.first_tokens() ? 1 : 0);
    const auto count = merged.get<std::int64_t>("heads.count", {measures, out.layers, out.heads});
    const auto sums = merged.get<std::int64_t>("heads.sum", {measures, out.layers, out.heads, 2});
    const Bootstrap bootstrap(out.texts, options);
    for (std::size_t m = 0, at = 0; m < out.measures.size(); ++m) {
        cancel.throw_if_cancelled();
        const TextValues of_measure = texts.of(m);
        const std::vector<Interval> intervals = bootstrap.means(of_measure.values, of_measure.weights);
        out.by_text.insert(out.by_text.end(), intervals.begin(), intervals.end());
        for (Eigen::Index h = 0; h < of_measure.weights.cols(); ++h, ++at) {
            out.with.push_back((of_measure.weights.col(h).array() > 0).count());
            if (static_cast<std::int64_t>(m) == measures) {  // of several texts: no query has one of its own
                out.rows.push_back(texts.first_tokens()->queries());
                out.by_query.push_back(kNaN);
                continue;
            }
            out.rows.push_back(count[at]);
            const double sum = FixedSum::of(sums[2 * at], sums[2 * at + 1]).value();
            out.by_query.push_back(texts.is_maximum(m) || count[at] == 0 ? kNaN : sum / static_cast<double>(count[at]));
        }
    }
    return out;
}

analyze::HeadTable head_table_of(const HeadMeans& means) {
    analyze::HeadTable table;
    table.n_layers = means.layers;
    table.n_heads = means.heads;
    for (std::size_t m = 0; m < means.measures.size(); ++m) {
        const auto& all = analyze::head_measures();
        const auto info = std::ranges::find(all, means.measures[m], &analyze::MeasureInfo::id);
        if (info == all.end()) continue;  // of a later version
        table.measures.push_back(*info);
        Eigen::MatrixXd& values = table.values.emplace_back(means.layers, means.heads);
        for (std::int64_t l = 0; l < means.layers; ++l)
            for (std::int64_t h = 0; h < means.heads; ++h) values(l, h) = means.by_text[means.index(m, l, h)].mean;
    }
    table.causal = means.causal;
    return table;
}

analyze::Table table_of(const HeadMeans& means) {
    analyze::Table table;
    table.columns = {"measure", "layer", "head", "mean", "low", "high", "mean_by_query", "texts", "queries"};
    table.definitions = {{"mean", "Mean over texts, each of weight one."},
                         {"low", "Lower end of its 95 % interval: percentile bootstrap over texts."},
                         {"high", "Upper end of it."},
                         {"mean_by_query", "Mean over all queries of all texts."},
                         {"texts", "Texts that have the measure."},
                         {"queries", "Queries that the means are over."}};
    for (const analyze::MeasureInfo& info : analyze::head_measures())
        if (std::ranges::find(means.measures, info.id) != means.measures.end())
            table.definitions.emplace_back(info.id, info.definition);
    for (std::size_t m = 0; m < means.measures.size(); ++m)
        for (std::int64_t layer = 0; layer < means.layers; ++layer)
            for (std::int64_t head = 0; head < means.heads; ++head) {
                const std::size_t at = means.index(m, layer, head);
                if (means.with[at] == 0) continue;
                const Interval& interval = means.by_text[at];
                table.add({means.measures[m], layer, head, interval.mean, interval.low, interval.high, means.by_query[at],
                           means.with[at], means.rows[at]});
            }
    return table;
}

}  // namespace headlight::corpus
