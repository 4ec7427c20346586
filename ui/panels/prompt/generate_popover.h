// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/style/popover.h"

#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QSpinBox>

namespace headlight::ui {

/// How many tokens the model adds and how they are drawn: greedy, or by temperature, top-k, top-p and a seed.
class GeneratePopover : public Popover {
    Q_OBJECT
public:
    explicit GeneratePopover(QWidget* parent = nullptr);
    /// Below a button, inside the screen.
    void open_below(QWidget* button);
    ContinueSettings settings() const;
    QSpinBox& tokens() { return *tokens_; }

private:
    void take();

    QSpinBox *tokens_, *top_k_, *seed_;
    QDoubleSpinBox *temperature_, *top_p_;
    QCheckBox* stop_at_end_;
};

}  // namespace headlight::ui
