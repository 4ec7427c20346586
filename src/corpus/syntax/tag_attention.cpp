// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/tag_attention.h"

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

/// Positions of the arrays of TextSums in a file: [text, this, head].
constexpr std::vector<float> TagAttention::TextSums::*kHeadSums[] = {
    &TagAttention::TextSums::along, &TagAttention::TextSums::off_first, &TagAttention::TextSums::distance};

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

std::unique_ptr<Accumulator> TagAttention::fresh() const { return std::make_unique<TagAttention>(n_layers_, n_heads_, causal_); }

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

template <class Self, class Visit>
void TagAttention::each(Self& self, Visit&& visit) {
    visit("tags.mass", std::span(self.mass_));
    visit("tags.even_mass", std::span(self.even_mass_));
    visit("tags.rows", std::span(self.rows_));
    visit("tags.along", std::span(self.along_));
    visit("tags.off_first", std::span(self.off_first_));
    visit("tags.distance", std::span(self.distance_));
    visit("tags.even_along", std::span(&self.even_along_, 1));
}

void TagAttention::merge(const Accumulator& other) {
    const auto& theirs = dynamic_cast<const TagAttention&>(other);
    std::vector<std::span<const FixedSum>> sums;
    each(theirs, [&](const char*, std::span<const FixedSum> of) { sums.push_back(of); });
    std::size_t next = 0;
    each(*this, [&](const char*, std::span<FixedSum> into) {
        for (std::size_t i = 0; i < into.size(); ++i) into[i].merge(sums[next][i]);
        ++next;
    });
    texts_ += theirs.texts_;
    left_out_ += theirs.left_out_;
    even_rows_ += theirs.even_rows_;
    by_text_.insert(theirs.by_text_.begin(), theirs.by_text_.end());
}

void TagAttention::save(Arrays& arrays) const {
    each(*this, [&](const char* name, std::span<const FixedSum> sums) {
        std::vector<std::int64_t> halves;
        for (const FixedSum& sum : sums) halves.insert(halves.end(), {sum.low(), sum.high()});
        arrays.put<std::int64_t>(name, {std::ssize(sums), 2}, halves);
    });
    const std::array<std::int64_t, 3> counts{texts_, left_out_, even_rows_};
    arrays.put<std::int64_t>("tags.counts", {3}, counts);
    put_heads(arrays, "tags.heads", {.layers = n_layers_, .heads = n_heads_, .causal = causal_});

    std::vector<std::int64_t> numbers, first_pair{0};
    std::vector<std::int16_t> pairs;
    std::vector<float> rows, mass, head_sums;
    for (const auto& [number, text] : by_text_) {
        numbers.push_back(number);
        rows.insert(rows.end(), text.rows.begin(), text.rows.end());
        pairs.insert(pairs.end(), text.pairs.begin(), text.pairs.end());
        first_pair.push_back(std::ssize(pairs));
        mass.insert(mass.end(), text.mass.begin(), text.mass.end());
        for (const auto member : kHeadSums) head_sums.insert(head_sums.end(), (text.*member).begin(), (text.*member).end());
    }
    const std::int64_t n = std::ssize(numbers), heads = n_layers_ * n_heads_;
    arrays.put<std::int64_t>("tags.text.number", {n}, numbers);
    arrays.put<float>("tags.text.rows", {n, kTagCount}, rows);
    arrays.put<std::int64_t>("tags.text.first_pair", {n + 1}, first_pair);
    arrays.put<std::int16_t>("tags.text.pair", {std::ssize(pairs)}, pairs);
    arrays.put<float>("tags.text.mass", {std::ssize(pairs), heads}, mass);
    arrays.put<float>("tags.text.heads", {n, std::ssize(kHeadSums), heads}, head_sums);
}

TagAttention TagAttention::read(const Arrays& arrays) {
    const HeadsShape saved = get_heads(arrays, "tags.heads", tags_kind());
    const auto masses = saved.layers * saved.heads * static_cast<std::int64_t>(kTagCount * kTagCount);
    arrays.require<std::int64_t>("tags.mass", {masses, 2});
    TagAttention tags(saved.layers, saved.heads, saved.causal);
    tags.load(arrays);
    return tags;
}

void TagAttention::load(const Arrays& arrays) {
    each(*this, [&](const char* name, std::span<FixedSum> sums) {
        const auto halves = arrays.get<std::int64_t>(name, {std::ssize(sums), 2});
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = FixedSum::of(halves[2 * i], halves[2 * i + 1]);
    });
    const auto counts = arrays.get_within<std::int64_t>("tags.counts", {3}, 0, kMostCounted);
    texts_ = counts[0], left_out_ = counts[1], even_rows_ = counts[2];

    const auto numbers = arrays.get_chunks("tags.text.number", {-1});
    const std::int64_t n = std::ssize(numbers), heads = n_layers_ * n_heads_;
    const auto rows = arrays.get<float>("tags.text.rows", {n, kTagCount});
    const auto first_pair = arrays.get<std::int64_t>("tags.text.first_pair", {n + 1});
    const auto pairs = arrays.get<std::int16_t>("tags.text.pair", {-1});
    const auto mass = arrays.get<float>("tags.text.mass", {std::ssize(pairs), heads});
    const auto head_sums = arrays.get<float>("tags.text.heads", {n, std::ssize(kHeadSums), heads});
    const auto no_pair = [](std::int16_t pair) { return pair < 0 || static_cast<std::size_t>(pair) >= kTagCount * kTagCount; };
    if (!std::ranges::is_sorted(first_pair) || first_pair.front() != 0 || first_pair.back() != std::ssize(pairs) ||
        std::ranges::any_of(pairs, no_pair))
        arrays.throw_damaged("tags.text.pair", "pairs of parts of speech");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        TextSums& text = by_text_[numbers[i]];
        const auto copy = [](const auto& from, std::int64_t begin, std::int64_t count, auto& into) {
            into.assign(from.begin() + begin, from.begin() + begin + count);
        };
        const auto text_at = static_cast<std::int64_t>(i), first = first_pair[i], count = first_pair[i + 1] - first;
        copy(rows, text_at * std::int64_t{kTagCount}, kTagCount, text.rows);
        copy(pairs, first, count, text.pairs);
        copy(mass, first * heads, count * heads, text.mass);
        std::int64_t sum = text_at * std::ssize(kHeadSums);
        for (const auto member : kHeadSums) copy(head_sums, sum++ * heads, heads, text.*member);
    }
}

}  // namespace headlight::corpus
