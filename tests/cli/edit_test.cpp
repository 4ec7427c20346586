// SPDX-License-Identifier: GPL-3.0-or-later
// --edit and --recipe as a user gives them.
#include "headlight/io/safetensors.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace headlight {
namespace edit_test {

using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using test::slurp;
using test::TempFolder;
using testing::HasSubstr;

const std::string kText = "The doctor asked the nurse because she was late.";

TEST(Edits, ReachTheFileOfATrace) {
    const TempFolder folder;
    const auto file = folder / "t.safetensors";
    done(headlight({"trace", "novella-7m", "--text", kText, "--capture", "*hook_z,*hook_pattern", "--edit", "zero L3H1", "--edit",
                    "knockout L2H0 END<-1", "--out", file}));
    const io::TensorStore store = io::TensorStore::open_file(file);
    EXPECT_EQ(store.metadata().at("edits"), R"(["zero L3H1","knockout L2H0 END<-1"])");
    const io::TensorView& z = *store.find("blocks.3.attn.hook_z");
    std::vector<float> values(static_cast<std::size_t>(z.numel()));
    std::memcpy(values.data(), z.bytes.data(), z.bytes.size());
    for (std::int64_t p = 0; p < z.shape[0]; ++p)
        for (std::int64_t d = 0; d < z.shape[2]; ++d) {
            EXPECT_EQ(values[static_cast<std::size_t>((p * z.shape[1] + 1) * z.shape[2] + d)], 0.0F);
            EXPECT_NE(values[static_cast<std::size_t>((p * z.shape[1] + 2) * z.shape[2] + d)], 0.0F);
        }
    // A figure of the file says what it was made under.
    const auto figure = folder / "f.json";
    done(headlight({"render", file, "--view", "matrix", "--layer", "2", "--heads", "0", "--out", figure}));
    const auto provenance = nlohmann::json::parse(slurp(figure))["provenance"];
    EXPECT_EQ(provenance["options"]["edits"], "zero L3H1; knockout L2H0 END<-1");
    EXPECT_THAT(provenance["command"].get<std::string>(), testing::Not(HasSubstr("--edit")));
    EXPECT_EQ(headlight({"render", file, "--view", "matrix", "--edit", "zero L3H1", "--out", figure}).code, 2);
}

/// Of a text under edits A is the run without them, and the command in the file draws it again.
TEST(Edits, EachSideIsItsOwnRun) {
    const TempFolder folder;
    const auto rows = [&](const std::vector<std::string>& more) {
        const auto file = folder / "f.json";
        done(headlight(joined(
            {"render", "novella-7m", "--text", kText, "--view", "matrix", "--layer", "3", "--heads", "1", "--out", file}, more)));
        return nlohmann::json::parse(slurp(file));
    };
    const std::vector<std::string> edit = {"--edit", "uniform L3H1"};
    const auto plain = rows({}), edited = rows(edit), a = rows(joined(edit, {"--side", "a"})),
               b = rows(joined(edit, {"--side", "b"}));
    EXPECT_EQ(a["rows"], plain["rows"]);
    EXPECT_EQ(b["rows"], edited["rows"]);
    EXPECT_NE(a["rows"], b["rows"]);
    for (const auto& [side, document] : {std::pair{"a", &a}, {"b", &b}})
        EXPECT_THAT((*document)["provenance"]["command"].get<std::string>(), HasSubstr(std::string("--side ") + side));
    EXPECT_THAT(edited["provenance"]["command"].get<std::string>(), testing::Not(HasSubstr("--side")));
    EXPECT_EQ(headlight({"render", "novella-7m", "--text", kText, "--view", "compare-maps", "--edit", "uniform L3H1", "--side",
                         "a", "--out", folder / "f.png"})
                  .code,
              2)
        << "it shows both";
}

TEST(Edits, AreInTheFigureAndInItsCommand) {
    const TempFolder folder;
    const auto file = folder / "f.json", again = folder / "again.json", plain = folder / "plain.json";
    const std::vector<std::string> figure = {"render", "novella-7m", "--text", kText,     "--view",
                                             "matrix", "--layer",    "3",      "--heads", "1"};
    const auto with = [&](const std::vector<std::string>& more) { return headlight(joined(figure, more)); };
    done(with({"--edit", "uniform L3H1", "--out", file}));
    done(with({"--out", plain}));
    const auto json = nlohmann::json::parse(slurp(file));
    EXPECT_EQ(json["provenance"]["options"]["edits"], "uniform L3H1");
    EXPECT_THAT(json["provenance"]["command"].get<std::string>(), HasSubstr("--edit 'uniform L3H1'"));
    EXPECT_NE(slurp(file), slurp(plain));
    // The same from a file of the recipe.
    const auto recipe =
        folder.write("r.json", R"({"headlight":"recipe 1","edits":[{"op":"uniform","site":"pattern","where":"L3H1"},
        {"on":false,"op":"zero","site":"z","where":"L0H0"}]})");
    done(with({"--recipe", recipe, "--out", again}));
    EXPECT_EQ(slurp(again), slurp(file));
}

