// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/rope_config.h"

#include <cmath>

namespace headlight::model {
namespace {

void read_yarn(const ConfigReader& json, Rope& rope) {
    rope.scaling = RopeScaling::yarn;
    rope.beta_fast = json.number({"beta_fast"}, 32.0);
    rope.beta_slow = json.number({"beta_slow"}, 1.0);
    rope.truncate = json.flag("truncate", true);
    const auto stretched = [&](double by) { return rope.factor <= 1 ? 1.0 : 0.1 * by * std::log(rope.factor) + 1.0; };
    double factor = stretched(1.0);
    const auto is_set = [&](const char* name) { return json.has(name) && json.raw(name) != 0; };
    if (is_set("mscale") && is_set("mscale_all_dim"))
        factor = stretched(json.number({"mscale"})) / stretched(json.number({"mscale_all_dim"}));
    rope.attention_factor = json.number({"attention_factor"}, factor);
}

void read_longrope(const ConfigReader& json, const ModelConfig& c, Rope& rope) {
    rope.scaling = RopeScaling::longrope;
    rope.short_factors = json.numbers("short_factor");
    rope.long_factors = json.numbers("long_factor");
    for (const auto& [name, list] :
         {std::pair("short_factor", &rope.short_factors), std::pair("long_factor", &rope.long_factors)})
        if (static_cast<std::int64_t>(list->size()) != c.rope_dims / 2)
            json.wrong(name, std::to_string(c.rope_dims / 2) + " numbers, one for each frequency", std::to_string(list->size()));
    const auto original = static_cast<double>(rope.original_context);
    const double factor = json.number({"factor"}, static_cast<double>(c.context_length) / original);
    rope.attention_factor =
        json.number({"attention_factor"}, factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(original)));
}

/// `json`: the object with the rotary fields; `top`: the whole file.
Rope read_one(const ConfigReader& json, const ConfigReader& top, const ModelConfig& c, double theta) {
    Rope rope;
    rope.theta = json.number({"rope_theta"}, theta);
    const std::string type = json.text({"rope_type", "type"}, "default");
    if (type == "default") return rope;
    const auto original = [&](std::optional<std::int64_t> fallback = {}) {
        if (json.has("original_max_position_embeddings")) return json.size({"original_max_position_embeddings"}, kMaxContext);
        if (top.has("original_max_position_embeddings")) return top.size({"original_max_position_embeddings"}, kMaxContext);
        return json.size({"original_max_position_embeddings"}, kMaxContext, fallback);
    };
    if (type == "longrope" || type == "su") {
        rope.original_context = original(c.context_length > 0 ? std::optional(c.context_length) : std::nullopt);
        read_longrope(json, c, rope);
        return rope;
    }
    if (type == "yarn") {
        rope.original_context = original(c.context_length > 0 ? std::optional(c.context_length) : std::nullopt);
        rope.factor = json.has("factor") ? json.number({"factor"})
                                         : static_cast<double>(c.context_length) / static_cast<double>(rope.original_context);
        read_yarn(json, rope);
        return rope;
    }
    if (type != "linear" && type != "llama3" && type != "dynamic")
        json.unsupported(json.has("rope_type") ? "rope_type" : "type", "one of default, linear, dynamic, llama3, yarn, longrope");
    rope.factor = json.number({"factor"});
    rope.scaling = type == "linear" ? RopeScaling::linear : type == "dynamic" ? RopeScaling::dynamic : RopeScaling::llama3;
    if (type == "dynamic") {
        rope.original_context = c.context_length;
        if (c.rope_dims <= 2)
            json.wrong("rope_type", "more than 2 rotated numbers a head, for dynamic", std::to_string(c.rope_dims));
    }
    if (type != "llama3") return rope;
    rope.low_freq_factor = json.number({"low_freq_factor"});
    rope.high_freq_factor = json.number({"high_freq_factor"});
    rope.original_context = original();
    if (rope.high_freq_factor <= rope.low_freq_factor)
        json.wrong("high_freq_factor", "more than low_freq_factor " + std::to_string(rope.low_freq_factor),
                   std::to_string(rope.high_freq_factor));
    return rope;
}

}  // namespace

void read_rope(const ConfigReader& json, ModelConfig& c, std::optional<double> own_share, double default_theta) {
    auto rope = json.object("rope_parameters");
    if (!rope) rope = json.object("rope_scaling");
    const double theta = json.number({"rope_theta", "rotary_emb_base"}, default_theta);
    double share = json.number({"partial_rotary_factor", "rotary_pct", "rope_pct"}, own_share.value_or(1.0));
    // Files with several kinds of layers have one object per kind.
    std::optional<ConfigReader> global = rope, local;
    if (rope) {
        if (auto full = rope->object_of_kind("full_attention")) {
            global = full;
            local = rope->object_of_kind("sliding_attention");
        }
        share = global->number({"partial_rotary_factor"}, share);
    }
    if (!own_share && (!global || global->text({"rope_type", "type"}, "default") == "default")) share = 1.0;
    c.rope_dims = static_cast<std::int64_t>(static_cast<double>(c.d_head) * share);
    if (c.rope_dims < 2 || c.rope_dims % 2 != 0 || c.rope_dims > c.d_head)
        json.wrong(share == 1.0 ? "head_dim" : "partial_rotary_factor", "an even number of rotated numbers a head, for rotation",
                   std::to_string(c.rope_dims));
    c.rope.theta = c.local_rope.theta = theta;
    if (global) c.rope = read_one(*global, json, c, theta);
    if (local) c.local_rope = read_one(*local, json, c, theta);
}

}  // namespace headlight::model
