// SPDX-License-Identifier: GPL-3.0-or-later
// Files that a reader must refuse, and the two checks that every reader of files goes through.
#pragma once

#include "headlight/base/error.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>

namespace headlight::test {

struct Hostile {
    const char* name;
    std::string content;
    const char* problem;              ///< a part of the message
    const char* item = "";            ///< the key, tensor or field it must name
    const char* expected_found = "";  ///< a part of "expected …, found …"
};

inline void PrintTo(const Hostile& h, std::ostream* out) { *out << h.name; }

/// Writes the content to `name` and calls `open(path)`, which must throw an Error with these facts.
template <class Open>
void expect_refused(const Hostile& hostile, const std::string& name, Open&& open) {
    using testing::HasSubstr;
    const TempFolder folder;
    const std::filesystem::path file = folder.write(name, hostile.content);
    try {
        open(file);
        FAIL() << "was accepted";
    } catch (const Error& e) {
        EXPECT_EQ(e.facts().file, file.string());
        EXPECT_THAT(e.what(), HasSubstr(hostile.problem));
        EXPECT_THAT(e.facts().item, HasSubstr(hostile.item));
        EXPECT_THAT(e.what(), HasSubstr(hostile.expected_found));
        EXPECT_LT(std::string(e.what()).size(), 800u);
    }
}

/// Every prefix of a sound file is a truncated file: none may be accepted.
template <class Open>
void expect_prefixes_refused(const std::string& whole, const std::string& name, Open&& open) {
    const TempFolder folder;
    EXPECT_NO_THROW(open(folder.write(name, whole)));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_THROW(open(folder.write(name, whole.substr(0, size))), Error) << size;
}

}  // namespace headlight::test
