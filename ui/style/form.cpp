// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/form.h"

#include "ui/style/real_field.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::ui {
namespace {

QString words(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

}  // namespace

QString strings_line(const Strings& strings, char between) {
    QStringList parts;
    for (const std::string& each : strings) parts << QString::fromStdString(each);
    return parts.join(between == ' ' ? QStringLiteral(" ") : QString(QLatin1Char(between)) + u' ');
}

Strings strings_of(const QString& line, char between) {
    Strings out;
    for (const QString& part : line.split(QLatin1Char(between), Qt::SkipEmptyParts))
        if (!part.trimmed().isEmpty()) out.push_back(part.trimmed().toStdString());
    return out;
}

void take_indices(const QString& line, bool checked, Indices& value) {
    const QString text = QString(line).remove(u' ');
    try {
        value = text.isEmpty() ? Indices() : index_list(text.toStdString());
    } catch (const Error&) {
        if (checked) throw;
    }
}

FormRows::FormRows(Irrelevant irrelevant, QWidget* parent)
    : QWidget(parent), rows_(new QFormLayout(this)), irrelevant_(irrelevant) {
    rows_->setContentsMargins(0, 0, 0, 0);
    rows_->setHorizontalSpacing(16);
}

QWidget* FormRows::row(std::string_view name) const { return findChild<QWidget*>(words(name), Qt::FindDirectChildrenOnly); }

bool FormRows::uses(const Field& field) const { return field.relevant && !left_out_.contains(field.name); }

void FormRows::offer(std::string_view name, bool on) {
    if (on)
        left_out_.erase(name);
    else
        left_out_.insert(name);
}

void FormRows::show_relevant(const Field& field) {
    const bool stands = shows_all_ || !is_further(field.name);
    if (irrelevant_ == Irrelevant::hidden) return rows_->setRowVisible(row(field.name), uses(field) && stands);
    row(field.name)->setEnabled(uses(field));
}

void FormRows::insert_row(int at, QWidget* label, QWidget& field) {
    if (label)
        rows_->insertRow(at, label, &field);
    else
        rows_->insertRow(at, &field);
}

int FormRows::place_of(std::string_view name) const {
    int at = -1;
    rows_->getWidgetPosition(row(name), &at, nullptr);
    return at;
}

void FormRows::add_row(const Field& field, QWidget& widget, bool titled) {
    widget.setObjectName(words(field.name));
    widget.setAccessibleName(words(field.title));
    widget.setToolTip(words(field.help));
    if (titled)
        rows_->addRow(words(field.title), &widget);
    else
        rows_->addRow(&widget);
}

QCheckBox* FormRows::add_switch(const Field& field) {
    auto* box = new QCheckBox(words(field.title));
    connect(box, &QCheckBox::toggled, this, &FormRows::changed);
    add_row(field, *box, false);
    return box;
}

QComboBox* FormRows::add_choice(const Field& field) {
    auto* box = new QComboBox;
    connect(box, &QComboBox::currentIndexChanged, this, &FormRows::changed);
    add_row(field, *box);
    return box;
}

QSpinBox* FormRows::add_count(const Field& field) {
    auto* box = new QSpinBox;
    const double most = static_cast<double>(std::numeric_limits<int>::max());
    box->setRange(static_cast<int>(field.low), static_cast<int>(field.bounded() ? std::min(field.high, most) : most));
    box->setSpecialValueText(words(field.empty));
    box->setGroupSeparatorShown(true);
    box->setKeyboardTracking(false);
    connect(box, &QSpinBox::valueChanged, this, &FormRows::changed);
    add_row(field, *box);
    return box;
}

QDoubleSpinBox* FormRows::add_number(const Field& field) {
    auto* box = new RealField;
    constexpr int kDecimals = 4;
    box->setDecimals(field.low > 0 ? std::max(kDecimals, static_cast<int>(std::ceil(-std::log10(field.low)))) : kDecimals);
    box->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    box->setRange(field.bounded() ? field.low : -1e9, field.bounded() ? field.high : 1e9);
    box->setSpecialValueText(words(field.empty));
    box->setKeyboardTracking(false);
    connect(box, &QDoubleSpinBox::valueChanged, this, &FormRows::changed);
    add_row(field, *box);
    return box;
}

QLineEdit* FormRows::add_line(const Field& field) {
    auto* line = new QLineEdit;
    line->setPlaceholderText(words(field.empty));
    connect(line, &QLineEdit::textChanged, this, &FormRows::changed);
    add_row(field, *line);
    return line;
}

}  // namespace headlight::ui
