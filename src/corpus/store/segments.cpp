// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/store/segments.h"

#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"
#include "headlight/base/version.h"
#include "headlight/io/checksum.h"
#include "headlight/model/runtime.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using Metadata = std::map<std::string, std::string>;

constexpr const char* kDeleteSegment = "Delete the file and run again: its blocks are rerun";
constexpr const char *kSegmentFormat = "headlight corpus segment", *kMergedFormat = "headlight corpus merged";

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
    return "unknown";
}

/// Numbers of segments of one store can be summed: the same model, tokens and measures.
Metadata identity(const Manifest& m) {
    return {{"model", m.model_hash},
            {"tokenizer", m.tokenizer_hash},
            {"dtype", m.dtype},
            {"context", std::to_string(m.options.context)},
            {"stride", std::to_string(m.options.stride)},
            {"seed", std::to_string(m.options.seed)},
            {"measures", m.measures_text()}};
}

Metadata metadata_of(const char* format, const Manifest& manifest, const std::vector<std::int64_t>& blocks, std::int64_t chunks) {
    Metadata out = identity(manifest);
    out["format"] = format;
    out["blocks"] = index_list_text(blocks);
    out["chunks"] = std::to_string(chunks);
    out["texts"] = manifest.hash_of(blocks);
    return out;
}

const std::string& entry(const Metadata& metadata, const std::string& key, const fs::path& file) {
    const auto found = metadata.find(key);
    if (found == metadata.end())
        throw Error({.problem = "The file is no segment of a corpus store", .file = file.string(), .item = key});
    return found->second;
}

std::int64_t number_in(std::string_view text, const fs::path& file) {
    const auto value = number_of<std::int64_t>(text);
    if (!value || *value < 0)
        throw Error({.problem = "Not a number of a block", .file = file.string(), .found = std::string(text)});
    return *value;
}

/// "0-5,9", in order and of the store; Error for anything else.
std::vector<std::int64_t> parse_block_list(const std::string& text, const Manifest& manifest, const fs::path& file) {
    std::vector<std::int64_t> blocks;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string_view part = std::string_view(text).substr(at, end - at);
        const std::size_t dash = part.find('-');
        const std::int64_t first = number_in(part.substr(0, dash), file),
                           last = dash == std::string_view::npos ? first : number_in(part.substr(dash + 1), file);
        if (last < first || last >= manifest.blocks() || (!blocks.empty() && first <= blocks.back()))
            throw Error({.problem = "A list of blocks is not in order, or has blocks that the store has not",
                         .file = file.string(),
                         .expected = "0 to " + std::to_string(manifest.blocks() - 1),
                         .found = text,
                         .hint = kDeleteSegment});
        for (std::int64_t block = first; block <= last; ++block) blocks.push_back(block);
        at = end + 1;
    }
    return blocks;
}

[[noreturn]] void throw_not_of_store(const std::string& problem, const fs::path& file, const std::string& item,
                                     const std::string& expected, const std::string& found) {
    throw Error({.problem = problem,
                 .file = file.string(),
                 .item = item,
                 .expected = expected,
                 .found = found,
                 .hint = "Move the file out of the store, and run it again"});
}

Arrays read_arrays(const fs::path& file, const Manifest& manifest, const std::string& hint, Metadata* metadata = nullptr) {
    Arrays arrays = Arrays::read(file, hint, metadata);
    arrays.set_chunks(manifest.chunks());
    return arrays;
}

/// Returns the number of chunks that the blocks have in the store; the file may hold fewer.
std::int64_t check_identity(const Metadata& metadata, const std::vector<std::int64_t>& blocks, std::int64_t held,
                            const Manifest& manifest, const fs::path& file) {
    for (const auto& [key, value] : identity(manifest))
        if (const std::string& found = entry(metadata, key, file); found != value)
            throw_not_of_store("Results are of another run than the store", file, key, value, found);
    const std::int64_t chunks = manifest.chunks_of(blocks);
    if (held > chunks)
        throw_not_of_store("Results are of more texts than the store has", file, "chunks", std::to_string(chunks),
                           std::to_string(held));
    const std::string hash = manifest.hash_of(blocks), &found = entry(metadata, "texts", file);
    if (held == chunks && found != hash)
        throw_not_of_store("Results are of other texts than the store's", file, "texts", hash, found);
    return chunks;
}

}  // namespace

void check_unchanged(const fs::path& store, const Manifest& manifest, const std::vector<std::int64_t>& blocks) {
    const auto fail = [&](const char* problem) {
        throw Error({.problem = problem,
                     .file = store.string(),
                     .hint = "What was run since the last segment is lost; run the texts again into a new folder"});
    };
    if (!is_store(store)) fail("The store was deleted during the run");
    const Manifest now = read_manifest(store);
    if (identity(now) != identity(manifest) || now.hash_of(blocks) != manifest.hash_of(blocks))
        fail("The store was replaced by another during the run");
}

void check_disjoint(const std::vector<Segment>& segments) {
    std::map<std::int64_t, const Segment*> owner;
    for (const Segment& segment : segments)
        for (const std::int64_t block : segment.blocks) {
            const auto [there, first] = owner.emplace(block, &segment);
            if (!first)
                throw Error({.problem = "A block is in two segments",
                             .file = segment.file.string(),
                             .item = "block " + std::to_string(block),
                             .found = there->second->file.string(),
                             .hint = "Delete one of the two files and run again: its other blocks are rerun"});
        }
}

