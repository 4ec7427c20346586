// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_query_text.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>
#include <utility>

namespace headlight::analyze {
namespace {

using Words = std::vector<std::string>;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

class Lexer {
public:
    Lexer(std::string_view text, const MeasureNames& names) : text_(text), names_(names) {}

    QueryToken next() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        QueryToken token;
        token.column = column();
        if (at_ == text_.size()) return token;
        const std::size_t begin = at_;
        const char c = text_[at_];
        if (token_of_text(token)) {
        } else if (comparison(token)) {
        } else if (const std::size_t length = names_.title_at(text_.substr(at_))) {
            named(token, length);
        } else if (is_letter(c)) {
            name(token);
        } else if (const std::size_t bracket = bracketed('[', ']', true)) {  // [SEP], in a title
            named(token, bracket);
        } else if (is_digit(c) || c == '.' || c == '-' || c == '+') {
            number(token);
        } else if (c == '(' || c == ')') {
            token.kind = c == '(' ? QueryTokenKind::open : QueryTokenKind::close;
            ++at_;
        } else if (c == '`' || c == '"' || c == '\'') {
            quoted(token, c);
        } else {
            ++at_;
            bad(token, "Not understood in a question about heads",
                "a measure, a number, attention from `a` to `b`, < <= > >= = !=, and, or, not, ( or )");
        }
        token.typed = text_.substr(begin, at_ - begin);
        if (token.text.empty() && token.kind != QueryTokenKind::quoted) token.text = token.typed;
        follow(token);
        return token;
    }

private:
    std::int64_t column() {
        for (; counted_ < at_; ++counted_)
            if ((static_cast<unsigned char>(text_[counted_]) & 0xC0) != 0x80) ++characters_;
        return characters_ + 1;
    }

    static void bad(QueryToken& token, const char* problem, const char* expected) {
        token.kind = QueryTokenKind::bad;
        token.problem = problem;
        token.expected = expected;
    }

    /// "attention from TOKEN to TOKEN", "attends to [its] WORD": where a token of the text is next.
    void follow(const QueryToken& token) {
        const auto is = [&](const char* word) { return token.kind == QueryTokenKind::name && token.text == word; };
        if (place_ == Place::token) {
            if (!attends_ || !is("its")) place_ = Place::in_attention;
        } else if (is("attention") || is("attends")) {
            place_ = Place::in_attention;
            attends_ = is("attends");
        } else if (place_ == Place::in_attention && (is("from") || is("to"))) {
            place_ = Place::token;
        } else {
            place_ = Place::elsewhere;
        }
    }

    /// Everything up to a space, a parenthesis or a comparison: ".", "##ing", "<s>", "it's".
    bool token_of_text(QueryToken& token) {
        if (place_ != Place::token) return false;
        const char c = text_[at_];
        if (c == '`' || c == '"' || c == '\'') return false;
        std::size_t end = at_ + bracketed('<', '>', false);
        while (end < text_.size() && !is_space(text_[end]) && text_[end] != '(' && text_[end] != ')' &&
               comparison_at(end).empty())
            ++end;
        const std::string_view run = text_.substr(at_, end - at_);
        if (run.empty()) return false;
        const auto result = std::from_chars(run.data(), run.data() + run.size(), token.number);
        token.kind =
            result.ec == std::errc{} && result.ptr == run.data() + run.size() ? QueryTokenKind::number : QueryTokenKind::name;
        token.text = lower(run);
        at_ = end;
        return true;
    }

    /// Length of a word in these brackets here, or of one that is still being typed; 0: there is none.
    std::size_t bracketed(char open, char close, bool unfinished) const {
        if (text_[at_] != open) return 0;
        std::size_t i = at_ + 1;
        for (; i < text_.size() && !is_space(text_[i]) && text_[i] != open; ++i)
            if (text_[i] == close) return i > at_ + 1 ? i + 1 - at_ : 0;
        return unfinished && i == text_.size() ? i - at_ : 0;
    }

    void named(QueryToken& token, std::size_t length) {
        token.kind = QueryTokenKind::name;
        token.text = lower(text_.substr(at_, length));
        at_ += length;
    }

