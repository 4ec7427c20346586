// SPDX-License-Identifier: GPL-3.0-or-later
// The zip container as PKWARE's APPNOTE 6.3 defines it (stored members only), the .npy header as NumPy's NEP 1 does.
#include "headlight/io/npz.h"

#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "io/array_check.h"
#include "io/safetensors_header.h"

#include <zlib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

namespace headlight::io {
namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint16_t kDosDate = (1980 - 1980) << 9 | 1 << 5 | 1;  // 1 January 1980: the same file for the same input
constexpr std::size_t kChunk = 1u << 18;

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

/// Fields of a record: each a value and its bytes.
void put(std::string& out, std::initializer_list<std::pair<std::uint64_t, int>> fields) {
    for (const auto& [value, bytes] : fields) put(out, value, bytes);
}

struct NpyType {
    const char* descr;
    std::int64_t size;
};

NpyType npy_type(DType dtype) {
    switch (dtype) {
        case DType::F64: return {"<f8", 8};
        case DType::F32: return {"<f4", 4};
        case DType::BF16: return {"<f4", 4};  // NumPy has no bfloat16
        case DType::F16: return {"<f2", 2};
        case DType::I64: return {"<i8", 8};
        case DType::I32: return {"<i4", 4};
        case DType::I16: return {"<i2", 2};
        case DType::I8: return {"|i1", 1};
        case DType::U8: return {"|u1", 1};
        case DType::Bool: return {"|b1", 1};
        case DType::F8_E4M3: break;  // NumPy has no such numbers, and nothing that is computed here has them
    }
    throw Error("Unknown element type");
}

std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape) {
    std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
    for (std::size_t i = 0; i < shape.size(); ++i) dict += (i ? ", " : "") + std::to_string(shape[i]);
    dict += shape.size() == 1 ? ",), }" : "), }";
    constexpr std::size_t kPrefix = 10;  // magic, version, header length
    dict.resize((kPrefix + dict.size() + 1 + 63) / 64 * 64 - kPrefix - 1, ' ');
    dict += '\n';
    std::string header = std::string("\x93NUMPY") + '\x01' + '\0';
    put(header, dict.size(), 2);
    return header + dict;
}

/// One member: its .npy header, and its data fed in chunks.
struct Member {
    std::string name;
    std::string header;
    std::uint64_t data_size = 0;
    std::function<void(const PutBytes&)> feed;

    std::uint32_t crc = 0;
    std::uint64_t offset = 0;
    std::uint64_t size() const { return header.size() + data_size; }
};

void put_bf16_as_f32(std::span<const std::byte> bytes, const PutBytes& put) {
    std::vector<std::byte> wide;
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
        const std::size_t size = std::min(kChunk, bytes.size() - at);
        wide.assign(size * 2, std::byte{0});
        for (std::size_t i = 0; i < size; i += 2) std::memcpy(&wide[2 * i + 2], bytes.data() + at + i, 2);
        put(wide);
    }
}

Member array_member(const std::filesystem::path& file, const ArrayStream& array) {
    const NpyType type = npy_type(array.dtype);
    Member member;
    member.name = array.name + ".npy";
    member.header = npy_header(type.descr, array.shape);
    std::int64_t size = 0;
    if (!checked_byte_size(array.shape, type.size, size))
        throw Error(ErrorFacts{.problem = "The shape overflows 64 bits", .file = file.string(), .item = "tensor " + array.name});
    member.data_size = static_cast<std::uint64_t>(size);
    member.feed = [&file, &array](const PutBytes& put) {
        if (array.dtype != DType::BF16) return feed_whole(file, array, put);
        feed_whole(file, array, [&](std::span<const std::byte> bytes) { put_bf16_as_f32(bytes, put); });
    };
    return member;
}

