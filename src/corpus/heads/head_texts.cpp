// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/head_texts.h"

#include "corpus/heads/saved_heads.h"
#include "corpus/reading/separated.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::corpus {
HeadTexts::HeadTexts(const Arrays& merged, const std::vector<std::int64_t>& text_of_chunk) {
    if (!merged.has("heads.measures"))
        throw Error(ErrorFacts{.problem = "The store has no measures of heads", .hint = "Run the corpus with --measure heads"});
    const auto ids = merged.get<std::uint8_t>("heads.measures", {-1});
    measures_ = split<std::string>(std::string(ids.begin(), ids.end()), ',');
    const HeadsShape shape = get_heads(merged, "heads.shape");
    layers_ = shape.layers;
    heads_ = shape.heads;
    const auto measures = std::ssize(measures_);
    const auto chunks = merged.get<std::int64_t>("heads.chunks", {-1});
    values_ = merged.view<float>("heads.values", {std::ssize(chunks), measures, layers_, heads_});
    rows_ = merged.view<std::int32_t>("heads.rows", {std::ssize(chunks), measures, layers_});
    std::map<std::int64_t, std::int64_t> row_of;  // of a text
    for (const std::int64_t chunk : chunks) {
        if (chunk < 0 || chunk >= std::ssize(text_of_chunk))
            throw Error(
                {.problem = "The store's texts and results do not fit", .item = "heads.chunks", .found = std::to_string(chunk)});
        const std::int64_t text = text_of_chunk[static_cast<std::size_t>(chunk)];
        const auto [at, is_new] = row_of.try_emplace(text, std::ssize(texts_));
        if (is_new) texts_.push_back(text);
        row_.push_back(at->second);
    }
    if (!merged.has("variability.weights")) return;
    first_.emplace(merged, 0);
    if (first_->shape().layers != layers_ || first_->shape().heads != heads_)
        throw Error({.problem = "The store is damaged", .item = "variability.shape", .expected = "the heads of heads.count"});
    for (const std::int64_t chunk : first_->chunks()) {
        const auto row = chunk >= 0 && chunk < std::ssize(text_of_chunk)
                             ? row_of.find(text_of_chunk[static_cast<std::size_t>(chunk)])
                             : row_of.end();
        if (row == row_of.end())
            throw Error({.problem = "The store's texts and results do not fit",
                         .item = "variability.chunks",
                         .found = std::to_string(chunk)});
        first_row_.push_back(row->second);
    }
    measures_.emplace_back("variability");
}

TextValues HeadTexts::of(std::size_t measure) const {
    const std::size_t heads = static_cast<std::size_t>(layers_ * heads_), measures = measures_.size() - (first_ ? 1 : 0);
    const bool largest = is_maximum(measure);
    TextValues out;
    out.values.setZero(std::ssize(texts_), static_cast<Eigen::Index>(heads));
    out.weights = out.values;
    if (first_ && measure + 1 == measures_.size()) {
        for (Eigen::Index h = 0; h < out.values.cols(); ++h) {
            const analyze::VariabilityTerms terms = first_->variability(h);
            for (std::size_t t = 0; t < first_row_.size(); ++t) {
                out.values(first_row_[t], h) = terms.differences[t];
                out.weights(first_row_[t], h) = terms.weights[t];
            }
        }
        return out;
    }
    for (std::size_t c = 0; c < row_.size(); ++c) {
        const std::int32_t* rows_of_layer = rows_.data() + (c * measures + measure) * static_cast<std::size_t>(layers_);
        const float* values = values_.data() + (c * measures + measure) * heads;
        for (std::size_t h = 0; h < heads; ++h) {
            if (std::isnan(values[h])) continue;
            const double rows = rows_of_layer[h / static_cast<std::size_t>(heads_)];
            double &value = out.values(row_[c], static_cast<Eigen::Index>(h)),
                   &weight = out.weights(row_[c], static_cast<Eigen::Index>(h));
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

}  // namespace headlight::corpus
