// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/figure.h"

#include <algorithm>

namespace headlight::figure {

bool Style::dims(HeadId head) const noexcept {
    return filter && std::binary_search(filter->dimmed.begin(), filter->dimmed.end(), head);
}

}  // namespace headlight::figure
