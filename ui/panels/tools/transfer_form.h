// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QRadioButton>
#include <QSlider>
#include <QWidget>

#include <vector>

class QLabel;

namespace headlight::ui {

/// How weights become strengths: curve, threshold, share of the mass that is kept. The same for all views.
class TransferForm : public QWidget {
    Q_OBJECT
public:
    explicit TransferForm(Document&, QWidget* parent = nullptr);
    /// That of the chosen curve.
    QRadioButton& chosen() { return curve(document_.options().transfer.curve); }

private:
    QRadioButton& curve(figure::Transfer::Curve curve) { return *curves_[static_cast<std::size_t>(curve)]; }
    void show_document();
    void take();

    Document& document_;
    std::vector<QRadioButton*> curves_;
    QSlider *gamma_, *threshold_, *keep_mass_;
    QLabel *gamma_value_, *threshold_value_, *keep_mass_value_;
    bool showing_ = false;
};

}  // namespace headlight::ui
