// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"

#include <QString>

#include <vector>

namespace headlight::ui {

/// Heads as an expression of the finder: "L0H1 or L3 or L4H2". A layer whose heads are all there is named alone.
QString head_list(const std::vector<HeadId>& sorted, std::int64_t heads_a_layer);
/// True for what head_list() writes, and not for a question.
bool is_head_list(const QString& expression);

}  // namespace headlight::ui
