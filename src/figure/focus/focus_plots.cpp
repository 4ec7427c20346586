// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/focus/focus_plot_parts.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

using plot::Axis;
using plot::Color;
using plot::Panel;
using plot::PlotData;
using plot::Series;
using namespace focus;

namespace {

constexpr std::int64_t most_bars = 150;    ///< queries; more of them are lines
constexpr std::int64_t most_lines = 1000;  ///< queries; with more, lines merge into a band that hides all behind it
constexpr double cloud_radius = 1.25;
constexpr double small_share = 0.25;  ///< an axis of shares up to 1 says nothing about smaller ones

std::string label_text(const TokenLabels& labels, std::int64_t position) {
    const auto i = static_cast<std::size_t>(position);
    return i < labels.size() ? (labels[i].continuation + labels[i].text).toStdString() : std::string();
}

Color::Role term_color(std::size_t term) {
    constexpr Color::Role roles[] = {Color::Role::clark_orange, Color::Role::clark_sea, Color::Role::clark_blue,
                                     Color::Role::clark_purple, Color::Role::clark_grey};
    return roles[std::min<std::size_t>(term, 4)];
}

QString rank_words(std::int64_t sort_idx) {
    if (sort_idx == 0) return QStringLiteral("largest");
    const auto n = sort_idx + 1;
    const bool teen = n % 100 >= 11 && n % 100 <= 13;
    const char* ending = teen ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
    return QStringLiteral("%1%2 largest").arg(n).arg(QLatin1String(ending));
}

}  // namespace

TokenLabels token_labels(const trace::Trace& trace) { return draw::labels_in(analyze::pattern_axes(trace, {}).queries); }

// --- figure 2 -------------------------------------------------------------------------------------------------------

PlotData focus_breakdown_plot(const analyze::FocusBreakdown& from, const TokenLabels& labels) {
    const auto data = std::make_shared<const analyze::FocusBreakdown>(from);
    const auto names = std::make_shared<const TokenLabels>(labels);
    const QString rank = rank_words(data->sort_idx);
    PlotData out = focus_plot(
        2, QStringLiteral("What the %1 score is made of").arg(rank),
        QStringLiteral("The score of one target of each query, split into the terms that sum to it: the positions' part, the "
                       "query bias' part (the same for every query), and the two tokens' part. Negative terms hang below zero; "
                       "the dot is their sum, the score."),
        data->facts.notes, {});
    out.subtitle = QStringLiteral("%1 · the %2 target of each query").arg(head_name(data->facts.head), rank);
    out.focus_fades = false;
    Panel& panel = out.panels.emplace_back();
    panel.x = token_axis(labels, QStringLiteral("query (attends)"), Axis::Stands::query);
    panel.y.label = QStringLiteral("score before softmax");
    // Of several texts the first one is shown.
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < data->queries.size(); ++i)
        if (data->queries[i].text == 0) rows.push_back(i);
    const auto n = static_cast<std::int64_t>(rows.size());
    const bool bars = n <= most_bars;
    const Series::Kind many = n <= most_lines ? Series::Kind::line : Series::Kind::points;
    const auto tip = [data, names](std::size_t row) {
        const auto r = static_cast<Eigen::Index>(row);
        const auto query = data->queries[row].position.value, key = data->keys[row];
        if (key < 0) return token_name(*names, 0, query) + QStringLiteral("  fewer targets than that");
        QStringList terms;
        for (std::size_t t = 0; t < data->facts.terms.size(); ++t)
            if (const double v = data->terms(r, static_cast<Eigen::Index>(t)); std::isfinite(v))
                terms << text(data->facts.terms[t].title) + u' ' + draw::number_text(v, 3);
        return QStringLiteral("%1  %2 → %3  %4 = score %5, weight %6")
            .arg(head_name(data->facts.head), token_name(*names, 0, query), token_name(*names, 0, key),
                 terms.join(QStringLiteral(" · ")), draw::number_text(data->score[r], 3), draw::value_text(data->probability[r]));
    };
    const auto series_of = [&](const auto& value) {
        Series s;
        for (std::size_t row : rows) {
            s.x.push_back(static_cast<double>(data->queries[row].position.value));
            s.y.push_back(value(static_cast<Eigen::Index>(row)));
            s.queries.push_back(data->queries[row].position);
            s.keys.emplace_back(std::max<std::int64_t>(0, data->keys[row]));
        }
        s.tip = [tip, rows](std::size_t i) { return tip(rows[i]); };
        return s;
    };
    // One row of the table a query: the score's.
    for (std::size_t t = 0; t < data->facts.terms.size(); ++t) {
        if (!data->facts.terms[t].exists) continue;
        Series s = series_of([&](Eigen::Index r) { return data->terms(r, static_cast<Eigen::Index>(t)); });
        // The bias of a model that has none is a note, not a bar of no height.
        if (std::ranges::all_of(s.y, [](double v) { return v == 0 || std::isnan(v); })) continue;
        s.kind = bars ? Series::Kind::stacked : many;
        s.width = 1.2;
        s.radius = cloud_radius;
        s.name = text(data->facts.terms[t].title);
        s.color = {term_color(t)};
        panel.series.push_back(std::move(s));
    }
    Series score = series_of([&](Eigen::Index r) { return data->score[r]; });
    score.name = QStringLiteral("score");
    score.color = {Color::Role::text};
    score.kind = bars ? Series::Kind::points : many;
    score.width = 1.2;
    if (!bars) score.radius = cloud_radius;
    panel.series.push_back(std::move(score));
    if (std::ranges::none_of(rows, [&](std::size_t r) { return data->keys[r] >= 0; }))
        panel.empty = QStringLiteral("no query has that many targets");
    return out;
}

