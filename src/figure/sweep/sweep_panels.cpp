// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/sweep/sweep_panels.h"

#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::figure {
namespace {

using intervention::Grid;
using intervention::Site;
using intervention::SweepCell;
using intervention::SweepResult;

QString title_words(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

draw::Label plain_label(const QString& text) {
    draw::Label label;
    label.text = text;
    return label;
}

draw::Label label_in(const std::vector<text::TokenLabel>& labels, std::int64_t position) {
    const auto at = static_cast<std::size_t>(position);
    return at < labels.size() && !labels[at].text.empty() ? draw::label_in(labels, Position(position))
                                                          : plain_label(QString::number(position));
}

draw::Label place_label(const SweepResult& r, std::int64_t position) {
    if (!r.position_names.empty())
        return plain_label(QString::fromStdString(r.position_names[static_cast<std::size_t>(position)]));
    return label_in(r.labels, position);
}

/// Of the cell's position; keys and values of a cross attention are the source's.
draw::Label position_label(const SweepResult& r, const SweepCell& cell, std::int64_t position) {
    return r.axes.sources > 0 && intervention::is_of_keys(cell.site) ? label_in(r.source_labels, position)
                                                                     : place_label(r, position);
}
draw::Label key_label(const SweepResult& r, std::int64_t key) {
    return r.axes.sources > 0 ? label_in(r.source_labels, key) : place_label(r, key);
}

bool is_key_value(const SweepResult& r, Site site) {
    return r.axes.kv_heads != r.axes.heads && intervention::row_of(site).axis == intervention::Axis::kv_head;
}

/// Which of a cell's numbers is its row and which its column; units are split into lines of this length.
constexpr std::int64_t kUnitsInARow = 64;
bool is_of_groups(const SweepResult& r, const SweepCell& cell) {
    return cell.source >= 0 && cell.head < 0 && !r.position_names.empty() && r.axes.sources == 0;
}
struct CellPlace {
    std::int64_t panel, row, column;
};
CellPlace place_of(const SweepResult& r, const SweepCell& cell) {
    const std::int64_t site = static_cast<std::int64_t>(cell.site) * 1'000'000;
    if (is_of_groups(r, cell))  // pairs of groups: one line each over the layers
        return {site, cell.position * r.axes.positions + cell.source, cell.layer};
    if (cell.source >= 0 && cell.head < 0) return {site + cell.layer, cell.position, cell.source};
    if (cell.source >= 0) return {site + cell.layer * r.axes.heads + cell.head, cell.position, cell.source};
    if (cell.neuron >= 0) return {site + cell.layer, cell.neuron / kUnitsInARow, cell.neuron % kUnitsInARow};
    if (cell.head >= 0 && cell.position >= 0) return {site, cell.layer * r.axes.heads + cell.head, cell.position};
    return {site, cell.layer, std::max({cell.head, cell.position, cell.expert})};
}

draw::Label row_label(const SweepResult& r, const SweepCell& cell, const CellPlace& place) {
    if (is_of_groups(r, cell))
        return plain_label(place_label(r, cell.position).text + QStringLiteral(" ← ") + key_label(r, cell.source).text);
    if (cell.source >= 0) return place_label(r, place.row);
    if (cell.neuron >= 0) return plain_label(QString::number(place.row * kUnitsInARow));
    if (cell.head >= 0 && cell.position >= 0) return plain_label(head_name({Layer(cell.layer), Head(cell.head)}));
    return plain_label(QString::number(cell.layer));
}

draw::Label column_label(const SweepResult& r, const SweepCell& cell, const CellPlace& place) {
    if (is_of_groups(r, cell)) return plain_label(QString::number(cell.layer));
    if (cell.position < 0) return plain_label(QString::number(place.column));
    return cell.source >= 0 ? key_label(r, place.column) : position_label(r, cell, place.column);
}

void name_panel(const SweepResult& r, const SweepCell& cell, SweepPanel& panel) {
    const std::vector<Site> all = intervention::sites_of(r.options.grid);
    if (all.size() > 1) panel.title = title_words(intervention::row_of(cell.site).title);
    if (is_of_groups(r, cell)) {
        panel.rows_name = QStringLiteral("edges");
        panel.columns_name = QStringLiteral("layer");
        return;
    }
    if (cell.source >= 0) {
        panel.title =
            cell.head < 0 ? QStringLiteral("layer %1").arg(cell.layer) : head_name({Layer(cell.layer), Head(cell.head)});
        panel.rows_name = QStringLiteral("query");
        panel.columns_name = QStringLiteral("key");
        return;
    }
    if (cell.neuron >= 0) {
        panel.title = QStringLiteral("layer %1").arg(cell.layer);
        panel.rows_name = QStringLiteral("unit");
        panel.columns_name = QStringLiteral("+");
        return;
    }
    panel.rows_name = cell.head >= 0 && cell.position >= 0 ? QStringLiteral("head") : QStringLiteral("layer");
    if (r.options.grid == Grid::pattern_by_destination) panel.columns_name = QStringLiteral("query");
    if (cell.position < 0)
        panel.columns_name = cell.expert >= 0             ? QStringLiteral("expert")
                             : is_key_value(r, cell.site) ? QStringLiteral("key/value head")
                                                          : QStringLiteral("head");
}

}  // namespace

std::vector<SweepPanel> sweep_panels(const SweepResult& r) {
    std::map<std::int64_t, std::vector<std::size_t>> by_panel;
    std::vector<std::int64_t> order;
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        const std::int64_t panel = place_of(r, r.cells[i]).panel;
        if (by_panel[panel].empty()) order.push_back(panel);
        by_panel[panel].push_back(i);
    }
    std::vector<SweepPanel> panels;
    for (const std::int64_t id : order) {
        SweepPanel& panel = panels.emplace_back();
        std::map<std::int64_t, draw::Label> rows, columns;
        for (const std::size_t i : by_panel[id]) {
            const CellPlace place = place_of(r, r.cells[i]);
            rows.emplace(place.row, row_label(r, r.cells[i], place));
            columns.emplace(place.column, column_label(r, r.cells[i], place));
        }
        std::map<std::int64_t, std::size_t> row_at, column_at;
        for (const auto& [at, label] : rows) row_at.emplace(at, panel.rows.size()), panel.rows.push_back(label);
        for (const auto& [at, label] : columns) column_at.emplace(at, panel.columns.size()), panel.columns.push_back(label);
        panel.cells.assign(rows.size() * columns.size(), -1);
        for (const std::size_t i : by_panel[id]) {
            const CellPlace place = place_of(r, r.cells[i]);
            panel.cells[row_at.at(place.row) * columns.size() + column_at.at(place.column)] = static_cast<std::int64_t>(i);
        }
        name_panel(r, r.cells[by_panel[id].front()], panel);
    }
    if (r.options.method != intervention::Method::both) return panels;
    for (std::size_t i = 0, count = panels.size(); i < count; ++i) {
        SweepPanel error = panels[i];
        error.of_error = true;
        if (panels[i].title.isEmpty()) panels[i].title = QStringLiteral("effect");  // beside the other, on one line with it
        error.title += error.title.isEmpty() ? QStringLiteral("error of attribution") : QStringLiteral(", error of attribution");
        panels.push_back(std::move(error));
    }
    return panels;
}

