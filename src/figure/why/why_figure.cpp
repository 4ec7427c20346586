// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/why/why_figure.h"

#include "figure/core/wrapped.h"
#include "headlight/figure/core/part_name.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double why_cell_width = 40, why_cell_height = 26, why_bar = 80, why_number = 44, why_sum_height = 48, why_line = 22,
                 why_sentences = 360, why_gap = 28;
constexpr std::size_t least_why_columns = 3;

const QFont& why_font() { return ui_font(12); }
const QFont& why_small() { return ui_font(10.5); }

/// Two decimals; the rounded number may be zero.
QString decimal_text(double x) { return draw::number_text(std::round(x * 100) / 100, 2); }
QString signed_text(double x) { return (x > 0 ? QStringLiteral("+") : QString()) + decimal_text(x); }

}  // namespace

WhyFigure::WhyFigure(WhyViewData data) : data_(std::move(data)), strongest_(data_.why.strongest(pairs_listed(data_.top))) {
    limit_ = 1e-9;
    for (const WhyLine& query : data_.queries)
        for (const WhyLine& key : data_.keys) {
            const double value = std::abs(cell_value(query, key));
            if (std::isfinite(value)) limit_ = std::max(limit_, value);
        }
}

QString WhyFigure::token_at(Position p) const { return draw::label_of(data_.labels, p).with_position(p); }

QString WhyFigure::against() const {
    switch (why().of.against) {
        case analyze::Against::row: return QStringLiteral("the other keys of the row");
        case analyze::Against::no_sinks: return QStringLiteral("the other keys without sinks");
        case analyze::Against::key: break;
    }
    return token_at(Position(why().of.other));
}

QString WhyFigure::title() const {
    return QStringLiteral("Why %1 attends from %2 to %3")
        .arg(head_name(why().of.head), token_at(why().of.query), token_at(why().of.key));
}

QString WhyFigure::description() const {
    return QStringLiteral(
        "What the head's query looks for and what its key offers were written into the stream by the embedding, earlier heads and "
        "MLPs. With the norms as they were in the run a score is exactly a sum over pairs of them: rows wrote the query, columns "
        "the key. Numbers are advantages over the compared keys, weighted by their attention: with their entropy H, "
        "ln(a / (1 − a)) = A − H. The sums at the right and below are two readings of one total; do not add them. The sum says what "
        "was added up, not what would happen without a part: later parts may make up for it. A click on a head goes to where it "
        "attends at that token. Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.");
}

double WhyFigure::cell_value(const WhyLine& query, const WhyLine& key) const {
    double sum = 0;
    for (const Eigen::Index q : query.parts)
        for (const Eigen::Index k : key.parts) sum += why().advantages(q, k);
    return sum;
}

QRectF WhyFigure::cell(std::size_t row, std::size_t column) const {
    return {cells_.left() + why_cell_width * static_cast<double>(column),
            cells_.top() + why_cell_height * static_cast<double>(row), why_cell_width, why_cell_height};
}

double WhyFigure::sentence_rows() const {
    const auto stepped = std::ranges::count_if(data_.keys, [](const WhyLine& line) { return line.source && !line.split; }) +
                         std::ranges::count_if(data_.queries, [](const WhyLine& line) { return line.source && !line.split; });
    return static_cast<double>(std::ssize(strongest_) + 3 + std::min<std::ptrdiff_t>(stepped, 6)) * why_line + 70 +
           (data_.path.size() > 1 ? static_cast<double>(data_.path.size() + 1) * why_line + 10 : 0);
}

/// Where a narrow canvas has room for few columns, the weakest keys join the others.
void WhyFigure::fold_keys(std::size_t most) {
    keys_ = data_.keys;
    most = std::max(most, least_why_columns);
    if (keys_.size() <= most) return;
    WhyLine others;
    for (std::size_t i = most - 1; i < keys_.size(); ++i) {
        others.parts.insert(others.parts.end(), keys_[i].parts.begin(), keys_[i].parts.end());
        others.sum += keys_[i].sum;
    }
    others.name = QStringLiteral("%1 others").arg(others.parts.size());
    keys_.resize(most - 1);
    keys_.push_back(std::move(others));
}

