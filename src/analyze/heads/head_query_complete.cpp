// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_query_text.h"
#include "headlight/analyze/heads/head_query.h"

#include <algorithm>
#include <optional>

namespace headlight::analyze {
namespace {

/// What an expression may go on with.
enum class Next { condition, comparison, number, connective, from, first_token, to, second_token };

class Completer {
public:
    Completer(std::string_view typed, const HeadTable& table, const trace::Trace* trace)
        : typed_(typed), names_(table), trace_(trace) {}

    QueryCompletions run() {
        const std::vector<QueryToken> tokens = query_tokens(typed_, names_);
        for (const QueryToken& token : tokens) {
            if (token.kind == QueryTokenKind::bad) return unfinished_quote(token);
            if (token.kind != QueryTokenKind::end) take(token);
        }
        // The word that is being typed may still become another one.
        const bool in_word = !typed_.empty() && typed_.back() != ' ' && last_.kind == QueryTokenKind::name;
        if (in_word) next_ = before_;
        QueryCompletions out;
        const std::size_t from = in_word || (next_ == Next::comparison && names_from_) ? start_of(in_word) : typed_.size();
        out.from = static_cast<std::int64_t>(from);
        const std::string part(typed_.substr(from));
        offer(part, out.found);
        return out;
    }

private:
    static bool is(const QueryToken& token, const char* word) { return token.kind == QueryTokenKind::name && token.text == word; }

    void take(const QueryToken& token) {
        before_ = next_;
        last_ = token;
        last_begin_ = begin_of(token);
        switch (next_) {
            case Next::condition:
            case Next::comparison:
                if (token.kind == QueryTokenKind::comparison) {
                    next_ = Next::number;
                } else if (is(token, "attention")) {
                    next_ = Next::from;
                } else if (is(token, "and") || is(token, "or") || is(token, "not") || token.kind == QueryTokenKind::open) {
                    next_ = Next::condition;
                    names_from_.reset();
                } else {
                    if (next_ == Next::condition) names_from_ = last_begin_;
                    before_ = Next::condition;
                    next_ = Next::comparison;
                }
                break;
            case Next::number: next_ = Next::connective; break;
            case Next::connective:
                if (token.kind != QueryTokenKind::close) next_ = Next::condition;
                names_from_.reset();
                break;
            case Next::from: next_ = is(token, "from") ? Next::first_token : Next::from; break;
            case Next::first_token: next_ = Next::to; break;
            case Next::to: next_ = is(token, "to") ? Next::second_token : Next::to; break;
            case Next::second_token:
                next_ = Next::comparison;
                names_from_.reset();
                break;
        }
    }

    /// The byte that a token begins at; its column counts characters.
    std::size_t begin_of(const QueryToken& token) const {
        std::size_t at = 0;
        for (std::int64_t character = 1; at < typed_.size(); ++at) {
            if ((static_cast<unsigned char>(typed_[at]) & 0xC0) == 0x80) continue;
            if (character++ == token.column) break;
        }
        return at;
    }
    std::size_t start_of(bool in_word) const {
        return next_ == Next::condition || next_ == Next::comparison ? names_from_.value_or(last_begin_)
               : in_word                                             ? last_begin_
                                                                     : typed_.size();
    }

    /// Behind "attention from `th": the tokens that begin so.
    QueryCompletions unfinished_quote(const QueryToken& token) {
        QueryCompletions out;
        out.from = static_cast<std::int64_t>(begin_of(token));
        if (next_ == Next::first_token || next_ == Next::second_token) offer_tokens(token.text, out.found);
        return out;
    }

    void offer(const std::string& part, std::vector<std::string>& found) const {
        const auto add_word = [&](const char* word) {
            if (std::string_view(word).starts_with(part) && part != word) found.emplace_back(word);
        };
        switch (next_) {
            case Next::condition:
            case Next::comparison:
                if (part.empty()) return;
                found = names_.continuations(part);
                if (trace_) add_word("attention from ");
                break;
            case Next::connective:
                if (part.empty() && !typed_.ends_with(' ')) return;  // a number may get more digits
                add_word("and ");
                add_word("or ");
                break;
            case Next::from: add_word("from "); break;
            case Next::to: add_word("to "); break;
            case Next::first_token:
            case Next::second_token: offer_tokens(part, found); break;
            case Next::number: break;
        }
    }

    void offer_tokens(std::string_view part, std::vector<std::string>& found) const {
        if (!trace_) return;
        const auto lower = [](std::string text) {
            std::transform(text.begin(), text.end(), text.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
            return text;
        };
        const auto& labels = next_ == Next::second_token ? trace_->key_labels() : trace_->labels();
        for (const text::TokenLabel& label : labels) {
            const std::string_view mark = "·";
            const std::string word = label.text.starts_with(mark) && label.text.size() > mark.size()
                                         ? label.text.substr(mark.size())
                                         : label.continuation + label.text;
            const std::string shown = "`" + word + "`";
            if (!lower(word).starts_with(lower(std::string(part))) || lower(word) == lower(std::string(part))) continue;
            if (word.find('`') != std::string::npos || std::find(found.begin(), found.end(), shown) != found.end()) continue;
            found.push_back(shown);
        }
    }

    std::string_view typed_;
    MeasureNames names_;
    const trace::Trace* trace_;
    Next next_ = Next::condition, before_ = Next::condition;
    QueryToken last_{.kind = QueryTokenKind::end, .text = {}, .typed = {}};
    std::size_t last_begin_ = 0;
    std::optional<std::size_t> names_from_;  ///< where the words of a measure begin
};

}  // namespace

QueryCompletions complete_query(std::string_view typed, const HeadTable& table, const trace::Trace* trace) {
    return Completer(typed, table, trace).run();
}

}  // namespace headlight::analyze
