// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/foreign.h"
#include "headlight/io/gguf.h"
#include "headlight/io/mapped_file.h"
#include "io/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace headlight::io {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place");

namespace {

constexpr std::uint32_t kMagic = 0x46554747;      // "GGUF"
constexpr std::uint64_t kMaxString = 64u << 20;   // a chat template or a licence; a token has a few bytes
constexpr std::uint64_t kMaxElements = 1u << 25;  // of all arrays together: each costs memory for its value
constexpr int kMaxArrayDepth = 8;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::uint64_t kMaxAlignment = 1u << 20;

/// Value types of the metadata, as the format numbers them.
enum Value : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64, count };

/// The fewest bytes of a value of the type: the bound for a count of them.
std::uint64_t least_bytes(std::uint32_t type) {
    static constexpr std::uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
    return kBytes[type];
}

std::string quoted(std::string_view text) {
    std::string shown = "\"";
    for (const char c : text.substr(0, 60)) shown += c >= 0x20 && c < 0x7f ? c : '?';
    return shown + (text.size() > 60 ? "…\"" : "\"");
}

}  // namespace

/// One file while it is read; knows where it is and how to complain.
class GgufParser {
public:
    GgufParser(std::span<const std::byte> bytes, const std::filesystem::path& named) : bytes_(bytes) {
        file_ = std::make_shared<GgufFile>();
        file_->path_ = named;
        file_->files_ = {named};
        file_->metadata_ = nlohmann::json::object();
    }

    std::shared_ptr<GgufFile> parse() {
        read_version();
        // 8 bytes of name length and 4 of a type are the least that an entry has; a tensor has 24 with its offset.
        const std::uint64_t tensors = read_count("tensor count", 24);
        const std::uint64_t keys = read_count("metadata count", 12);
        for (std::uint64_t i = 0; i < keys; ++i) read_entry(i);
        for (std::uint64_t i = 0; i < tensors; ++i) read_tensor(i);
        place_tensors();
        return file_;
    }
    void keep(const std::shared_ptr<const void>& owner) {
        for (auto& [name, tensor] : file_->tensors_) tensor.owner = owner;
    }

private:
    struct Placed {
        std::uint64_t offset, size;
        GgufTensor tensor;
    };

    [[noreturn]] void fail(const std::string& problem, const std::string& item, const std::string& expected,
                           const std::string& found, const std::string& hint = "") const {
        throw Error(ErrorFacts{
            .problem = problem, .file = file_->path_.string(), .item = item, .expected = expected, .found = found, .hint = hint});
    }

    std::uint64_t rest() const { return bytes_.size() - at_; }

    std::span<const std::byte> take(std::uint64_t n, const std::string& item) {
        if (n > rest())
            fail("The file is cut short", item, bytes_text(n) + " at byte " + std::to_string(at_), std::to_string(rest()));
        const auto part = bytes_.subspan(at_, n);
        at_ += n;
        return part;
    }

    template <class T>
    T number(const std::string& item) {
        T value;
        std::memcpy(&value, take(sizeof(T), item).data(), sizeof(T));
        return value;
    }

    void read_version() {
        refuse_foreign({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}, file_->path_);
        if (bytes_.size() < 8 || number<std::uint32_t>("magic") != kMagic)
            fail("Not a GGUF file", "the first bytes", "GGUF",
                 quoted({reinterpret_cast<const char*>(bytes_.data()), std::min<std::size_t>(4, bytes_.size())}));
        const auto version = number<std::uint32_t>("version");
        if (version != 0 && (version & 0xffffu) == 0)
            fail("The file was written for machines with the other byte order", "version", "2 or 3, little-endian", "big-endian",
                 "Convert it with the gguf package's gguf_convert_endian.py");
        if (version != 2 && version != 3)
            fail("This version of GGUF cannot be read", "version", "2 or 3", std::to_string(version),
                 version == 1 ? "Convert the model again with a present llama.cpp" : "");
        file_->version_ = version;
    }

    std::uint64_t read_count(const std::string& item, std::uint64_t least) {
        const auto n = number<std::uint64_t>(item);
        if (n > rest() / least)
            fail("The file has no room for what it counts", item, "at most " + std::to_string(rest() / least), std::to_string(n));
        return n;
    }