QSizeF WhyFigure::place(QSizeF available, const Style&, const Selection&) {
    label_width_ = column_room_ = 0;
    for (const WhyLine& line : data_.queries) label_width_ = std::max(label_width_, draw::text_width(line.name, why_font()));
    for (const WhyLine& line : data_.keys) column_room_ = std::max(column_room_, draw::text_width(line.name, why_small()));
    label_width_ = std::max(label_width_, draw::text_width(QStringLiteral("wrote the query ↓"), why_small()));
    column_room_ = std::max(column_room_ + 4, 20.0);
    const double around = label_width_ + 8 + 12 + why_bar + why_number, room = available.width() - 2 * page_margin;
    fold_keys(static_cast<std::size_t>(std::max(0.0, (room - around) / why_cell_width)));
    const double map_width = around + why_cell_width * static_cast<double>(keys_.size());
    const double least = 2 * page_margin + std::max(map_width, std::min(why_sentences, room)),
                 width = std::max(available.width(), least);
    const bool beside = width >= 2 * page_margin + map_width + why_gap + why_sentences;
    const double text_width =
        std::min(width, beside ? 2 * page_margin + map_width + why_gap + why_sentences : width) - 2 * page_margin;
    const analyze::Why& w = why();
    QString equation = QStringLiteral("weight %1").arg(draw::weight_text(w.weight));
    if (std::isfinite(w.advantage)) {
        equation += QStringLiteral("    ln(a / (1 − a)) %1 = advantage %2 − entropy of the others %3    advantage = pairs %4")
                        .arg(decimal_text(w.log_odds), decimal_text(w.advantage), decimal_text(w.rest_entropy),
                             decimal_text(w.advantages.sum()));
        if (std::isfinite(w.position)) equation += QStringLiteral(" + position %1").arg(decimal_text(w.position_advantage));
    } else {
        equation += QStringLiteral("    the only key that the query sees: there is nothing to compare it with");
    }
    equation += QStringLiteral("    score %1").arg(decimal_text(w.score));
    if (w.cap_ratio < 0.98) equation += QStringLiteral("    the cap leaves %1 of a score").arg(decimal_text(w.cap_ratio));
    equation_ = wrapped(equation, why_font(), text_width);
    const double top = 50 + 18 * static_cast<double>(equation_.size()) + 22 + column_room_ + 8;
    cells_ = {page_margin + label_width_ + 8, top, why_cell_width * static_cast<double>(keys_.size()),
              why_cell_height * static_cast<double>(data_.queries.size())};
    const double map_bottom = cells_.bottom() + 10 + why_sum_height + 46;
    sentences_ =
        beside ? QRectF(page_margin + map_width + why_gap, top - column_room_ - 8, why_sentences, sentence_rows())
               : QRectF(page_margin, map_bottom + 12, std::min(why_sentences + 120, width - 2 * page_margin), sentence_rows());
    const analyze::WhyList& list = data_.list;
    verdict_.clear();
    if (list.holds_little() || list.sums_to_other())
        verdict_ =
            wrapped(list.holds_little()
                        ? QStringLiteral("No short story by pair: these hold %1 % of what adds up here. See the sums by part.")
                              .arg(std::lround(100 * list.share))
                        : QStringLiteral("No short story by pair: these add up to %1, all pairs to %2. See the sums by part.")
                              .arg(decimal_text(list.listed), decimal_text(list.all)),
                    why_font(), sentences_.width());
    const double bottom = std::max(map_bottom, sentences_.bottom() + 16 * static_cast<double>(verdict_.size()));
    return {beside ? 2 * page_margin + map_width + why_gap + why_sentences : width, bottom + 12};
}

