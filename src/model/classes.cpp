// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/classes.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <charconv>

namespace headlight::model {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    return out;
}

}  // namespace

std::string rows_text(const ModelConfig& c) {
    switch (c.class_head.reads) {
        case ClassRow::every: return "read at every token";
        case ClassRow::first: return "read at the first token";
        case ClassRow::last:
            return c.class_head.pad_id < 0 ? "read at the last token" : "read at the last token that is no padding";
        case ClassRow::end: return "read at the source's last end token";
        case ClassRow::patches: return "read from the mean of the patches";
        case ClassRow::class_and_patches: return "read from [CLS] and the mean of the patches";
        case ClassRow::mean: break;
    }
    return "read from the mean of all tokens";
}

std::vector<ReadRow> rows_read(const ModelConfig& c, std::int64_t tokens) {
    const std::int64_t first = c.class_head.reads == ClassRow::mean ? 0 : c.class_tokens, part = head_parts(c) - 1;
    std::vector<ReadRow> rows;
    if (part > 0) rows.push_back({0, 1, 0});
    for (std::int64_t row = first; row < tokens; ++row) rows.push_back({row, 1 / static_cast<double>(tokens - first), part});
    return rows;
}

std::optional<std::int64_t> class_position(const ModelConfig& c, const std::vector<std::int64_t>& ids) {
    if (!has_classes(c)) return std::nullopt;
    if (!c.class_head.any()) return 0;  // of a picture
    if (c.class_head.reads == ClassRow::every) return std::nullopt;
    if (c.class_head.reads == ClassRow::first || reads_mean(c)) return 0;
    if (c.class_head.reads == ClassRow::end) {
        // The decoder reads the source one token later, and its last token first.
        const auto tokens = static_cast<std::int64_t>(ids.size());
        const auto end = std::find(ids.rbegin(), ids.rend(), c.class_head.end_id);
        const std::int64_t at = static_cast<std::int64_t>(ids.rend() - end) - 1;
        return at <= 0 || ids.front() == c.class_head.end_id ? tokens - 1 : at - 1;
    }
    const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](std::int64_t id) { return id != c.class_head.pad_id; });
    return last == ids.rend() ? 0 : static_cast<std::int64_t>(ids.rend() - last) - 1;
}

std::optional<std::int64_t> text_class_position(const ModelConfig& c, const std::vector<std::int64_t>& ids) {
    return c.class_head.any() ? class_position(c, ids) : std::nullopt;
}

void require_class_position(const ModelConfig& c, const std::vector<std::int64_t>& ids, std::int64_t position,
                            const std::string& option) {
    const auto read = text_class_position(c, ids);
    if (!read) return;
    const bool mean = reads_mean(c);
    if (mean ? option.empty() : position == *read) return;
    throw Error(ErrorFacts{.problem = "The head of this classifier does not read this position",
                           .item = option.empty() ? "position" : option,
                           .expected = mean ? "none: it is " + rows_text(c) : std::to_string(*read),
                           .found = std::to_string(position),
                           .hint = option.empty() ? "" : "Leave " + option + " out: then the right one is read"});
}

std::string class_list(const ModelConfig& c) {
    constexpr std::size_t kListed = 12;
    std::string list;
    for (std::size_t i = 0; i < c.labels.size() && i < kListed; ++i) list += (i > 0 ? ", " : "") + c.labels[i];
    if (c.labels.size() > kListed) list += " and " + with_commas(static_cast<std::int64_t>(c.labels.size() - kListed)) + " more";
    return list;
}

std::int64_t class_of(const ModelConfig& c, std::string_view typed, const std::string& option) {
    const auto found = [&](const auto& matches) {
        const auto first = std::ranges::find_if(c.labels, matches);
        return first == c.labels.end() || std::any_of(first + 1, c.labels.end(), matches) ? -1 : first - c.labels.begin();
    };
    // Of several classes of a name the first is shown with the name alone.
    const auto exact = std::ranges::find(c.labels, typed);
    std::int64_t id = exact != c.labels.end() ? exact - c.labels.begin() : -1;
    if (id < 0) id = found([&](const std::string& label) { return lower(label) == lower(typed); });
    if (id >= 0) return id;
    for (std::int64_t i = 0; i < logit_count(c); ++i)  // and the others with their numbers
        if (c.labels[static_cast<std::size_t>(i)] + " (" + std::to_string(i) + ")" == typed) return i;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), id);
    if (error == std::errc() && end == typed.data() + typed.size() && id >= 0 && id < logit_count(c)) return id;
    const std::string near = nearest(typed, c.labels);
    throw Error(ErrorFacts{.problem = "This model has no such class",
                           .item = option,
                           .expected = class_list(c) + ", or a number from 0 to " + std::to_string(logit_count(c) - 1),
                           .found = "\"" + std::string(typed) + "\"",
                           .hint = near.empty() ? "" : "Did you mean \"" + near + "\"?"});
}

std::string head_text(const ModelConfig& c) {
    std::string text(enum_word(head_of(c)));
    if (!has_classes(c)) return text;
    text += " of " + with_commas(logit_count(c)) + (c.labels.size() == 1 ? " class (" : " classes (") + class_list(c) + ")";
    return c.class_head.any() ? text + ", " + rows_text(c) : text;
}

std::string why_no_logits(const ModelConfig& c) {
    if (!c.other_head.empty())
        return "The files hold the head of " + (c.architecture.empty() ? "another class" : c.architecture) + " (" + c.other_head +
               "), which is not supported: this model is no language model";
    return "This model has no head";
}

}  // namespace headlight::model
