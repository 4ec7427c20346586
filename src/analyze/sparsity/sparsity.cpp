// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/sparsity/sparsity.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/sparsity/sparse_row.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <mutex>

namespace headlight::analyze {
namespace {

struct SparsityKey {
    SparsityOptions options;
    bool rows;
    bool operator==(const SparsityKey&) const = default;
};

void require_at_least(const char* option, std::int64_t value, std::int64_t least) {
    if (value >= least) return;
    throw Error(ErrorFacts{.problem = "Invalid parameter of the sparse scheme",
                           .item = option,
                           .expected = "at least " + std::to_string(least),
                           .found = std::to_string(value)});
}

/// Powers of two from `least`, the last of them `all` or the first beyond.
std::vector<std::int64_t> doublings(std::int64_t least, std::int64_t all) {
    std::vector<std::int64_t> out{least};
    while (out.back() < all) out.push_back(2 * out.back());
    return out;
}

std::vector<std::int64_t> budgets_of(const SparsityOptions& o, std::int64_t tokens) {
    if (o.scheme == SparseScheme::nsa) return doublings(4, (tokens + o.select - 1) / o.select);
    return doublings(16, o.scheme == SparseScheme::longformer ? 2 * tokens : tokens);  // of which half is on either side
}

double mass(const KeySums& sums, const RowChoice& choice) {
    double kept = sums(choice.window);
    for (const KeyRange& r : choice.dilated) kept += sums(r);
    for (const KeyRange& r : choice.selected) kept += sums(before(r, choice.window)) + sums(behind(r, choice.window));
    return kept;
}

/// What the row keeps with each budget in the place of the option's own.
void add_budgets(const SparsityOptions& o, const std::vector<std::int64_t>& budgets, std::int64_t query, KeyRange legal,
                 const float* weights, const KeySums& sums, std::span<const KeySums> group, std::span<double> into) {
    const double total = sums.total();
    if (o.scheme == SparseScheme::topk) {
        std::vector<float> left(weights + legal.first, weights + legal.last);
        double kept = total;
        for (std::size_t b = budgets.size(); b-- > 0;) {  // the largest of the largest: each budget reads what the one above left
            if (budgets[b] < std::ssize(left)) {
                std::ranges::nth_element(left, left.begin() + budgets[b], std::greater<>());
                left.resize(static_cast<std::size_t>(budgets[b]));
                kept = 0;
                for (const float w : left) kept += static_cast<double>(w);
            }
            into[b] = kept / total;
        }
        return;
    }
    if (o.scheme != SparseScheme::nsa) {
        SparsityOptions with = o;
        for (std::size_t b = 0; b < budgets.size(); ++b) {
            with.window = budgets[b];
            into[b] = mass(sums, choose_keys(with, query, legal, weights, group)) / total;
        }
        return;
    }
    const KeyRange window = window_keys(o.window, query, legal);
    const RankedBlocks blocks = rank_blocks(o, query, legal, group);
    double kept = sums(window);
    for (const std::int64_t b : blocks.forced) kept += sums(before(keys_of_block(o, b, legal), window));
    auto next = blocks.others.begin();
    for (std::size_t b = 0; b < budgets.size(); ++b) {
        for (std::int64_t n = std::ssize(blocks.forced) + (next - blocks.others.begin());
             n < budgets[b] && next != blocks.others.end(); ++n, ++next)
            kept += sums(before(keys_of_block(o, *next, legal), window));
        into[b] = kept / total;
    }
}

std::int64_t keys_in(const RowChoice& choice) {
    std::int64_t n = choice.window.last - choice.window.first;
    for (const KeyRange& r : choice.selected) n += r.last - r.first;
    return n;
}
/// Without those that are in the window too: no scheme but NSA has branches that read a key twice.
std::int64_t different_keys(const RowChoice& choice) {
    std::int64_t n = choice.window.count();
    for (const KeyRange& r : choice.dilated) n += r.count();
    for (const KeyRange& r : choice.selected) n += before(r, choice.window).count() + behind(r, choice.window).count();
    return n;
}
std::int64_t pairs_of(const SparsityOptions& o, const RowChoice& choice) {
    return o.scheme == SparseScheme::nsa ? choice.compressed_blocks + keys_in(choice) : different_keys(choice);
}

void add_costs(const SparsityOptions& o, const RowChoice& last, std::int64_t dense, HeadSparsity& head) {
    const auto share = [&](double keys) { return keys / static_cast<double>(dense); };
    const auto read = static_cast<double>(pairs_of(o, last));
    const auto all = static_cast<double>(dense);
    switch (o.scheme) {
        case SparseScheme::nsa:
            head.kv_share = share(all + static_cast<double>(last.compressed_blocks));
            head.kv_read_share = share(read);
            break;
        case SparseScheme::topk:
            head.kv_share = 1;
            head.kv_read_share = share((all + read) / 2);
            break;
        case SparseScheme::longformer:
            head.kv_share = 1;  // a later token may be global
            head.kv_read_share = share(read);
            break;
        default: head.kv_share = head.kv_read_share = share(read);
    }
}

/// What the rows of one head keep, each in its place, so that the sums do not depend on threads.
struct SparseRows {
    std::vector<KeptMass> kept;     ///< [query]
    std::vector<double> by_budget;  ///< [query, budget]
    std::vector<std::int64_t> pairs;
    RowChoice last{};

