// SPDX-License-Identifier: GPL-3.0-or-later
// headlight corpus run, info, merge and heads.
#include "headlight/io/json_file.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

namespace headlight::cli {
namespace corpus_test {

using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using testing::HasSubstr;

const std::string kTexts = test::fixture("text/sentences.txt");

std::vector<std::string> run_into(const std::string& store) {
    return {"corpus",  "run", "novella-7m", "--texts", kTexts,  "--limit", "20",
            "--block", "3",   "--measure",  "heads",   "--out", store};
}

TEST(Corpus, RunsTellsAndMeasures) {
    const test::TempFolder folder;
    const std::string store = folder / "store";
    const Outcome run = done(headlight(run_into(store)));
    EXPECT_THAT(run.err, HasSubstr("20 of 20 chunks run"));
    const auto info = io::parse_json(headlight({"corpus", "info", store, "--json"}).out, "info");
    EXPECT_EQ(info["texts"], 20);
    EXPECT_EQ(info["finished_chunks"], 20);
    EXPECT_EQ(info["left_out"]["texts"], 0);
    EXPECT_THAT(headlight({"corpus", "info", store}).out, HasSubstr("20 of 20 chunks"));
    const Outcome heads = done(headlight({"corpus", "heads", store, "--draws", "50"}));
    EXPECT_THAT(heads.out, testing::StartsWith("measure,layer,head,mean,low,high,mean_by_query,texts,queries\n"));
    EXPECT_THAT(heads.out, HasSubstr("\n\"share_first\",5,7,"));
    EXPECT_EQ(headlight({"corpus", "run", "novella-7m", "--out", store, "--part", "4/3"}).code, 2);
    EXPECT_EQ(headlight({"corpus", "run", "novella-7m", "--out", store, "--part", "4"}).code, 2);
    EXPECT_THAT(headlight({"corpus", "info", folder / "none"}).err, HasSubstr("There is no corpus store"));
    EXPECT_EQ(headlight({"corpus", "haeds", store}).code, 2);
}

TEST(Corpus, PartsOnMachinesWithoutACommonFolderMerge) {
    const test::TempFolder folder;
    for (const char* part : {"1", "2"}) {
        const Outcome run = headlight(joined(run_into(folder / part), {"--part", std::string(part) + "/2"}));
        EXPECT_THAT(run.err, HasSubstr("are for other parts"));
    }
    done(headlight({"corpus", "merge", folder / "1", folder / "2", "--out", folder / "both"}));
    done(headlight(run_into(folder / "once")));
    EXPECT_TRUE(test::slurp(folder / "both" / "merged.safetensors") == test::slurp(folder / "once" / "merged.safetensors"));
}

TEST(Corpus, TwoProcessesOnOneStoreDoItsWorkOnce) {
    namespace fs = std::filesystem;
    const test::TempFolder folder;
    const fs::path once = folder / "once", shared = folder / "shared";
    done(headlight(run_into(once)));
    Outcome first, second;
    std::thread other([&] { first = test::program(run_into(shared)); });
    second = test::program(run_into(shared));
    other.join();
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_TRUE(test::slurp(shared / "merged.safetensors") == test::slurp(once / "merged.safetensors"));
    const auto segments = [](const fs::path& store) {
        return std::distance(fs::directory_iterator(store / "segments"), fs::directory_iterator{});
    };
    EXPECT_EQ(segments(shared), segments(once)) << first.err << second.err;
    const auto has = [&](const char* words) {
        return first.err.find(words) != std::string::npos || second.err.find(words) != std::string::npos;
    };
    EXPECT_TRUE(has(" 20 of 20 chunks run")) << first.err << second.err;
    EXPECT_TRUE(has(" 0 of 20 chunks run")) << "whichever came second had nothing left to do: " << first.err << second.err;
}

}  // namespace corpus_test
}  // namespace headlight::cli
