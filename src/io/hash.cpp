// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/hash.h"

#include "headlight/base/error.h"
#include "headlight/io/checksum.h"
#include "io/open_regular.h"
#include "io/sha256.h"

#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>
#include <vector>

namespace headlight::io {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw Error("Cannot start SHA-256");
}

void Sha256::add(const void* data, std::size_t size) {
    if (EVP_DigestUpdate(context_.get(), data, size) != 1) throw Error("SHA-256 failed");
}

std::string Sha256::hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_DigestFinal_ex(context_.get(), digest, &size) != 1) throw Error("SHA-256 failed");
    static constexpr char kHex[] = "0123456789abcdef";
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
        text += kHex[digest[i] >> 4];
        text += kHex[digest[i] & 15];
    }
    return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
    Sha256 sha;
    sha.add(bytes.data(), bytes.size());
    return sha.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
    const OpenFile file = open_regular(path);
    Sha256 sha;
    std::vector<std::byte> buffer(1u << 20);
    for (;;) {
        const ssize_t got = ::read(file.fd.get(), buffer.data(), buffer.size());
        if (got == 0) return sha.hex();
        if (got > 0) {
            sha.add(buffer.data(), static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            throw Error(ErrorFacts{
                .problem = "Cannot read the file", .file = path.string(), .found = std::generic_category().message(errno)});
        }
    }
}

namespace {

constexpr const char* kKeptHash = "sha256_of_file";

/// Every write and every replacement of a file gives it another one; ctime cannot be set.
std::string identity_of(const struct ::stat& s) {
    std::string out;
    for (const auto number :
         {std::int64_t(s.st_dev), std::int64_t(s.st_ino), std::int64_t(s.st_size), std::int64_t(s.st_mtim.tv_sec),
          std::int64_t(s.st_mtim.tv_nsec), std::int64_t(s.st_ctim.tv_sec), std::int64_t(s.st_ctim.tv_nsec)})
        out += (out.empty() ? "" : "-") + std::to_string(number);
    return out;
}

}  // namespace

std::string sha256_file(const std::filesystem::path& path, const KeptHashes& kept) {
    struct ::stat before {};
    if (kept.folder.empty() || ::stat(path.c_str(), &before) != 0 || static_cast<std::uint64_t>(before.st_size) < kept.least)
        return sha256_file(path);
    const std::filesystem::path entry = kept.folder / identity_of(before);
    try {
        if (std::filesystem::exists(entry)) return read_checked_json(entry, {}).at(kKeptHash).get<std::string>();
    } catch (const std::exception&) {  // damaged: computed again
    }
    const std::string hash = sha256_file(path);
    struct ::stat after {};
    const bool same = ::stat(path.c_str(), &after) == 0 && identity_of(after) == identity_of(before);
    if (!same || std::time(nullptr) - after.st_ctim.tv_sec < kept.settled.count()) return hash;
    try {
        std::filesystem::create_directories(kept.folder);
        write_checked_json(entry, {{kKeptHash, hash}});
    } catch (const std::exception&) {  // a disk that is full or cannot be written to
    }
    return hash;
}

}  // namespace headlight::io
