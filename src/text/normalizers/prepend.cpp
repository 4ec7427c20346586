// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"

namespace headlight::text {

NormalizerPtr make_prepend(const Field& f) {
    return normalizer_of([text = f.at("prepend").string()](Section& s) {
        if (s.text.empty()) return;
        Rewrite rewrite(s);
        rewrite.replace(0, 0, text, s.at(0));  // what is put in front counts as the first character
        rewrite.apply();
    });
}

}  // namespace headlight::text
