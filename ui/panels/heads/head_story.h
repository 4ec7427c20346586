// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"

#include <QString>

namespace headlight::ui {

/// One or two sentences about the kind of head that it appears to be on this text, with the paper that describes it; empty
/// if no measure stands out.
QString head_story(const analyze::HeadTable&, HeadId);

}  // namespace headlight::ui
