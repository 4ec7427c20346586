// SPDX-License-Identifier: GPL-3.0-or-later
// Shares of attention by part of speech and along dependencies, with their intervals over texts.
#include "headlight/base/numbers.h"
#include "headlight/corpus/syntax/tag_attention.h"

#include <functional>
#include <string>
#include <vector>

namespace headlight::corpus {
namespace {

using TextSums = TagAttention::TextSums;

double ratio_of(double share, double base) { return base > 0 ? share / base : kNaN; }

/// Shares of every head as ratios of sums over texts, drawn on the same texts for every share.
class TagIntervals {
public:
    using Pairs = std::function<bool(std::size_t from, std::size_t to)>;

    TagIntervals(const TagAttention& tags, const BootstrapOptions& options)
        : tags_(tags),
          texts_(std::ssize(tags.by_text())),
          heads_(tags.n_layers() * tags.n_heads()),
          bootstrap_(texts_, options) {}

    /// Of each head: attention of such pairs over the queries of the tags.
    std::vector<Interval> of_rows(const Pairs& pairs, const std::function<bool(std::size_t from)>& rows) const {
        Bootstrap::Columns weights = Bootstrap::Columns::Zero(texts_, 1);
        each_text([&](std::int64_t t, const TextSums& text) {
            for (std::size_t from = 0; from < kTagCount; ++from)
                if (rows(from)) weights(t, 0) += static_cast<double>(text.rows[from]);
        });
        return bootstrap_.means(mass(pairs), weights);
    }
    /// Of each head: attention of such pairs over all that is not on the first token.
    std::vector<Interval> off_first(const Pairs& pairs) const {
        return bootstrap_.means(mass(pairs), of_heads(&TextSums::off_first));
    }
    std::vector<Interval> off_first(std::vector<float> TextSums::*sums) const {
        return bootstrap_.means(of_heads(sums), of_heads(&TextSums::off_first));
    }

private:
    template <class Visit>
    void each_text(Visit&& visit) const {
        std::int64_t row = 0;
        for (const auto& [number, text] : tags_.by_text()) visit(row++, text);
    }
    Bootstrap::Columns of_heads(std::vector<float> TextSums::*sums) const {
        Bootstrap::Columns out(texts_, heads_);
        each_text([&](std::int64_t t, const TextSums& text) {
            for (std::int64_t h = 0; h < heads_; ++h) out(t, h) = static_cast<double>((text.*sums)[static_cast<std::size_t>(h)]);
        });
        return out;
    }
    Bootstrap::Columns mass(const Pairs& pairs) const {
        Bootstrap::Columns out = Bootstrap::Columns::Zero(texts_, heads_);
        each_text([&](std::int64_t t, const TextSums& text) {
            for (std::size_t p = 0; p < text.pairs.size(); ++p) {
                const auto pair = static_cast<std::size_t>(text.pairs[p]);
                if (!pairs(pair / kTagCount, pair % kTagCount)) continue;
                const float* of_pair = text.mass.data() + static_cast<std::int64_t>(p) * heads_;
                for (std::int64_t h = 0; h < heads_; ++h) out(t, h) += static_cast<double>(of_pair[h]);
            }
        });
        return out;
    }

    const TagAttention& tags_;
    std::int64_t texts_, heads_;
    Bootstrap bootstrap_;
};

/// A row of the table before its interval: a pair of tags, or one of them and all.
struct TagPair {
    std::size_t from, to;  ///< kTagCount: all
    bool holds(std::size_t a, std::size_t b) const {
        return (from == kTagCount || a == from) && (to == kTagCount ? b != kFirstToken : b == to);
    }
};

std::vector<TagPair> pairs_of(const TagAttention& tags, TagSides sides) {
    std::vector<TagPair> out;
    const auto legal = [&](const TagPair& pair) {
        for (std::size_t a = 0; a < kTagCount; ++a)
            for (std::size_t b = 0; b < kTagCount; ++b)
                if (pair.holds(a, b) && tags.even_mass(a, b) > 0) return true;
        return false;
    };
    for (std::size_t a = 0; a < kTagCount; ++a)
        for (std::size_t b = 0; sides == TagSides::both && b < kTagCount; ++b)
            if (tags.rows(a) > 0 && legal({a, b})) out.push_back({a, b});
    if (sides == TagSides::both) return out;
    for (std::size_t to = 0; to < kTagCount; ++to)
        if (legal({kTagCount, to})) out.push_back({kTagCount, to});
    for (std::size_t from = 0; from < kTagCount; ++from)
        if (tags.rows(from) > 0) out.push_back({from, kTagCount});
    return out;
}

HeadId head_at(const TagAttention& tags, std::int64_t head) {
    return {Layer(head / tags.n_heads()), Head(head % tags.n_heads())};
}

std::string tag_word(std::size_t tag) { return tag == kTagCount ? "all" : std::string(kTokenTags[tag]); }

}  // namespace

std::vector<TagShare> tag_shares(const TagAttention& tags, TagSides sides, const BootstrapOptions& options) {
    const std::vector<TagPair> pairs = pairs_of(tags, sides);
    const TagIntervals intervals(tags, options);
    std::vector<std::vector<Interval>> of_pair;
    for (const TagPair& pair : pairs) {
        const auto holds = [&](std::size_t a, std::size_t b) { return pair.holds(a, b); };
        const auto has_rows = [&](std::size_t from) { return pair.from == kTagCount || pair.from == from; };
        of_pair.push_back(pair.to == kTagCount ? intervals.off_first(holds) : intervals.of_rows(holds, has_rows));
    }
    const auto sum = [&](const TagPair& pair, auto&& value) {
        double total = 0;
        for (std::size_t a = 0; a < kTagCount; ++a)
            for (std::size_t b = 0; b < kTagCount; ++b)
                if (pair.holds(a, b)) total += value(a, b);
        return total;
    };
    const auto even = [&](const TagPair& pair) {
        return sum(pair, [&](std::size_t a, std::size_t b) { return tags.even_mass(a, b); });
    };
    constexpr TagPair off_first{kTagCount, kTagCount};
    double all_rows = 0;
    for (std::size_t from = 0; from < kTagCount; ++from) all_rows += tags.rows(from);
    std::vector<TagShare> out;
    for (std::int64_t head = 0; head < tags.n_layers() * tags.n_heads(); ++head) {
        const auto mass = [&](const TagPair& pair) {
            return sum(pair, [&](std::size_t a, std::size_t b) { return tags.mass(head, a, b); });
        };
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const TagPair& pair = pairs[p];
            TagShare share{.head = head_at(tags, head),
                           .from = pair.from,
                           .to = pair.to,
                           .share = of_pair[p][static_cast<std::size_t>(head)],
                           .rows = pair.from == kTagCount ? all_rows : tags.rows(pair.from)};
            const bool of_attention = pair.to == kTagCount;
            share.share.mean = mass(pair) / (of_attention ? mass(off_first) : share.rows);  // the exact sums
            share.base = even(pair) / (of_attention ? even(off_first) : share.rows);
            out.push_back(share);
        }
    }
    return out;
}

