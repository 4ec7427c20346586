// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/focus/focus_plot_parts.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::figure {

using plot::Axis;
using plot::Color;
using plot::Panel;
using plot::PlotData;
using plot::Series;
using namespace focus;

// --- figures 7 to 10 ------------------------------------------------------------------------------------------------

namespace {

QString magnitude_label(const analyze::FocusUpdates& data) {
    return data.literal ? QStringLiteral("magnitude |z| / |h|") : QStringLiteral("magnitude |u| / |h|");
}

std::int64_t text_count(const analyze::FocusUpdates& data) { return data.tokens.empty() ? 0 : data.tokens.back().text + 1; }

PlotData update_plot(const analyze::FocusUpdates& data, int figure, const QString& title, const QString& description,
                     std::vector<std::string> columns) {
    PlotData out = focus_plot(figure, title, description, data.notes, std::move(columns));
    const auto texts = text_count(data);
    out.subtitle = QStringLiteral("layer %1 · %2 tokens")
                       .arg(data.layer.value)
                       .arg(draw::count_text(static_cast<std::int64_t>(data.tokens.size())));
    if (texts > 1) out.subtitle += QStringLiteral(" of %1 texts").arg(texts);
    return out;
}

/// Of a head (or the bias) at a token.
QString update_tip(const analyze::FocusUpdates& data, const TokenLabels& labels, std::size_t token, std::int64_t entry) {
    const auto row = static_cast<Eigen::Index>(token);
    return QStringLiteral("%1  %2  magnitude %3 · orientation %4")
        .arg(text(data.entry_name(entry)), token_name(labels, data.tokens[token].text, data.tokens[token].position.value),
             draw::value_text(data.magnitude(row, entry)), draw::number_text(data.orientation(row, entry), 3));
}

Series entry_series(const analyze::FocusUpdates& data, std::int64_t column) {
    Series s;
    s.name = text(data.entry_name(column));
    if (column < data.n_heads) {
        s.head = HeadId{data.layer, Head(column)};
        s.color = Color::of_head(Head(column));
    } else {
        s.color = {Color::Role::muted};
        s.dashed = true;
    }
    return s;
}

double median(std::vector<double> values) {
    if (values.empty()) return kNaN;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

PlotData focus_histogram_plot(const analyze::FocusUpdates& from, bool orientation, std::int64_t bins, bool log) {
    const Eigen::MatrixXd& values = orientation ? from.orientation : from.magnitude;
    log = log && !orientation;
    PlotData out = update_plot(
        from, orientation ? 8 : 7,
        orientation ? QStringLiteral("Orientation of the heads' updates") : QStringLiteral("Magnitude of the heads' updates"),
        orientation
            ? QStringLiteral("How many tokens get an update of each orientation: the cosine between a head's output and the "
                             "stream before it. At 0 it writes something new, below 0 it takes away.")
            : QStringLiteral("How many tokens get an update of each size: the length of a head's output over the length of the "
                             "stream before it. Heads at the left edge change almost nothing."),
        {"layer", "entry", "bin_low", "bin_high", "tokens"});
    double low = orientation ? -1 : std::numeric_limits<double>::infinity(), high = orientation ? 1 : 0;
    if (!orientation) {
        for (Eigen::Index i = 0; i < values.size(); ++i) {
            const double v = values.data()[i];
            if (!std::isfinite(v) || (log && v <= 0)) continue;
            low = std::min(low, v), high = std::max(high, v);
        }
        if (!log) low = 0;
        if (!(high > 0) || !std::isfinite(low)) low = log ? 0.1 : 0, high = 1;
        if (log && high <= low) low /= 2, high *= 2;
    }
    bins = std::max<std::int64_t>(1, bins);
    std::vector<double> edges;
    for (std::int64_t b = 0; b <= bins; ++b) {
        const double t = static_cast<double>(b) / static_cast<double>(bins);
        edges.push_back(log ? low * std::pow(high / low, t) : low + (high - low) * t);
    }
    Panel& panel = out.panels.emplace_back();
    panel.x.label = orientation ? QStringLiteral("orientation cos(u, h)") : magnitude_label(from);
    panel.x.log = log;
    panel.x.tight = true;
    panel.y.label = QStringLiteral("tokens");
    panel.y.integer = panel.y.from_zero = true;
    std::int64_t counted = 0;
    double of_heads = 0, of_bias = 0;
    for (std::int64_t c = 0; c < from.entries(); ++c) {
        Series& s = panel.series.emplace_back(entry_series(from, c));
        s.kind = Series::Kind::steps;
        s.x = edges;
        s.y.assign(static_cast<std::size_t>(bins), 0);
        for (Eigen::Index i = 0; i < values.rows(); ++i) {
            const double v = values(i, c);
            if (!std::isfinite(v) || (log && v <= 0)) continue;
            const double t = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
            const auto b = std::clamp<std::int64_t>(static_cast<std::int64_t>(t * static_cast<double>(bins)), 0, bins - 1);
            s.y[static_cast<std::size_t>(b)] += 1;
            ++counted;
        }
        double& highest = c < from.n_heads ? of_heads : of_bias;
        highest = std::max(highest, *std::ranges::max_element(s.y));
        s.tip = [name = s.name, edges, y = s.y](std::size_t i) {
            return QStringLiteral("%1  %2 to %3: %4 tokens")
                .arg(name, draw::value_text(edges[i]), draw::value_text(edges[i + 1]), draw::number_text(y[i], 0));
        };
        s.row = [name = s.name.toStdString(), edges, y = s.y, layer = from.layer.value](std::size_t i) {
            return std::vector<Table::Cell>{layer, name, edges[i], edges[i + 1], static_cast<std::int64_t>(y[i])};
        };
    }
    if (counted == 0) panel.empty = QStringLiteral("no token has a stream to compare with");
    // The bias is nearly the same everywhere: its one high bin would leave the heads flat.
    if (of_heads > 0 && of_bias > 1.5 * of_heads) {
        panel.y.high = of_heads;
        out.note += QStringLiteral(" Its highest bin, %1 tokens, is above the axis.")
                        .arg(draw::count_text(static_cast<std::int64_t>(of_bias)));
    }
    return out;
}

PlotData focus_scatter_plot(const analyze::FocusUpdates& from, const TokenLabels& labels, bool log) {
    const auto data = std::make_shared<const analyze::FocusUpdates>(from);
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out = update_plot(
        from, 9, QStringLiteral("Magnitude against orientation"),
        QStringLiteral("One dot for each head's output at each token: its size relative to the stream before it, and its "
                       "direction. On the zero line it is orthogonal to the stream, below it the head takes away."),
        {"layer", "entry", "text", "token", "magnitude", "orientation"});
    Panel& panel = out.panels.emplace_back();
    panel.x.label = magnitude_label(from);
    panel.x.log = log;
    panel.y.label = QStringLiteral("orientation cos(u, h)");
    if (!log) panel.x.from_zero = true;
    for (std::int64_t c = 0; c < from.entries(); ++c) {
        Series& s = panel.series.emplace_back(entry_series(from, c));
        const bool linked = text_count(from) == 1;
        for (std::size_t i = 0; i < from.tokens.size(); ++i) {
            const auto r = static_cast<Eigen::Index>(i);
            s.x.push_back(from.magnitude(r, c));
            s.y.push_back(from.orientation(r, c));
            if (linked) s.queries.push_back(from.tokens[i].position);
        }
        s.tip = [data, names, c](std::size_t i) { return update_tip(*data, *names, i, c); };
        s.row = [data, c](std::size_t i) {
            const auto r = static_cast<Eigen::Index>(i);
            return std::vector<Table::Cell>{data->layer.value,
                                            data->entry_name(c),
                                            data->tokens[i].text,
                                            data->tokens[i].position.value,
                                            finite_cell(data->magnitude(r, c)),
                                            finite_cell(data->orientation(r, c))};
        };
    }
    return out;
}

PlotData focus_tokens_plot(const analyze::FocusUpdates& from, const TokenLabels& labels, bool log) {
    const auto data = std::make_shared<const analyze::FocusUpdates>(from);
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out = update_plot(
        from, 10, QStringLiteral("Magnitude over the text"),
        QStringLiteral("One dot for each head's output at each token, over the tokens' positions, all heads of the layer mixed. "
                       "Purple where the token's largest weight is on the first token: do such heads change anything?"),
        {"layer", "head", "text", "token", "magnitude", "on_first"});
    out.focus_fades = false;  // all heads mixed: the colours are what there is to see
    Panel& panel = out.panels.emplace_back();
    const bool linked = text_count(from) == 1;
    if (linked) {
        panel.x = token_axis(labels, QStringLiteral("token"), Axis::Stands::query);
    } else {
        panel.x.label = QStringLiteral("place in its text");
        panel.x.integer = true;
    }
    panel.y.label = magnitude_label(from);
    panel.y.log = log;
    if (!log) panel.y.from_zero = true;
    std::vector<double> medians;
    for (const bool first : {false, true}) {
        Series& s = panel.series.emplace_back();
        s.name = first ? QStringLiteral("largest weight on the first token") : QStringLiteral("on another token");
        s.color = {first ? Color::Role::first_target : Color::Role::clark_grey};
        std::vector<std::pair<std::size_t, std::int64_t>> marks;  // token, head
        for (std::size_t i = 0; i < from.tokens.size(); ++i)
            for (std::int64_t h = 0; h < from.n_heads; ++h) {
                const auto r = static_cast<Eigen::Index>(i);
                if (from.on_first(r, h) != first) continue;
                s.x.push_back(static_cast<double>(from.tokens[i].position.value));
                s.y.push_back(from.magnitude(r, h));
                s.heads.push_back({from.layer, Head(h)});
                if (linked) s.queries.push_back(from.tokens[i].position);
                marks.emplace_back(i, h);
            }
        std::vector<double> finite;
        // Row 0 can attend to nothing but the first token: it says nothing about the question.
        for (std::size_t m = 0; m < marks.size(); ++m)
            if (std::isfinite(s.y[m]) && from.tokens[marks[m].first].position.value > 0) finite.push_back(s.y[m]);
        medians.push_back(median(std::move(finite)));
        s.tip = [data, names, marks](std::size_t m) { return update_tip(*data, *names, marks[m].first, marks[m].second); };
        s.row = [data, marks, first](std::size_t m) {
            const auto [i, h] = marks[m];
            return std::vector<Table::Cell>{data->layer.value,
                                            h,
                                            data->tokens[i].text,
                                            data->tokens[i].position.value,
                                            finite_cell(data->magnitude(static_cast<Eigen::Index>(i), h)),
                                            std::int64_t{first}};
        };
    }
    if (std::isfinite(medians[0]) && std::isfinite(medians[1])) {
        const QString words = QStringLiteral(
                                  "Median magnitude behind the first token: %1 where the largest weight is on the "
                                  "first token, %2 elsewhere.")
                                  .arg(draw::value_text(medians[1]), draw::value_text(medians[0]));
        out.note = words + (out.note.isEmpty() ? QString() : u' ' + out.note);
    }
    return out;
}

}  // namespace headlight::figure
