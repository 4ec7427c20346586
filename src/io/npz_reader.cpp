// SPDX-License-Identifier: GPL-3.0-or-later
// The .npy header: NumPy's NEP 1 (versions 1.0 to 3.0), a Python dict literal with three keys.
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/npz.h"
#include "io/safetensors_header.h"
#include "io/zip_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace headlight::io {
namespace {

constexpr std::uint64_t kMaxMember = std::uint64_t{1} << 36;
constexpr std::uint64_t kMaxUnpacked = std::uint64_t{2} << 30;  ///< of all packed members together
constexpr std::int64_t kMaxTextBytes = 1 << 26;
constexpr std::size_t kMaxArrayHeader = 1u << 16;

constexpr std::array<std::pair<std::string_view, DType>, 10> kTypes{{{"<f8", DType::F64},
                                                                     {"<f4", DType::F32},
                                                                     {"<f2", DType::F16},
                                                                     {"<i8", DType::I64},
                                                                     {"<i4", DType::I32},
                                                                     {"<i2", DType::I16},
                                                                     {"|i1", DType::I8},
                                                                     {"|u1", DType::U8},
                                                                     {"|b1", DType::Bool},
                                                                     {"<u1", DType::U8}}};

void put_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    if (code < 0x80) return put(code);
    if (code < 0x800) {
        put(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            put(0xE0 | code >> 12);
        } else {
            put(0xF0 | code >> 18);
            put(0x80 | (code >> 12 & 0x3F));
        }
        put(0x80 | (code >> 6 & 0x3F));
    }
    put(0x80 | (code & 0x3F));
}

/// One member.
class NpyReader {
public:
    NpyReader(std::string name, const std::filesystem::path& file, std::span<const std::byte> bytes)
        : name_(std::move(name)), file_(file), bytes_(bytes) {
        read_header();
    }

    bool is_text() const { return type_.size() > 1 && (type_[1] == 'U' || type_[1] == 'S'); }

    std::vector<std::int64_t> shape() const { return shape_; }

    TensorView array(std::shared_ptr<const void> owner) const {
        TensorView view;
        view.name = name_;
        view.file = file_;
        view.shape = shape_;
        const auto known = std::ranges::find(kTypes, type_, &std::pair<std::string_view, DType>::first);
        if (known == kTypes.end()) fail_type();
        view.dtype = known->second;
        std::int64_t bytes = 0;
        if (!checked_byte_size(shape_, size_of(view.dtype), bytes)) fail("The shape overflows 64 bits", {}, shape_text(shape_));
        check_size(bytes);
        view.bytes = bytes_.subspan(data_, static_cast<std::size_t>(bytes));
        view.owner = std::move(owner);
        if (fortran_ && shape_.size() > 1) transpose(view);
        return view;
    }

    std::vector<std::string> texts() const {
        const bool wide = type_[1] == 'U';
        std::int64_t length = 0;
        const auto [end, code] = std::from_chars(type_.data() + 2, type_.data() + type_.size(), length);
        if (code != std::errc{} || end != type_.data() + type_.size() || length < 0 || (wide && type_[0] == '>')) fail_type();
        std::int64_t count = 0, bytes = 0;
        if (!checked_byte_size(shape_, 1, count) || __builtin_mul_overflow(count, length * (wide ? 4 : 1), &bytes) ||
            length > kMaxTextBytes || count > kMaxTextBytes)
            fail("The texts are too long", {}, shape_text(shape_) + " of " + type_);
        check_size(bytes);
        std::vector<std::string> texts(static_cast<std::size_t>(count));
        const std::byte* at = bytes_.data() + data_;
        for (std::string& text : texts)
            for (std::int64_t i = 0; i < length; ++i, at += wide ? 4 : 1) {
                std::uint32_t code_point = 0;
                std::memcpy(&code_point, at, wide ? 4 : 1);
                if (code_point == 0) continue;  // texts are filled up with zeros
                if (wide)
                    put_utf8(text, code_point);
                else
                    text += static_cast<char>(code_point);
            }
        return texts;
    }

private:
    [[noreturn]] void fail(const std::string& problem, const std::string& expected = {}, const std::string& found = {},
                           const std::string& hint = {}) const {
        throw Error(ErrorFacts{.problem = problem,
                               .file = file_.string(),
                               .item = "array " + name_,
                               .expected = expected,
                               .found = found,
                               .hint = hint});
    }
    [[noreturn]] void fail_type() const {
        if (type_.find('O') != std::string::npos)
            fail("An array of Python objects, which is never unpickled", "numbers or texts", type_,
                 "Save texts as numpy.array(texts, dtype=str) and numbers as one array of equal rows");
        fail("An array of a type that is not read", "float16 to float64, int8 to int64, uint8, bool or str", type_);
    }
    void check_size(std::int64_t bytes) const {
        if (static_cast<std::uint64_t>(bytes) != bytes_.size() - data_)
            fail("Shape and bytes do not fit", bytes_text(bytes) + " for " + type_ + " " + shape_text(shape_),
                 bytes_text(bytes_.size() - data_));
    }

