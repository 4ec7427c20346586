// SPDX-License-Identifier: GPL-3.0-or-later
// Reads one head of a trace as plain numbers. The only place of analyze where tensors become Eigen.
#pragma once

#include "analyze/pattern/map_layout.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/trace/tensors.h"

#include <cstdint>
#include <functional>

namespace headlight::analyze {

/// Errors name what exists: "L7H0: expected layer 0 to 5, head 0 to 7".
void check_head(const trace::Trace&, HeadId);
void check_position(const trace::Trace&, Position, const char* what);

TokenFacts token_facts(const trace::Trace&);
/// The same of the keys: another text in a cross attention.
TokenFacts key_facts(const trace::Trace&, const PatternOptions&);
/// A key's position; check_position() is a query's.
void check_key(const trace::Trace&, Position);

/// Error in a cross attention: the analysis needs a text that attends to itself.
void require_own_text(const trace::Trace&, const std::string& what);
/// Error for a decoder behind an encoder as well: what it wrote from the source would be left out.
void require_whole_model(const trace::Trace&, const std::string& what);
void require_whole_model(const model::ModelConfig&, const std::string& what);

/// The key/value head that a query head reads.
std::int64_t kv_head(const trace::Trace&, Head);
/// "ALiBi", "ALiBi, rounded to bfloat16" (Falcon), "rotary", "learned, inside the stream", "none".
std::string position_kind(const trace::Trace&);

/// q (or k) of one head as the scores use them, after rotation: [token, d_head], in the trace's type.
at::Tensor head_queries(const trace::Trace&, HeadId);
at::Tensor head_keys(const trace::Trace&, HeadId);
/// v of the head's key/value head: [token, d_head].
at::Tensor head_values(const trace::Trace&, HeadId);
/// |v_j|: [token] float32.
at::Tensor value_norms(const trace::Trace&, HeadId);
/// |v_j W_O^h|: [token] float32, by v (W_O W_O^T) v^T so that nothing of width d_model is made.
at::Tensor output_norms(const trace::Trace&, HeadId);

/// On the CPU as contiguous float32; in double precision, an undefined tensor staying undefined.
at::Tensor plain(const at::Tensor&);
at::Tensor wide(const at::Tensor&);
/// What one position of a hook [pos, width] holds: [width] in double precision.
at::Tensor state_row(const trace::Trace&, model::Hook, Layer, Position);

Matrix to_matrix(const at::Tensor&);  ///< of a 2-D tensor
Vector to_vector(const at::Tensor&);  ///< of a 1-D tensor

/// Keys from here on have no weight for this query. A pattern that the trace holds may be one that an intervention put
/// in the place of the model's own, with weight anywhere.
class ReadableKeys {
public:
    ReadableKeys(const trace::Trace&, Layer);
    bool only_past() const noexcept { return only_past_; }
    std::int64_t operator()(std::int64_t query) const noexcept { return only_past_ ? query + 1 : tokens_; }

private:
    bool only_past_;
    std::int64_t tokens_;
};

/// Keys that a query may see in this layer.
model::KeyRange legal_keys_of(const trace::Trace&, Layer, Position query);

/// What a head's output [count, d_model] of queries from `first` adds to the stream: itself, or in models with a norm
/// behind the attention its part of that norm's output, at the scale the norm had. Float64.
at::Tensor behind_branch_norm(const trace::Trace&, Layer, std::int64_t first, const at::Tensor& written);

/// Rows of [row, token] numbers to read at a time.
std::int64_t row_block(const trace::Trace&);

/// Calls fn(position, weights [token] float32) for every query in [first, first + count), reading in blocks of rows so
/// that no [token, token] tensor stands beside the result.
using RowFn = std::function<void(std::int64_t, const float*)>;
void for_each_pattern_row(const trace::Trace&, HeadId, std::int64_t first, std::int64_t count, const RowFn& fn,
                          const CancelToken& = {});
/// The same with every row of the prepared map: fn(row, [keys]), top to bottom.
void for_each_prepared_row(const trace::Trace&, HeadId, const MapLayout&, Weighting, const RowFn& fn, const CancelToken& = {});

}  // namespace headlight::analyze
