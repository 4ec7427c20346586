// SPDX-License-Identifier: GPL-3.0-or-later
// Field offsets: APPNOTE 6.3, 4.3.7 (local header), 4.3.12 (central directory), 4.3.14 to 4.3.16 (end records).
#include "io/zip_reader.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

namespace headlight::io {
namespace {

constexpr std::uint64_t kEndSize = 22, kLocatorSize = 20, kEnd64Size = 56, kLocalSize = 30, kCentralSize = 46;
constexpr std::uint64_t kMaxComment = 0xFFFF;
constexpr std::uint32_t kWide = 0xFFFFFFFF;  // "see the zip64 field"

class ZipDirectory {
public:
    ZipDirectory(std::span<const std::byte> bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}

    std::map<std::string, ZipEntry> read() {
        find_directory();
        std::map<std::string, ZipEntry> entries;
        std::uint64_t at = directory_;
        for (std::uint64_t i = 0; i < count_; ++i) {
            ZipEntry entry = read_entry(at);
            std::string name = entry.name;
            if (!entries.emplace(name, std::move(entry)).second) fail("A name twice in the archive", name);
        }
        return entries;
    }

private:
    [[noreturn]] void fail(const std::string& problem, const std::string& item = {}, const std::string& expected = {},
                           const std::string& found = {}) const {
        throw Error(ErrorFacts{.problem = problem,
                               .file = file_.string(),
                               .item = item.empty() ? "zip directory" : "member " + item,
                               .expected = expected,
                               .found = found});
    }

    std::uint64_t number(std::uint64_t at, int size) const {
        std::uint64_t value = 0;
        for (int i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes_[at + i]) << (8 * i);
        return value;
    }
    bool is(std::uint64_t at, std::uint64_t size, std::uint32_t signature) const {
        return at <= bytes_.size() && size <= bytes_.size() - at && number(at, 4) == signature;
    }
    /// [at, at + size) ends before `end`.
    static bool inside(std::uint64_t at, std::uint64_t size, std::uint64_t end) { return at <= end && size <= end - at; }

    void find_directory() {
        if (bytes_.size() < kEndSize) fail("Not a zip archive, or cut short");
        std::uint64_t end = bytes_.size() - kEndSize;
        const std::uint64_t last = end > kMaxComment ? end - kMaxComment : 0;
        // The comment must fill the rest exactly: a signature inside a comment is no end record.
        while (!(is(end, kEndSize, 0x06054b50) && end + kEndSize + number(end + 20, 2) == bytes_.size())) {
            if (end == last) fail("Not a zip archive, or cut short", {}, "an end record", "none");
            --end;
        }
        count_ = number(end + 10, 2);
        std::uint64_t size = number(end + 12, 4);
        directory_ = number(end + 16, 4);
        if (number(end + 4, 2) != 0 && number(end + 4, 2) != 0xFFFF) fail("An archive in several parts");
        directory_end_ = end;
        if (end >= kLocatorSize && is(end - kLocatorSize, kLocatorSize, 0x07064b50)) {
            const std::uint64_t record = number(end - kLocatorSize + 8, 8);
            if (!inside(record, kEnd64Size, end) || !is(record, kEnd64Size, 0x06064b50))
                fail("The zip64 end record is not where the archive says", {}, {}, "offset " + std::to_string(record));
            count_ = number(record + 32, 8);
            size = number(record + 40, 8);
            directory_ = number(record + 48, 8);
            directory_end_ = record;
        }
        if (!inside(directory_, size, directory_end_))
            fail("The directory reaches past the end of the file", {}, {},
                 bytes_text(size) + " at " + std::to_string(directory_));
        if (count_ > size / kCentralSize)
            fail("The directory is too short", {}, std::to_string(count_) + " members", bytes_text(size));
        directory_end_ = directory_ + size;
    }

    ZipEntry read_entry(std::uint64_t& at) const {
        if (!inside(at, kCentralSize, directory_end_) || !is(at, kCentralSize, 0x02014b50))
            fail("A broken entry in the directory", {}, {}, "offset " + std::to_string(at));
        const std::uint64_t name_size = number(at + 28, 2), extra_size = number(at + 30, 2);
        const std::uint64_t comment_size = number(at + 32, 2);
        if (!inside(at + kCentralSize, name_size + extra_size + comment_size, directory_end_))
            fail("A broken entry in the directory", {}, {}, "offset " + std::to_string(at));
        ZipEntry entry;
        entry.name.assign(reinterpret_cast<const char*>(bytes_.data() + at + kCentralSize), name_size);
        if (number(at + 8, 2) & 1) fail("An encrypted member", entry.name);
        entry.method = static_cast<std::uint16_t>(number(at + 10, 2));
        entry.crc = static_cast<std::uint32_t>(number(at + 16, 4));
        std::uint64_t packed = number(at + 20, 4), local = number(at + 42, 4);
        entry.size = number(at + 24, 4);
        read_wide(entry, packed, local, at + kCentralSize + name_size, extra_size);
        if (!inside(local, kLocalSize, directory_) || !is(local, kLocalSize, 0x04034b50))
            fail("A member is not where the directory says", entry.name, {}, "offset " + std::to_string(local));
        const std::uint64_t start = local + kLocalSize + number(local + 26, 2) + number(local + 28, 2);
        if (!inside(start, packed, directory_))
            fail("A member reaches past the end of the archive", entry.name, {},
                 bytes_text(packed) + " at " + std::to_string(start));
        if (entry.is_stored() && entry.size != packed)
            fail("A stored member has two sizes", entry.name, std::to_string(packed), std::to_string(entry.size));
        entry.bytes = bytes_.subspan(start, packed);
        at += kCentralSize + name_size + extra_size + comment_size;
        return entry;
    }