    /// Hyphens and colons inside a measure's title belong to it: "value-weighted", "focus: largest".
    void name(QueryToken& token) {
        const std::size_t begin = at_;
        const auto is_at = [&](std::size_t i) { return i < text_.size() && is_letter(text_[i]); };
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || (text_[at_] == '-' && is_at(at_ + 1)))) {
            if (at_ > begin && comparison_at(at_).size() > 1) break;  // "induction≥0.3"
            ++at_;
        }
        token.kind = QueryTokenKind::name;
        token.text = lower(text_.substr(begin, at_ - begin));
        if (at_ < text_.size() && text_[at_] == ':') ++at_;
    }

    void number(QueryToken& token) {
        const char* begin = text_.data() + at_ + (text_[at_] == '+' ? 1 : 0);
        const auto result = std::from_chars(begin, text_.data() + text_.size(), token.number);
        const auto length = static_cast<std::size_t>(result.ptr - (text_.data() + at_));
        token.kind = QueryTokenKind::number;
        if (result.ec != std::errc{}) bad(token, "Not a number", "a number such as 0.3");
        at_ += std::max<std::size_t>(length, 1);
        std::size_t sign = at_;
        while (sign < text_.size() && is_space(text_[sign])) ++sign;
        if (sign == text_.size() || text_[sign] != '%') return;
        token.number /= 100;
        token.percent = true;
        at_ = sign + 1;
    }

    void quoted(QueryToken& token, char quote) {
        const std::size_t close = text_.find(quote, at_ + 1);
        const std::size_t end = close == std::string_view::npos ? text_.size() : close;
        token.kind = QueryTokenKind::quoted;
        token.text = text_.substr(at_ + 1, end - at_ - 1);
        at_ = std::min(end + 1, text_.size());
        if (close == std::string_view::npos) bad(token, "A quote is not closed", quote == '`' ? "`" : "the same quote");
    }

    std::string_view comparison_at(std::size_t at) const {
        static constexpr std::array<std::string_view, 10> operators = {"<=", ">=", "!=", "==", "<", ">", "=", "≤", "≥", "≠"};
        for (const std::string_view op : operators)
            if (text_.substr(at, op.size()) == op) return op;
        return {};
    }

    bool comparison(QueryToken& token) {
        const std::string_view op = comparison_at(at_);
        if (op.empty()) return false;
        token.kind = QueryTokenKind::comparison;
        token.text = op == "==" ? "=" : op == "≤" ? "<=" : op == "≥" ? ">=" : op == "≠" ? "!=" : std::string(op);
        at_ += op.size();
        return true;
    }

    std::string_view text_;
    const MeasureNames& names_;
    enum class Place { elsewhere, in_attention, token } place_ = Place::elsewhere;
    bool attends_ = false;  ///< by "attends to", not by "attention from"
    std::size_t at_ = 0;
    std::size_t counted_ = 0;  ///< bytes that characters_ counts
    std::int64_t characters_ = 0;
};

/// Lower case, split at everything that is neither letter nor digit, without words that name nothing: people write
/// "share to first token" for "share on the first token".
Words words_of(std::string_view text) {
    static constexpr std::array<std::string_view, 9> fillers = {"on", "to", "the", "of", "a", "tokens", "token", "score", "from"};
    Words all, kept;
    std::string word;
    const auto end_word = [&] {
        if (word.empty()) return;
        all.push_back(word);
        if (std::find(fillers.begin(), fillers.end(), word) == fillers.end()) kept.push_back(word);
        word.clear();
    };
    for (const char c : lower(text)) {
        if ((is_letter(c) && c != '_') || is_digit(c))
            word += c;
        else
            end_word();
    }
    end_word();
    return kept.empty() ? all : kept;
}

/// The words of `part` stand in `whole` in this order, `same` deciding which are the same.
template <class Same>
bool in_order(const Words& part, const Words& whole, Same same) {
    auto at = whole.begin();
    for (const std::string& word : part) {
        at = std::find_if(at, whole.end(), [&](const std::string& other) { return same(other, word); });
        if (at == whole.end()) return false;
        ++at;
    }
    return !part.empty();
}

}  // namespace

std::vector<QueryToken> query_tokens(std::string_view expression, const MeasureNames& names) {
    Lexer lexer(expression, names);
    std::vector<QueryToken> tokens;
    do tokens.push_back(lexer.next());
    while (tokens.back().kind != QueryTokenKind::end && tokens.back().kind != QueryTokenKind::bad);
    if (tokens.back().kind == QueryTokenKind::bad) tokens.push_back({.kind = QueryTokenKind::end, .text = {}, .typed = {}});
    return tokens;
}

void fail_in_query(std::int64_t column, const std::string& problem, const std::string& expected, const std::string& found,
                   const std::string& hint) {
    throw Error(ErrorFacts{
        .problem = problem, .item = "column " + std::to_string(column), .expected = expected, .found = found, .hint = hint});
}

void fail_at(const QueryToken& at, const std::string& problem, const std::string& expected, const std::string& hint) {
    const bool bad = at.kind == QueryTokenKind::bad;
    const std::string found = at.kind == QueryTokenKind::end      ? "the end"
                              : at.kind == QueryTokenKind::quoted ? at.typed
                                                                  : "\"" + at.typed + "\"";
    fail_in_query(at.column, bad ? at.problem : problem, bad ? at.expected : expected, found, bad ? std::string() : hint);
}

