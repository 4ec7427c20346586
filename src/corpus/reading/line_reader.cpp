// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/reading/line_reader.h"

#include "headlight/base/error.h"
#include "io/open_regular.h"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_undecodable(const fs::path& file, const std::string& found) {
    throw Error({.problem = "A compressed file cannot be decompressed", .file = file.string(), .found = found});
}

[[noreturn]] void throw_unreadable(const fs::path& file) {
    throw Error({.problem = "Cannot read the file", .file = file.string(), .found = std::generic_category().message(errno)});
}

class PlainSource final : public ByteSource {
public:
    explicit PlainSource(const fs::path& file) : file_(file), fd_(io::open_regular(file).fd) {}
    std::size_t read(char* buffer, std::size_t size) override {
        while (true) {
            const ssize_t got = ::read(fd_.get(), buffer, size);
            if (got >= 0) return static_cast<std::size_t>(got);
            if (errno != EINTR) throw_unreadable(file_);
        }
    }

private:
    fs::path file_;
    io::Descriptor fd_;
};

class GzipSource final : public ByteSource {
public:
    explicit GzipSource(const fs::path& file) : file_(file) {
        io::Descriptor fd = io::open_regular(file).fd;
        gz_ = ::gzdopen(fd.get(), "rb");
        if (!gz_) throw std::bad_alloc();
        fd.release();  // gzclose() closes it
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
        : file_(file), packed_file_(file), stream_(::ZSTD_createDStream()), packed_(::ZSTD_DStreamInSize()) {
        if (!stream_) throw std::bad_alloc();
    }
    ~ZstdSource() override { ::ZSTD_freeDStream(stream_); }
    ZstdSource(const ZstdSource&) = delete;
    ZstdSource& operator=(const ZstdSource&) = delete;
    std::size_t read(char* buffer, std::size_t size) override {
        ZSTD_outBuffer out{buffer, size, 0};
        while (out.pos == 0) {
            if (in_.pos == in_.size) {
                in_ = {packed_.data(), packed_file_.read(packed_.data(), packed_.size()), 0};
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
    PlainSource packed_file_;
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

LineReader::LineReader(const fs::path& file, CancelToken cancel)
    : file_(file), cancel_(std::move(cancel)), source_(ByteSource::open(file)), buffer_(1u << 18) {}

std::string_view LineReader::more() {
    if (at_ == end_) {
        cancel_.throw_if_cancelled();
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
