// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/capture.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "trace/hook_sets.h"

#include <algorithm>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;
using model::ModelConfig;

/// Not what q, k and z give without being kept, nor normalised copies of the stream.
bool in_default_set(Hook hook) {
    constexpr Hook kGiven[] = {Hook::sink,   Hook::attn_scores,  Hook::pattern,       Hook::implied,
                               Hook::result, Hook::cross_scores, Hook::cross_pattern, Hook::cross_result};
    // What W_O of a state space reads, from which its heads' results are made.
    if (hook == Hook::gate_norm_normalized) return true;
    return !model::is_score_term(hook) && std::ranges::find(kGiven, hook) == std::end(kGiven) &&
           !name_of(HookPoint{hook, Layer(0)}).ends_with("hook_normalized");
}

/// Layer numbers become '*', so that one suggestion stands for all layers.
std::string without_numbers(const std::string& name) {
    std::string out;
    for (const char c : name) {
        const bool digit = c >= '0' && c <= '9' && !out.empty() && (out.back() == '.' || out.back() == '*');
        if (!digit)
            out += c;
        else if (out.back() == '.')
            out += '*';
    }
    return out;
}

std::string nearest_names(const std::string& glob, const std::vector<HookPoint>& points, const ModelConfig& c) {
    const std::string sought = without_numbers(glob.substr(0, 200));
    std::vector<std::pair<std::size_t, std::string>> scored;
    for (const HookPoint& p : points) {
        if (p.layer.value > 0) continue;
        const std::string name = without_numbers(name_of(p, c));
        const std::string last = name.substr(name.rfind('.') + 1);
        const bool part = sought.size() > 2 && name.find(sought) != std::string::npos;
        scored.emplace_back(part ? 0 : std::min(edit_distance(sought, name), edit_distance(sought, last) + 1), name);
    }
    return nearest_three(std::move(scored));
}

[[noreturn]] void throw_no_match(const std::string& glob, const std::vector<HookPoint>& points, const ModelConfig& c) {
    std::string hint = "Nearest names: " + nearest_names(glob, points, c);
    const std::string every_layer = without_numbers(glob);
    if (every_layer != glob && std::any_of(points.begin(), points.end(),
                                           [&](const HookPoint& p) { return model::glob_match(every_layer, name_of(p, c)); })) {
        hint = "Layers of this model are 0 to " + std::to_string(c.n_layers - 1);
    }
    if (model::has_implied_maps(c) && (glob.find("pattern") != std::string::npos || glob.find("scores") != std::string::npos))
        hint = "This model has no softmax attention in layers that update a state: their maps are blocks.*.attn.hook_implied";
    throw Error({.problem = "No hook of this model has that name", .item = "'" + glob + "'", .hint = hint});
}

}  // namespace

std::vector<HookPoint> stored_for(const ModelConfig& c, HookPoint wanted) {
    const bool rotary = c.positions == model::Positions::rotary;
    switch (wanted.hook) {
        case Hook::c2p:
        case Hook::p2c:
        case Hook::content_scores:
        case Hook::rotary_scores:
        case Hook::attn_scores:
        case Hook::sink:
        case Hook::pattern:
            return {{rotary ? Hook::rot_q : Hook::q, wanted.layer}, {rotary ? Hook::rot_k : Hook::k, wanted.layer}};
        case Hook::implied:
            return {{Hook::q, wanted.layer}, {Hook::k, wanted.layer}, {Hook::step, wanted.layer}, {Hook::decay, wanted.layer}};
        case Hook::result: return {{has_implied_map(c, wanted.layer.value) ? Hook::gate_norm_normalized : Hook::z, wanted.layer}};
        case Hook::cross_scores:
        case Hook::cross_pattern: return {{Hook::cross_q, wanted.layer}, {Hook::cross_k, wanted.layer}};
        case Hook::cross_result: return {{Hook::cross_z, wanted.layer}};
        case Hook::mlp_post: {
            if (c.activation == model::Activation::xielu) return {wanted};  // needs weights
            std::vector<HookPoint> sources = {{Hook::mlp_pre, wanted.layer}};
            if (c.gated_mlp) sources.push_back({Hook::mlp_pre_linear, wanted.layer});
            if (model::has_experts(c, wanted.layer.value)) sources.push_back({Hook::experts, wanted.layer});
            if (model::has_experts(c, wanted.layer.value) && c.experts.shared_gate)
                sources.push_back({Hook::shared_gate, wanted.layer});
            return sources;
        }
        default: return {wanted};
    }
}

std::set<HookPoint> stored_for(const ModelConfig& c, const std::vector<HookPoint>& wanted) {
    std::set<HookPoint> stored;
    for (const HookPoint& point : wanted) {
        for (const HookPoint& source : stored_for(c, point)) stored.insert(source);
    }
    return stored;
}

std::set<HookPoint> checkpoints_for(const ModelConfig& c, const std::set<HookPoint>& stored, const std::set<HookPoint>& hooked) {
    // -1: in front of the layers; as many as there are layers: behind them.
    const auto place = [&](const HookPoint& p) {
        return model::has_layer(p.hook) ? p.layer.value : p.hook < Hook::resid_pre ? -1 : c.n_layers;
    };
    std::set<std::int64_t> whole = {-1};
    for (const HookPoint& p : hooked) whole.insert(place(p));
    std::set<HookPoint> out;
    for (const HookPoint& p : stored) {
        const bool last = p.hook == Hook::resid_post && p.layer.value + 1 == c.n_layers;
        if (p.hook == Hook::resid_pre || last || whole.contains(place(p))) out.insert(p);
    }
    return out;
}

CapturePlan CapturePlan::everything() { return {.globs = {"all"}}; }

std::vector<HookPoint> CapturePlan::resolve(const ModelConfig& c, bool may_be_elsewhere) const {
    const std::vector<HookPoint> points = model::hooks_of(c);
    std::vector<bool> chosen(points.size(), false);
    for (std::size_t i = 0; i < points.size() && globs.empty(); ++i) chosen[i] = in_default_set(points[i].hook);
    for (const std::string& glob : globs) {
        bool matched = false;
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (glob != "all" && !model::glob_match(glob, points[i], c)) continue;
            matched = chosen[i] = true;
        }
        if (!matched && !may_be_elsewhere) throw_no_match(glob, points, c);
    }
    std::vector<HookPoint> result;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (chosen[i]) result.push_back(points[i]);
    }
    return result;
}

}  // namespace headlight::trace
