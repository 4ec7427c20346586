// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pre_tokenizers/pre_tokenizer.h"

namespace headlight::text {

PreTokenizerPtr make_pre_tokenizer(const Field& f) {
    const std::string type = f.type({"Sequence", "ByteLevel", "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Split",
                                     "Digits", "Punctuation", "Metaspace", "CharDelimiterSplit", "FixedLength"},
                                    "pre-tokenizer");
    if (type == "Sequence") return make_pre_tokenizer_sequence(f);
    if (type == "ByteLevel") return make_byte_level(f);
    if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
    if (type == "Whitespace") return make_whitespace();
    if (type == "WhitespaceSplit") return make_whitespace_split();
    if (type == "Split") return make_split(f);
    if (type == "Digits") return make_digits(f);
    if (type == "FixedLength") return make_fixed_length(f);
    if (type == "Metaspace") return make_metaspace(f);
    if (type == "CharDelimiterSplit") return make_char_delimiter_split(f);
    return make_punctuation(f);
}

Behavior parse_behavior(const Field& f) {
    const std::string& name = f.string();
    if (name == "Removed") return Behavior::Removed;
    if (name == "Isolated") return Behavior::Isolated;
    if (name == "MergedWithPrevious") return Behavior::MergedWithPrevious;
    if (name == "MergedWithNext") return Behavior::MergedWithNext;
    if (name == "Contiguous") return Behavior::Contiguous;
    f.fail_expected("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

namespace {

/// Joins a part to the one before it (in reading order) where `joins` says so.
template <class It, class F>
std::vector<Span> join(It begin, It end, F joins) {
    std::vector<Span> out;
    bool previous = false;
    for (It it = begin; it != end; ++it) {
        if (!out.empty() && joins(it->match, previous)) {
            out.back() = {std::min(out.back().begin, it->span.begin), std::max(out.back().end, it->span.end)};
        } else {
            out.push_back(it->span);
        }
        previous = it->match;
    }
    return out;
}

}  // namespace

void apply_behavior(const std::vector<Part>& parts, Behavior behavior, std::vector<Span>& out) {
    const auto add = [&](Span s) {
        if (s.begin < s.end) out.push_back(s);
    };
    const auto merges = [](bool match, bool previous) { return match && !previous; };
    switch (behavior) {
        case Behavior::Removed:
            for (const Part& p : parts) {
                if (!p.match) add(p.span);
            }
            break;
        case Behavior::Isolated:
            for (const Part& p : parts) add(p.span);
            break;
        case Behavior::Contiguous:
            for (const Span s : join(parts.begin(), parts.end(), [](bool m, bool p) { return m == p; })) add(s);
            break;
        case Behavior::MergedWithPrevious:
            for (const Span s : join(parts.begin(), parts.end(), merges)) add(s);
            break;
        case Behavior::MergedWithNext: {
            const auto spans = join(parts.rbegin(), parts.rend(), merges);
            for (auto it = spans.rbegin(); it != spans.rend(); ++it) add(*it);
            break;
        }
    }
}

}  // namespace headlight::text
