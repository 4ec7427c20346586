// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/json_file.h"

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::io {
namespace json_file_test {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(std::string_view text) {
    return test::error_of([&] { parse_json(text, "config.json"); });
}

TEST(Json, GivesTheSameDocumentAsTheLibrary) {
    const std::string text =
        R"({"a":[1,-2,3.5,true,null,"x\u00e9\n",[],{}],"b":{"c":[[1],[2,[3]]],"d":18446744073709551615},"e":"","":0})";
    EXPECT_EQ(parse_json(text, "x"), nlohmann::json::parse(text));
    EXPECT_EQ(parse_json(" 3 ", "x"), 3);
    for (const char* file : {"config.json", "tokenizer.json"}) {
        const auto path = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m" / file;
        EXPECT_EQ(read_json(path), nlohmann::json::parse(read_text(path)));
    }
}

TEST(Json, SaysWhereItBroke) {
    EXPECT_THAT(message_of("{\n  \"a\": nul\n}"), AllOf(HasSubstr("Broken JSON: config.json"), HasSubstr("line 2, column 11")));
    EXPECT_THAT(message_of("{\"a\":1,\n\"b\":2,\n  \"a\":3}"),
                AllOf(HasSubstr("line 3, column 5"), HasSubstr("\"a\" for the second time")));
    EXPECT_THAT(message_of(""), HasSubstr("The file is empty: config.json"));
    EXPECT_THAT(message_of("[1e999]"),
                AllOf(HasSubstr("Broken JSON"), HasSubstr("number overflow"), Not(HasSubstr("json.exception"))));
    EXPECT_THAT(message_of("\"\xc3(\""), HasSubstr("Broken JSON"));
}

TEST(Json, SameKeyInTwoObjectsIsFine) { EXPECT_EQ(message_of(R"([{"a":1},{"a":{"a":2}}])"), "no error"); }

TEST(Json, DepthIsLimited) {
    EXPECT_EQ(message_of(std::string(64, '[') + std::string(64, ']')), "no error");
    EXPECT_THAT(message_of(std::string(65, '[') + std::string(65, ']')), HasSubstr("more than 64 nested levels"));
    EXPECT_THAT(message_of(std::string(10'000'000, '[')), HasSubstr("more than 64 nested levels"));
}

}  // namespace json_file_test
}  // namespace headlight::io
