// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/composition_graph.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace headlight::figure {
namespace {

using analyze::Composition;

constexpr std::array<Composition, 3> all_kinds = {Composition::q, Composition::k, Composition::v};
constexpr double legend_height = 34, plot_title_height = 18;
constexpr std::int64_t arcs_of_a_head = 12;

QString kind_name(Composition kind) { return QString::fromLatin1(analyze::name_of(kind)); }

QColor color_of(Composition kind, const Style& style) {
    return head_color(*style.theme, style.palette, static_cast<std::int64_t>(kind));
}

}  // namespace

std::vector<CompositionArc> strongest_arcs(const analyze::CompositionScores& scores, const CompositionOptions& o,
                                           std::optional<HeadId> of) {
    std::vector<CompositionArc> arcs;
    for (const Composition kind : all_kinds) {
        if (!o.has(kind)) continue;
        for (std::int64_t a = 0; a < scores.n_layers * scores.n_heads; ++a)
            for (std::int64_t b = (a / scores.n_heads + 1) * scores.n_heads; b < scores.n_layers * scores.n_heads; ++b) {
                const HeadId from{Layer(a / scores.n_heads), Head(a % scores.n_heads)},
                    to{Layer(b / scores.n_heads), Head(b % scores.n_heads)};
                if (of && from != *of && to != *of) continue;
                const double score = scores.at(kind, from, to);
                if (score > 0 && score >= o.threshold) arcs.push_back({kind, from, to, score});
            }
    }
    const auto count = std::min(static_cast<std::ptrdiff_t>(std::max<std::int64_t>(0, o.most)), std::ssize(arcs));
    std::partial_sort(arcs.begin(), arcs.begin() + count, arcs.end(), [](const CompositionArc& a, const CompositionArc& b) {
        if (a.score != b.score) return a.score > b.score;
        if (a.from != b.from) return a.from < b.from;
        return a.to != b.to ? a.to < b.to : a.kind < b.kind;
    });
    arcs.resize(static_cast<std::size_t>(count));
    return arcs;
}

CompositionLayout composition_layout(std::int64_t layers, std::int64_t heads, QSizeF available, const std::vector<bool>& used) {
    // Rows in which arcs stay distinct, rows that still read as such, and what a row without an arc takes of one.
    constexpr double best_row = 44, least_row = 12, most_row = 130, own_choice = 92, unused = 0.3;
    CompositionLayout at;
    at.layers = layers;
    at.heads = heads;
    at.left = 70;
    const double top = 46 + plot_title_height, across = double(std::max<std::int64_t>(1, heads - 1));
    at.pitch_x = std::clamp((available.width() - at.left - 40) / across, 5.0, 150.0);
    const double room = available.height() - top - legend_height - 40;
    std::vector<double> share(static_cast<std::size_t>(std::max<std::int64_t>(0, layers - 1)), 1);  // of the gap below
    double row = available.height() > 0 ? std::min(room / std::max(1.0, double(share.size())), most_row) : own_choice;
    if (row < best_row && !used.empty()) {
        double shares = 0;
        for (std::size_t l = 0; l < share.size(); ++l) shares += share[l] = used[l] || used[l + 1] ? 1 : unused;
        row = std::min(room / std::max(1.0, shares), best_row);
    }
    row = std::max(row, least_row);
    at.y = {top};
    double least = row;
    for (const double part : share) {
        at.y.push_back(at.y.back() + row * part);
        if (part == 1) least = std::min(least, row);
    }
    at.radius = std::clamp(0.36 * std::min(at.pitch_x, least), 2.0, 13.0);
    at.width = std::max(available.width(), at.left + at.pitch_x * double(heads - 1) + 40);
    at.height = at.y.back() + 30 + legend_height;
    return at;
}

double CompositionLayout::room_at(std::int64_t layer) const {
    const auto l = static_cast<std::size_t>(layer);
    const double above = l > 0 ? y[l] - y[l - 1] : 1e9, below = l + 1 < y.size() ? y[l + 1] - y[l] : 1e9;
    return std::min(above, below);
}

double CompositionLayout::radius_of(std::int64_t layer) const { return std::min(radius, std::max(2.0, 0.4 * room_at(layer))); }