    /// The zip64 field has only those values, in this order, whose 32-bit places are full.
    void read_wide(ZipEntry& entry, std::uint64_t& packed, std::uint64_t& local, std::uint64_t extra,
                   std::uint64_t extra_size) const {
        if (entry.size != kWide && packed != kWide && local != kWide) return;
        const std::uint64_t end = extra + extra_size;
        for (std::uint64_t at = extra; at + 4 <= end;) {
            const std::uint64_t id = number(at, 2), size = number(at + 2, 2);
            std::uint64_t field = at + 4;
            at = field + size;
            if (at > end) break;
            if (id != 1) continue;
            for (std::uint64_t* value : {&entry.size, &packed, &local}) {
                if (*value != kWide) continue;
                if (field + 8 > at) fail("The zip64 field of a member is too short", entry.name);
                *value = number(field, 8);
                field += 8;
            }
            return;
        }
        fail("The zip64 field of a member is missing", entry.name);
    }

    std::span<const std::byte> bytes_;
    const std::filesystem::path& file_;
    std::uint64_t directory_ = 0, directory_end_ = 0, count_ = 0;
};

[[noreturn]] void fail_member(const ZipEntry& entry, const std::filesystem::path& file, const std::string& problem,
                              const std::string& expected = {}, const std::string& found = {}) {
    throw Error(ErrorFacts{
        .problem = problem, .file = file.string(), .item = "member " + entry.name, .expected = expected, .found = found});
}

void inflate_member(const ZipEntry& entry, const std::filesystem::path& file, std::vector<std::byte>& room) {
    room.resize(entry.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail_member(entry, file, "Cannot unpack a member");
    auto* in = const_cast<std::byte*>(entry.bytes.data());
    std::uint64_t left_in = entry.bytes.size(), left_out = room.size();
    auto* out = room.data();
    std::byte nothing{};
    int state = Z_OK;
    while (state == Z_OK) {
        constexpr std::uint64_t kStep = 1u << 30;  // zlib counts in 32 bits
        const auto give = static_cast<uInt>(std::min(left_in, kStep)), take = static_cast<uInt>(std::min(left_out, kStep));
        stream.next_in = reinterpret_cast<Bytef*>(in);
        stream.avail_in = give;
        stream.next_out = reinterpret_cast<Bytef*>(take ? out : &nothing);
        stream.avail_out = take;
        state = inflate(&stream, Z_NO_FLUSH);
        in += give - stream.avail_in;
        left_in -= give - stream.avail_in;
        out += take - stream.avail_out;
        left_out -= take - stream.avail_out;
    }
    inflateEnd(&stream);
    if (state != Z_STREAM_END || left_out != 0)
        fail_member(entry, file, "A member cannot be unpacked (damaged, or cut short)", bytes_text(entry.size),
                    std::to_string(entry.size - left_out));
}

}  // namespace

bool looks_like_zip(std::span<const std::byte> bytes) noexcept {
    return bytes.size() >= 4 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'} && bytes[2] == std::byte{3} &&
           bytes[3] == std::byte{4};
}

std::map<std::string, ZipEntry> read_zip(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    return ZipDirectory(bytes, file).read();
}

std::span<const std::byte> unpack(const ZipEntry& entry, const std::filesystem::path& file, std::uint64_t limit,
                                  std::vector<std::byte>& room) {
    room.clear();
    if (entry.size > limit)
        fail_member(entry, file, "A member is too large", "at most " + bytes_text(limit), std::to_string(entry.size));
    std::span<const std::byte> content = entry.bytes;
    if (entry.method == 8) {
        inflate_member(entry, file, room);
        content = room;
    } else if (!entry.is_stored()) {
        fail_member(entry, file, "A member is packed in a way that is not read", "stored or deflated",
                    "method " + std::to_string(entry.method));
    }
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    if (content.size() > 0 && crc != entry.crc) fail_member(entry, file, "A member is damaged (its checksum differs)");
    return content;
}

}  // namespace headlight::io
