// SPDX-License-Identifier: GPL-3.0-or-later
// Models of a Hugging Face cache, by their ids, and other kinds of checkpoints.
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace cache_test {

namespace fs = std::filesystem;
using test::done;
using test::headlight;
using test::Outcome;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const fs::path kModels = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models";

/// As huggingface_hub lays it out: blobs by their hash, links in the snapshot.
void add_snapshot(const fs::path& cache, const std::string& entry, const std::string& revision, const std::string& fixture) {
    const fs::path folder = cache / entry / "snapshots" / revision, blobs = cache / entry / "blobs";
    fs::create_directories(folder);
    fs::create_directories(blobs);
    for (const auto& file : fs::directory_iterator(kModels / fixture)) {
        const std::string blob = revision + "-" + file.path().filename().string();
        fs::copy_file(file.path(), blobs / blob);
        fs::create_symlink(fs::path("../../blobs") / blob, folder / file.path().filename());
    }
}

void write_ref(const fs::path& cache, const std::string& entry, const std::string& name, const std::string& revision) {
    fs::create_directories(cache / entry / "refs");
    std::ofstream(cache / entry / "refs" / name) << revision;
}

TEST(Cache, OpensByIdRevisionAndName) {
    const TempFolder home;
    const fs::path cache = home / "hub";
    add_snapshot(cache, "models--org--tiny", "aaa", "gpt2");
    add_snapshot(cache, "models--org--tiny", "bbb", "llama-mha");
    write_ref(cache, "models--org--tiny", "main", "aaa");
    write_ref(cache, "models--org--tiny", "next", "bbb\n");
    add_snapshot(cache, "models--plain", "ccc", "bert");
    const auto family = [&](const std::string& id, const std::map<std::string, std::string>& environment) {
        const Outcome outcome = done(headlight({"info", id, "--json"}, "", environment));
        const std::size_t at = outcome.out.find("\"family\": \"");
        return at == std::string::npos ? outcome.out : outcome.out.substr(at + 11, outcome.out.find('"', at + 11) - at - 11);
    };
    const std::map<std::string, std::string> by_cache{{"HF_HUB_CACHE", cache}}, by_home{{"HF_HOME", home.path()}};
    EXPECT_EQ(family("org/tiny", by_cache), "gpt2");
    EXPECT_EQ(family("org/tiny", by_home), "gpt2");
    EXPECT_EQ(family("org/tiny@next", by_cache), "llama");
    EXPECT_EQ(family("org/tiny@bbb", by_cache), "llama");
    EXPECT_EQ(family("plain", by_cache), "bert");  // no refs: the one snapshot there is
    EXPECT_THAT(headlight({"info", "org/tiny", "--json"}, "", by_cache).out, HasSubstr("\"name\": \"tiny\""));
}

TEST(Cache, SaysWhatIsNotThere) {
    const TempFolder home;
    add_snapshot(home / "hub", "models--org--tiny", "aaa", "gpt2");
    write_ref(home / "hub", "models--org--tiny", "evil", "../../../..");
    const std::map<std::string, std::string> environment{{"HF_HOME", home.path()}};
    for (const char* id : {"org/other", "org/tiny@zzz", "org/tiny@evil", "org/tiny@../refs"}) {
        const Outcome outcome = headlight({"info", id}, "", environment);
        EXPECT_EQ(outcome.code, 1) << id;
        EXPECT_THAT(outcome.err, HasSubstr("No such model")) << id;
    }
}

}  // namespace cache_test
}  // namespace headlight
