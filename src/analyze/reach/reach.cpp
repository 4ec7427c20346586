// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/reach/reach.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/key_sums.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/model/outline.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headlight::analyze {
namespace {

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

/// What each row of a head gives, in its own place, so that sums do not depend on threads.
struct ReachRow {
    bool counts = false;
    std::vector<double> by_distance, by_depth;  ///< by_depth is empty where the query has too few keys
    std::vector<double> by_section;             ///< up to the query's own
    double passage = 0;
    std::int64_t largest = 0;  ///< key
};

void add_to(std::vector<double>& sums, const std::vector<double>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) sums[i] += row[i];
}
void divide(double& sum, std::int64_t n) { sum = n > 0 ? sum / static_cast<double>(n) : kNaN; }

class ReachReader {
public:
    ReachReader(const trace::Trace& trace, Reach& out) : trace_(trace), out_(out) {
        for (std::int64_t i = 0; i < trace.tokens(); ++i) section_.push_back(section_of(out.sections, Position(i)));
    }

    void read(HeadId id, const CancelToken& cancel) {
        std::vector<ReachRow> rows(static_cast<std::size_t>(trace_.tokens()));
        for_each_summed_row(
            trace_, id.layer, id.head.value, 1,
            [&](std::int64_t query, KeyRange legal, const std::vector<const float*>& weights, std::span<const KeySums> sums) {
                rows[static_cast<std::size_t>(query)] = row_of(query, legal, weights.front(), sums.front());
            },
            cancel);
        HeadReach& head = out_.heads[static_cast<std::size_t>(id.layer.value * out_.n_heads + id.head.value)];
        head.by_distance.assign(out_.distances.size(), 0);
        head.by_depth.assign(Reach::depths, 0);
        head.by_section.assign(out_.sections.size(), 0);
        std::vector<std::int64_t> behind(out_.sections.size());
        std::int64_t counted = 0, deep = 0;
        for (std::size_t i = trace_.config().causal ? 1 : 0; i < rows.size(); ++i) {
            const ReachRow& row = rows[i];
            if (!row.counts) continue;
            ++counted;
            add_to(head.by_distance, row.by_distance);
            deep += !row.by_depth.empty();
            add_to(head.by_depth, row.by_depth);
            const std::size_t own = row.by_section.size() - 1;
            head.own_section += row.by_section[own];
            if (own > 0) head.previous_section += row.by_section[own - 1];
            for (std::size_t s = 0; s < own; ++s) {
                if (s + 1 < own) head.earlier_sections += row.by_section[s];
                head.by_section[s] += row.by_section[s];
                ++behind[s];
            }
        }
        for (double& sum : head.by_distance) divide(sum, counted);
        for (double& sum : head.by_depth) divide(sum, deep);
        for (std::size_t s = 0; s < behind.size(); ++s) divide(head.by_section[s], behind[s]);
        for (double* sum : {&head.own_section, &head.previous_section, &head.earlier_sections}) divide(*sum, counted);
        for (std::size_t b = Reach::depths / 4; b < Reach::depths * 3 / 4; ++b) head.middle += head.by_depth[b];
        read_passage(id, head, rows);
    }

private:
    ReachRow row_of(std::int64_t query, KeyRange legal, const float* weights, const KeySums& sums) const {
        ReachRow row;
        row.counts = sums.total() > 0;
        if (!row.counts) return row;
        const auto share = [&](KeyRange r) { return sums(within(r, legal)) / sums.total(); };
        row.largest = std::max_element(weights + legal.first, weights + legal.last) - weights;
        for (std::size_t b = 0; b < out_.distances.size(); ++b) {
            const std::int64_t near = out_.distances[b],
                               far = b + 1 < out_.distances.size() ? out_.distances[b + 1] : trace_.keys();
            row.by_distance.push_back(share({query - far + 1, query - near + 1}) +
                                      (near > 0 ? share({query + near, query + far}) : 0));
        }
        if (legal.count() >= Reach::deep_enough)
            for (std::int64_t b = 0; b < Reach::depths; ++b)
                row.by_depth.push_back(share(
                    {legal.first + b * legal.count() / Reach::depths, legal.first + (b + 1) * legal.count() / Reach::depths}));
        for (std::int64_t s = 0; s <= section_[static_cast<std::size_t>(query)]; ++s) {
            const TextSection& section = out_.sections[static_cast<std::size_t>(s)];
            row.by_section.push_back(share({section.first.value, section.first.value + section.count}));
        }
        if (out_.passage) row.passage = share({out_.passage->first.value, out_.passage->last.value + 1});
        return row;
    }

