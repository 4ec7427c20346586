// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"

#include <QWidget>

#include <memory>

namespace headlight::ui {

/// A window with every tensor of the model's files: name, what it feeds, shape, type, file; those that nothing asked for
/// as such. With a filter over all columns.
void show_tensors(QWidget* parent, const std::shared_ptr<const model::Model>&);

}  // namespace headlight::ui
