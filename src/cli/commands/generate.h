// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/command.h"

namespace headlight::cli {

Action define_generate(Definition&, const Frontend&);

}  // namespace headlight::cli
