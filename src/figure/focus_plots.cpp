// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/focus_plots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace headlight::figure {

using plot::Axis;
using plot::Color;
using plot::head_name;
using plot::Panel;
using plot::PlotData;
using plot::Series;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t most_bars = 150;    ///< queries; more of them are lines
constexpr std::int64_t most_lines = 1000;  ///< queries; of more of them lines are a band that hides what is behind
constexpr double cloud_radius = 1.25;
constexpr double small_share = 0.25;  ///< an axis of shares up to 1 says nothing about smaller ones

const QString source = QStringLiteral(" Rene Claus, “Attention Focus Plots”, 2023.");

QString text(const std::string& s) {
    return QString::fromStdString(s);
}

QString sentences(const std::vector<std::string>& notes) {
    QStringList out;
    for (const auto& note : notes) out << text(note);
    return out.join(u' ');
}

QString token_name(const TokenLabels& labels, std::int64_t text_index, std::int64_t position) {
    const auto i = static_cast<std::size_t>(position);
    if (text_index == 0 && i < labels.size()) return labels[i].with_position(Position(position));
    return QStringLiteral("token %1 of text %2").arg(position).arg(text_index + 1);
}

Table::Cell cell(double v) {
    return std::isfinite(v) ? Table::Cell(v) : Table::Cell();
}

std::string label_text(const TokenLabels& labels, std::int64_t position) {
    const auto i = static_cast<std::size_t>(position);
    return i < labels.size() ? (labels[i].continuation + labels[i].text).toStdString() : std::string();
}

Axis token_axis(const TokenLabels& labels, const QString& name, Axis::Stands stands) {
    Axis axis;
    axis.label = name;
    axis.labels = labels;
    axis.stands_for = stands;
    axis.integer = axis.tight = true;
    axis.low = -0.5, axis.high = static_cast<double>(labels.size()) - 0.5;
    return axis;
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

TokenLabels token_labels(const trace::Trace& trace) {
    TokenLabels out;
    for (const auto& item : analyze::pattern_axes(trace, {}).queries) out.push_back(draw::label_of(item));
    return out;
}

// --- figure 2 -------------------------------------------------------------------------------------------------------

PlotData focus_breakdown_plot(const analyze::FocusBreakdown& from, const TokenLabels& labels) {
    const auto data = std::make_shared<const analyze::FocusBreakdown>(from);
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out;
    out.view = "focus-2";
    out.title = QStringLiteral("What the %1 score is made of").arg(rank_words(data->sort_idx));
    out.subtitle =
        QStringLiteral("%1 · the %2 target of each query").arg(head_name(data->facts.head), rank_words(data->sort_idx));
    out.note = sentences(data->facts.notes);
    out.focus_fades = false;
    out.description =
        QStringLiteral(
            "For each query the score of one target, taken apart into the terms that sum to it: what the "
            "positions add, what the query's bias adds (the same for every query), and what the two tokens "
            "add together. Negative terms hang below zero; the dot is their sum, the score.") +
        source;
    out.columns = {"query", "query_token", "key", "key_token"};
    for (const auto& term : data->facts.terms) out.columns.push_back(term.id);
    out.columns.insert(out.columns.end(), {"score", "probability"});
    Panel panel;
    panel.x = token_axis(labels, QStringLiteral("query (looks)"), Axis::Stands::query);
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
                 terms.join(QStringLiteral(" · ")), draw::number_text(data->score[r], 3),
                 draw::number_text(data->probability[r], 4));
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
    score.row = [data, names, rows](std::size_t i) {
        const auto row = rows[i];
        const auto r = static_cast<Eigen::Index>(row);
        const auto query = data->queries[row].position.value, key = data->keys[row];
        std::vector<Table::Cell> cells{query, label_text(*names, query), key < 0 ? Table::Cell() : Table::Cell(key),
                                       key < 0 ? Table::Cell() : Table::Cell(label_text(*names, key))};
        for (Eigen::Index t = 0; t < data->terms.cols(); ++t) cells.push_back(cell(data->terms(r, t)));
        cells.push_back(cell(data->score[r]));
        cells.push_back(cell(data->probability[r]));
        return cells;
    };
    panel.series.push_back(std::move(score));
    const bool any = std::any_of(rows.begin(), rows.end(), [&](std::size_t r) { return data->keys[r] >= 0; });
    if (!any) panel.empty = QStringLiteral("no query has that many targets");
    out.panels.push_back(std::move(panel));
    return out;
}

// --- figure 3 -------------------------------------------------------------------------------------------------------

