// SPDX-License-Identifier: GPL-3.0-or-later
// Files of the repository, errors and numbers of threads.
#pragma once

#include "headlight/io/json_file.h"
#include "tests/support/error_of.h"

#include <ATen/Parallel.h>

#include <filesystem>
#include <string>

namespace headlight::corpus {

inline std::filesystem::path source_file(const std::string& name) { return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / name; }
inline std::filesystem::path built_in_model() { return source_file("models/novella-7m"); }
inline std::filesystem::path fixture_model(const std::string& name) { return source_file("tests/fixtures/models/" + name); }
inline std::filesystem::path treebank_file() { return source_file("tests/fixtures/treebank/ewt-excerpt.conllu"); }
inline nlohmann::json golden_json(const std::string& name) { return io::read_json(source_file("tests/golden/" + name)); }

using test::error_of;

/// The result of `work` on that many threads.
template <class Work>
auto on_threads(int threads, const Work& work) {
    struct Restore {
        int before = at::get_num_threads();
        ~Restore() { at::set_num_threads(before); }
    } const restore;
    at::set_num_threads(threads);
    return work();
}

}  // namespace headlight::corpus
