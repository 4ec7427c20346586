// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/search/search.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/syntax/tag_attention.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace headlight::map {
namespace {

std::string folded(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
    if (first == std::string::npos) return text;
    std::string out = text.substr(first, last - first + 1);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::pair<std::int32_t, std::int32_t> range_of(const std::string& text) {
    std::int32_t first = 0, last = 0;
    const char *begin = text.data(), *end = begin + text.size();
    auto read = std::from_chars(begin, end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || read.ptr != end || first < 0 || last < first)
        throw Error({.problem = "Positions are a number or a range", .expected = "\"3\" or \"0-9\"", .found = text});
    return {first, last};
}

/// "NOUN, propn" → {"NOUN", "PROPN"}
std::set<std::string> parts_of_speech(const std::string& text) {
    const auto known =
        std::span(corpus::kTokenTags).first(std::ranges::find(corpus::kTokenTags, "none") - corpus::kTokenTags.begin());
    std::set<std::string> out;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        std::string tag = folded(text.substr(at, comma - at));
        for (char& c : tag)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        if (std::ranges::find(known, tag) == known.end()) {
            std::string all;
            for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
            throw Error({.problem = "Universal Dependencies has no such part of speech", .expected = all, .found = tag});
        }
        out.insert(tag);
        at = comma + 1;
    }
    return out;
}

/// A regular expression that is tried on one token after another.
class Expression {
public:
    explicit Expression(const std::string& sought) : sought_(sought) {
        UErrorCode status = U_ZERO_ERROR;
        matcher_ = std::make_unique<icu::RegexMatcher>(icu::UnicodeString::fromUTF8(sought), UREGEX_CASE_INSENSITIVE, status);
        if (U_FAILURE(status)) throw Error({.problem = "The regular expression is invalid", .found = sought});
        // Tens of thousands of steps of the engine, counted and not timed: the same on every machine. An expression such as
        // (a+)+$ takes as many as two to the power of the token's length.
        constexpr std::int32_t kTimeLimit = 10;
        matcher_->setTimeLimit(kTimeLimit, status);
    }
    bool in(const std::string& token) {
        const icu::UnicodeString wide = icu::UnicodeString::fromUTF8(token);
        UErrorCode status = U_ZERO_ERROR;
        const bool found = matcher_->reset(wide).find(status);
        if (U_FAILURE(status))
            throw Error({.problem = "The regular expression takes too long",
                         .item = token,
                         .found = sought_,
                         .hint = "Do not repeat what is itself a repetition, as in (a+)+"});
        return found;
    }

private:
    std::string sought_;
    std::unique_ptr<icu::RegexMatcher> matcher_;
};

/// Mean distance of at most 2,000 pairs of points; NaN below two.
double mean_distance(const HeadMap& head, const std::vector<std::int64_t>& points) {
    constexpr std::int64_t kPairs = 2000;
    const std::int64_t n = std::ssize(points);
    if (n < 2) return kNaN;
    const auto distance = [&](std::int64_t a, std::int64_t b) {
        double square = 0;
        for (int d = 0; d < head.dims; ++d) {
            const double between =
                static_cast<double>(head.points[static_cast<std::size_t>(points[static_cast<std::size_t>(a)] * head.dims + d)]) -
                static_cast<double>(head.points[static_cast<std::size_t>(points[static_cast<std::size_t>(b)] * head.dims + d)]);
            square += between * between;
        }
        return std::sqrt(square);
    };
    double sum = 0;
    if (n * (n - 1) / 2 <= kPairs) {
        for (std::int64_t a = 0; a < n; ++a)
            for (std::int64_t b = a + 1; b < n; ++b) sum += distance(a, b);
        return sum / static_cast<double>(n * (n - 1) / 2);
    }
    for (std::int64_t pair = 0; pair < kPairs; ++pair) {
        const auto a = static_cast<std::int64_t>(corpus::draw(0, pair, 0) % static_cast<std::uint64_t>(n));
        const auto b = static_cast<std::int64_t>(corpus::draw(0, pair, 1) % static_cast<std::uint64_t>(n - 1));
        sum += distance(a, b + (b >= a ? 1 : 0));
    }
    return sum / static_cast<double>(kPairs);
}

}  // namespace

