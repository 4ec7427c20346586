// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/hook_name.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace headlight::model {
namespace {

struct HookRow {
    Hook hook;
    std::string_view suffix;  ///< after "blocks.L." when layered
    bool layered;
};

constexpr std::array kHooks = std::to_array<HookRow>({
    {Hook::embed, "hook_embed", false},
    {Hook::pos_embed, "hook_pos_embed", false},
    {Hook::token_type_embed, "hook_token_type_embed", false},
    {Hook::embed_norm_scale, "embed_ln.hook_scale", false},
    {Hook::embed_norm_normalized, "embed_ln.hook_normalized", false},
    {Hook::embed_projected, "hook_embed_projected", false},
    {Hook::resid_pre, "hook_resid_pre", true},
    {Hook::ln1_scale, "ln1.hook_scale", true},
    {Hook::ln1_normalized, "ln1.hook_normalized", true},
    {Hook::q_latent, "attn.hook_q_latent", true},
    {Hook::q, "attn.hook_q", true},
    {Hook::latent, "attn.hook_latent", true},
    {Hook::k, "attn.hook_k", true},
    {Hook::v, "attn.hook_v", true},
    {Hook::q_norm_scale, "attn.q_norm.hook_scale", true},
    {Hook::q_norm_normalized, "attn.q_norm.hook_normalized", true},
    {Hook::k_norm_scale, "attn.k_norm.hook_scale", true},
    {Hook::k_norm_normalized, "attn.k_norm.hook_normalized", true},
    {Hook::rot_q, "attn.hook_rot_q", true},
    {Hook::rot_k, "attn.hook_rot_k", true},
    {Hook::c2p, "attn.hook_c2p", true},
    {Hook::p2c, "attn.hook_p2c", true},
    {Hook::content_scores, "attn.hook_content_scores", true},
    {Hook::rotary_scores, "attn.hook_rotary_scores", true},
    {Hook::attn_scores, "attn.hook_attn_scores", true},
    {Hook::sink, "attn.hook_sink", true},
    {Hook::pattern, "attn.hook_pattern", true},
    {Hook::z, "attn.hook_z", true},
    {Hook::result, "attn.hook_result", true},
    {Hook::ln1_post_scale, "ln1_post.hook_scale", true},
    {Hook::ln1_post_normalized, "ln1_post.hook_normalized", true},
    {Hook::attn_out, "hook_attn_out", true},
    {Hook::resid_mid, "hook_resid_mid", true},
    {Hook::ln_cross_scale, "ln_cross.hook_scale", true},
    {Hook::ln_cross_normalized, "ln_cross.hook_normalized", true},
    {Hook::cross_q, "cross_attn.hook_q", true},
    {Hook::cross_k, "cross_attn.hook_k", true},
    {Hook::cross_v, "cross_attn.hook_v", true},
    {Hook::cross_scores, "cross_attn.hook_attn_scores", true},
    {Hook::cross_pattern, "cross_attn.hook_pattern", true},
    {Hook::cross_z, "cross_attn.hook_z", true},
    {Hook::cross_result, "cross_attn.hook_result", true},
    {Hook::cross_attn_out, "hook_cross_attn_out", true},
    {Hook::resid_mid_cross, "hook_resid_mid_cross", true},
    {Hook::ln2_scale, "ln2.hook_scale", true},
    {Hook::ln2_normalized, "ln2.hook_normalized", true},
    {Hook::router, "mlp.hook_router", true},
    {Hook::experts, "mlp.hook_experts", true},
    {Hook::shared_gate, "mlp.hook_shared_gate", true},
    {Hook::mlp_pre, "mlp.hook_pre", true},
    {Hook::mlp_pre_linear, "mlp.hook_pre_linear", true},
    {Hook::mlp_post, "mlp.hook_post", true},
    {Hook::ln2_post_scale, "ln2_post.hook_scale", true},
    {Hook::ln2_post_normalized, "ln2_post.hook_normalized", true},
    {Hook::mlp_out, "hook_mlp_out", true},
    {Hook::resid_post_mlp, "hook_resid_post_mlp", true},
    {Hook::conv_pre, "conv.hook_pre", true},
    {Hook::conv_out, "hook_conv_out", true},
    {Hook::ln_conv_scale, "ln_conv.hook_scale", true},
    {Hook::ln_conv_normalized, "ln_conv.hook_normalized", true},
    {Hook::resid_post, "hook_resid_post", true},
    {Hook::ln_final_scale, "ln_final.hook_scale", false},
    {Hook::ln_final_normalized, "ln_final.hook_normalized", false},
    {Hook::mlm_pre, "mlm_head.hook_pre", false},
    {Hook::mlm_post, "mlm_head.hook_post", false},
    {Hook::mlm_ln_scale, "mlm_head.ln.hook_scale", false},
    {Hook::mlm_ln_normalized, "mlm_head.ln.hook_normalized", false},
    {Hook::projected, "hook_projected", false},
    {Hook::logits, "logits", false},
});

constexpr bool in_enum_order() {
    for (std::size_t i = 0; i < kHooks.size(); ++i)
        if (static_cast<std::size_t>(kHooks[i].hook) != i) return false;
    return static_cast<std::size_t>(Hook::logits) + 1 == kHooks.size();
}
static_assert(in_enum_order());

const HookRow& row_of(Hook hook) noexcept { return kHooks[static_cast<std::size_t>(hook)]; }

constexpr std::string_view kBlocks = "blocks.";

bool visited(Hook hook, const ModelConfig& c, std::int64_t layer) {
    if (c.stack == Stack::cross && !in_decoder(hook)) return false;
    switch (hook) {
        case Hook::ln_cross_scale:
        case Hook::ln_cross_normalized:
        case Hook::cross_q:
        case Hook::cross_k:
        case Hook::cross_v:
        case Hook::cross_scores:
        case Hook::cross_pattern:
        case Hook::cross_z:
        case Hook::cross_result:
        case Hook::cross_attn_out:
        case Hook::resid_mid_cross: return has_cross_attention(c);
        case Hook::embed_projected: return c.d_embed > 0;
        case Hook::ln1_scale:
        case Hook::ln1_normalized: return c.post_norm || norm_before_attention(c, layer);
        case Hook::ln2_scale:
        case Hook::ln2_normalized: return c.post_norm || (norm_before_mlp(c) && !c.shared_norm);
        case Hook::ln1_post_scale:
        case Hook::ln1_post_normalized:
        case Hook::ln2_post_scale:
        case Hook::ln2_post_normalized: return c.branch_norm;
        case Hook::q_norm_scale:
        case Hook::q_norm_normalized:
        case Hook::k_norm_scale:
        case Hook::k_norm_normalized: return c.qk_norm != QkNorm::none;
        case Hook::pos_embed: return c.positions == Positions::learned;
        case Hook::token_type_embed: return c.type_vocab_size > 0;
        case Hook::embed_norm_scale:
        case Hook::embed_norm_normalized: return c.embed_norm;
        case Hook::rot_q:
        case Hook::rot_k: return c.positions == Positions::rotary;
        case Hook::sink: return c.attention_sinks;
        case Hook::c2p: return c.disentangled.content_to_position;
        case Hook::p2c: return c.disentangled.position_to_content;
        case Hook::q_latent: return c.latent.query_rank > 0;
        case Hook::latent:
        case Hook::content_scores:
        case Hook::rotary_scores: return c.latent.any();
        case Hook::mlp_pre_linear: return c.gated_mlp;
        case Hook::router:
        case Hook::experts: return has_experts(c, layer);
        case Hook::shared_gate: return has_experts(c, layer) && c.experts.shared_gate;
        case Hook::resid_post_mlp:
        case Hook::conv_pre:
        case Hook::conv_out:
        case Hook::ln_conv_scale:
        case Hook::ln_conv_normalized: return has_convolution(c, layer);
        case Hook::ln_final_scale:
        case Hook::ln_final_normalized: return c.final_norm;
        case Hook::mlm_pre:
        case Hook::mlm_post:
        case Hook::mlm_ln_scale:
        case Hook::mlm_ln_normalized: return c.mlm_head;
        case Hook::projected: return c.d_projection > 0;
        case Hook::logits: return c.has_unembedding;
        default: return true;
    }
}

/// Hooks of one layer in the order of the pass: post-norm models normalise after attention and after the MLP.
std::vector<Hook> layer_hooks(const ModelConfig& c, std::int64_t layer) {
    std::vector<Hook> hooks;
    for (const HookRow& row : kHooks) {
        if (!row.layered || !visited(row.hook, c, layer)) continue;
        const bool norm = row.hook == Hook::ln1_scale || row.hook == Hook::ln1_normalized || row.hook == Hook::ln2_scale ||
                          row.hook == Hook::ln2_normalized || row.hook == Hook::ln_cross_scale ||
                          row.hook == Hook::ln_cross_normalized;
        if (c.post_norm && norm) continue;
        if (c.post_norm && row.hook == Hook::resid_mid) {
            hooks.push_back(Hook::ln1_scale);
            hooks.push_back(Hook::ln1_normalized);
        }
        if (c.post_norm && row.hook == Hook::resid_mid_cross) {
            hooks.push_back(Hook::ln_cross_scale);
            hooks.push_back(Hook::ln_cross_normalized);
        }
        if (c.post_norm && row.hook == (has_convolution(c, layer) ? Hook::resid_post_mlp : Hook::resid_post)) {
            hooks.push_back(Hook::ln2_scale);
            hooks.push_back(Hook::ln2_normalized);
        }
        hooks.push_back(row.hook);
    }
    return hooks;
}

}  // namespace