QString WhyFigure::line_tip(const WhyLine& line, bool of_query) const {
    QString tip = QStringLiteral("%1 at %2: %3 of the advantage")
                      .arg(line.name, token_at(of_query ? why().of.query : why().of.key), signed_text(line.sum));
    if (line.source && !line.split)
        tip += QStringLiteral("\nmost of it from %1: %2").arg(token_at(*line.source), signed_text(line.from_source));
    return tip;
}

Hit WhyFigure::line_hit(const WhyLine& line, bool of_query) const {
    Hit hit{.kind = Hit::Kind::query, .query = of_query ? why().of.query : why().of.key, .value = line.sum};
    if (line.head && line.source) {
        hit.kind = Hit::Kind::pair;
        hit.head = line.head, hit.key = line.source;
    } else if (line.head) {
        hit.kind = Hit::Kind::head, hit.head = line.head;
    }
    return hit;
}

void WhyFigure::draw_map(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    out.text({cells_.left() - 8, cells_.top() - 8}, QStringLiteral("wrote the query ↓"), why_small(), theme.muted,
             draw::Align::right);
    out.text({cells_.left(), cells_.top() - column_room_ - 14}, QStringLiteral("wrote the key →"), why_small(), theme.muted);
    double low = 0, high = 1e-9;
    for (const auto* lines : {&data_.queries, &keys_})
        for (const WhyLine& line : *lines)
            if (std::isfinite(line.sum)) low = std::min(low, line.sum), high = std::max(high, line.sum);
    const auto share = [&](double sum) { return (sum - low) / (high - low); };
    for (std::size_t r = 0; r < data_.queries.size(); ++r) {
        const WhyLine& query = data_.queries[r];
        const auto of = out.of(query.head);
        const QRectF row = cell(r, 0);
        const double y = row.center().y();
        out.text({cells_.left() - 8, draw::centred_baseline(y, why_font())}, query.name, why_font(),
                 query.head || query.parts.size() == 1 ? theme.text : theme.muted, draw::Align::right);
        const QRectF name(page_margin, row.top(), cells_.left() - page_margin - 4, why_cell_height);
        out.means(name, line_hit(query, true), [this, &query] { return line_tip(query, true); });
        const double left = cells_.right() + 12, zero = left + share(0) * why_bar, end = left + share(query.sum) * why_bar;
        if (std::isfinite(query.sum)) {
            out.box({std::min(zero, end), y - 6, std::max(1.0, std::abs(end - zero)), 12}, 2,
                    query.sum < 0 ? theme.negative : theme.positive);
            out.number({cells_.right() + 12 + why_bar + why_number - 4, draw::centred_baseline(y, why_font())},
                       decimal_text(query.sum), why_font(), theme.text);
        }
    }
    out.fill({cells_.right() + 12 + share(0) * why_bar - 0.5, cells_.top(), 1, cells_.height()}, theme.line);
    out.text({cells_.right() + 12 + why_bar + why_number - 4, cells_.top() - 8}, QStringLiteral("sum"), why_small(), theme.muted,
             draw::Align::right);
    const double sums = cells_.bottom() + 10, zero = sums + (1 - share(0)) * why_sum_height;
    for (std::size_t c = 0; c < keys_.size(); ++c) {
        const WhyLine& key = keys_[c];
        const auto of = out.of(key.head);
        const QRectF column = cell(0, c);
        const QRectF name(column.left(), column.top() - 6 - column_room_, why_cell_width, column_room_);
        out.token_upwards(name, {.continuation = {}, .text = key.name}, why_small(), theme.text);
        out.means(name, line_hit(key, false), [this, &key] { return line_tip(key, false); });
        if (!std::isfinite(key.sum)) continue;
        const double end = sums + (1 - share(key.sum)) * why_sum_height;
        out.box({column.center().x() - 6, std::min(zero, end), 12, std::max(1.0, std::abs(end - zero))}, 2,
                key.sum < 0 ? theme.negative : theme.positive);
        out.number({column.center().x(), sums + why_sum_height + 14}, decimal_text(key.sum), why_small(), theme.text,
                   draw::Align::center);
    }
    out.fill({cells_.left(), zero - 0.5, cells_.width(), 1}, theme.line);
    out.text({cells_.left() - 8, draw::centred_baseline(zero, why_small())}, QStringLiteral("sum"), why_small(), theme.muted,
             draw::Align::right);
    for (std::size_t r = 0; r < data_.queries.size(); ++r)
        for (std::size_t c = 0; c < keys_.size(); ++c) {
            const double value = cell_value(data_.queries[r], keys_[c]);
            if (!std::isfinite(value)) continue;
            // Colours of small pairs stay visible: the square root of the share of the largest.
            const QColor fill = signed_color(theme, std::copysign(std::sqrt(std::min(1.0, std::abs(value) / limit_)), value));
            const QRectF box = cell(r, c).adjusted(0, 0, -1.5, -1.5);
            out.box(box, 2, fill, theme.line, 0.5);
            out.number({box.center().x(), draw::centred_baseline(box.center().y(), why_small())}, decimal_text(value),
                       why_small(), text_on(theme, fill), draw::Align::center);
        }
    out.means(cells_, std::ssize(data_.queries), std::ssize(keys_), [this](std::int64_t r, std::int64_t c) {
        const WhyLine &query = data_.queries[static_cast<std::size_t>(r)], &key = keys_[static_cast<std::size_t>(c)];
        double score = 0;
        for (const Eigen::Index q : query.parts)
            for (const Eigen::Index k : key.parts) score += why().scores(q, k);
        const double value = cell_value(query, key);
        Hit hit = line_hit(key, false);
        hit.value = value;
        hit.tip = QStringLiteral("%1 at %2 × %3 at %4\nscore %5, over the compared keys %6")
                      .arg(query.name, token_at(why().of.query), key.name, token_at(why().of.key), draw::number_text(score, 3),
                           std::isfinite(value) ? signed_text(value) : QStringLiteral("–"));
        return hit;
    });
    const QRectF bar(cells_.left(), sums + why_sum_height + 26, 150, 8);
    const double limit = limit_;
    out.bar(
        bar,
        [&theme](double t) {
            const double x = 2 * t - 1;
            return signed_color(theme, std::copysign(std::sqrt(std::abs(x)), x));
        },
        {decimal_text(-limit), decimal_text(limit)}, theme);
}

