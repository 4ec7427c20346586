// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/selection.h"

#include "headlight/analyze/heads/head_query.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/model/classes.h"

#include <algorithm>
#include <set>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;

std::string up_to(std::int64_t count) { return count == 1 ? "0" : "0 to " + std::to_string(count - 1); }

std::int64_t position_of(const Edit& edit, const PositionName& name, const text::Encoding& encoding, const Recipe& recipe,
                         const Sources::Internals& sources) {
    std::int64_t at = name.offset;
    if (name.name == "END") {
        at += end_of(encoding, sources);
    } else if (!name.name.empty()) {
        const auto named = recipe.names.find(name.name);
        if (named == recipe.names.end()) {
            std::vector<std::string> known = {"END", "special", "punctuation", "words"};
            for (const auto& [each, position] : recipe.names) known.push_back(each);
            const std::string right = nearest(name.name, known);
            std::string all;
            for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
            fail_edit(edit, "The recipe has no position of this name", all, name.name,
                      right.empty() ? "" : "Did you mean \"" + right + "\"?");
        }
        at += named->second;
    }
    if (at < 0 || at >= encoding.size()) fail_edit(edit, "There is no such position", up_to(encoding.size()), std::to_string(at));
    return at;
}

std::vector<std::int64_t> of_class(TokenClass token_class, const text::Encoding& encoding, const Sources::Internals& sources) {
    std::vector<std::int64_t> at;
    const std::vector<bool> punctuation = model::reads_pictures(sources.model->config())
                                              ? std::vector<bool>(static_cast<std::size_t>(encoding.size()))
                                              : text::punctuation(*sources.tokenizer, encoding).any;
    for (std::int64_t i = 0; i < encoding.size(); ++i) {
        const auto index = static_cast<std::size_t>(i);
        const TokenClass own = encoding.special[index] ? TokenClass::special
                               : punctuation[index]    ? TokenClass::punctuation
                                                       : TokenClass::words;
        if (own == token_class) at.push_back(i);
    }
    return at;
}

/// How many units the axis of a site has in this layer, as a person counts them.
std::int64_t units_of(const Edit& edit, const model::ModelConfig& c, std::int64_t layer) {
    switch (row_of(edit.site).axis) {
        case Axis::none: return 0;
        case Axis::head: return c.n_heads;
        case Axis::kv_head: return edit.groups ? c.n_kv_heads : c.n_heads;
        case Axis::neuron: return model::mlp_width(c, layer);
        case Axis::expert: return c.experts.count;
    }
    return 0;
}

const char* unit_name(Axis axis) {
    switch (axis) {
        case Axis::neuron: return "neuron";
        case Axis::expert: return "expert";
        default: return "head";
    }
}

/// Query heads that a finder's expression finds.
std::set<HeadId> found_heads(const Edit& edit, Sources::Internals& sources, const CancelToken& cancel, const Progress& progress) {
    const auto trace = trace::part_of(sources.plain(cancel, progress), edit.stack);
    const analyze::HeadTable table = analyze::head_table(*trace);
    analyze::HeadQuery query = analyze::HeadQuery::parse(edit.finder, table, trace.get());
    query.measure(*trace, cancel);
    const analyze::HeadTable with_terms = query.with_terms(table);
    std::set<HeadId> heads;
    for (std::int64_t l = 0; l < table.n_layers; ++l)
        for (std::int64_t h = 0; h < table.n_heads; ++h)
            if (query.matches(with_terms, {Layer(l), Head(h)})) heads.insert({Layer(l), Head(h)});
    if (heads.empty()) fail_edit(edit, "No head matches", {}, query.why_none(with_terms));
    return heads;
}

bool is_scale(Hook hook) {
    switch (hook) {
        case Hook::embed_norm_scale:
        case Hook::ln1_scale:
        case Hook::q_norm_scale:
        case Hook::k_norm_scale:
        case Hook::ln1_post_scale:
        case Hook::ln_cross_scale:
        case Hook::ln2_scale:
        case Hook::ln2_post_scale:
        case Hook::ln_conv_scale:
        case Hook::ln_final_scale:
        case Hook::mlm_ln_scale: return true;
        default: return false;
    }
}

}  // namespace

std::int64_t end_of(const text::Encoding& encoding, const Sources::Internals& sources) {
    const model::ModelConfig& c = sources.model->config();
    if (const auto read = model::class_position(c, encoding.ids)) return *read;
    if (model::reads_pictures(c)) return 0;
    if (model::fills_masks(c))
        if (const auto mask = sources.tokenizer->mask_id())
            if (const auto at = std::ranges::find(encoding.ids, *mask); at != encoding.ids.end())
                return at - encoding.ids.begin();
    return encoding.size() - 1;
}

