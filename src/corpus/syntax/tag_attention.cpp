// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/tag_attention.h"

#include "corpus/accumulate/archive.h"
#include "corpus/heads/saved_heads.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>

namespace headlight::corpus {
namespace {

std::size_t tag_of(const Word& word) {
    const auto found = std::ranges::find(kTokenTags.begin(), kTokenTags.begin() + kNoTag, word.upos);
    return static_cast<std::size_t>(found - kTokenTags.begin());
}

bool an_arc(const Text& text, std::int32_t a, std::int32_t b) {
    const Word &one = text.words[static_cast<std::size_t>(a)], &other = text.words[static_cast<std::size_t>(b)];
    return (one.head == b || other.head == a) && !same_bytes(one, other);
}

}  // namespace

AccumulatorKind tags_kind() {
    return {.id = "tags",
            .title = "Parts of speech and dependencies",
            .note =
                "attention between parts of speech and along the arcs of a treebank; 6.4 kB a head, and 160 "
                "bytes a head and sentence",
            .usual = true,
            .of_treebank = true,
            .make =
                [](const AccumulatorContext& context) {
                    const model::ModelConfig& config = context.config;
                    return new_accumulator(TagAttention(config.n_layers, config.n_heads, config.causal));
                },
            .open = [](const Arrays& arrays, std::uint64_t) { return new_accumulator(TagAttention::read(arrays)); }};
}

TagAttention::TagAttention(std::int64_t n_layers, std::int64_t n_heads, bool causal)
    : n_layers_(n_layers), n_heads_(n_heads), causal_(causal), even_mass_(kTagCount * kTagCount), rows_(kTagCount) {
    const std::size_t heads = at(n_layers * n_heads);
    mass_.resize(heads * kTagCount * kTagCount);
    for (auto* sums : {&along_, &off_first_, &distance_}) sums->resize(heads);
}

/// A text whose tokens have tags.
struct TagAttention::Tagged final : TextPatterns {
    Tagged(const TagAttention& whose, const TextRun& run)
        : of(whose), keys(run.tokens()), heads(at(whose.n_layers_ * whose.n_heads_)) {
        const WordTokens tokens = word_tokens(run.text, run.encoding, run.first_byte);
        const std::size_t n = tokens.of_token.size();
        tags.assign(n, {});
        pairs.assign(n * n, 0);
        for (std::size_t t = 0; t < n; ++t) {
            const std::vector<std::int32_t>& words = tokens.of_token[t];
            if (t == 0 || words.empty()) {
                tags[t] = {{t == 0 ? kFirstToken : run.encoding.special[t] ? kSpecialToken : kNoTag, 1.0}};
            } else {
                for (const std::int32_t word : words)
                    tags[t].emplace_back(tag_of(run.text.words[static_cast<std::size_t>(word)]),
                                         1.0 / static_cast<double>(words.size()));
            }
            for (std::size_t k = 0; k < n; ++k)
                pairs[t * n + k] =
                    t != k && std::ranges::any_of(words, [&](std::int32_t a) {
                        return std::ranges::any_of(tokens.of_token[k], [&](std::int32_t b) { return an_arc(run.text, a, b); });
                    });
        }
    }

    void add(HeadId id, const trace::HeadPattern& pattern) override {
        Sums& head = heads[at(id.layer.value * of.n_heads_ + id.head.value)];
        for (std::int64_t q = of.first_row(); q < keys; ++q) {
            std::array<double, kTagCount> received{};
            for (std::int64_t k = 0; k < of.last_key(q, keys); ++k) {
                const auto weight = static_cast<double>(pattern.weights[at(q * keys + k)]);
                for (const auto& [to, part] : tags[at(k)]) received[to] += weight * part;
                if (k == 0) continue;
                head.off_first += weight;
                head.distance += weight * static_cast<double>(std::abs(q - k));
                if (linked(q, k)) head.along += weight;
            }
            for (const auto& [from, part] : tags[at(q)])
                for (std::size_t to = 0; to < kTagCount; ++to) head.mass[from * kTagCount + to] += part * received[to];
        }
    }

    bool linked(std::int64_t query, std::int64_t key) const { return pairs[at(query * keys + key)]; }

