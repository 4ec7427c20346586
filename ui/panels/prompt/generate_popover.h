// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/generate.h"
#include "ui/style/form.h"
#include "ui/style/popover.h"

namespace headlight::ui {

/// How many tokens the model adds and how they are drawn: greedy, or by temperature, top-k, top-p and a seed. Stored between
/// sessions.
class GeneratePopover : public Popover {
    Q_OBJECT
public:
    explicit GeneratePopover(QWidget* parent = nullptr);
    /// Below a button, inside the screen.
    void open_below(QWidget* button);
    model::GenerateOptions settings() const;
    QSpinBox& tokens();

private:
    Form<model::GenerateOptions>* form_;
};

}  // namespace headlight::ui
