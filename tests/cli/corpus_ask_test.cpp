// SPDX-License-Identifier: GPL-3.0-or-later
// What `headlight corpus` answers from a store, without the texts' files and, but for values, without the model.
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight {
namespace corpus_ask_test {

using nlohmann::json;
using test::built_in_model;
using test::done;
using test::headlight;
using test::joined;
using test::refused;
using testing::HasSubstr;
using testing::Not;

class CorpusAsk : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder = new test::TempFolder;
        const std::string texts =
            folder->write("texts.txt",
                          "The old doctor asked the nurse to wait.\nShe was late, and he was not.\nIt rained all "
                          "night on the sea.\nThe doctor gave her the letter, and she read it twice.\n");
        for (const char* name : {"a", "b"}) {
            done(headlight({"corpus", "run", built_in_model(), "--texts", texts, "--measure", "heads,neurons,agreement,distances",
                            "--out", (*folder / name).string()}));
        }
        done(headlight({"corpus", "run", built_in_model(), "--texts", texts, "--limit", "2", "--context", "8", "--measure",
                        "neurons,distances", "--out", (*folder / "few").string()}));
    }
    static void TearDownTestSuite() { delete folder; }

    static std::string store(const char* name) { return (*folder / name).string(); }
    static json asked(const std::vector<std::string>& words) {
        const std::string out = (*folder / "out.json").string();
        done(headlight(joined(joined({"corpus"}, words), {"--out", out})));
        return test::read_result(out);
    }
    static test::TempFolder* folder;
};
test::TempFolder* CorpusAsk::folder = nullptr;

TEST_F(CorpusAsk, TriggersStandInTheirTexts) {
    const json answer = asked({"triggers", store("a"), "--layer", "5", "--neuron", "3", "--before", "100"});
    const std::vector<std::string> texts = {"The old doctor asked the nurse to wait.", "She was late, and he was not.",
                                            "It rained all night on the sea.",
                                            "The doctor gave her the letter, and she read it twice."};
    ASSERT_FALSE(answer.at("rows").empty());
    double last = std::numeric_limits<double>::infinity();
    for (const json& row : answer.at("rows")) {
        // kind, rank, from, to, coefficient, chunk, position, next_id, text, before, token, next
        const std::string here = row[9].get<std::string>() + row[10].get<std::string>() + row[11].get<std::string>();
        const std::string& text = texts.at(row[5].get<std::size_t>());
        EXPECT_TRUE(text.starts_with(here) && !here.empty()) << here;
        EXPECT_EQ(row[7].is_null(), row[11].get<std::string>().empty());
        if (row[0] != "largest") continue;
        EXPECT_LE(row[4].get<double>(), last);
        last = row[4].get<double>();
    }
    refused(headlight({"corpus", "triggers", store("a"), "--layer", "6", "--neuron", "3"}), 1, HasSubstr("0 to 5"));
}

/// The first neuron of a token has as many triggers, and as many that are the token, as its own list.
TEST_F(CorpusAsk, NeuronsOfATokenHaveItAmongTheirTriggers) {
    // layer, neuron, share, low, high, with_token, triggers, …
    const json row = asked({"triggers", store("a"), "--token", " the"}).at("rows").at(0);
    const json list = asked({"triggers", store("a"), "--layer", row[0].dump(), "--neuron", row[1].dump()});
    std::int64_t all = 0, with = 0;
    for (const json& trigger : list.at("rows")) {
        if (trigger[0] != "largest") continue;
        ++all;
        with += trigger[10] == " the";
    }
    EXPECT_GT(with, 0);
    EXPECT_EQ(row[5].get<std::int64_t>(), with);
    EXPECT_EQ(row[6].get<std::int64_t>(), all);
    refused(headlight({"corpus", "triggers", store("a"), "--token", " nosuch"}), 1, HasSubstr("No token of the corpus"));
}

TEST_F(CorpusAsk, RemovalTakesTokensFromTriggers) {
    const json one = asked({"triggers", store("a"), "--layer", "5", "--neuron", "3", "--removal", "--model", built_in_model()});
    ASSERT_FALSE(one.at("rows").empty());
    for (const json& row : one.at("rows")) {
        // rank, chunk, position, removed, removed_position, removed_token, coefficient, left, change
        EXPECT_NEAR(row[8].get<double>(), row[7].get<double>() / row[6].get<double>() - 1, 1e-6);
        if (row[3] == "last") {
            EXPECT_EQ(row[4], row[2]);
        }
    }
    const json layers =
        asked({"triggers", store("a"), "--removal", "--model", built_in_model(), "--sample", "2", "--triggers", "2"});
    ASSERT_EQ(layers.at("rows").size(), 6u);
    EXPECT_EQ(layers.at("facts").at("neurons_a_layer"), 2);
    EXPECT_EQ(headlight({"corpus", "triggers", store("a"), "--removal"}).code, 2) << "no model";
    EXPECT_EQ(headlight({"corpus", "triggers", store("a"), "--layer", "1"}).code, 2) << "no neuron";
    EXPECT_EQ(headlight({"corpus", "triggers", store("a"), "--layer", "1", "--removal", "--model", built_in_model()}).code, 2);
    const std::string tiny = test::fixture("models/gpt2");
    EXPECT_THAT(headlight({"corpus", "triggers", store("a"), "--removal", "--model", tiny}).err,
                testing::AllOf(HasSubstr("The store is of another model"), HasSubstr("novella-7m"), HasSubstr(store("a"))));
}

