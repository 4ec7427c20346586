// SPDX-License-Identifier: GPL-3.0-or-later
// The seeds and former findings of the fuzzers, without a fuzzer: a target that ends the program fails the
// test.
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

namespace headlight::test {
namespace corpus_test {

void run_all(const char* name, void (*target)(std::string_view)) {
    int files = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fuzz/corpus" / name)) {
        SCOPED_TRACE(entry.path().filename());
        target(slurp(entry.path()));
        ++files;
    }
    EXPECT_GT(files, 0) << "the corpus is gone";
}

TEST(FuzzCorpus, Gguf) { run_all("gguf", fuzz_gguf); }
TEST(FuzzCorpus, Pickle) { run_all("pickle", fuzz_pickle); }
TEST(FuzzCorpus, Tokenizer) { run_all("tokenizer", fuzz_tokenizer); }

}  // namespace corpus_test
}  // namespace headlight::test
