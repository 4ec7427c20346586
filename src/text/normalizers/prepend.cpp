// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"

namespace headlight::text {
namespace {

class Prepend final : public Normalizer {
public:
    explicit Prepend(std::string text) : text_(std::move(text)) {}
    void normalize(Section& s) const override {
        if (s.text.empty()) return;
        Rewrite rewrite(s);
        rewrite.replace(0, 0, text_, s.at(0));  // what is put in front counts as the first character
        rewrite.apply();
    }

private:
    std::string text_;
};

}  // namespace

NormalizerPtr make_prepend(const Field& f) { return std::make_unique<Prepend>(f.at("prepend").string()); }

}  // namespace headlight::text
