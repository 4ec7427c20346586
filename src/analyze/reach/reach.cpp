// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/reach/reach.h"
#include "headlight/analyze/columns.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/row_sums.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/model/outline.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace headlight::analyze {
namespace {

using model::KeyRange;

struct ReachKey {
    std::optional<Passage> passage;
    bool operator==(const ReachKey&) const = default;
};

std::vector<std::int64_t> distance_bins(std::int64_t tokens) {
    std::vector<std::int64_t> bins{0};
    for (std::int64_t d = 1; d < tokens; d *= 2) bins.push_back(d);
    return bins;
}

KeyRange within(KeyRange r, KeyRange legal) {
    const std::int64_t first = std::clamp(r.first, legal.first, legal.last);
    return {first, std::clamp(r.last, first, legal.last)};
}

/// Sums over rows of one head.
struct ReachSums {
    std::vector<double> by_distance, by_depth, by_section;
    std::vector<std::int64_t> behind;  ///< [section] queries behind it
    double own_section = 0, previous_section = 0, earlier_sections = 0;
    std::int64_t counted = 0, deep = 0;  ///< rows
    double passage = 0, passage_uniform = 0;
    std::int64_t readers = 0, largest = 0;
    std::vector<bool> copied;  ///< [token of the passage]

    explicit ReachSums(const Reach& of)
        : by_distance(of.distances.size()),
          by_depth(Reach::depths),
          by_section(of.sections.size()),
          behind(of.sections.size()),
          copied(of.passage ? static_cast<std::size_t>(of.passage->count()) : 0) {}

    void add(const ReachSums& o) {
        const auto all = [](auto& to, const auto& from) { std::ranges::transform(to, from, to.begin(), std::plus<>()); };
        all(by_distance, o.by_distance), all(by_depth, o.by_depth), all(by_section, o.by_section), all(behind, o.behind);
        own_section += o.own_section, previous_section += o.previous_section, earlier_sections += o.earlier_sections;
        counted += o.counted, deep += o.deep;
        passage += o.passage, passage_uniform += o.passage_uniform;
        readers += o.readers, largest += o.largest;
        for (std::size_t i = 0; i < copied.size(); ++i) copied[i] = copied[i] || o.copied[i];
    }
};

double mean_of(double sum, std::int64_t n) { return n > 0 ? sum / static_cast<double>(n) : kNaN; }

class ReachReader {
public:
    ReachReader(const trace::Trace& trace, Reach& out) : trace_(trace), out_(out) {
        for (std::int64_t i = 0; i < trace.tokens(); ++i) section_.push_back(section_of(out.sections, Position(i)));
    }

