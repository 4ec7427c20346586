// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/heads.h"

#include "corpus/accumulate/archive.h"
#include "corpus/heads/saved_heads.h"
#include "corpus/reading/separated.h"
#include "headlight/analyze/heads/counted_measures.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/lanes.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <unordered_map>

namespace headlight::corpus {
namespace {

/// Indices of corpus_measures() in analyze::head_measures().
const std::vector<std::size_t>& measure_indices() {
    static const std::vector<std::size_t> indices = [] {
        // Of several texts, of the model alone, of queries and keys, which a run does not keep, of texts longer than most of a
        // corpus are, or of pairs.
        const std::set<std::string> left_out = {"variability",     "probe_induction",      "probe_previous",
                                                "probe_duplicate", "qk_norm_gap",          "qk_centre_distance",
                                                "qk_similarity",   "qk_weight_similarity", "share_last_64",
                                                "share_last_512",  "share_other_sentence"};
        std::vector<std::size_t> out;
        const auto& all = analyze::head_measures();
        for (std::size_t m = 0; m < all.size(); ++m)
            if (!left_out.contains(all[m].id)) out.push_back(m);
        return out;
    }();
    return indices;
}

std::vector<std::int64_t> nearest_same(const std::vector<std::int64_t>& ids) {
    std::vector<std::int64_t> previous;
    std::unordered_map<std::int64_t, std::int64_t> last;
    for (const std::int64_t id : ids) {
        const auto found = last.find(id);
        previous.push_back(found == last.end() ? -1 : found->second);
        last[id] = std::ssize(previous) - 1;
    }
    return previous;
}

/// Sum of x[from, to), clipped to 0 and `end`.
[[gnu::always_inline]] inline double sum_between(const float* x, std::int64_t from, std::int64_t to, std::int64_t end) {
    return lanes::sum_of(x, std::max<std::int64_t>(from, 0), std::min(to, end));
}

/// Adds a row's weights to `sums` [bin]: the keys of a bin are a contiguous range on either side of the query.
HEADLIGHT_WIDE void add_distances(const float* row, std::int64_t query, std::int64_t keys, bool causal, double* sums) {
    for (std::int64_t bin = 0; bin < kDistanceBins; ++bin) {
        const std::int64_t near = first_distance(bin), end = bin + 1 < kDistanceBins ? first_distance(bin + 1) : query + keys;
        if (near > query && (causal || query + near >= keys)) break;
        sums[bin] += sum_between(row, query - end + 1, query - near + 1, keys);
        if (!causal && bin > 0) sums[bin] += sum_between(row, query + near, query + end, keys);
    }
}

/// The first key in [from, last) with row[j] > weight or row[j] lengths[j] > value; `last`: none.
HEADLIGHT_WIDE std::int64_t next_above(const float* row, const float* lengths, std::int64_t from, std::int64_t last, float weight,
                                       float value) {
    using namespace lanes;
    constexpr std::int64_t kStretch = 8 * kLanes;
    for (; from + kStretch <= last; from += kStretch) {
        Ints above = {};
        for (std::int64_t at = from; at < from + kStretch; at += kLanes) {
            Floats a, b;
            std::memcpy(&a, row + at, sizeof a);
            std::memcpy(&b, lengths + at, sizeof b);
            above |= (a > weight) | (a * b > value);
        }
        std::array<std::uint64_t, sizeof above / 8> words;
        std::memcpy(words.data(), &above, sizeof above);
        std::uint64_t any = 0;
        for (const std::uint64_t word : words) any |= word;
        if (any) break;
    }
    while (from < last && !(row[from] > weight || row[from] * lengths[from] > value)) ++from;
    return from;
}

std::int64_t examples_in(const Arrays& arrays) {
    arrays.require<float>("heads.top_value", {kHeadExamples, -1, -1, -1});
    return arrays.shape("heads.top_value").back();
}

}  // namespace

std::int64_t distance_bin(std::int64_t distance) noexcept {
    return std::min<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(distance)), kDistanceBins - 1);
}

std::int64_t first_distance(std::int64_t bin) noexcept { return bin == 0 ? 0 : std::int64_t{1} << (bin - 1); }

const std::vector<std::string>& corpus_measures() {
    static const std::vector<std::string> ids = [] {
        std::vector<std::string> out;
        for (const std::size_t m : measure_indices()) out.push_back(analyze::head_measures()[m].id);
        return out;
    }();
    return ids;
}

Heads::Heads(const model::ModelConfig& config, std::int64_t examples)
    : Heads({.layers = config.n_layers, .heads = config.n_heads, .causal = config.causal}, examples) {}

Heads::Heads(const HeadsShape& shape, std::int64_t examples)
    : layers_(shape.layers),
      heads_(shape.heads),
      examples_(examples),
      causal_(shape.causal),
      sums_(corpus_measures().size() * heads()),
      counts_(sums_.size()),
      distances_(heads() * static_cast<std::size_t>(kDistanceBins)),
      top_(static_cast<std::size_t>(kHeadExamples) * heads(), TopExamples(examples)) {}