QString sweep_cell_words(const SweepResult& r, const SweepCell& cell) {
    const bool one = intervention::sites_of(r.options.grid).size() == 1;
    const QString name = sweep_cell_name(r, cell);
    return one ? title_words(intervention::row_of(cell.site).word) + QStringLiteral("  ") + name : name;
}

QString sweep_cell_name(const SweepResult& r, const SweepCell& cell) {
    QString out;
    if (intervention::sites_of(r.options.grid).size() > 1)
        out = title_words(intervention::row_of(cell.site).word) + QStringLiteral("  ");
    out += cell.head >= 0 && !is_key_value(r, cell.site) ? head_name({Layer(cell.layer), Head(cell.head)})
                                                         : QStringLiteral("L%1").arg(cell.layer);
    if (cell.head >= 0 && is_key_value(r, cell.site)) out += QStringLiteral(" key/value head %1").arg(cell.head);
    if (cell.neuron >= 0) out += QStringLiteral(" neuron %1").arg(cell.neuron);
    if (cell.expert >= 0) out += QStringLiteral(" expert %1").arg(cell.expert);
    if (cell.position >= 0)
        out += QStringLiteral("  ") + position_label(r, cell, cell.position).with_position(Position(cell.position));
    if (cell.source >= 0) out += QStringLiteral(" → ") + key_label(r, cell.source).with_position(Position(cell.source));
    return out;
}

QString sweep_number(double value) {
    QString text = QString::fromStdString(significant(value));
    if (text.startsWith(QLatin1Char('-'))) text.replace(0, 1, QStringLiteral("−"));
    return text;
}

QString sweep_effect_words(const SweepResult& r, const intervention::SweepCellResult& of) {
    QString out =
        QStringLiteral("effect on the %1 %2").arg(title_words(enum_row(r.options.metric).title), sweep_number(of.effect));
    if (std::isfinite(of.normalized)) out += QStringLiteral(", normalised ") + sweep_number(of.normalized);
    return out;
}

