// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/locate.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_file.h"
#include "headlight/model/peek.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
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

/// A weights file that is the model itself and does not stand for its folder.
bool is_own_weights(const fs::path& file) {
    const std::string name = file.filename().string(), extension = file.extension().string();
    if (name == "model.safetensors" || name == "pytorch_model.bin") return false;
    return extension == ".safetensors" || extension == ".bin" || extension == ".pt" || extension == ".pth" ||
           extension == ".ckpt" || io::gguf_file_of(file).has_value();
}

/// A file that is opened as the folder it lies in.
bool stands_for_folder(const fs::path& file) {
    const std::string name = file.filename().string();
    return name == "model.safetensors" || name == "pytorch_model.bin" || file.extension() == ".json";
}

/// True if the name does not leave its folder.
bool is_plain(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && fs::path(name).filename() == name;
}

/// The snapshot that a Hugging Face cache entry's refs/REVISION points to or that has this name; without a revision that
/// of refs/main, else the newest.
std::optional<fs::path> snapshot_of(const fs::path& entry, const std::string& wanted = {}) {
    std::error_code ec;
    if (!wanted.empty() && !is_plain(wanted)) return std::nullopt;
    if (std::ifstream ref(entry / "refs" / (wanted.empty() ? "main" : wanted)); ref) {
        std::string revision;
        ref >> revision;
        const fs::path folder = entry / "snapshots" / revision;
        if (is_plain(revision) && fs::is_directory(folder, ec)) return folder;
    }
    if (!wanted.empty()) {
        const fs::path folder = entry / "snapshots" / wanted;
        return fs::is_directory(folder, ec) ? std::optional(folder) : std::nullopt;
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

/// sentence-transformers keeps some models in a folder inside that modules.json names ("0_Transformer"); else the folder itself.
fs::path inside_pipeline(const fs::path& folder) {
    std::error_code ec;
    const fs::path list = folder / "modules.json";
    if (is_model_folder(folder) || !fs::is_regular_file(list, ec)) return folder;
    const nlohmann::json modules = io::read_json(list);
    for (const nlohmann::json& each : modules) {
        const auto path = each.is_object() ? each.find("path") : each.end();
        if (!each.is_object() || path == each.end() || !path->is_string()) continue;
        const std::string name = path->get<std::string>();
        if (is_plain(name) && is_model_folder(folder / name)) return folder / name;
    }
    return folder;
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

std::string name_of_model(const fs::path& path) {
    std::error_code ec;
    if (const std::string tower = tower_of(path); !tower.empty()) return name_of_model(without_tower(path)) + " " + tower;
    if (!fs::is_directory(path, ec) && io::gguf_file_of(path)) {
        const auto part = io::gguf_part_of(path);
        return part ? part->stem : path.stem().string();
    }
    const fs::path whole = fs::weakly_canonical(folder_of(path));
    const std::string entry = whole.parent_path().parent_path().filename().string();
    if (whole.filename() == "model") return (whole.parent_path().filename() / "model").string();
    if (whole.parent_path().filename() != "snapshots" || !entry.starts_with("models--")) return whole.filename().string();
    return entry.substr(entry.rfind("--") + 2);
}

std::vector<fs::path> cache_folders() {
    std::vector<fs::path> folders;
    const auto add = [&](const char* variable, const fs::path& tail) {
        if (const auto path = environment_path(variable)) folders.push_back(tail.empty() ? *path : *path / tail);
    };
    add("HF_HUB_CACHE", {});
    add("HF_HOME", "hub");
    add("XDG_CACHE_HOME", "huggingface/hub");
    add("HOME", ".cache/huggingface/hub");
    return folders;
}

std::vector<CachedModel> cached_models() {
    std::map<std::string, fs::path> found;
    for (const fs::path& cache : cache_folders()) {
        std::error_code ec;
        for (fs::directory_iterator it(cache, ec), end; !ec && it != end; it.increment(ec)) {
            const std::string name = it->path().filename().string();
            if (!name.starts_with("models--")) continue;
            std::string id = name.substr(8);
            if (const std::size_t at = id.find("--"); at != std::string::npos) id = id.substr(0, at) + '/' + id.substr(at + 2);
            if (const auto folder = snapshot_of(it->path())) found.emplace(std::move(id), *folder);
        }
    }
    std::vector<CachedModel> models;
    for (auto& [id, folder] : found) models.push_back({id, folder});
    return models;
}

std::vector<fs::path> model_folders_in(const fs::path& folder) {
    constexpr std::size_t kMost = 500;
    std::vector<fs::path> found;
    std::error_code ec;
    fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, ec), end;
    for (; !ec && it != end && found.size() < kMost; it.increment(ec)) {
        std::error_code ignored;
        if (!it->is_directory(ignored)) {
            // The first file represents a model in several files.
            if (it->path().extension() == ".gguf" && io::gguf_file_of(it->path()) == it->path()) found.push_back(it->path());
            continue;
        }
        const bool model = is_model_folder(it->path());
        if (model) found.push_back(it->path());
        if (model || it.depth() > 0 || it->path().filename().string().starts_with('.')) it.disable_recursion_pending();
    }
    std::ranges::sort(found);
    return found;
}

fs::path folder_of(const fs::path& model) {
    std::error_code ec;
    if (!tower_of(model).empty()) return folder_of(without_tower(model));
    if (!fs::is_regular_file(model, ec)) return model;
    return model.has_parent_path() ? model.parent_path() : fs::path(".");
}

std::string package_id(std::string_view requirement) {
    const std::size_t end = std::min(requirement.find_first_of("=@"), requirement.size());
    std::string id = "pypi/";
    for (const char c : requirement.substr(0, end)) {
        const bool mark = c == '-' || c == '_' || c == '.';
        if (mark && id.back() == '-') continue;
        id += mark ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const std::size_t version = std::min(requirement.find_first_not_of("=@", end), requirement.size());
    return version < requirement.size() ? id + "@" + std::string(requirement.substr(version)) : id;
}

fs::path locate_model(std::string_view reference) {
    if (reference.starts_with("pypi:")) return locate_model(package_id(reference.substr(5)));
    if (reference.empty()) throw Error(ErrorFacts{.problem = "No model was named", .hint = "Give a folder, or novella-7m"});
    std::error_code ec;
    const fs::path typed{std::string(reference)};
    if (const std::string tower = tower_of(typed); !tower.empty())
        return with_tower(locate_model(without_tower(typed).string()), tower);
    if (fs::is_directory(typed, ec)) return inside_pipeline(typed);
    if (fs::is_regular_file(typed, ec)) {
        if (is_own_weights(typed)) return typed;
        if (stands_for_folder(typed)) return folder_of(typed);
        if (typed.extension() == ".npy")
            throw Error(ErrorFacts{.problem = "One array without the tokens it belongs to",
                                   .file = std::string(reference),
                                   .expected = "an .npz file with the arrays attention and tokens",
                                   .hint = "docs/attention-elsewhere.md has five lines of Python that write it"});
        throw Error(ErrorFacts{.problem = "This file is no model",
                               .file = std::string(reference),
                               .expected = "weights (.safetensors, .bin, .gguf …), config.json, or their folder"});
    }
    const bool plain_name =
        std::count(reference.begin(), reference.end(), '/') <= 1 && reference.front() != '/' && reference.front() != '.';
    if (plain_name) {
        for (const fs::path& folder : built_in_model_folders()) {
            if (is_model_folder(folder / typed)) return folder / typed;
        }
        for (const fs::path& cache : cache_folders()) {
            const std::size_t at = reference.find('@');  // org/name@revision
            const std::string revision(at == std::string_view::npos ? "" : reference.substr(at + 1));
            if (auto folder = snapshot_of(cache / cache_entry_name(reference.substr(0, at)), revision)) return *folder;
        }
    }
    throw Error(ErrorFacts{
        .problem = "No such model",
        .file = std::string(reference),
        .expected = "a folder with config.json, a .gguf file, a built-in name (novella-7m) or an id in the Hugging Face cache",
        .hint = plain_name ? "Check the name; headlight fetch brings a model into the cache" : "Check the path"});
}

}  // namespace headlight::model
