// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/added_tokens.h"

#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::text {

bool TokenMatcher::add(const std::string& pattern, std::int32_t id) {
    if (pattern.empty() || !seen_.insert(pattern).second) return false;
    patterns_.emplace_back(pattern, id);
    return true;
}

void TokenMatcher::finish() {
    const auto first = [](const std::string& s) { return static_cast<unsigned char>(s[0]); };
    std::sort(patterns_.begin(), patterns_.end(), [&](const auto& a, const auto& b) {
        if (first(a.first) != first(b.first)) return first(a.first) < first(b.first);
        return a.first.size() > b.first.size();
    });
    by_first_.assign(256, {0, 0});
    for (std::uint32_t i = 0; i < patterns_.size(); ++i) {
        auto& range = by_first_[first(patterns_[i].first)];
        if (range.first == range.second) {
            range.first = i;
            first_bytes_ += patterns_[i].first[0];
        }
        range.second = i + 1;
    }
}

std::optional<TokenMatcher::Found> TokenMatcher::next(std::string_view text, std::size_t from) const {
    if (patterns_.empty()) return std::nullopt;
    const bool one = first_bytes_.size() == 1;
    for (std::size_t at = from; at < text.size(); ++at) {
        if (one) {
            at = text.find(first_bytes_[0], at);
            if (at == text.npos) return std::nullopt;
        }
        const auto [begin, end] = by_first_[static_cast<unsigned char>(text[at])];
        for (std::uint32_t i = begin; i < end; ++i) {
            const auto& [pattern, id] = patterns_[i];
            if (text.compare(at, pattern.size(), pattern) == 0) return Found{at, at + pattern.size(), id};
        }
    }
    return std::nullopt;
}

AddedTokens::AddedTokens(const std::optional<Field>& items, const Vocab& vocab, const Normalizer* normalizer) {
    if (!items) return;
    std::int32_t next_id = vocab.size();
    const auto list = items->items();
    for (const Field& item : list) add(item, vocab, next_id);
    std::size_t bytes = 0;
    for (const auto& [content, id] : ids_) bytes += content.size();
    Budget budget(bytes, items->file());
    for (const Field& item : list) {
        const AddedToken* token = find(item.at("content").string());
        if (token->id != item.at("id").integer(0, kHighestId)) continue;
        if (!token->normalized) {
            typed_.add(token->content, token->id);
            continue;
        }
        Section section = Section::whole(token->content, 0, token->content.size());
        section.budget = &budget;
        if (normalizer) normalizer->normalize_token(section);
        if (!normalized_.add(section.text, token->id)) {
            item.at("content").fail("Two added tokens are equal after normalization, or one becomes empty", "", section.text);
        }
    }
    typed_.finish();
    normalized_.finish();
}

void AddedTokens::add(const Field& item, const Vocab& vocab, std::int32_t& next_id) {
    AddedToken t;
    t.id = static_cast<std::int32_t>(item.at("id").integer(0, kHighestId));
    t.content = item.at("content").string();
    t.special = item.boolean_or("special", false);
    t.single_word = item.boolean_or("single_word", false);
    t.lstrip = item.boolean_or("lstrip", false);
    t.rstrip = item.boolean_or("rstrip", false);
    t.normalized = item.boolean_or("normalized", !t.special);
    if (t.content.empty()) item.at("content").fail("An added token is empty");
    const auto conflict = [&](const std::string& expected) {
        item.at("id").fail("The id of an added token conflicts with the vocabulary", expected,
                           std::to_string(t.id) + " for \"" + t.content + "\"");
    };
    if (ids_.contains(t.content)) item.at("content").fail("An added token is listed twice", "", t.content);
    if (const auto known = vocab.id_of(t.content)) {
        if (*known != t.id) conflict("id " + std::to_string(*known) + ", as in the vocabulary");
    } else {
        if (t.id < vocab.size())
            conflict("an id beyond the vocabulary: " + std::to_string(t.id) + " is \"" + vocab.token_of(t.id) + "\"");
        // New tokens are numbered on from the vocabulary; a file that says otherwise was not written by its tokenizer.
        if (t.id != next_id) conflict("the next free id, " + std::to_string(next_id));
        ++next_id;
    }
    ids_.emplace(t.content, t.id);
    tokens_.emplace(t.id, std::move(t));
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
    const auto it = tokens_.find(id);
    return it == tokens_.end() ? nullptr : &it->second;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto it = ids_.find(content);
    return it == ids_.end() ? nullptr : find(it->second);
}

namespace {

bool word_before(std::string_view text, std::size_t at) {
    if (at == 0) return false;
    std::size_t i = utf8::floor(text, at - 1);
    return unicode::is_word(utf8::next(text, i));
}

bool word_behind(std::string_view text, std::size_t at) { return at < text.size() && unicode::is_word(utf8::next(text, at)); }

std::size_t spaces_before(std::string_view text, std::size_t at) {
    while (at > 0) {
        const std::size_t first = utf8::floor(text, at - 1);
        std::size_t i = first;
        if (!unicode::is_space(utf8::next(text, i))) break;
        at = first;
    }
    return at;
}

std::size_t spaces_behind(std::string_view text, std::size_t at) {
    for (std::size_t i = at; i < text.size() && unicode::is_space(utf8::next(text, i));) at = i;
    return at;
}

}  // namespace

std::vector<AddedTokens::Piece> AddedTokens::cut(std::string_view text, bool normalized) const {
    const TokenMatcher& matcher = normalized ? normalized_ : typed_;
    std::vector<Piece> out;
    std::size_t done = 0;
    std::size_t from = 0;
    while (const auto found = matcher.next(text, from)) {
        from = found->end;
        const AddedToken& t = *find(found->id);
        if (t.single_word && (word_before(text, found->begin) || word_behind(text, found->end))) continue;
        std::size_t begin = found->begin;
        std::size_t end = found->end;
        if (t.lstrip) begin = std::max(spaces_before(text, begin), done);
        if (t.rstrip) end = spaces_behind(text, end);
        if (done < begin) out.push_back({done, begin, -1});
        out.push_back({begin, end, t.id});
        done = end;
    }
    if (done < text.size()) out.push_back({done, text.size(), -1});
    return out;
}

}  // namespace headlight::text
