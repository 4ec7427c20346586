// SPDX-License-Identifier: GPL-3.0-or-later
// Models in several GGUF files, as llama.cpp's gguf-split writes them: split.no and split.count in each, the metadata in
// the first, split.tensors.count over all.
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"

#include <algorithm>
#include <cstdio>

namespace headlight::io {
namespace {

namespace fs = std::filesystem;

constexpr int kDigits = 5;

std::optional<int> number_at(std::string_view text, std::size_t at) {
    int value = 0;
    for (const char c : text.substr(at, kDigits)) {
        if (c < '0' || c > '9') return std::nullopt;
        value = 10 * value + (c - '0');
    }
    return value;
}

/// A whole number of the metadata; -1 when it is not there.
std::int64_t whole(const GgufFile& file, const char* key) {
    const auto value = file.metadata().find(key);
    return value != file.metadata().end() && value->is_number_integer() ? value->get<std::int64_t>() : -1;
}

[[noreturn]] void fail_part(const std::string& problem, const fs::path& file, const std::string& item,
                            const std::string& expected, const std::string& found, const std::string& hint = {}) {
    throw Error(
        ErrorFacts{.problem = problem, .file = file.string(), .item = item, .expected = expected, .found = found, .hint = hint});
}

}  // namespace

std::string GgufPart::name(int of_number) const {
    char tail[40];
    std::snprintf(tail, sizeof tail, "-%05d-of-%05d.gguf", of_number, count);
    return stem + tail;
}

std::optional<GgufPart> gguf_part_of(const fs::path& file) {
    std::string name = file.filename().string();
    constexpr std::string_view kTail = "-00001-of-00001.gguf";
    if (name.size() <= kTail.size() || !name.ends_with(".gguf")) return std::nullopt;
    const std::size_t at = name.size() - kTail.size();
    const auto number = number_at(name, at + 1), count = number_at(name, at + 10);
    if (name[at] != '-' || name.substr(at + 6, 4) != "-of-" || !number || !count || *number < 1 || *number > *count)
        return std::nullopt;
    return GgufPart{name.substr(0, at), *number, *count};
}

std::shared_ptr<const GgufFile> GgufFile::open(const fs::path& path) {
    if (const auto part = gguf_part_of(path); part && part->count > 1) return open_parts(path.parent_path(), *part);
    auto file = open_one(path);
    if (const std::int64_t count = whole(*file, "split.count"); count > 1)
        fail_part("A part of a model in several files has lost its name", path, "split.count",
                  "NAME-00001-of-" + GgufPart{"", 1, static_cast<int>(std::min<std::int64_t>(count, 99999))}.name(1).substr(10),
                  path.filename().string(), "Give the parts back the names that they had");
    return file;
}

std::shared_ptr<const GgufFile> GgufFile::open_parts(const fs::path& folder, const GgufPart& part) {
    std::string missing;
    for (int i = 1; i <= part.count; ++i) {
        std::error_code none;
        if (!fs::exists(folder / part.name(i), none)) missing += (missing.empty() ? "" : ", ") + part.name(i);
        if (missing.size() > 200) break;
    }
    if (!missing.empty())
        fail_part("A part of the model is missing", folder / part.name(part.number), missing,
                  std::to_string(part.count) + " parts in the same folder", "not all of them", "Fetch what is missing");
    std::shared_ptr<GgufFile> whole_model;
    for (int i = 1; i <= part.count; ++i) {
        const fs::path path = folder / part.name(i);
        std::shared_ptr<GgufFile> file = open_one(path);
        if (const std::int64_t count = whole(*file, "split.count"); count != part.count)
            fail_part("A part of another model", path, "split.count", std::to_string(part.count),
                      count < 0 ? "none" : std::to_string(count));
        if (const std::int64_t number = whole(*file, "split.no"); number != i - 1)
            fail_part("A part is not the one that its name says", path, "split.no", std::to_string(i - 1),
                      number < 0 ? "none" : std::to_string(number));
        if (!whole_model) {
            whole_model = std::move(file);
            continue;
        }
        for (auto& [name, tensor] : file->tensors_) {
            const auto [place, fresh] = whole_model->tensors_.emplace(name, std::move(tensor));
            if (!fresh)
                fail_part("The same tensor in two parts", path, "tensor " + name, "once",
                          "already in " + place->second.file.filename().string());
        }
        whole_model->files_.push_back(path);
    }
    const std::int64_t tensors = whole(*whole_model, "split.tensors.count");
    if (tensors >= 0 && tensors != static_cast<std::int64_t>(whole_model->tensors_.size()))
        fail_part("The parts do not make up the model", whole_model->path_, "split.tensors.count", std::to_string(tensors),
                  std::to_string(whole_model->tensors_.size()) + " in all parts");
    return whole_model;
}

}  // namespace headlight::io
