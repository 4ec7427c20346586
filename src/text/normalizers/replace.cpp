// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/pattern/pattern.h"
#include "text/unicode/utf8.h"

namespace headlight::text {
namespace {

class Replace final : public Normalizer {
public:
    Replace(PatternPtr pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

    void normalize(Section& s) const override {
        std::vector<Span> matches;
        pattern_->find(s.text, s.budget, matches);
        Rewrite rewrite(s);
        for (const Span m : matches) {
            // The new characters count as the last one that was replaced.
            const Align align = m.end > 0 ? s.at(m.end - 1) : Align{s.origin, s.origin};
            rewrite.replace(m.begin, m.end, content_, align);
        }
        rewrite.apply();
    }

private:
    PatternPtr pattern_;
    std::string content_;
};

}  // namespace

NormalizerPtr make_replace(const Field& f) {
    return std::make_unique<Replace>(make_pattern(f.at("pattern")), f.at("content").string());
}

}  // namespace headlight::text