std::string Machine::text() const { return program + ", " + cpu + ", " + library + ", " + device; }

Machine this_machine(const model::Model& model) {
    std::string library = model::runtime_facts().blas;
    library = library.substr(0, library.find(", /"));
    return {version(), cpu_name(), library + ", LibTorch " + model::runtime_facts().torch_version, model.device_name()};
}

void write_segment(const fs::path& file, const Manifest& manifest, std::vector<std::int64_t> blocks, const Gathered& gathered,
                   const Machine& machine) {
    std::ranges::sort(blocks);
    Metadata metadata = metadata_of(kSegmentFormat, manifest, blocks, manifest.chunks_of(blocks));
    metadata["program"] = machine.program;
    metadata["cpu"] = machine.cpu;
    metadata["library"] = machine.library;
    metadata["device"] = machine.device;
    Arrays arrays;
    gathered.save(arrays);
    fs::create_directories(file.parent_path());
    arrays.write(file, metadata);
}

std::vector<Segment> segments_of(const fs::path& store, const Manifest& manifest, bool remove_stale) {
    std::vector<fs::path> files;
    std::error_code code;
    for (const auto& each : fs::directory_iterator(store / "segments", code))
        if (each.path().extension() == ".safetensors" && !each.path().filename().string().starts_with("."))
            files.push_back(each.path());
    std::ranges::sort(files);
    std::vector<Segment> segments;
    for (const fs::path& file : files) {
        // Listed often while a run grows, so only the header is read; merge_segments() and blocks_to_run() check the content.
        const Metadata metadata = io::TensorStore::open_file(file).metadata();
        if (entry(metadata, "format", file) != kSegmentFormat)
            throw Error({.problem = "The file is no segment of a corpus store", .file = file.string()});
        Segment segment{.file = file,
                        .blocks = parse_block_list(entry(metadata, "blocks", file), manifest, file),
                        .chunks = number_in(entry(metadata, "chunks", file), file),
                        .machine = {entry(metadata, "program", file), entry(metadata, "cpu", file),
                                    entry(metadata, "library", file), entry(metadata, "device", file)}};
        const std::int64_t chunks = check_identity(metadata, segment.blocks, segment.chunks, manifest, file);
        if (chunks == segment.chunks)
            segments.push_back(std::move(segment));
        else if (remove_stale)
            fs::remove(file);
    }
    check_disjoint(segments);
    return segments;
}

fs::path next_segment_file(const fs::path& store, const std::string& name) {
    for (int number = 0;; ++number) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%04d", number);
        const fs::path file = store / "segments" / (name + digits + ".safetensors");
        if (!fs::exists(file)) return file;
    }
}

Gathered gathered_in(const Segment& segment, const Manifest& manifest) {
    return {manifest.options.measures, read_arrays(segment.file, manifest, kDeleteSegment), manifest.options.seed};
}

Merged merge_segments(const std::vector<Segment>& segments, const Manifest& manifest, const Gathered& fresh) {
    Merged out;
    std::vector<Arrays> parts;
    for (const Segment& segment : segments) {
        parts.push_back(read_arrays(segment.file, manifest, kDeleteSegment));
        out.blocks.insert(out.blocks.end(), segment.blocks.begin(), segment.blocks.end());
        out.chunks += segment.chunks;
    }
    std::ranges::sort(out.blocks);
    // One kind after the other: in memory are the arrays of the finished ones, and one kind twice.
    for (std::size_t kind = 0; kind < fresh.kinds(); ++kind) {
        Gathered all = fresh.fresh(kind);
        for (const Arrays& part : parts) {
            Gathered one = fresh.fresh(kind);
            one.load(part);
            all.merge(one);
        }
        all.save(out.arrays);
    }
    out.arrays.set_chunks(manifest.chunks());
    return out;
}

void write_merged(const fs::path& store, const Manifest& manifest, const std::vector<Segment>& segments, const Gathered& fresh) {
    check_disjoint(segments);
    const Merged merged = merge_segments(segments, manifest, fresh);
    merged.arrays.write(store / "merged.safetensors", metadata_of(kMergedFormat, manifest, merged.blocks, merged.chunks));
}

namespace {

Merged read_merged_file(const fs::path& file, const Manifest& manifest) {
    Metadata metadata;
    Merged out{.arrays = read_arrays(file, manifest, "Run the texts again: the store has no segments to merge", &metadata),
               .blocks = {},
               .chunks = 0};
    if (entry(metadata, "format", file) != kMergedFormat)
        throw Error({.problem = "The file is not a merged file of a corpus run", .file = file.string()});
    out.blocks = parse_block_list(entry(metadata, "blocks", file), manifest, file);
    out.chunks = number_in(entry(metadata, "chunks", file), file);
    check_identity(metadata, out.blocks, out.chunks, manifest, file);
    return out;
}

}  // namespace

Merged read_merged(const fs::path& store, const Manifest& manifest) {
    const fs::path file = store / "merged.safetensors";
    if (!fs::exists(file))
        throw Error(
            {.problem = "The store has no finished blocks", .file = store.string(), .hint = "headlight corpus run resumes it"});
    try {
        return read_merged_file(file, manifest);
    } catch (const Error&) {
        const std::vector<Segment> segments = segments_of(store, manifest);
        if (segments.empty()) throw;
        Merged out = merge_segments(segments, manifest, gathered_in(segments.front(), manifest).fresh());
        out.rebuilt = true;
        return out;
    }
}

}  // namespace headlight::corpus
