// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"
#include "io/safetensors_header.h"

#include <set>
#include <utility>

namespace headlight::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

using WeightMap = std::map<std::string, std::string>;  // tensor -> file name of its shard

WeightMap read_weight_map(const fs::path& index) {
    const auto fail = [&](std::string item, std::string expected, std::string found) {
        throw Error(ErrorFacts{.problem = "broken shard index",
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
        // A shard lies beside its index: an index must not lead to files elsewhere.
        if (name.empty() || name == "." || name == ".." || fs::path(name).filename() != name)
            fail("weight_map." + tensor, "the name of a file in the same folder", "\"" + name + "\"");
        result[tensor] = name;
    }
    return result;
}

[[noreturn]] void fail_no_weights(const fs::path& folder) {
    ErrorFacts facts{.problem = "no weights in the model folder",
                     .file = folder.string(),
                     .expected = std::string(kSingle) + " or " + kIndex};
    std::error_code ignored;
    if (fs::exists(folder / "pytorch_model.bin", ignored)) {
        facts.found = "pytorch_model.bin";
        facts.hint = "Save the model as safetensors: model.save_pretrained(folder, safe_serialization=True)";
    }
    throw Error(std::move(facts));
}

void add_file(const fs::path& path, std::map<std::string, TensorView>& tensors, std::vector<fs::path>& files,
              std::map<std::string, std::string>& metadata) {
    const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
    SafetensorsContent content = parse_safetensors(file->bytes(), path);
    for (TensorView& view : content.tensors) {
        view.owner = file;
        const auto there = tensors.find(view.name);
        if (there != tensors.end())
            throw Error(ErrorFacts{.problem = "the same tensor in two files",
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

TensorStore TensorStore::open_folder(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) throw Error(ErrorFacts{.problem = "no such folder", .file = folder.string()});
    if (!fs::is_directory(folder, ignored))
        throw Error(ErrorFacts{.problem = "not a folder",
                               .file = folder.string(),
                               .expected = "a model folder with " + std::string(kSingle)});
    if (fs::exists(folder / kSingle, ignored)) return open_file(folder / kSingle);
    if (!fs::exists(folder / kIndex, ignored)) fail_no_weights(folder);

    const WeightMap map = read_weight_map(folder / kIndex);
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map) shards.insert(shard);
    TensorStore store;
    for (const std::string& shard : shards) add_file(folder / shard, store.tensors_, store.files_, store.metadata_);
    for (const auto& [tensor, shard] : map) {
        const TensorView* view = store.find(tensor);
        if (!view || view->file.filename() != shard)
            throw Error(ErrorFacts{.problem = "a tensor of the index is missing",
                                   .file = (folder / shard).string(),
                                   .item = "tensor " + tensor,
                                   .expected = "in " + shard + ", as " + kIndex + " says",
                                   .found = view ? "in " + view->file.filename().string() : "nowhere"});
    }
    return store;
}

const TensorView* TensorStore::find(const std::string& name) const noexcept {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace headlight::io