MeasureNames::MeasureNames(const HeadTable& table) {
    for (const MeasureInfo& measure : table.measures)
        names_.push_back({lower(measure.id), lower(measure.title), words_of(measure.id), words_of(measure.title), measure.title,
                          is_of_corpus(measure.id)});
    for (const char* index : {"layer", "head"}) names_.push_back({index, index, {index}, {index}, index, false});
}

bool MeasureNames::knows_corpus() const {
    return std::any_of(names_.begin(), names_.end(), [](const Name& n) { return n.of_corpus; });
}

std::size_t MeasureNames::title_at(std::string_view text) const {
    std::size_t longest = 0;
    for (const Name& name : names_) {
        const bool awkward = name.title.find(" and ") != std::string::npos || name.title.find(" or ") != std::string::npos ||
                             name.title.find("not ") != std::string::npos ||
                             std::any_of(name.title.begin(), name.title.end(), is_digit);
        if (awkward && name.title.size() > longest && lower(text.substr(0, name.title.size())) == name.title)
            longest = name.title.size();
    }
    return longest;
}

std::vector<std::string> MeasureNames::continuations(std::string_view typed) const {
    const std::string start = lower(typed);
    const Words words = words_of(typed);
    const auto begins = [](const std::string& a, const std::string& b) { return a.starts_with(b); };
    const std::string_view corpus = "corpus";
    std::vector<std::string> first, others;
    for (const Name& name : names_) {
        if (name.title == start || (name.of_corpus && !corpus.starts_with(start) && !start.starts_with(corpus))) continue;
        if (name.title.starts_with(start) || name.id.starts_with(start))
            first.push_back(name.shown);
        else if (in_order(words, name.title_words, begins) || in_order(words, name.id_words, begins))
            others.push_back(name.shown);
    }
    first.insert(first.end(), others.begin(), others.end());
    return first;
}

MeasureNames::Found MeasureNames::find(std::string_view words) const {
    const Words typed = words_of(words);
    std::string joined = lower(words);
    std::replace_if(
        joined.begin(), joined.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    std::string plain = lower(words);
    std::replace(plain.begin(), plain.end(), '_', ' ');
    const auto same = [](const std::string& a, const std::string& b) { return a == b; };
    const auto begins = [](const std::string& a, const std::string& b) { return a.starts_with(b); };
    const std::array<std::function<bool(const Name&)>, 5> ways = {
        [&](const Name& n) { return n.id == joined || n.title == plain; },
        [&](const Name& n) { return n.id_words == typed || n.title_words == typed; },
        [&](const Name& n) { return in_order(typed, n.id_words, same) || in_order(typed, n.title_words, same); },
        [&](const Name& n) { return in_order(typed, n.id_words, begins) || in_order(typed, n.title_words, begins); },
        [&](const Name& n) {
            return joined.size() >= 3 && (n.id.find(joined) != std::string::npos || n.title.find(plain) != std::string::npos);
        }};
    const bool of_corpus = !typed.empty() && typed.front() == "corpus";
    Found found;
    for (std::size_t way = 0; way < ways.size() && found.ids.empty(); ++way) {
        for (const Name& name : names_)
            if (name.of_corpus == of_corpus && ways[way](name)) found.ids.push_back(name.id);
        found.whole = way < 2;
    }
    if (found.ids.size() < 2 || found.whole) return found;
    // "sep": the share on it, before measures that have other words as well.
    const auto other_words = [&](const std::string& id) {
        const Name& name = *std::find_if(names_.begin(), names_.end(), [&](const Name& n) { return n.id == id; });
        return std::count_if(name.id_words.begin(), name.id_words.end(), [](const std::string& word) { return word != "share"; });
    };
    std::vector<std::string> by_words = found.ids;
    std::stable_sort(by_words.begin(), by_words.end(),
                     [&](const std::string& a, const std::string& b) { return other_words(a) < other_words(b); });
    if (other_words(by_words[0]) < other_words(by_words[1])) found.ids = {by_words[0]};
    return found;
}

std::string MeasureNames::nearest(const std::string& typed) const {
    const auto cost = [&](const Name& name) {
        std::size_t least = std::min(edit_distance(name.id, typed), edit_distance(name.title, typed));
        for (const std::string& word : name.id_words) least = std::min(least, edit_distance(word, typed) + 1);
        return least;
    };
    return std::min_element(names_.begin(), names_.end(), [&](const Name& a, const Name& b) { return cost(a) < cost(b); })->id;
}

}  // namespace headlight::analyze
