// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/base/numbers.h"

#include "analyze/circuit/circuit_weights.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights_in_parts.h"
#include "model/arithmetic/kernels.h"

#include <ATen/Parallel.h>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace headlight::analyze {
namespace {

/// Vectors of the tokens [first, first + count): [count, d_model] float64.
at::Tensor token_block(const model::Model& model, TokenVectors kind, std::int64_t first, std::int64_t count, bool fold) {
    at::Tensor x;
    switch (kind) {
        case TokenVectors::token: x = trace::stream_embedding(model, first, count); break;
        case TokenVectors::stream:
        case TokenVectors::mlp0: x = trace::token_streams(model, first, count, kind == TokenVectors::mlp0); break;
        case TokenVectors::unembedding: {
            x = trace::unembed(model, first, count).t();
            const trace::NormTensors norm = trace::final_norm(model);
            if (fold && norm.gain.defined()) x = x * norm.gain;
            break;
        }
    }
    return x.to(at::kCPU).to(at::kDouble);
}

at::Tensor root_mean_square(const at::Tensor& x) {
    return x.square().mean(1, true).sqrt().clamp_min(std::numeric_limits<double>::min());
}

/// What a norm would divide each row by, were the stream this row alone.
at::Tensor own_scale(const model::Model& model, const at::Tensor& x) {
    if (!model.config().input_norm) return at::ones({x.size(0), 1}, x.options());  // there is none in front
    return root_mean_square(model.config().norm == model::Norm::layer_norm ? x - x.mean(1, true) : x);
}

/// Token vectors times `w` [d_model, d_head]: [vocab, d_head] float64. `scaled`: as the norms in front pass them on; where
/// there is a latent (`latent` [d_model, rank]) its norm is the last, and what came before cancels out.
at::Tensor project_tokens(const model::Model& model, TokenVectors kind, const at::Tensor& w, bool fold, bool scaled,
                          const CancelToken& cancel, const at::Tensor& latent = {}) {
    const std::int64_t vocab = model.config().vocab_size;
    at::Tensor out = at::empty({vocab, w.size(1)}, at::kDouble);
    for (std::int64_t first = 0; first < vocab; first += kTokenBlock) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(kTokenBlock, vocab - first);
        const at::Tensor x = token_block(model, kind, first, count, fold);
        at::Tensor rows = at::mm(x, w);
        if (scaled) rows = rows / (latent.defined() ? root_mean_square(at::mm(x, latent)) : own_scale(model, x));
        out.narrow(0, first, count).copy_(rows);
    }
    return out;
}

/// W_O W_U: [vocab, d_head] float64, transposed so that a token is a row.
at::Tensor project_outputs(const model::Model& model, const at::Tensor& w_o, bool fold, const CancelToken& cancel) {
    const at::Tensor o = fold ? through_final_norm(model, w_o) : w_o;
    return project_tokens(model, TokenVectors::unembedding, o.t(), false, false, cancel);
}

std::vector<std::complex<double>> eigenvalues_of(const at::Tensor& product) {
    const at::Tensor p = product.contiguous();
    using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const Square> matrix(p.data_ptr<double>(), p.size(0), p.size(1));
    const Eigen::EigenSolver<Eigen::MatrixXd> solver(matrix, false);
    if (solver.info() != Eigen::Success) throw Error("The eigenvalues of this head's circuit did not converge");
    std::vector<std::complex<double>> values(solver.eigenvalues().begin(), solver.eigenvalues().end());
    std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
        const double x = std::abs(a), y = std::abs(b);
        if (x != y) return x > y;
        return a.real() != b.real() ? a.real() > b.real() : a.imag() > b.imag();
    });
    return values;
}

double frobenius(const at::Tensor& m) { return std::sqrt(m.square().sum().item<double>()); }

/// |A B|_F of A [d_model, d_head] and B [d_head, d_model].
double product_norm(const at::Tensor& a, const at::Tensor& b) {
    return std::sqrt(std::max(0.0, (at::mm(a.t(), a) * at::mm(b, b.t())).sum().item<double>()));
}

void check_sources(const model::Model& model, Circuit circuit, const CircuitOptions& o) {
    if (o.source == TokenVectors::unembedding && circuit == Circuit::ov)
        throw Error("An OV circuit reads tokens as they are embedded, not as they are unembedded");
    const bool needed = circuit == Circuit::ov || o.source == TokenVectors::unembedding || o.query == TokenVectors::unembedding;
    if (needed) require_token_logits(model.config(), "A circuit that ends at tokens");
    if (needed && !unembeds_stream(model.config()))
        throw Error(
            {.problem = "This model has no unembedding that reads the residual stream, so nothing a head writes is a token",
             .file = model.folder().string(),
             .hint = "Eigenvalues of the OV circuit, the QK circuit between embeddings and composition scores work"});
    if (o.fold_norms) check_foldable(model);
}