// --- figure 3 -------------------------------------------------------------------------------------------------------

PlotData focus_trend_plot(const analyze::FocusTrend& from, const TokenLabels& labels) {
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out = focus_plot(
        3, QStringLiteral("Bias against position"),
        QStringLiteral(
            "The part of a target's score that is the same for every query: from the query bias, and from ALiBi, which "
            "grows with the position. Only the course matters, so the mean of each is subtracted. Where the bias falls "
            "as the position term rises, the two work against each other."),
        from.facts.notes, {"key", "key_token", "term", "value"});
    out.subtitle = head_name(from.facts.head) + QStringLiteral(" · the terms that depend on the target alone, mean subtracted");
    out.focus_fades = false;
    Panel& panel = out.panels.emplace_back();
    panel.x = token_axis(labels, QStringLiteral("key (attended to)"), Axis::Stands::key);
    panel.y.label = QStringLiteral("score minus its mean");
    const auto add = [&](const Eigen::VectorXd& values, const char* id, const QString& name, std::size_t term) {
        if (values.size() == 0 || !values.array().isFinite().any() || values.isZero(0)) return;
        Series& s = panel.series.emplace_back();
        s.kind = Series::Kind::line;
        s.marked = values.size() <= 60;
        s.name = name;
        s.color = {term_color(term)};
        for (Eigen::Index k = 0; k < values.size(); ++k) {
            s.x.push_back(static_cast<double>(k));
            s.y.push_back(values[k]);
            s.keys.emplace_back(k);
        }
        s.tip = [names, name, y = s.y](std::size_t i) {
            return QStringLiteral("%1  %2 %3")
                .arg(token_name(*names, 0, static_cast<std::int64_t>(i)), name, draw::value_text(y[i]));
        };
        s.row = [names, column = std::string(id), y = s.y](std::size_t i) {
            const auto k = static_cast<std::int64_t>(i);
            return std::vector<Table::Cell>{k, label_text(*names, k), column, finite_cell(y[i])};
        };
    };
    add(from.position, "position_term", QStringLiteral("position (%1)").arg(text(from.facts.position_kind)), 0);
    add(from.bias, "bias_term", QStringLiteral("bias"), 1);
    if (panel.series.empty())
        panel.empty = from.bias.size() <= 1
                          ? QStringLiteral("one token has no course")
                          : QStringLiteral(
                                "This model has neither a query bias nor ALiBi: no part of a score is the same for every query.");
    return out;
}

