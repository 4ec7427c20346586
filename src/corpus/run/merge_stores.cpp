// SPDX-License-Identifier: GPL-3.0-or-later
// Merges the stores of one run from several machines. The segments hold all that is needed, so no model is required.
#include "headlight/base/error.h"
#include "headlight/corpus/run/run.h"

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;

/// Parts of one run have the same model, options and texts.
void check_same_run(const fs::path& store, const Manifest& manifest, const fs::path& first_store, const Manifest& first) {
    const auto check = [&](const char* problem, const char* item, const std::string& expected, const std::string& found) {
        if (expected != found)
            throw Error({.problem = problem,
                         .file = store.string(),
                         .item = item,
                         .expected = expected + " of " + first_store.string(),
                         .found = found,
                         .hint = "Parts of one run have the same model, texts and options"});
    };
    const auto number = [](auto n) { return std::to_string(n); };
    check("The store is of another model", "model", first.model + " " + first.model_hash,
          manifest.model + " " + manifest.model_hash);
    check("The store is of another model", "tokenizer", first.tokenizer_hash, manifest.tokenizer_hash);
    check("The store is of another model", "--dtype", first.dtype, manifest.dtype);
    constexpr const char* kOption = "The store was made with another option";
    check(kOption, "--context", number(first.options.context), number(manifest.options.context));
    check(kOption, "--stride", number(first.options.stride), number(manifest.options.stride));
    check(kOption, "--block", number(first.options.block), number(manifest.options.block));
    check(kOption, "--seed", number(first.options.seed), number(manifest.options.seed));
    check(kOption, "--measure", first.measures_text(), manifest.measures_text());
    const auto texts = [](const Manifest& m) {
        std::string hashes;
        for (const StorePart& part : m.parts) hashes += (hashes.empty() ? "" : " ") + part.sha256.substr(0, 12);
        return std::to_string(m.texts()) + " texts, SHA-256 " + hashes;
    };
    check("The store has other texts", "texts", texts(first), texts(manifest));
}

}  // namespace

void merge_stores(const std::vector<fs::path>& stores, const fs::path& out, const Note& note) {
    const Manifest first = read_manifest(stores.front());
    std::vector<Segment> segments;
    for (const fs::path& store : stores) {
        check_same_run(store, read_manifest(store), stores.front(), first);
        for (Segment& segment : segments_of(store, first)) segments.push_back(std::move(segment));
    }
    if (segments.empty())
        throw Error({.problem = "Nothing of the stores is finished",
                     .file = stores.front().string(),
                     .hint = "headlight corpus run goes on with it"});
    check_disjoint(segments);
    for (const Segment& segment : segments)
        if (!(segment.machine == segments.front().machine) && note) {
            note("unlike machines made the segments; numbers may differ in the last bits: " + segments.front().machine.text() +
                 " and " + segment.machine.text());
            break;
        }
    const Gathered fresh = gathered_in(segments.front(), first).fresh();
    std::error_code code;
    if (stores.size() > 1 || !fs::equivalent(stores.front(), out, code)) {
        if (is_store(out) || (fs::exists(out) && !fs::is_empty(out)))
            throw Error({.problem = "The folder is not empty", .file = out.string(), .hint = "Name a new folder with --out"});
        fs::create_directories(out / "texts");
        for (const StorePart& part : first.parts) fs::copy_file(stores.front() / part.file, out / part.file);
        fs::create_directories(out / "segments");
        for (Segment& segment : segments) {
            const fs::path copy = next_segment_file(out, "");
            fs::copy_file(segment.file, copy);
            segment.file = copy;
        }
        write_manifest(out, first);
    }
    write_merged(out, first, segments, fresh);
    std::int64_t blocks = 0;
    for (const Segment& segment : segments) blocks += std::ssize(segment.blocks);
    if (blocks < first.blocks() && note)
        note(std::to_string(first.blocks() - blocks) + " of " + std::to_string(first.blocks()) +
             " blocks are in none of the stores: headlight corpus run goes on with " + out.string());
}

}  // namespace headlight::corpus
