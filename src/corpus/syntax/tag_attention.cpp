// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/tag_attention.h"

#include "corpus/syntax/saved_heads.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>

namespace headlight::corpus {
namespace {

constexpr std::size_t kNoTag = 17, kFirstToken = 18, kSpecialToken = 19;

std::size_t tag_of(const Word& word) {
    const auto found = std::ranges::find(kTokenTags.begin(), kTokenTags.begin() + kNoTag, word.upos);
    return static_cast<std::size_t>(found - kTokenTags.begin());
}

bool an_arc(const Text& text, std::int32_t a, std::int32_t b) {
    const Word &one = text.words[static_cast<std::size_t>(a)], &other = text.words[static_cast<std::size_t>(b)];
    return (one.head == b || other.head == a) && !same_bytes(one, other);
}

double ratio_of(double share, double base) { return base > 0 ? share / base : kNaN; }

}  // namespace

AccumulatorKind tags_kind() {
    return {.id = "tags",
            .title = "Parts of speech and dependencies",
            .note = "attention between parts of speech and along the arcs of a treebank; 6.4 kB a head",
            .usual = true,
            .of_treebank = true,
            .make = [](const AccumulatorContext& context) -> std::unique_ptr<Accumulator> {
                const model::ModelConfig& config = context.config;
                return std::make_unique<TagAttention>(config.n_layers, config.n_heads, config.causal);
            }};
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
    for (std::int64_t q = first_row(); q < keys; ++q) {
        const std::int64_t legal = last_key(q, keys);
        std::int64_t arcs = 0;
        for (const auto& [from, part] : text.tags[at(q)]) rows_[from].add(part);
        for (std::int64_t k = 0; k < legal; ++k) {
            for (const auto& [from, a] : text.tags[at(q)])
                for (const auto& [to, b] : text.tags[at(k)])
                    even_mass_[from * kTagCount + to].add(a * b / static_cast<double>(legal));
            arcs += k > 0 && text.linked(q, k);
        }
        if (legal < 2) continue;
        even_along_.add(static_cast<double>(arcs) / static_cast<double>(legal - 1));
        ++even_rows_;
    }
    for (std::size_t head = 0; head < text.heads.size(); ++head) {
        const Tagged::Sums& sums = text.heads[head];
        for (std::size_t i = 0; i < sums.mass.size(); ++i)
            mass_[place(static_cast<std::int64_t>(head), 0, 0) + i].add(sums.mass[i]);
        along_[head].add(sums.along);
        off_first_[head].add(sums.off_first);
        distance_[head].add(sums.distance);
    }
}

template <class Visit>
void TagAttention::each(Visit&& visit) {
    visit("tags.mass", std::span(mass_));
    visit("tags.even_mass", std::span(even_mass_));
    visit("tags.rows", std::span(rows_));
    visit("tags.along", std::span(along_));
    visit("tags.off_first", std::span(off_first_));
    visit("tags.distance", std::span(distance_));
    visit("tags.even_along", std::span(&even_along_, 1));
}

void TagAttention::merge(const Accumulator& other) {
    TagAttention theirs = dynamic_cast<const TagAttention&>(other);
    std::vector<std::span<FixedSum>> sums;
    theirs.each([&](const char*, std::span<FixedSum> of) { sums.push_back(of); });
    std::size_t next = 0;
    each([&](const char*, std::span<FixedSum> into) {
        for (std::size_t i = 0; i < into.size(); ++i) into[i].merge(sums[next][i]);
        ++next;
    });
    texts_ += theirs.texts_;
    left_out_ += theirs.left_out_;
    even_rows_ += theirs.even_rows_;
}

void TagAttention::save(Arrays& arrays) const {
    TagAttention(*this).each([&](const char* name, std::span<const FixedSum> sums) {
        std::vector<std::int64_t> halves;
        for (const FixedSum& sum : sums) halves.insert(halves.end(), {sum.low(), sum.high()});
        arrays.put<std::int64_t>(name, {std::ssize(sums), 2}, halves);
    });
    const std::array<std::int64_t, 3> counts{texts_, left_out_, even_rows_};
    arrays.put<std::int64_t>("tags.counts", {3}, counts);
    put_heads(arrays, "tags.heads", n_layers_, n_heads_, causal_);
}

TagAttention TagAttention::read(const Arrays& arrays) {
    const SavedHeads saved = get_heads(arrays, "tags.heads", tags_kind());
    TagAttention tags(saved.n_layers, saved.n_heads, saved.causal);
    tags.load(arrays);
    return tags;
}

void TagAttention::load(const Arrays& arrays) {
    each([&](const char* name, std::span<FixedSum> sums) {
        const auto halves = arrays.get<std::int64_t>(name, {std::ssize(sums), 2});
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = FixedSum::of(halves[2 * i], halves[2 * i + 1]);
    });
    const auto counts = arrays.get<std::int64_t>("tags.counts", {3});
    texts_ = counts[0], left_out_ = counts[1], even_rows_ = counts[2];
}

analyze::Table tag_table(const TagAttention& tags, TagSides sides) {
    analyze::Table table;
    table.columns = {"layer", "head", "from", "to", "share", "base", "ratio", "rows"};
    table.definitions = {
        {"from",
         "Part of speech of the query's word; all: any. first: the first token; special: further special tokens; none: no word."},
        {"to", "Part of speech of the key's word; all: any."},
        {"share",
         "Share of the rows' attention that goes to such keys; where to is all: share of all attention off the first token "
         "that comes from such rows (Vig & Belinkov 2019)."},
        {"base", "The same if every row were even over the keys that it may attend to."},
        {"ratio", "share / base."},
        {"rows", "Queries; the first one of a causal model is left out."}};
    double all_rows = 0;
    for (std::size_t from = 0; from < kTagCount; ++from) all_rows += tags.rows(from);
    const auto row = [&](std::int64_t head, std::string_view from, std::string_view to, double share, double base, double rows) {
        table.add({head / tags.n_heads(), head % tags.n_heads(), std::string(from), std::string(to), share, base,
                   ratio_of(share, base), rows});
    };
    for (std::int64_t head = 0; head < tags.n_layers() * tags.n_heads(); ++head) {
        // Sums over the rows of one tag, or of all, and over the keys of one tag, or of all but the first.
        const auto sum = [&](auto&& value, std::size_t from, std::size_t to) {
            double total = 0;
            for (std::size_t a = 0; a < kTagCount; ++a)
                for (std::size_t b = 0; b < kTagCount; ++b)
                    if ((from == kTagCount || a == from) && (to == kTagCount ? b != kFirstToken : b == to)) total += value(a, b);
            return total;
        };
        const auto mass = [&](std::size_t a, std::size_t b) { return tags.mass(head, a, b); };
        const auto even = [&](std::size_t a, std::size_t b) { return tags.even_mass(a, b); };
        for (std::size_t a = 0; sides == TagSides::both && a < kTagCount; ++a)
            for (std::size_t b = 0; b < kTagCount; ++b)
                if (tags.rows(a) > 0 && even(a, b) > 0)
                    row(head, kTokenTags[a], kTokenTags[b], mass(a, b) / tags.rows(a), even(a, b) / tags.rows(a), tags.rows(a));
        if (sides == TagSides::both) continue;
        for (std::size_t to = 0; to < kTagCount; ++to)
            if (const double base = sum(even, kTagCount, to); base > 0)
                row(head, "all", kTokenTags[to], sum(mass, kTagCount, to) / all_rows, base / all_rows, all_rows);
        const double off_first = sum(mass, kTagCount, kTagCount), even_off_first = sum(even, kTagCount, kTagCount);
        for (std::size_t from = 0; from < kTagCount; ++from)
            if (tags.rows(from) > 0)
                row(head, kTokenTags[from], "all", sum(mass, from, kTagCount) / off_first,
                    sum(even, from, kTagCount) / even_off_first, tags.rows(from));
    }
    return table;
}

analyze::Table alignment_table(const TagAttention& tags) {
    analyze::Table table;
    table.columns = {"layer", "head", "alignment", "base", "ratio", "mean_distance"};
    table.definitions = {
        {"alignment",
         "Share of the attention, without what the first token receives, between tokens whose words are an arc of the "
         "tree, in either direction (dependency alignment, Vig & Belinkov 2019)."},
        {"base", "The same if every row were even over the keys that it may attend to but the first."},
        {"ratio", "alignment / base."},
        {"mean_distance", "Mean distance in tokens of the same attention."}};
    for (std::int64_t head = 0; head < tags.n_layers() * tags.n_heads(); ++head)
        table.add({head / tags.n_heads(), head % tags.n_heads(), tags.alignment(head), tags.even_alignment(),
                   ratio_of(tags.alignment(head), tags.even_alignment()), tags.distance(head)});
    return table;
}

}  // namespace headlight::corpus
