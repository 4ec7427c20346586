// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"

#include <utility>

namespace headlight {
namespace {

std::string compose(const ErrorFacts& f) {
    std::string text = f.problem;
    if (!f.file.empty()) text += ": " + f.file;
    if (!f.item.empty()) text += (f.file.empty() ? ": " : ", ") + f.item;
    if (!f.expected.empty()) text += ": expected " + f.expected;
    if (!f.found.empty()) text += (f.expected.empty() ? ": found " : ", found ") + f.found;
    if (!f.hint.empty()) text += ". " + f.hint;
    return text;
}

}  // namespace

Error::Error(ErrorFacts facts) : std::runtime_error(compose(facts)), facts_(std::move(facts)) {}

Error::Error(const std::string& problem) : std::runtime_error(problem), facts_{.problem = problem} {}

}  // namespace headlight
