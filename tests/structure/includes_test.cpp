// SPDX-License-Identifier: GPL-3.0-or-later
// Reads every #include of the product's own files and fails on an arrow that points the wrong way
// (docs/architecture.md), between modules and between the rooms of one.
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
        {"corpus", {"base", "io", "text", "model", "trace", "analyze"}},
        {"map", {"base", "io", "text", "model", "trace", "analyze", "corpus"}},
        {"intervention", {"base", "io", "text", "model", "trace", "analyze", "corpus"}},
        {"figure", {"base", "io", "text", "model", "trace", "analyze", "corpus", "map", "intervention"}},
        {"cli", {"base", "io", "text", "model", "trace", "analyze", "corpus", "map", "intervention", "figure", "fetch"}},
        {"ui", {"base", "io", "text", "model", "trace", "analyze", "corpus", "map", "intervention", "figure", "fetch"}},
        {"app", {"base", "model", "corpus", "cli", "ui"}},
    };
    return arrows;
}

/// Headers in src/ belong to their module alone; these are the ones that another module may include.
const std::map<std::string, std::set<std::string>>& borrowed() {
    static const std::map<std::string, std::set<std::string>> headers = {
        {"fetch", {"io/zip_reader.h"}},
        {"trace",
         {"model/arithmetic/kernels.h", "model/arithmetic/on_cpu.h", "model/blocks/disentangled.h", "model/blocks/experts.h",
          "model/blocks/pass.h", "model/internals.h", "model/load/weight_source.h", "model/run/again.h", "model/run/forward.h",
          "model/run/last_rows.h", "model/run/packed.h", "model/run/stacked.h", "model/run/watch.h"}},
        {"corpus", {"io/open_regular.h", "text/unicode/unicode.h", "text/unicode/utf8.h"}},
        {"analyze", {"model/arithmetic/kernels.h", "text/unicode/unicode.h"}},
        {"intervention", {"model/internals.h"}},
        {"map", {"model/arithmetic/kernels.h"}},
    };
    return headers;
}

/// What the rooms of a module may use beside their own files and the module's shared rooms.
struct Rooms {
    std::set<std::string> shared;
    std::map<std::string, std::set<std::string>> also;
};
const std::map<std::string, Rooms>& rooms() {
    static const std::map<std::string, Rooms> of = {
        {"analyze",
         {{"pattern"},
          {{"circuit", {"heads", "prediction"}},
           {"contribution", {"prediction"}},
           {"focus", {"heads"}},
           {"pattern", {"contribution"}},
           {"why", {"prediction"}}}}},
        {"figure",
         {{"core", "export", "pattern", "plot", "table"},
          {{"compare", {"heads"}},
           {"contribution", {"prediction"}},
           {"corpus", {"heads"}},
           {"focus", {"heads"}},
           {"map", {"picture"}},
           {"pattern", {"rollout"}}}}},
        {"corpus",
         {{"accumulate", "reading", "statistics", "store"},
          {{"accumulate", {"coreference", "distances", "heads", "neurons", "syntax"}},  // the table of kinds
           {"compare", {"distances", "heads"}},
           {"coreference", {"heads", "syntax"}},
           {"distances", {"heads"}},
           {"heads", {"syntax"}},
           {"probe", {"run", "syntax"}},
           {"reading", {"coreference"}},
           {"run", {"heads"}},
           {"store", {"syntax"}},
           {"syntax", {"heads"}}}}},
        {"intervention", {{"recipe"}, {{"tasks", {"sweep"}}}}},
        {"map", {{"projection"}, {{"run", {"quality", "scale"}}}}},
        {"model",
         {{"arithmetic", "load"},
          {{"arithmetic", {"blocks", "run"}}, {"blocks", {"run"}}, {"load", {"families", "gguf", "run"}}, {"run", {"blocks"}}}}},
        {"text", {{"files", "unicode"}, {{"normalizers", {"pattern"}}, {"pre_tokenizers", {"pattern"}}}}},
        {"trace", {{}, {}}},
        {"cli", {{}, {}}},
        {"ui",
         {{"document", "jobs", "style"},
          {{"access", {"canvas", "map", "panels"}},
           {"corpus", {"canvas"}},
           {"dialogs", {"canvas", "window"}},
           {"map", {"canvas"}},
           {"model", {"canvas", "panels"}},
           {"panels", {"canvas"}},
           {"sweep", {"canvas", "panels"}},
           {"window", {"access", "canvas", "corpus", "dialogs", "map", "model", "panels", "sweep"}}}}},
    };
    return of;
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

TEST(Includes, PrivateHeadersStayInTheirModule) {
    std::map<std::string, std::set<std::string>> unused = borrowed();
    for (const auto& include : all_includes()) {
        const std::string target = target_module(include);
        if (target.empty() || target == include.module || include.target.starts_with("headlight/") || target == "ui") continue;
        if (include.module == "app") continue;
        const auto list = borrowed().find(include.module);
        EXPECT_TRUE(list != borrowed().end() && list->second.contains(include.target))
            << include.file << " includes the private header " << include.target;
        unused[include.module].erase(include.target);
    }
    for (const auto& [module, headers] : unused)
        for (const std::string& header : headers)
            ADD_FAILURE() << module << " no longer includes " << header << ": take it off the list";
}

/// "src/figure/core/theme.h" and "headlight/figure/core/theme.h": "core"; empty for a file beside the rooms.
std::string room_of(std::string path, const std::string& module) {
    for (const std::string prefix : {"include/", "src/", "headlight/"})
        if (path.starts_with(prefix)) path = path.substr(prefix.size());
    if (!path.starts_with(module + "/")) return {};
    path = path.substr(module.size() + 1);
    const std::size_t slash = path.find('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

TEST(Includes, RoomsKeepToTheirLists) {
    std::size_t seen = 0;
    for (const auto& include : all_includes()) {
        const auto module = rooms().find(include.module);
        if (module == rooms().end() || target_module(include) != include.module) continue;
        const std::string from = room_of(include.file, include.module), to = room_of(include.target, include.module);
        if (from.empty() || to.empty() || from == to) continue;  // a module's own folder holds what all rooms share
        ++seen;
        const auto more = module->second.also.find(from);
        EXPECT_TRUE(module->second.shared.contains(to) || (more != module->second.also.end() && more->second.contains(to)))
            << include.file << " includes " << include.target;
    }
    EXPECT_GT(seen, 50u) << "the rooms were not found";
}

/// Files beyond 600 lines and folders beyond 36 files are hard to read.
TEST(Sources, FilesAndFoldersStaySmall) {
    const fs::path root = HEADLIGHT_SOURCE_DIR;
    std::map<std::string, int> files;
    for (const char* top : {"include", "src", "ui", "tests", "bench"})
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
            ++files[fs::relative(entry.path().parent_path(), root).string()];
            std::ifstream file(entry.path());
            int lines = 0;
            for (std::string line; std::getline(file, line);) ++lines;
            EXPECT_LE(lines, 600) << entry.path();
        }
    EXPECT_GT(files.size(), 40u);
    for (const auto& [folder, count] : files) EXPECT_LE(count, 36) << folder;
}

TEST(Sources, NothingIsWrittenInTheFaintColour) {
    // Words and numbers need a contrast of 4.5:1: faint is for lines and marks.
    const std::regex statement(R"((draw::text|draw::number|draw::token|frame\.text)\([^;]*;)"),
        faint(R"(theme(\(\))?(\.|->)faint)");
    for (const char* folder : {"src/figure", "ui"})
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADLIGHT_SOURCE_DIR) / folder)) {
            if (entry.path().extension() != ".cpp") continue;
            std::ifstream file(entry.path());
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            for (std::sregex_iterator at(text.begin(), text.end(), statement), end; at != end; ++at)
                EXPECT_FALSE(std::regex_search(at->str(), faint)) << entry.path() << ": " << at->str();
        }
}