    std::string_view read_string(const std::string& item) {
        const auto size = number<std::uint64_t>(item);
        if (size > rest()) fail("A string is longer than the file", item, "at most " + bytes_text(rest()), bytes_text(size));
        if (size > kMaxString) fail("A string is too long", item, "at most " + bytes_text(kMaxString), bytes_text(size));
        const auto bytes = take(size, item);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    std::string read_name(const std::string& item) {
        const std::string_view name = read_string(item);
        const bool plain = std::ranges::all_of(name, [](char c) { return c >= 0x21 && c < 0x7f; });
        if (name.empty() || name.size() > 255 || !plain)
            fail("This cannot be a name", item, "1 to 255 visible ASCII characters", quoted(name));
        return std::string(name);
    }

    nlohmann::json read_value(std::uint32_t type, const std::string& item, int depth) {
        switch (type) {
            case u8: return number<std::uint8_t>(item);
            case i8: return number<std::int8_t>(item);
            case u16: return number<std::uint16_t>(item);
            case i16: return number<std::int16_t>(item);
            case u32: return number<std::uint32_t>(item);
            case i32: return number<std::int32_t>(item);
            case f32: return static_cast<double>(number<float>(item));
            case u64: return number<std::uint64_t>(item);
            case i64: return number<std::int64_t>(item);
            case f64: return number<double>(item);
            case string: return std::string(read_string(item));
            case boolean: {
                const auto value = number<std::uint8_t>(item);
                if (value > 1) fail("Wrong value in the metadata", item, "0 or 1", std::to_string(value));
                return value == 1;
            }
            case array: return read_array(item, depth);
            default:
                fail("Unknown type of a value in the metadata", item, "0 to " + std::to_string(count - 1), std::to_string(type));
        }
    }

    nlohmann::json read_array(const std::string& item, int depth) {
        if (depth >= kMaxArrayDepth)
            fail("Arrays are nested too deep", item, "at most " + std::to_string(kMaxArrayDepth) + " levels", "more");
        const auto type = number<std::uint32_t>(item);
        if (type >= count)
            fail("Unknown type of a value in the metadata", item, "0 to " + std::to_string(count - 1), std::to_string(type));
        const auto n = number<std::uint64_t>(item);
        if (n > rest() / least_bytes(type))
            fail("An array is longer than the file", item, "at most " + std::to_string(rest() / least_bytes(type)) + " elements",
                 std::to_string(n));
        elements_ += n;
        if (elements_ > kMaxElements)
            fail("The arrays of the metadata are too long", item, "at most " + std::to_string(kMaxElements) + " elements in all",
                 std::to_string(elements_));
        nlohmann::json values = nlohmann::json::array();
        auto& list = values.get_ref<nlohmann::json::array_t&>();
        list.reserve(n);
        for (std::uint64_t i = 0; i < n; ++i) list.push_back(read_value(type, item, depth + 1));
        return values;
    }

    void read_entry(std::uint64_t index) {
        const std::string key = read_name("metadata entry " + std::to_string(index));
        const auto type = number<std::uint32_t>(key);
        auto [place, fresh] = file_->metadata_.get_ref<nlohmann::json::object_t&>().try_emplace(key);
        if (!fresh) fail("The same key twice", key, "", "");
        place->second = read_value(type, key, 0);
    }

    void read_tensor(std::uint64_t index) {
        Placed placed;
        GgufTensor& t = placed.tensor;
        t.name = read_name("tensor " + std::to_string(index));
        const std::string item = "tensor " + t.name;
        const auto dimensions = number<std::uint32_t>(item);
        if (dimensions > kMaxDimensions)
            fail("Too many dimensions", item, "at most " + std::to_string(kMaxDimensions), std::to_string(dimensions));
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            const auto size = number<std::uint64_t>(item);
            if (size == 0 || size > static_cast<std::uint64_t>(INT64_MAX))
                fail("Wrong shape", item, "sizes from 1 to 2^63 - 1", std::to_string(size));
            t.shape.insert(t.shape.begin(), static_cast<std::int64_t>(size));
        }
        t.type = static_cast<GgmlType>(number<std::uint32_t>(item));
        placed.offset = number<std::uint64_t>(item);
        placed.size = size_of_tensor(t, item);
        placed_.push_back(std::move(placed));
    }