bool has_layer(Hook hook) noexcept { return row_of(hook).layered; }

bool is_score_term(Hook hook) noexcept { return std::ranges::find(kScoreTerms, hook) != std::end(kScoreTerms); }

std::string name_of(HookPoint point) {
    const HookRow& row = row_of(point.hook);
    if (!row.layered) return std::string(row.suffix);
    return std::string(kBlocks) + std::to_string(point.layer.value) + "." + std::string(row.suffix);
}

std::optional<Hook> in_decoder(Hook of_cross) noexcept {
    switch (of_cross) {
        case Hook::resid_pre: return Hook::resid_mid;
        case Hook::ln1_scale: return Hook::ln_cross_scale;
        case Hook::ln1_normalized: return Hook::ln_cross_normalized;
        case Hook::q: return Hook::cross_q;
        case Hook::k: return Hook::cross_k;
        case Hook::v: return Hook::cross_v;
        case Hook::attn_scores: return Hook::cross_scores;
        case Hook::pattern: return Hook::cross_pattern;
        case Hook::z: return Hook::cross_z;
        case Hook::result: return Hook::cross_result;
        case Hook::attn_out: return Hook::cross_attn_out;
        case Hook::resid_mid: return Hook::resid_mid_cross;
        default: return std::nullopt;
    }
}

