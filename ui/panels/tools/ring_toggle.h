// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>

namespace headlight::ui {

/// A word and a small ring that fills when it is on. The word ends with an ellipsis where there is no room for it.
class RingToggle : public QAbstractButton {
    Q_OBJECT
public:
    RingToggle(const QString& text, const QString& tip, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
};

}  // namespace headlight::ui