TEST(Edits, ChangeWhatAnAnalysisReads) {
    const std::vector<std::string> plain = {"analyze", "predictions", "novella-7m", "--text", kText, "--top", "1"};
    const std::vector<std::string> edited = joined(plain, {"--edit", "zero L5.mlp"});
    const Outcome usual = headlight(plain), other = headlight(edited);
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_NE(usual.out, other.out);
    const TempFolder folder;
    done(headlight(joined(edited, {"--out", folder / "edited.json"})));
    EXPECT_EQ(nlohmann::json::parse(slurp(folder / "edited.json"))["facts"]["edits"], "zero L5.mlp_out");
    EXPECT_EQ(headlight(joined(plain, {"--edit", "off zero L5.mlp"})).out, usual.out);
}

TEST(Edits, OfAContinuationStandBesideTheUnedited) {
    const std::vector<std::string> plain = {"generate", "novella-7m", "--text", "The old doctor", "--tokens", "8"};
    const std::vector<std::string> edited = joined(plain, {"--edit", "zero L5.mlp", "--edit", "scale L4.attn 3"});
    const std::string usual = headlight(plain).out;
    const Outcome outcome = done(headlight(edited));
    EXPECT_THAT(outcome.out, testing::StartsWith("unedited: The old doctor"));
    EXPECT_THAT(outcome.out, HasSubstr("\nedited:   The old doctor"));
    EXPECT_EQ(std::ranges::count(outcome.out, '['), 2);
    const auto json = nlohmann::json::parse(headlight(joined(edited, {"--json"})).out);
    const auto ids = json["ids"].get<std::vector<std::int64_t>>(),
               before = json["unedited"]["ids"].get<std::vector<std::int64_t>>();
    const auto at = json["first_difference"].get<std::size_t>();
    ASSERT_LT(at, ids.size());
    EXPECT_EQ(std::vector(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(at)),
              std::vector(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(at)));
    EXPECT_NE(ids[at], before[at]);
    EXPECT_EQ("The old doctor" + json["unedited"]["text"].get<std::string>() + "\n", usual);
    EXPECT_EQ(json["edits"], (std::vector<std::string>{"zero L5.mlp_out", "scale L4.attn_out 3"}));
}

TEST(Edits, AreComparedByWhatTheyDoToAPrediction) {
    const Outcome outcome = done(headlight({"analyze", "edits", "novella-7m", "--text", kText, "--edit", "zero L5.mlp", "--edit",
                                            "off zero L0H0", "--edit", "scale L4.attn 3", "--token", " and"}));
    EXPECT_THAT(outcome.out, HasSubstr("edit,on,logit_alone"));
    EXPECT_THAT(outcome.out, HasSubstr("\"off zero L0H0\",0,,,,"));
    EXPECT_EQ(headlight({"analyze", "edits", "novella-7m", "--text", kText}).code, 2);
    // A masked model answers at its mask.
    const TempFolder folder;
    const auto of_mask = folder / "mask.json";
    done(headlight({"analyze", "edits", test::fixture("models/bert-mlm"), "--text", "[MASK] the nurse", "--edit", "zero L0H0",
                    "--out", of_mask}));
    EXPECT_EQ(nlohmann::json::parse(slurp(of_mask))["facts"]["position"], 1);
}

TEST(Edits, ThatCannotBeReadNameThePlace) {
    refused(headlight({"analyze", "predictions", "novella-7m", "--text", kText, "--edit", "knokout L3H1 4<-2"}), 1,
            testing::AllOf(HasSubstr("column 1 of \"knokout L3H1 4<-2\""), HasSubstr("Did you mean \"knockout\"?")));
    EXPECT_THAT(headlight({"analyze", "predictions", "novella-7m", "--text", kText, "--edit", "zero L6H0"}).err,
                HasSubstr("0 to 5"));
    EXPECT_THAT(
        headlight({"render", "novella-7m", "--text", kText, "--view", "importance", "--edit", "zero L3H1", "--out", "x.svg"}).err,
        HasSubstr("without the edits"));
}

}  // namespace edit_test
}  // namespace headlight
