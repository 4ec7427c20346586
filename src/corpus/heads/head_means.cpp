// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/head_means.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/fixed_sum.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::corpus {
namespace {

std::vector<std::string> split_ids(const std::vector<std::uint8_t>& bytes) {
    std::vector<std::string> ids(1);
    for (const std::uint8_t byte : bytes) {
        if (byte == ',')
            ids.emplace_back();
        else
            ids.back() += static_cast<char>(byte);
    }
    return ids;
}

/// Chunk rows as the file has them.
struct ChunkRows {
    std::vector<std::int64_t> text;  ///< [chunk] dense number
    std::vector<float> values;       ///< [chunk, measure, layer, head]
    std::vector<std::int32_t> rows;  ///< [chunk, measure]
    std::size_t measures = 0, heads = 0;
};

/// A measure of every text: [text, head], 0 with weight 0 where it has none.
struct TextValues {
    Bootstrap::Columns values, weights;
};
TextValues of_texts(const ChunkRows& in, std::size_t measure, std::int64_t texts, bool largest) {
    TextValues out;
    out.values.setZero(texts, static_cast<Eigen::Index>(in.heads));
    out.weights = out.values;
    for (std::size_t c = 0; c < in.text.size(); ++c) {
        const double rows = in.rows[c * in.measures + measure];
        const float* values = in.values.data() + (c * in.measures + measure) * in.heads;
        for (std::size_t h = 0; h < in.heads; ++h) {
            if (std::isnan(values[h])) continue;
            double &value = out.values(in.text[c], static_cast<Eigen::Index>(h)),
                   &weight = out.weights(in.text[c], static_cast<Eigen::Index>(h));
            const auto x = static_cast<double>(values[h]);
            value = largest ? std::max(value, x) : value + rows * x;
            weight = largest ? 1 : weight + rows;
        }
    }
    const auto has = (out.weights.array() > 0).eval();
    out.values = has.select(out.values.array() / out.weights.array(), 0.0).matrix();
    out.weights = has.cast<double>().matrix();
    return out;
}

}  // namespace

HeadMeans head_means(const Arrays& merged, const std::vector<std::int64_t>& text_of_chunk, const BootstrapOptions& options) {
    if (!merged.has("heads.measures"))
        throw Error(ErrorFacts{.problem = "The store has no measures of heads", .hint = "Run the corpus with --measure heads"});
    HeadMeans out;
    out.measures = split_ids(merged.get<std::uint8_t>("heads.measures", {-1}));
    const auto measures = std::ssize(out.measures);
    const auto shape = merged.shape("heads.count");
    if (shape.size() != 3)
        throw Error({.problem = "An array has another shape than expected", .item = "heads.count", .expected = "three axes"});
    out.layers = shape[1];
    out.heads = shape[2];
    const auto count = merged.get<std::int64_t>("heads.count", {measures, out.layers, out.heads});
    const auto sums = merged.get<std::int64_t>("heads.sum", {measures, out.layers, out.heads, 2});
    const auto chunks = merged.get<std::int64_t>("heads.chunks", {-1});
    ChunkRows in{.text = {},
                 .values = merged.get<float>("heads.values", {std::ssize(chunks), measures, out.layers, out.heads}),
                 .rows = merged.get<std::int32_t>("heads.rows", {std::ssize(chunks), measures}),
                 .measures = out.measures.size(),
                 .heads = static_cast<std::size_t>(out.layers * out.heads)};
    std::map<std::int64_t, std::int64_t> dense;  // number of a text -> its row
    for (const std::int64_t chunk : chunks) {
        if (chunk < 0 || chunk >= std::ssize(text_of_chunk))
            throw Error(
                {.problem = "The store's texts and results do not fit", .item = "heads.chunks", .found = std::to_string(chunk)});
        in.text.push_back(dense.try_emplace(text_of_chunk[static_cast<std::size_t>(chunk)], std::ssize(dense)).first->second);
    }
    out.texts = std::ssize(dense);
    const Bootstrap bootstrap(out.texts, options);
    for (std::size_t m = 0; m < out.measures.size(); ++m) {
        const bool largest = out.measures[m] == "max_weight";
        const TextValues texts = of_texts(in, m, out.texts, largest);
        const std::vector<Interval> intervals = bootstrap.means(texts.values, texts.weights);
        out.by_text.insert(out.by_text.end(), intervals.begin(), intervals.end());
        for (std::size_t h = 0; h < in.heads; ++h) {
            const std::size_t at = m * in.heads + h;
            out.with.push_back(static_cast<std::int64_t>(texts.weights.col(static_cast<Eigen::Index>(h)).sum()));
            out.rows.push_back(count[at]);
            const double sum = FixedSum::of(sums[2 * at], sums[2 * at + 1]).value();
            out.by_query.push_back(largest || count[at] == 0 ? kNaN : sum / static_cast<double>(count[at]));
        }
    }
    return out;
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