    void read(Layer layer, const CancelToken& cancel) {
        std::mutex mutex;
        std::map<std::pair<std::int64_t, std::int64_t>, ReachSums> blocks;  // in order, so that sums do not depend on threads
        trace::for_pattern_rows(trace_, layer, 0, out_.n_heads, 1,
                                [&](std::int64_t head, std::int64_t first, const at::Tensor& of_head) {
                                    cancel.throw_if_cancelled();
                                    const at::Tensor rows = plain(of_head.select(0, 0));
                                    ReachSums sums(out_);
                                    for (std::int64_t r = 0; r < rows.size(0); ++r)
                                        add_row(sums, first + r, legal_keys_of(trace_, layer, Position(first + r)),
                                                rows.data_ptr<float>() + r * rows.size(1));
                                    const std::lock_guard lock(mutex);
                                    blocks.emplace(std::pair(head, first), std::move(sums));
                                });
        std::vector<ReachSums> heads(static_cast<std::size_t>(out_.n_heads), ReachSums(out_));
        for (const auto& [place, sums] : blocks) heads[static_cast<std::size_t>(place.first)].add(sums);
        for (std::int64_t h = 0; h < out_.n_heads; ++h)
            finish(heads[static_cast<std::size_t>(h)], out_.heads[static_cast<std::size_t>(layer.value * out_.n_heads + h)]);
    }

private:
    void add_row(ReachSums& to, std::int64_t query, KeyRange legal, const float* weights) const {
        const bool causal = trace_.config().causal;
        const double total = weight_on(weights, legal);
        if (!(total > 0) || (causal && query == 0)) return;
        const auto share = [&](KeyRange r) { return weight_on(weights, within(r, legal)) / total; };
        ++to.counted;
        for (std::size_t b = 0; b < out_.distances.size(); ++b) {
            const std::int64_t near = out_.distances[b],
                               far = b + 1 < out_.distances.size() ? out_.distances[b + 1] : trace_.keys();
            to.by_distance[b] += share({query - far + 1, query - near + 1});
            if (near > 0 && !causal) to.by_distance[b] += share({query + near, query + far});
        }
        if (legal.count() >= Reach::deep_enough) {
            ++to.deep;
            for (std::int64_t b = 0; b < Reach::depths; ++b)
                to.by_depth[static_cast<std::size_t>(b)] += share(
                    {legal.first + b * legal.count() / Reach::depths, legal.first + (b + 1) * legal.count() / Reach::depths});
        }
        const auto own = static_cast<std::size_t>(section_[static_cast<std::size_t>(query)]);
        for (std::size_t s = 0; s <= own; ++s) {
            const TextSection& section = out_.sections[s];
            const double mass = share({section.first.value, section.first.value + section.count});
            (s == own ? to.own_section : s + 1 == own ? to.previous_section : to.earlier_sections) += mass;
            if (s == own) break;
            to.by_section[s] += mass;
            ++to.behind[s];
        }
        if (out_.passage) add_reader(to, query, legal, weights, share);
    }

    void add_reader(ReachSums& to, std::int64_t query, KeyRange legal, const float* weights, const auto& share) const {
        const std::int64_t first = out_.passage->first.value, last = out_.passage->last.value;
        if (query <= last && (trace_.config().causal || query >= first)) return;
        ++to.readers;
        to.passage += share({first, last + 1});
        to.passage_uniform += static_cast<double>(within({first, last + 1}, legal).count()) / static_cast<double>(legal.count());
        const std::int64_t largest = largest_key(weights, legal);
        if (largest < first || largest > last) return;
        ++to.largest;
        const std::vector<std::int64_t>& ids = trace_.encoding().ids;
        const auto next = static_cast<std::size_t>(query) + 1;
        if (next < ids.size() && ids[next] == ids[static_cast<std::size_t>(largest)])
            to.copied[static_cast<std::size_t>(largest - first)] = true;
    }

    void finish(const ReachSums& sums, HeadReach& head) const {
        for (const double sum : sums.by_distance) head.by_distance.push_back(mean_of(sum, sums.counted));
        for (const double sum : sums.by_depth) head.by_depth.push_back(mean_of(sum, sums.deep));
        for (std::size_t s = 0; s < sums.behind.size(); ++s)
            head.by_section.push_back(mean_of(sums.by_section[s], sums.behind[s]));
        head.own_section = mean_of(sums.own_section, sums.counted);
        head.previous_section = mean_of(sums.previous_section, sums.counted);
        head.earlier_sections = mean_of(sums.earlier_sections, sums.counted);
        for (std::size_t b = Reach::depths / 4; b < Reach::depths * 3 / 4; ++b) head.middle += head.by_depth[b];
        head.passage = mean_of(sums.passage, sums.readers);
        head.passage_uniform = mean_of(sums.passage_uniform, sums.readers);
        head.passage_largest = mean_of(static_cast<double>(sums.largest), sums.readers);
        head.retrieval = sums.readers > 0
                             ? mean_of(static_cast<double>(std::ranges::count(sums.copied, true)), std::ssize(sums.copied))
                             : kNaN;
    }