std::string name_of(HookPoint point, const ModelConfig& c) {
    if (c.stack == Stack::whole || point.hook == Hook::logits) return name_of(point);
    if (c.stack == Stack::encoder) return "encoder." + name_of(point);
    if (c.stack == Stack::cross) point.hook = in_decoder(point.hook).value_or(point.hook);
    return "decoder." + name_of(point);
}

std::optional<HookPoint> parse_hook(std::string_view name) {
    HookPoint point;
    const bool layered = name.starts_with(kBlocks);
    if (layered) {
        const char* first = name.data() + kBlocks.size();
        const char* last = name.data() + name.size();
        const auto [end, error] = std::from_chars(first, last, point.layer.value);
        if (error != std::errc() || end == last || *end != '.' || point.layer.value < 0) return std::nullopt;
        name.remove_prefix(static_cast<std::size_t>(end + 1 - name.data()));
    }
    for (const HookRow& row : kHooks) {
        if (row.layered != layered || row.suffix != name) continue;
        point.hook = row.hook;
        return point;
    }
    return std::nullopt;
}

std::vector<HookPoint> hooks_of(const ModelConfig& c) {
    std::vector<HookPoint> points;
    bool layers_done = false;
    for (const HookRow& row : kHooks) {
        if (row.layered) {
            if (layers_done) continue;
            layers_done = true;
            for (std::int64_t layer = 0; layer < c.n_layers; ++layer)
                for (const Hook hook : layer_hooks(c, layer)) points.push_back({hook, Layer(layer)});
        } else if (visited(row.hook, c, 0)) {
            points.push_back({row.hook, Layer(0)});
        }
    }
    return points;
}