CompositionLayout CompositionGraph::places(QSizeF available) const {
    std::vector<bool> used(static_cast<std::size_t>(scores_->n_layers), false);
    for (const CompositionArc& arc : arcs_)
        used[static_cast<std::size_t>(arc.from.layer.value)] = used[static_cast<std::size_t>(arc.to.layer.value)] = true;
    return composition_layout(scores_->n_layers, scores_->n_heads, available, used);
}

CompositionGraph::CompositionGraph(std::shared_ptr<const analyze::CompositionScores> scores, const CompositionOptions& options)
    : scores_(std::move(scores)), options_(options), arcs_(strongest_arcs(*scores_, options_)) {
    at_ = places({800, 600});
}

double CompositionGraph::strength(double score) const {
    if (arcs_.empty()) return 0;
    const double high = arcs_.front().score, low = std::min(arcs_.back().score, high);
    return high > low ? std::clamp((score - low) / (high - low), 0.0, 1.0) : 1;
}

std::vector<CompositionArc> CompositionGraph::arcs_of(HeadId id) const {
    CompositionOptions own = options_;
    own.most = arcs_of_a_head;
    std::vector<CompositionArc> arcs = strongest_arcs(*scores_, own, id);
    for (const CompositionArc& arc : arcs_)
        if ((arc.from == id || arc.to == id) && arc.score < (arcs.empty() ? 0 : arcs.back().score)) arcs.push_back(arc);
    return arcs;
}

QPainterPath CompositionGraph::path(const CompositionArc& arc) const {
    const QPointF a = at_.node(arc.from) + QPointF(0, at_.radius), b = at_.node(arc.to) - QPointF(0, at_.radius);
    // Arcs of the three kinds between the same heads lie beside each other.
    const double aside = (static_cast<double>(arc.kind) - 1) * 7;
    const double reach = std::max(18.0, 0.45 * (b.y() - a.y()));
    // Straight down would run through the heads between: such arcs bow out, those of the last column into the figure.
    const bool through = arc.from.head == arc.to.head && arc.to.layer.value - arc.from.layer.value > 1;
    const bool last = at_.heads > 1 && arc.from.head.value == at_.heads - 1;
    const double bow = aside + (through ? (last ? -0.6 : 0.6) * at_.pitch_x : 0);
    QPainterPath line(a);
    line.cubicTo(a + QPointF(bow, reach), b + QPointF(bow, -reach), b);
    return line;
}

QSizeF CompositionGraph::place(QSizeF available, const Style&, const Selection&) {
    at_ = places(available);
    return {at_.width, at_.height};
}

QString CompositionGraph::tip_of(HeadId head) const {
    QString tip = head_name(head);
    for (const CompositionArc& arc : strongest_arcs(*scores_, {.kinds = options_.kinds, .threshold = 0, .most = 3}, head))
        tip += QStringLiteral("  %1 %2 %3 %4")
                   .arg(kind_name(arc.kind), arc.from == head ? QStringLiteral("→") : QStringLiteral("←"),
                        head_name(arc.from == head ? arc.to : arc.from), draw::number_text(arc.score, 3));
    return tip;
}

