// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/npz.h"
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace headlight {
namespace compare_command_test {

using nlohmann::json;
using test::done;
using test::fixture;
using test::headlight;
using test::joined;
using test::lines_of;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;
using testing::Not;

const char *kHe = "The nurse said he was late.", *kShe = "The nurse said she was late.",
           *kThat = "The nurse said that she was late.";

TEST(CompareCommand, WritesARowForEveryHead) {
    const Outcome outcome = done(headlight({"compare", "novella-7m", "--text", kHe, "--with", kShe}));
    const auto lines = lines_of(outcome.out);
    ASSERT_EQ(lines.size(), 49u);
    EXPECT_EQ(lines[0], "layer,head,js,js_max,tv,z_cosine,z_relative_l2");
    EXPECT_THAT(lines[1], testing::StartsWith("0,0,"));
}

TEST(CompareCommand, ATextWithItselfHasNoDistance) {
    const Outcome outcome = done(headlight({"compare", "novella-7m", "--text", kHe, "--with", kHe}));
    for (const std::string& line : lines_of(outcome.out)) {
        if (line.starts_with("layer")) continue;
        EXPECT_THAT(line, testing::EndsWith(",0,0,0,1,0"));
    }
}

TEST(CompareCommand, MeasuresAndMapsComeOnRequest) {
    const TempFolder folder;
    const std::string file = folder / "heads.json", npz = folder / "heads.npz";
    Outcome outcome = headlight({"compare", "novella-7m", "--text", kHe, "--with", kThat, "--measures", "--out", file});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json read = test::read_result(file);
    EXPECT_THAT(read["columns"].get<std::vector<std::string>>(), testing::Contains("entropy_difference"));
    EXPECT_EQ(read["facts"]["other_text"], kThat);
    EXPECT_EQ(read["facts"]["tokens_of_a_alone"], 1);
    // " he" against " that she": three rows of one text alone, which have no difference.
    const std::size_t rows = read["query_tokens"].size();
    ASSERT_EQ(read["difference"].size(), 48u);
    ASSERT_EQ(read["difference"][0].size(), rows);
    int empty = 0;
    for (const json& row : read["difference"][0]) empty += row[0].is_null();
    EXPECT_EQ(empty, 3);
    outcome = headlight({"compare", "novella-7m", "--text", kHe, "--with", kThat, "--out", npz});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const io::NpzContent content = io::read_npz(npz);
    EXPECT_EQ(content.arrays.at("difference").shape,
              (std::vector<std::int64_t>{48, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(rows)}));
    EXPECT_EQ(content.texts.at("query_tokens").size(), rows);
}

TEST(CompareCommand, ATokenInPlaceOfAnotherStandsForIt) {
    const TempFolder folder;
    const std::string file = folder / "heads.json";
    done(headlight({"compare", "novella-7m", "--text", kHe, "--with", kShe, "--out", file}));
    const json read = test::read_result(file);
    EXPECT_EQ(read["facts"]["tokens_of_a_alone"], 0);
    EXPECT_THAT(read["query_tokens"].get<std::vector<std::string>>(), testing::Contains("\u00b7he/\u00b7she"));
}

TEST(CompareCommand, EditsAreOfB) {
    const Outcome outcome = done(headlight({"compare", "novella-7m", "--text", kHe, "--edit", "zero L2H3"}));
    // Nothing changes up to the head; its own pattern is as it was, what it puts together is gone.
    const auto lines = lines_of(outcome.out);
    for (std::size_t row = 1; row <= 24; ++row)
        EXPECT_THAT(lines[row], testing::HasSubstr(row == 20 ? ",0,0,0,,1" : ",0,0,0,1,0"));
    EXPECT_THAT(lines[25], Not(testing::EndsWith(",0,0,0,1,0")));
    const TempFolder folder;
    const std::string file = folder / "d.svg";
    done(headlight({"render", "novella-7m", "--text", kHe, "--edit", "zero L2H3", "--view", "matrix", "--layer", "4", "--head",
                    "5", "--side", "difference", "--out", file}));
    EXPECT_THAT(test::slurp(file), HasSubstr("--edit 'zero L2H3'"));
}

TEST(CompareCommand, LayersMatchingAndWeights) {
    Outcome outcome =
        headlight({"compare", "novella-7m", "--text", kHe, "--with", kShe, "--of", "layers", "--similarity", "rsa"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(lines_of(outcome.out).size(), 50u);
    EXPECT_THAT(outcome.err, HasSubstr("position 0 is left out"));
    outcome = headlight({"compare", fixture("models/gpt2"), "--other", fixture("models/gpt2-untied"), "--text", "The cat asked.",
                         "--of", "match"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(lines_of(outcome.out)[0], "layer,head,partner_layer,partner_head,js");
    outcome = headlight({"compare", fixture("models/gpt2"), "--other", fixture("models/gpt2"), "--of", "weights"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(lines_of(outcome.out)[1], testing::EndsWith(",0,1"));
    EXPECT_THAT(outcome.out, HasSubstr("\"QK\",1,1,"));
}

TEST(CompareCommand, ReportsWhatCannotBeCompared) {
    const auto fails = [](const std::vector<std::string>& arguments, int code, const std::string& says) {
        refused(headlight(joined({"compare"}, arguments)), code, HasSubstr(says));
    };
    fails({"novella-7m", "--text", kHe}, 2, "something to compare with");
    fails({"novella-7m", "--text", "Yes", "--with", "Nurse"}, 1, "The two texts have no token in common");
    const std::string gpt2 = fixture("models/gpt2"), bert = fixture("models/bert"), vit = fixture("models/vit");
    fails({gpt2, "--other", fixture("models/gpt2-untied"), "--text", "The cat asked."}, 1, "2 layers of 4 heads");
    // An encoder beside a decoder: heads have no common numbers, and --match says what is alike.
    fails({gpt2, "--other", bert, "--text", "The cat asked."}, 1, "--match");
    const Outcome matched = done(headlight({"compare", gpt2, "--other", bert, "--text", "The cat asked.", "--match"}));
    EXPECT_THAT(matched.err, HasSubstr("different tokenizers"));
    fails({gpt2, "--other", bert, "--of", "weights"}, 1, "two architectures");
    fails({gpt2, "--other", gpt2, "--of", "weights", "--edit", "zero L0H0"}, 2, "not the weights");
    fails({gpt2, "--other", vit, "--text", "The cat asked."}, 1, "picture");
}

TEST(CompareCommand, PairsGiveTheMeanDifferenceOfEveryHead) {
    const TempFolder folder;
    const std::string pairs = folder / "pairs.jsonl", file = folder / "heads.json";
    {
        std::ofstream out(pairs);
        for (const char* one : {"nurse", "doctor", "clerk", "cook", "judge"})
            out << R"({"a": "The )" << one << R"( said he was late.", "b": "The )" << one
                << R"( said she was late.", "from": {"a": "he", "b": "she"}, "to": ")" << one << "\"}\n";
        out << R"({"a": "The king said he was late.", "b": "The king said she was late.", "from": "queen", "to": "king"})"
            << "\n";
    }
    const Outcome outcome = done(headlight({"compare", "novella-7m", "--pairs", pairs, "--by", "entropy", "--out", file}));
    EXPECT_THAT(outcome.err, HasSubstr("skipped line 6"));
    const json read = test::read_result(file);
    EXPECT_EQ(read["rows"].size(), 48u);
    EXPECT_EQ(read["facts"]["pairs"], 5);
    EXPECT_EQ(read["facts"]["skipped_pairs"], 1);
    EXPECT_THAT(read["columns"].get<std::vector<std::string>>(),
                testing::IsSupersetOf({"tv_low", "attention_difference", "attention_difference_low", "entropy_b_high"}));
    for (const char* ending : {"svg", "npz"})
        done(headlight({"compare", "novella-7m", "--pairs", pairs, "--out", folder / ("heads." + std::string(ending))}));
    EXPECT_THAT(test::slurp(folder / "heads.svg"), HasSubstr("headlight compare novella-7m --pairs"));
    refused(headlight({"compare", "novella-7m", "--pairs", pairs, "--with", kShe}), 2, HasSubstr("--with"));
    refused(headlight({"compare", "novella-7m", "--pairs", pairs, "--by", "entropi"}), 1, HasSubstr("entropy"));
    refused(headlight({"compare", "novella-7m", "--text", kHe, "--with", kShe, "--out", folder / "x.svg"}), 2,
            HasSubstr("--pairs"));
}

TEST(CompareCommand, DrawsBothRunsAndTheirDifference) {
    const TempFolder folder;
    const auto drawn = [&](const std::vector<std::string>& more) {
        const std::string file = folder / "figure.svg";
        done(headlight(joined({"render", "novella-7m", "--text", kHe, "--with", kShe, "--out", file}, more)));
        return test::slurp(file);
    };
    for (const char* view : {"compare-heads", "compare-maps", "compare-head", "compare-layers"}) {
        const std::string svg = drawn({"--view", view});
        EXPECT_THAT(svg, HasSubstr("she was late")) << view;  // the command that draws it again
    }
    for (const char* view : {"head", "matrix", "model", "lens", "predictions", "attribution", "mlp", "focus-1"})
        EXPECT_THAT(drawn({"--view", view, "--side", "difference", "--layer", "4", "--head", "5"}),
                    HasSubstr("--side difference"))
            << view;
    refused(headlight({"render", "novella-7m", "--text", kHe, "--with", kShe, "--view", "reach", "--side", "difference", "--out",
                       folder / "n.svg"}),
            1, HasSubstr("cannot show a difference"));
    refused(headlight({"render", "novella-7m", "--text", kHe, "--view", "compare-maps", "--out", folder / "n.svg"}), 1,
            HasSubstr("compares two runs"));
}

}  // namespace compare_command_test
}  // namespace headlight