/// The two factors of the circuit between tokens: row r of the circuit is left[r] right^T. [vocab, d_head] float64.
struct Factors {
    at::Tensor left, right;
};

Factors token_factors(const model::Model& model, Circuit circuit, HeadId id, const CircuitOptions& o, const CancelToken& cancel) {
    check_sources(model, circuit, o);
    const HeadMatrices w = head_matrices(model, id, o.fold_norms);
    if (circuit == Circuit::ov)
        return {project_tokens(model, o.source, w.v, o.fold_norms, o.fold_norms, cancel, w.kv_latent),
                project_outputs(model, w.o, o.fold_norms, cancel)};
    return {project_tokens(model, o.query, w.q, o.fold_norms, o.fold_norms, cancel, w.q_latent),
            project_tokens(model, o.source, w.k, o.fold_norms, o.fold_norms, cancel, w.kv_latent)};
}

void set_full(CircuitSpectrum& s, const model::Model& model, const HeadMatrices& w, const CircuitOptions& o,
              const CancelToken& cancel) {
    s.full_score = kNaN;
    if (s.circuit == Circuit::ov && !unembeds_stream(model.config())) {
        s.full_missing = model.config().class_head.any()  ? "the logits are of classes"
                         : model.config().has_unembedding ? "the unembedding is behind the masked-word head"
                                                          : "this model has no unembedding";
        return;
    }
    // Eigenvalues of A B are those of B A: [d_head, d_head] instead of [vocab, vocab].
    at::Tensor left, right;
    if (s.circuit == Circuit::ov) {
        left = project_outputs(model, w.o, o.fold_norms, cancel);
        right = project_tokens(model, o.source, w.v, o.fold_norms, false, cancel);
    } else {
        left = project_tokens(model, o.source, w.k, o.fold_norms, false, cancel);
        right = project_tokens(model, o.query, w.q, o.fold_norms, false, cancel);
    }
    s.full_eigenvalues = eigenvalues_of(at::mm(left.t(), right));
    s.full_score = copying_score(s.full_eigenvalues);
}

template <class Less>
std::vector<CircuitEntry> extreme(const float* values, std::int64_t n, std::int64_t top, Less less) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), 0);
    const auto count = static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(top, 0, n));
    std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](std::int64_t a, std::int64_t b) {
        return values[a] != values[b] ? less(values[a], values[b]) : a < b;
    });
    std::vector<CircuitEntry> list;
    for (std::ptrdiff_t k = 0; k < count; ++k)
        list.push_back({ids[static_cast<std::size_t>(k)], values[ids[static_cast<std::size_t>(k)]]});
    return list;
}

DiagonalRanks summary_of(std::vector<std::int32_t> rank, std::int64_t largest) {
    const auto n = static_cast<std::int64_t>(rank.size());
    DiagonalRanks out;
    const auto share = [&](std::int64_t from, std::int64_t below) {
        const auto count = std::count_if(rank.begin(), rank.end(), [&](std::int32_t r) { return r >= from && r < below; });
        return static_cast<double>(count) / static_cast<double>(n);
    };
    out.share_smallest = share(0, 1);
    out.share_bottom_10 = share(0, 10);
    out.share_bottom_5pc = share(0, std::max<std::int64_t>(1, n / 20));
    out.share_top_10 = share(n - 10, n);
    out.share_largest = static_cast<double>(largest) / static_cast<double>(n);
    std::vector<std::int32_t> sorted = rank;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    const double middle = sorted.size() % 2 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
    out.median = n > 1 ? middle / static_cast<double>(n - 1) : kNaN;
    out.rank = std::move(rank);
    return out;
}

}  // namespace

double copying_score(std::span<const std::complex<double>> values) {
    double sum = 0, size = 0;
    for (const std::complex<double>& value : values) {
        sum += value.real();
        size += std::abs(value);
    }
    return size > 0 ? sum / size : kNaN;
}