std::vector<std::int64_t> shape_of(HookPoint point, const ModelConfig& c, std::int64_t tokens, std::int64_t source) {
    const std::int64_t keys = c.stack == Stack::cross ? source : tokens;
    switch (point.hook) {
        case Hook::ln_cross_scale: return {tokens, 1};
        case Hook::cross_q:
        case Hook::cross_z: return {tokens, c.n_heads, c.d_head};
        case Hook::cross_k:
        case Hook::cross_v: return {source, c.n_heads, c.d_head};
        case Hook::cross_scores:
        case Hook::cross_pattern: return {c.n_heads, tokens, source};
        case Hook::cross_result: return {tokens, c.n_heads, c.d_model};
        case Hook::embed_norm_scale:
        case Hook::ln1_scale:
        case Hook::ln2_scale:
        case Hook::ln1_post_scale:
        case Hook::ln2_post_scale:
        case Hook::ln_conv_scale:
        case Hook::ln_final_scale:
        case Hook::mlm_ln_scale: return {tokens, 1};
        case Hook::embed:
        case Hook::pos_embed:
        case Hook::token_type_embed:
        case Hook::embed_norm_normalized:
        case Hook::mlm_pre:
        case Hook::mlm_post:
        case Hook::mlm_ln_normalized: return {tokens, embedding_width(c)};
        case Hook::q_norm_scale:
            if (c.qk_norm == QkNorm::whole) return {tokens, 1, 1};
            return {tokens, c.n_heads, 1};
        case Hook::k_norm_scale:
            if (c.qk_norm == QkNorm::whole) return {tokens, 1, 1};
            return {tokens, c.n_kv_heads, 1};
        case Hook::q_norm_normalized:
        case Hook::q:
        case Hook::rot_q: return {tokens, c.n_heads, c.d_head};
        case Hook::z: return {tokens, c.n_heads, value_width(c)};
        case Hook::k_norm_normalized:
        case Hook::k:
        case Hook::rot_k: return {keys, c.n_kv_heads, c.d_head};
        case Hook::v: return {keys, c.n_kv_heads, value_width(c)};
        case Hook::q_latent: return {tokens, c.latent.query_rank};
        case Hook::latent: return {tokens, c.latent.rank};
        case Hook::c2p:
        case Hook::p2c:
        case Hook::content_scores:
        case Hook::rotary_scores:
        case Hook::attn_scores:
        case Hook::pattern: return {c.n_heads, tokens, keys};
        case Hook::sink: return {c.n_heads, tokens};
        case Hook::result: return {tokens, c.n_heads, c.d_model};
        case Hook::mlp_pre:
        case Hook::mlp_pre_linear:
        case Hook::mlp_post: return {tokens, mlp_width(c, point.layer.value)};
        case Hook::router:
        case Hook::experts: return {tokens, c.experts.count};
        case Hook::shared_gate: return {tokens, 1};
        case Hook::projected: return {tokens, c.d_projection};
        case Hook::logits: return {tokens, c.vocab_size};
        default: return {tokens, c.d_model};
    }
}

bool glob_match(std::string_view pattern, std::string_view name) noexcept {
    // One place to come back to is enough: a later '*' makes every earlier one final.
    std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
            ++p;
            ++n;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace headlight::model
