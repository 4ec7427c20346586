// SPDX-License-Identifier: GPL-3.0-or-later
// A second run beside the one that a view is of.
#include "figure/core/command_words.h"
#include "figure/core/draw.h"
#include "headlight/figure/core/sides.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/trace/edits.h"

#include <QFileInfo>
#include <QStringList>

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

std::optional<Position> moved(Position at, const std::vector<std::int64_t>& to) {
    const auto i = static_cast<std::size_t>(at.value);
    return i < to.size() && to[i] >= 0 ? std::optional(Position(to[i])) : std::nullopt;
}

void carry(std::optional<Position>& at, const std::vector<std::int64_t>& to) {
    if (at) at = moved(*at, to);
}

void carry(std::vector<Position>& pins, const std::vector<std::int64_t>& to) {
    std::vector<Position> kept;
    for (const Position pin : pins)
        if (const auto at = moved(pin, to)) kept.push_back(*at);
    pins = std::move(kept);
}

/// For every position of b the first of its unit's partner, or -1.
std::vector<std::int64_t> positions_in_a(const intervention::Alignment& alignment) {
    std::vector<std::int64_t> to;
    const std::vector<std::int64_t> back = alignment.back();
    for (std::size_t unit = 0; unit < alignment.b.size(); ++unit)
        to.insert(to.end(), static_cast<std::size_t>(alignment.b[unit].count),
                  back[unit] < 0 ? -1 : alignment.a[static_cast<std::size_t>(back[unit])].first);
    return to;
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
    carry(state.query, pair.queries.positions());
    carry(state.key, pair.keys.positions());
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

SidePlaces::SidePlaces(const Beside& beside)
    : queries_{beside.pair->queries.positions(), positions_in_a(beside.pair->queries)},
      keys_{beside.pair->keys.positions(), positions_in_a(beside.pair->keys)} {}

std::optional<Position> SidePlaces::query_in_b(Position at) const { return moved(at, queries_.to_b); }
std::optional<Position> SidePlaces::key_in_b(Position at) const { return moved(at, keys_.to_b); }

Selection SidePlaces::in_b(Selection s) const {
    carry(s.hover_query, queries_.to_b);
    carry(s.hover_key, keys_.to_b);
    carry(s.pinned_queries, queries_.to_b);
    carry(s.pinned_keys, keys_.to_b);
    return s;
}

Hit SidePlaces::in_a(Hit hit) const {
    carry(hit.query, queries_.to_a);
    carry(hit.key, keys_.to_a);
    return hit;
}

bool shows_b(const ViewState& state) { return state.beside && state.side == Side::b && !view_spec(state.view).compares; }

QString side_words(const std::vector<std::pair<std::string, std::string>>& options) {
    constexpr qsizetype most = 90;  // characters of a text
    QStringList of_b, edits;
    bool side_b = false;
    for (const auto& [name, value] : options) {
        const QString words = QString::fromStdString(value).simplified();
        if (name == "side") side_b = value == enum_word(Side::b);
        if (name == "other" || name == "with-image") of_b << QFileInfo(words).fileName();
        if (name == "with" || name == "with-pair")
            of_b << QStringLiteral("“%1”").arg(words.size() > most ? words.left(most).trimmed() + u'…' : words);
        if (name == "edit") of_b << words;
        if (name == "edits") edits << words;
    }
    if (side_b) return QStringLiteral("B: ") + of_b.join(QStringLiteral(", "));
    return edits.isEmpty() ? QString() : QStringLiteral("edited: ") + edits.join(QStringLiteral(", "));
}

void paint_side_words(QPainter& painter, const QRectF& page, const QString& words, const Theme& theme, const QColor& ground) {
    if (words.isEmpty()) return;
    constexpr double margin = 16, baseline = 14, height = 17;
    const QFont& font = ui_font(12);
    const QString shown = draw::elided(words, font, page.width() - 2 * margin);
    const double width = draw::text_width(shown, font);
    const QPointF right = page.topRight() + QPointF(-margin, baseline);
    if (ground.isValid()) painter.fillRect(QRectF(right.x() - width - 6, page.top(), width + 6, height), ground);
    draw::text(painter, right, shown, font, theme.muted, draw::Align::right);
}

}  // namespace headlight::figure