    SparseRows(std::size_t queries, std::size_t budgets) : kept(queries), by_budget(queries * budgets), pairs(queries) {}
};

KeptMass mass_of(const KeySums& sums, const RowChoice& choice) {
    const double total = sums.total();
    KeptMass out;
    if (!(total > 0)) return {kNaN, kNaN, kNaN, kNaN};
    out.kept = mass(sums, choice) / total;
    out.compressed = sums(choice.compressed) / total;
    for (const KeyRange& r : choice.selected) out.selected += sums(r) / total;
    out.window = sums(choice.window) / total;
    for (const KeyRange& r : choice.dilated) out.window += sums(r) / total;
    return out;
}

double tenth_percentile(std::vector<double> values) {
    if (values.empty()) return kNaN;
    std::ranges::sort(values);
    const double at = 0.1 * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(at), high = std::min(low + 1, values.size() - 1);
    return std::lerp(values[low], values[high], at - static_cast<double>(low));
}

HeadSparsity finished(const SparseRows& rows, const Sparsity& of, std::int64_t dense_pairs, std::int64_t dense_keys,
                      bool with_rows, std::size_t first) {
    HeadSparsity head;
    head.by_budget.assign(of.budgets.size(), 0);
    head.by_length.assign(of.lengths.size(), 0);
    std::vector<std::int64_t> in_length(of.lengths.size());
    std::vector<double> counted;
    for (std::size_t query = first; query < rows.kept.size(); ++query) {
        const KeptMass& kept = rows.kept[query];
        if (std::isnan(kept.kept)) continue;
        counted.push_back(kept.kept);
        head.mean.kept += kept.kept, head.mean.compressed += kept.compressed;
        head.mean.selected += kept.selected, head.mean.window += kept.window;
        for (std::size_t b = 0; b < of.budgets.size(); ++b) head.by_budget[b] += rows.by_budget[query * of.budgets.size() + b];
        const auto length =
            static_cast<std::size_t>(std::ranges::upper_bound(of.lengths, static_cast<std::int64_t>(query)) - of.lengths.begin());
        head.by_length[length] += kept.kept;
        ++in_length[length];
    }
    const auto divide = [](double& sum, std::size_t n) { sum = n > 0 ? sum / static_cast<double>(n) : kNaN; };
    for (double* sum : {&head.mean.kept, &head.mean.compressed, &head.mean.selected, &head.mean.window})
        divide(*sum, counted.size());
    for (double& sum : head.by_budget) divide(sum, counted.size());
    for (std::size_t i = 0; i < in_length.size(); ++i) divide(head.by_length[i], static_cast<std::size_t>(in_length[i]));
    head.p10 = tenth_percentile(std::move(counted));
    std::int64_t pairs = 0;
    for (const std::int64_t each : rows.pairs) pairs += each;
    head.pairs_share = static_cast<double>(pairs) / static_cast<double>(dense_pairs);
    add_costs(of.options, rows.last, dense_keys, head);
    if (with_rows)
        for (const KeptMass& kept : rows.kept) head.rows.push_back(static_cast<float>(kept.kept));
    return head;
}

/// The heads of one key/value group.
void measure_group(const trace::Trace& trace, Layer layer, std::int64_t first_head, std::int64_t heads, bool with_rows,
                   const CancelToken& cancel, Sparsity& out) {
    const SparsityOptions o = options_in(out.options, trace.config(), layer);
    const std::int64_t tokens = trace.tokens(), first = trace.config().causal ? 1 : 0;
    const std::size_t budgets = out.budgets.size();
    std::vector<SparseRows> all(static_cast<std::size_t>(heads), SparseRows(static_cast<std::size_t>(tokens), budgets));
    const auto measure = [&](std::int64_t query, KeyRange legal, const std::vector<const float*>& weights,
                             std::span<const KeySums> sums) {
        for (std::size_t h = 0; h < all.size(); ++h) {
            const auto row = static_cast<std::size_t>(query);
            const auto sharing = o.scheme == SparseScheme::nsa ? sums : sums.subspan(h, 1);
            RowChoice choice = choose_keys(o, query, legal, weights[h], sharing);
            all[h].kept[row] = mass_of(sums[h], choice);
            all[h].pairs[row] = pairs_of(o, choice);
            if (query >= first && sums[h].total() > 0)
                add_budgets(o, out.budgets, query, legal, weights[h], sums[h], sharing,
                            std::span(all[h].by_budget).subspan(row * budgets, budgets));
            if (query == tokens - 1) all[h].last = std::move(choice);
        }
    };
    for_each_summed_row(trace, layer, first_head, heads, measure, cancel);
    std::int64_t dense = 0;
    KeyRange legal{};
    for (std::int64_t query = 0; query < tokens; ++query) {
        legal = legal_keys_of(trace, layer, Position(query));
        dense += legal.last - legal.first;
    }
    for (std::size_t h = 0; h < all.size(); ++h)
        out.heads[static_cast<std::size_t>(layer.value * out.n_heads + first_head) + h] =
            finished(all[h], out, dense, legal.last - legal.first, with_rows, static_cast<std::size_t>(first));
}

}  // namespace

void check(const SparsityOptions& o) {
    require_at_least("block", o.block, 1);
    require_at_least("stride", o.stride, 1);
    require_at_least("select", o.select, 1);
    require_at_least("window", o.window, 1);
    require_at_least("sinks", o.sinks, 1);
    require_at_least("budget", o.budget, 1);
    require_at_least("dilation", o.dilation, 1);
    for (const std::int64_t window : o.layer_windows) require_at_least("layer-windows", window, 1);
    require_at_least("top", o.top, 3);
    if (o.stride > o.block)
        throw Error(ErrorFacts{.problem = "Invalid parameter of the sparse scheme",
                               .item = "stride",
                               .expected = "at most block, " + std::to_string(o.block) + ": compressed blocks leave no key out",
                               .found = std::to_string(o.stride)});
}

SparsityOptions options_in(const SparsityOptions& o, const model::ModelConfig& c, Layer layer) {
    SparsityOptions of = o;
    if (o.scheme != SparseScheme::longformer) return of;
    const std::int64_t own = model::window_of(c, layer.value);
    if (!o.layer_windows.empty())
        of.window = o.layer_windows[static_cast<std::size_t>(layer.value)];
    else if (own > 0)
        of.window = std::max<std::int64_t>(1, 2 * (own - 1));
    of.layer_windows.clear();
    std::ranges::sort(of.global_tokens);
    of.global_tokens.erase(std::ranges::unique(of.global_tokens).begin(), of.global_tokens.end());
    return of;
}

std::string sparsity_missing(const trace::Trace& trace) {
    return trace.across_texts() ? "Sparse schemes do not apply to cross attention." : "";
}

namespace {

void require_scheme(const trace::Trace& trace, const SparsityOptions& o) {
    check(o);
    if (const std::string why = sparsity_missing(trace); !why.empty())
        throw Error(
            ErrorFacts{.problem = "The sparse schemes do not apply to this attention", .hint = why.substr(0, why.size() - 1)});
    const bool far = o.scheme == SparseScheme::longformer;
    if (!far && !trace.config().causal)
        throw Error(ErrorFacts{.problem = "This scheme needs causal attention, where each query reads only earlier tokens",
                               .item = "scheme",
                               .expected = "longformer, for a model that looks both ways",
                               .found = std::string(enum_word(o.scheme))});
    const auto wrong = [](const char* option, std::string expected, std::int64_t found) {
        throw Error(ErrorFacts{.problem = "Invalid parameter of the sparse scheme",
                               .item = option,
                               .expected = std::move(expected),
                               .found = std::to_string(found)});
    };
    for (const std::int64_t token : o.global_tokens)
        if (far && (token < 0 || token >= trace.tokens()))
            wrong("global-tokens", "positions from 0 to " + std::to_string(trace.tokens() - 1), token);
    if (const std::int64_t n = trace.config().n_layers; far && !o.layer_windows.empty() && std::ssize(o.layer_windows) != n)
        wrong("layer-windows", "a window for each of " + std::to_string(n) + " layers", std::ssize(o.layer_windows));
}

}  // namespace

std::shared_ptr<const Sparsity> sparsity(const trace::Trace& trace, const SparsityOptions& options, bool rows,
                                         const CancelToken& cancel, const Progress& progress) {
    require_scheme(trace, options);
    return trace.results().get(
        SparsityKey{options, rows},
        [&] {
            const model::ModelConfig& c = trace.config();
            Sparsity out{.options = options,
                         .n_layers = c.n_layers,
                         .n_heads = c.n_heads,
                         .queries = trace.tokens(),
                         .heads = std::vector<HeadSparsity>(static_cast<std::size_t>(c.n_layers * c.n_heads)),
                         .budgets = budgets_of(options, trace.tokens()),
                         .lengths = doublings(16, trace.tokens())};
            const std::int64_t group = c.n_heads / c.n_kv_heads;
            for (std::int64_t l = 0; l < c.n_layers; ++l) {
                if (progress) progress({"Sparse attention", "layer", l, c.n_layers});
                for (std::int64_t h = 0; h < c.n_heads; h += group) measure_group(trace, Layer(l), h, group, rows, cancel, out);
            }
            return out;
        },
        [](const Sparsity& s) {
            const std::int64_t numbers = std::ssize(s.budgets) + std::ssize(s.lengths) + 8;
            return std::ssize(s.heads) * (8 * numbers + 4 * std::ssize(s.heads.front().rows));
        });
}

SparseMap sparse_map(const trace::Trace& trace, HeadId id, const SparsityOptions& options, std::int64_t cells,
                     const CancelToken& cancel) {
    require_scheme(trace, options);
    check_head(trace, id);
    const SparsityOptions o = options_in(options, trace.config(), id.layer);
    const std::int64_t tokens = trace.tokens(), n = std::min(cells, tokens);
    SparseMap map;
    map.head = id, map.queries = tokens, map.cells = n;
    map.rows.resize(static_cast<std::size_t>(tokens));
    map.weight = Matrix::Constant(n, n, std::nanf(""));
    map.compressed = map.selected = map.window = Matrix::Zero(n, n);
    Matrix legal_pairs = Matrix::Zero(n, n);
    std::vector<std::int64_t> cell_of(static_cast<std::size_t>(tokens));
    for (std::int64_t c = 0; c < n; ++c) std::fill(cell_of.begin() + map.first(c), cell_of.begin() + map.first(c + 1), c);
    const auto add = [&](Matrix& to, std::int64_t row, KeyRange r) {
        while (r.first < r.last) {
            const std::int64_t c = cell_of[static_cast<std::size_t>(r.first)], end = std::min(r.last, map.first(c + 1));
            to(row, c) += static_cast<float>(end - r.first);
            r.first = end;
        }
    };
    const std::int64_t group = trace.config().n_heads / trace.config().n_kv_heads, first_head = id.head.value / group * group;
    const auto own = static_cast<std::size_t>(o.scheme == SparseScheme::nsa ? id.head.value - first_head : 0);
    std::mutex mutex;
    for_each_summed_row(
        trace, id.layer, o.scheme == SparseScheme::nsa ? first_head : id.head.value, o.scheme == SparseScheme::nsa ? group : 1,
        [&](std::int64_t query, KeyRange legal, const std::vector<const float*>& weights, std::span<const KeySums> sums) {
            const RowChoice choice = choose_keys(o, query, legal, weights[own], sums);
            map.rows[static_cast<std::size_t>(query)] = mass_of(sums[own], choice);
            const std::int64_t row = cell_of[static_cast<std::size_t>(query)];
            const std::lock_guard lock(mutex);
            for (std::int64_t j = legal.first; j < legal.last; ++j) {
                float& cell = map.weight(row, cell_of[static_cast<std::size_t>(j)]);
                if (!(cell >= weights[own][j])) cell = weights[own][j];
            }
            add(legal_pairs, row, legal);
            add(map.compressed, row, choice.compressed);
            add(map.window, row, choice.window);
            for (const KeyRange& r : choice.dilated) add(map.window, row, r);
            for (const KeyRange& r : choice.selected) add(map.selected, row, r);
        },
        cancel);
    for (Matrix* each : {&map.compressed, &map.selected, &map.window}) each->array() /= legal_pairs.array().max(1.F);
    return map;
}

Table table_of(const Sparsity& s) {
    Table table{{"layer", "head", "scheme", "kept_mass_mean", "kept_mass_p10", "pairs_share", "kv_share", "kv_read_share",
                 "compressed_mass_mean", "selected_mass_mean", "window_mass_mean"},
                {}};
    table.definitions = {
        {"kept_mass_mean",
         "Mean over the queries (of a causal model but the first) of the share of a row's weight on the keys that the scheme reads one by one."},
        {"kept_mass_p10", "10th percentile of that share over the same queries, between the nearest two."},
        {"pairs_share",
         "Pairs whose weight is computed over the dense head's; nsa: each branch by itself, a compressed block as one key; topk: "
         "without the scores that find the keys."},
        {"kv_share", "Keys and values in memory at the end of the text over the dense head's."},
        {"kv_read_share", "Keys and values that the last query reads over the dense head's; topk: all keys and `budget` values."},
        {"compressed_mass_mean", "Mean share of a row's weight on keys in complete compressed blocks."},
        {"selected_mass_mean",
         "The same on selected blocks, sinks or largest keys, which overlap with the window; longformer: on global tokens outside it."},
        {"window_mass_mean", "The same on the window."}};
    const bool nsa = s.options.scheme == SparseScheme::nsa, windowed = s.options.scheme != SparseScheme::topk;
    const bool chosen = s.options.scheme != SparseScheme::window;
    const auto heads = [&](const char* name, std::int64_t width, const auto& numbers_of) {
        NamedArray array{name, {s.n_layers, s.n_heads, width}, {}};
        for (const HeadSparsity& head : s.heads)
            for (const auto value : numbers_of(head)) array.values.push_back(static_cast<float>(value));
        table.arrays.push_back(std::move(array));
    };
    for (std::size_t i = 0; i < s.heads.size(); ++i) {
        const HeadSparsity& head = s.heads[i];
        const auto n = static_cast<std::int64_t>(i);
        const auto where = [](bool has, double value) { return has ? Table::Cell(value) : Table::Cell(); };
        table.add({n / s.n_heads, n % s.n_heads, std::string(enum_word(s.options.scheme)), head.mean.kept, head.p10,
                   head.pairs_share, head.kv_share, head.kv_read_share, where(nsa, head.mean.compressed),
                   where(chosen, head.mean.selected), where(windowed, head.mean.window)});
    }
    table.arrays.push_back(integer_array("budgets", s.budgets));
    heads("budget_kept", std::ssize(s.budgets), [](const HeadSparsity& h) { return h.by_budget; });
    table.arrays.push_back(integer_array("lengths", s.lengths));
    heads("length_kept", std::ssize(s.lengths), [](const HeadSparsity& h) { return h.by_length; });
    if (!s.heads.empty() && !s.heads.front().rows.empty()) heads("kept", s.queries, [](const HeadSparsity& h) { return h.rows; });
    return table;
}

}  // namespace headlight::analyze