Heads::Heads(const Arrays& arrays) : Heads(get_heads(arrays, "heads.shape"), examples_in(arrays)) { load(arrays); }

std::vector<std::string> Heads::hooks() const { return {"*.attn.hook_z", "*.hook_resid_pre"}; }

/// For one text: its heads' attention by distance, their best examples, and all their measures.
class Heads::Patterns final : public TextPatterns {
public:
    struct OfHead {
        std::array<double, kDistanceBins> distances{};
        std::array<Example, kHeadExamples> best{};  ///< query -1: none
    };

    Patterns(const Heads& of, const TextRun& run)
        : of_heads(of.heads()),
          of_(of),
          first_(std::max<std::int64_t>(run.first_query, of.causal_ ? 1 : 0)),
          same_(nearest_same(run.encoding.ids)),
          special_(run.encoding.special),
          blocks_(of.heads()) {
        none_.best.fill({.value = 0, .text = run.number, .query = -1, .key = -1});
        std::ranges::fill(of_heads, none_);
    }

    void add(HeadId id, const trace::HeadPattern& pattern) override {
        add_rows(id, {.weights = pattern.weights.data(),
                      .count = pattern.queries(),
                      .keys = pattern.keys,
                      .stride = pattern.keys,
                      .lengths = pattern.lengths});
    }
    bool by_rows() const override { return true; }
    void add_rows(HeadId id, const trace::HeadRows& rows) override {
        Block block{rows.first, none_};
        const auto reached = best_values(id);
        // An example that another block has surpassed is not searched for; one of the same value may stand earlier than that one.
        for (std::size_t kind = 0; kind < reached.size(); ++kind)
            if (reached[kind] > 0) block.found.best[kind].value = std::nextafter(reached[kind], 0.0F);
        for (std::int64_t i = std::max(first_, rows.first); i < rows.first + rows.count; ++i) {
            add_distances(rows.row(i), i, rows.keys, of_.causal_, block.found.distances.data());
            if (!special_[static_cast<std::size_t>(i)]) add_examples(rows, i, block.found.best);
        }
        const std::lock_guard lock(mutex_);
        blocks_[of_.head_index(id)].push_back(block);
    }

    void finish(const TextRun& run) override {
        measured = analyze::counted_measures(*run.trace, run.first_query);
        for (std::size_t head = 0; head < blocks_.size(); ++head) {
            std::ranges::sort(blocks_[head], {}, &Block::first);  // they came in any order
            for (const Block& block : blocks_[head]) add_block(block.found, of_heads[head]);
        }
        blocks_ = {};
    }

    std::vector<OfHead> of_heads;  ///< [layer * head]
    analyze::CountedMeasures measured;

private:
    struct Block {
        std::int64_t first;
        OfHead found;
    };

    static void add_block(const OfHead& block, OfHead& to) {
        for (std::size_t bin = 0; bin < block.distances.size(); ++bin) to.distances[bin] += block.distances[bin];
        for (std::size_t kind = 0; kind < block.best.size(); ++kind)
            if (block.best[kind].query >= 0 && block.best[kind].value > to.best[kind].value) to.best[kind] = block.best[kind];
    }

    /// Of the head's blocks so far.
    std::array<float, kHeadExamples> best_values(HeadId id) {
        std::array<float, kHeadExamples> values{};
        const std::lock_guard lock(mutex_);
        for (const Block& block : blocks_[of_.head_index(id)])
            for (std::size_t kind = 0; kind < values.size(); ++kind)
                if (const Example& best = block.found.best[kind]; best.query >= 0)
                    values[kind] = std::max(values[kind], best.value);
        return values;
    }

    void add_examples(const trace::HeadRows& rows, std::int64_t i, std::array<Example, kHeadExamples>& best) const {
        const float *row = rows.row(i), *lengths = rows.lengths.data();
        const auto special = [&](std::int64_t j) { return special_[static_cast<std::size_t>(j)]; };
        const auto offer = [&](HeadExample kind, float value, std::int64_t j) {
            Example& so_far = best[static_cast<std::size_t>(kind)];
            if (!(value > so_far.value)) return;
            so_far = {value, so_far.text, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)};
        };
        const std::int64_t last = of_.causal_ ? i : rows.keys;
        for (std::int64_t j = 1; (j = next_above(row, lengths, j, last, best[0].value, best[1].value)) < last; ++j) {
            if (j == i || special(j)) continue;
            offer(HeadExample::weight, row[j], j);
            offer(HeadExample::value, row[j] * lengths[j], j);
        }
        for (std::int64_t j = same_[static_cast<std::size_t>(i)]; j >= 0; j = same_[static_cast<std::size_t>(j)])
            if (j + 1 < i && !special(j + 1)) offer(HeadExample::induction, row[j + 1], j + 1);
    }

    const Heads& of_;
    std::int64_t first_;              ///< query that counts
    std::vector<std::int64_t> same_;  ///< nearest earlier position of the same token
    std::vector<bool> special_;
    OfHead none_;
    std::mutex mutex_;
    std::vector<std::vector<Block>> blocks_;  ///< [layer * head]
};