    const trace::Trace& trace_;
    Reach& out_;
    std::vector<std::int64_t> section_;  ///< [position]
};

/// Positions of the text whose bytes hold `typed`; none where it does not stand in sentence A (or the decoder's own text).
std::optional<Passage> tokens_of_text(const trace::Trace& trace, const std::string& typed) {
    const text::Encoding& encoding = trace.encoding();
    const bool target = trace.config().stack == model::Stack::decoder;
    const std::size_t found = (target ? trace.text_b() : trace.text_a()).find(typed);
    if (typed.empty() || found == std::string::npos) return std::nullopt;
    const auto begin = static_cast<std::int64_t>(found), end = begin + static_cast<std::int64_t>(typed.size());
    std::optional<Passage> passage;
    for (std::int64_t i = 0; i < encoding.size(); ++i) {
        const text::ByteRange& at = encoding.offsets[static_cast<std::size_t>(i)];
        if (encoding.special[static_cast<std::size_t>(i)] || encoding.sequence[static_cast<std::size_t>(i)] != 0) continue;
        if (at.end <= begin || at.begin >= end) continue;
        if (!passage) passage = Passage{Position(i), Position(i)};
        passage->last = Position(i);
    }
    return passage;
}

}  // namespace

std::shared_ptr<const Reach> reach(const trace::Trace& trace, const std::optional<Passage>& passage, const CancelToken& cancel,
                                   const Progress& progress) {
    require_own_text(trace, "Where attention goes in a text");
    if (passage) {
        check_position(trace, passage->first, "passage");
        check_position(trace, passage->last, "passage");
        if (passage->last < passage->first)
            throw Error(ErrorFacts{.problem = "The passage ends before it begins",
                                   .expected = "FIRST-LAST",
                                   .found = std::to_string(passage->first.value) + "-" + std::to_string(passage->last.value)});
    }
    return trace.results().get(
        ReachKey{passage},
        [&] {
            const model::ModelConfig& c = trace.config();
            Reach out;
            out.n_layers = c.n_layers, out.n_heads = c.n_heads;
            out.distances = distance_bins(trace.tokens());
            out.sections = text_sections(trace);
            out.passage = passage;
            out.heads.resize(static_cast<std::size_t>(c.n_layers * c.n_heads));
            ReachReader reader(trace, out);
            for (std::int64_t l = 0; l < c.n_layers; ++l) {
                if (progress) progress({"Reach", "layer", l, c.n_layers});
                reader.read(Layer(l), cancel);
            }
            return out;
        },
        [](const Reach& r) {
            const std::int64_t numbers = std::ssize(r.distances) + std::ssize(r.sections) + Reach::depths + 8;
            return 8 * std::ssize(r.heads) * numbers + 64 * std::ssize(r.sections);
        });
}

Passage passage_called(const trace::Trace& trace, const std::string& typed) {
    const char *begin = typed.data(), *end = begin + typed.size();
    std::int64_t first = 0, last = 0;
    auto read = std::from_chars(begin, end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec == std::errc() && read.ptr == end) return {Position(first), Position(last)};
    if (const auto passage = tokens_of_text(trace, typed)) return *passage;
    throw Error(ErrorFacts{.problem = "The passage is not in the text",
                           .item = typed.substr(0, 80),
                           .expected = "positions such as 120-140, or words as they stand in the text"});
}

