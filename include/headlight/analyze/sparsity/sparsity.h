// SPDX-License-Identifier: GPL-3.0-or-later
// How much of its attention a dense head keeps if it reads only the keys that a sparse scheme lets it read. The weights are the
// model's own; nothing is run again.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/fields.h"

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace headlight::model {
struct ModelConfig;
}

namespace headlight::analyze {

/// Which keys of its past a query i reads:
///   nsa     Native Sparse Attention (Yuan et al. 2025, arXiv:2502.11089, section 3.3): compressed blocks of `block` keys, one
///           every `stride`, those that are complete up to i; `top` selected blocks of `select` keys; the last `window` keys
///   window  the last `window` keys (Beltagy et al. 2020, Longformer)
///   sinks   the first `sinks` keys and the last `window` (Xiao et al. 2024, StreamingLLM)
///   topk    the `budget` keys with the largest weights of each head
///   longformer  (Beltagy et al. 2020, section 3.1) the keys of its window, |i - j| <= window / 2 * dilation, of which every
///           `dilation`-th; the global tokens; a global token reads every key. Of a causal head the keys up to the query. The
///           one scheme for heads that look both ways. A layer's window is that of `layer_windows`, else the model's own, else
///           `window`
/// NSA's selection scores a block by the attention that the heads of a key/value group give to its keys together, and all of
/// them read the same blocks: the first, the query's own, the one before it, and the best of the others.
enum class SparseScheme { nsa, window, sinks, topk, longformer };
inline constexpr EnumRow<SparseScheme> sparse_schemes[] = {
    {SparseScheme::nsa, "nsa", "Native Sparse Attention", "compressed blocks, selected blocks, window"},
    {SparseScheme::window, "window", "Sliding window", "the last keys"},
    {SparseScheme::sinks, "sinks", "Sinks and window", "the first keys and the last ones"},
    {SparseScheme::topk, "topk", "Largest keys", "each row's largest weights"},
    {SparseScheme::longformer, "longformer", "Longformer", "a window to both sides, dilated or not, and global tokens"}};
constexpr const auto& enum_rows(SparseScheme) { return sparse_schemes; }

struct SparsityOptions {
    SparseScheme scheme = SparseScheme::nsa;
    std::int64_t block = 32, stride = 16;  ///< of compressed blocks
    std::int64_t select = 64, top = 16;    ///< of selected blocks: keys in each, and how many
    std::int64_t window = 512;
    std::int64_t sinks = 4;
    std::int64_t budget = 64;                      ///< keys of topk
    std::int64_t dilation = 1;                     ///< longformer: from one key of the window to the next
    std::vector<std::int64_t> global_tokens = {};  ///< longformer: positions
    std::vector<std::int64_t> layer_windows = {};  ///< longformer: one for each layer; empty: see above
    bool operator==(const SparsityOptions&) const = default;
};
void describe(Describes<SparsityOptions> auto& o, const auto& field) {
    using enum SparseScheme;
    constexpr double kMost = 1 << 20;
    const bool blocks = o.scheme == nsa, first = o.scheme == sinks, far = o.scheme == longformer,
               last = blocks || first || far || o.scheme == window;
    field(Field{"scheme", "Scheme", "which keys a query reads"}, o.scheme);
    field(Field{"block", "Compressed block", "nsa: keys of a compressed block"}.within(1, kMost).when(blocks, "--scheme nsa"),
          o.block);
    field(Field{"stride", "Stride", "nsa: keys from one compressed block to the next"}.within(1, kMost).when(blocks,
                                                                                                             "--scheme nsa"),
          o.stride);
    field(Field{"select", "Selected block", "nsa: keys of a selected block"}.within(1, kMost).when(blocks, "--scheme nsa"),
          o.select);
    field(Field{"top", "Selected blocks", "nsa: selected blocks, the first and two local ones among them"}.within(3, kMost).when(
              blocks, "--scheme nsa"),
          o.top);
    field(Field{"window", "Window", "nsa, window, sinks: the last keys; longformer: those to both sides together"}
              .within(1, kMost)
              .when(last, "--scheme nsa, window, sinks and longformer"),
          o.window);
    field(Field{"sinks", "Sinks", "sinks: the first keys"}.within(1, kMost).when(first, "--scheme sinks"), o.sinks);
    field(Field{"budget", "Largest keys", "topk: keys with the largest weights of a row"}.within(1, kMost).when(o.scheme == topk,
                                                                                                                "--scheme topk"),
          o.budget);
    field(Field{"dilation", "Dilation", "longformer: from one key of the window to the next"}.within(1, kMost).when(
              far, "--scheme longformer"),
          o.dilation);
    field(Field{"global-tokens", "Global tokens", "longformer: positions that read every key and are read by every query"}
              .or_if_empty("none")
              .when(far, "--scheme longformer"),
          o.global_tokens);
    field(Field{"layer-windows", "Windows by layer", "longformer: a window for each layer"}
              .or_if_empty("the model’s own, or one for all")
              .when(far, "--scheme longformer"),
          o.layer_windows);
}
/// Error names the option that is out of range: all at least 1, `stride` at most `block`, `top` at least 3.
void check(const SparsityOptions&);
/// Of longformer: with the layer's window and an empty `layer_windows`, and each global token once, in order. Others: the same.
SparsityOptions options_in(const SparsityOptions&, const model::ModelConfig&, Layer);

/// What one query's row keeps: shares of the weight that it gives to keys.
struct KeptMass {
    double kept = 0;        ///< on keys that are read one by one: selected, sinks, window
    double compressed = 0;  ///< on keys in complete compressed blocks, of which only the blocks are seen
    double selected = 0;    ///< on selected blocks, sinks, largest keys; longformer: global tokens outside the window, and all
                            ///< that a global token reads
    double window = 0;
};

struct HeadSparsity {
    KeptMass mean;                  ///< over the queries, but of a causal model the first, which has one key; NaN: there are none
    double p10 = 0;                 ///< of `kept` over the same queries, between the nearest two
    std::vector<double> by_budget;  ///< [Sparsity::budgets] mean kept with this budget
    std::vector<double> by_length;  ///< [Sparsity::lengths] mean kept of the queries below this position and not below the last
    std::vector<float> rows;        ///< [query] kept; empty if not asked for
    /// Pairs of query and key whose weight is computed, NSA's three branches each by itself and a compressed block as one key,
    /// over the dense head's. Scores that topk takes to find its keys are not counted.
    double pairs_share = 0;
    /// Keys and values that are in memory at the end of the text, and those of them that the last query reads, over the dense
    /// head's. NSA keeps compressed ones beside all keys; topk reads all keys, to find those of which it reads the values.
    double kv_share = 0, kv_read_share = 0;
};

struct Sparsity {
    SparsityOptions options;
    std::int64_t n_layers = 0, n_heads = 0, queries = 0;
    std::vector<HeadSparsity> heads;    ///< [layer * n_heads + head]
    std::vector<std::int64_t> budgets;  ///< NSA: selected blocks; window, sinks: window; topk: keys. Powers of two, the last all
    std::vector<std::int64_t> lengths;  ///< of text, powers of two, the last all
    const HeadSparsity& of(HeadId id) const { return heads[static_cast<std::size_t>(id.layer.value * n_heads + id.head.value)]; }
};

/// Of every head. Reads patterns a few rows at a time. Errors: those of check(); a cross attention; a scheme other than
/// longformer in a model that is not causal; a global token beyond the text, windows for another number of layers. The results of
/// the last few options are kept with the trace. `rows`: HeadSparsity::rows too.
std::shared_ptr<const Sparsity> sparsity(const trace::Trace&, const SparsityOptions& = {}, bool rows = false,
                                         const CancelToken& = {}, const Progress& = {});
/// Why there is none; empty: there is.
std::string sparsity_missing(const trace::Trace&);

/// A row for each head: layer, head, scheme, kept_mass_mean, kept_mass_p10, pairs_share, kv_share and the parts. Arrays:
/// `budgets`, `budget_kept` [layer, head, budget]; `lengths`, `length_kept` [layer, head, length]; with rows `kept`
/// [layer, head, query].
Table table_of(const Sparsity&);

/// One head's map with the scheme over it, in at most `cells` x `cells` cells: cell (r, c) covers queries [r T / n, (r + 1) T /
/// n) and keys likewise.
struct SparseMap {
    HeadId head;
    std::int64_t queries = 0, cells = 0;
    Matrix weight;                        ///< the largest of the cell; NaN where it has no legal pair
    Matrix compressed, selected, window;  ///< share of the cell's legal pairs that each reads
    std::vector<KeptMass> rows;           ///< [query]; NaN where the row has no weight
    std::int64_t first(std::int64_t cell) const { return cell * queries / cells; }
};
SparseMap sparse_map(const trace::Trace&, HeadId, const SparsityOptions&, std::int64_t cells, const CancelToken& = {});

}  // namespace headlight::analyze
