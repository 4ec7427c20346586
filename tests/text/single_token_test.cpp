// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/single_token.h"

#include "headlight/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace {

TEST(SingleToken, IdVocabularyStringTextOrWord) {
    const auto tokenizer = Tokenizer::load(std::string(HEADLIGHT_SOURCE_DIR) + "/models/novella-7m");
    const std::int64_t the = *tokenizer->id_of("Ġthe");
    EXPECT_EQ(single_token(*tokenizer, std::to_string(the), 8192), the);
    EXPECT_EQ(single_token(*tokenizer, "Ġthe", 8192), the);
    EXPECT_EQ(single_token(*tokenizer, " the", 8192), the);
    EXPECT_EQ(tokenizer->bytes_of(single_token(*tokenizer, "the", 8192)), "the") << "as typed before with a space";
    EXPECT_EQ(tokenizer->bytes_of(single_token(*tokenizer, "nurse", 8192)), " nurse") << "only behind a space one token";
    const auto message = [&](const char* typed) -> std::string {
        try {
            single_token(*tokenizer, typed, 8192);
        } catch (const Error& e) {
            return e.what();
        }
        return "nothing";
    };
    EXPECT_THAT(message("8192"), testing::AllOf(testing::HasSubstr("8191"), testing::HasSubstr("8192")));
    EXPECT_THAT(message("99999999999999999999999"), testing::HasSubstr("8191"));
    EXPECT_THAT(message("the nurse"), testing::AllOf(testing::HasSubstr("not one token"), testing::HasSubstr("nurse")));
    EXPECT_THAT(message(""), testing::HasSubstr("no token"));
}

}  // namespace
}  // namespace headlight::text
