// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDoubleSpinBox>

namespace headlight::ui {

/// A field for a number with decimals. A typed comma is a decimal point, as the keypads of many keyboards send it.
class RealField : public QDoubleSpinBox {
public:
    using QDoubleSpinBox::QDoubleSpinBox;
    QValidator::State validate(QString& text, int& position) const override {
        text.replace(u',', u'.');
        return QDoubleSpinBox::validate(text, position);
    }
};

}  // namespace headlight::ui
