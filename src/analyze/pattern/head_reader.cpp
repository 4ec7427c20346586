// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/head_reader.h"

#include "headlight/analyze/pattern/sinks.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

/// Weights read at a time, 4 MB: few calls, and small beside the result.
constexpr std::int64_t block_elements = 1 << 20;

bool is_rotary(const trace::Trace& trace) { return trace.config().positions == model::Positions::rotary; }

}  // namespace

void check_head(const trace::Trace& trace, HeadId id) {
    const auto& config = trace.config();
    const bool layer_ok = id.layer.value >= 0 && id.layer.value < config.n_layers;
    if (layer_ok && id.head.value >= 0 && id.head.value < config.n_heads) return;
    throw Error(ErrorFacts{
        .problem = "No such head",
        .item = "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value),
        .expected = "layer 0 to " + std::to_string(config.n_layers - 1) + ", head 0 to " + std::to_string(config.n_heads - 1)});
}

void check_position(const trace::Trace& trace, Position position, const char* what) {
    if (position.value >= 0 && position.value < trace.tokens()) return;
    throw Error(ErrorFacts{.problem = "No such position",
                           .item = std::string(what) + " " + std::to_string(position.value),
                           .expected = "0 to " + std::to_string(trace.tokens() - 1)});
}

void check_key(const trace::Trace& trace, Position position) {
    if (position.value >= 0 && position.value < trace.keys()) return;
    throw Error(ErrorFacts{.problem = "No such position",
                           .item = "key " + std::to_string(position.value),
                           .expected = "0 to " + std::to_string(trace.keys() - 1)});
}

void require_own_text(const trace::Trace& trace, const std::string& what) {
    if (!trace.across_texts()) return;
    throw Error(ErrorFacts{.problem = what + " needs a text that attends to itself",
                           .found = "cross attention, from a target into its source",
                           .hint = "Choose the attention of the encoder or the decoder's own"});
}

void require_whole_model(const trace::Trace& trace, const std::string& what) {
    require_own_text(trace, what);
    require_whole_model(trace.config(), what);
}

void require_whole_model(const model::ModelConfig& config, const std::string& what) {
    if (!has_cross_attention(config)) return;
    throw Error(ErrorFacts{.problem = what + " is not there for a decoder that reads a source",
                           .found = "cross attention, which it would leave out",
                           .hint = "Choose the encoder, or a model of one stack"});
}

namespace {
TokenFacts facts_of(const text::Encoding& encoding, const std::string& a, const std::string& b) {
    return {.special = encoding.special, .words = text::whole_words(encoding, a, b), .pair_start = encoding.pair_start()};
}
}  // namespace

TokenFacts token_facts(const trace::Trace& trace) {
    const bool target = trace.config().stack == model::Stack::decoder || trace.config().stack == model::Stack::cross;
    return facts_of(trace.encoding(), target ? trace.text_b() : trace.text_a(), trace.text_b());
}
TokenFacts key_facts(const trace::Trace& trace, const PatternOptions& options) {
    TokenFacts facts = trace.across_texts() ? facts_of(trace.key_encoding(), trace.text_a(), {}) : token_facts(trace);
    if (options.hide_sinks) facts.sinks = *attention_sinks(trace);
    return facts;
}

std::int64_t kv_head(const trace::Trace& trace, Head head) {
    const auto& config = trace.config();
    return head.value / (config.n_heads / config.n_kv_heads);
}

std::string position_kind(const trace::Trace& trace) {
    const auto& config = trace.config();
    if (config.disentangled.any())
        return config.positions == model::Positions::learned ? "disentangled, and learned inside the stream" : "disentangled";
    if (has_relative_bias(config) && config.positions == model::Positions::learned)
        return "by distance, and learned inside the stream";
    switch (trace.config().positions) {
        case model::Positions::alibi:  // rounded: each key's bias by itself, so that there is no one slope
            return config.alibi == model::Alibi::falcon ? "ALiBi, rounded to bfloat16" : "ALiBi";
        case model::Positions::rotary: return "rotary";
        case model::Positions::relative: return "by distance";
        case model::Positions::learned: return "learned, inside the stream";
        case model::Positions::none: return "none";
    }
    return "none";
}

at::Tensor head_queries(const trace::Trace& trace, HeadId id) {
    model::require_attention(trace.config(), id.layer.value, "What reads queries of heads");
    const Hook hook = is_rotary(trace) ? Hook::rot_q : Hook::q;
    return trace::tensor(trace, HookPoint{hook, id.layer}).select(1, id.head.value);
}

