// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/pattern/pattern.h"

namespace headlight::text {

NormalizerPtr make_replace(const Field& f) {
    return normalizer_of([pattern = make_pattern(f.at("pattern")), content = f.at("content").string()](Section& s) {
        std::vector<Span> matches;
        pattern->find(s.text, s.budget, matches);
        Rewrite rewrite(s);
        for (const Span m : matches) {
            // The new characters count as the last one that was replaced.
            const Align align = m.end > 0 ? s.at(m.end - 1) : Align{s.origin, s.origin};
            rewrite.replace(m.begin, m.end, content, align);
        }
        rewrite.apply();
    });
}

}  // namespace headlight::text
