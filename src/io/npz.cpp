// SPDX-License-Identifier: GPL-3.0-or-later
// The zip container as PKWARE's APPNOTE 6.3 defines it (stored members only), the .npy header as NumPy's NEP 1 does.
#include "headlight/io/npz.h"

#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "io/array_check.h"

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

using Sink = std::function<void(const char*, std::size_t)>;

/// One member: its .npy header, and its data fed in chunks (twice: for the checksum and for the file).
struct Member {
    std::string name;
    std::string header;
    std::uint64_t data_size = 0;
    std::function<void(const Sink&)> feed;

    std::uint32_t crc = 0;
    std::uint64_t offset = 0;
    std::uint64_t size() const { return header.size() + data_size; }
};

void feed_bf16_as_f32(std::span<const std::byte> bytes, const Sink& sink) {
    std::vector<char> wide;
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
        const std::size_t size = std::min(kChunk, bytes.size() - at);
        wide.assign(size * 2, 0);
        for (std::size_t i = 0; i < size; i += 2) std::memcpy(&wide[2 * i + 2], bytes.data() + at + i, 2);
        sink(wide.data(), wide.size());
    }
}

Member array_member(const ArrayRef& array) {
    const NpyType type = npy_type(array.dtype);
    Member member;
    member.name = array.name + ".npy";
    member.header = npy_header(type.descr, array.shape);
    member.data_size = array.bytes.size() / static_cast<std::size_t>(size_of(array.dtype)) * static_cast<std::size_t>(type.size);
    const std::span<const std::byte> bytes = array.bytes;
    if (array.dtype == DType::BF16)
        member.feed = [bytes](const Sink& sink) { feed_bf16_as_f32(bytes, sink); };
    else
        member.feed = [bytes](const Sink& sink) { sink(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
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
    member.feed = [data = std::move(data)](const Sink& sink) { sink(data.data(), data.size()); };
    return member;
}

std::uint32_t checksum(const Member& member) {
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(member.header.data()), member.header.size());
    member.feed([&](const char* data, std::size_t size) {
        if (size > 0) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(data), size);  // no data means "start anew" to zlib
    });
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

}  // namespace

void write_npz(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays,
               const std::map<std::string, std::string>& metadata, const std::vector<TextArrayRef>& texts) {
    check_arrays(file, arrays, "metadata");
    std::vector<Member> members;
    for (const ArrayRef& array : arrays) members.push_back(array_member(array));
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

    write_atomically(file, [&](std::ostream& out) {
        std::uint64_t at = 0;
        const Sink sink = [&](const char* data, std::size_t size) {
            out.write(data, static_cast<std::streamsize>(size));
            at += size;
        };
        for (Member& member : members) {
            member.crc = checksum(member);
            member.offset = at;
            const std::string header = local_header(member);
            sink(header.data(), header.size());
            sink(member.header.data(), member.header.size());
            member.feed(sink);
        }
        const std::uint64_t directory_at = at;
        for (const Member& member : members) {
            const std::string header = central_header(member);
            sink(header.data(), header.size());
        }
        const std::string end = end_records(members.size(), at - directory_at, directory_at);
        sink(end.data(), end.size());
    });
}

}  // namespace headlight::io