Rows rows_at(const Edit& edit, const Positions& positions, const text::Encoding& encoding, const Recipe& recipe,
             const Sources::Internals& sources) {
    if (positions.empty()) return {};
    std::set<std::int64_t> at;
    for (const PositionRange& range : positions) {
        if (range.of_class != TokenClass::none) {
            const auto some = of_class(range.of_class, encoding, sources);
            at.insert(some.begin(), some.end());
            continue;
        }
        const std::int64_t first = position_of(edit, range.first, encoding, recipe, sources);
        const std::int64_t last = position_of(edit, range.last, encoding, recipe, sources);
        if (last < first)
            fail_edit(edit, "A range of positions ends before it begins", std::to_string(first) + " or more",
                      std::to_string(last));
        for (std::int64_t i = first; i <= last; ++i) at.insert(i);
    }
    if (at.empty()) fail_edit(edit, "The text has no such token", positions_text(positions), "none");
    return {.all = false, .at = {at.begin(), at.end()}};
}

Targets targets_of(const Edit& edit, Sources::Internals& sources, const CancelToken& cancel, const Progress& progress,
                   std::vector<std::string>& notes) {
    const model::ModelConfig& c = sources.part(edit).config();
    const Axis axis = row_of(edit.site).axis;
    std::map<std::int64_t, std::optional<std::set<std::int64_t>>> chosen;
    std::vector<Place> places = edit.where;
    if (places.empty()) places.push_back({});
    for (Place place : places) {
        if (place.layers.empty()) place.layers.push_back({0, c.n_layers - 1});
        for (const Span& layers : place.layers) {
            if (layers.last >= c.n_layers)
                fail_edit(edit, "There is no such layer", up_to(c.n_layers), std::to_string(layers.last));
            for (std::int64_t l = layers.first; l <= layers.last; ++l) {
                auto& units = chosen[l];
                if (place.units.empty()) {
                    units = std::nullopt;
                    continue;
                }
                if (!units) units.emplace();
                const std::int64_t count = units_of(edit, c, l);
                for (const Span& span : place.units) {
                    if (span.last >= count)
                        fail_edit(edit, std::string("Layer ") + std::to_string(l) + " has no such " + unit_name(axis),
                                  up_to(count), std::to_string(span.last));
                    for (std::int64_t u = span.first; u <= span.last; ++u) units->insert(u);
                }
            }
        }
    }
    if (!edit.finder.empty()) {
        if (axis != Axis::head && axis != Axis::kv_head)
            fail_edit(edit, "A finder expression selects heads only", "a head's site", std::string(row_of(edit.site).word));
        const std::set<HeadId> found = found_heads(edit, sources, cancel, progress);
        std::map<std::int64_t, std::optional<std::set<std::int64_t>>> kept;
        for (const HeadId head : found) {
            const auto layer = chosen.find(head.layer.value);
            if (layer == chosen.end() || (layer->second && !layer->second->contains(head.head.value))) continue;
            auto& units = kept[head.layer.value];
            if (!units) units.emplace();
            units->insert(head.head.value);
        }
        if (kept.empty()) fail_edit(edit, "No head of these matches", edit.finder, "none");
        chosen = std::move(kept);
    }

    const std::int64_t group = c.n_kv_heads > 0 ? c.n_heads / c.n_kv_heads : 1;
    Targets targets;
    for (const auto& [layer, units] : chosen) {
        auto& out = targets[layer];
        if (!units) continue;
        std::set<std::int64_t> own = *units;
        if (axis == Axis::kv_head && !edit.groups && group > 1) {
            own.clear();
            for (const std::int64_t head : *units) own.insert(head / group);
            if (static_cast<std::int64_t>(own.size()) * group != static_cast<std::int64_t>(units->size()))
                notes.push_back(words_of(edit) + ": " + std::to_string(group) +
                                " query heads read each of these keys and values, and all of them change");
        }
        out.emplace(own.begin(), own.end());
    }
    return targets;
}

std::vector<StackPoint> points_of(const Edit& edit, const Sources::Internals& sources, const Targets& targets) {
    const model::ModelConfig& c = sources.part(edit).config();
    const std::vector<HookPoint> visited = model::hooks_of(c);
    std::vector<StackPoint> points;
    if (edit.site == Site::norm) {
        const bool every = edit.where.empty();
        for (const HookPoint& point : visited)
            if (is_scale(point.hook) && (model::has_layer(point.hook) ? targets.contains(point.layer.value) : every))
                points.push_back({edit.stack, point});
        if (points.empty()) fail_edit(edit, "These layers have no norm");
        return points;
    }
    const Hook hook = row_of(edit.site).hook;
    if (c.parallel && edit.site == Site::resid_mid)
        fail_edit(edit, "No block of this model reads this site: attention and MLP read the same stream",
                  "resid_pre, attn_out, mlp_out or resid_post", "resid_mid");
    if (!model::has_layer(hook)) {
        if (!edit.where.empty()) fail_edit(edit, "This site has no layers", std::string(row_of(edit.site).word) + " alone");
        return {{edit.stack, {hook, Layer(0)}}};
    }
    for (const auto& [layer, units] : targets) {
        const HookPoint point{hook, Layer(layer)};
        if (std::ranges::find(visited, point) == visited.end())
            fail_edit(edit, "This model has no such site", "a hook of docs/hooks.md that it has",
                      std::string(row_of(edit.site).word) + " in layer " + std::to_string(layer));
        points.push_back({edit.stack, point});
    }
    return points;
}

}  // namespace headlight::intervention