    void read_header() {
        const auto byte = [&](std::size_t at) { return std::to_integer<unsigned>(bytes_[at]); };
        if (bytes_.size() < 12 || std::memcmp(bytes_.data(), "\x93NUMPY", 6) != 0) fail("Not an array of NumPy");
        const unsigned version = byte(6);
        if (version < 1 || version > 3) fail("A version of .npy that is not known", "1 to 3", std::to_string(version));
        std::size_t length = byte(8) | byte(9) << 8;
        if (version > 1) length |= static_cast<std::size_t>(byte(10)) << 16 | static_cast<std::size_t>(byte(11)) << 24;
        const std::size_t start = version > 1 ? 12 : 10;
        if (length > kMaxArrayHeader || length > bytes_.size() - start) fail("The header is cut short, or too long");
        data_ = start + length;
        const std::string_view header(reinterpret_cast<const char*>(bytes_.data()) + start, length);
        const auto type = value(header, "'descr'");
        if (type.size() < 2 || type.front() != '\'' || type.find('\'', 1) == std::string_view::npos)
            fail("An array of a type that is not read", "one type", std::string(type.substr(0, 40)));
        type_ = type.substr(1, type.find('\'', 1) - 1);
        fortran_ = value(header, "'fortran_order'").starts_with("True");
        read_shape(value(header, "'shape'"));
    }

    std::string_view value(std::string_view header, std::string_view key) const {
        const std::size_t at = header.find(key);
        const std::size_t colon = at == std::string_view::npos ? at : header.find(':', at);
        if (colon == std::string_view::npos) fail("The header lacks a field", std::string(key));
        const std::size_t begin = header.find_first_not_of(' ', colon + 1);
        return begin == std::string_view::npos ? std::string_view() : header.substr(begin);
    }

    void read_shape(std::string_view text) {
        const std::size_t end = text.find(')');
        if (text.empty() || text.front() != '(' || end == std::string_view::npos) fail("Wrong shape", "a tuple");
        for (std::size_t at = 1; at < end;) {
            if (text[at] == ' ' || text[at] == ',') {
                ++at;
                continue;
            }
            std::int64_t size = 0;
            const auto [past, code] = std::from_chars(text.data() + at, text.data() + end, size);
            if (code != std::errc{} || size < 0)
                fail("Wrong shape", "whole numbers from 0", std::string(text.substr(0, std::min<std::size_t>(end + 1, 80))));
            shape_.push_back(size);
            if (shape_.size() > 32) fail("Wrong shape", "at most 32 axes");
            at = static_cast<std::size_t>(past - text.data());
        }
    }

    static void transpose(TensorView& view) {
        const auto element = static_cast<std::size_t>(size_of(view.dtype));
        auto room = std::make_shared<std::vector<std::byte>>(view.bytes.size());
        std::vector<std::size_t> strides(view.shape.size(), 1), at(view.shape.size(), 0);
        for (std::size_t d = 1; d < strides.size(); ++d)
            strides[d] = strides[d - 1] * static_cast<std::size_t>(view.shape[d - 1]);
        for (std::size_t i = 0; i < room->size(); i += element) {
            std::size_t source = 0;
            for (std::size_t d = 0; d < at.size(); ++d) source += at[d] * strides[d];
            std::memcpy(room->data() + i, view.bytes.data() + source * element, element);
            for (std::size_t d = at.size(); d-- > 0;) {
                if (++at[d] < static_cast<std::size_t>(view.shape[d])) break;
                at[d] = 0;
            }
        }
        view.bytes = *room;
        view.owner = std::move(room);
    }

    std::string name_;
    const std::filesystem::path& file_;
    std::span<const std::byte> bytes_;
    std::size_t data_ = 0;
    std::string type_;
    bool fortran_ = false;
    std::vector<std::int64_t> shape_;
};

}  // namespace

NpzContent read_npz(const std::filesystem::path& path) {
    const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
    NpzContent content;
    const auto entries = read_zip(file->bytes(), path);
    // Before anything is unpacked: a small file may claim any size.
    std::uint64_t unpacked = 0;
    for (const auto& [member, entry] : entries) {
        if (entry.is_stored()) continue;
        unpacked += std::min(entry.size, kMaxMember);
        if (unpacked > kMaxUnpacked)
            throw Error(ErrorFacts{.problem = "The file unpacks to too much",
                                   .file = path.string(),
                                   .item = "member " + member,
                                   .expected = "at most " + bytes_text(kMaxUnpacked) + " in packed members",
                                   .found = bytes_text(entry.size) + " in this one",
                                   .hint = "numpy.savez does not pack: such a file is read in place, however large"});
    }
    for (const auto& [member, entry] : entries) {
        if (!member.ends_with(".npy"))
            throw Error(ErrorFacts{.problem = "A member that is no array",
                                   .file = path.string(),
                                   .item = "member " + member,
                                   .expected = "NAME.npy"});
        const std::string name = member.substr(0, member.size() - 4);
        auto room = std::make_shared<std::vector<std::byte>>();
        const std::span<const std::byte> bytes = unpack(entry, path, kMaxMember, *room);
        const NpyReader reader(name, path, bytes);
        if (reader.is_text()) {
            content.text_shapes[name] = reader.shape();
            content.texts[name] = reader.texts();
            continue;
        }
        const bool mapped = room->empty();
        content.arrays.emplace(name,
                               reader.array(mapped ? std::shared_ptr<const void>(file) : std::shared_ptr<const void>(room)));
    }
    return content;
}

}  // namespace headlight::io
