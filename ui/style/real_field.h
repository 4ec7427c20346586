// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDoubleSpinBox>
#include <QLocale>

namespace headlight::ui {

/// A field for a number with decimals, without zeros that say nothing: "3", not "3.0000". A typed comma is a decimal point, as
/// the keypads of many keyboards send it.
class RealField : public QDoubleSpinBox {
public:
    using QDoubleSpinBox::QDoubleSpinBox;
    QValidator::State validate(QString& text, int& position) const override {
        text.replace(u',', u'.');
        return QDoubleSpinBox::validate(text, position);
    }
    QString textFromValue(double value) const override { return locale().toString(value, 'g', QLocale::FloatingPointShortest); }
};

}  // namespace headlight::ui
