// SPDX-License-Identifier: GPL-3.0-or-later
// Plots made by hand, one of each kind.
#pragma once

#include "figure/plot/plot_data.h"

#include <cmath>
#include <limits>
#include <random>

namespace headlight::figure::sample {

using plot::Color;
using plot::Marker;
using plot::Panel;
using plot::PlotData;
using plot::Series;

inline std::vector<double> counting(std::size_t n) {
    std::vector<double> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i));
    return out;
}

inline PlotData named(const char* view, const char* title) {
    PlotData data;
    data.view = view;
    data.title = QString::fromUtf8(title);
    return data;
}

/// One dot a (token, head) of layer 3.
inline PlotData scatter(int heads, int tokens) {
    PlotData data = named("focus-9", "Update: magnitude and orientation");
    data.subtitle = QStringLiteral("layer 3 · %1 tokens").arg(tokens);
    Panel panel;
    panel.x.label = QStringLiteral("magnitude |u| / |h|");
    panel.y.label = QStringLiteral("orientation cos(u, h)");
    std::mt19937 random(7);
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
    for (int h = 0; h < heads; ++h) {
        Series s;
        const HeadId id{Layer(3), Head(h)};
        s.name = head_name(id);
        s.color = Color::of_head(id.head);
        s.head = id;
        for (int t = 0; t < tokens; ++t) {
            s.x.push_back((0.02 + 0.04 * h) * (0.4 + uniform() + uniform()));
            s.y.push_back(std::tanh(0.4 * (h - heads / 2.0) / heads + 0.8 * (uniform() + uniform() - 1)));
            s.queries.emplace_back(t);
        }
        panel.series.push_back(std::move(s));
    }
    data.panels.push_back(std::move(panel));
    return data;
}

/// Histograms of layer 3's heads.
inline PlotData histogram(int heads, bool log) {
    PlotData data = named("focus-7", "Update magnitude");
    Panel panel;
    panel.x.label = QStringLiteral("magnitude |u| / |h|");
    panel.x.log = log;
    panel.x.tight = true;
    panel.y.label = QStringLiteral("tokens");
    panel.y.from_zero = panel.y.integer = true;
    for (int h = 0; h < heads; ++h) {
        Series s;
        s.kind = Series::Kind::steps;
        s.head = HeadId{Layer(3), Head(h)};
        s.name = head_name(*s.head);
        s.color = Color::of_head(Head(h));
        for (int b = 0; b <= 50; ++b) s.x.push_back(log ? std::pow(10, -3 + b * 0.06) : b * 0.02);
        for (int b = 0; b < 50; ++b) s.y.push_back(std::round(60 * std::exp(-std::pow((b - 5.0 - 3 * h) / (3 + h), 2))));
        panel.series.push_back(std::move(s));
    }
    data.panels.push_back(std::move(panel));
    return data;
}

inline std::vector<draw::Label> words(int n) {
    const char* const some[] = {"<s>", "The", "·old", "·doctor", "·asked", "·the", "·nurse", "·to", "·wait", ",", "·because"};
    std::vector<draw::Label> out;
    for (int i = 0; i < n; ++i) out.push_back({{}, QString::fromUtf8(some[i % 11]), i % 11 == 0});
    return out;
}

/// Three terms of a score, stacked, over the tokens; the first is a gap.
inline PlotData stacked(int tokens) {
    PlotData data = named("focus-2", "What the largest score is made of");
    data.note = QStringLiteral("L3H5, largest target of each query. The position term is ALiBi, 0 on the token itself.");
    Panel panel;
    panel.x.labels = words(tokens);
    panel.x.label = QStringLiteral("query (current token)");
    panel.x.stands_for = plot::Axis::Stands::query;
    panel.x.low = -0.5, panel.x.high = tokens - 0.5, panel.x.tight = true;
    panel.y.label = QStringLiteral("score");
    const std::pair<const char*, Color::Role> terms[] = {
        {"position", Color::Role::clark_orange}, {"bias", Color::Role::clark_sea}, {"quadratic", Color::Role::clark_blue}};
    for (int k = 0; k < 3; ++k) {
        Series s;
        s.kind = Series::Kind::stacked;
        s.name = QString::fromUtf8(terms[k].first);
        s.color = {terms[k].second};
        for (int t = 0; t < tokens; ++t) {
            s.x.push_back(t);
            s.y.push_back(t == 0   ? std::numeric_limits<double>::quiet_NaN()
                          : k == 0 ? -0.3 * (t % 7)
                                   : 2 * std::sin(t * 0.7 + k) + k);
            s.queries.emplace_back(t);
        }
        panel.series.push_back(std::move(s));
    }
    data.panels.push_back(std::move(panel));
    return data;
}

/// Dots of a head in each layer, mean line and a dashed reference, in two panels.
inline PlotData layers(int n_layers, int heads) {
    PlotData data = named("clark-entropy", "Entropy by layer");
    data.focus_fades = false;
    for (int p = 0; p < 2; ++p) {
        Panel panel;
        panel.title = p ? QStringLiteral("from the first token") : QStringLiteral("all tokens");
        panel.x.label = QStringLiteral("layer");
        panel.x.integer = true;
        panel.y.label = QStringLiteral("entropy (nats)");
        panel.y.from_zero = true;
        Series dots, mean;
        dots.name = QStringLiteral("head"), mean.name = QStringLiteral("mean of the layer");
        dots.color = mean.color = {Color::Role::clark_blue};
        mean.kind = Series::Kind::line;
        for (int l = 0; l < n_layers; ++l) {
            double sum = 0;
            for (int h = 0; h < heads; ++h) {
                const double v = 0.4 + 2.5 * std::abs(std::sin(l * 1.3 + h * 2.1));
                dots.x.push_back(l), dots.y.push_back(v);
                dots.heads.push_back({Layer(l), Head(h)});
                sum += v;
            }
            mean.x.push_back(l), mean.y.push_back(sum / heads);
        }
        panel.series = {dots, mean};
        panel.references.push_back({QStringLiteral("uniform attention"), 3.1, {Color::Role::muted}, false, true});
        data.panels.push_back(std::move(panel));
    }
    return data;
}

}  // namespace headlight::figure::sample