// --- figures 4 to 6 -------------------------------------------------------------------------------------------------

PlotData focus_shares_plot(const analyze::FocusShares& from, int figure) {
    const auto data = std::make_shared<const analyze::FocusShares>(from);
    constexpr const char* titles[] = {"Largest weight on itself", "Largest weight on the first token",
                                      "Largest minus second weight"};
    PlotData out = focus_plot(
        figure, QLatin1String(titles[figure - 4]),
        text(data->definition) +
            QStringLiteral(" Each layer's heads are sorted and line r joins the r-th largest of each layer, so that lines never "
                           "cross; a dot's colour and tip name its head."),
        {}, {"layer", "head", "rank", "value"});
    out.focus_fades = false;
    out.subtitle = QStringLiteral("%1 queries%2%3 · one line a rank, one dot a head")
                       .arg(draw::count_text(data->queries),
                            data->texts > 1 ? QStringLiteral(" of %1 texts").arg(draw::count_text(data->texts)) : QString(),
                            data->include_first_row ? QStringLiteral(", the first one too") : QString());
    Panel& panel = out.panels.emplace_back();
    const auto n_layers = static_cast<std::int64_t>(data->values.rows()),
               n_heads = static_cast<std::int64_t>(data->values.cols());
    panel.x.label = QStringLiteral("layer");
    panel.x.integer = true;
    panel.x.low = 0, panel.x.high = static_cast<double>(std::max<std::int64_t>(n_layers - 1, 0));
    panel.y.label = figure == 6 ? QStringLiteral("mean of p(1) − p(2)") : QStringLiteral("share of queries");
    panel.y.low = 0;
    panel.y.from_zero = true;
    const bool small = (data->values.array().isFinite()).any() && !(data->values.array() >= small_share).any();
    if (small)
        out.note = QStringLiteral("The axis ends at the largest value, not at 1.");
    else
        panel.y.high = 1;
    for (std::int64_t r = 0; r < n_heads; ++r) {
        Series& line = panel.series.emplace_back();
        line.kind = Series::Kind::line;
        line.color = {Color::Role::faint};
        line.width = 1;
        for (std::int64_t l = 0; l < n_layers; ++l) {
            line.x.push_back(static_cast<double>(l));
            line.y.push_back(data->ranked_value(l, r));
        }
    }
    Series& dots = panel.series.emplace_back();
    std::vector<std::int64_t> ranks;
    for (std::int64_t l = 0; l < n_layers; ++l)
        for (std::int64_t r = 0; r < n_heads; ++r) {
            const Head head(data->ranked[static_cast<std::size_t>(l)][static_cast<std::size_t>(r)]);
            dots.x.push_back(static_cast<double>(l));
            dots.y.push_back(data->ranked_value(l, r));
            dots.heads.push_back({Layer(l), head});
            dots.colors.push_back(Color::of_head(head));
            ranks.push_back(r);
        }
    if (std::ranges::none_of(dots.y, [](double v) { return std::isfinite(v); }))
        panel.empty = QStringLiteral("one token: no query counts");
    dots.tip = [data, heads = dots.heads, y = dots.y, ranks](std::size_t i) {
        return QStringLiteral("%1  %2 %3  rank %4 of %5 in its layer")
            .arg(head_name(heads[i]), text(data->title), draw::value_text(y[i]))
            .arg(ranks[i] + 1)
            .arg(data->values.cols());
    };
    dots.row = [heads = dots.heads, y = dots.y, ranks](std::size_t i) {
        return std::vector<Table::Cell>{heads[i].layer.value, heads[i].head.value, ranks[i] + 1, finite_cell(y[i])};
    };
    return out;
}

}  // namespace headlight::figure
