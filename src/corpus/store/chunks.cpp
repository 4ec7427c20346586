// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/store/chunks.h"

#include "headlight/base/error.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

using headlight::text::Encoding;

/// Positions [first, last) of an encoding, offsets counted from `byte`, words from 0.
void append_slice(Encoding& out, const Encoding& from, std::int64_t first, std::int64_t last, std::int64_t byte,
                  std::int64_t first_word) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        const bool special = from.special[i];
        out.ids.push_back(from.ids[i]);
        out.tokens.push_back(from.tokens[i]);
        out.offsets.push_back(special ? from.offsets[i]
                                      : headlight::text::ByteRange{from.offsets[i].begin - byte, from.offsets[i].end - byte});
        out.type_ids.push_back(from.type_ids[i]);
        out.special.push_back(special);
        out.words.push_back(special ? from.words[i] : from.words[i] - first_word);
        out.sequence.push_back(from.sequence[i]);
    }
}

/// The numbers of tokens that the template adds before and after a text.
struct Frame {
    std::int64_t before = 0, behind = 0;
};
Frame frame_of(const Encoding& encoding) {
    const auto& special = encoding.special;
    const auto first = std::ranges::find(special, false);
    if (first == special.end()) return {encoding.size(), 0};
    const auto last = std::find(special.rbegin(), special.rend(), false);
    return {first - special.begin(), last - special.rbegin()};
}

}  // namespace

std::string bytes_of(const Chunk& chunk, const Text& text) {
    return text.text.substr(static_cast<std::size_t>(chunk.first_byte),
                            static_cast<std::size_t>(chunk.end_byte - chunk.first_byte));
}

Chunker::Chunker(const headlight::text::Tokenizer& tokenizer, std::int64_t context, std::int64_t stride)
    : tokenizer_(tokenizer), context_(context), stride_(stride) {
    const Frame frame = frame_of(tokenizer.encode("a"));
    const std::int64_t room = context - frame.before - frame.behind;
    if (room < 1)
        throw Error({.problem = "The context has no room for a token of the text",
                     .item = "--context",
                     .expected = "at least " + std::to_string(frame.before + frame.behind + 1) + " tokens",
                     .found = std::to_string(context)});
    if (stride_ == 0) stride_ = room;
    if (stride_ < 1 || stride_ > room)
        throw Error({.problem = "The stride skips tokens or does not advance",
                     .item = "--stride",
                     .expected = "1 to " + std::to_string(room) + " tokens (the context minus the template's special tokens)",
                     .found = std::to_string(stride)});
}

std::vector<Chunk> Chunker::chunks(const Text& text) const {
    const Encoding all = tokenizer_.encode(text.text);
    const Frame frame = frame_of(all);
    const std::int64_t tokens = all.size() - frame.before - frame.behind, room = context_ - frame.before - frame.behind;
    const auto bytes = static_cast<std::int64_t>(text.text.size());
    std::vector<Chunk> out;
    for (std::int64_t start = 0, counted = 0; out.empty() || counted < tokens; start += stride_) {
        const std::int64_t end = std::min(tokens, start + room);
        Chunk chunk{.number = static_cast<std::int64_t>(out.size()),
                    .text = 0,
                    .first_byte = start == 0 ? 0 : all.offsets[static_cast<std::size_t>(frame.before + start)].begin,
                    .end_byte = end == tokens ? bytes : all.offsets[static_cast<std::size_t>(frame.before + end - 1)].end,
                    .first_query = start == 0 ? 0 : frame.before + counted - start,
                    .begins = start == 0,
                    .whole = tokens <= room,
                    .encoding = {}};
        if (chunk.first_query == frame.before) chunk.first_query = 0;  // nothing is shared
        const std::int64_t word = tokens == 0 ? 0 : all.words[static_cast<std::size_t>(frame.before + start)];
        append_slice(chunk.encoding, all, 0, frame.before, 0, 0);
        append_slice(chunk.encoding, all, frame.before + start, frame.before + end, chunk.first_byte, word);
        append_slice(chunk.encoding, all, all.size() - frame.behind, all.size(), 0, 0);
        out.push_back(std::move(chunk));
        counted = end;
    }
    return out;
}

}  // namespace headlight::corpus
