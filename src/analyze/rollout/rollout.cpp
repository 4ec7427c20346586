// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/rollout/rollout.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/rollout/flow_decoder.h"
#include "analyze/rollout/joint_attention.h"
#include "analyze/rollout/max_flow.h"
#include "headlight/base/error.h"
#include "headlight/base/flush_denormals.h"
#include "headlight/base/numbers.h"
#include "headlight/base/working_for.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/trace/capture.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace headlight::analyze {
namespace {

using WideRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  ///< [row, key]

/// Rows of J that are made at once: what a product of long texts has beside its maps.
constexpr std::int64_t kRowsAtOnce = 2048;
/// Columns of a product of so many rows between two looks at whether it is still wanted.
constexpr std::int64_t kColumnsAtOnce = 1024;

at::Tensor view_of(const Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>& m) {
    return at::from_blob(const_cast<float*>(m.data()), {m.rows(), m.cols()}, {m.outerStride(), 1}, at::kFloat);
}

void check_memory(const trace::Trace& trace, std::int64_t maps, const char* hint) {
    check_map_memory(trace, trace.tokens(), maps, hint);
}

/// The largest number of tokens for which `work` is not too much.
template <class Work>
std::int64_t longest(std::int64_t tokens, const Work& work) {
    std::int64_t low = 1, high = tokens;
    while (low < high) {
        const std::int64_t middle = (low + high + 1) / 2;
        if (work(middle) <= most_flow_work)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void check_flow_work(std::int64_t layers, const RolloutOptions& options, std::int64_t tokens, bool causal) {
    const auto all = [&](std::int64_t n) { return flow_work(layers, !options.layer, n, causal); };
    const auto row = [&](std::int64_t n) { return flow_row_work(layers, !options.layer, n, causal); };
    if ((options.query ? row(tokens) : all(tokens)) <= most_flow_work) return;
    const std::string with = " tokens with " + with_commas(layers) + " layers";
    if (options.query)
        throw Error(ErrorFacts{.problem = "Attention flow of this text would take too long",
                               .expected = "at most " + with_commas(longest(tokens, row)) + with,
                               .found = with_commas(tokens) + " tokens",
                               .hint = "Take a shorter text, one layer, or rollout, which has no such limit"});
    throw Error(ErrorFacts{.problem = "Attention flow of this text would take too long: it is a maximum flow for every pair",
                           .expected = "at most " + with_commas(longest(tokens, all)) + with,
                           .found = with_commas(tokens) + " tokens",
                           .hint = "The flow from a token (flow-paths) takes up to " + with_commas(longest(1'000'000, row)) +
                                   " tokens; rollout has no such limit"});
}

void check_options(const trace::Trace& trace, const RolloutOptions& options) {
    require_whole_model(trace, "What reaches a token through the layers");
    check_head(trace, {options.layer.value_or(Layer(0)), options.head.value_or(Head(0))});
    if (options.query) check_position(trace, *options.query, "query");
    if (options.of_source)
        throw Error(ErrorFacts{.problem = "This model has no source that its tokens could be from", .item = trace.config().name});
    if (options.by_receptive_field && !trace.config().causal)
        throw Error(ErrorFacts{.problem = "This model looks both ways: every token has the same receptive field",
                               .item = "by_receptive_field",
                               .expected = "a causal model"});
}

/// Rows divided by their sums; a row of zeros stays.
void normalise_rows(Matrix& map) {
    for (Eigen::Index i = 0; i < map.rows(); ++i) {
        const double sum = map.row(i).cast<double>().sum();
        if (sum > 0) map.row(i) *= static_cast<float>(1 / sum);
    }
}

void divide_by(Matrix& map, const Matrix& even) {
    map = (even.array() > 0).select(map.array() / even.array(), 0.0F);
    normalise_rows(map);
}

/// Of J's rows from `first` on; the token itself is the residual.
void add_residual(Matrix& rows, std::int64_t first) {
    for (Eigen::Index i = 0; i < rows.rows(); ++i) rows(i, first + i) += 1;
    normalise_rows(rows);
}

/// Rows of J of a causal model whose heads attend evenly to all tokens up to the query.
Matrix even_rows(std::int64_t tokens, std::int64_t first, std::int64_t count) {
    Matrix even = Matrix::Zero(count, tokens);
    for (std::int64_t i = 0; i < count; ++i)
        even.row(i).head(first + i + 1).setConstant(1.0F / static_cast<float>(first + i + 1));
    add_residual(even, first);
    return even;
}

Matrix joint_rows(const trace::Trace& trace, Layer layer, std::int64_t first, std::int64_t count,
                  const CancelToken& cancel = {}) {
    const std::int64_t heads = trace.config().n_heads;
    Matrix rows = Matrix::Zero(count, trace.tokens());
    const at::Tensor sums = view_of(rows);
    for (std::int64_t row = first, some = 0; row < first + count; row += some) {
        some = std::min(row_block(trace), first + count - row);
        const std::int64_t read = trace.config().causal ? row + some : trace.tokens();
        at::Tensor sum = sums.narrow(0, row - first, some).narrow(1, 0, read);
        for (std::int64_t h = 0; h < heads; ++h) {
            cancel.throw_if_cancelled();
            sum.add_(trace::pattern_rows(trace, layer, Head(h), row, some).to(at::kFloat).narrow(1, 0, read));
        }
    }
    rows /= static_cast<float>(heads);
    add_residual(rows, first);
    return rows;
}

Matrix head_rows(const trace::Trace& trace, HeadId id, std::int64_t first, std::int64_t count) {
    Matrix rows(count, trace.tokens());
    for_each_pattern_row(trace, id, first, count, [&](std::int64_t row, const float* weights) {
        rows.row(row - first) = Eigen::Map<const Eigen::RowVectorXf>(weights, trace.tokens());
    });
    return rows;
}

/// Each thread multiplies its share of the rows, and takes numbers below the smallest normal one as 0: what a token gets from far
/// ones fades through them.
Matrix product(const Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>& a,
               const Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>& b, const CancelToken& cancel) {
    constexpr std::int64_t kFewestRows = 64;
    Matrix out(a.rows(), b.cols());
    const at::Tensor left = view_of(a), right = view_of(b), all = view_of(out);
    at::parallel_for(0, a.rows(), kFewestRows, [&](std::int64_t begin, std::int64_t end) {
        const at::NoGradGuard no_grad;
        const FlushDenormals flush;
        const WorkingFor here(cancel);
        all.narrow(0, begin, end - begin).copy_(model::matrix_product(left.narrow(0, begin, end - begin), right));
    });
    return out;
}

/// next := A below, with the rows of A that rows(first, count) gives. In a causal model row i reads no row behind it: from the
/// last rows on next may be below itself, columns are multiplied from the first row on that reads them, and next stays 0 behind
/// them.
template <class Rows>
void roll(const Matrix& below, Matrix& next, bool causal, const CancelToken& cancel, const Rows& rows) {
    const std::int64_t n = below.rows();
    for (std::int64_t end = n, first = 0; end > 0; end = first) {
        first = std::max<std::int64_t>(0, end - kRowsAtOnce);
        const std::int64_t read = causal ? end : n;
        const Matrix some = rows(first, end - first);
        for (std::int64_t left = 0; left < read; left += kColumnsAtOnce) {
            cancel.throw_if_cancelled();
            const std::int64_t from = causal ? left : 0, width = std::min(kColumnsAtOnce, read - left);
            next.block(first, left, end - first, width) =
                product(some.middleCols(from, read - from), below.block(from, left, read - from, width), cancel);
        }
    }
}

/// rows := rows J, with the rows of J that joint(first, count) gives; rows are 0 from column `read` on.
template <class Rows>
void hand_down(WideRows& rows, std::int64_t read, const Rows& joint) {
    constexpr std::int64_t kWideRows = 64;  // of J at once in float64
    auto below = rows;
    below.setZero();
    for (std::int64_t first = 0; first < read; first += kRowsAtOnce) {
        const std::int64_t count = std::min(kRowsAtOnce, read - first);
        const Matrix part = joint(first, count);
        for (std::int64_t i = 0; i < count; i += kWideRows) {
            const std::int64_t some = std::min(kWideRows, count - i);
            below.noalias() += rows.middleCols(first + i, some) * part.middleRows(i, some).cast<double>();
        }
    }
    rows = std::move(below);
}

std::vector<std::string> rollout_notes(const trace::Trace& trace, const RolloutOptions& options, bool flow) {
    std::vector<std::string> notes;
    if (trace.config().causal && !options.by_receptive_field)
        notes.push_back("In a causal model more paths lead to the first tokens than to later ones.");
    if (options.by_receptive_field) notes.push_back("Divided by what even attention to all earlier tokens gives; rows sum to 1.");
    if (trace.config().attention_sinks) notes.push_back("The share of a head's attention that goes to no key is divided out.");
    if (trace.config().convolution.any()) notes.emplace_back(kConvolutionNote);
    if (options.head && !flow)
        notes.push_back("The last step is this head's own pattern, without the residual; the layers below are means.");
    return notes;
}

struct Job {
    const CancelToken& cancel;
    const Progress& progress;
    void step(const char* what, const char* unit, std::int64_t done, std::int64_t total) const {
        cancel.throw_if_cancelled();
        if (progress) progress({what, unit, done, total});
    }
};

}  // namespace

void check_map_memory(const trace::Trace& trace, std::int64_t tokens, std::int64_t maps, const char* hint) {
    const double n = static_cast<double>(tokens), needed = static_cast<double>(maps) * n * n * 4;
    const auto available = static_cast<double>(trace::forecast(trace.config(), 1, {}).available);
    if (needed <= available) return;
    throw Error(ErrorFacts{.problem = "Maps of this many tokens do not fit into memory",
                           .item = std::to_string(tokens) + " tokens, " + with_commas(maps) + " maps",
                           .expected = "at most " + rounded_bytes(available) + ", which is free",
                           .found = rounded_bytes(needed),
                           .hint = hint});
}

double flow_work(std::int64_t layers, bool all_layers, std::int64_t tokens, bool causal) {
    const auto n = static_cast<double>(tokens), l = static_cast<double>(layers);
    // T^2 edges a layer for each of T^2 questions; causal: half a square of i - j tokens, over all pairs T^4 / 24. Most
    // edges are never visited, but the visited share hardly depends on T.
    return (all_layers ? l * (l + 1) / 2 : l) * n * n * n * n / (causal ? 24 : 1);
}

double flow_row_work(std::int64_t layers, bool all_layers, std::int64_t tokens, bool causal) {
    // Causal, the last query: half squares of 1, 2, ... T tokens are T^3 / 6. Twice, since these networks are larger than
    // those of all pairs and do not fit into a cache.
    return flow_work(layers, all_layers, tokens, causal) * (causal ? 8 : 2) / static_cast<double>(tokens);
}

Matrix head_pattern(const trace::Trace& trace, HeadId id) { return head_rows(trace, id, 0, trace.tokens()); }

Matrix joint_attention(const trace::Trace& trace, Layer layer) { return joint_rows(trace, layer, 0, trace.tokens()); }

Matrix with_residual(const Matrix& attention) {
    Matrix joint = attention;
    add_residual(joint, 0);
    return joint;
}

std::vector<Matrix> rollout_of(const std::vector<Matrix>& joint, const CancelToken& cancel, const Progress& progress) {
    std::vector<Matrix> maps;
    for (std::size_t l = 0; l < joint.size(); ++l) {
        Job{cancel, progress}.step("Rolling out", "layer", static_cast<std::int64_t>(l), static_cast<std::int64_t>(joint.size()));
        maps.push_back(l == 0 ? joint[0] : product(joint[l], maps.back(), cancel));
    }
    return maps;
}

namespace {

bool all_causal(const std::vector<Matrix>& joint) {
    return std::all_of(joint.begin(), joint.end(), [](const Matrix& m) {
        for (Eigen::Index i = 0; i < m.rows(); ++i)
            if (!m.row(i).tail(m.cols() - i - 1).isZero(0)) return false;
        return true;
    });
}

}  // namespace

Eigen::VectorXd flow_row(const std::vector<Matrix>& joint, bool causal, Position query, const CancelToken& cancel,
                         const Progress& progress) {
    const auto layers = static_cast<std::int64_t>(joint.size());
    const std::int64_t n = joint[0].rows(), end = causal ? query.value + 1 : n;
    Eigen::VectorXd row = Eigen::VectorXd::Zero(n);
    const std::int64_t block = 16 * at::get_num_threads();
    for (std::int64_t first = 0; first < end; first += block) {
        Job{cancel, progress}.step("Finding flows", "input", first, end);
        at::parallel_for(first, std::min(end, first + block), 4, [&](std::int64_t begin, std::int64_t stop) {
            LayeredFlow network(joint, causal);
            for (std::int64_t j = begin; j < stop; ++j) {
                cancel.throw_if_cancelled();
                row[j] = network.largest(layers, query.value, j);
            }
        });
    }
    return row;
}

Matrix flow_of(const std::vector<Matrix>& joint, const CancelToken& cancel, const Progress& progress) {
    if (joint.empty()) return {};
    const auto layers = static_cast<std::int64_t>(joint.size());
    if (layers == 1) return joint[0];
    const std::int64_t n = joint[0].rows();
    const bool causal = all_causal(joint);
    Matrix flow = Matrix::Zero(n, n);
    const std::int64_t block = 4 * at::get_num_threads();
    for (std::int64_t first = 0; first < n; first += block) {
        Job{cancel, progress}.step("Finding flows", "token", first, n);
        at::parallel_for(first, std::min(n, first + block), 1, [&](std::int64_t begin, std::int64_t end) {
            LayeredFlow network(joint, causal);
            for (std::int64_t i = begin; i < end; ++i)
                for (std::int64_t j = 0; j < (causal ? i + 1 : n); ++j) {
                    cancel.throw_if_cancelled();
                    flow(i, j) = static_cast<float>(network.largest(layers, i, j));
                }
        });
    }
    return flow;
}

namespace {

/// The query's rows of R_l, without the maps: from the last layer down each layer's J takes what all later ones hand it.
Rollout rollout_of_query(const trace::Trace& trace, const RolloutOptions& options, const CancelToken& cancel,
                         const Progress& progress) {
    const std::int64_t n = trace.tokens(), last = options.layer ? options.layer->value : trace.config().n_layers - 1;
    const std::int64_t query = options.query->value, read = trace.config().causal ? query + 1 : n;
    const std::int64_t lowest = options.layer ? last : 0;  // of the layers whose rows are asked for
    WideRows rows(0, n), even(0, n);                       // of the layers from the last one down to l
    const auto add_row = [&](WideRows& all, const Matrix& row) {
        all.conservativeResize(all.rows() + 1, n);
        all.bottomRows(1) = row.cast<double>();
    };
    for (std::int64_t l = last; l >= 0; --l) {
        Job{cancel, progress}.step("Rolling out", "layer", last - l, last + 1);
        const auto joint = [&](std::int64_t first, std::int64_t count) {
            return joint_rows(trace, Layer(l), first, count, cancel);
        };
        const auto even_joint = [&](std::int64_t first, std::int64_t count) { return even_rows(n, first, count); };
        if (rows.rows() > 0) hand_down(rows, read, joint);
        if (even.rows() > 0) hand_down(even, read, even_joint);
        if (l < lowest) continue;
        if (options.head) {
            Matrix own = to_matrix(trace::pattern_rows(trace, Layer(l), *options.head, query, 1));
            if (trace.config().attention_sinks) normalise_rows(own);
            add_row(rows, own);
        } else {
            add_row(rows, joint(query, 1));
        }
        if (options.by_receptive_field) add_row(even, even_joint(query, 1));
    }
    Rollout out{{}, {}, rollout_notes(trace, options, false)};
    for (std::int64_t l = lowest; l <= last; ++l) {
        out.layers.emplace_back(l);
        out.maps.emplace_back(rows.row(last - l).cast<float>());
        if (options.by_receptive_field) divide_by(out.maps.back(), even.row(last - l).cast<float>());
    }
    return out;
}

}  // namespace

Rollout rollout(const trace::Trace& trace, const RolloutOptions& options, const CancelToken& cancel, const Progress& progress) {
    if (has_cross_attention(trace.config())) return decoder_rollout(trace, options, cancel, progress);
    check_options(trace, options);
    if (options.query) return rollout_of_query(trace, options, cancel, progress);
    const std::int64_t n = trace.tokens(), last = options.layer ? options.layer->value : trace.config().n_layers - 1;
    const bool causal = trace.config().causal;
    // R below, the next R where rows read those behind them, a head's product, and R of even attention.
    const std::int64_t kept = options.layer ? 0 : last + 1;
    check_memory(trace, kept + (causal ? 1 : 2) + (options.head ? 1 : 0) + (options.by_receptive_field ? 1 : 0),
                 options.layer ? "Take a shorter text" : "Ask for one layer, or take a shorter text");
    Rollout out{{}, {}, rollout_notes(trace, options, false)};
    Matrix below, even;
    for (std::int64_t l = 0; l <= last; ++l) {
        Job{cancel, progress}.step("Rolling out", "layer", l, last + 1);
        const bool keep = !options.layer || l == last;
        Matrix own;
        if (keep && options.head) {
            const auto of_head = [&](std::int64_t first, std::int64_t count) {
                Matrix rows = head_rows(trace, {Layer(l), *options.head}, first, count);
                if (trace.config().attention_sinks) normalise_rows(rows);
                return rows;
            };
            if (l == 0) {
                own = of_head(0, n);
            } else {
                own = Matrix::Zero(n, n);
                roll(below, own, causal, cancel, of_head);
            }
        }
        const auto advance = [&](Matrix& map, const auto& rows) {
            if (l == 0) {
                map = rows(0, n);
            } else if (causal) {
                roll(map, map, causal, cancel, rows);
            } else {
                Matrix next(n, n);
                roll(map, next, causal, cancel, rows);
                map = std::move(next);
            }
        };
        if (l < last || !options.head)
            advance(below,
                    [&](std::int64_t first, std::int64_t count) { return joint_rows(trace, Layer(l), first, count, cancel); });
        if (options.by_receptive_field)
            advance(even, [&](std::int64_t first, std::int64_t count) { return even_rows(n, first, count); });
        if (!keep) continue;
        if (!options.head) own = l == last ? std::move(below) : below;
        if (options.by_receptive_field) divide_by(own, even);
        out.layers.emplace_back(l);
        out.maps.push_back(std::move(own));
    }
    return out;
}

Rollout attention_flow(const trace::Trace& trace, const RolloutOptions& options, const CancelToken& cancel,
                       const Progress& progress) {
    if (options.head)
        throw Error(ErrorFacts{.problem = "Attention flow goes through all heads of a layer together",
                               .item = "head",
                               .hint = "Leave the head out, or use rollout"});
    if (has_cross_attention(trace.config())) return decoder_flow(trace, options, cancel, progress);
    check_options(trace, options);
    const std::int64_t last = options.layer ? options.layer->value : trace.config().n_layers - 1;
    check_flow_work(last + 1, options, trace.tokens(), trace.config().causal);
    check_memory(trace, (last + 1) * (options.by_receptive_field ? 2 : 1) + (options.query ? 1 : 3), "Take a shorter text");
    Rollout out{{}, {}, rollout_notes(trace, options, true)};
    const bool causal = trace.config().causal;
    const auto flow_through = [&](const std::vector<Matrix>& joint) -> Matrix {
        if (!options.query) return flow_of(joint, cancel, progress);
        return flow_row(joint, causal, *options.query, cancel, progress).cast<float>().transpose();
    };
    std::vector<Matrix> joint, even;
    for (std::int64_t l = 0; l <= last; ++l) {
        joint.push_back(joint_attention(trace, Layer(l)));
        if (options.by_receptive_field) even.push_back(even_rows(trace.tokens(), 0, trace.tokens()));
        if (options.layer && l < last) continue;
        Matrix flow = flow_through(joint);
        normalise_rows(flow);
        if (options.by_receptive_field) divide_by(flow, flow_through(even));
        out.layers.emplace_back(l);
        out.maps.push_back(std::move(flow));
    }
    return out;
}

void check_path_flow(const trace::Trace& trace, std::int64_t layers, bool all_inputs) {
    check_memory(trace, layers + 1, "Take a shorter text, or use rollout");
    const auto work = [&](std::int64_t n) { return flow_row_work(layers, false, n, trace.config().causal); };
    if (!all_inputs || work(trace.tokens()) <= most_flow_work) return;
    throw Error(ErrorFacts{.problem = "Attention flow of this text would take too long",
                           .expected = "at most " + with_commas(longest(trace.tokens(), work)) + " tokens",
                           .found = with_commas(trace.tokens()) + " tokens",
                           .hint = "Pin the input it should go to (with a key), or use rollout: these have no such limit"});
}

namespace {

void define_maps(Table& table, const trace::Trace& trace, bool rollout, bool flow) {
    const bool two = trace.across_texts() || has_cross_attention(trace.config());
    if (rollout)
        table.definitions.emplace_back(
            "rollout",
            two ? "of the target T_l = J_l T_{l-1} / 2, of the source S_l = (J_l S_{l-1} + C_l E) / 2, J = (mean of the "
                  "heads + I) / 2, C the mean of the cross attention's heads, E the encoder's rollout (after Ferrando "
                  "et al. 2022)."
                : "R_l = J_l R_{l-1}, J = (mean of the heads + I) / 2 (Abnar & Zuidema 2020).");
    if (flow)
        table.definitions.emplace_back(
            "flow",
            two ? "Largest flow from the target's token after the layer to an input of either text, with capacities J and "
                  "(I + C) / 2 of each layer of the decoder and J of the encoder; rows divided by their sums over both "
                  "texts (after Abnar & Zuidema 2020)."
                : "Largest flow from the query after the layer to the key's input with capacities "
                  "J; rows divided by their sums (Abnar & Zuidema 2020).");
}

}  // namespace

Table arrays_of(const trace::Trace& trace, const std::vector<Matrix>* rollout, const std::vector<Matrix>* flow) {
    Table table;
    define_maps(table, trace, rollout, flow);
    const auto add = [&](const char* name, const std::vector<Matrix>* maps) {
        if (!maps) return;
        NamedArray array{name, {std::ssize(*maps), maps->front().rows(), maps->front().cols()}, {}};
        for (const Matrix& map : *maps) array.values.insert(array.values.end(), map.data(), map.data() + map.size());
        table.arrays.push_back(std::move(array));
    };
    add("rollout", rollout);
    add("flow", flow);
    return table;
}

std::int64_t table_rows(const trace::Trace& trace, std::int64_t layers, std::optional<Position> query) {
    const std::int64_t n = trace.tokens();
    return layers * (!query && trace.config().causal ? n * (n + 1) / 2 : (query ? 1 : n) * trace.keys());
}

Table table_of(const trace::Trace& trace, const std::vector<Layer>& layers, const std::vector<Matrix>* rollout,
               const std::vector<Matrix>* flow, std::optional<Position> query) {
    check_rows(table_rows(trace, std::ssize(layers), query), trace.tokens(),
               "Write .npz, which holds arrays of any size, or ask for one layer or query");
    Table table;
    define_maps(table, trace, rollout, flow);
    const bool across = trace.across_texts();
    table.columns = {"layer", "query", "query_token", "key", "key_token"};
    if (across) table.columns = {"layer", "target", "target_token", "source", "source_token"};
    if (rollout) table.columns.emplace_back("rollout");
    if (flow) table.columns.emplace_back("flow");
    const std::int64_t first = query ? query->value : 0, end = query ? first + 1 : trace.tokens();
    for (std::size_t m = 0; m < layers.size(); ++m)
        for (std::int64_t i = first; i < end; ++i)
            for (std::int64_t j = 0; j < (trace.config().causal ? i + 1 : trace.keys()); ++j) {
                std::vector<Table::Cell> row{layers[m].value, i, token_name(trace.labels(), i), j,
                                             token_name(across ? trace.key_labels() : trace.labels(), j)};
                if (rollout) row.emplace_back(static_cast<double>((*rollout)[m](i - first, j)));
                if (flow) row.emplace_back(static_cast<double>((*flow)[m](i - first, j)));
                table.add(std::move(row));
            }
    return table;
}

}  // namespace headlight::analyze
