// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stdexcept>
#include <string>

namespace headlight {

/// The facts that help a person to fix a failure. Any field may be empty; those that are set are shown.
struct ErrorFacts {
    std::string problem{};   ///< one plain sentence with a capital letter and no full stop
    std::string file{};      ///< the path it is about
    std::string item{};      ///< the tensor, JSON field or option in that file
    std::string expected{};  ///< what would have been right
    std::string found{};     ///< the value that was there
    std::string hint{};      ///< what to do
};

/// The one error type of the core. what() is the whole message on one line:
/// "problem: FILE, item ITEM: expected E, found F. Hint." What was found is cut after 200 characters, as is any other word.
class Error : public std::runtime_error {
public:
    explicit Error(ErrorFacts facts);
    explicit Error(const std::string& problem);
    const ErrorFacts& facts() const noexcept { return facts_; }

private:
    ErrorFacts facts_;
};

}  // namespace headlight