PlotData focus_trend_plot(const analyze::FocusTrend& from, const TokenLabels& labels) {
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out;
    out.view = "focus-3";
    out.title = QStringLiteral("Bias against position");
    out.subtitle =
        head_name(from.facts.head) + QStringLiteral(" · the terms that depend on the target alone, mean taken away");
    out.note = sentences(from.facts.notes);
    out.focus_fades = false;
    out.description =
        QStringLiteral(
            "What a target gets whatever the query is: from the query's bias, and from ALiBi, which grows "
            "with the position. Only the course says something, so the mean of each is taken away. Where "
            "the bias falls as the position term rises, the two work against each other.") +
        source;
    out.columns = {"key", "key_token", "term", "value"};
    Panel panel;
    panel.x = token_axis(labels, QStringLiteral("key (is looked at)"), Axis::Stands::key);
    panel.y.label = QStringLiteral("score minus its mean");
    const auto add = [&](const Eigen::VectorXd& values, const char* id, const QString& name, std::size_t term) {
        if (values.size() == 0 || !values.array().isFinite().any()) return;
        Series s;
        s.kind = Series::Kind::line;
        s.marked = values.size() <= 60;
        s.name = name;
        s.color = {term_color(term)};
        for (Eigen::Index k = 0; k < values.size(); ++k) {
            s.x.push_back(static_cast<double>(k));
            s.y.push_back(values[k]);
            s.keys.emplace_back(k);
        }
        const std::vector<double> y = s.y;
        s.tip = [names, name, y](std::size_t i) {
            return QStringLiteral("%1  %2 %3")
                .arg(token_name(*names, 0, static_cast<std::int64_t>(i)), name, draw::number_text(y[i], 4));
        };
        const std::string column = id;
        s.row = [names, column, y](std::size_t i) {
            const auto k = static_cast<std::int64_t>(i);
            return std::vector<Table::Cell>{k, label_text(*names, k), column, cell(y[i])};
        };
        panel.series.push_back(std::move(s));
    };
    add(from.position, "position_term", QStringLiteral("position (%1)").arg(text(from.facts.position_kind)), 0);
    add(from.bias, "bias_term", QStringLiteral("bias"), 1);
    if (panel.series.empty()) panel.empty = QStringLiteral("one token has no course");
    out.panels.push_back(std::move(panel));
    return out;
}

// --- figures 4 to 6 -------------------------------------------------------------------------------------------------

PlotData focus_shares_plot(const analyze::FocusShares& from, int figure) {
    const auto data = std::make_shared<const analyze::FocusShares>(from);
    PlotData out;
    out.view = "focus-" + std::to_string(figure);
    constexpr const char* titles[] = {"Largest weight on itself", "Largest weight on the first token",
                                      "Largest minus second weight"};
    out.title = QLatin1String(titles[figure - 4]);
    out.focus_fades = false;
    out.subtitle =
        QStringLiteral("%1 queries%2%3 · one line a rank, one dot a head")
            .arg(draw::count_text(data->queries),
                 data->texts > 1 ? QStringLiteral(" of %1 texts").arg(draw::count_text(data->texts)) : QString(),
                 data->include_first_row ? QStringLiteral(", the first one too") : QString());
    out.description =
        text(data->definition) +
        QStringLiteral(
            " Each layer's heads are sorted and line r joins the r-th largest of each layer, so that lines never "
            "cross; a dot's colour and tip tell which head it is.") +
        source;
    out.columns = {"layer", "head", "rank", "value"};
    Panel panel;
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
        Series line;
        line.kind = Series::Kind::line;
        line.color = {Color::Role::faint};
        line.width = 1;
        for (std::int64_t l = 0; l < n_layers; ++l) {
            line.x.push_back(static_cast<double>(l));
            line.y.push_back(data->ranked_value(l, r));
        }
        panel.series.push_back(std::move(line));
    }
    Series dots;
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
    const bool any = std::any_of(dots.y.begin(), dots.y.end(), [](double v) { return std::isfinite(v); });
    if (!any) panel.empty = QStringLiteral("one token: no query counts");
    const std::vector<HeadId> heads = dots.heads;
    const std::vector<double> y = dots.y;
    dots.tip = [data, heads, y, ranks](std::size_t i) {
        return QStringLiteral("%1  %2 %3  rank %4 of %5 in its layer")
            .arg(head_name(heads[i]), text(data->title), draw::number_text(y[i], 4))
            .arg(ranks[i] + 1)
            .arg(data->values.cols());
    };
    dots.row = [heads, y, ranks](std::size_t i) {
        return std::vector<Table::Cell>{heads[i].layer.value, heads[i].head.value, ranks[i] + 1, cell(y[i])};
    };
    panel.series.push_back(std::move(dots));
    out.panels.push_back(std::move(panel));
    return out;
}

