// SPDX-License-Identifier: GPL-3.0-or-later
// headlight corpus probe over the treebank of the tests. The numbers are checked in tests/corpus.
#include "headlight/io/json_file.h"
#include "headlight/io/npz.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::cli {
namespace {

using test::headlight;
using testing::HasSubstr;

TEST(CorpusProbe, ProbesEveryLayerAndKeepsItsStatesAndDirections) {
    const test::TempFolder folder;
    const std::string store = folder / "store",
                      bank = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/treebank/ewt-excerpt.conllu";
    ASSERT_EQ(
        headlight({"corpus", "run", "novella-7m", "--texts", bank, "--limit", "60", "--measure", "heads", "--out", store}).code,
        0);
    const auto probe = headlight({"corpus", "probe", store, "--labels", "upos", "--no-controls", "--out", folder / "p.json",
                                  "--save-directions", folder / "d.npz"});
    ASSERT_EQ(probe.code, 0) << probe.err;
    const auto json = io::read_json(folder / "p.json");
    EXPECT_EQ(json["columns"][0], "task");
    ASSERT_EQ(json["rows"].size(), 7u) << "six blocks and what enters the first";
    EXPECT_GT(json["rows"][3][2].get<double>(), json["rows"][3][6].get<double>()) << "better than the most frequent label";
    EXPECT_EQ(json["weights"].size(), 7u);
    const std::size_t classes = json["class_names"].size();
    EXPECT_EQ(json["confusion"][0].size(), classes);
    const auto directions = io::read_npz(folder / "d.npz");
    EXPECT_EQ(directions.arrays.at("directions").shape, (std::vector<std::int64_t>{7, std::ssize(json["class_names"]), 256}));
    // The states are there now: no model is needed, and the labels may be others.
    const auto other = headlight({"corpus", "probe", store, "--labels", "relation", "--no-controls", "--model", "no-such-model"});
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_THAT(other.out, HasSubstr("\n\"relation\",6,"));
    EXPECT_THAT(headlight({"corpus", "probe", store, "--labels", "uppos"}).err, HasSubstr("Did you mean upos?"));
    EXPECT_EQ(headlight({"corpus", "probe", store, "--save-directions", folder / "d.csv"}).code, 2);
    EXPECT_EQ(headlight({"corpus", "plot", store, "--view", "corpus-probe", "--labels", "upos", "--out", folder / "p.svg"}).code,
              0);
}

}  // namespace
}  // namespace headlight::cli
