// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"

#include <QString>

namespace headlight::ui {

/// One or two sentences about what kind of head this looks like on this text, and where that kind was described; empty
/// when no measure stands out.
QString head_story(const analyze::HeadTable&, HeadId);

}  // namespace headlight::ui
