// SPDX-License-Identifier: GPL-3.0-or-later
#include "io/safetensors_header.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/json_file.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace headlight::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthField = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own reader

std::string short_text(const json& value) {
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    return text;
}

std::string range_text(std::uint64_t begin, std::uint64_t end) {
    return "bytes " + std::to_string(begin) + " to " + std::to_string(end);
}

/// One file's header while it is read; knows how to complain about it.
class HeaderReader {
public:
    HeaderReader(std::span<const std::byte> bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}

    SafetensorsContent read() {
        const json header = parse_json(header_text(), file_);
        if (!header.is_object()) fail("The header is not a JSON object", "header", "an object", short_text(header));
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__")
                read_metadata(entry);
            else
                ranges_.push_back(read_tensor(name, entry));
        }
        check_layout();
        for (Range& range : ranges_) content_.tensors.push_back(std::move(range.view));
        return std::move(content_);
    }

private:
    struct Range {
        std::uint64_t begin, end;
        TensorView view;
    };

    [[noreturn]] void fail(const std::string& problem, const std::string& item, const std::string& expected,
                           const std::string& found) const {
        throw Error(ErrorFacts{.problem = problem, .file = file_.string(), .item = item, .expected = expected, .found = found});
    }

    static std::string tensor_item(const std::string& name) { return "tensor " + name; }

    std::string_view header_text() {
        if (bytes_.size() < kLengthField)
            fail("The file is cut short", "header length", bytes_text(kLengthField), bytes_text(bytes_.size()));
        std::uint64_t length = 0;
        for (std::size_t i = 0; i < kLengthField; ++i)
            length |= static_cast<std::uint64_t>(std::to_integer<unsigned>(bytes_[i])) << (8 * i);
        const std::uint64_t rest = bytes_.size() - kLengthField;
        if (length > rest)
            fail("The header is longer than the file (not a safetensors file, or cut short)", "header length",
                 "at most " + bytes_text(rest), bytes_text(length));
        if (length > kMaxHeader)
            fail("The header is too long", "header length", "at most " + bytes_text(kMaxHeader), bytes_text(length));
        if (length < 2) fail("The file has no header", "header length", "at least 2 bytes", bytes_text(length));
        data_ = bytes_.subspan(kLengthField + length);
        return {reinterpret_cast<const char*>(bytes_.data() + kLengthField), length};
    }

    void read_metadata(const json& entry) {
        if (!entry.is_object()) fail("Broken metadata", "__metadata__", "an object of strings", short_text(entry));
        for (const auto& [key, value] : entry.items()) {
            if (!value.is_string()) fail("Broken metadata", "__metadata__." + key, "a string", short_text(value));
            content_.metadata[key] = value.get<std::string>();
        }
    }

    const json& field(const std::string& name, const json& entry, const char* key, json::value_t type,
                      const char* expected) const {
        const auto found = entry.find(key);
        if (found == entry.end())
            fail("The header lacks a field", tensor_item(name), std::string(key) + " (" + expected + ")", "none");
        if (found->type() != type) fail(std::string("wrong ") + key, tensor_item(name), expected, short_text(*found));
        return *found;
    }

    std::vector<std::int64_t> read_shape(const std::string& name, const json& entry) const {
        std::vector<std::int64_t> shape;
        for (const json& size : field(name, entry, "shape", json::value_t::array, "a list of sizes")) {
            if (!size.is_number_unsigned() || size.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
                fail("Wrong shape", tensor_item(name), "whole numbers from 0 to 2^63 - 1", short_text(size));
            shape.push_back(size.get<std::int64_t>());
        }
        return shape;
    }

    std::pair<std::uint64_t, std::uint64_t> read_offsets(const std::string& name, const json& entry) const {
        const json& pair = field(name, entry, "data_offsets", json::value_t::array, "[begin, end]");
        if (pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned())
            fail("Wrong data_offsets", tensor_item(name), "[begin, end] as whole numbers below 2^64", short_text(pair));
        return {pair[0].get<std::uint64_t>(), pair[1].get<std::uint64_t>()};
    }

    Range read_tensor(const std::string& name, const json& entry) const {
        if (!entry.is_object()) fail("Broken header entry", tensor_item(name), "an object", short_text(entry));
        TensorView view;
        view.name = name;
        view.file = file_;
        const json& dtype = field(name, entry, "dtype", json::value_t::string, "the name of a type");
        const std::string& type = dtype.get_ref<const std::string&>();
        if ((type.starts_with("F8_") && type != "F8_E4M3") || type.starts_with("F4") || type.starts_with("F6_"))
            throw Error(ErrorFacts{.problem = "A tensor is quantised to " + type.substr(1, 1) + "-bit floating point (fp" +
                                              type.substr(1, 1) + "), which is not read",
                                   .file = file_.string(),
                                   .item = tensor_item(name),
                                   .found = type,
                                   .hint = "Use the original checkpoint, or one converted to bfloat16"});
        if (!parse_dtype(type, view.dtype))
            fail("Unknown dtype", tensor_item(name), "F64, F32, F16, BF16, F8_E4M3, I64, I32, I16, I8, U8 or BOOL",
                 short_text(dtype));
        view.shape = read_shape(name, entry);
        const auto [begin, end] = read_offsets(name, entry);

        std::int64_t expected = 0;
        if (!checked_byte_size(view.shape, size_of(view.dtype), expected))
            fail("The shape overflows 64 bits", tensor_item(name), "at most 2^63 - 1 bytes",
                 std::string(name_of(view.dtype)) + " " + shape_text(view.shape));
        if (begin > end)
            fail("The byte range runs backwards", tensor_item(name), "begin at or before end", range_text(begin, end));
        if (end > data_.size())
            fail("The byte range reaches past the end of the file (cut short?)", tensor_item(name),
                 "at most " + bytes_text(data_.size()) + " of data", range_text(begin, end));
        if (end - begin != static_cast<std::uint64_t>(expected))
            fail("Shape and byte range do not fit", tensor_item(name),
                 bytes_text(static_cast<std::uint64_t>(expected)) + " for " + std::string(name_of(view.dtype)) + " " +
                     shape_text(view.shape),
                 bytes_text(end - begin));
        view.bytes = data_.subspan(begin, end - begin);
        return {begin, end, std::move(view)};
    }

    void check_layout() {
        std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
            return std::tie(a.begin, a.end, a.view.name) < std::tie(b.begin, b.end, b.view.name);
        });
        std::uint64_t at = 0;
        const Range* before = nullptr;
        for (const Range& range : ranges_) {
            if (range.begin < at)
                fail("Two tensors overlap", tensor_item(range.view.name),
                     "a start at or after byte " + std::to_string(at) + ", the end of " + before->view.name,
                     range_text(range.begin, range.end));
            if (range.begin > at) fail_hole(at, range.begin, "before tensor " + range.view.name);
            at = range.end;
            before = &range;
        }
        if (at < data_.size()) fail_hole(at, data_.size(), "after the last tensor");
    }

    [[noreturn]] void fail_hole(std::uint64_t begin, std::uint64_t end, const std::string& where) const {
        fail("Bytes that belong to no tensor", "data section", "none", range_text(begin, end) + " " + where);
    }

    std::span<const std::byte> bytes_;
    std::span<const std::byte> data_;
    const std::filesystem::path& file_;
    std::vector<Range> ranges_;
    SafetensorsContent content_;
};

}  // namespace

bool checked_byte_size(const std::vector<std::int64_t>& shape, std::int64_t element_size, std::int64_t& out) noexcept {
    std::int64_t total = element_size;
    for (const std::int64_t size : shape)
        if (size < 0 || __builtin_mul_overflow(total, size, &total)) return false;
    out = total;
    return true;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    return HeaderReader(bytes, file).read();
}

}  // namespace headlight::io
