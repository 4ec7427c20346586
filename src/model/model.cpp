// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/model.h"

#include "headlight/io/gguf.h"
#include "headlight/io/hash.h"
#include "headlight/model/keep.h"
#include "headlight/model/locate.h"
#include "headlight/model/runtime.h"
#include "model/arithmetic/device.h"
#include "model/internals.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace headlight::model {

Model::Model(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {
    internals_->account.set(internals_->bytes_converted);
}
Model::~Model() {
    internals_.reset();
    give_memory_back();
}

const ModelConfig& Model::config() const noexcept { return internals_->config; }
const LoadReport& Model::report() const noexcept { return internals_->report; }
const std::filesystem::path& Model::folder() const noexcept { return internals_->folder; }
const std::shared_ptr<const Model>& Model::part(Stack stack) const noexcept {
    static const std::shared_ptr<const Model> none;
    return stack == Stack::encoder ? internals_->encoder : stack == Stack::cross ? internals_->cross : none;
}
ComputeType Model::dtype() const noexcept { return internals_->compute; }
std::string Model::device_name() const { return device_text(internals_->device); }

const std::string& Model::hash() const {
    std::call_once(internals_->hash_once, [this] {
        // A GGUF file holds its configuration itself.
        const std::filesystem::path config = folder_of(internals_->folder) / "config.json";
        std::string parts = io::gguf_file_of(internals_->folder) ? std::string() : io::sha256_file(config);
        const std::filesystem::path kept = kept_folder();
        for (const std::string& file : internals_->report.files)
            parts += io::sha256_file(file, {.folder = kept.empty() ? kept : kept / "hashes"});
        internals_->hash = io::sha256_hex(std::as_bytes(std::span(parts)));
    });
    return internals_->hash;
}

std::map<std::string, std::int64_t> Model::parameter_counts() const {
    const Internals& m = *internals_;
    const auto n = [](const at::Tensor& t) { return t.defined() ? t.numel() : 0; };
    const auto linear = [&](const Linear& l) { return n(l.weight) + n(l.bias); };
    const auto norm = [&](const NormWeights& w) { return n(w.gain) + n(w.bias); };
    std::map<std::string, std::int64_t> counts;
    // Factored embeddings are multiplied out when they are loaded; what the file has counts.
    const auto by_token = [&](const at::Tensor& t) {
        return m.config.d_factored > 0 && t.defined() ? t.numel() / m.config.d_model * m.config.d_factored : n(t);
    };
    counts["embedding"] = by_token(m.embed) + n(m.token_type_embed) + linear(m.embed_projection) + linear(m.patch) +
                          n(m.class_embed) + n(m.distill_embed) + n(m.register_embed);
    // Counts the file's table, also where it is interpolated to the picture.
    const ModelConfig& c = m.config;
    const bool fitted = m.pos_embed.defined() && (c.table_side > 0 || c.registers > 0);
    counts["positions"] = (c.sinusoidal ? 0
                           : fitted     ? (1 + table_patches(c)) * c.d_model
                                        : n(m.pos_embed)) +
                          n(m.relative_bias) + n(m.relative_embed);
    std::int64_t attention = 0, cross = 0, mlp = 0,
                 norms = norm(m.embed_norm) + norm(m.final_norm) + norm(m.mlm_norm) + norm(m.relative_norm) + norm(m.conv_norm);
    if (!m.config.norm_gain) norms = 0;  // the ones in their place are no parameters
    // Layers that share their weights (ALBERT) count once.
    const bool shared = m.layers.size() > 1 && m.layers[0].o.weight.is_alias_of(m.layers[1].o.weight);
    for (const LayerWeights& l : m.layers) {
        if (shared && &l != &m.layers.front()) break;
        attention += n(l.sinks) + linear(l.qkv) + linear(l.q) + linear(l.k) + linear(l.v) + linear(l.o) + linear(l.relative_q) +
                     linear(l.relative_k) + n(l.relative_rows) + n(l.attn_scale) + linear(l.q_down) + linear(l.kv_down) +
                     linear(l.kv_up) + linear(l.in_proj) + linear(l.mixer_conv) + n(l.step_bias) + n(l.rate_log) + n(l.skip);
        counts["positions"] += n(l.relative_bias);
        mlp += linear(l.mlp_in) + linear(l.mlp_up) + linear(l.mlp_out) + linear(l.router) + linear(l.shared_gate) +
               n(l.mlp_scale) + n(l.expert_bias) + n(l.router_correction);
        if (m.config.norm_gain) norms += norm(l.ln1) + norm(l.ln2);
        cross += linear(l.cross_q) + linear(l.cross_k) + linear(l.cross_v) + linear(l.cross_o);
        norms += norm(l.ln_cross) + norm(l.ln1_post) + norm(l.ln2_post) + norm(l.q_norm) + norm(l.k_norm) + n(l.q_latent_gain) +
                 n(l.latent_gain) + n(l.gate_norm);
    }
    counts["attention"] = attention;
    if (cross > 0) counts["cross_attention"] = cross;
    if (m.encoder) {
        const bool one_embedding = m.embed.defined() && m.encoder->internals().embed.is_alias_of(m.embed);
        std::int64_t& sum = counts["encoder"];
        for (const auto& [part, count] : m.encoder->parameter_counts())
            if (part != "embedding" || !one_embedding) sum += count;
    }
    if (m.config.convolution.any()) counts["convolution"] = linear(m.conv);
    counts["mlp"] = mlp;
    counts["norms"] = norms;
    counts["unembedding"] =
        (m.config.tied_unembedding ? 0 : by_token(m.unembed.weight)) + n(m.unembed.bias) + linear(m.mlm) + linear(m.projection);
    return counts;
}

Linear qkv_part(const Model::Internals& m, Layer layer, QkvPart which) {
    const auto held = weights_of(m, layer, LayerPart::attention);
    const LayerWeights& l = *held;
    const auto index = static_cast<std::int64_t>(which);
    if (m.qkv_layout == QkvLayout::separate) return which == QkvPart::q ? l.q : which == QkvPart::k ? l.k : l.v;
    const ModelConfig& c = m.config;
    const std::int64_t width = c.n_heads * c.d_head;
    const auto part = [&](const at::Tensor& t, std::int64_t dim) -> at::Tensor {
        if (!t.defined()) return {};
        if (m.qkv_layout == QkvLayout::thirds) return t.narrow(dim, index * width, width);
        const std::vector<std::int64_t> split = {c.n_heads, 3, c.d_head};
        return t.unflatten(dim, split).select(dim + 1, index).flatten(dim, dim + 1);
    };
    return {part(l.qkv.weight, 1), part(l.qkv.bias, 0)};
}

namespace {

/// 2^(-largest i / n), i from 1; if n is no power of two, every other slope of the next power comes first.
at::Tensor mpt_slopes(std::int64_t n_heads, double largest) {
    std::int64_t power = 1;
    while (power < n_heads) power *= 2;
    const at::Tensor all = at::exp2(at::arange(1, power + 1, at::kDouble) * (-largest / static_cast<double>(power)));
    return power == n_heads ? all
                            : at::cat({all.slice(0, 1, power, 2), all.slice(0, 0, power, 2)}).narrow(0, 0, n_heads).contiguous();
}

}  // namespace

at::Tensor alibi_slopes(const ModelConfig& c) {
    return c.alibi == Alibi::mpt ? mpt_slopes(c.n_heads, c.alibi_max) : alibi_slopes(c.n_heads);
}

at::Tensor alibi_bias(const ModelConfig& c, std::int64_t tokens) {
    if (c.alibi != Alibi::falcon) return alibi_slopes(c).unsqueeze(1) * at::arange(tokens, at::kDouble);
    return (alibi_slopes(c).to(at::kBFloat16).unsqueeze(1) * at::arange(tokens, at::kLong)).to(at::kDouble) * c.score_scale;
}

at::Tensor alibi_slopes(std::int64_t n_heads) {
    std::int64_t power = 1;
    while (power * 2 <= n_heads) power *= 2;
    const auto base = [](std::int64_t n) { return std::exp2(-8.0 / static_cast<double>(n)); };
    at::Tensor slopes = at::empty({n_heads}, at::kDouble);
    auto* out = slopes.data_ptr<double>();
    for (std::int64_t h = 0; h < n_heads; ++h)
        out[h] = h < power ? std::pow(base(power), static_cast<double>(h + 1))
                           : std::pow(base(2 * power), static_cast<double>(2 * (h - power) + 1));
    return slopes;
}

std::string layer_label(const ModelConfig& c, std::int64_t layer) {
    const auto differs = [&](const auto& each) {
        return std::ranges::any_of(each, [&](const auto& x) { return x != each.front(); });
    };
    std::string label;
    if (differs(c.windows)) {
        const std::int64_t window = window_of(c, layer);
        label = window > 0 ? "local " + std::to_string(window) : window < 0 ? "chunks of " + std::to_string(-window) : "global";
    }
    const auto add = [&](const std::string& text) { label += (label.empty() ? "" : ", ") + text; };
    if (differs(c.mixers)) add(has_implied_map(c, layer) ? "state update" : "attention");
    if (rope_of(c, layer) == LayerRope::none) add("no rotation");
    if (differs(c.experts.layers)) add(has_experts(c, layer) ? "experts" : "dense MLP");
    return label;
}

}  // namespace headlight::model