void WhyFigure::draw_sentences(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont strong = ui_font(12, QFont::DemiBold);
    double y = sentences_.top() + 14;
    const double right = sentences_.right();
    const auto line = [&](const QString& text, const QString& number, const QColor& color, const QFont& font) {
        out.text({sentences_.left(), y}, draw::elided(text, font, sentences_.width() - why_number - 10), font, color);
        if (!number.isEmpty()) out.number({right, y}, number, font, color, draw::Align::right);
        y += why_line;
    };
    line(QStringLiteral("Strongest pairs, over %1").arg(against()), {}, theme.muted, why_font());
    for (const analyze::Why::Pair& pair : strongest_) {
        const double value = why().advantages(pair.query, pair.key);
        if (!std::isfinite(value)) break;
        const auto name = [this](const analyze::StreamPart& part) { return why_part_name(part, data_.labels); };
        const QString query = name(why().query_parts[static_cast<std::size_t>(pair.query)]),
                      key = name(why().key_parts[static_cast<std::size_t>(pair.key)]);
        const QRectF row(sentences_.left(), y - 15, sentences_.width(), why_line);
        line(value < 0 ? QStringLiteral("%1 turns from %2").arg(query, key) : QStringLiteral("%1 looks for %2").arg(query, key),
             signed_text(value), value < 0 ? theme.negative : theme.text, why_font());
        out.means(row, {.kind = Hit::Kind::legend, .value = value}, [query, key, value] {
            return QStringLiteral("what %1 wrote at the query meets what %2 wrote at the key: %3")
                .arg(query, key, signed_text(value));
        });
    }
    if (std::isfinite(why().advantage)) {
        const analyze::WhyList& list = data_.list;
        if (list.others > 0)
            line(QStringLiteral("the other %1 pairs: %2 and %3")
                     .arg(draw::count_text(list.others), signed_text(list.rest_for), signed_text(list.rest_from)),
                 signed_text(list.rest_for + list.rest_from), theme.muted, why_font());
        if (std::isfinite(why().position))
            line(QStringLiteral("position"), signed_text(why().position_advantage), theme.muted, why_font());
        line(QStringLiteral("advantage"), signed_text(why().advantage), theme.text, strong);
    }
    for (const QString& each : verdict_) {
        out.text({sentences_.left(), y}, each, why_font(), theme.muted);
        y += 16;
    }
    y += 10;
    int steps = 0;
    for (const bool of_query : {false, true})
        for (const WhyLine& each : of_query ? data_.queries : data_.keys) {
            if (!each.source || each.split || steps == 6) continue;
            if (steps++ == 0) line(QStringLiteral("One step back"), {}, theme.muted, why_font());
            const QRectF row(sentences_.left(), y - 15, sentences_.width(), why_line);
            line(QStringLiteral("%1 at %2 got it from %3")
                     .arg(each.name, token_at(of_query ? why().of.query : why().of.key), token_at(*each.source)),
                 signed_text(each.from_source), theme.text, why_font());
            out.means(row, line_hit(each, of_query), [this, &each, of_query] { return line_tip(each, of_query); });
        }
    if (data_.path.size() > 1) draw_path(out, style, y + 10);
}

