// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/version.h"

namespace headlight {

const char* version() noexcept { return HEADLIGHT_VERSION; }

}  // namespace headlight
