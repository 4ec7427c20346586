// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"

namespace headlight::text {

NormalizerPtr make_normalizer_sequence(const Field& f) {
    std::vector<NormalizerPtr> parts;
    for (const Field& item : f.at("normalizers").items()) parts.push_back(make_normalizer(item));
    return normalizer_of([parts = std::move(parts)](Section& s) {
        for (const auto& part : parts) part->normalize(s);
    });
}

}  // namespace headlight::text