    struct Sums {
        std::array<double, kTagCount * kTagCount> mass{};
        double along = 0, off_first = 0, distance = 0;
    };
    const TagAttention& of;
    std::int64_t keys;
    std::vector<Sums> heads;
    std::vector<std::vector<std::pair<std::size_t, double>>> tags;  ///< [position] tags, parts that add up to 1
    std::vector<std::uint8_t> pairs;                                ///< [query, key] 1: some words of theirs are an arc
};

std::unique_ptr<TextPatterns> TagAttention::patterns_of(const TextRun& run) const {
    if (run.text.words.empty() || !run.whole) return nullptr;
    return std::make_unique<Tagged>(*this, run);
}

void TagAttention::add(const TextRun& run, TextPatterns* patterns) {
    if (!patterns) {
        left_out_ += !run.text.words.empty() && run.begins;
        return;
    }
    ++texts_;
    const auto& text = dynamic_cast<const Tagged&>(*patterns);
    const std::int64_t keys = run.tokens();
    std::array<double, kTagCount> rows{};
    std::array<bool, kTagCount * kTagCount> legal_pair{};
    for (std::int64_t q = first_row(); q < keys; ++q) {
        const std::int64_t legal = last_key(q, keys);
        std::int64_t arcs = 0;
        for (const auto& [from, part] : text.tags[at(q)]) {
            rows_[from].add(part);
            rows[from] += part;
        }
        for (std::int64_t k = 0; k < legal; ++k) {
            for (const auto& [from, a] : text.tags[at(q)])
                for (const auto& [to, b] : text.tags[at(k)]) {
                    even_mass_[from * kTagCount + to].add(a * b / static_cast<double>(legal));
                    legal_pair[from * kTagCount + to] = true;
                }
            arcs += k > 0 && text.linked(q, k);
        }
        if (legal < 2) continue;
        even_along_.add(static_cast<double>(arcs) / static_cast<double>(legal - 1));
        ++even_rows_;
    }
    TextSums& kept = by_text_[run.number];
    kept.rows.assign(rows.begin(), rows.end());
    for (std::size_t pair = 0; pair < legal_pair.size(); ++pair) {
        if (!legal_pair[pair]) continue;
        kept.pairs.push_back(static_cast<std::int16_t>(pair));
        for (const Tagged::Sums& head : text.heads) kept.mass.push_back(static_cast<float>(head.mass[pair]));
    }
    for (std::size_t head = 0; head < text.heads.size(); ++head) {
        const Tagged::Sums& sums = text.heads[head];
        kept.along.push_back(static_cast<float>(sums.along));
        kept.off_first.push_back(static_cast<float>(sums.off_first));
        kept.distance.push_back(static_cast<float>(sums.distance));
        for (std::size_t i = 0; i < sums.mass.size(); ++i)
            mass_[place(static_cast<std::int64_t>(head), 0, 0) + i].add(sums.mass[i]);
        along_[head].add(sums.along);
        off_first_[head].add(sums.off_first);
        distance_[head].add(sums.distance);
    }
}

void TagAttention::stored(Archive& a) {
    a.heads("tags.heads", n_layers_, n_heads_, causal_);
    const std::int64_t heads = n_layers_ * n_heads_, tags = kTagCount;
    a.sums("tags.mass", {heads * tags * tags}, mass_);
    a.sums("tags.even_mass", {tags * tags}, even_mass_);
    a.sums("tags.rows", {tags}, rows_);
    a.sums("tags.along", {heads}, along_);
    a.sums("tags.off_first", {heads}, off_first_);
    a.sums("tags.distance", {heads}, distance_);
    a.sums("tags.even_along", {1}, {&even_along_});
    a.counts("tags.counts", {3}, {&texts_, &left_out_, &even_rows_});
    a.rows("tags.text.number", by_text_, [&](StoredRows<TextSums>& text) {
        const auto pairs = [](const TextSums& of) { return std::ssize(of.pairs); };
        text.column<float>("tags.text.rows", {tags}, &TextSums::rows)
            .ends("tags.text.first_pair", "tags.text.pair", &TextSums::pairs, true)
            .ragged<std::int16_t>("tags.text.pair", {}, within(0, &TextSums::pairs, tags * tags - 1), pairs)
            .ragged<float>("tags.text.mass", {heads}, &TextSums::mass, pairs)
            .column<float>("tags.text.heads", {heads}, &TextSums::along, &TextSums::off_first, &TextSums::distance);
    });
}

TagAttention TagAttention::read(const Arrays& arrays) {
    const HeadsShape saved = get_heads(arrays, "tags.heads", tags_kind());
    arrays.require<std::int64_t>("tags.mass", {saved.layers * saved.heads * std::int64_t{kTagCount * kTagCount}, 2});
    TagAttention tags(saved.layers, saved.heads, saved.causal);
    tags.load(arrays);
    return tags;
}

}  // namespace headlight::corpus
