// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/checksum.h"

#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/hash.h"
#include "io/sha256.h"

#include <span>
#include <utility>

namespace headlight::io {
namespace {

constexpr const char* kKey = "sha256";
constexpr std::string_view kBefore = ",\"sha256\":\"", kAfter = "\"}";
constexpr std::size_t kTail = kBefore.size() + 64 + kAfter.size();

std::string hash_of_text(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text.data(), text.size()))); }

[[noreturn]] void throw_damaged(const std::filesystem::path& file, const std::string& hint) {
    throw Error({.problem = "The file is damaged, or another version of Headlight wrote it",
                 .file = file.string(),
                 .item = "SHA-256 of its content",
                 .hint = hint});
}

/// Every part of the file that has a meaning, in the order of the names.
class ContentHash {
public:
    explicit ContentHash(const std::map<std::string, std::string>& metadata) {
        for (const auto& [key, value] : metadata) {
            if (key == kKey) continue;
            add(key);
            add(value);
        }
    }
    void add(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape, std::span<const std::byte> bytes) {
        add(name);
        add(name_of(dtype));
        sha_.add(shape.data(), shape.size() * sizeof shape[0]);
        add("");
        sha_.add(bytes.data(), bytes.size());
    }
    std::string hex() { return sha_.hex(); }

private:
    void add(std::string_view text) {
        sha_.add(text.data(), text.size());
        sha_.add("", 1);
    }
    Sha256 sha_;
};

}  // namespace

std::string with_checksum(std::string json_object) {
    json_object.pop_back();  // the closing brace
    const std::string hash = hash_of_text(json_object);
    return json_object.append(kBefore).append(hash).append(kAfter);
}

bool checksum_holds(std::string_view text) {
    if (text.size() < kTail) return false;
    const std::string_view before = text.substr(0, text.size() - kTail), tail = text.substr(before.size());
    return tail.starts_with(kBefore) && tail.ends_with(kAfter) && tail.substr(kBefore.size(), 64) == hash_of_text(before);
}

void write_checked_json(const std::filesystem::path& file, const nlohmann::ordered_json& object, int indent) {
    write_atomically(file,
                     with_checksum(object.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

nlohmann::json read_checked_json(const std::filesystem::path& file, const std::string& hint) {
    const std::string text = read_text(file);
    if (!text.ends_with('\n') || !checksum_holds(std::string_view(text).substr(0, text.size() - 1))) throw_damaged(file, hint);
    return parse_json(text, file);
}

void write_checked_safetensors(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays,
                               std::map<std::string, std::string> metadata) {
    std::map<std::string_view, const ArrayRef*> by_name;
    for (const ArrayRef& array : arrays) by_name.emplace(array.name, &array);
    ContentHash hash(metadata);
    for (const auto& [name, array] : by_name) hash.add(array->name, array->dtype, array->shape, array->bytes);
    metadata[kKey] = hash.hex();
    write_safetensors(file, arrays, metadata);
}

TensorStore open_checked_safetensors(const std::filesystem::path& file, const std::string& hint) try {
    TensorStore store = TensorStore::open_file(file);
    ContentHash hash(store.metadata());
    for (const auto& [name, view] : store.tensors()) hash.add(name, view.dtype, view.shape, view.bytes);
    const auto kept = store.metadata().find(kKey);
    if (kept == store.metadata().end() || kept->second != hash.hex()) throw_damaged(file, hint);
    return store;
} catch (const Error& error) {
    ErrorFacts facts = error.facts();
    if (facts.hint.empty()) facts.hint = hint;
    throw Error(std::move(facts));
}

}  // namespace headlight::io
