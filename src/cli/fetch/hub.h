// SPDX-License-Identifier: GPL-3.0-or-later
// Brings the files of a model from a Hugging Face hub into the cache, in the layout of huggingface_hub:
// models--ORG--NAME/{refs/main, snapshots/COMMIT/FILE -> ../../blobs/HASH, blobs/HASH}.
#pragma once

#include "headlight/base/job.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headlight::cli {

struct HubOptions {
    std::string id;                 ///< "gpt2", "org/name"
    std::string revision = "main";  ///< a branch, a tag or a commit
    std::string endpoint;           ///< "https://…"
    std::string token;              ///< sent to the endpoint's own host alone; empty: none
    std::filesystem::path cache;    ///< the hub folder
    int attempts = 5;               ///< of each file: a cut connection goes on where it broke off
    int first_wait_ms = 1000;       ///< before the second attempt; doubled each time
    int silence_ms = 30'000;        ///< without a byte: the connection counts as cut
};

/// $HF_ENDPOINT or the public hub, $HF_TOKEN or the token file of `hf auth login`, the first of model::cache_folders().
HubOptions hub_options_from_environment(std::string id);

struct Fetched {
    std::filesystem::path folder;  ///< the snapshot
    std::string commit;
    int files = 0;           ///< of the snapshot
    std::int64_t bytes = 0;  ///< that came over the wire
};

/// Fetches what Headlight reads: configuration, tokenizer, weights (safetensors where there are any, else .bin). Sizes
/// and hashes are checked before a file gets its name; what was cut stays as HASH.incomplete and is gone on with next
/// time. Needs a QCoreApplication. Errors say what the hub said and what to do: no such model, gated, not allowed, too
/// many requests, redirects without end, to plain http, a wrong length, a wrong hash, no connection.
Fetched fetch_model(const HubOptions&, const CancelToken&, const Progress&);

}  // namespace headlight::cli
