// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/inspector/number_rows.h"

#include "headlight/figure/core/theme.h"
#include "ui/style/widgets.h"

#include <QFrame>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

/// "−0.15"; "0" where nothing of it is left.
QString aligned_number(double value, int decimals) {
    const QString text = QString::number(value, 'f', decimals);
    return text.toDouble() == 0 ? QStringLiteral("0") : QString(text).replace(u'-', QChar(0x2212));
}

}  // namespace

NumberRows::NumberRows(QWidget* parent) : QWidget(parent), layout_(new_column(this, {0, 0, 0, 0}, 0)) {
    setProperty("role", "clear");
}

void NumberRows::start(bool compares) {
    compares_ = compares;
    while (QLayoutItem* item = layout_->takeAt(0)) {
        if (item->widget()) {
            item->widget()->hide();
            item->widget()->deleteLater();
        }
        delete item;
    }
    if (!compares) return;
    auto* heading = new NumberRow({});
    heading->set_columns({QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("B − A")}, {});
    heading->set_heading();
    layout_->addWidget(heading);
}

void NumberRows::add(QWidget* widget) { layout_->addWidget(widget); }

NumberRow* NumberRows::add_text(const QString& name, const QString& shown, const QString& exact) {
    auto* row = new NumberRow(name);
    row->set_value(shown, exact);
    layout_->addWidget(row);
    return row;
}

NumberRow* NumberRows::add(const QString& name, Numbers of, const QString& definition, QString (*text)(double)) {
    NumberRow* row = add_text(name, text(of.a), exact_text(of.a));
    if (compares_) {
        const double change = of.b - of.a;
        // All three with the decimals of the larger one: more would leave no room for the name.
        const double largest = std::fmax(std::abs(of.a), std::abs(of.b));
        const int decimals = largest > 0 ? std::clamp(2 - int(std::floor(std::log10(largest))), 0, 5) : 0;
        const auto shown = [&](double x) {
            return std::isnan(x) ? QStringLiteral("–") : text != number_text ? text(x) : aligned_number(x, decimals);
        };
        const QString difference = shown(change);
        row->set_columns({shown(of.a), shown(of.b),
                          change > 0 && difference != u"0" && !difference.startsWith(u'+') ? u'+' + difference : difference},
                         {exact_text(of.a), exact_text(of.b), exact_text(change)});
    }
    row->set_definition(definition);
    return row;
}

void NumberRows::add_rule() {
    auto* holder = new QWidget;
    auto* layout = new_column(holder, {0, 3, 0, 3});
    auto* rule = new QFrame;
    rule->setProperty("role", "rule");
    layout->addWidget(rule);
    layout_->addWidget(holder);
}

QLabel* NumberRows::add_note(const QString& text, int weight) {
    QLabel* note = wrapped_label("note", text);
    note->setFont(figure::ui_font(12, weight));
    note->setTextFormat(Qt::PlainText);
    note->setContentsMargins(0, 4, 0, 4);
    layout_->addWidget(note);
    return note;
}

void NumberRows::end() {
    std::vector<NumberRow*> rows;
    std::vector<int> widths;
    for (int i = 0; i < layout_->count(); ++i) {
        auto* row = qobject_cast<NumberRow*>(layout_->itemAt(i)->widget());
        if (!row || row->columns().isEmpty()) continue;
        rows.push_back(row);
        const std::vector<int> needed = row->needed_widths();
        widths.resize(std::max(widths.size(), needed.size()));
        for (std::size_t c = 0; c < needed.size(); ++c) widths[c] = std::max(widths[c], needed[c]);
    }
    for (NumberRow* row : rows) row->set_column_widths(widths);
}

NumberRow* NumberRows::row(const QString& name) const {
    for (int i = 0; i < layout_->count(); ++i) {
        auto* row = qobject_cast<NumberRow*>(layout_->itemAt(i)->widget());
        if (row && row->text() == name) return row;
    }
    return nullptr;
}

}  // namespace headlight::ui
