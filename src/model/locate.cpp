// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/locate.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace headlight::model {

namespace fs = std::filesystem;

namespace {

std::optional<fs::path> environment_path(const char* name) {
    const char* value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return fs::path(value);
}

bool is_model_folder(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_regular_file(folder / "config.json", ignored);
}

/// The snapshot that a Hugging Face cache entry's refs/main points to, else its newest snapshot.
std::optional<fs::path> snapshot_of(const fs::path& entry) {
    std::error_code ec;
    if (std::ifstream ref(entry / "refs" / "main"); ref) {
        std::string revision;
        ref >> revision;
        const fs::path folder = entry / "snapshots" / revision;
        if (!revision.empty() && fs::is_directory(folder, ec)) return folder;
    }
    std::optional<fs::path> newest;
    fs::file_time_type newest_time{};
    for (fs::directory_iterator it(entry / "snapshots", ec), end; !ec && it != end; it.increment(ec)) {
        std::error_code time_error;
        const auto time = fs::last_write_time(it->path(), time_error);
        if (!time_error && (!newest || time > newest_time)) newest = it->path(), newest_time = time;
    }
    return newest;
}

std::vector<fs::path> cache_folders() {
    std::vector<fs::path> folders;
    if (auto path = environment_path("HF_HUB_CACHE")) folders.push_back(*path);
    if (auto path = environment_path("HF_HOME")) folders.push_back(*path / "hub");
    if (auto path = environment_path("HOME")) folders.push_back(*path / ".cache" / "huggingface" / "hub");
    return folders;
}

std::string cache_entry_name(std::string_view id) {
    std::string name = "models--";
    for (const char c : id) name += c == '/' ? std::string("--") : std::string(1, c);
    return name;
}

}  // namespace

std::vector<fs::path> built_in_model_folders() {
    std::vector<fs::path> folders;
    if (auto path = environment_path("HEADLIGHT_MODELS")) folders.push_back(*path);
    std::error_code ec;
    const fs::path program = fs::read_symlink("/proc/self/exe", ec);
    // build/bin/headlight -> ../../models; prefix/bin/headlight -> ../share/headlight/models
    fs::path folder = ec ? fs::current_path(ec) : program.parent_path();
    for (int up = 0; up < 5 && !folder.empty(); ++up) {
        for (const char* tail : {"models", "share/headlight/models"}) {
            if (fs::is_directory(folder / tail / default_model_name, ec)) folders.push_back(folder / tail);
        }
        if (folder == folder.parent_path()) break;
        folder = folder.parent_path();
    }
    return folders;
}

fs::path locate_model(std::string_view reference) {
    if (reference.empty()) throw Error(ErrorFacts{.problem = "No model was named", .hint = "Give a folder, or novella-7m"});
    std::error_code ec;
    const fs::path typed{std::string(reference)};
    if (fs::is_directory(typed, ec)) return typed;
    if (fs::is_regular_file(typed, ec) && io::gguf_file_of(typed)) return typed;
    if (fs::is_regular_file(typed, ec)) return typed.has_parent_path() ? typed.parent_path() : fs::path(".");
    const bool plain_name = std::count(reference.begin(), reference.end(), '/') <= 1 && reference.front() != '/' &&
                            reference.front() != '.';
    if (plain_name) {
        for (const fs::path& folder : built_in_model_folders()) {
            if (is_model_folder(folder / typed)) return folder / typed;
        }
        for (const fs::path& cache : cache_folders()) {
            if (auto folder = snapshot_of(cache / cache_entry_name(reference))) return *folder;
        }
    }
    throw Error(ErrorFacts{.problem = "There is no such model",
                 .file = std::string(reference),
                 .expected = "a folder with config.json, a .gguf file, a built-in name (novella-7m) or an id in the Hugging Face cache",
                 .hint = "Check the path"});
}

}  // namespace headlight::model
