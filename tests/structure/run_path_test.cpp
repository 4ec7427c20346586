// SPDX-License-Identifier: GPL-3.0-or-later
// Which folders the loader searches for the libraries of the programs that were built.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string dynamic_section(const fs::path& program) {
    const std::string command = "LC_ALL=C readelf -d '" + program.string() + "' 2>&1";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::string text;
    char buffer[4096];
    while (const std::size_t got = pipe ? std::fread(buffer, 1, sizeof buffer, pipe.get()) : 0) text.append(buffer, got);
    return text;
}

/// Of "… (RUNPATH)  Library runpath: [/one:/two]" and of RPATH; an element may be empty.
std::vector<std::string> run_path(const std::string& section) {
    std::vector<std::string> elements;
    std::istringstream lines(section);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("(RUNPATH)") == std::string::npos && line.find("(RPATH)") == std::string::npos) continue;
        const std::size_t begin = line.find('[') + 1, end = line.rfind(']');
        for (std::size_t at = begin; at <= end;) {
            const std::size_t colon = std::min(line.find(':', at), end);
            elements.push_back(line.substr(at, colon - at));
            at = colon + 1;
        }
    }
    return elements;
}

/// The loader takes an empty or relative element for a folder below the current one, where anybody may have put a library.
TEST(RunPath, NamesNoFolderBelowTheCurrentOne) {
    std::size_t programs = 0;
    for (const auto& entry : fs::directory_iterator(HEADLIGHT_BINARY_DIR "/bin")) {
        if (!entry.is_regular_file()) continue;
        const std::string section = dynamic_section(entry.path());
        if (section.find("Dynamic section") == std::string::npos) continue;
        ++programs;
        for (const std::string& element : run_path(section))
            EXPECT_TRUE(element.starts_with('/') || element.starts_with("$ORIGIN"))
                << entry.path() << " has the run path element \"" << element << '"';
    }
    EXPECT_GE(programs, 1U) << "at least this program";
}

TEST(RunPath, ElementsAreReadWithTheEmptyOnes) {
    using Elements = std::vector<std::string>;
    EXPECT_EQ(run_path(" 0x1d (RUNPATH)  Library runpath: [/usr/lib/a::]\n"), (Elements{"/usr/lib/a", "", ""}));
    EXPECT_EQ(run_path(" 0x0f (RPATH)  Library rpath: [$ORIGIN/../lib:/b]\n"), (Elements{"$ORIGIN/../lib", "/b"}));
    EXPECT_EQ(run_path(" 0x01 (NEEDED)  Shared library: [libz.so.1]\n"), Elements{});
}

}  // namespace