void CompositionGraph::draw_on(Scene& out, const QRectF&, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const std::optional<HeadId> hovered = style.exporting ? std::nullopt : selection.hover_head;
    const auto put = [&](const CompositionArc& arc, double opacity) {
        const QPainterPath line = path(arc);
        const QColor color = draw::faded(color_of(arc.kind, style), opacity);
        out.path(line, QPen(color, 1 + 4 * strength(arc.score), Qt::SolidLine, Qt::RoundCap));
        out.means(line, 8, {.kind = Hit::Kind::head, .head = arc.to, .value = arc.score}, [arc] {
            return QStringLiteral("%1 → %2  %3 composition %4")
                .arg(head_name(arc.from), head_name(arc.to), kind_name(arc.kind), draw::value_text(arc.score));
        });
    };
    // Without a hover the picture is the whole model's; the head under the pointer shows what is its own.
    for (const CompositionArc& arc : arcs_ | std::views::reverse) put(arc, hovered ? 0.12 : 0.4 + 0.5 * strength(arc.score));
    if (hovered)
        for (const CompositionArc& arc : arcs_of(*hovered)) put(arc, 0.9);

    // Labels of rows that stand close never touch: that of the chosen layer is always there, others make way.
    constexpr double label_height = 14;
    const auto row = [&](std::int64_t l) { return at_.node({Layer(l), Head(0)}).y(); };
    const std::int64_t chosen_layer = style.exporting ? -1 : selection.focus.layer.value;
    const double chosen_at = chosen_layer >= 0 && chosen_layer < at_.layers ? row(chosen_layer) : -1e9;
    double free_from = -1e9;
    for (std::int64_t l = 0; l < at_.layers; ++l) {
        const double y = row(l);
        const bool chosen = l == chosen_layer;
        if (chosen || (y >= free_from && std::abs(y - chosen_at) >= label_height)) {
            out.text({at_.left - at_.radius - 12, draw::centred_baseline(y, small_font())}, QStringLiteral("layer %1").arg(l),
                     small_font(), chosen ? theme.accent : theme.muted, draw::Align::right);
            free_from = y + label_height;
        }
        const double radius = at_.radius_of(l), reach = std::min(std::max(radius, at_.pitch_x / 2), radius + 3);
        for (std::int64_t h = 0; h < at_.heads; ++h) {
            const HeadId id{Layer(l), Head(h)};
            const auto of = out.of(id);
            const QPointF centre = at_.node(id);
            const bool focus = !style.exporting && id == selection.focus, hover = hovered == id;
            out.circle(centre, radius,
                       QPen(focus   ? theme.accent
                            : hover ? theme.text
                                    : theme.line,
                            focus || hover ? 2 : 1),
                       focus ? theme.accent_soft : theme.panel);
            if (radius >= 8)
                out.text({centre.x(), draw::centred_baseline(centre.y(), small_font())}, QString::number(h), small_font(),
                         focus ? theme.text : theme.muted, draw::Align::center);
            out.means(QRectF(centre - QPointF(reach, reach), QSizeF(2 * reach, 2 * reach)), {.kind = Hit::Kind::head, .head = id},
                      [this, id] { return tip_of(id); });
        }
    }
    draw_legend(out, style);
}

void CompositionGraph::draw_legend(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    out.text({16, 22}, QStringLiteral("What each head wrote that later heads can read"), ui_font(14, QFont::DemiBold),
             theme.text);
    double x = 16;
    for (const Composition kind : all_kinds) {
        if (!options_.has(kind)) continue;
        out.line({x, 37}, {x + 18, 37}, QPen(color_of(kind, style), 3, Qt::SolidLine, Qt::RoundCap));
        const QString label = kind_name(kind) + QStringLiteral(" composition");
        out.text({x + 24, 41}, label, small_font(), theme.muted);
        x += 24 + draw::text_width(label, small_font()) + 18;
    }
    const QString note = arcs_.empty() ? QStringLiteral("no pair of heads has a score of %1 or more").arg(options_.threshold)
                                       : QStringLiteral("%1 strongest arcs; width from %2 to %3")
                                             .arg(draw::count_text(std::ssize(arcs_)), draw::number_text(arcs_.back().score, 3),
                                                  draw::number_text(arcs_.front().score, 3));
    out.text({16, at_.height - 14}, draw::elided(note, small_font(), at_.width - 32), small_font(), theme.muted);
}

Table CompositionGraph::table() const { return analyze::table_of(arcs_); }

std::vector<NamedArray> CompositionGraph::arrays() const {
    std::vector<NamedArray> all;
    for (const Composition kind : all_kinds) {
        if (!options_.has(kind)) continue;
        const auto& values = scores_->values[static_cast<std::size_t>(kind)];
        all.push_back({kind_name(kind).toLower().toStdString(),
                       {scores_->n_layers, scores_->n_heads, scores_->n_layers, scores_->n_heads},
                       {values.begin(), values.end()}});
    }
    return all;
}

QString CompositionGraph::title() const { return QStringLiteral("Composition of heads"); }

QString CompositionGraph::description() const {
    return QStringLiteral(
        "Rows are layers, circles heads. An arc runs from a head to a later one whose queries (Q), keys (K) or values (V) can "
        "read much of what the first one writes: |A B| / (|A| |B|) in Frobenius norms, A the first head's W_V W_O and B the "
        "second's W_Q W_K^T, W_K W_Q^T or W_V W_O. It says what the weights allow, on any text; whether the heads use it "
        "depends on the text. Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.");
}

}  // namespace headlight::figure
