// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/unicode/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace headlight::text {

NormalizerPtr make_byte_level_normalizer() {
    return normalizer_of([](Section& s) {
        Rewrite rewrite(s);
        for (std::size_t at = 0; at < s.text.size();) {
            const std::size_t begin = at;
            const Align align = s.at(at);
            utf8::next(s.text, at);
            std::string bytes;
            for (std::size_t i = begin; i < at; ++i) bytes += byte_alphabet::of(static_cast<unsigned char>(s.text[i]));
            rewrite.replace(begin, at, bytes, align);
        }
        rewrite.apply();
    });
}

}  // namespace headlight::text
