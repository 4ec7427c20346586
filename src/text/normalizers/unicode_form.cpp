// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/unicode/unicode.h"

namespace headlight::text {
namespace {

class UnicodeForm final : public Normalizer {
public:
    explicit UnicodeForm(unicode::Form form) : form_(form) {}
    void normalize(Section& s) const override {
        rewrite_runs(s, true, [this](std::vector<Char>& run) { unicode::normalize(run, form_); });
    }

private:
    unicode::Form form_;
};

}  // namespace

NormalizerPtr make_unicode_form(const std::string& type) {
    using unicode::Form;
    const Form form = type == "NFC" ? Form::NFC : type == "NFD" ? Form::NFD : type == "NFKC" ? Form::NFKC : Form::NFKD;
    return std::make_unique<UnicodeForm>(form);
}

}  // namespace headlight::text
