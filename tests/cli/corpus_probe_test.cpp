// SPDX-License-Identifier: GPL-3.0-or-later
// headlight corpus probe over the treebank of the tests. The numbers are checked in tests/corpus.
#include "headlight/io/json_file.h"
#include "headlight/io/npz.h"
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace headlight::cli {
namespace {

using test::done;
using test::headlight;
using test::Outcome;
using test::refused;
using testing::HasSubstr;

TEST(CorpusProbe, ProbesEveryLayerAndKeepsItsStatesAndDirections) {
    const test::TempFolder folder;
    const std::string store = folder / "store", bank = test::fixture("treebank/ewt-excerpt.conllu");
    done(headlight({"corpus", "run", "novella-7m", "--texts", bank, "--limit", "60", "--measure", "heads", "--out", store}));
    done(headlight({"corpus", "probe", store, "--labels", "upos", "--no-controls", "--out", folder / "p.json",
                    "--save-directions", folder / "d.npz"}));
    const auto json = test::read_result(folder / "p.json");
    EXPECT_EQ(json["columns"][0], "task");
    ASSERT_EQ(json["rows"].size(), 7u) << "six blocks and what enters the first";
    EXPECT_GT(json["rows"][3][2].get<double>(), json["rows"][3][6].get<double>()) << "better than the most frequent label";
    EXPECT_EQ(json["weights"].size(), 7u);
    const std::size_t classes = json["class_names"].size();
    EXPECT_EQ(json["confusion"][0].size(), classes);
    const auto directions = io::read_npz(folder / "d.npz");
    EXPECT_EQ(directions.arrays.at("directions").shape, (std::vector<std::int64_t>{7, std::ssize(json["class_names"]), 256}));
    // The states are there now: no model is needed, and the labels may be others.
    const Outcome other = done(headlight({"corpus", "probe", store, "--labels", "relation", "--no-controls"}));
    EXPECT_THAT(other.out, HasSubstr("\n\"relation\",6,"));
    // A model that is named must be the store's, needed or not.
    refused(headlight({"corpus", "probe", store, "--labels", "relation", "--model", "no-such-model"}), 1,
            HasSubstr("no-such-model"));
    refused(headlight({"corpus", "probe", store, "--labels", "relation", "--model", test::fixture("models/gpt2")}), 1,
            testing::AllOf(HasSubstr("another model"), HasSubstr("Give --model"), HasSubstr("novella-7m")));
    EXPECT_THAT(headlight({"corpus", "probe", store, "--labels", "uppos"}).err, HasSubstr("Did you mean upos?"));
    EXPECT_EQ(headlight({"corpus", "probe", store, "--save-directions", folder / "d.csv"}).code, 2);
    done(headlight({"corpus", "plot", store, "--view", "corpus-probe", "--labels", "upos", "--out", folder / "p.svg"}));
}

TEST(CorpusProbe, FindsTheModelOfAFolderAgain) {
    namespace fs = std::filesystem;
    const test::TempFolder folder;
    const std::string store = folder / "store", bank = test::fixture("treebank/ewt-excerpt.conllu");
    fs::copy(test::fixture("models/gpt2"), folder / "mine");
    done(headlight({"corpus", "run", folder / "mine", "--texts", bank, "--limit", "30", "--measure", "heads", "--out", store}));
    const std::vector<std::string> probe{"corpus", "probe", store, "--labels", "upos", "--no-controls", "--disk", "1"};
    done(headlight(probe));
    fs::remove_all(fs::path(store) / "states");
    fs::rename(folder / "mine", folder / "moved");
    refused(headlight(probe), 1, testing::AllOf(HasSubstr("The model of the store"), HasSubstr("--model"), HasSubstr("/mine")));
    done(headlight(test::joined(probe, {"--model", folder / "moved"})));
}

TEST(CorpusProbe, HasFiveKinds) {
    const test::TempFolder folder;
    const std::string store = folder / "store", bank = test::fixture("treebank/ewt-excerpt.conllu");
    done(headlight({"corpus", "run", "novella-7m", "--texts", bank, "--limit", "60", "--measure", "heads", "--out", store}));
    const Outcome structural =
        done(headlight({"corpus", "probe", store, "--probe", "structural", "--rank", "2,4", "--draws", "20"}));
    EXPECT_THAT(structural.out, testing::StartsWith("layer,rank,uuas,uuas_low"));
    EXPECT_THAT(structural.out, HasSubstr("\n6,4,"));
    const Outcome mix = done(
        headlight({"corpus", "probe", store, "--probe", "mix", "--labels", "upos", "--seeds", "1", "--out", folder / "m.json"}));
    EXPECT_THAT(mix.err, HasSubstr("expected layer"));
    EXPECT_EQ(io::read_json(folder / "m.json")["rows"].size(), 7u);
    done(
        headlight({"corpus", "probe", store, "--probe", "edge", "--labels", "upos", "--seeds", "1", "--out", folder / "e.json"}));
    EXPECT_NE(io::read_json(folder / "e.json")["rows"], io::read_json(folder / "m.json")["rows"]);
    done(headlight({"corpus", "probe", store, "--probe", "attention", "--out", folder / "a.npz"}));
    EXPECT_EQ(io::read_npz(folder / "a.npz").arrays.at("to_head").shape, (std::vector<std::int64_t>{6, 8}));
    const Outcome heads = done(headlight({"corpus", "probe", store, "--labels", "upos", "--no-controls", "--heads", "2"}));
    EXPECT_THAT(heads.out, testing::StartsWith("task,class,probe_layer,layer,head"));
    for (const char* view : {"corpus-probe", "corpus-structural", "corpus-mix", "corpus-edge", "corpus-arcs"}) {
        done(headlight({"corpus", "plot", store, "--view", view, "--out", folder / "p.svg"}));
    }
    done(headlight({"corpus", "plot", store, "--view", "corpus-probe", "--label", "NOUN", "--out", folder / "p.svg"}));
    // An option of another kind is a mistake, not ignored.
    EXPECT_THAT(headlight({"corpus", "probe", store, "--rank", "4"}).err,
                HasSubstr("--rank: a probe of kind linear does not have it"));
    EXPECT_EQ(headlight({"corpus", "probe", store, "--probe", "attention", "--labels", "upos"}).code, 2);
    refused(headlight({"corpus", "plot", store, "--view", "corpus-arcs", "--labels", "upos", "--out", folder / "p.svg"}), 2);
}

}  // namespace
}  // namespace headlight::cli
