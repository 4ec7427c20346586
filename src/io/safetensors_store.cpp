// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/foreign.h"
#include "headlight/io/json_file.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"
#include "io/safetensors_header.h"
#include "io/torch_file.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace headlight::io {
namespace {

namespace fs = std::filesystem;

using WeightMap = std::map<std::string, std::string>;  // tensor -> file name of its shard

WeightMap read_weight_map(const fs::path& index) {
    const auto fail = [&](std::string item, std::string expected, std::string found) {
        throw Error(ErrorFacts{.problem = "Broken shard index",
                               .file = index.string(),
                               .item = std::move(item),
                               .expected = std::move(expected),
                               .found = std::move(found)});
    };
    const nlohmann::json root = read_json(index);
    const auto map = root.is_object() ? root.find("weight_map") : root.end();
    if (!root.is_object() || map == root.end() || !map->is_object())
        fail("weight_map", "an object: tensor name -> file name", "none");
    if (map->empty()) fail("weight_map", "at least one tensor", "none");
    WeightMap result;
    for (const auto& [tensor, shard] : map->items()) {
        if (!shard.is_string()) fail("weight_map." + tensor, "a file name", shard.type_name());
        const std::string& name = shard.get_ref<const std::string&>();
        // Shards are files beside their index: an index must not point elsewhere.
        if (name.empty() || name == "." || name == ".." || fs::path(name).filename() != name)
            fail("weight_map." + tensor, "the name of a file in the same folder", "\"" + name + "\"");
        result[tensor] = name;
    }
    return result;
}

/// The names a model's weights go by, in the order they are looked for: one file, or an index of several.
struct Names {
    const char* single;
    const char* index;
};
constexpr std::array<Names, 2> kNames{
    {{"model.safetensors", "model.safetensors.index.json"}, {"pytorch_model.bin", "pytorch_model.bin.index.json"}}};

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Files of weights under other names: their names say what is missing.
std::vector<std::string> other_weights(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code ec;
    for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
        const fs::path extension = it->path().extension();
        if (extension == ".safetensors" || extension == ".bin" || extension == ".pt" || extension == ".pth")
            names.push_back(it->path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

[[noreturn]] void fail_no_weights(const fs::path& folder) {
    std::string list;
    for (const Names& names : kNames) list += (list.empty() ? "" : ", ") + std::string(names.single) + ", " + names.index;
    const std::vector<std::string> others = other_weights(folder);
    const auto shard =
        std::ranges::find_if(others, [](const std::string& name) { return name.find("-of-") != std::string::npos; });
    if (shard != others.end()) {
        const bool safe = shard->ends_with(".safetensors");
        throw Error(ErrorFacts{.problem = "Weights in several files without their index",
                               .file = folder.string(),
                               .expected = kNames[safe ? 0 : 1].index,
                               .found = *shard + (others.size() > 1 ? " and " + std::to_string(others.size() - 1) + " more" : ""),
                               .hint = "Download the index too"});
    }
    throw Error(ErrorFacts{.problem = "No weights in the model folder",
                           .file = folder.string(),
                           .expected = "one of " + list,
                           .found = others.empty() ? "" : others.front(),
                           .hint = others.empty() ? "" : "If these are the model's weights, open " + others.front() + " itself"});
}

void add_file(const fs::path& path, std::map<std::string, TensorView>& tensors, std::vector<fs::path>& files,
              std::map<std::string, std::string>& metadata) {
    const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
    refuse_foreign(text_of(file->bytes()), path);
    SafetensorsContent content;
    if (is_torch_file(*file))
        content.tensors = read_torch_file(file);
    else
        content = parse_safetensors(file->bytes(), path);
    for (TensorView& view : content.tensors) {
        if (!view.owner) view.owner = file;
        const auto there = tensors.find(view.name);
        if (there != tensors.end())
            throw Error(ErrorFacts{.problem = "The same tensor in two files",
                                   .file = path.string(),
                                   .item = "tensor " + view.name,
                                   .found = "already in " + there->second.file.filename().string()});
        std::string name = view.name;
        tensors.emplace(std::move(name), std::move(view));
    }
    metadata.merge(content.metadata);
    files.push_back(path);
}

}  // namespace

std::int64_t TensorView::numel() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
}

TensorStore TensorStore::open_file(const fs::path& file) {
    TensorStore store;
    add_file(file, store.tensors_, store.files_, store.metadata_);
    return store;
}

TensorStore TensorStore::of(std::map<std::string, TensorView> tensors, std::vector<fs::path> files) {
    TensorStore store;
    store.tensors_ = std::move(tensors);
    store.files_ = std::move(files);
    return store;
}

TensorStore TensorStore::open(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) ? open_file(path) : open_folder(path);
}

TensorStore TensorStore::open_folder(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) throw Error(ErrorFacts{.problem = "No such folder", .file = folder.string()});
    if (!fs::is_directory(folder, ignored))
        throw Error(
            ErrorFacts{.problem = "Not a folder", .file = folder.string(), .expected = "a model folder with model.safetensors"});
    for (const Names& names : kNames) {
        if (fs::exists(folder / names.single, ignored)) return open_file(folder / names.single);
        if (fs::exists(folder / names.index, ignored)) return open_shards(folder / names.index);
    }
    fail_no_weights(folder);
}

TensorStore TensorStore::open_shards(const fs::path& index) {
    const fs::path folder = index.parent_path();
    const WeightMap map = read_weight_map(index);
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map) shards.insert(shard);
    TensorStore store;
    for (const std::string& shard : shards) add_file(folder / shard, store.tensors_, store.files_, store.metadata_);
    for (const auto& [tensor, shard] : map) {
        const TensorView* view = store.find(tensor);
        if (!view || view->file.filename() != shard)
            throw Error(ErrorFacts{.problem = "A tensor of the index is missing",
                                   .file = (folder / shard).string(),
                                   .item = "tensor " + tensor,
                                   .expected = "in " + shard + ", as " + index.filename().string() + " says",
                                   .found = view ? "in " + view->file.filename().string() : "nowhere"});
    }
    return store;
}

const TensorView* TensorStore::find(const std::string& name) const noexcept {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace headlight::io
