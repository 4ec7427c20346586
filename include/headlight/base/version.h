// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight {

/// "0.1.0": written into every export.
const char* version() noexcept;

}  // namespace headlight
