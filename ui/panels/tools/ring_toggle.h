// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>

namespace headlight::ui {

/// A word and a small ring that fills when it is on.
class RingToggle : public QAbstractButton {
    Q_OBJECT
public:
    RingToggle(const QString& text, const QString& tip, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent*) override;
};

}  // namespace headlight::ui