TEST(Sources, FieldsForDecimalsTakeACommaToo) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADLIGHT_SOURCE_DIR) / "ui")) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ(text.find("new QDoubleSpinBox"), std::string::npos)
            << entry.path() << ": make a RealField (ui/style/real_field.h)";
    }
}

TEST(Includes, TorchAndQtStayInTheirModules) {
    const std::set<std::string> torch_modules = {"model", "trace", "analyze", "corpus", "intervention", "map"};
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

/// LibTorch 2.x hands the guards of gradients on in no other header.
TEST(Includes, GuardsOfGradientsComeFromTheirHeader) {
    const std::regex guard(R"(at::(NoGradGuard|AutoGradMode|GradMode)\b)");
    int found = 0;
    for (const char* top : {"include", "src", "bench", "tests"})
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADLIGHT_SOURCE_DIR) / top)) {
            if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
            std::ifstream file(entry.path());
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            if (!std::regex_search(text, guard)) continue;
            ++found;
            EXPECT_NE(text.find("<ATen/core/grad_mode.h>"), std::string::npos) << entry.path();
        }
    EXPECT_GT(found, 20);
}

/// Figures are painted by workers as well; whatever else Qt has may belong to the GUI thread.
TEST(Includes, FiguresKnowOfQtOnlyCoreGuiAndSvg) {
    const fs::path qt = HEADLIGHT_QT_HEADERS;
    const auto in_module = [&](const char* module, const std::string& header) { return fs::exists(qt / module / header); };
    ASSERT_TRUE(in_module("QtWidgets", "QWidget")) << "Qt's headers were not found";
    std::size_t found = 0;
    for (const auto& include : all_includes()) {
        const std::string& header = include.target;
        if (include.module != "figure" || !(header.starts_with("Q") || header.starts_with("q"))) continue;
        EXPECT_TRUE(in_module("QtCore", header) || in_module("QtGui", header) || in_module("QtSvg", header))
            << include.file << " includes " << header;
        ++found;
    }
    EXPECT_GT(found, 30u);
}

/// Public headers compile without LibTorch but for these, which the window and the command line must not take.
TEST(Includes, TheWindowAndTheCommandLineNeverSeeATensor) {
    const std::set<std::string> with_torch = {"headlight/trace/tensors.h", "headlight/trace/weights.h",
                                              "headlight/trace/replay.h",  "headlight/trace/variants.h",
                                              "headlight/model/variant.h", "headlight/trace/edited.h"};
    for (const auto& include : all_includes())
        if (include.module == "ui" || include.module == "figure" || include.module == "cli") {
            EXPECT_FALSE(with_torch.contains(include.target)) << include.file << " includes " << include.target;
        }
}

}  // namespace includes_test
