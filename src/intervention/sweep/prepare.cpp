// SPDX-License-Identifier: GPL-3.0-or-later
// Checks and axes of a sweep.
#include "headlight/base/error.h"
#include "intervention/sweep/work.h"

#include <algorithm>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;

void check_site(const model::ModelConfig& c, Site site, const SweepOptions& o) {
    const std::vector<HookPoint> hooks = model::hooks_of(c);
    const SiteRow& row = row_of(site);
    if (std::ranges::none_of(hooks, [&](HookPoint p) { return p.hook == row.hook; }))
        throw Error(
            ErrorFacts{.problem = "This model has no " + std::string(row.title), .item = c.name, .found = std::string(row.word)});
    if (site == Site::resid_mid && c.parallel)
        throw Error(ErrorFacts{.problem = "No block of this model reads the stream between attention and MLP",
                               .item = c.name,
                               .found = "resid_mid",
                               .hint = "Attention and MLP stand beside each other here: sweep resid_pre, attn_out or mlp_out"});
    if (o.ablation == Ablation::knockout && site != Site::pattern)
        throw Error(ErrorFacts{.problem = "Only attention weights can be knocked out",
                               .expected = "pattern, pattern_by_destination or pattern_by_edge",
                               .found = std::string(enum_word(o.grid))});
}

void check_indices(const std::vector<std::int64_t>& list, std::int64_t count, const char* what) {
    for (const std::int64_t i : list)
        if (i < 0 || i >= count)
            throw Error(ErrorFacts{.problem = std::string("There is no such ") + what + " in this model",
                                   .expected = "0 to " + std::to_string(count - 1),
                                   .found = std::to_string(i)});
}

void check_text(const SweepText& text, const char* which, std::size_t pair) {
    const auto where = [&] { return "pair " + std::to_string(pair + 1) + ", " + which; };
    if (text.ids.empty()) throw Error(ErrorFacts{.problem = "A text of the sweep has no tokens", .item = where()});
    if (text.end < 0 || text.end >= std::ssize(text.ids))
        throw Error(ErrorFacts{.problem = "The position of the answer is not in the text",
                               .item = where(),
                               .expected = "0 to " + std::to_string(text.ids.size() - 1),
                               .found = std::to_string(text.end)});
    for (const auto& [name, rows] : text.places)
        for (const std::int64_t row : rows)
            if (row < 0 || row >= std::ssize(text.ids))
                throw Error(ErrorFacts{.problem = "A named position is not in the text",
                                       .item = where() + ", " + name,
                                       .expected = "0 to " + std::to_string(text.ids.size() - 1),
                                       .found = std::to_string(row)});
}

/// Names that every pair has, in the order of their places in the first text.
std::vector<std::string> shared_names(const std::vector<SweepPair>& pairs, const SweepOptions& o) {
    std::vector<std::string> names;
    for (const auto& [name, rows] : base_of(pairs.front(), o).places) {
        const bool everywhere =
            std::ranges::all_of(pairs, [&](const SweepPair& pair) { return base_of(pair, o).places.contains(name); });
        if (everywhere && !rows.empty()) names.push_back(name);
    }
    const auto& places = base_of(pairs.front(), o).places;
    std::ranges::stable_sort(names, {}, [&](const std::string& name) { return places.at(name).front(); });
    return names;
}

}  // namespace

