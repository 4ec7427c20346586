// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/reading/line_reader.h"

#include "headlight/base/error.h"

#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_undecodable(const fs::path& file, const std::string& found) {
    throw Error({.problem = "A compressed file cannot be decompressed", .file = file.string(), .found = found});
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

FileHandle open_plain(const fs::path& file) {
    FileHandle handle(std::fopen(file.c_str(), "rbe"));
    if (!handle)
        throw Error({.problem = "Cannot read the file", .file = file.string(), .found = std::generic_category().message(errno)});
    return handle;
}

std::size_t read_some(std::FILE* from, const fs::path& file, char* buffer, std::size_t size) {
    const std::size_t got = std::fread(buffer, 1, size, from);
    if (got == 0 && std::ferror(from))
        throw Error({.problem = "Cannot read the file", .file = file.string(), .found = std::generic_category().message(errno)});
    return got;
}

class PlainSource final : public ByteSource {
public:
    explicit PlainSource(const fs::path& file) : file_(file), handle_(open_plain(file)) {}
    std::size_t read(char* buffer, std::size_t size) override { return read_some(handle_.get(), file_, buffer, size); }

private:
    fs::path file_;
    FileHandle handle_;
};

class GzipSource final : public ByteSource {
public:
    explicit GzipSource(const fs::path& file) : file_(file) {
        open_plain(file);  // its error says why
        gz_ = ::gzopen(file.c_str(), "rbe");
        if (!gz_) throw Error({.problem = "Cannot read the file", .file = file.string()});
        ::gzbuffer(gz_, 1u << 18);
    }
    ~GzipSource() override { ::gzclose(gz_); }
    GzipSource(const GzipSource&) = delete;
    GzipSource& operator=(const GzipSource&) = delete;
    std::size_t read(char* buffer, std::size_t size) override {
        const int got = ::gzread(gz_, buffer, static_cast<unsigned>(size));
        int code = Z_OK;
        const char* message = ::gzerror(gz_, &code);
        if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) throw_undecodable(file_, message);
        if (::gzdirect(gz_)) throw_undecodable(file_, "bytes that are not of gzip");
        return static_cast<std::size_t>(got);
    }

private:
    fs::path file_;
    gzFile gz_ = nullptr;
};

class ZstdSource final : public ByteSource {
public:
    explicit ZstdSource(const fs::path& file)
        : file_(file), handle_(open_plain(file)), stream_(::ZSTD_createDStream()), packed_(::ZSTD_DStreamInSize()) {
        if (!stream_) throw std::bad_alloc();
    }
    ~ZstdSource() override { ::ZSTD_freeDStream(stream_); }
    ZstdSource(const ZstdSource&) = delete;
    ZstdSource& operator=(const ZstdSource&) = delete;
    std::size_t read(char* buffer, std::size_t size) override {
        ZSTD_outBuffer out{buffer, size, 0};
        while (out.pos == 0) {
            if (in_.pos == in_.size) {
                in_ = {packed_.data(), read_some(handle_.get(), file_, packed_.data(), packed_.size()), 0};
                if (in_.size == 0) {
                    if (open_) throw_undecodable(file_, "the end of the file inside a frame");
                    return 0;
                }
            }
            const std::size_t left = ::ZSTD_decompressStream(stream_, &out, &in_);
            if (::ZSTD_isError(left)) throw_undecodable(file_, ::ZSTD_getErrorName(left));
            open_ = left != 0;
        }
        return out.pos;
    }

private:
    fs::path file_;
    FileHandle handle_;
    ZSTD_DStream* stream_;
    std::vector<char> packed_;
    ZSTD_inBuffer in_{nullptr, 0, 0};
    bool open_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> ByteSource::open(const fs::path& file) {
    if (file.extension() == ".gz") return std::make_unique<GzipSource>(file);
    if (file.extension() == ".zst") return std::make_unique<ZstdSource>(file);
    return std::make_unique<PlainSource>(file);
}

fs::path unpacked_name(const fs::path& file) {
    return file.extension() == ".gz" || file.extension() == ".zst" ? file.parent_path() / file.stem() : file;
}

LineReader::LineReader(const fs::path& file) : file_(file), source_(ByteSource::open(file)), buffer_(1u << 18) {}

std::string_view LineReader::more() {
    if (at_ == end_) {
        at_ = 0;
        end_ = source_->read(buffer_.data(), buffer_.size());
    }
    return {buffer_.data() + at_, end_ - at_};
}

bool LineReader::next(std::string& line) {
    line.clear();
    cut_ = false;
    bool ended = false, any = false;
    while (!ended) {
        std::string_view part = more();
        if (part.empty()) break;
        any = true;
        const std::size_t end = part.find('\n');
        ended = end != std::string_view::npos;
        if (ended) part = part.substr(0, end);
        at_ += part.size() + (ended ? 1 : 0);
        const std::size_t room = kLongest - line.size();
        cut_ = cut_ || part.size() > room;
        line.append(part.substr(0, room));
    }
    if (!any) return false;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (++number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    return true;
}

}  // namespace headlight::corpus
