// SPDX-License-Identifier: GPL-3.0-or-later
// --texts FILE: several documents, one a line.
#pragma once

#include "cli/options.h"

#include <functional>

namespace headlight::cli {

struct TextList {
    struct Line {
        std::int64_t number = 0;  ///< in the file, from 1
        std::string text;
    };

    std::string path;
    CLI::Option* option = nullptr;

    /// Excludes --text, --text-file and --pair.
    void add(Definition&, const TextArguments&);
    bool given() const { return option->count() > 0; }
    /// Every line that is not blank. Error when there is none.
    std::vector<Line> lines() const;
    /// Errors of `work` say which line they are about.
    void naming(const Line&, const std::function<void()>& work) const;
};

}  // namespace headlight::cli
