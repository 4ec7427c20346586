// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>

namespace headlight::text {
namespace {

class Strip final : public Normalizer {
public:
    explicit Strip(const Field& f)
        : left_(f.boolean_or("strip_left", true)), right_(f.boolean_or("strip_right", true)) {}

    void normalize(Section& s) const override {
        std::size_t begin = 0;
        std::size_t end = s.text.size();
        for (std::size_t at = begin; left_ && at < s.text.size() && unicode::is_space(utf8::next(s.text, at));)
            begin = at;
        while (right_ && end > begin) {
            std::size_t at = utf8::floor(s.text, end - 1);
            const std::size_t first = at;
            if (!unicode::is_space(utf8::next(s.text, at))) break;
            end = first;
        }
        Rewrite rewrite(s);
        if (end < s.text.size() || begin > 0) {
            rewrite.replace(0, begin, "", {});
            rewrite.replace(end, s.text.size(), "", {});
        }
        rewrite.apply();
    }

private:
    bool left_;
    bool right_;
};

class StripAccents final : public Normalizer {
public:
    void normalize(Section& s) const override { drop_characters(s, unicode::is_mark); }
};

}  // namespace

void drop_characters(Section& s, bool (*drop)(char32_t) noexcept) {
    rewrite_runs(s, false,
                 [drop](std::vector<Char>& run) { std::erase_if(run, [drop](const Char& ch) { return drop(ch.c); }); });
}

NormalizerPtr make_strip(const Field& f) {
    return std::make_unique<Strip>(f);
}
NormalizerPtr make_strip_accents() {
    return std::make_unique<StripAccents>();
}

}  // namespace headlight::text
