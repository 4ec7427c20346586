// SPDX-License-Identifier: GPL-3.0-or-later
// Files of the repository, messages of errors and numbers of threads.
#pragma once

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"

#include <ATen/Parallel.h>

#include <filesystem>
#include <functional>
#include <string>

namespace headlight::corpus {

inline std::filesystem::path source_file(const std::string& name) { return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / name; }
inline std::filesystem::path built_in_model() { return source_file("models/novella-7m"); }
inline std::filesystem::path fixture_model(const std::string& name) { return source_file("tests/fixtures/models/" + name); }
inline std::filesystem::path treebank_file() { return source_file("tests/fixtures/treebank/ewt-excerpt.conllu"); }
inline nlohmann::json golden_json(const std::string& name) { return io::read_json(source_file("tests/golden/" + name)); }

inline std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

/// The result of `work` on that many threads.
template <class Work>
auto on_threads(int threads, const Work& work) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    auto result = work();
    at::set_num_threads(before);
    return result;
}

}  // namespace headlight::corpus
