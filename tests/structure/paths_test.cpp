// SPDX-License-Identifier: GPL-3.0-or-later
// A document that names a file, and a comment that names a document, lead somewhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace paths_test {

namespace fs = std::filesystem;

const fs::path kRoot = HEADLIGHT_SOURCE_DIR;

std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
    std::vector<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) found.push_back((*it)[1]);
    return found;
}

/// Whether a path from the root, from the public headers or from the sources exists, with or without its extension.
bool leads_somewhere(const std::string& path) {
    for (const char* top : {"", "include/headlight", "src", "docs"})
        for (const char* extension : {"", ".h", ".cpp", ".md"})
            if (fs::exists(kRoot / top / (path + extension))) return true;
    return false;
}

TEST(Paths, DocumentsNameFilesThatExist) {
    const std::regex code(
        R"(`((?:src|include|ui|tests|docs|bench|resources|cmake|models|\.ci|base|io|text|model|fetch|trace|analyze|figure)/[A-Za-z0-9_./-]+)`)");
    const std::regex link(R"(\]\(([^):#]+\.(?:md|py|png))(?:#[^)]*)?\))");
    std::size_t seen = 0;
    std::vector<fs::path> documents = {kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "CHANGELOG.md"};
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
        if (entry.path().extension() == ".md") documents.push_back(entry.path());
    for (const fs::path& document : documents) {
        const std::string text = content(document);
        for (const std::string& path : matches(text, code)) {
            if (path.find("NAME") != path.npos || path.find("some_") != path.npos) continue;  // a placeholder
            ++seen;
            EXPECT_TRUE(leads_somewhere(path)) << document << " names " << path;
        }
        for (const std::string& path : matches(text, link)) {
            ++seen;
            EXPECT_TRUE(fs::exists(document.parent_path() / path)) << document << " links to " << path;
        }
    }
    EXPECT_GT(seen, 100u) << "the documents were not found";
}

TEST(Paths, CommentsNameDocumentsThatExist) {
    const std::regex named(R"(([A-Za-z0-9_/-]+\.md)\b)");
    std::size_t seen = 0;
    std::set<std::string> documents;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) documents.insert(entry.path().filename().string());
    for (const char* top : {"include", "src", "ui", "bench"})
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
            if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
            for (const std::string& path : matches(content(entry.path()), named)) {
                ++seen;
                EXPECT_TRUE(fs::exists(kRoot / path) || documents.contains(fs::path(path).filename().string()) ||
                            path == "README.md")
                    << entry.path() << " names " << path;
            }
        }
    EXPECT_GT(seen, 10u) << "the sources were not found";
}

}  // namespace paths_test
