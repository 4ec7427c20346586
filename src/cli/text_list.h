// SPDX-License-Identifier: GPL-3.0-or-later
// --texts FILE: several documents, one a line.
#pragma once

#include "cli/options.h"
#include "headlight/io/text_lines.h"

#include <functional>

namespace headlight::cli {

struct TextList {
    using Line = io::TextLine;

    std::string path;
    CLI::Option* option = nullptr;

    /// Excludes --text, --text-file and --pair.
    void add(Definition&, const TextArguments&);
    /// Beside --text, which is then one text more; excludes --pair.
    void add_beside(Definition&, const TextArguments&, const std::string& help);
    bool given() const { return option->count() > 0; }
    /// Every line that is not blank. Error when there is none.
    std::vector<Line> lines() const { return io::read_text_lines(path); }
    /// Errors of `work` say which line they are about.
    void naming(const Line&, const std::function<void()>& work) const;
};

}  // namespace headlight::cli
