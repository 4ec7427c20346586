// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/wrapped.h"
#include "figure/rollout/paths_view.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

namespace {

constexpr double path_label_size = 12, widest_label = 120, note_line = 15, least_label = 16;

class PathsFigure final : public SceneFigure {
public:
    explicit PathsFigure(PathsData data) : data_(std::move(data)) {
        if (data_.paths.mass.empty() || data_.paths.mass[0].size() != static_cast<Eigen::Index>(data_.tokens.size()))
            throw Error({.problem = "Paths do not fit the tokens", .expected = std::to_string(data_.tokens.size()) + " tokens"});
        labels_ = draw::labels_in(data_.tokens);
    }

    std::string view() const override { return data_.flow ? "flow-paths" : "rollout-paths"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    bool begins_at_right() const override { return true; }
    QString title() const override {
        return QStringLiteral("%1 from %2, after layer %3")
            .arg(data_.flow ? QStringLiteral("Attention flow") : QStringLiteral("Rollout"), name(data_.paths.query.value),
                 QString::number(data_.paths.layer.value));
    }
    QString description() const override;

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override {
        double widest = 56;
        for (const std::size_t c : {std::size_t{0}, data_.paths.mass.size() - 1})
            for (std::size_t t = 0; t < labels_.size(); ++t)
                if (data_.paths.mass[c][static_cast<Eigen::Index>(t)] >= data_.paths.least * data_.paths.total)
                    widest = std::max(widest, draw::token_width(labels_[t], ui_font(path_label_size)) + 10);
        const double room = std::min(std::ceil(widest) + 8, widest_label);
        // Notes break into lines at the width that the picture gets, which may be more than there is.
        layout_ = paths_layout(data_, room, available);
        notes_ = wrapped(notes_text(), ui_font(path_label_size), std::max(layout_.size.width() - 2 * PathsLayout::margin, 120.0));
        const auto more = static_cast<double>(std::max<qsizetype>(notes_.size() - 1, 0));
        layout_ = paths_layout(data_, room, available, PathsLayout::legend + note_line * more);
        return layout_.size;
    }
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    bool two() const { return data_.paths.source > 0; }
    bool of_source(std::int64_t token) const { return token < data_.paths.source; }
    /// Its place in its own text.
    Position position(std::int64_t token) const { return Position(of_source(token) ? token : token - data_.paths.source); }
    QString name(std::int64_t token) const {
        const QString plain = labels_[static_cast<std::size_t>(token)].with_position(position(token));
        return !two() ? plain : (of_source(token) ? QStringLiteral("source ") : QStringLiteral("target ")) + plain;
    }
    QString step_name(std::int64_t step) const {
        if (!two()) return QStringLiteral("L%1").arg(step);
        if (step < data_.paths.source_layers) return QStringLiteral("encoder L%1").arg(step);
        const std::int64_t half = step - data_.paths.source_layers;
        return QStringLiteral("L%1 %2").arg(half / 2).arg(half % 2 == 0 ? QStringLiteral("self") : QStringLiteral("cross"));
    }
    QString column_name(std::int64_t column) const {
        if (column == 0) return QStringLiteral("input");
        return two() ? step_name(column - 1) : QStringLiteral("after ") + step_name(column - 1);
    }
    bool pointed(Position token, const Selection&) const;
    QColor color(const analyze::Ribbon&, const Style&) const;
    static QString others_text(std::int64_t count) {
        return count == 1 ? QStringLiteral("1 other") : QStringLiteral("%1 others").arg(draw::count_text(count));
    }
    double share(double mass) const { return data_.paths.total > 0 ? mass / data_.paths.total : 0; }
    QString amount(double mass) const {
        const QString part = draw::number_text(share(mass) * 100, 1) + QStringLiteral(" %");
        return data_.flow ? QStringLiteral("flow %1, %2 of all").arg(draw::value_text(mass), part) : part;
    }
    /// Of a band, how strongly it is drawn: those at a chosen token stand out.
    double strength(const analyze::Ribbon&, const Selection&, const Style&) const;
    QString notes_text() const;
    Hit hit_of(const PathNode&) const;
    Hit hit_of(const analyze::Ribbon&) const;
    QString tip_of(const PathNode&) const;
    QString tip_of(const analyze::Ribbon&) const;
    void draw_nodes(Scene&, const Style&) const;
    void draw_legend(Scene&, const QRectF& seen, const Style&) const;

    PathsData data_;
    std::vector<draw::Label> labels_;
    QStringList notes_;  ///< lines
    PathsLayout layout_;
};

double PathsFigure::strength(const analyze::Ribbon& ribbon, const Selection& selection, const Style& style) const {
    if (style.exporting || (!selection.hover_query && !selection.hover_key)) return 0.45;
    return pointed(ribbon.from, selection) || pointed(ribbon.to, selection) ? 0.75 : 0.15;
}

bool PathsFigure::pointed(Position token, const Selection& selection) const {
    const Position p = position(token.value);
    if (two() && of_source(token.value)) return data_.across && selection.hover_key == p;
    if (selection.hover_query) return selection.hover_query == p;
    return !data_.across && selection.hover_key == p;
}

QColor PathsFigure::color(const analyze::Ribbon& ribbon, const Style& style) const {
    if (ribbon.from == ribbon.to) return style.theme->faint;
    return of_source(ribbon.to.value) && !of_source(ribbon.from.value) ? head_color(*style.theme, style.palette, 2)
                                                                       : style.theme->accent;
}

void PathsFigure::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    for (const PathBand& band : layout_.bands) {
        const analyze::Ribbon& ribbon = data_.paths.ribbons[band.ribbon];
        const QPainterPath shape = band.shape();
        if (!shape.boundingRect().intersects(seen)) continue;
        const double opacity = strength(ribbon, selection, style) * (ribbon.from == ribbon.to ? 0.8 : 1);
        out.path(shape, Qt::NoPen, draw::faded(color(ribbon, style), opacity));
        out.means(shape, 0, hit_of(ribbon), [this, &ribbon] { return tip_of(ribbon); });
    }
    draw_nodes(out, style);
    const QFont heading = ui_font(15, QFont::DemiBold), small = ui_font(12);
    const double x = seen.left() + PathsLayout::margin;
    const double room = seen.width() - 2 * PathsLayout::margin, y = seen.top() + 32;
    const QString name_of = draw::elided(title(), heading, room);
    out.text({x, y}, name_of, heading, theme.text);
    if (data_.paths.key) {
        const QString to = QStringLiteral("to %1: largest flow %2, not divided by a row's sum as in the map")
                               .arg(name(data_.paths.key->value), draw::value_text(data_.paths.total));
        const double before = draw::text_width(name_of, heading) + 14;
        const bool beside = before + draw::text_width(to, small) <= room;
        out.text(beside ? QPointF(x + before, y) : QPointF(x, y + 17), draw::elided(to, small, room), small, theme.muted);
    }
    draw_legend(out, seen, style);
}

void PathsFigure::draw_nodes(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont font = ui_font(path_label_size), caption = ui_font(11);
    const double line = QFontMetricsF(font).height();
    const auto columns = std::ssize(layout_.columns);
    double caption_from = -1e9;
    const double last_caption =
        layout_.columns.back().front().area.center().x() - draw::text_width(column_name(columns - 1), caption) / 2 - 8;
    for (const auto& column : layout_.columns) {
        const std::int64_t c = column.front().column;
        const double centre = column.front().area.center().x();
        const double half = draw::text_width(column_name(c), caption) / 2;
        const bool folded = layout_.folded[static_cast<std::size_t>(c)];
        if (c == columns - 1 || (!folded && centre - half >= caption_from && centre + half <= last_caption)) {
            out.text({centre, PathsLayout::header + 6}, column_name(c), caption, theme.muted, draw::Align::center);
            caption_from = centre + half + 8;
        }
        double free_from = 0;
        for (const PathNode& node : column) {
            out.box(node.area, std::min(2.0, node.area.height() / 2), node.token < 0 || folded ? theme.line : theme.muted);
            out.means(node.area.adjusted(-3, -2, 3, 2), hit_of(node), [this, &node] { return tip_of(node); });
            const double y = std::max(node.area.center().y(), free_from + line / 2);
            if (node.area.height() < line * 0.55 && y > node.area.center().y() + 1) continue;
            if (std::abs(y - node.area.center().y()) > line / 2) continue;
            free_from = y + line / 2;
            const bool first = c == 0, last = c == columns - 1;
            const double room = first || last ? layout_.label_room - 6 : layout_.step_after(c) - 12;
            if (room < least_label) continue;
            const double wide =
                node.token >= 0 ? std::min(draw::token_width(labels_[static_cast<std::size_t>(node.token)], font), room) : room;
            const QRectF box(first ? node.area.left() - 6 - room : node.area.right() + 6, y - line / 2, first ? room : wide,
                             line);
            const auto align = first ? draw::Align::right : draw::Align::left;
            if (!first && !last && node.token >= 0)  // ribbons run behind it
                out.box(box.adjusted(-3, 1, 3, -1), 4, draw::faded(theme.canvas, 0.72));
            if (node.token >= 0) {
                out.token(box, labels_[static_cast<std::size_t>(node.token)], font, align);
            } else {
                QString text = others_text(node.count);
                if (draw::text_width(text, font) > room) text = draw::elided(u'+' + draw::count_text(node.count), font, room);
                out.text({first ? box.right() : box.left(), draw::centred_baseline(y, font)}, text, font, theme.muted, align);
            }
        }
    }
}

void PathsFigure::draw_legend(Scene& out, const QRectF& seen, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont font = ui_font(12);
    double x = seen.left() + PathsLayout::margin;
    const double y = seen.bottom() - layout_.legend_height + PathsLayout::legend - 30;
    const auto entry = [&](const QColor& color, const QString& text) {
        out.box(QRectF(x, y - 9, 18, 10), 2, color);
        x += 24;
        out.text({x, y}, text, font, theme.muted);
        x += draw::text_width(text, font) + 18;
    };
    entry(draw::faded(theme.faint, 0.36), QStringLiteral("the token itself"));
    entry(draw::faded(theme.accent, 0.45), two() ? QStringLiteral("other tokens of its text") : QStringLiteral("other tokens"));
    if (two()) entry(draw::faded(head_color(theme, style.palette, 2), 0.45), QStringLiteral("the source"));
    for (qsizetype i = 0; i < notes_.size(); ++i)
        out.text({seen.left() + PathsLayout::margin, y + 18 + note_line * static_cast<double>(i)}, notes_[i], font, theme.muted);
}

QString PathsFigure::notes_text() const {
    QStringList notes;
    if (data_.paths.left_out > 0)
        notes << QStringLiteral("%1 ribbons under %2 % left out, at most %3 % of a layer")
                     .arg(draw::count_text(data_.paths.left_out), draw::number_text(data_.paths.least * 100, 1),
                          draw::number_text(data_.paths.left_out_mass * 100, 1));
    if (const auto folded = std::ranges::count(layout_.folded, true); folded > 0)
        notes << QStringLiteral("%1 of %2 columns are narrow: little moves between tokens there")
                     .arg(folded)
                     .arg(layout_.columns.size());
    for (const std::string& note : data_.paths.notes) notes << QString::fromStdString(note);
    return notes.join(QStringLiteral(" · "));
}

Hit PathsFigure::hit_of(const PathNode& node) const {
    if (node.token < 0) return {.kind = Hit::Kind::legend, .value = node.mass};
    if (!two() || !of_source(node.token)) return {.kind = Hit::Kind::query, .query = position(node.token), .value = node.mass};
    if (!data_.across) return {.kind = Hit::Kind::legend, .value = node.mass};
    return {.kind = Hit::Kind::key, .key = position(node.token), .value = node.mass};
}

QString PathsFigure::tip_of(const PathNode& node) const {
    return (node.token >= 0 ? QStringLiteral("%1  %2  %3") : QStringLiteral("%1  %2 together  %3"))
        .arg(column_name(node.column), node.token >= 0 ? name(node.token) : others_text(node.count), amount(node.mass));
}

Hit PathsFigure::hit_of(const analyze::Ribbon& ribbon) const {
    // A pair of the attention shown, where the views beside this one have it.
    if (of_source(ribbon.from.value) || of_source(ribbon.to.value) != data_.across)
        return {.kind = Hit::Kind::legend, .value = ribbon.mass};
    return {
        .kind = Hit::Kind::pair, .query = position(ribbon.from.value), .key = position(ribbon.to.value), .value = ribbon.mass};
}

QString PathsFigure::tip_of(const analyze::Ribbon& ribbon) const {
    return QStringLiteral("%1  %2 → %3  %4")
        .arg(two() ? step_name(ribbon.layer) : QStringLiteral("layer %1").arg(ribbon.layer), name(ribbon.from.value),
             name(ribbon.to.value), amount(ribbon.mass));
}

Table PathsFigure::table() const {
    Table table{{"layer", "from", "from_token", "to", "to_token", "mass"}, {}};
    if (two()) table.columns = {"step", "behind", "from_text", "from", "from_token", "to_text", "to", "to_token", "mass"};
    const auto text = [&](Position p) { return std::string(of_source(p.value) ? "source" : "target"); };
    const auto token = [&](Position p) {
        const auto& item = data_.tokens[static_cast<std::size_t>(p.value)];
        return item.continuation + item.label;
    };
    for (const analyze::Ribbon& r : data_.paths.ribbons) {
        if (two())
            table.rows.push_back({r.layer, step_name(r.layer).toStdString(), text(r.from), position(r.from.value).value,
                                  token(r.from), text(r.to), position(r.to.value).value, token(r.to), r.mass});
        else
            table.rows.push_back({r.layer, r.from.value, token(r.from), r.to.value, token(r.to), r.mass});
    }
    return table;
}

std::vector<NamedArray> PathsFigure::arrays() const {
    const auto& mass = data_.paths.mass;
    NamedArray levels{"mass", {std::ssize(mass), mass[0].size()}, {}};
    for (const Eigen::VectorXd& level : mass)
        for (const double x : level) levels.values.push_back(static_cast<float>(x));
    return {levels};
}

QString PathsFigure::description() const {
    return QStringLiteral(
               "On the right one token after a layer, on the left the inputs; in between a column a layer. A ribbon's "
               "width is what a token hands down to another: half of everything stays on the token (the residual "
               "stream), the other half goes where the mean of the layer's heads looks. ") +
           (two()
                ? QStringLiteral(
                      "A layer of the decoder is two columns: its own attention, then the one to the source, which reads the encoder's "
                      "output; the source's tokens pass the decoder's columns as they are, and the target's the encoder's. ")
                : QString()) +
           (data_.flow ? QStringLiteral("Shown is one largest flow to a single input, with these numbers as the "
                                        "capacities of the edges. ")
                       : QStringLiteral("What arrives on the left is the token's row of the rollout. ")) +
           QStringLiteral("Abnar & Zuidema, “Quantifying Attention Flow in Transformers”, 2020.");
}

}  // namespace

std::unique_ptr<Figure> paths_figure(PathsData data) { return std::make_unique<PathsFigure>(std::move(data)); }

}  // namespace headlight::figure
