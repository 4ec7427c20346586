// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/unicode/unicode.h"

namespace headlight::text {

NormalizerPtr make_unicode_form(const std::string& type) {
    using unicode::Form;
    const Form form = type == "NFC" ? Form::NFC : type == "NFD" ? Form::NFD : type == "NFKC" ? Form::NFKC : Form::NFKD;
    return normalizer_of(
        [form](Section& s) { rewrite_runs(s, true, [form](std::vector<Char>& run) { unicode::normalize(run, form); }); });
}

}  // namespace headlight::text
