// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/store/manifest.h"

#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "headlight/io/checksum.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kVersion = 5;
constexpr const char* kFormat = "headlight corpus";
constexpr std::size_t kListed = 1000;
constexpr std::int64_t kNotesOfAKind = 20;
constexpr std::int64_t kMostOfStore = std::int64_t{1}
                                      << 40;  // texts, chunks, tokens: sums of them stay far from the end of 64 bits

template <class T>
std::int64_t sum_of(const std::vector<StorePart>& parts, T StorePart::*member) {
    std::int64_t sum = 0;
    for (const StorePart& part : parts) sum += part.*member;
    return sum;
}

std::string hex(std::uint64_t number) {
    char text[20];
    std::snprintf(text, sizeof text, "%016" PRIx64, number);
    return text;
}

std::uint64_t hash_in(const std::string& hex_digits, const fs::path& file) {
    if (const auto number = number_of<std::uint64_t>(hex_digits, 16)) return *number;
    throw Error({.problem = "Not a hash of a block", .file = file.string(), .item = "blocks", .found = hex_digits});
}

fs::path manifest_of(const fs::path& store) { return store / "manifest.json"; }

/// Error unless the parts are files of the store, the counts are possible, and the additions follow one another.
void check_counts(const Manifest& m, const fs::path& file) {
    const auto check = [&](bool fits, const char* item, const std::string& expected, const std::string& found) {
        if (!fits)
            throw Error({.problem = "The manifest does not fit its texts",
                         .file = file.string(),
                         .item = item,
                         .expected = expected,
                         .found = found,
                         .hint = "Recreate the store from the original texts"});
    };
    std::int64_t texts = 0, chunks = 0;
    for (std::size_t i = 0; i < m.parts.size(); ++i) {
        const StorePart& part = m.parts[i];
        check(part.file == part_name(i), "parts", part_name(i), part.file);
        for (const std::int64_t count : {part.texts, part.chunks, part.tokens})
            check(count >= 0 && count <= kMostOfStore, "parts", "0 to " + std::to_string(kMostOfStore), std::to_string(count));
        texts += part.texts, chunks += part.chunks;
        check(texts <= kMostOfStore && chunks <= kMostOfStore, "parts", "at most " + std::to_string(kMostOfStore) + " texts",
              std::to_string(texts));
    }
    check(std::ssize(m.block_hashes) == m.blocks(), "blocks", std::to_string(m.blocks()), std::to_string(m.block_hashes.size()));
    for (const auto& [reason, count] : m.left_out)
        check(count >= 0 && count <= kMostOfStore, "left_out", "0 to " + std::to_string(kMostOfStore), std::to_string(count));
    std::int64_t first = 0;
    for (const Addition& one : m.additions) {
        check(one.first_text >= first && one.first_text <= texts, "additions",
              std::to_string(first) + " to " + std::to_string(texts), std::to_string(one.first_text));
        first = one.first_text;
    }
}

StoreOptions options_of(const nlohmann::json& in, const fs::path& file) {
    StoreOptions out;
    const std::string unit = in.at("unit");
    const auto known = enum_value<TextUnit>(unit);
    if (!known) throw Error({.problem = "A unit is not known", .file = file.string(), .item = "unit", .found = unit});
    out.reading = {*known, in.at("field")};
    out.context = in.at("context");
    out.stride = in.at("stride");
    out.block = in.at("block");
    out.seed = in.at("seed");
    out.measures = in.at("measures").get<std::vector<std::string>>();
    for (const auto& [item, number] :
         {std::pair("context", out.context), std::pair("stride", out.stride), std::pair("block", out.block)})
        if (number < 1 || number > kMostOfStore)
            throw Error({.problem = "A number of the manifest is out of its range",
                         .file = file.string(),
                         .item = item,
                         .expected = "1 to " + std::to_string(kMostOfStore),
                         .found = std::to_string(number)});
    return out;
}

}  // namespace

std::string part_name(std::size_t index) {
    char name[40];
    std::snprintf(name, sizeof name, "texts/%04zu.safetensors", index);
    return name;
}

std::int64_t Manifest::texts() const noexcept { return sum_of(parts, &StorePart::texts); }
std::int64_t Manifest::chunks() const noexcept { return sum_of(parts, &StorePart::chunks); }
std::int64_t Manifest::tokens() const noexcept { return sum_of(parts, &StorePart::tokens); }

std::int64_t Manifest::left_out_texts() const noexcept {
    std::int64_t sum = 0;
    for (const auto& [reason, count] : left_out) sum += count;
    return sum;
}

std::int64_t Manifest::chunks_of(std::int64_t block) const noexcept {
    return std::clamp<std::int64_t>(chunks() - block * options.block, 0, options.block);
}

std::int64_t Manifest::chunks_of(const std::vector<std::int64_t>& blocks) const noexcept {
    std::int64_t sum = 0;
    for (const std::int64_t block : blocks) sum += chunks_of(block);
    return sum;
}

std::string Manifest::hash_of(const std::vector<std::int64_t>& blocks) const {
    std::uint64_t sum = 0;
    for (const std::int64_t block : blocks)
        if (block >= 0 && block < std::ssize(block_hashes)) sum += block_hashes[static_cast<std::size_t>(block)];
    return hex(sum);
}