std::vector<std::uint8_t> find_tokens(const MapTokens& tokens, SearchKind kind, const std::string& sought,
                                      const TokenText& text_of) {
    std::vector<std::uint8_t> hits(tokens.tokens.size());
    if (sought.empty()) return hits;
    if (kind == SearchKind::positions) {
        const auto [first, last] = range_of(sought);
        for (std::size_t i = 0; i < hits.size(); ++i) hits[i] = tokens.position[i] >= first && tokens.position[i] <= last ? 1 : 0;
        return hits;
    }
    if (kind == SearchKind::part_of_speech) {
        if (tokens.tags.empty())
            throw Error(ErrorFacts{.problem = "The texts have no parts of speech",
                                   .hint = "Take a treebank in CoNLL-U, or a corpus store of one"});
        const std::set<std::string> wanted = parts_of_speech(sought);
        for (std::size_t i = 0; i < hits.size(); ++i) hits[i] = wanted.contains(tokens.tags[i]) ? 1 : 0;
        return hits;
    }
    std::optional<Expression> expression;
    if (kind == SearchKind::regex) expression.emplace(sought);
    const std::string wanted = folded(sought);
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const std::string token = text_of ? text_of(tokens.token_ids[i]) : tokens.tokens[i];
        hits[i] = (kind == SearchKind::token       ? folded(token) == wanted
                   : kind == SearchKind::substring ? folded(token).find(wanted) != std::string::npos
                                                   : expression->in(token))
                      ? 1
                      : 0;
    }
    return hits;
}

std::vector<std::uint8_t> find_points(const QueryKeyMap& map, SearchKind kind, const std::string& sought,
                                      const TokenText& text_of) {
    std::vector<std::uint8_t> hits = find_tokens(map.tokens, kind, sought, text_of);
    const std::vector<std::uint8_t> of_keys = map.source.tokens.empty() ? hits : find_tokens(map.source, kind, sought, text_of);
    hits.insert(hits.end(), of_keys.begin(), of_keys.end());
    return hits;
}

std::vector<HeadHits> heads_by_tightness(const QueryKeyMap& map, std::span<const std::uint8_t> hits) {
    std::vector<std::int64_t> found[2], all[2];
    const auto queries = static_cast<std::int64_t>(query_count(map));
    for (const int role : {0, 1}) {
        const MapTokens& tokens = role == 0 ? map.tokens : key_tokens(map);
        for (std::size_t i = 0; i < tokens.tokens.size(); ++i) {
            if (tokens.apart[i]) continue;
            const std::int64_t point = static_cast<std::int64_t>(i) + (role == 0 ? 0 : queries);
            all[role].push_back(point);
            // In a cross attention the hits are of the target, whose tokens have no keys.
            if (i < hits.size() && hits[i] && (role == 0 || map.source.tokens.empty())) found[role].push_back(point);
        }
    }
    std::vector<HeadHits> out;
    for (std::size_t h = 0; h < map.heads.size(); ++h) {
        double sum = 0;
        int counted = 0;
        for (const int role : {0, 1}) {
            const double ratio = mean_distance(map.heads[h], found[role]) / mean_distance(map.heads[h], all[role]);
            if (!std::isfinite(ratio)) continue;
            sum += ratio;
            ++counted;
        }
        out.push_back({h, counted > 0 ? sum / counted : kNaN});
    }
    std::stable_sort(out.begin(), out.end(), [](const HeadHits& a, const HeadHits& b) {
        return std::isnan(b.dispersion) ? !std::isnan(a.dispersion) : a.dispersion < b.dispersion;
    });
    return out;
}

}  // namespace headlight::map
