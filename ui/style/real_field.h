// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDoubleSpinBox>

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
    QString textFromValue(double value) const override {
        QString text = QDoubleSpinBox::textFromValue(value);
        while (text.contains(u'.') && (text.endsWith(u'0') || text.endsWith(u'.'))) text.chop(1);
        return text;
    }
};

}  // namespace headlight::ui
