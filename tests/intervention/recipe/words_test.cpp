// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/words.h"

#include "headlight/base/error.h"
#include "tests/support/error_of.h"

#include <gtest/gtest.h>

#include <string>

namespace headlight::intervention {
namespace words_test {

TEST(EditWords, ReadAsTyped) {
    const Edit zero = parse_edit("zero L9H6");
    EXPECT_EQ(zero.operation, Operation::zero);
    EXPECT_EQ(zero.site, Site::z);
    EXPECT_EQ(zero.where, (std::vector<Place>{{{{9, 9}}, {{6, 6}}}}));

    EXPECT_EQ(parse_edit("zero L3.mlp").site, Site::mlp_out);
    EXPECT_EQ(parse_edit("zero L3N512").site, Site::post);
    const Edit edge = parse_edit("set L7-8H0,3 END-2<-IO 0.8");
    EXPECT_EQ(edge.site, Site::pattern);
    EXPECT_EQ(edge.where, (std::vector<Place>{{{{7, 8}}, {{0, 0}, {3, 3}}}}));
    ASSERT_TRUE(edge.edges);
    EXPECT_EQ(edge.edges->queries.front().first, (PositionName{"END", -2}));
    EXPECT_EQ(edge.edges->keys.front().first, (PositionName{"IO", 0}));
    EXPECT_EQ(edge.value, 0.8);
    const Edit patch = parse_edit(R"(patch L9H6.z from "She said \"no\"" @12-14,punctuation)");
    EXPECT_EQ(patch.source.what, "She said \"no\"");
    EXPECT_EQ(patch.positions.at(0).last.offset, 14);
    EXPECT_EQ(patch.positions.at(1).of_class, TokenClass::punctuation);
    const Edit add = parse_edit("add L6.resid_post he_she.npz 0.4 norm @END");
    EXPECT_EQ(add.source.from, From::file);
    EXPECT_EQ(add.unit, Unit::norm);
    EXPECT_EQ(parse_edit("knockout cross.L1H0 3<-2").stack, model::Stack::cross);
    EXPECT_TRUE(parse_edit("scale L2G1.v 0").groups);
    EXPECT_FALSE(parse_edit("scale L2H1.v 0").groups);
}

TEST(EditWords, GoRound) {
    for (const char* words : {"zero L9H6",
                              "zero L9H6 without value bias",
                              "zero L3.mlp_out",
                              "zero L3N512",
                              "zero L9H6 @4",
                              "off zero L9H6",
                              "zero L7-8 where \"induction < 0.2\"",
                              "zero z where \"induction < 0.2\"",
                              "mean L9H6",
                              "mean L9H6,L10H0-2,5 without first",
                              "mean L9H6 over \"texts.txt\"",
                              "mean L7-8.attn_out over \"abc.jsonl\" per position @S2",
                              "resample L9H6 over \"texts.txt\"",
                              "scale L9H6 2",
                              "scale L2G1.v -0.5",
                              "knockout L9H6 12<-4",
                              "knockout L9H6 END<-IO",
                              "knockout pattern *<-0",
                              "set L9H6 12<-4 0.8",
                              "write L9H6 10-12,14<-4 0.2",
                              "temperature L9H6 0.5",
                              "uniform L9H6",
                              "diagonal L9H6 @3",
                              "previous L9H6",
                              "first L9",
                              "swap L9H6 L9H7",
                              "clamp L3N512 4",
                              "add L6.resid_post \"v.npz\" 4 @12",
                              "add L6.resid_post \"v.npz\" 0.4 norm",
                              "add L6.resid_post token \" Mary\" 4",
                              "add L6.resid_post neuron L3N5 4",
                              "add L6.resid_post ov L9H6.0 4",
                              "add L6.resid_post difference @12 @4-6 1",
                              "project L6.resid_post \"v.npz\"",
                              "direct L6.resid_post \"v.npz\" 0.1",
                              "patch L9H6 from \"A \\\"text\\\"\" @12",
                              "patch L4.resid_pre from \"TEXT\"",
                              "patch encoder.L0H1.q from \"TEXT\"",
                              "patch cross.L0H1 from \"SOURCE\" to \"TARGET\"",
                              "freeze pattern from \"TEXT\"",
                              "freeze norm",
                              "freeze mlp_out from \"TEXT\"",
                              "freeze L3-5.pattern",
                              "forbid L3E2",
                              "force L3E2 @5"}) {
        const Edit edit = parse_edit(words);
        EXPECT_EQ(words_of(edit), words);
        EXPECT_EQ(parse_edit(words_of(edit)), edit);
    }
    // What a person may leave out.
    EXPECT_EQ(words_of(parse_edit("zero  L3.mlp ")), "zero L3.mlp_out");
    EXPECT_EQ(words_of(parse_edit("patch L9H6.z from \"TEXT\"")), "patch L9H6 from \"TEXT\"");
    EXPECT_EQ(words_of(parse_edit("zero where induction<0.2")), "zero z where \"induction<0.2\"");
}

TEST(EditWords, UnreadableOnesNameThePlaceAndTheNearestRightWord) {
    const auto says = [](const char* words, const std::vector<std::string>& parts) {
        const std::string error = test::error_of([&] { parse_edit(words); });
        for (const std::string& part : parts) EXPECT_NE(error.find(part), std::string::npos) << words << " -> " << error;
    };
    says("knokout L9H6 12<-4", {"column 1 ", "Did you mean \"knockout\"?"});
    says("zero L9.mpl_out", {"column 9 ", "Did you mean \"mlp_out\"?"});
    says("zero L9H", {"column 9 ", "a number"});
    says("zero L9", {"column 6 ", "needs a site"});
    says("zero 9H6", {"column 6 ", "L3H5"});
    says("zero L9H6 @5-", {"column 14 "});
    says("zero L8-7H1", {"before it begins"});
    says("zero L9H6,L9N5", {"All units of an edit must be of one kind"});
    says("zero L9H99999999999", {"too large"});
    says("mean L9H6 ovr x.txt", {"column 11 ", "Did you mean \"over\"?"});
    says("knockout L9H6", {"an edge such as 12<-4", "the end"});
    says("knockout L9H6 12<-4 @3", {"An edge already names its positions"});
    says("set L9H6 12<-4", {"a number"});
    says("set L9H6 12<-4 1.5", {"0 to 1"});
    says("scale L9H6 nan", {"column 12 "});
    says("temperature L9H6 0", {"more than 0"});
    says("clamp L3.pattern 4", {"clamp does not apply to attention weights"});
    says("knockout L3N5 1<-0", {"a head such as L3H5"});
    says("patch L9H6", {"from \"TEXT\""});
    says("patch L9H6 from \"TEXT", {"column 17 ", "never closed"});
    says("patch L9H6 from nosuch", {"column 17 ", "without its quotation marks", "quotation marks: \"nosuch\""});
    says("freeze L9.attn from \"a\" to b", {"column 28 ", "without its quotation marks"});
    says("add L9.resid_post 2 token are", {"column 27 ", "without its quotation marks"});
    says("add L6.resid_post 4", {"a direction"});
    says("zero norm", {"does not apply to a norm's scale"});
    says("", {"an operation", "the end"});
}

}  // namespace words_test
}  // namespace headlight::intervention
