// SPDX-License-Identifier: GPL-3.0-or-later
// How an expression about heads is read: its words, and which measure a person means by some of them.
#pragma once

#include "headlight/analyze/heads/head_query.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::analyze {

struct HeadTable;

enum class QueryTokenKind { name, number, comparison, open, close, quoted, bad, end };

struct QueryToken {
    /// bad: what cannot stand in an expression; text says why. Always the last one before end.
    QueryTokenKind kind = QueryTokenKind::end;
    std::string text;   ///< as typed; names in lower case, quoted ones without their quotes
    std::string typed;  ///< as typed, with quotes
    double number = 0;
    bool percent = false;     ///< "60 %": the number is 0.6
    std::int64_t column = 1;  ///< 1-based, in characters
    std::string problem{}, expected{};
};

/// The Error about a token; a bad one says itself what is wrong with it.
[[noreturn]] void fail_at(const QueryToken&, const std::string& problem, const std::string& expected,
                          const std::string& hint = {});

/// Names of measures, of `layer` and of `head`.
class MeasureNames {
public:
    explicit MeasureNames(const HeadTable&);
    struct Found {
        std::vector<std::string> ids;  ///< one: this is meant; several: all that fit; none: there is none
        bool whole = false;            ///< by its whole id or title, not by a part
    };
    Found find(std::string_view words) const;
    /// Id of the closest name.
    std::string nearest(const std::string& typed) const;
    bool knows_corpus() const;
    const std::string& first() const { return names_.front().id; }
    /// Length of the longest title at the start of `text` with a word of the language or a number in it ("share on periods and
    /// commas"); 0: none.
    std::size_t title_at(std::string_view text) const;
    /// Titles of the names that may continue what is typed: those that begin with it, then those that have its words' beginnings.
    std::vector<std::string> continuations(std::string_view typed) const;

private:
    struct Name {
        std::string id, title;  ///< lower case
        std::vector<std::string> id_words, title_words;
        std::string shown;       ///< the title as it is written
        bool of_corpus = false;  ///< meant only where "corpus" comes first, so that "entropy" stays the text's
    };
    std::vector<Name> names_;
};

/// Ends with one token of kind end. Never throws. Titles of measures that have signs or words of the language in them are one
/// token, and so are tokens of the text behind "attention from" and "to", and words behind "attends to" and "its", whatever signs
/// they consist of.
std::vector<QueryToken> query_tokens(std::string_view expression, const MeasureNames&);

/// Of a pattern. In a cross attention queries and keys are two texts.
enum class Side { queries, keys };
/// tokens_called() of either.
std::vector<Position> tokens_called(const trace::Trace&, std::string_view typed, Side);
/// The token of the text that reads most like `typed`, with its position: "`animals` (5)"; empty: none is near.
std::string nearest_token(const trace::Trace&, std::string_view typed, Side);

}  // namespace headlight::analyze
