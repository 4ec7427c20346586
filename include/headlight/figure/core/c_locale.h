// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight::figure {

/// Numbers are computed, read and written as in the C locale from here on ("0.5", no group separators), in fields of the window
/// too. To be called right after a Qt application is made, which takes over the desktop's locale, and before any widget.
void use_c_locale();

}  // namespace headlight::figure
