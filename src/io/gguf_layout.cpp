// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headlight::io {
namespace {

using LayoutRow = std::pair<std::uint32_t, GgmlLayout>;

/// Sizes from ggml (ggml-common.h); 256 numbers in a block of the K and IQ types.
constexpr std::array kLayouts = std::to_array<LayoutRow>({
    {0, {"F32", 1, 4}},
    {1, {"F16", 1, 2}},
    {2, {"Q4_0", 32, 18}},
    {3, {"Q4_1", 32, 20}},
    {6, {"Q5_0", 32, 22}},
    {7, {"Q5_1", 32, 24}},
    {8, {"Q8_0", 32, 34}},
    {9, {"Q8_1", 32, 40, false}},
    {10, {"Q2_K", 256, 84}},
    {11, {"Q3_K", 256, 110}},
    {12, {"Q4_K", 256, 144}},
    {13, {"Q5_K", 256, 176}},
    {14, {"Q6_K", 256, 210}},
    {15, {"Q8_K", 256, 292, false}},
    {16, {"IQ2_XXS", 256, 66, false}},
    {17, {"IQ2_XS", 256, 74, false}},
    {18, {"IQ3_XXS", 256, 98, false}},
    {19, {"IQ1_S", 256, 50, false}},
    {20, {"IQ4_NL", 32, 18}},
    {21, {"IQ3_S", 256, 110, false}},
    {22, {"IQ2_S", 256, 82, false}},
    {23, {"IQ4_XS", 256, 136}},
    {24, {"I8", 1, 1, false}},
    {25, {"I16", 1, 2, false}},
    {26, {"I32", 1, 4, false}},
    {27, {"I64", 1, 8, false}},
    {28, {"F64", 1, 8}},
    {29, {"IQ1_M", 256, 56, false}},
    {30, {"BF16", 1, 2}},
    {34, {"TQ1_0", 256, 54, false}},
    {35, {"TQ2_0", 256, 66, false}},
    {39, {"MXFP4", 32, 17}},
    {40, {"NVFP4", 64, 36, false}},
    {41, {"Q1_0", 128, 18, false}},
});

}  // namespace

const GgmlLayout* layout_of(GgmlType type) noexcept {
    const auto row = std::ranges::find(kLayouts, static_cast<std::uint32_t>(type), &LayoutRow::first);
    return row == kLayouts.end() ? nullptr : &row->second;
}

std::string readable_ggml_types() {
    std::string list;
    for (const auto& [number, layout] : kLayouts)
        if (layout.readable) list += (list.empty() ? "" : ", ") + std::string(layout.name);
    return list;
}

std::int64_t GgufTensor::numel() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
}

const GgufTensor* GgufFile::find(const std::string& name) const noexcept {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

namespace {

/// The first part of a model in several files, else the file itself.
std::filesystem::path first_part(const std::filesystem::path& file) {
    const auto part = gguf_part_of(file);
    return part ? file.parent_path() / part->name(1) : file;
}

bool is_gguf_name(const std::filesystem::path& file) {
    std::string extension = file.extension().string();
    std::ranges::transform(extension, extension.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    return extension == ".gguf";
}

}  // namespace

std::optional<std::filesystem::path> gguf_file_of(const std::filesystem::path& model) {
    namespace fs = std::filesystem;
    std::error_code ec;
    if (!fs::is_directory(model, ec)) return is_gguf_name(model) ? std::optional(first_part(model)) : std::nullopt;
    for (const char* other :
         {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"})
        if (fs::exists(model / other, ec)) return std::nullopt;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(model, ec), end; !ec && it != end; it.increment(ec))
        if (is_gguf_name(it->path())) found.push_back(it->path());
    if (found.empty()) return std::nullopt;
    for (fs::path& file : found) file = first_part(file);
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());  // clang 14 cannot compile std::ranges' with libstdc++ 12
    if (found.size() == 1) return found.front();
    std::string names;
    for (std::size_t i = 0; i < found.size() && i < 8; ++i) names += (i ? ", " : "") + found[i].filename().string();
    if (found.size() > 8) names += " and " + std::to_string(found.size() - 8) + " more";
    throw Error(ErrorFacts{.problem = "Several GGUF models in one folder",
                           .file = model.string(),
                           .expected = "one",
                           .found = names,
                           .hint = "Name the file instead of the folder"});
}

}  // namespace headlight::io