std::string Manifest::measures_text() const { return joined(options.measures, ","); }

void Manifest::leave_out(LeftOut one) {
    ++left_out[one.reason.substr(0, one.reason.find(" ("))];
    if (left_out_list.size() < kListed) left_out_list.push_back(std::move(one));
}

void Manifest::note(TextNote one) {
    if (noted[one.what]++ < kNotesOfAKind) notes.push_back(std::move(one));
}

bool is_store(const fs::path& store) {
    std::error_code code;
    return fs::is_regular_file(manifest_of(store), code);
}

Manifest read_manifest(const fs::path& store) {
    const fs::path file = manifest_of(store);
    if (!is_store(store))
        throw Error({.problem = "There is no corpus store",
                     .file = store.string(),
                     .expected = "a folder with manifest.json",
                     .hint = "headlight corpus run MODEL --texts FILE --out STORE makes one"});
    try {
        if (const nlohmann::json of = io::read_json(file); of.at("format") != kFormat || of.at("version") != kVersion)
            throw Error({.problem = "The store is of another version",
                         .file = file.string(),
                         .expected = std::string(kFormat) + " " + std::to_string(kVersion),
                         .found = of.at("format").dump() + " " + of.at("version").dump(),
                         .hint = "Run the texts again into another folder, or open the store with the program that made it"});
        const nlohmann::json in =
            io::read_checked_json(file, "Restore it from a copy, or run the texts again into another folder");
        Manifest out;
        out.program = in.at("program");
        out.model = in.at("model").at("name");
        out.model_path = in.at("model").at("path");
        out.model_hash = in.at("model").at("hash");
        out.dtype = in.at("model").at("dtype");
        out.tokenizer = in.at("tokenizer").at("description");
        out.tokenizer_hash = in.at("tokenizer").at("hash");
        out.options = options_of(in.at("options"), file);
        out.treebank = in.at("treebank");
        out.mentions = in.value("mentions", false);
        for (const auto& part : in.at("parts"))
            out.parts.push_back({part.at("file"), part.at("sha256"), part.at("texts"), part.at("chunks"), part.at("tokens")});
        for (const auto& one : in.at("additions"))
            out.additions.push_back({one.at("from"), one.at("first_text"), one.at("left_out_before"), one.at("complete")});
        for (const auto& hash : in.at("blocks")) out.block_hashes.push_back(hash_in(hash, file));
        out.left_out = in.at("left_out").at("reasons").get<std::map<std::string, std::int64_t>>();
        for (const auto& one : in.at("left_out").at("texts")) out.left_out_list.push_back({one.at(0), one.at(1)});
        out.noted = in.at("noted").at("kinds").get<std::map<std::string, std::int64_t>>();
        for (const auto& one : in.at("noted").at("texts")) out.notes.push_back({one.at(0), one.at(1)});
        check_counts(out, file);
        return out;
    } catch (const nlohmann::json::exception& error) {
        throw Error({.problem = "A field of the manifest is missing or of another type",
                     .file = file.string(),
                     .found = io::plain_reason(error)});
    }
}

void write_manifest(const fs::path& store, const Manifest& m) {
    ordered_json out;
    out["format"] = kFormat;
    out["version"] = kVersion;
    out["program"] = m.program;
    out["model"] = {{"name", m.model}, {"path", m.model_path}, {"hash", m.model_hash}, {"dtype", m.dtype}};
    out["tokenizer"] = {{"description", m.tokenizer}, {"hash", m.tokenizer_hash}};
    out["options"] = {{"unit", enum_word(m.options.reading.unit)},
                      {"field", m.options.reading.field},
                      {"context", m.options.context},
                      {"stride", m.options.stride},
                      {"block", m.options.block},
                      {"seed", m.options.seed},
                      {"measures", m.options.measures}};
    out["treebank"] = m.treebank;
    if (m.mentions) out["mentions"] = true;
    out["counts"] = {{"texts", m.texts()}, {"chunks", m.chunks()}, {"tokens", m.tokens()}, {"left_out", m.left_out_texts()}};
    out["parts"] = ordered_json::array();
    for (const StorePart& part : m.parts)
        out["parts"].push_back({{"file", part.file},
                                {"sha256", part.sha256},
                                {"texts", part.texts},
                                {"chunks", part.chunks},
                                {"tokens", part.tokens}});
    out["additions"] = ordered_json::array();
    for (const Addition& one : m.additions)
        out["additions"].push_back({{"from", one.from},
                                    {"first_text", one.first_text},
                                    {"left_out_before", one.left_out_before},
                                    {"complete", one.complete}});
    out["blocks"] = ordered_json::array();
    for (const std::uint64_t hash : m.block_hashes) out["blocks"].push_back(hex(hash));
    ordered_json listed = ordered_json::array();
    for (const LeftOut& one : m.left_out_list) listed.push_back({one.id, one.reason});
    out["left_out"] = {{"reasons", m.left_out}, {"texts", listed}};
    ordered_json notes = ordered_json::array();
    for (const TextNote& one : m.notes) notes.push_back({one.place, one.what});
    out["noted"] = {{"kinds", m.noted}, {"texts", notes}};
    io::write_checked_json(manifest_of(store), out, 1);
}

}  // namespace headlight::corpus
