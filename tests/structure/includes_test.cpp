// SPDX-License-Identifier: GPL-3.0-or-later
// Reads every #include of the product's own files and fails on an arrow that points the wrong way (docs/architecture.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace includes_test {

namespace fs = std::filesystem;

struct Include {
    std::string file, module, target;
};

const std::map<std::string, std::set<std::string>>& allowed() {
    static const std::map<std::string, std::set<std::string>> arrows = {
        {"base", {}},
        {"io", {"base"}},
        {"text", {"base", "io"}},
        {"model", {"base", "io"}},
        {"fetch", {"base", "io", "model"}},
        {"trace", {"base", "io", "text", "model"}},
        {"analyze", {"base", "io", "text", "model", "trace"}},
        {"figure", {"base", "io", "text", "model", "trace", "analyze"}},
        {"cli", {"base", "io", "text", "model", "trace", "analyze", "figure", "fetch"}},
        {"ui", {"base", "io", "text", "model", "trace", "analyze", "figure", "fetch"}},
        {"app", {"base", "model", "cli", "ui"}},
    };
    return arrows;
}

std::string module_of(const fs::path& relative) {
    auto part = relative.begin();
    const std::string top = part->string();
    if (top == "ui") return "ui";
    ++part;
    if (top == "include") ++part;
    return part->string();
}

std::vector<Include> all_includes() {
    const fs::path root = HEADLIGHT_SOURCE_DIR;
    const std::regex line_pattern(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
    std::vector<Include> found;
    for (const char* top : {"include", "src", "ui"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const auto extension = entry.path().extension();
            if (extension != ".h" && extension != ".cpp") continue;
            const fs::path relative = fs::relative(entry.path(), root);
            std::ifstream file(entry.path());
            std::smatch match;
            for (std::string line; std::getline(file, line);) {
                if (std::regex_search(line, match, line_pattern)) {
                    found.push_back({relative.string(), module_of(relative), match[1]});
                }
            }
        }
    }
    return found;
}

/// "" for headers of other projects.
std::string target_module(const Include& include) {
    const std::string prefix = "headlight/";
    const auto& modules = allowed();
    std::string path = include.target;
    if (path.starts_with(prefix)) path = path.substr(prefix.size());
    const auto slash = path.find('/');
    if (slash == std::string::npos) return {};
    const std::string first = path.substr(0, slash);
    return modules.contains(first) ? first : std::string();
}

TEST(Includes, EveryArrowPointsDown) {
    const auto includes = all_includes();
    ASSERT_GT(includes.size(), 200u) << "the sources were not found";
    for (const auto& include : includes) {
        ASSERT_TRUE(allowed().contains(include.module)) << include.file << " is in no module";
        const std::string target = target_module(include);
        if (target.empty() || target == include.module) continue;
        EXPECT_TRUE(allowed().at(include.module).contains(target))
            << include.file << " (" << include.module << ") includes " << include.target;
    }
}

TEST(Includes, TorchAndQtStayInTheirModules) {
    const std::set<std::string> torch_modules = {"model", "trace", "analyze", "cli"};
    const std::set<std::string> qt_modules = {"fetch", "figure", "cli", "ui", "app"};
    for (const auto& include : all_includes()) {
        const std::string& t = include.target;
        const bool torch = t.starts_with("ATen/") || t.starts_with("torch/") || t.starts_with("c10/");
        const bool qt =
            t.size() > 1 && t[0] == 'Q' && std::isupper(static_cast<unsigned char>(t[1])) && t.find('/') == std::string::npos;
        if (torch) {
            EXPECT_TRUE(torch_modules.contains(include.module)) << include.file << " includes " << t;
            EXPECT_FALSE(t.starts_with("torch/torch")) << include.file << ": use ATen/ATen.h, it compiles three times faster";
        }
        if (qt) {
            EXPECT_TRUE(qt_modules.contains(include.module)) << include.file << " includes " << t;
        }
    }
}

TEST(Includes, FiguresKnowNoWidgets) {
    const std::set<std::string> widgets = {"QWidget", "QApplication", "QMainWindow", "QLabel", "QToolTip", "QMenu"};
    for (const auto& include : all_includes()) {
        if (include.module == "figure") {
            EXPECT_FALSE(widgets.contains(include.target)) << include.file << " includes " << include.target;
        }
    }
}

/// QCustomPlot is a widget: one header knows it, and the frame of a plot is recorded from it and thrown away.
TEST(Includes, OnePlaceKnowsThePlottingLibrary) {
    const std::set<std::string> allowed_here = {"src/figure/plot/with_qcustomplot.h"};
    const std::set<std::string> users = {"src/figure/plot/frame.cpp", "src/figure/plot/tickers.h", "src/figure/plot/tickers.cpp"};
    std::size_t found = 0;
    for (const auto& include : all_includes()) {
        if (include.target == "qcustomplot.h") {
            EXPECT_TRUE(allowed_here.contains(include.file)) << include.file;
            ++found;
        }
        const bool through = include.target == "figure/plot/with_qcustomplot.h" || include.target == "figure/plot/tickers.h";
        if (through) {
            EXPECT_TRUE(users.contains(include.file)) << include.file;
        }
    }
    EXPECT_EQ(found, 1u);
}

/// Public headers that ui sees must compile without LibTorch: tensors.h, weights.h and replay.h are the exceptions, and ui must
/// not take it.
TEST(Includes, TheWindowNeverSeesATensor) {
    for (const auto& include : all_includes()) {
        if (include.module == "ui" || include.module == "figure") {
            EXPECT_NE(include.target, "headlight/trace/tensors.h") << include.file;
            EXPECT_NE(include.target, "headlight/trace/weights.h") << include.file;
            EXPECT_NE(include.target, "headlight/trace/replay.h") << include.file;
        }
    }
}

}  // namespace includes_test
