// SPDX-License-Identifier: GPL-3.0-or-later
// Checks and axes of a sweep.
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/model/classes.h"
#include "intervention/sweep/work.h"

#include <algorithm>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;

void check_site(const model::ModelConfig& c, Site site, const SweepOptions& o) {
    const std::vector<HookPoint> hooks = model::hooks_of(c);
    const SiteRow& row = row_of(site);
    if (std::ranges::none_of(hooks, [&](HookPoint p) { return p.hook == hook_of(site, o); }))
        throw Error(
            ErrorFacts{.problem = "This model has no " + std::string(row.title), .item = c.name, .found = std::string(row.word)});
    if (site == Site::resid_mid && c.parallel)
        throw Error(ErrorFacts{.problem = "No block of this model reads the stream between attention and MLP",
                               .item = c.name,
                               .found = "resid_mid",
                               .hint = "Attention and MLP stand beside each other here: sweep resid_pre, attn_out or mlp_out"});
    if (o.attention == model::Stack::cross && !model::in_decoder(row.hook))
        throw Error(ErrorFacts{.problem = "A cross attention has no " + std::string(row.title),
                               .expected = "heads, their patterns, or attn_out",
                               .found = std::string(enum_word(o.grid))});
    if ((o.ablation == Ablation::forbid || o.ablation == Ablation::force) && site != Site::router)
        throw Error(ErrorFacts{.problem = "Only experts can be forbidden and forced",
                               .expected = "expert",
                               .found = std::string(enum_word(o.grid))});
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

void check_text(const model::ModelConfig& c, const SweepText& text, const char* which, std::size_t pair) {
    const auto where = [&] { return "pair " + std::to_string(pair + 1) + ", " + which; };
    if (text.ids.empty()) throw Error(ErrorFacts{.problem = "A text of the sweep has no tokens", .item = where()});
    if (text.end < 0 || text.end >= std::ssize(text.ids))
        throw Error(ErrorFacts{.problem = "The position of the answer is not in the text",
                               .item = where(),
                               .expected = "0 to " + std::to_string(text.ids.size() - 1),
                               .found = std::to_string(text.end)});
    model::require_class_position(c, text.ids, text.end);
    for (const auto& [name, rows] : text.places)
        for (const std::int64_t row : rows)
            if (row < 0 || row >= std::ssize(text.ids))
                throw Error(ErrorFacts{.problem = "A named position is not in the text",
                                       .item = where() + ", " + name,
                                       .expected = "0 to " + std::to_string(text.ids.size() - 1),
                                       .found = std::to_string(row)});
}

void check_answers(const SweepPair& pair, std::size_t index) {
    for (const std::int64_t id : pair.answers)
        if (const auto at = std::ranges::find(pair.wrong, id); at != pair.wrong.end()) {
            const auto wrong = static_cast<std::size_t>(at - pair.wrong.begin());
            throw Error(ErrorFacts{.problem = "The right and the wrong answer are the same token",
                                   .item = "pair " + std::to_string(index + 1),
                                   .expected = "two tokens",
                                   .found = wrong < pair.wrong_words.size() ? pair.wrong_words[wrong] : std::to_string(id)});
        }
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

/// Of the positions at which all pairs have the same token; another one has the name that it alone bears in every pair, or none.
std::vector<text::TokenLabel> common_labels(const std::vector<SweepPair>& pairs, const SweepOptions& o,
                                            std::vector<std::int64_t> SweepText::*ids,
                                            std::vector<text::TokenLabel> SweepText::*labels) {
    std::vector<text::TokenLabel> out = base_of(pairs.front(), o).*labels;
    const auto everywhere = [&](const auto& holds) {
        return std::ranges::all_of(pairs, [&](const SweepPair& pair) { return holds(base_of(pair, o)); });
    };
    for (std::size_t p = 0; p < out.size(); ++p) {
        const std::int64_t first = (base_of(pairs.front(), o).*ids)[p];
        if (everywhere([&](const SweepText& text) { return p < (text.*ids).size() && (text.*ids)[p] == first; })) continue;
        out[p] = {};
        if (ids != &SweepText::ids) continue;
        for (const auto& [name, rows] : base_of(pairs.front(), o).places)
            if (everywhere([&, &name = name](const SweepText& text) {
                    const auto place = text.places.find(name);
                    return place != text.places.end() && place->second == std::vector{static_cast<std::int64_t>(p)};
                })) {
                out[p].text = name;
                break;
            }
    }
    return out;
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
                               .hint = "Name one or a few: --layers"});
    if (o.over && o.ablation != Ablation::mean && o.ablation != Ablation::resample)
        throw Error(ErrorFacts{.problem = "A file of texts is for means and resampling",
                               .item = "--over",
                               .expected = "--ablate mean or --ablate resample",
                               .found = std::string(enum_word(o.ablation))});
    if (o.ablation == Ablation::resample && !o.over && pairs.size() < 2)
        throw Error(ErrorFacts{.problem = "Resampling needs other texts",
                               .expected = "two pairs or more, or a file of texts (--over)",
                               .found = "1"});
    const bool one_mean = o.ablation == Ablation::mean && (o.over ? !o.per_position : pairs.size() < 2);
    std::vector<Site> swept = sites_of(o.grid);
    const bool without_patterns = one_mean && std::erase(swept, Site::pattern) > 0;
    if (swept.empty())
        throw Error(ErrorFacts{.problem = "The mean of a pattern over positions is not defined",
                               .hint = "Give several pairs (--pairs), --over with --per-position, or another --ablate"});
    if (o.method != Method::exact && o.metric == Metric::rank)
        throw Error(ErrorFacts{.problem = "A rank has no gradient, so attribution cannot estimate it",
                               .hint = "Use another --metric, or --method exact"});
    if (o.method != Method::exact && (o.ablation == Ablation::forbid || o.ablation == Ablation::force))
        throw Error(
            ErrorFacts{.problem = "A change of which experts are chosen has no gradient, so attribution cannot estimate it",
                       .hint = "Use --method exact"});
    if (o.method != Method::exact && o.effect != Effect::total)
        throw Error(ErrorFacts{.problem = "Attribution estimates total effects", .hint = "Use --method exact for direct ones"});
    if (o.method == Method::graddrop && c.n_layers < 2)
        throw Error(ErrorFacts{.problem = "GradDrop leaves out one layer of several",
                               .expected = "two layers or more",
                               .found = "1",
                               .hint = "Use --method attribution"});
    if (o.metric == Metric::loss) analyze::require_token_logits(c, "The loss of a text");
    if (head_of(c) == model::HeadKind::question_answering && o.metric != Metric::logit_diff)
        throw Error(
            ErrorFacts{.problem = "This model compares tokens as start and end of the answer, so one row has no probabilities",
                       .item = c.name,
                       .expected = "--metric logit-diff",
                       .found = std::string(enum_word(o.metric))});
    if (o.metric == Metric::loss && !c.causal)
        throw Error(ErrorFacts{
            .problem = "This model does not predict the next token, so a text has no loss",
            .item = c.name,
            .hint = model::reads_pictures(c) ? "Use another --metric" : "Use another --metric, read at the mask (--position)"});
    if (has_cross_attention(c) != !pairs.front().clean.source.empty())
        throw Error(ErrorFacts{.problem = has_cross_attention(c) ? "A sweep of this model needs the text that its encoder reads"
                                                                 : "This model reads no source",
                               .item = c.name});
    if (o.attention == model::Stack::encoder || (o.attention == model::Stack::cross && !has_cross_attention(c)))
        throw Error(ErrorFacts{.problem = o.attention == model::Stack::cross ? "This model has no cross attention"
                                                                             : "Sweeps edit the decoder, not the encoder",
                               .item = c.name,
                               .expected = has_cross_attention(c) ? "self or cross" : "self",
                               .found = std::string(enum_word(o.attention))});
    Sweep sweep{model, pairs, {}};
    sweep.receivers = receivers_of(o.to, c);
    SweepResult& r = sweep.result;
    r.options = o;
    bool one_length = true, one_source = true;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        check_text(c, pairs[i].clean, "clean", i);
        if (patches(o)) check_text(c, pairs[i].corrupt, "corrupt", i);
        for (const auto* answers : {&pairs[i].answers, &pairs[i].wrong})
            check_indices(*answers, logit_count(c), has_classes(c) ? "class" : "token");
        if (o.metric == Metric::logit_diff) check_answers(pairs[i], i);
        one_length = one_length && base_of(pairs[i], o).ids.size() == base_of(pairs.front(), o).ids.size();
        one_source = one_source && base_of(pairs[i], o).source.size() == base_of(pairs.front(), o).source.size();
    }
    const bool cross = o.attention == model::Stack::cross;
    const bool by_source = has_position(o.grid) && (o.grid == Grid::edge || o.grid == Grid::pattern_by_edge ||
                                                    std::ranges::any_of(sites_of(o.grid), is_of_keys));
    if (cross && by_source && !one_source)
        throw Error(ErrorFacts{.problem = "The sources of the pairs have unequal lengths, and their positions no names",
                               .expected = "sources of one length",
                               .hint = "Sweep heads at all positions"});
    if (cross && by_source && o.by_name)
        throw Error(ErrorFacts{.problem = "Named positions are the decoder's, and this sweep goes over the source's",
                               .hint = "Leave out --by-name"});
    const auto tokens = std::ssize(base_of(pairs.front(), o).ids);
    if ((!one_length || o.by_name) && has_position(o.grid)) {
        r.position_names = shared_names(pairs, o);
        if (r.position_names.empty())
            throw Error(ErrorFacts{
                .problem = one_length ? "No position has a name" : "Pairs of unequal length have no positions in common",
                .expected = "texts of one length, or positions of the same names in every pair",
                .hint = "Name positions in the file of pairs, or sweep heads at all positions"});
    }
    if (without_patterns) r.notes.push_back("Patterns are left out: their mean over positions is not defined");
    for (const Site site : swept) {
        check_site(c, site, o);
        for (const HookPoint point : model::hooks_of(c))
            if (point.hook == hook_of(site, o)) sweep.points.push_back(point);
    }
    const auto width = [&](Hook hook, std::int64_t layer) { return model::shape_of({hook, Layer(layer)}, c, tokens)[1]; };
    r.axes = {.layers = c.n_layers,
              .heads = c.n_heads,
              .kv_heads = width(hook_of(Site::k, o), 0),
              .positions = sweep.by_name() ? std::ssize(r.position_names) : tokens,
              .causal = c.causal && !sweep.by_name()};
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        r.axes.neurons.push_back(width(Hook::mlp_post, l));
        r.axes.experts.push_back(has_experts(c, l) ? width(Hook::router, l) : 0);
    }
    if (cross) r.axes.sources = std::ssize(base_of(pairs.front(), o).source);
    check_indices(o.layers, c.n_layers, "layer");
    const bool of_groups = std::ranges::all_of(sites_of(o.grid), [](Site site) { return row_of(site).axis == Axis::kv_head; });
    check_indices(o.heads, of_groups ? r.axes.kv_heads : c.n_heads, of_groups ? "key/value head" : "head");
    r.cells = cells_of(o.grid, r.axes, o.layers, o.heads);
    std::erase_if(r.cells, [&](const SweepCell& cell) { return without_patterns && cell.site == Site::pattern; });
    r.labels = common_labels(pairs, o, &SweepText::ids, &SweepText::labels);
    if (cross) r.source_labels = common_labels(pairs, o, &SweepText::source, &SweepText::source_labels);
    const auto shared = [&](std::vector<std::string> SweepPair::*words) {
        const bool same = std::ranges::all_of(pairs, [&](const SweepPair& pair) { return pair.*words == pairs.front().*words; });
        return same && o.metric != Metric::kl && o.metric != Metric::loss ? pairs.front().*words : std::vector<std::string>();
    };
    r.answer_words = shared(&SweepPair::answer_words);
    if (o.metric == Metric::logit_diff) r.wrong_words = shared(&SweepPair::wrong_words);
    return sweep;
}

}  // namespace headlight::intervention
