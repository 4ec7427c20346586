// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/source.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/python_json.h"
#include "headlight/model/locate.h"
#include "model/families/registry.h"
#include "model/load/named_config.h"

#include <cstring>

namespace headlight::model {

namespace {

std::int64_t bytes_converted(const io::TensorStore& store, at::ScalarType dtype) {
    std::int64_t bytes = 0;
    for (const auto& [name, view] : store.tensors())
        if (view.dtype == io::DType::F8_E4M3 || scalar_type(view.dtype) != dtype)
            bytes += view.numel() * static_cast<std::int64_t>(at::elementSize(dtype));
    return bytes;
}

/// What decides between experts is not rounded, as in the reference.
at::ScalarType type_of(const ResolvedRow& r, at::ScalarType dtype) {
    const bool wide = r.row->slot == Slot::router_correction || r.row->slot == Slot::rope_frequencies;
    return wide && dtype == at::kBFloat16 ? at::kFloat : dtype;
}

}  // namespace

nlohmann::json read_config_json(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / "config.json", adapter = folder / "adapter_config.json";
    std::error_code none;
    if (!std::filesystem::exists(file, none) && std::filesystem::exists(adapter, none)) {
        const nlohmann::json json = io::read_python_json(adapter);
        const auto base = json.is_object() ? json.find("base_model_name_or_path") : json.end();
        const bool named = json.is_object() && base != json.end() && base->is_string();
        throw Error(
            ErrorFacts{.problem = "An adapter (LoRA), not a whole model",
                       .file = adapter.string(),
                       .item = "base_model_name_or_path",
                       .found = named ? base->get<std::string>() : "no such field",
                       .hint = "Merge it into its base model (peft: merge_and_unload(), then save_pretrained()) and open that"});
    }
    return io::read_python_json(file);
}

io::TensorStore outline_of(const std::filesystem::path& path) {
    if (const auto gguf = io::gguf_file_of(path)) return outline_gguf(*gguf).store;
    return io::TensorStore::open(without_tower(path));
}

Source open_source(const std::filesystem::path& path, at::ScalarType dtype, std::int64_t room, const CancelToken& cancel,
                   const Progress& progress) {
    if (const auto gguf = io::gguf_file_of(path)) {
        GgufSource source = read_gguf(*gguf, dtype, room, cancel, progress);
        return {.config = std::move(source.config),
                .store = std::move(source.store),
                .fp8 = {},
                .stored = std::move(source.stored),
                .used_up = std::move(source.used_up),
                .deferred = std::move(source.deferred),
                .notes = {},
                .as_used = source.as_used};
    }
    // The path may be a file of weights with config.json beside it.
    const std::filesystem::path folder = folder_of(path);
    std::error_code none;
    if (!std::filesystem::is_directory(folder, none))
        throw Error(ErrorFacts{.problem = "No model folder",
                               .file = folder.string(),
                               .expected = "a folder with config.json and model.safetensors, or a .gguf file"});
    NamedConfig named = named_config(path);
    QuantizedStore read = read_quantization(named.config, io::TensorStore::open(without_tower(path)));
    const bool as_used = bytes_converted(read.store, dtype) > room;
    return {.config = std::move(named.config),
            .store = std::move(read.store),
            .fp8 = std::move(read.fp8),
            .stored = {},
            .used_up = std::move(read.used_up),
            .deferred = {},
            .notes = std::move(named.notes),
            .as_used = as_used};
}

at::Tensor numbers_of(const Source& source, const ResolvedRow& r, at::ScalarType dtype, at::Device device, bool& mapped) {
    const at::ScalarType as = type_of(r, dtype);
    mapped = false;
    if (const auto deferred = source.deferred.find(r.view->name); deferred != source.deferred.end())
        return deferred->second.rows(0, r.view->shape.front()).to(device, as);
    if (r.view->dtype != io::DType::F8_E4M3) return to_tensor(*r.view, as, device, mapped);
    const auto scale = source.fp8.find(r.view->name);
    return dequantize_fp8(*r.view, scale == source.fp8.end() ? nullptr : &scale->second, as).to(device);
}

at::Tensor rows_of(const Source& source, const ResolvedRow& r, std::int64_t first, std::int64_t count, at::ScalarType dtype) {
    if (const auto deferred = source.deferred.find(r.view->name); deferred != source.deferred.end())
        return deferred->second.rows(first, count).to(dtype);
    bool mapped = false;
    if (r.view->dtype == io::DType::F8_E4M3) return numbers_of(source, r, dtype, at::kCPU, mapped).narrow(0, first, count);
    io::TensorView part = *r.view;
    const std::size_t each = part.bytes.size() / static_cast<std::size_t>(part.shape.front());
    part.bytes = part.bytes.subspan(static_cast<std::size_t>(first) * each, static_cast<std::size_t>(count) * each);
    part.shape.front() = count;
    return to_tensor(part, dtype, at::kCPU, mapped);
}

std::span<const std::byte> bytes_in_file(const Source& source, const io::TensorView& view) {
    const auto deferred = source.deferred.find(view.name);
    return deferred == source.deferred.end() ? view.bytes : deferred->second.bytes;
}

bool same_numbers(const Source& source, const io::TensorView& a, const io::TensorView& b) {
    const auto x = bytes_in_file(source, a), y = bytes_in_file(source, b);
    return a.dtype == b.dtype && a.shape == b.shape && x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size()) == 0;
}

}  // namespace headlight::model