analyze::Table table_of(const std::vector<TagShare>& shares) {
    analyze::Table table;
    table.columns = {"layer", "head", "from", "to", "share", "low", "high", "base", "ratio", "rows"};
    table.definitions = {
        {"from",
         "Part of speech of the query's word; all: any. first: the first token; special: further special tokens; none: no word."},
        {"to", "Part of speech of the key's word; all: any."},
        {"share",
         "Share of the rows' whole attention, with that to the first token, that goes to such keys; where to is all: share of all "
         "attention off the first token that comes from such rows (Vig & Belinkov 2019)."},
        {"low", "Interval of the share: percentile bootstrap over texts."},
        {"high", "Interval of the share: percentile bootstrap over texts."},
        {"base", "The same if every row were even over the keys that it may attend to."},
        {"ratio", "share / base."},
        {"rows", "Queries; the first one of a causal model is left out."}};
    for (const TagShare& of : shares)
        table.add({of.head.layer.value, of.head.head.value, tag_word(of.from), tag_word(of.to), of.share.mean, of.share.low,
                   of.share.high, of.base, ratio_of(of.share.mean, of.base), of.rows});
    return table;
}

std::vector<HeadAlignment> head_alignments(const TagAttention& tags, const BootstrapOptions& options) {
    const TagIntervals intervals(tags, options);
    const std::vector<Interval> along = intervals.off_first(&TextSums::along), far = intervals.off_first(&TextSums::distance);
    std::vector<HeadAlignment> out;
    for (std::int64_t head = 0; head < tags.n_layers() * tags.n_heads(); ++head) {
        const auto at = static_cast<std::size_t>(head);
        HeadAlignment of{.head = head_at(tags, head), .alignment = along[at], .base = tags.even_alignment(), .distance = far[at]};
        of.alignment.mean = tags.alignment(head);  // the exact sums
        of.distance.mean = tags.distance(head);
        out.push_back(of);
    }
    return out;
}

analyze::Table table_of(const std::vector<HeadAlignment>& heads) {
    analyze::Table table;
    table.columns = {"layer", "head",  "alignment",          "low",          "high",
                     "base",  "ratio", "distance_off_first", "distance_low", "distance_high"};
    table.definitions = {
        {"alignment",
         "Share of the attention, without what the first token receives, between tokens whose words are an arc of the "
         "tree, in either direction (dependency alignment, Vig & Belinkov 2019)."},
        {"low", "Interval of the alignment: percentile bootstrap over texts."},
        {"high", "Interval of the alignment: percentile bootstrap over texts."},
        {"base", "The same if every row were even over the keys that it may attend to but the first."},
        {"ratio", "alignment / base."},
        {"distance_off_first",
         "Mean distance in tokens of the same attention: sum of a_ij |i - j| over sum of a_ij, without the first token (Vig & "
         "Belinkov 2019). The measure mean_distance counts it, and is a mean over queries."},
        {"distance_low", "Interval of the distance: percentile bootstrap over texts."},
        {"distance_high", "Interval of the distance: percentile bootstrap over texts."}};
    for (const HeadAlignment& of : heads)
        table.add({of.head.layer.value, of.head.head.value, of.alignment.mean, of.alignment.low, of.alignment.high, of.base,
                   ratio_of(of.alignment.mean, of.base), of.distance.mean, of.distance.low, of.distance.high});
    return table;
}

}  // namespace headlight::corpus