Sweep prepare(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& asked) {
    SweepOptions o = asked;
    if (!o.to.empty()) o.effect = Effect::direct;
    const model::ModelConfig& c = model->config();
    if (pairs.empty()) throw Error(ErrorFacts{.problem = "There is no pair of texts to sweep"});
    if (o.window < 1) throw Error(ErrorFacts{.problem = "A window has at least one layer", .found = std::to_string(o.window)});
    if (o.grid == Grid::neuron && o.layers.empty())
        throw Error(ErrorFacts{.problem = "A sweep of neurons needs its layers",
                               .found = std::to_string(c.n_layers * c.d_mlp) + " neurons in all",
                               .hint = "Name one or a few layers"});
    if (o.ablation == Ablation::resample && pairs.size() < 2)
        throw Error(ErrorFacts{.problem = "Resampling needs other texts", .expected = "two pairs or more", .found = "1"});
    if (o.ablation == Ablation::mean && pairs.size() < 2 && sites_of(o.grid).front() == Site::pattern)
        throw Error(ErrorFacts{.problem = "The mean of a pattern over the positions of one text is not defined",
                               .hint = "Give several pairs, or another ablation"});
    if (o.method != Method::exact && o.metric == Metric::rank)
        throw Error(ErrorFacts{.problem = "A rank has no gradient, so attribution cannot estimate it",
                               .hint = "Use another metric, or the method exact"});
    if (o.method != Method::exact && o.effect == Effect::direct)
        throw Error(ErrorFacts{.problem = "Attribution estimates total effects", .hint = "Use the method exact for direct ones"});
    if (o.metric == Metric::loss && !c.causal)
        throw Error(ErrorFacts{.problem = "This model does not predict the next token, so a text has no loss",
                               .item = c.name,
                               .hint = "Use another metric, read at the mask"});
    if (has_cross_attention(c) != !pairs.front().clean.source.empty())
        throw Error(ErrorFacts{.problem = has_cross_attention(c) ? "A sweep of this model needs the text that its encoder reads"
                                                                 : "This model reads no source",
                               .item = c.name});
    Sweep sweep{model, pairs, {}};
    sweep.receivers = receivers_of(o.to, c);
    SweepResult& r = sweep.result;
    r.options = o;
    bool one_length = true;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        check_text(pairs[i].clean, "clean", i);
        if (patches(o)) check_text(pairs[i].corrupt, "corrupt", i);
        for (const auto* answers : {&pairs[i].answers, &pairs[i].wrong}) check_indices(*answers, c.vocab_size, "token");
        one_length = one_length && base_of(pairs[i], o).ids.size() == base_of(pairs.front(), o).ids.size();
    }
    const auto tokens = std::ssize(base_of(pairs.front(), o).ids);
    if ((!one_length || o.by_name) && has_position(o.grid)) {
        r.position_names = shared_names(pairs, o);
        if (r.position_names.empty())
            throw Error(ErrorFacts{
                .problem = one_length ? "No position has a name" : "Pairs of unequal length have no positions in common",
                .expected = "texts of one length, or positions of the same names in every pair",
                .hint = "Name positions in the file of pairs, or sweep heads at all positions"});
    }
    for (const Site site : sites_of(o.grid)) {
        check_site(c, site, o);
        for (const HookPoint point : model::hooks_of(c))
            if (point.hook == row_of(site).hook) sweep.points.push_back(point);
    }
    const auto width = [&](Hook hook, std::int64_t layer) { return model::shape_of({hook, Layer(layer)}, c, tokens)[1]; };
    r.axes = {.layers = c.n_layers,
              .heads = c.n_heads,
              .kv_heads = width(Hook::k, 0),
              .positions = sweep.by_name() ? std::ssize(r.position_names) : tokens,
              .causal = c.causal && !sweep.by_name()};
    for (std::int64_t l = 0; l < c.n_layers; ++l) r.axes.neurons.push_back(width(Hook::mlp_post, l));
    check_indices(o.layers, c.n_layers, "layer");
    const bool of_groups = std::ranges::all_of(sites_of(o.grid), [](Site site) { return row_of(site).axis == Axis::kv_head; });
    check_indices(o.heads, of_groups ? r.axes.kv_heads : c.n_heads, of_groups ? "key/value head" : "head");
    r.cells = cells_of(o.grid, r.axes, o.layers, o.heads);
    r.labels = base_of(pairs.front(), o).labels;
    const auto shared = [&](std::vector<std::string> SweepPair::*words) {
        const bool same = std::ranges::all_of(pairs, [&](const SweepPair& pair) { return pair.*words == pairs.front().*words; });
        return same && o.metric != Metric::kl && o.metric != Metric::loss ? pairs.front().*words : std::vector<std::string>();
    };
    r.answer_words = shared(&SweepPair::answer_words);
    if (o.metric == Metric::logit_diff) r.wrong_words = shared(&SweepPair::wrong_words);
    return sweep;
}

}  // namespace headlight::intervention