    void read_passage(HeadId id, HeadReach& head, const std::vector<ReachRow>& rows) const {
        head.passage = head.passage_uniform = head.passage_largest = head.retrieval = kNaN;
        if (!out_.passage) return;
        const std::int64_t first = out_.passage->first.value, last = out_.passage->last.value;
        const std::vector<std::int64_t>& ids = trace_.encoding().ids;
        double mass = 0, uniform = 0, largest = 0;
        std::int64_t readers = 0;
        std::vector<bool> copied(static_cast<std::size_t>(out_.passage->count()));
        for (std::int64_t i = trace_.config().causal ? last + 1 : 0; i < trace_.tokens(); ++i) {
            const ReachRow& row = rows[static_cast<std::size_t>(i)];
            if ((i >= first && i <= last) || !row.counts) continue;
            ++readers;
            mass += row.passage;
            const KeyRange legal = legal_keys_of(trace_, id.layer, Position(i));
            uniform += static_cast<double>(within({first, last + 1}, legal).count()) / static_cast<double>(legal.count());
            if (row.largest < first || row.largest > last) continue;
            largest += 1;
            const auto next = static_cast<std::size_t>(i) + 1;
            if (next < ids.size() && ids[next] == ids[static_cast<std::size_t>(row.largest)])
                copied[static_cast<std::size_t>(row.largest - first)] = true;
        }
        if (readers == 0) return;
        head.passage = mass, head.passage_uniform = uniform, head.passage_largest = largest;
        for (double* sum : {&head.passage, &head.passage_uniform, &head.passage_largest}) divide(*sum, readers);
        head.retrieval = static_cast<double>(std::ranges::count(copied, true)) / static_cast<double>(copied.size());
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
                for (std::int64_t h = 0; h < c.n_heads; ++h) reader.read({Layer(l), Head(h)}, cancel);
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
    Table table{{"layer", "head", "own_section", "previous_section", "earlier_sections", "middle", "passage", "passage_uniform",
                 "passage_largest", "retrieval"},
                {}};
    table.definitions = {
        {"own_section",
         "Mean over the queries, but the first of a causal model, of the share of a row's weight on the query's own paragraph."},
        {"previous_section", "The same on the paragraph before it."},
        {"earlier_sections", "The same on all before that."},
        {"middle",
         "Mean over queries with 100 keys or more of the share from a quarter to three quarters of the keys; uniform: 0.5."},
        {"passage", "Mean over the queries behind the passage (of a bidirectional model, outside it) of the share on it."},
        {"passage_uniform", "The same of uniform attention."},
        {"passage_largest", "Share of these queries whose largest weight is on the passage."},
        {"retrieval",
         "Share of the passage's tokens that some query has its largest weight on whose next token is that token (after Wu et al. "
         "2024)."}};
    for (const std::int64_t d : r.distances) {
        table.columns.push_back("distance_" + std::to_string(d));
        table.definitions.emplace_back(
            table.columns.back(), "Mean share on keys at this distance, before or behind the query, up to the next column's.");
    }
    for (std::int64_t d = 0; d < Reach::depths; ++d) {
        table.columns.push_back("depth_" + std::to_string(100 * d / Reach::depths));
        table.definitions.emplace_back(table.columns.back(), "Mean share on keys from this percentage of the row's keys on.");
    }
    NamedArray by_section{"by_section", {r.n_layers, r.n_heads, std::ssize(r.sections)}, {}};
    for (std::size_t i = 0; i < r.heads.size(); ++i) {
        const HeadReach& head = r.heads[i];
        const auto n = static_cast<std::int64_t>(i);
        std::vector<Table::Cell> row{n / r.n_heads,         n % r.n_heads, head.own_section, head.previous_section,
                                     head.earlier_sections, head.middle,   head.passage,     head.passage_uniform,
                                     head.passage_largest,  head.retrieval};
        row.insert(row.end(), head.by_distance.begin(), head.by_distance.end());
        row.insert(row.end(), head.by_depth.begin(), head.by_depth.end());
        table.add(std::move(row));
        for (const double share : head.by_section) by_section.values.push_back(static_cast<float>(share));
    }
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
