// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/hook_name.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace headlight::model {
namespace {

namespace hook_rows {  // short names, for this table alone

/// The sizes of a tensor; those of keys are the source's in a cross attention.
enum Dim {
    none,
    one,
    pos,
    key,
    source,
    head,
    kv_head,
    normed_head,
    normed_kv_head,
    d_head,
    d_value,
    d_model,
    d_embed,
    d_mlp,
    query_rank,
    rank,
    expert,
    d_projection,
    d_dense,
    conv_channel,
    gate_group,
    output
};

using C = const ModelConfig&;
using L = std::int64_t;

/// A hook: its name, its shape, which models have it, and what it is called in a decoder where it is of the cross attention.
struct HookRow {
    Hook hook;
    std::string_view suffix;  ///< after "blocks.L." when layered
    bool layered;
    std::array<Dim, 3> shape;
    bool (*visited)(C, L layer);
    std::optional<Hook> in_decoder{};
    std::string_view of_classes{};  ///< what it is called in a model that classifies texts, where that differs
};

constexpr auto kAlways = [](C, L) { return true; };
constexpr auto kCross = [](C c, L) { return has_cross_attention(c); };
constexpr auto kBranchNorm = [](C c, L) { return c.branch_norm; };
constexpr auto kQkNorm = [](C c, L layer) { return has_qk_norm(c, layer); };
constexpr auto kEmbedNorm = [](C c, L) { return c.embed_norm; };
constexpr auto kRotary = [](C c, L) { return c.positions == Positions::rotary; };
constexpr auto kLatent = [](C c, L) { return c.latent.any(); };
constexpr auto kExperts = [](C c, L layer) { return has_experts(c, layer); };
constexpr auto kConvolution = [](C c, L layer) { return has_convolution(c, layer); };
constexpr auto kFinalNorm = [](C c, L) { return c.final_norm; };
constexpr auto kDenseHead = [](C c, L) { return has_dense_head(c); };
constexpr auto kDenseHeadNorm = [](C c, L) { return c.mlm_head || c.class_head.norm; };
constexpr auto kAttention = [](C c, L layer) { return !has_implied_map(c, layer); };
constexpr auto kStateSpace = [](C c, L layer) { return mixer_of(c, layer) == Mixer::state_space; };
constexpr auto kMlp = [](C c, L layer) { return has_mlp(c, layer); };
constexpr auto kNorm1 = [](C c, L layer) { return c.post_norm || norm_before_attention(c, layer); };
constexpr auto kNorm2 = [](C c, L layer) { return has_mlp(c, layer) && (c.post_norm || (norm_before_mlp(c) && !c.shared_norm)); };

constexpr std::array kHooks = std::to_array<HookRow>({
    {Hook::embed, "hook_embed", false, {pos, d_embed}, kAlways},
    {Hook::pos_embed, "hook_pos_embed", false, {pos, d_embed}, [](C c, L) { return c.positions == Positions::learned; }},
    {Hook::token_type_embed, "hook_token_type_embed", false, {pos, d_embed}, [](C c, L) { return c.type_vocab_size > 0; }},
    {Hook::embed_norm_scale, "embed_ln.hook_scale", false, {pos, one}, kEmbedNorm},
    {Hook::embed_norm_normalized, "embed_ln.hook_normalized", false, {pos, d_embed}, kEmbedNorm},
    {Hook::embed_projected, "hook_embed_projected", false, {pos, d_model}, [](C c, L) { return c.d_embed > 0; }},
    {Hook::resid_pre, "hook_resid_pre", true, {pos, d_model}, kAlways, Hook::resid_mid},
    {Hook::ln1_scale, "ln1.hook_scale", true, {pos, one}, kNorm1, Hook::ln_cross_scale},
    {Hook::ln1_normalized, "ln1.hook_normalized", true, {pos, d_model}, kNorm1, Hook::ln_cross_normalized},
    {Hook::q_latent, "attn.hook_q_latent", true, {pos, query_rank}, [](C c, L) { return c.latent.query_rank > 0; }},
    {Hook::gate, "attn.hook_gate", true, {pos, head, d_value}, kStateSpace},
    {Hook::conv_in, "attn.hook_conv_in", true, {pos, conv_channel}, kStateSpace},
    {Hook::q, "attn.hook_q", true, {pos, head, d_head}, kAlways, Hook::cross_q},
    {Hook::latent, "attn.hook_latent", true, {pos, rank}, kLatent},
    {Hook::k, "attn.hook_k", true, {key, kv_head, d_head}, kAlways, Hook::cross_k},
    {Hook::v, "attn.hook_v", true, {key, kv_head, d_value}, kAlways, Hook::cross_v},
    {Hook::q_norm_scale, "attn.q_norm.hook_scale", true, {pos, normed_head, one}, kQkNorm},
    {Hook::q_norm_normalized, "attn.q_norm.hook_normalized", true, {pos, head, d_head}, kQkNorm},
    {Hook::k_norm_scale, "attn.k_norm.hook_scale", true, {pos, normed_kv_head, one}, kQkNorm},
    {Hook::k_norm_normalized, "attn.k_norm.hook_normalized", true, {key, kv_head, d_head}, kQkNorm},
    {Hook::rot_q, "attn.hook_rot_q", true, {pos, head, d_head}, kRotary},
    {Hook::rot_k, "attn.hook_rot_k", true, {key, kv_head, d_head}, kRotary},
    {Hook::c2p, "attn.hook_c2p", true, {head, pos, key}, [](C c, L) { return c.disentangled.content_to_position; }},
    {Hook::p2c, "attn.hook_p2c", true, {head, pos, key}, [](C c, L) { return c.disentangled.position_to_content; }},
    {Hook::content_scores, "attn.hook_content_scores", true, {head, pos, key}, kLatent},
    {Hook::rotary_scores, "attn.hook_rotary_scores", true, {head, pos, key}, kLatent},
    {Hook::attn_scores, "attn.hook_attn_scores", true, {head, pos, key}, kAttention, Hook::cross_scores},
    {Hook::sink, "attn.hook_sink", true, {head, pos}, [](C c, L) { return c.attention_sinks; }},
    {Hook::pattern, "attn.hook_pattern", true, {head, pos, key}, kAttention, Hook::cross_pattern},
    {Hook::step, "attn.hook_step", true, {pos, head}, kStateSpace},
    {Hook::decay, "attn.hook_decay", true, {pos, head}, kStateSpace},
    {Hook::implied, "attn.hook_implied", true, {head, pos, key}, kStateSpace},
    {Hook::z, "attn.hook_z", true, {pos, head, d_value}, kAlways, Hook::cross_z},
    {Hook::skipped, "attn.hook_skipped", true, {pos, head, d_value}, kStateSpace},
    {Hook::gated, "attn.hook_gated", true, {pos, head, d_value}, kStateSpace},
    {Hook::gate_norm_scale, "attn.gate_norm.hook_scale", true, {pos, gate_group}, kStateSpace},
    {Hook::gate_norm_normalized, "attn.gate_norm.hook_normalized", true, {pos, head, d_value}, kStateSpace},
    {Hook::result, "attn.hook_result", true, {pos, head, d_model}, kAlways, Hook::cross_result},
    {Hook::ln1_post_scale, "ln1_post.hook_scale", true, {pos, one}, kBranchNorm},
    {Hook::ln1_post_normalized, "ln1_post.hook_normalized", true, {pos, d_model}, kBranchNorm},
    {Hook::attn_out, "hook_attn_out", true, {pos, d_model}, kAlways, Hook::cross_attn_out},
    {Hook::resid_mid, "hook_resid_mid", true, {pos, d_model}, kAlways, Hook::resid_mid_cross},
    {Hook::ln_cross_scale, "ln_cross.hook_scale", true, {pos, one}, kCross},
    {Hook::ln_cross_normalized, "ln_cross.hook_normalized", true, {pos, d_model}, kCross},
    {Hook::cross_q, "cross_attn.hook_q", true, {pos, head, d_head}, kCross},
    {Hook::cross_k, "cross_attn.hook_k", true, {source, head, d_head}, kCross},
    {Hook::cross_v, "cross_attn.hook_v", true, {source, head, d_head}, kCross},
    {Hook::cross_scores, "cross_attn.hook_attn_scores", true, {head, pos, source}, kCross},
    {Hook::cross_pattern, "cross_attn.hook_pattern", true, {head, pos, source}, kCross},
    {Hook::cross_z, "cross_attn.hook_z", true, {pos, head, d_head}, kCross},
    {Hook::cross_result, "cross_attn.hook_result", true, {pos, head, d_model}, kCross},
    {Hook::cross_attn_out, "hook_cross_attn_out", true, {pos, d_model}, kCross},
    {Hook::resid_mid_cross, "hook_resid_mid_cross", true, {pos, d_model}, kCross},
    {Hook::ln2_scale, "ln2.hook_scale", true, {pos, one}, kNorm2},
    {Hook::ln2_normalized, "ln2.hook_normalized", true, {pos, d_model}, kNorm2},
    {Hook::router, "mlp.hook_router", true, {pos, expert}, kExperts},
    {Hook::experts, "mlp.hook_experts", true, {pos, expert}, kExperts},
    {Hook::shared_gate,
     "mlp.hook_shared_gate",
     true,
     {pos, one},
     [](C c, L layer) { return has_experts(c, layer) && c.experts.shared_gate; }},
    {Hook::mlp_pre, "mlp.hook_pre", true, {pos, d_mlp}, kMlp},
    {Hook::mlp_pre_linear,
     "mlp.hook_pre_linear",
     true,
     {pos, d_mlp},
     [](C c, L layer) { return c.gated_mlp && has_mlp(c, layer); }},
    {Hook::mlp_post, "mlp.hook_post", true, {pos, d_mlp}, kMlp},
    {Hook::ln2_post_scale, "ln2_post.hook_scale", true, {pos, one}, kBranchNorm},
    {Hook::ln2_post_normalized, "ln2_post.hook_normalized", true, {pos, d_model}, kBranchNorm},
    {Hook::mlp_out, "hook_mlp_out", true, {pos, d_model}, kMlp},
    {Hook::resid_post_mlp, "hook_resid_post_mlp", true, {pos, d_model}, kConvolution},
    {Hook::conv_pre, "conv.hook_pre", true, {pos, d_model}, kConvolution},
    {Hook::conv_out, "hook_conv_out", true, {pos, d_model}, kConvolution},
    {Hook::ln_conv_scale, "ln_conv.hook_scale", true, {pos, one}, kConvolution},
    {Hook::ln_conv_normalized, "ln_conv.hook_normalized", true, {pos, d_model}, kConvolution},
    {Hook::resid_post, "hook_resid_post", true, {pos, d_model}, kAlways},
    {Hook::ln_final_scale, "ln_final.hook_scale", false, {pos, one}, kFinalNorm},
    {Hook::ln_final_normalized, "ln_final.hook_normalized", false, {pos, d_model}, kFinalNorm},
    {Hook::mlm_pre, "mlm_head.hook_pre", false, {pos, d_dense}, kDenseHead, {}, "class_head.hook_pre"},
    {Hook::mlm_post, "mlm_head.hook_post", false, {pos, d_dense}, kDenseHead, {}, "class_head.hook_post"},
    {Hook::mlm_ln_scale, "mlm_head.ln.hook_scale", false, {pos, one}, kDenseHeadNorm, {}, "class_head.ln.hook_scale"},
    {Hook::mlm_ln_normalized,
     "mlm_head.ln.hook_normalized",
     false,
     {pos, d_dense},
     kDenseHeadNorm,
     {},
     "class_head.ln.hook_normalized"},
    {Hook::projected, "hook_projected", false, {pos, d_projection}, [](C c, L) { return c.d_projection > 0; }},
    {Hook::logits, "logits", false, {pos, output}, [](C c, L) { return c.has_unembedding; }, {}, "class_logits"},
});

std::int64_t size_of(Dim dim, const ModelConfig& c, std::int64_t layer, std::int64_t tokens, std::int64_t source_tokens) {
    switch (dim) {
        case none: break;
        case one: return 1;
        case pos: return tokens;
        case key: return c.stack == Stack::cross ? source_tokens : tokens;
        case source: return source_tokens;
        case head: return c.n_heads;
        case kv_head: return c.n_kv_heads;
        case normed_head: return c.qk_norm == QkNorm::whole ? 1 : c.n_heads;
        case normed_kv_head: return c.qk_norm == QkNorm::whole ? 1 : c.n_kv_heads;
        case d_head: return c.d_head;
        case d_value: return value_width(c);
        case d_model: return c.d_model;
        case d_embed: return embedding_width(c);
        case d_mlp: return mlp_width(c, layer);
        case query_rank: return c.latent.query_rank;
        case rank: return c.latent.rank;
        case expert: return c.experts.count;
        case d_projection: return c.d_projection;
        case d_dense: return c.class_head.any() ? c.d_model : embedding_width(c);
        case conv_channel: return c.state_space.conv_channels(c.n_heads * value_width(c), c.d_head);
        case gate_group: return c.state_space.norm_groups;
        case output: return logit_count(c);
    }
    return 0;
}

}  // namespace hook_rows

using hook_rows::HookRow, hook_rows::kHooks;

constexpr bool in_enum_order() {
    for (std::size_t i = 0; i < kHooks.size(); ++i)
        if (static_cast<std::size_t>(kHooks[i].hook) != i) return false;
    return static_cast<std::size_t>(Hook::logits) + 1 == kHooks.size();
}
static_assert(in_enum_order());

const HookRow& row_of(Hook hook) noexcept { return kHooks[static_cast<std::size_t>(hook)]; }

constexpr std::string_view kBlocks = "blocks.";

bool visited(const HookRow& row, const ModelConfig& c, std::int64_t layer) {
    return (c.stack != Stack::cross || row.in_decoder) && row.visited(c, layer);
}

/// Hooks of one layer in the order of the pass: post-norm models normalise after attention and after the MLP.
std::vector<Hook> layer_hooks(const ModelConfig& c, std::int64_t layer) {
    std::vector<Hook> hooks;
    for (const HookRow& row : kHooks) {
        if (!row.layered || !visited(row, c, layer)) continue;
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

std::optional<Hook> in_decoder(Hook of_cross) noexcept { return row_of(of_cross).in_decoder; }

std::string name_of(HookPoint point, const ModelConfig& c) {
    const std::string_view of_classes = row_of(point.hook).of_classes;
    if (c.class_head.any() && !of_classes.empty())
        return (c.stack == Stack::decoder && point.hook != Hook::logits ? "decoder." : "") + std::string(of_classes);
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
        if (row.layered != layered || (row.suffix != name && (row.of_classes.empty() || row.of_classes != name))) continue;
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
        } else if (visited(row, c, 0)) {
            points.push_back({row.hook, Layer(0)});
        }
    }
    return points;
}

std::vector<std::int64_t> shape_of(HookPoint point, const ModelConfig& c, std::int64_t tokens, std::int64_t source_tokens) {
    std::vector<std::int64_t> shape;
    for (const hook_rows::Dim dim : row_of(point.hook).shape)
        if (dim != hook_rows::none) shape.push_back(size_of(dim, c, point.layer.value, tokens, source_tokens));
    return shape;
}

bool glob_match(std::string_view pattern, HookPoint point, const ModelConfig& c) {
    return glob_match(pattern, name_of(point, c)) || (point.hook == Hook::logits && pattern == name_of(point));
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
