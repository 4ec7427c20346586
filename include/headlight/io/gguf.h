// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

/// Element types of a GGUF tensor, numbered as ggml numbers them (ggml.h, enum ggml_type).
enum class GgmlType : std::uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    IQ4_NL = 20,
    IQ4_XS = 23,
    F64 = 28,
    BF16 = 30,
    MXFP4 = 39,
};

/// How a type is stored: runs of `elements` numbers in `bytes` bytes. Types that dequantize() cannot read have `readable`
/// false; their sizes are known, so that a file which holds them can still be checked and listed.
struct GgmlLayout {
    std::string_view name;  ///< "Q4_1"
    std::int64_t elements = 1;
    std::int64_t bytes = 4;
    bool readable = true;
};
/// nullptr for a number that no type has.
const GgmlLayout* layout_of(GgmlType) noexcept;
/// "F32, F16, …": what dequantize() reads, for messages.
std::string readable_ggml_types();

/// Whole blocks to numbers, equal bit for bit to `gguf.quants.dequantize` of the gguf Python package. `blocks` holds a
/// multiple of layout_of(type)->bytes, `out` has room for as many elements. The type must be readable.
void dequantize(GgmlType type, std::span<const std::byte> blocks, float* out);

/// A tensor as stored in the file. The shape is row-major as everywhere else in Headlight: GGUF's own order reversed.
struct GgufTensor {
    std::string name;
    GgmlType type = GgmlType::F32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
    std::filesystem::path file;         ///< the part that contains it
    std::shared_ptr<const void> owner;  ///< keeps the mapping alive

    std::int64_t numel() const noexcept;
};

/// A model in several files, as llama.cpp's gguf-split names them: "x-00002-of-00003.gguf".
struct GgufPart {
    std::string stem;  ///< "x"
    int number = 1, count = 1;

    std::string name(int of_number) const;  ///< the file name of a part
};
/// Nothing for other names.
std::optional<GgufPart> gguf_part_of(const std::filesystem::path& file);

/// A GGUF file of version 2 or 3 (ggml-org/ggml's document of the format), mapped and not copied. The header is checked
/// whole before anything is handed out; every error names the file, the key or the tensor (not GGUF, other byte order,
/// version, cut short, counts that the file has no room for, strings too long, unknown value types, arrays nested too
/// deep, a key or a tensor twice, alignment, dimensions that overflow, rows that are no whole blocks, data outside the
/// file, overlap).
class GgufFile {
public:
    /// A part of a model in several files opens all of them: the metadata of the first, the tensors of all. Errors name
    /// the part that is missing, of another model or out of its place.
    static std::shared_ptr<const GgufFile> open(const std::filesystem::path&);
    /// The same from memory, for tests; `bytes` must outlive the result.
    static std::shared_ptr<const GgufFile> parse(std::span<const std::byte> bytes, const std::filesystem::path& named);

    const std::filesystem::path& path() const noexcept { return path_; }  ///< of several parts the first
    const std::vector<std::filesystem::path>& files() const noexcept { return files_; }
    std::uint32_t version() const noexcept { return version_; }
    /// Every key with its value: numbers, booleans, strings, arrays. Strings are as in the file, maybe not UTF-8.
    const nlohmann::json& metadata() const noexcept { return metadata_; }
    const std::map<std::string, GgufTensor>& tensors() const noexcept { return tensors_; }
    const GgufTensor* find(const std::string& name) const noexcept;  ///< nullptr when absent

private:
    friend class GgufParser;
    static std::shared_ptr<GgufFile> open_one(const std::filesystem::path&);
    static std::shared_ptr<const GgufFile> open_parts(const std::filesystem::path& folder, const GgufPart&);
    std::filesystem::path path_;
    std::vector<std::filesystem::path> files_;
    std::uint32_t version_ = 0;
    nlohmann::json metadata_;
    std::map<std::string, GgufTensor> tensors_;
};

/// The GGUF file of a path: the file itself when its name ends in .gguf, or the only one in a folder that
/// has no weights in another format. Of a model in several files it is the first. Error when such a folder holds several
/// models.
std::optional<std::filesystem::path> gguf_file_of(const std::filesystem::path& model);

}  // namespace headlight::io