at::Tensor head_keys(const trace::Trace& trace, HeadId id) {
    model::require_attention(trace.config(), id.layer.value, "What reads keys of heads");
    const Hook hook = is_rotary(trace) ? Hook::rot_k : Hook::k;
    return trace::tensor(trace, HookPoint{hook, id.layer}).select(1, kv_head(trace, id.head));
}

at::Tensor head_values(const trace::Trace& trace, HeadId id) {
    model::require_attention(trace.config(), id.layer.value, "What reads values of heads");
    return trace::tensor(trace, HookPoint{Hook::v, id.layer}).select(1, kv_head(trace, id.head));
}

at::Tensor value_norms(const trace::Trace& trace, HeadId id) {
    return head_values(trace, id).to(at::kDouble).square().sum(1).sqrt().to(at::kFloat).contiguous();
}

at::Tensor output_norms(const trace::Trace& trace, HeadId id) {
    const at::Tensor v = head_values(trace, id).to(at::kDouble);
    const at::Tensor w = trace::attention_output(*trace.model(), id.layer).w_o.select(0, id.head.value).cpu().to(at::kDouble);
    const at::Tensor squared = (at::matmul(v, at::matmul(w, w.t())) * v).sum(1);
    return squared.clamp_min(0).sqrt().to(at::kFloat).contiguous();
}

ReadableKeys::ReadableKeys(const trace::Trace& trace, Layer layer) : only_past_(trace.config().causal), tokens_(trace.keys()) {
    const std::vector<HookPoint> kept = trace.kept();
    if (std::find(kept.begin(), kept.end(), HookPoint{Hook::pattern, layer}) != kept.end()) only_past_ = false;
}

model::KeyRange legal_keys_of(const trace::Trace& trace, Layer layer, Position query) {
    const auto& config = trace.config();
    return model::legal_keys(query.value, trace.keys(), config.causal, model::window_of(config, layer.value));
}

at::Tensor behind_branch_norm(const trace::Trace& trace, Layer layer, std::int64_t first, const at::Tensor& written) {
    const auto& config = trace.config();
    if (!config.branch_norm) return written;
    at::Tensor x = written.to(at::kDouble);
    if (config.norm == model::Norm::layer_norm) x = x - x.mean(-1, true);
    const at::Tensor scale =
        trace::tensor_rows(trace, HookPoint{Hook::ln1_post_scale, layer}, first, written.size(0)).to(at::kDouble);
    return x / scale * trace::layer_vectors(*trace.model(), layer).attention_branch.gain.cpu().to(at::kDouble);
}

std::int64_t row_block(const trace::Trace& trace) {
    constexpr std::int64_t tile = 64;  // rows that are made together by one thread, whichever of them are read
    return tile * std::max<std::int64_t>(at::get_num_threads(), block_elements / trace.keys() / tile);
}

at::Tensor plain(const at::Tensor& t) { return t.to(at::kCPU, at::kFloat).contiguous(); }

at::Tensor wide(const at::Tensor& t) { return t.defined() ? t.to(at::kCPU, at::kDouble) : t; }

at::Tensor state_row(const trace::Trace& trace, model::Hook hook, Layer layer, Position p) {
    return wide(trace::tensor_rows(trace, {hook, layer}, p.value, 1).select(0, 0)).contiguous();
}

Matrix to_matrix(const at::Tensor& tensor) {
    const at::Tensor plain = tensor.to(at::kFloat).contiguous();
    return Eigen::Map<const Matrix>(plain.data_ptr<float>(), plain.size(0), plain.size(1));
}

Vector to_vector(const at::Tensor& tensor) {
    const at::Tensor plain = tensor.to(at::kFloat).contiguous();
    return Eigen::Map<const Vector>(plain.data_ptr<float>(), plain.size(0));
}

void for_each_pattern_row(const trace::Trace& trace, HeadId id, std::int64_t first, std::int64_t count, const RowFn& fn,
                          const CancelToken& cancel) {
    const std::int64_t width = trace.keys();
    const std::int64_t block = row_block(trace);
    for (std::int64_t row = first; row < first + count; row += block) {
        cancel.throw_if_cancelled();
        const std::int64_t rows = std::min(block, first + count - row);
        const at::Tensor tile = trace::pattern_rows(trace, id.layer, id.head, row, rows).to(at::kFloat).contiguous();
        const float* data = tile.data_ptr<float>();
        for (std::int64_t r = 0; r < rows; ++r) fn(row + r, data + r * width);
    }
}

}  // namespace headlight::analyze
