// SPDX-License-Identifier: GPL-3.0-or-later
// One point a head: any measure against any other.
#include "figure/plot/plot_data.h"
#include "headlight/base/error.h"
#include "headlight/figure/heads/head_plots.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::figure {
namespace {

using analyze::HeadTable;
using plot::Color;
using plot::Marker;
using plot::Series;

/// A measure, or the layer or head itself, as one number a head.
struct Quantity {
    QString title, unit;
    std::string id;
    bool integer = false;
    std::function<double(HeadId)> value;
    QString label() const { return unit.isEmpty() ? title : title + QStringLiteral(" (%1)").arg(unit); }
    QString said(double v) const {
        if (!std::isfinite(v)) return title + QStringLiteral(": none on this text");
        return title + u' ' + draw::number_text(v, integer ? 0 : 4) + (unit.isEmpty() ? QString() : u' ' + unit);
    }
};

Quantity quantity(const std::shared_ptr<const HeadTable>& table, const std::string& id) {
    if (id == "layer") return {QStringLiteral("layer"), {}, id, true, [](HeadId h) { return double(h.layer.value); }};
    if (id == "head") return {QStringLiteral("head"), {}, id, true, [](HeadId h) { return double(h.head.value); }};
    std::string names = "layer, head";
    for (std::size_t m = 0; m < table->measures.size(); ++m) {
        const auto& info = table->measures[m];
        names += ", " + info.id;
        if (info.id != id) continue;
        // The title already says "share".
        const bool named = info.unit == "nats" || info.unit == "tokens";
        return {QString::fromStdString(info.title), named ? QString::fromStdString(info.unit) : QString(), id, false,
                [table, m](HeadId h) { return table->values[m](h.layer.value, h.head.value); }};
    }
    throw Error({.problem = "There is no measure of this name", .item = id, .expected = names});
}

/// Clark 2019, section 6: the main behaviour of a head; of several the last.
struct Behaviour {
    const char *name, *measure;
    double above;
    Marker marker;
    Color::Role color;
};
constexpr std::array<Behaviour, 7> behaviours{{
    {"other", "", 0, Marker::disc, Color::Role::clark_grey},
    {"next token > 0.5", "share_next", 0.5, Marker::triangle_right, Color::Role::clark_red},
    {"previous token > 0.5", "share_previous", 0.5, Marker::triangle_left, Color::Role::clark_blue},
    {"entropy > 3.8 nats", "entropy", 3.8, Marker::triangle_up, Color::Role::clark_orange},
    {"first token > 0.6", "share_first", 0.6, Marker::letter_c, Color::Role::clark_purple},
    {"special tokens > 0.6", "share_special", 0.6, Marker::letter_s, Color::Role::clark_green},
    {"punctuation > 0.6", "share_punctuation", 0.6, Marker::square, Color::Role::clark_sea},
}};

std::size_t behaviour_of(const HeadTable& table, HeadId head) {
    std::size_t found = 0;
    for (std::size_t b = 1; b < behaviours.size(); ++b)
        if (const auto* values = table.find(behaviours[b].measure))
            if ((*values)(head.layer.value, head.head.value) > behaviours[b].above) found = b;
    return found;
}

}  // namespace

std::unique_ptr<Figure> head_scatter(std::shared_ptr<const HeadTable> table, const HeadScatterOptions& options) {
    const Quantity x = quantity(table, options.x), y = quantity(table, options.y);
    const bool by_behaviour = options.color == "behaviour", by_head = options.color == "head";
    std::vector<HeadId> heads;
    for (std::int64_t l = 0; l < table->n_layers; ++l)
        for (std::int64_t h = 0; h < table->n_heads; ++h) heads.push_back({Layer(l), Head(h)});
    plot::PlotData out;
    out.view = "head-scatter";
    out.title = QStringLiteral("Heads by %1 and %2").arg(x.title, y.title);
    out.subtitle = plot::texts_words(options.texts);
    if (!options.title.empty()) {
        out.title = QString::fromStdString(options.title);
        out.subtitle = QString::fromStdString(options.words);
    }
    out.focus_fades = out.focus_in_files = false;
    out.columns = {"layer", "head", x.id, y.id};
    plot::Panel& panel = out.panels.emplace_back();
    panel.equal_units = !options.title.empty();
    panel.x.label = x.label(), panel.y.label = y.label();
    panel.x.integer = x.integer, panel.y.integer = y.integer;
    const auto finish = [&](Series s, std::vector<HeadId> own) {
        for (HeadId head : own) s.x.push_back(x.value(head)), s.y.push_back(y.value(head));
        s.tip = [own, x, y](std::size_t i) {
            return QStringLiteral("%1  %2 · %3").arg(head_name(own[i]), x.said(x.value(own[i])), y.said(y.value(own[i])));
        };
        s.row = [own, x, y](std::size_t i) {
            return std::vector<Table::Cell>{own[i].layer.value, own[i].head.value, finite_cell(x.value(own[i])),
                                            finite_cell(y.value(own[i]))};
        };
        s.heads = std::move(own);
        panel.series.push_back(std::move(s));
    };
    if (by_behaviour) {
        for (std::size_t b = 0; b < behaviours.size(); ++b) {
            Series s;
            std::vector<HeadId> own;
            std::ranges::copy_if(heads, std::back_inserter(own), [&](HeadId h) { return behaviour_of(*table, h) == b; });
            if (own.empty()) continue;
            s.name = QString::fromUtf8(behaviours[b].name);
            s.color = {behaviours[b].color};
            s.marker = behaviours[b].marker;
            finish(std::move(s), std::move(own));
        }
    } else {
        Series s;
        if (by_head) {
            for (HeadId head : heads) s.colors.push_back(Color::of_head(head.head));
            out.subtitle = plot::joined_words({QStringLiteral("colour: index of the head"), out.subtitle});
        } else {
            const Quantity color = quantity(table, options.color);
            double low = 0, high = 0;
            bool any = false;
            for (HeadId head : heads)
                if (const double v = color.value(head); std::isfinite(v)) {
                    low = any ? std::min(low, v) : v, high = any ? std::max(high, v) : v;
                    any = true;
                }
            for (HeadId head : heads) {
                const double v = color.value(head);
                s.colors.push_back(std::isfinite(v) ? Color{Color::Role::ramp, high > low ? (v - low) / (high - low) : 0.5}
                                                    : Color{Color::Role::faint});
            }
            const int decimals = color.integer ? 0 : 2;
            out.scale = {color.label(), draw::number_text(low, decimals), draw::number_text(high, decimals)};
        }
        finish(std::move(s), heads);
    }
    std::size_t missing = 0;
    for (HeadId head : heads) missing += !std::isfinite(x.value(head)) || !std::isfinite(y.value(head));
    if (missing == heads.size())
        panel.empty = QStringLiteral("no head has both measures on this text");
    else if (missing > 0)
        out.note = QStringLiteral("%1 of %2 heads lack one of the measures on this text.")
                       .arg(draw::count_text(static_cast<std::int64_t>(missing)),
                            draw::count_text(static_cast<std::int64_t>(heads.size())));
    out.description =
        QStringLiteral(
            "One point a head: %1 to the right, %2 upwards, on this text (of several, the mean). Hover a point for the head's name and "
            "numbers, click it to select the head in every view, draw a rectangle to select the heads in it. Markers by behaviour follow Clark et al. 2019, "
            "“What Does BERT Look At?”, section 6.")
            .arg(x.title, y.title);
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
