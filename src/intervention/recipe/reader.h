// SPDX-License-Identifier: GPL-3.0-or-later
// The words of an edit, and the letters of a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::intervention {

/// The Error about a place in an edit; `column` counts bytes from 1. `right`: the word that was probably meant.
[[noreturn]] void fail_in_words(std::string_view text, std::size_t column, const std::string& problem,
                                const std::string& expected, const std::string& found, const std::string& right);

struct Word {
    std::string text;
    std::size_t column = 1;  ///< of its first letter, behind a quotation mark
    bool quoted = false;
};
/// Words between spaces; "..." is one word, in which \" and \\ stand for " and \. Error where a quotation mark is never closed.
std::vector<Word> words_in(std::string_view text);

/// A word that words_in() reads as one, whatever it holds.
std::string in_quotes(std::string_view text);

/// The whole word as a finite number.
std::optional<double> number_in(std::string_view word);
/// The fewest digits that read as the same number.
std::string number_word(double);

/// Reads the letters of one word of `text`.
class Reader {
public:
    Reader(std::string_view text, std::string_view word, std::size_t column) : text_(text), word_(word), column_(column) {}
    bool at_end() const { return at_ == word_.size(); }
    char peek(std::size_t ahead = 0) const { return at_ + ahead < word_.size() ? word_[at_ + ahead] : '\0'; }
    void skip(std::size_t letters = 1) { at_ += letters; }
    bool take(char letter) {
        if (peek() != letter) return false;
        ++at_;
        return true;
    }
    std::string_view view() const { return std::string_view(word_).substr(at_); }
    std::string rest() const { return std::string(view()); }
    std::size_t column() const { return column_ + at_; }
    /// A whole number below a thousand million.
    std::int64_t number(const char* expected);
    [[noreturn]] void fail(const std::string& problem, const std::string& expected, const std::string& found,
                           const std::string& right = {}) const {
        fail_in_words(text_, column(), problem, expected, found, right);
    }
    [[noreturn]] void fail_at(std::size_t column, const std::string& problem, const std::string& expected,
                              const std::string& found) const {
        fail_in_words(text_, column, problem, expected, found, {});
    }

private:
    std::string text_, word_;
    std::size_t column_ = 1, at_ = 0;
};

}  // namespace headlight::intervention