Table table_of(const Reach& r) {
    using Row = HeadReach;
    Columns<Row> columns{
        {"layer", [&](const Row&, std::int64_t n) { return n / r.n_heads; }},
        {"head", [&](const Row&, std::int64_t n) { return n % r.n_heads; }},
        {"own_section", &Row::own_section,
         "Mean over the queries, but the first of a causal model, of the share of a row's weight on the query's own paragraph."},
        {"previous_section", &Row::previous_section, "The same on the paragraph before it."},
        {"earlier_sections", &Row::earlier_sections, "The same on all before that."},
        {"middle", &Row::middle,
         "Mean over queries with 100 keys or more of the share from a quarter to three quarters of the keys; uniform: 0.5."},
        {"passage", &Row::passage,
         "Mean over the queries after the passage (of a bidirectional model, outside it) of the share on it."},
        {"passage_uniform", &Row::passage_uniform, "The same of uniform attention."},
        {"passage_largest", &Row::passage_largest, "Share of these queries whose largest weight is on the passage."},
        {"retrieval", &Row::retrieval,
         "Share of the passage's tokens that some query has its largest weight on whose next token is that token (after Wu et "
         "al. 2024)."}};
    for (std::size_t d = 0; d < r.distances.size(); ++d)
        columns.add({"distance_" + std::to_string(r.distances[d]), [d](const Row& head) { return head.by_distance[d]; },
                     "Mean share on keys at this distance, before or after the query, up to the next column's."});
    for (std::size_t d = 0; d < Reach::depths; ++d)
        columns.add({"depth_" + std::to_string(100 * d / Reach::depths), [d](const Row& head) { return head.by_depth[d]; },
                     "Mean share on keys from this percentage of the row's keys on."});
    Table table = columns.table(r.heads);
    NamedArray by_section{"by_section", {r.n_layers, r.n_heads, std::ssize(r.sections)}, {}};
    for (const Row& head : r.heads)
        by_section.values.insert(by_section.values.end(), head.by_section.begin(), head.by_section.end());
    std::vector<std::int64_t> first;
    for (const TextSection& section : r.sections) first.push_back(section.first.value);
    table.arrays = {std::move(by_section), integer_array("section_first", std::move(first))};
    return table;
}

std::vector<MovedToken> moved_tokens(const trace::Trace& trace, HeadId id, Passage queries, std::int64_t top,
                                     const CancelToken& cancel) {
    require_own_text(trace, "What a head moves");
    check_head(trace, id);
    const bool lengths = trace.model() && model::has_weights(*trace.model()) && trace.has({model::Hook::v, id.layer});
    const at::Tensor norms = lengths ? output_norms(trace, id) : at::Tensor();
    const float* norm = lengths ? norms.data_ptr<float>() : nullptr;
    std::vector<MovedToken> best;
    double MovedToken::*rank = lengths ? &MovedToken::length : &MovedToken::weight;
    const auto more = [&](const MovedToken& a, const MovedToken& b) { return a.*rank > b.*rank; };
    double least = 0;
    for_each_pattern_row(
        trace, id, queries.first.value, queries.count(),
        [&](std::int64_t query, const float* weights) {
            const KeyRange legal = legal_keys_of(trace, id.layer, Position(query));
            for (std::int64_t j = std::max<std::int64_t>(1, legal.first); j < legal.last; ++j) {
                const double weight = static_cast<double>(weights[j]),
                             length = norm ? weight * static_cast<double>(norm[j]) : kNaN;
                if (j == query || !((norm ? length : weight) > least)) continue;
                best.push_back({Position(query), Position(j), weight, length});
                if (std::ssize(best) < 4 * top) continue;
                std::ranges::nth_element(best, best.begin() + top, more);
                best.resize(static_cast<std::size_t>(top));
                least = (*std::ranges::min_element(best, {}, rank)).*rank;
            }
        },
        cancel);
    std::ranges::stable_sort(best, more);
    if (std::ssize(best) > top) best.resize(static_cast<std::size_t>(top));
    return best;
}

Table table_of(const trace::Trace& trace, HeadId id, const std::vector<MovedToken>& moved) {
    Table table{{"layer", "head", "query", "query_token", "key", "key_token", "weight", "length"}, {}};
    table.definitions = {{"length", "|a_ij v_j W_O| of the head: what it carries from the key to the query."}};
    for (const MovedToken& m : moved)
        table.add({id.layer.value, id.head.value, m.query.value, token_name(trace.labels(), m.query.value), m.key.value,
                   token_name(trace.labels(), m.key.value), m.weight, m.length});
    return table;
}

}  // namespace headlight::analyze
