// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/notes.h"

#include "headlight/base/numbers.h"

#include <algorithm>

namespace headlight::text {
namespace {

constexpr std::int64_t kNoted = 5;  ///< one of so many tokens may be unknown

std::string unknown_note(const Tokenizer& tokenizer, const Encoding& encoding) {
    const auto typed = std::ranges::count(encoding.special, false);
    for (const char* name : {"[UNK]", "<unk>", "<UNK>"}) {
        const auto id = tokenizer.id_of(name);
        const std::int64_t unknown = id ? std::ranges::count(encoding.ids, *id) : 0;
        if (unknown * kNoted > typed)
            return with_commas(unknown) + " of " + with_commas(typed) + " tokens are " + name +
                   ", for what the vocabulary lacks: the model cannot tell them apart";
    }
    return {};
}

std::string doubled_begin_note(const Encoding& encoding) {
    const bool doubled = encoding.size() > 1 && encoding.special[0] && !encoding.special[1] && encoding.ids[0] == encoding.ids[1];
    if (!doubled) return {};
    return "the text begins with " + encoding.tokens[0] +
           ", which the tokenizer puts in front by itself: the model reads it twice";
}

}  // namespace

std::vector<std::string> notes_on(const Tokenizer& tokenizer, const Encoding& encoding) {
    std::vector<std::string> notes;
    for (std::string note : {unknown_note(tokenizer, encoding), doubled_begin_note(encoding)})
        if (!note.empty()) notes.push_back(std::move(note));
    return notes;
}

}  // namespace headlight::text