/// The walk backwards, one line a weight; its heading has the whole as text and as edits.
void WhyFigure::draw_path(Scene& out, const Style& style, double y) const {
    const Theme& theme = *style.theme;
    out.text({sentences_.left(), y}, QStringLiteral("Walked back"), why_font(), theme.muted);
    out.means({sentences_.left(), y - 15, sentences_.width(), why_line},
              {.kind = Hit::Kind::legend, .options = {{hit_edits, data_.path_edits}}}, [this] { return data_.path_text; });
    for (const analyze::WhyStep& step : data_.path) {
        y += why_line;
        const QString weight =
            QStringLiteral("%1  %2 → %3").arg(head_name(step.of.head), token_at(step.of.query), token_at(step.of.key));
        QString wrote;
        if (step.writer)
            wrote = QStringLiteral("   %1 %2 %3")
                        .arg(step.of_query ? QStringLiteral("query") : QStringLiteral("key"),
                             why_part_name(*step.writer, data_.labels), signed_text(step.sum));
        const double room = sentences_.width() - why_number - 10;
        out.text({sentences_.left(), y}, draw::elided(weight + wrote, why_font(), room), why_font(), theme.text);
        out.number({sentences_.right(), y}, draw::weight_text(step.weight), why_font(), theme.muted, draw::Align::right);
        out.means(
            {sentences_.left(), y - 15, sentences_.width(), why_line},
            {.kind = Hit::Kind::pair, .head = step.of.head, .query = step.of.query, .key = step.of.key, .value = step.weight},
            [this] { return data_.path_text; });
    }
}

void WhyFigure::draw_on(Scene& out, const QRectF&, const Style& style, const Selection&) const {
    const Theme& theme = *style.theme;
    out.text({page_margin, 30}, title(), ui_font(16, QFont::DemiBold), theme.text);
    double y = 52;
    for (const QString& each : equation_) {
        out.text({page_margin, y}, each, why_font(), theme.muted);
        y += 18;
    }
    draw_map(out, style);
    draw_sentences(out, style);
}

}  // namespace headlight::figure
