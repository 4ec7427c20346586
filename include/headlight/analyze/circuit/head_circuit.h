// SPDX-License-Identifier: GPL-3.0-or-later
// What a head is wired to do, whatever the text: its OV circuit (what it writes for what it reads) and its QK circuit
// (what attends to what). Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; diagonal ranks:
// McDougall et al. 2023, "Copy Suppression" (2310.04625). Weights only: no text, no run.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/model/model.h"

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headlight::analyze {

/// Row vectors throughout: a stream x [d_model] writes x W_OV, and x attends to y with score x W_QK y^T.
/// W_OV = W_V W_O and W_QK = W_Q W_K^T, both [d_model, d_model] of rank d_head. Biases, the scale of the scores and
/// positions play no part; rotary models: the score at distance 0.
enum class Circuit { ov, qk };

/// Which vector [d_model] stands for a token.
enum class TokenVectors {
    token,       ///< its row of W_E
    stream,      ///< what enters block 0: behind the embedding norm where the model has one (with token type 0), no
                 ///< position
    mlp0,        ///< the stream after block 0 with attention and positions left out: W_E + MLP0, the "effective embedding"
    unembedding  ///< its column of W_U
};
/// "token", "stream", "mlp0", "unembedding".
inline constexpr EnumRow<TokenVectors> token_vectors[] = {
    {TokenVectors::token, "token", "Its row of the embedding"},
    {TokenVectors::stream, "stream", "Input of the first layer"},
    {TokenVectors::mlp0, "mlp0", "The stream after the first layer's MLP"},
    {TokenVectors::unembedding, "unembedding", "Its column of the unembedding"}};
constexpr const auto& enum_rows(TokenVectors) { return token_vectors; }

struct CircuitOptions {
    /// True: the gain (and the centring of a LayerNorm) of the norm in front is multiplied into W_Q, W_K, W_V and W_U,
    /// and in pairs and ranks token vectors are divided by their own scale, as the norm would do to a stream that holds
    /// nothing else. False: the matrices as stored. Error for post-norm models, which have no norm in front.
    bool fold_norms = false;
    TokenVectors source = TokenVectors::token;  ///< tokens that are read (OV) or attended to (QK)
    TokenVectors query = TokenVectors::token;   ///< tokens that look (QK)
};

/// Eigenvalues of one circuit, largest absolute value first.
struct CircuitSpectrum {
    HeadId head;
    std::int64_t kv_head = 0;  ///< the key/value head that this query head reads
    Circuit circuit = Circuit::ov;
    /// The d_head eigenvalues of W_OV (W_QK) that need not be 0: those of the d_head x d_head product W_O W_V
    /// (W_K^T W_Q).
    std::vector<std::complex<double>> eigenvalues;
    /// Re sum(lambda) / sum |lambda|, in [-1, 1]. OV: 1 copies, -1 suppresses what it reads. QK: 1 attends to what is
    /// like itself. NaN when every eigenvalue is 0.
    double score = 0;
    /// The same between tokens, [vocab, vocab]: W_E W_OV W_U, and W_E W_QK W_E^T. Empty and NaN for an OV circuit of a
    /// model without unembedding (full_missing says so).
    std::vector<std::complex<double>> full_eigenvalues;
    double full_score = 0;
    std::string full_missing;
    double norm = 0;                         ///< Frobenius norm of W_OV (W_QK)
    double first_norm = 0, second_norm = 0;  ///< of W_V and W_O (W_Q and W_K)
    bool between_is_linear = true;           ///< false: a masked-word head stands between the head and W_U, and is left out
};

/// Re sum / sum of absolute values; NaN when all are 0 or there are none.
double copying_score(std::span<const std::complex<double>>);

/// Errors: no such head; fold_norms with a post-norm model. `source` and `query` stand for W_E.
CircuitSpectrum circuit_spectrum(const model::Model&, Circuit, HeadId, const CircuitOptions& = {}, const CancelToken& = {},
                                 const Progress& = {});

/// An entry of the circuit between two tokens.
struct CircuitEntry {
    std::int64_t id = 0;
    double value = 0;
};
/// One token's row of the circuit between tokens.
struct CircuitRow {
    std::int64_t id = 0;
    double diagonal = 0;             ///< the token with itself
    std::int64_t diagonal_rank = 0;  ///< entries of the row that are smaller: 0 means the diagonal is the smallest
    std::vector<CircuitEntry> largest, smallest;
};
/// Rows of chosen tokens. OV: what reading the token writes to the logits of every token, source W_OV W_U. QK: the
/// score of every token as key for the chosen one as query. Errors: an id that is not in the vocabulary; no
/// unembedding.
std::vector<CircuitRow> circuit_rows(const model::Model&, Circuit, HeadId, std::span<const std::int64_t> ids, std::int64_t top,
                                     const CircuitOptions& = {}, const CancelToken& = {});

/// Where the diagonal stands in each row of the circuit between all tokens.
struct DiagonalRanks {
    /// [vocab] number of smaller entries in the token's row (OV: what it writes when it is read; QK: token as query).
    /// OV rank 0: of all tokens, reading this one lowers its own logit most. QK rank vocab - 1: it attends to itself
    /// most.
    std::vector<std::int32_t> rank;
    double share_smallest = 0;    ///< tokens with rank 0
    double share_bottom_10 = 0;   ///< among the ten smallest
    double share_bottom_5pc = 0;  ///< among the smallest 5 %
    double share_top_10 = 0;      ///< among the ten largest
    double share_largest = 0;     ///< no entry of the row is larger
    double median = 0;            ///< of rank / (vocab - 1): 0 suppresses, 1 copies
};
/// Computed in slices of at most 64 MB; the [vocab, vocab] product never exists. Cancelled within a slice.
DiagonalRanks diagonal_ranks(const model::Model&, Circuit, HeadId, const CircuitOptions& = {}, const CancelToken& = {},
                             const Progress& = {});

/// Eigenvalues of each: circuit, index, real, imaginary, size. NPZ also: ov_eigenvalues and qk_eigenvalues, [index, 2].
Table table_of(std::span<const CircuitSpectrum>);

}  // namespace headlight::analyze