TEST_F(CorpusAsk, OptionsThatWouldBeIgnoredAreErrors) {
    const std::string out = (*folder / "plot.csv").string();
    const auto plot = [&](const std::vector<std::string>& words) {
        return headlight(joined({"corpus", "plot", store("a"), "--out", out}, words));
    };
    refused(plot({"--view", "corpus-distance", "--layer", "3"}), 2, HasSubstr("name the head as well"));
    done(plot({"--view", "corpus-distance", "--layer", "3", "--head", "2"}));
    EXPECT_EQ(plot({"--view", "corpus-heads", "--model", built_in_model()}).code, 2);
    for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{{"--layer", "3"},
                                                                                        {"--head", "2"},
                                                                                        {"--neuron", "1"},
                                                                                        {"--x", "entropy"},
                                                                                        {"--y", "entropy"},
                                                                                        {"--question", "heads"},
                                                                                        {"--size-mm", "85"}})
        refused(plot(joined({"--view", "corpus-heads"}, option)), 2, HasSubstr(option.front()));
    refused(plot({"--view", "corpus-scatter", "--measure", "entropy"}), 2, HasSubstr("--measure"));
    EXPECT_THAT(plot({"--view", "corpus-removal"}).err, HasSubstr("--model"));
}

TEST_F(CorpusAsk, AgreementHasItsRows) {
    const json layers = asked({"agreement", store("a")});
    ASSERT_EQ(layers.at("rows").size(), 6u);
    EXPECT_EQ(layers.at("facts").at("examples"), 16);
    const std::vector<std::string> columns = layers.at("columns");
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
    };
    for (const json& row : layers.at("rows")) {
        double sum = 0;
        for (const char* part : {"agreement", "residual", "ffn", "composition"}) sum += row[column(part)].get<double>();
        EXPECT_NEAR(sum, 1, 1e-9);
        EXPECT_LE(row[column("active_low")], row[column("active_high")]);
    }
    EXPECT_EQ(asked({"agreement", store("a"), "--rows", "values", "--model", built_in_model()}).at("rows").size(), 6u);
    EXPECT_EQ(asked({"agreement", store("a"), "--rows", "probability", "--model", built_in_model()}).at("rows").size(), 10u);
    EXPECT_EQ(
        asked({"agreement", store("a"), "--rows", "surest", "--surest", "7", "--model", built_in_model()}).at("rows").size(), 7u);
    EXPECT_EQ(headlight({"corpus", "agreement", store("a"), "--rows", "values"}).code, 2);
    refused(headlight({"corpus", "agreement", store("few")}), 1, HasSubstr("--measure agreement"));
}

TEST_F(CorpusAsk, DistancesAndMap) {
    const json pairs = asked({"distances", store("a"), "--sorted"});
    ASSERT_EQ(pairs.at("rows").size(), 48u * 47 / 2);
    EXPECT_LE(pairs.at("rows").front()[4], pairs.at("rows").back()[4]);
    EXPECT_THAT(headlight({"corpus", "distances", store("a")}).err, Not(HasSubstr("standard errors")));
    EXPECT_THAT(headlight({"corpus", "distances", store("few")}).err, HasSubstr("2 texts have 4 chunks"));
    const json map = asked({"map", store("a"), "--starts", "2"});
    EXPECT_EQ(map.at("rows").size(), 48u);
    EXPECT_GT(map.at("facts").at("relative_stress").get<double>(), 0);
}

TEST_F(CorpusAsk, AStoreDoesNotDifferFromItsTwin) {
    const json differences = asked({"compare", store("a"), store("b"), "--matched"});
    ASSERT_GT(differences.at("rows").size(), 48u);
    for (const json& row : differences.at("rows")) {
        EXPECT_EQ(row[7], 0) << row;
        EXPECT_EQ(row[1], row[3]);
        EXPECT_EQ(row[2], row[4]);
    }
    for (const json& row : asked({"compare", store("a"), store("b"), "--rows", "heads"}).at("rows")) EXPECT_EQ(row[4], 0);
    EXPECT_EQ(headlight({"corpus", "compare", store("a"), store("few")}).code, 1) << "no measures of heads there";
    const json facts = asked({"compare", store("a"), store("b")}).at("facts");
    EXPECT_EQ(facts.at("second_texts"), 4);
    EXPECT_EQ(facts.at("second_context"), facts.at("context"));
    EXPECT_EQ(facts.at("draws"), 1000);
}

}  // namespace corpus_ask_test
}  // namespace headlight