    std::uint64_t size_of_tensor(const GgufTensor& t, const std::string& item) const {
        const GgmlLayout* layout = layout_of(t.type);
        if (!layout)
            fail("Unknown type of a tensor", item, "a type that ggml has", std::to_string(static_cast<std::uint32_t>(t.type)),
                 "The file may be newer than this program");
        const std::int64_t row = t.shape.empty() ? 1 : t.shape.back();
        if (row % layout->elements != 0)
            fail("The rows of a tensor are no whole blocks", item,
                 "a multiple of " + std::to_string(layout->elements) + " for " + std::string(layout->name), shape_text(t.shape));
        std::vector<std::int64_t> blocks = t.shape;
        if (!blocks.empty()) blocks.back() /= layout->elements;
        std::int64_t bytes = 0, numbers = 0;
        if (!checked_byte_size(blocks, layout->bytes, bytes) || !checked_byte_size(t.shape, 8, numbers))
            fail("The shape overflows 64 bits", item, "at most 2^63 - 1 bytes",
                 std::string(layout->name) + " " + shape_text(t.shape));
        return static_cast<std::uint64_t>(bytes);
    }

    std::uint64_t read_alignment() const {
        const auto entry = file_->metadata_.find("general.alignment");
        if (entry == file_->metadata_.end()) return 32;
        const bool whole = entry->is_number_unsigned();
        const std::uint64_t value = whole ? entry->get<std::uint64_t>() : 0;
        if (!whole || !std::has_single_bit(value) || value > kMaxAlignment)
            fail("Wrong alignment", "general.alignment", "a power of two up to " + std::to_string(kMaxAlignment),
                 entry->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, 40));
        return value;
    }

    void place_tensors() {
        const std::uint64_t alignment = read_alignment();
        if (placed_.empty()) return;
        const std::uint64_t start = (at_ + alignment - 1) / alignment * alignment;
        const std::span<const std::byte> data = start < bytes_.size() ? bytes_.subspan(start) : std::span<const std::byte>{};
        std::ranges::sort(placed_, {}, [](const Placed& p) { return std::pair(p.offset, p.size); });
        std::uint64_t end = 0;
        std::string before;
        for (Placed& p : placed_) {
            const std::string item = "tensor " + p.tensor.name;
            if (p.offset % alignment != 0)
                fail("A tensor is not aligned", item, "an offset that is a multiple of " + std::to_string(alignment),
                     std::to_string(p.offset));
            if (p.offset > data.size() || p.size > data.size() - p.offset)
                fail("A tensor reaches past the end of the file (cut short?)", item,
                     "at most " + bytes_text(data.size()) + " of data",
                     bytes_text(p.size) + " at byte " + std::to_string(p.offset));
            if (p.offset < end)
                fail("Two tensors overlap", item, "a start at or after byte " + std::to_string(end) + ", the end of " + before,
                     "byte " + std::to_string(p.offset));
            end = p.offset + p.size;
            before = p.tensor.name;
            p.tensor.bytes = data.subspan(p.offset, p.size);
            p.tensor.file = file_->path_;
            const auto [place, fresh] = file_->tensors_.try_emplace(p.tensor.name);
            if (!fresh) fail("The same tensor twice", item, "", "");
            place->second = std::move(p.tensor);
        }
    }

    std::span<const std::byte> bytes_;
    std::uint64_t at_ = 0;
    std::uint64_t elements_ = 0;
    std::vector<Placed> placed_;
    std::shared_ptr<GgufFile> file_;
};

std::shared_ptr<const GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const std::filesystem::path& named) {
    return GgufParser(bytes, named).parse();
}

std::shared_ptr<GgufFile> GgufFile::open_one(const std::filesystem::path& path) {
    std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
    GgufParser parser(mapped->bytes(), path);
    std::shared_ptr<GgufFile> file = parser.parse();
    parser.keep(mapped);
    return file;
}

}  // namespace headlight::io