QString sweep_title(const SweepResult& r) {
    return title_words(enum_row(r.options.grid).title) +
           (r.options.attention == model::Stack::cross ? QStringLiteral(", cross attention") : QString()) +
           (r.options.ablation == intervention::Ablation::none ? QStringLiteral(", patched") : QString());
}

QString sweep_metric_words(const SweepResult& r) {
    const auto quoted = [](const std::vector<std::string>& words) {
        QStringList list;
        for (const std::string& word : words) list << QStringLiteral("“%1”").arg(QString::fromStdString(word));
        return list.join(QStringLiteral(", "));
    };
    QString out = title_words(enum_row(r.options.metric).title);
    if (!r.answer_words.empty()) out += QStringLiteral(" ") + quoted(r.answer_words);
    if (!r.wrong_words.empty()) out += QStringLiteral(" − ") + quoted(r.wrong_words);
    return out;
}

QString sweep_story(const SweepResult& r, std::size_t cell) {
    const intervention::SweepOptions& o = r.options;
    const intervention::SweepCellResult& of = r.results[cell];
    if (!std::isfinite(of.value) && !std::isfinite(of.effect)) return {};
    const bool patch = o.ablation == intervention::Ablation::none;
    const auto source = [&] {
        switch (o.ablation) {
            case intervention::Ablation::none:
                return o.direction == intervention::Direction::noise ? QStringLiteral("taken from the corrupt run")
                                                                     : QStringLiteral("taken from the clean run");
            case intervention::Ablation::zero: return QStringLiteral("set to 0");
            case intervention::Ablation::mean: return QStringLiteral("set to its mean");
            case intervention::Ablation::resample: return QStringLiteral("taken from other texts");
            case intervention::Ablation::knockout: return QStringLiteral("knocked out");
            case intervention::Ablation::forbid: return QStringLiteral("forbidden");
            case intervention::Ablation::force: return QStringLiteral("forced");
        }
        return QString();
    }();
    const double base = r.base_mean(), to = std::isfinite(of.value) ? of.value : base + of.effect;
    QString out = QStringLiteral("With %1 %2, the %3 goes %6from %4 to %5")
                      .arg(sweep_cell_words(r, r.cells[cell]).simplified(), source, sweep_metric_words(r), sweep_number(base),
                           sweep_number(to), of.pairs > 1 ? QStringLiteral("on average ") : QString());
    if (std::isfinite(of.normalized))
        out += QStringLiteral(": %1 % of the way to %2")
                   .arg(sweep_number(100 * of.normalized),
                        sweep_number(patch && o.direction == intervention::Direction::noise ? r.corrupt_mean() : r.clean_mean()));
    if (std::isfinite(of.low) && of.pairs > 1)
        out += QStringLiteral("; over %1 pairs the effect's %4 interval is %2 to %3")
                   .arg(QString::number(of.pairs), sweep_number(of.low), sweep_number(of.high), QStringLiteral("95 %"));
    if (intervention::estimates_alone(o.method)) out += QStringLiteral(" by its estimate");
    return out + QStringLiteral(".");
}

QString sweep_words(const SweepResult& r) {
    const intervention::SweepOptions& o = r.options;
    const bool patch = o.ablation == intervention::Ablation::none;
    QString out = title_words(patch ? enum_row(o.direction).title : enum_row(o.ablation).title) + QStringLiteral(" · ") +
                  sweep_metric_words(r);
    out += QStringLiteral(": ");
    const bool from_clean = !patch || o.direction == intervention::Direction::noise;
    out += patch ? QStringLiteral("%1\u00a0%2, %3\u00a0%4")
                       .arg(from_clean ? QStringLiteral("clean") : QStringLiteral("corrupt"), sweep_number(r.base_mean()),
                            from_clean ? QStringLiteral("corrupt") : QStringLiteral("clean"),
                            sweep_number(from_clean ? r.corrupt_mean() : r.clean_mean()))
                 : sweep_number(r.base_mean());
    QStringList to;
    for (const std::string& receiver : o.to) to << QString::fromStdString(receiver);
    if (!to.isEmpty())
        out += QStringLiteral(" · through ") + to.join(QStringLiteral(", "));
    else if (o.effect != intervention::Effect::total)
        out += QStringLiteral(" · ") + title_words(enum_row(o.effect).title);
    if (estimates_alone(o.method)) out += QStringLiteral(" · estimated by %1").arg(title_words(enum_row(o.method).title));
    if (r.effects.size() > 1)
        out += (o.noise.empty() ? QStringLiteral(" · %1 pairs") : QStringLiteral(" · %1 draws of noise")).arg(r.effects.size());
    if (o.window > 1) out += QStringLiteral(" · window of %1 layers").arg(o.window);
    return out;
}

}  // namespace headlight::figure
