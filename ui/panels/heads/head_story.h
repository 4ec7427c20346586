// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"

#include <QString>

namespace headlight::ui {

/// One or two sentences about the kind of head that it is, with the number behind it and the paper that describes the kind; empty
/// if nothing stands out. "An induction head" stands on the random-token probe alone; what the text at hand says is said of the
/// text, without attention sinks, and with the number of its queries.
QString head_story(const analyze::HeadTable&, HeadId);

}  // namespace headlight::ui