std::unique_ptr<TextPatterns> Heads::patterns_of(const TextRun& run) const { return std::make_unique<Patterns>(*this, run); }

void Heads::add(const TextRun& run, TextPatterns* patterns) {
    const auto& read = dynamic_cast<const Patterns&>(*patterns);
    const analyze::CountedMeasures& measured = read.measured;
    Row row{.values = std::vector<float>(sums_.size(), static_cast<float>(kNaN)),
            .rows = std::vector<std::int32_t>(corpus_measures().size() * static_cast<std::size_t>(layers_))};
    for (std::size_t m = 0; m < measure_indices().size(); ++m) {
        const auto& values = measured.values[measure_indices()[m]];
        const auto& counted = measured.rows[measure_indices()[m]];
        for (std::int64_t layer = 0; layer < layers_; ++layer) {
            std::int32_t& of_layer = row.rows[m * static_cast<std::size_t>(layers_) + static_cast<std::size_t>(layer)];
            for (std::int64_t head = 0; head < heads_; ++head) {
                const std::int64_t rows = counted(layer, head);
                if (rows == 0) continue;
                const std::size_t at = m * heads() + head_index({Layer(layer), Head(head)});
                row.values[at] = static_cast<float>(values(layer, head));
                of_layer = std::max(of_layer, static_cast<std::int32_t>(rows));
                sums_[at].add(values(layer, head) * static_cast<double>(rows));
                counts_[at] += rows;
            }
        }
    }
    rows_[run.number] = std::move(row);
    for (std::size_t head = 0; head < heads(); ++head) {
        const Patterns::OfHead& found = read.of_heads[head];
        for (std::size_t bin = 0; bin < found.distances.size(); ++bin)
            distances_[head * found.distances.size() + bin].add(found.distances[bin]);
        for (std::size_t kind = 0; kind < found.best.size(); ++kind)
            if (found.best[kind].query >= 0) top_[kind * heads() + head].add(found.best[kind]);
    }
}

void Heads::stored(Archive& a) {
    const std::string ids = joined(corpus_measures(), ",");
    std::vector<std::uint8_t> bytes(ids.begin(), ids.end());
    if (a.saves()) a.out().put<std::uint8_t>("heads.measures", {std::ssize(bytes)}, bytes);
    if (a.loads() && a.in().get<std::uint8_t>("heads.measures", {-1}) != bytes)
        throw Error({.problem = "The store has other measures of heads than this version of Headlight",
                     .item = "heads.measures",
                     .hint = "Run the corpus again"});
    a.heads("heads.shape", layers_, heads_, causal_);
    const std::int64_t measures = std::ssize(corpus_measures());
    a.rows("heads.chunks", rows_, [&](StoredRows<Row>& row) {
        row.column<float>("heads.values", {measures, layers_, heads_}, &Row::values)
            .column<std::int32_t>("heads.rows", {measures, layers_}, within(0, &Row::rows));
    });
    a.sums("heads.sum", {measures, layers_, heads_}, sums_);
    a.counts("heads.count", {measures, layers_, heads_}, pointers_to(counts_));
    a.sums("heads.distance", {layers_, heads_, kDistanceBins}, distances_);
    std::vector<Example> all;
    for (TopExamples& top : top_) {
        a.part(top, [&](const TopExamples& other) { top.merge(other); });
        if (!a.saves()) continue;
        const std::vector<Example> best = top.sorted();
        all.insert(all.end(), best.begin(), best.end());
        all.resize(all.size() + static_cast<std::size_t>(examples_) - best.size(),
                   {.value = 0, .text = -1, .query = -1, .key = -1});
    }
    StoredRows<Example>(a, {kHeadExamples, layers_, heads_, examples_}, all)
        .column<float>("heads.top_value", {}, within(0, &Example::value))
        .column<std::int64_t>("heads.top_text", {}, a.chunk(&Example::text, -1))
        .column<std::int32_t>("heads.top_query", {}, within(-1, &Example::query))
        .column<std::int32_t>("heads.top_key", {}, within(-1, &Example::key));
    for (std::size_t i = 0; a.loads() && i < all.size(); ++i)
        if (all[i].text >= 0) top_[i / static_cast<std::size_t>(examples_)].add(all[i]);
}

AccumulatorKind heads_kind() {
    return {.id = "heads",
            .title = "Measures of heads",
            .note = "every measure of every head text by text, distances, examples: 19 kB a text of GPT-2 small",
            .usual = true,
            .of_treebank = false,
            .make = [](const AccumulatorContext& context) { return new_accumulator(Heads(context.config)); },
            .open = [](const Arrays& arrays, std::uint64_t) { return new_accumulator(Heads(arrays)); }};
}

}  // namespace headlight::corpus