/// Code points of a text; a byte that is not UTF-8 becomes U+FFFD.
std::vector<std::uint32_t> code_points(const std::string& utf8) {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    std::vector<std::uint32_t> codes;
    for (std::size_t i = 0; i < utf8.size();) {
        const auto lead = static_cast<unsigned char>(utf8[i]);
        const std::size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        bool whole = length > 0 && i + length <= utf8.size();
        std::uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
        for (std::size_t k = 1; whole && k < length; ++k) {
            const auto next = static_cast<unsigned char>(utf8[i + k]);
            whole = (next & 0xC0u) == 0x80u;
            code = code << 6 | (next & 0x3Fu);
        }
        codes.push_back(whole ? code : kReplacement);
        i += whole ? length : 1;
    }
    return codes;
}

/// An array of NumPy's fixed-width unicode: one little-endian 32-bit code point a character, zeros behind the shorter texts.
Member text_member(const std::string& name, const std::vector<std::int64_t>& shape, std::span<const std::string> texts) {
    std::vector<std::vector<std::uint32_t>> codes;
    std::size_t width = 1;  // NumPy has no texts of no width
    for (const std::string& text : texts) width = std::max(width, codes.emplace_back(code_points(text)).size());
    std::string data;
    data.reserve(codes.size() * width * 4);
    for (const auto& text : codes) {
        for (const std::uint32_t code : text) put(data, code, 4);
        data.append((width - text.size()) * 4, '\0');
    }
    Member member;
    member.name = name + ".npy";
    member.header = npy_header("<U" + std::to_string(width), shape);
    member.data_size = data.size();
    member.feed = [data = std::move(data)](const PutBytes& put) { put(std::as_bytes(std::span(data))); };
    return member;
}

/// Header and data of a member, and their checksum.
std::uint32_t feed_member(const Member& member, const PutBytes& put) {
    uLong crc = crc32_z(0, nullptr, 0);
    const PutBytes counted = [&](std::span<const std::byte> bytes) {
        if (bytes.empty()) return;  // no data means "start anew" to zlib
        crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
        put(bytes);
    };
    counted(std::as_bytes(std::span(member.header)));
    member.feed(counted);
    return static_cast<std::uint32_t>(crc);
}

/// The fields that local and central headers share, from "version needed" to the length of the extra field.
void put_common(std::string& out, const Member& member, bool wide, std::size_t extra_size) {
    constexpr std::uint64_t kUtf8Names = 1u << 11, kStored = 0, kTime = 0;
    const std::uint64_t size = wide ? kMax32 : member.size();
    put(out, {{wide ? 45 : 20, 2},
              {kUtf8Names, 2},
              {kStored, 2},
              {kTime, 2},
              {kDosDate, 2},
              {member.crc, 4},
              {size, 4},
              {size, 4},
              {member.name.size(), 2},
              {extra_size, 2}});
}

std::string local_header(const Member& member) {
    const bool wide = member.size() >= kMax32;
    std::string extra;
    if (wide) put(extra, {{1, 2}, {16, 2}, {member.size(), 8}, {member.size(), 8}});
    std::string out = "PK\x03\x04";
    put_common(out, member, wide, extra.size());
    return out + member.name + extra;
}

std::string central_header(const Member& member) {
    const bool wide = member.size() >= kMax32;
    const bool far = member.offset >= kMax32;
    std::string fields;
    if (wide) put(fields, {{member.size(), 8}, {member.size(), 8}});
    if (far) put(fields, member.offset, 8);
    std::string extra;
    if (!fields.empty()) {
        put(extra, {{1, 2}, {fields.size(), 2}});
        extra += fields;
    }
    std::string out = "PK\x01\x02";
    put(out, 3 << 8 | 45, 2);  // made on Unix
    put_common(out, member, wide, extra.size());
    if (far && !wide) {  // "version needed" tells of any zip64 field
        out[6] = 45;
    }
    constexpr std::uint64_t kComment = 0, kDisk = 0, kInternal = 0, kAttributes = 0100644u << 16;
    put(out, {{kComment, 2}, {kDisk, 2}, {kInternal, 2}, {kAttributes, 4}, {far ? kMax32 : member.offset, 4}});
    return out + member.name + extra;
}

