// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/mapped_file.h"

#include "headlight/base/error.h"
#include "io/open_regular.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace headlight::io {

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::~MappedFile() {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const OpenFile file = open_regular(path);
    if (file.size == 0) throw Error(ErrorFacts{.problem = "the file is empty", .file = path.string()});
    void* start = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.fd.get(), 0);
    if (start == MAP_FAILED)
        throw Error(ErrorFacts{.problem = "cannot map the file into memory",
                               .file = path.string(),
                               .found = std::generic_category().message(errno)});
    return std::shared_ptr<const MappedFile>(
        new MappedFile(path, {static_cast<const std::byte*>(start), static_cast<std::size_t>(file.size)}));
}

}  // namespace headlight::io
