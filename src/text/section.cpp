// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/section.h"

#include "headlight/base/error.h"
#include "text/unicode/byte_alphabet.h"
#include "text/unicode/utf8.h"

#include <limits>

namespace headlight::text {

Section Section::whole(std::string_view typed, std::size_t begin, std::size_t end) {
    Section s;
    s.text = typed.substr(begin, end - begin);
    s.origin = static_cast<std::uint32_t>(begin);
    return s;
}

void Section::may_become(std::size_t bytes) const {
    if (budget && bytes > text.size() && bytes - text.size() > budget->growth()) budget->too_long();
}

Align Section::at(std::size_t i) const {
    if (!align.empty()) return align[i];
    const std::size_t first = utf8::floor(text, i);
    const auto begin = static_cast<std::uint32_t>(origin + first);
    return {begin, begin + static_cast<std::uint32_t>(utf8::length(text[first]))};
}

ByteRange Section::typed(std::size_t begin, std::size_t end) const {
    if (begin == end) return {origin + static_cast<std::int64_t>(begin), origin + static_cast<std::int64_t>(end)};
    if (!align.empty()) return {align[begin].begin, align[end - 1].end};
    return {origin + static_cast<std::int64_t>(utf8::floor(text, begin)),
            origin + static_cast<std::int64_t>(utf8::ceil(text, end))};
}

Section Section::slice(std::size_t begin, std::size_t end) const {
    Section s;
    s.text = text.substr(begin, end - begin);
    s.origin = static_cast<std::uint32_t>(typed(begin, end).begin);
    s.budget = budget;
    if (!align.empty()) {
        s.align.assign(align.begin() + static_cast<std::ptrdiff_t>(begin), align.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return s;
}

void Section::write_out_bytes() {
    if (!byte_level) return;
    byte_level = false;
    std::string out;
    std::vector<Align> out_align;
    std::vector<Span> out_spans;
    out.reserve(text.size() * 2);
    for (const Span span : spans) {
        const auto begin = static_cast<std::uint32_t>(out.size());
        for (std::size_t i = span.begin; i < span.end; ++i) {
            out += byte_alphabet::of(static_cast<unsigned char>(text[i]));
            out_align.resize(out.size(), at(i));
        }
        out_spans.push_back({begin, static_cast<std::uint32_t>(out.size())});
    }
    text = std::move(out);
    align = std::move(out_align);
    spans = std::move(out_spans);
}

void Rewrite::keep_until(std::size_t end) {
    const Section& s = section_;
    text_.append(s.text, done_, end - done_);
    if (!s.align.empty()) {
        align_.insert(align_.end(), s.align.begin() + static_cast<std::ptrdiff_t>(done_),
                      s.align.begin() + static_cast<std::ptrdiff_t>(end));
    } else {
        align_.reserve(s.text.size() + s.text.size() / 8);
        for (std::size_t i = done_; i < end;) {
            const std::size_t n = utf8::length(s.text[i]);
            const auto begin = static_cast<std::uint32_t>(s.origin + i);
            for (std::size_t k = 0; k < n; ++k) align_.push_back({begin, begin + static_cast<std::uint32_t>(n)});
            i += n;
        }
    }
    done_ = end;
}

void Rewrite::replace(std::size_t begin, std::size_t end, const std::vector<Char>& chars) {
    keep_until(begin);
    section_.may_become(text_.size() + chars.size());
    for (const Char& ch : chars) {
        utf8::append(text_, ch.c);
        align_.resize(text_.size(), ch.align);
    }
    done_ = end;
    changed_ = true;
}

void Rewrite::replace(std::size_t begin, std::size_t end, std::string_view content, Align align) {
    keep_until(begin);
    section_.may_become(text_.size() + content.size());
    text_ += content;
    align_.resize(text_.size(), align);
    done_ = end;
    changed_ = true;
}

void Rewrite::apply() {
    if (!changed_) return;
    keep_until(section_.text.size());
    if (text_.size() > std::numeric_limits<std::uint32_t>::max()) throw Error("The normalized text is longer than 4 GiB");
    if (section_.budget && text_.size() > section_.text.size()) section_.budget->grow(text_.size() - section_.text.size());
    section_.text = std::move(text_);
    section_.align = std::move(align_);
}

std::vector<Char> chars_of(const Section& s, std::size_t begin, std::size_t end) {
    std::vector<Char> chars;
    for (std::size_t i = begin; i < end;) {
        const Align align = s.at(i);
        chars.push_back({utf8::next(s.text, i), align});
    }
    return chars;
}

void rewrite_runs(Section& s, bool with_base, const std::function<void(std::vector<Char>&)>& change) {
    Rewrite rewrite(s);
    const std::string& text = s.text;
    for (std::size_t i = utf8::find_non_ascii(text, 0); i < text.size(); i = utf8::find_non_ascii(text, i)) {
        const std::size_t begin = with_base && i > 0 ? i - 1 : i;
        while (i < text.size() && !utf8::is_ascii(static_cast<unsigned char>(text[i]))) ++i;
        std::vector<Char> chars = chars_of(s, begin, i);
        const std::vector<Char> before = chars;
        change(chars);
        if (chars != before) rewrite.replace(begin, i, chars);
    }
    rewrite.apply();
}

}  // namespace headlight::text