std::string end_records(std::uint64_t count, std::uint64_t directory_size, std::uint64_t directory_at) {
    std::string out;
    const bool wide = count >= 0xFFFF || directory_size >= kMax32 || directory_at >= kMax32;
    if (wide) {
        out += "PK\x06\x06";
        put(out,
            {{44, 8}, {3 << 8 | 45, 2}, {45, 2}, {0, 4}, {0, 4}, {count, 8}, {count, 8}, {directory_size, 8}, {directory_at, 8}});
        out += "PK\x06\x07";
        put(out, {{0, 4}, {directory_at + directory_size, 8}, {1, 4}});
    }
    out += "PK\x05\x06";
    const std::uint64_t members = wide ? 0xFFFF : count;
    put(out, {{0, 2},
              {0, 2},
              {members, 2},
              {members, 2},
              {wide ? kMax32 : directory_size, 4},
              {wide ? kMax32 : directory_at, 4},
              {0, 2}});
    return out;
}

/// A member's checksum stands before its data: it is filled in afterwards, or, where the output is a pipe, the data is fed twice.
void write_members(std::ostream& out, std::vector<Member>& members) {
    const std::ostream::pos_type start = out.tellp();
    const bool seeks = start != std::ostream::pos_type(-1);
    std::uint64_t at = 0;
    const auto put_text = [&](const std::string& text) {
        put_bytes(out, text);
        at += text.size();
    };
    for (Member& member : members) {
        if (!seeks) member.crc = feed_member(member, [](std::span<const std::byte>) {});
        member.offset = at;
        put_text(local_header(member));
        const std::uint32_t crc = feed_member(member, [&](std::span<const std::byte> bytes) { put_bytes(out, bytes); });
        at += member.size();
        if (!seeks) continue;
        member.crc = crc;
        out.seekp(start + static_cast<std::streamoff>(member.offset));
        put_bytes(out, local_header(member));
        out.seekp(start + static_cast<std::streamoff>(at));
    }
    const std::uint64_t directory_at = at;
    for (const Member& member : members) put_text(central_header(member));
    put_text(end_records(members.size(), at - directory_at, directory_at));
}

}  // namespace

void write_npz(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays,
               const std::map<std::string, std::string>& metadata, const std::vector<TextArrayRef>& texts) {
    stream_npz(file, streams_of(file, arrays), metadata, texts);
}

void stream_npz(const std::filesystem::path& file, const std::vector<ArrayStream>& arrays,
                const std::map<std::string, std::string>& metadata, const std::vector<TextArrayRef>& texts) {
    check_arrays(file, arrays, "metadata");
    std::vector<Member> members;
    for (const ArrayStream& array : arrays) members.push_back(array_member(file, array));
    for (const TextArrayRef& each : texts) {
        std::int64_t count = 1;
        for (const std::int64_t side : each.shape) count *= side;
        const auto same = [&](const Member& member) { return member.name == each.name + ".npy"; };
        if (each.name == "metadata" || std::ranges::any_of(members, same) || count != std::ssize(each.texts))
            throw Error(ErrorFacts{
                .problem = "This array of texts cannot be written", .file = file.string(), .item = "tensor " + each.name});
        members.push_back(text_member(each.name, each.shape, each.texts));
    }
    if (!metadata.empty()) {
        try {
            const std::string text = nlohmann::json(metadata).dump();
            members.push_back(text_member("metadata", {}, std::span(&text, 1)));
        } catch (const nlohmann::json::exception&) {
            throw Error(ErrorFacts{.problem = "Cannot write the metadata", .file = file.string(), .expected = "text in UTF-8"});
        }
    }
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; });

    write_atomically(file, [&](std::ostream& out) { write_members(out, members); });
}

}  // namespace headlight::io
