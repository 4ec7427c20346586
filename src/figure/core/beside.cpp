// SPDX-License-Identifier: GPL-3.0-or-later
// A second run beside the one that a view is of.
#include "figure/core/command_words.h"
#include "headlight/figure/core/request.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/trace/edits.h"

#include <algorithm>
#include <filesystem>

namespace headlight::figure {
namespace {

std::string absolute_file(const std::string& file) { return std::filesystem::absolute(file).lexically_normal().string(); }

/// In quotation marks, of a long text its beginning.
std::string quoted_text(const std::string& text) {
    constexpr qsizetype most = 160;
    QString shown = QString::fromStdString(text).simplified();
    if (shown.size() > most) {
        shown.truncate(shown.at(most - 1).isHighSurrogate() ? most - 1 : most);
        shown = shown.trimmed() + u'…';
    }
    return QStringLiteral("“%1”").arg(shown).toStdString();
}

}  // namespace

std::shared_ptr<const Beside> beside(const TracePtr& a, const TracePtr& b) {
    auto out = std::make_shared<Beside>();
    out->pair = std::make_shared<const intervention::RunPair>(intervention::pair_of(a, b));
    const auto add = [&](const char* option, const std::string& value, const std::string& shown) {
        out->options.emplace_back(option, value);
        out->words += (out->words.empty() ? "" : ", ") + shown;
    };
    if (!out->pair->same_model()) add("other", model_reference(b->model()->folder()), b->config().name);
    if (b->picture().pixels && b->picture().file != a->picture().file)
        add("with-image", absolute_file(b->picture().file), std::filesystem::path(b->picture().file).filename().string());
    if (b->text_a() != a->text_a()) add("with", b->text_a(), quoted_text(b->text_a()));
    if (b->text_b() != a->text_b()) add("with-pair", b->text_b(), quoted_text(b->text_b()));
    if (trace::edits_of(*b) != trace::edits_of(*a))
        for (const std::string& edit : trace::edits_of(*b)) add("edit", edit, edit);
    if (out->words.empty()) out->words = "the same";
    return out;
}

ViewState state_of_b(const Beside& beside, ViewState state) {
    const intervention::RunPair& pair = *beside.pair;
    const model::ModelConfig& config = pair.b->config();
    const auto move = [](std::optional<Position>& pin, const intervention::Alignment& alignment) {
        if (!pin) return;
        const auto to = alignment.positions();
        const auto at = static_cast<std::size_t>(pin->value);
        pin = at < to.size() && to[at] >= 0 ? std::optional(Position(to[at])) : std::nullopt;
    };
    move(state.query, pair.queries);
    move(state.key, pair.keys);
    state.layer.value = std::min(state.layer.value, config.n_layers - 1);
    const auto lacks = [&](Head head) { return head.value >= config.n_heads; };
    if (std::erase_if(state.heads, lacks) > 0 && state.heads.empty()) state.heads.push_back(Head(config.n_heads - 1));
    if (state.detail && (state.detail->layer.value >= config.n_layers || lacks(state.detail->head))) state.detail.reset();
    if (state.neuron && (state.neuron->layer.value >= config.n_layers ||
                         state.neuron->neuron.value >= model::mlp_width(config, state.neuron->layer.value)))
        state.neuron.reset();
    if (!pair.b->has_sentence_pair()) state.pattern.filter = analyze::PairFilter::all;
    if (state.pattern.weighting == analyze::Weighting::layer_mix_norm && !config.post_norm)
        state.pattern.weighting = analyze::Weighting::layer_mix_residual;
    state.batch.reset();
    if (!pair.same_model()) state.corpus.reset();
    return state;
}

}  // namespace headlight::figure