CircuitSpectrum circuit_spectrum(const model::Model& model, Circuit circuit, HeadId id, const CircuitOptions& options,
                                 const CancelToken& cancel, const Progress& progress) {
    const HeadMatrices w = head_matrices(model, id, options.fold_norms);
    CircuitSpectrum s;
    s.head = id;
    s.kv_head = w.kv_head;
    s.circuit = circuit;
    s.between_is_linear = !model.config().mlm_head;
    const at::Tensor first = circuit == Circuit::ov ? w.v : w.q;
    const at::Tensor second = circuit == Circuit::ov ? w.o : w.k.t();
    s.eigenvalues = eigenvalues_of(at::mm(second, first));
    s.score = copying_score(s.eigenvalues);
    s.first_norm = frobenius(first);
    s.second_norm = frobenius(second);
    s.norm = product_norm(first, second);
    if (progress) progress({"Reading the vocabulary", "circuit", 0, 1});
    set_full(s, model, w, options, cancel);
    return s;
}

std::vector<CircuitRow> circuit_rows(const model::Model& model, Circuit circuit, HeadId id, std::span<const std::int64_t> ids,
                                     std::int64_t top, const CircuitOptions& options, const CancelToken& cancel) {
    const std::int64_t vocab = model.config().vocab_size;
    for (const std::int64_t token : ids)
        if (token < 0 || token >= vocab)
            throw Error({.problem = "There is no such token in this model",
                         .expected = "0 to " + std::to_string(vocab - 1),
                         .found = std::to_string(token)});
    const Factors f = token_factors(model, circuit, id, options, cancel);
    std::vector<CircuitRow> rows;
    for (const std::int64_t token : ids) {
        cancel.throw_if_cancelled();
        const at::Tensor values = at::mv(f.right, f.left.select(0, token)).to(at::kFloat).contiguous();
        const float* v = values.data_ptr<float>();
        rows.push_back({.id = token,
                        .diagonal = v[token],
                        .diagonal_rank = model::kernels::count_below(v, vocab, v[token]),
                        .largest = extreme(v, vocab, top, std::greater<>{}),
                        .smallest = extreme(v, vocab, top, std::less<>{})});
    }
    return rows;
}

DiagonalRanks diagonal_ranks(const model::Model& model, Circuit circuit, HeadId id, const CircuitOptions& options,
                             const CancelToken& cancel, const Progress& progress) {
    const std::int64_t vocab = model.config().vocab_size;
    const Factors f = token_factors(model, circuit, id, options, cancel);
    const at::Tensor left = f.left.to(at::kFloat), right = f.right.to(at::kFloat).t();
    constexpr std::int64_t kSlice = 16 << 20;  // numbers: 64 MB
    const std::int64_t rows = std::clamp<std::int64_t>(kSlice / vocab, 1, vocab);
    std::vector<std::int32_t> rank(static_cast<std::size_t>(vocab));
    std::vector<std::uint8_t> is_largest(static_cast<std::size_t>(vocab));
    at::Tensor slice = at::empty({rows, vocab}, at::kFloat);
    for (std::int64_t first = 0; first < vocab; first += rows) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Ranking the diagonal", "token", first, vocab});
        const std::int64_t count = std::min(rows, vocab - first);
        at::Tensor part = slice.narrow(0, 0, count);
        at::mm_out(part, left.narrow(0, first, count), right);
        const float* values = part.data_ptr<float>();
        at::parallel_for(0, count, 8, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t r = begin; r < end; ++r) {
                const float* row = values + r * vocab;
                const float own = row[first + r];
                const auto at = static_cast<std::size_t>(first + r);
                rank[at] = static_cast<std::int32_t>(model::kernels::count_below(row, vocab, own));
                is_largest[at] = std::none_of(row, row + vocab, [own](float v) { return v > own; });
            }
        });
    }
    return summary_of(std::move(rank), std::accumulate(is_largest.begin(), is_largest.end(), std::int64_t{0}));
}

Table table_of(std::span<const CircuitSpectrum> spectra) {
    Table table{{"circuit", "index", "real", "imaginary", "size"}, {}};
    for (const CircuitSpectrum& s : spectra) {
        const bool ov = s.circuit == Circuit::ov;
        NamedArray array{ov ? "ov_eigenvalues" : "qk_eigenvalues", {std::ssize(s.eigenvalues), 2}, {}};
        for (std::size_t i = 0; i < s.eigenvalues.size(); ++i) {
            const std::complex<double>& value = s.eigenvalues[i];
            table.add({std::string(ov ? "OV" : "QK"), static_cast<std::int64_t>(i), value.real(), value.imag(), std::abs(value)});
            array.values.insert(array.values.end(), {static_cast<float>(value.real()), static_cast<float>(value.imag())});
        }
        table.arrays.push_back(std::move(array));
    }
    return table;
}

}  // namespace headlight::analyze
