// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/run/stop_at.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/heads/head_texts.h"

#include <algorithm>
#include <charconv>

namespace headlight::corpus {

StopAt parse_stop_at(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    StopAt out{.measure = text.substr(0, colon)};
    std::string number = colon == std::string::npos ? std::string() : text.substr(colon + 1);
    const bool percent = number.ends_with('%');
    if (percent) number.pop_back();
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), out.half_width);
    if (out.measure.empty() || number.empty() || code != std::errc() || end != number.data() + number.size())
        throw Error({.problem = "Not a measure and the half width of its interval",
                     .expected = "induction:1% or entropy:0.05",
                     .found = text});
    if (percent) out.half_width /= 100;
    return out;
}

void check(const StopAt& stop, const Manifest& manifest) {
    std::vector<std::string> ids;
    for (const analyze::MeasureInfo& measure : analyze::head_measures()) ids.push_back(measure.id);
    if (std::ranges::find(ids, stop.measure) == ids.end()) {
        const std::string near = nearest(stop.measure, ids);
        throw Error({.problem = "There is no such measure of heads to stop at",
                     .found = stop.measure,
                     .hint = near.empty() ? "docs/measures.md lists them" : "Did you mean " + near + "?"});
    }
    if (!(stop.half_width > 0))
        throw Error({.problem = "A run cannot stop at this half width",
                     .item = stop.measure,
                     .expected = "a number above 0",
                     .found = significant(stop.half_width)});
    if (std::ranges::find(manifest.options.measures, "heads") == manifest.options.measures.end())
        throw Error({.problem = "The store gathers no measures of heads, so that the run cannot stop at one",
                     .item = stop.measure,
                     .hint = "Run the corpus into a new store with --measure heads"});
}

std::optional<WidestInterval> widest_interval(const StoredCorpus& stored, const std::string& measure,
                                              const BootstrapOptions& options) {
    const HeadTexts texts(stored.merged.arrays, stored.text_of_chunk);
    const auto found = std::ranges::find(texts.measures(), measure);
    if (found == texts.measures().end()) return std::nullopt;
    const TextValues of = texts.of(static_cast<std::size_t>(found - texts.measures().begin()));
    const std::vector<Interval> intervals = Bootstrap(std::ssize(texts.texts()), options).means(of.values, of.weights);
    std::optional<WidestInterval> widest;
    for (std::int64_t h = 0; h < std::ssize(intervals); ++h) {
        const auto with = static_cast<std::int64_t>((of.weights.col(h).array() > 0).count());
        if (with == 0) continue;
        if (with < kTextsToStop) return std::nullopt;
        const Interval& interval = intervals[static_cast<std::size_t>(h)];
        const double half = (interval.high - interval.low) / 2;
        if (!widest || half > widest->half_width) widest = {{Layer(h / texts.heads()), Head(h % texts.heads())}, half, with};
    }
    return widest;
}

void shuffle_blocks(std::vector<std::int64_t>& blocks, std::uint64_t seed) {
    std::ranges::sort(blocks, {}, [&](std::int64_t block) { return std::pair(draw(seed, block, 0), block); });
}

}  // namespace headlight::corpus