// --- figures 7 to 10 ------------------------------------------------------------------------------------------------

namespace {

QString magnitude_label(const analyze::FocusUpdates& data) {
    return data.literal ? QStringLiteral("magnitude |z| / |h|") : QStringLiteral("magnitude |u| / |h|");
}

std::int64_t texts_of(const analyze::FocusUpdates& data) {
    return data.tokens.empty() ? 0 : data.tokens.back().text + 1;
}

PlotData update_plot(const analyze::FocusUpdates& data, int figure, const char* title) {
    PlotData out;
    out.view = "focus-" + std::to_string(figure);
    out.title = QString::fromUtf8(title);
    const auto texts = texts_of(data);
    out.subtitle = QStringLiteral("layer %1 · %2 tokens")
                       .arg(data.layer.value)
                       .arg(draw::count_text(static_cast<std::int64_t>(data.tokens.size())));
    if (texts > 1) out.subtitle += QStringLiteral(" of %1 texts").arg(texts);
    out.note = sentences(data.notes);
    return out;
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
    if (values.empty()) return nan;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

PlotData focus_histogram_plot(const analyze::FocusUpdates& from, bool orientation, std::int64_t bins, bool log) {
    const Eigen::MatrixXd& values = orientation ? from.orientation : from.magnitude;
    log = log && !orientation;
    PlotData out = update_plot(from, orientation ? 8 : 7,
                               orientation ? "Orientation of the heads' updates" : "Magnitude of the heads' updates");
    out.description =
        (orientation
             ? QStringLiteral("How many tokens get an update of each orientation: the cosine of what a head adds and "
                              "the stream it "
                              "found. At 0 it writes something new, below 0 it takes away.")
             : QStringLiteral(
                   "How many tokens get an update of each size: the length of what a head adds over the length of the "
                   "stream it found. Heads at the left edge change almost nothing.")) +
        source;
    out.columns = {"layer", "entry", "bin_low", "bin_high", "tokens"};
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
    Panel panel;
    panel.x.label = orientation ? QStringLiteral("orientation cos(u, h)") : magnitude_label(from);
    panel.x.log = log;
    panel.x.tight = true;
    panel.y.label = QStringLiteral("tokens");
    panel.y.integer = panel.y.from_zero = true;
    std::int64_t counted = 0;
    double of_heads = 0, of_bias = 0;
    for (std::int64_t c = 0; c < from.entries(); ++c) {
        Series s = entry_series(from, c);
        s.kind = Series::Kind::steps;
        s.x = edges;
        s.y.assign(static_cast<std::size_t>(bins), 0);
        for (Eigen::Index i = 0; i < values.rows(); ++i) {
            const double v = values(i, c);
            if (!std::isfinite(v) || (log && v <= 0)) continue;
            const double t = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
            const auto b =
                std::clamp<std::int64_t>(static_cast<std::int64_t>(t * static_cast<double>(bins)), 0, bins - 1);
            s.y[static_cast<std::size_t>(b)] += 1;
            ++counted;
        }
        double& highest = c < from.n_heads ? of_heads : of_bias;
        highest = std::max(highest, *std::max_element(s.y.begin(), s.y.end()));
        const std::vector<double> y = s.y;
        const QString name = s.name;
        const std::int64_t layer = from.layer.value;
        s.tip = [name, edges, y](std::size_t i) {
            return QStringLiteral("%1  %2 to %3: %4 tokens")
                .arg(name, draw::number_text(edges[i], 4), draw::number_text(edges[i + 1], 4),
                     draw::number_text(y[i], 0));
        };
        s.row = [name, edges, y, layer](std::size_t i) {
            return std::vector<Table::Cell>{layer, name.toStdString(), edges[i], edges[i + 1],
                                            static_cast<std::int64_t>(y[i])};
        };
        panel.series.push_back(std::move(s));
    }
    if (counted == 0) panel.empty = QStringLiteral("no token has a stream to compare with");
    // The bias is nearly the same everywhere: its one high bin would leave the heads flat.
    if (of_heads > 0 && of_bias > 1.5 * of_heads) {
        panel.y.high = of_heads;
        out.note += QStringLiteral(" Its highest bin, %1 tokens, is above the axis.")
                        .arg(draw::count_text(static_cast<std::int64_t>(of_bias)));
    }
    out.panels.push_back(std::move(panel));
    return out;
}

PlotData focus_scatter_plot(const analyze::FocusUpdates& from, const TokenLabels& labels, bool log) {
    const auto data = std::make_shared<const analyze::FocusUpdates>(from);
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out = update_plot(from, 9, "Magnitude against orientation");
    out.description =
        QStringLiteral(
            "One dot for what one head adds at one token: how large it is beside the stream it found, and which way "
            "it points. On the zero line it is orthogonal to the stream, below it the head takes away.") +
        source;
    out.columns = {"layer", "entry", "text", "token", "magnitude", "orientation"};
    Panel panel;
    panel.x.label = magnitude_label(from);
    panel.x.log = log;
    panel.y.label = QStringLiteral("orientation cos(u, h)");
    if (!log) panel.x.from_zero = true;
    for (std::int64_t c = 0; c < from.entries(); ++c) {
        Series s = entry_series(from, c);
        const bool linked = texts_of(from) == 1;
        for (std::size_t i = 0; i < from.tokens.size(); ++i) {
            const auto r = static_cast<Eigen::Index>(i);
            s.x.push_back(from.magnitude(r, c));
            s.y.push_back(from.orientation(r, c));
            if (linked) s.queries.push_back(from.tokens[i].position);
        }
        s.tip = [data, names, c](std::size_t i) {
            const auto r = static_cast<Eigen::Index>(i);
            return QStringLiteral("%1  %2  magnitude %3 · orientation %4")
                .arg(text(data->entry_name(c)),
                     token_name(*names, data->tokens[i].text, data->tokens[i].position.value),
                     draw::number_text(data->magnitude(r, c), 4), draw::number_text(data->orientation(r, c), 3));
        };
        s.row = [data, c](std::size_t i) {
            const auto r = static_cast<Eigen::Index>(i);
            return std::vector<Table::Cell>{data->layer.value,           data->entry_name(c),
                                            data->tokens[i].text,        data->tokens[i].position.value,
                                            cell(data->magnitude(r, c)), cell(data->orientation(r, c))};
        };
        panel.series.push_back(std::move(s));
    }
    out.panels.push_back(std::move(panel));
    return out;
}

PlotData focus_tokens_plot(const analyze::FocusUpdates& from, const TokenLabels& labels, bool log) {
    const auto data = std::make_shared<const analyze::FocusUpdates>(from);
    const auto names = std::make_shared<const TokenLabels>(labels);
    PlotData out = update_plot(from, 10, "Magnitude over the text");
    out.focus_fades = false;  // all heads mixed: the colours are what there is to see
    out.description =
        QStringLiteral(
            "One dot for what one head adds at one token, over the tokens' places, all heads of the layer mixed. "
            "Purple where the token's largest weight is on the first token: do such heads change anything?") +
        source;
    out.columns = {"layer", "head", "text", "token", "magnitude", "on_first"};
    Panel panel;
    const bool linked = texts_of(from) == 1;
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
        Series s;
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
        // Row 0 can look at nothing but the first token: it says nothing about the question.
        for (std::size_t m = 0; m < marks.size(); ++m)
            if (std::isfinite(s.y[m]) && from.tokens[marks[m].first].position.value > 0) finite.push_back(s.y[m]);
        medians.push_back(median(std::move(finite)));
        s.tip = [data, names, marks](std::size_t m) {
            const auto [i, h] = marks[m];
            const auto r = static_cast<Eigen::Index>(i);
            return QStringLiteral("%1  %2  magnitude %3 · orientation %4")
                .arg(head_name({data->layer, Head(h)}),
                     token_name(*names, data->tokens[i].text, data->tokens[i].position.value),
                     draw::number_text(data->magnitude(r, h), 4), draw::number_text(data->orientation(r, h), 3));
        };
        s.row = [data, marks, first](std::size_t m) {
            const auto [i, h] = marks[m];
            return std::vector<Table::Cell>{data->layer.value,
                                            h,
                                            data->tokens[i].text,
                                            data->tokens[i].position.value,
                                            cell(data->magnitude(static_cast<Eigen::Index>(i), h)),
                                            std::int64_t{first}};
        };
        panel.series.push_back(std::move(s));
    }
    if (std::isfinite(medians[0]) && std::isfinite(medians[1])) {
        const QString words = QStringLiteral(
                                  "Median magnitude behind the first token: %1 where the largest weight is on the "
                                  "first token, %2 elsewhere.")
                                  .arg(draw::number_text(medians[1], 4), draw::number_text(medians[0], 4));
        out.note = words + (out.note.isEmpty() ? QString() : u' ' + out.note);
    }
    out.panels.push_back(std::move(panel));
    return out;
}

}  // namespace headlight::figure
