// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/text/tokenizer.h"
#include "tests/fuzz/target_tools.h"
#include "tests/fuzz/targets.h"

#include <algorithm>

namespace headlight::test {

void fuzz_tokenizer(std::string_view content) {
    try {
        const auto tokenizer = text::Tokenizer::from_json_file(written("tokenizer.json", content));
        for (const std::string_view typed :
             {"The  doctor asked,\tthe nurse's <s>aab ab\n",
              "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac 12,345 \xf0\x9f\x99\x82 \xce\xa3\xce\x91\xce\xa3", ""}) {
            for (const bool special : {true, false}) {
                const text::Encoding made =
                    tokenizer->encode(typed, special ? std::optional<std::string_view>("b a") : std::nullopt, special);
                require(made.tokens.size() == made.ids.size() && made.offsets.size() == made.ids.size(),
                        "lists of an encoding are equally long");
                for (const auto& range : made.offsets)
                    require(range.begin <= range.end && range.end <= std::max<std::int64_t>(std::ssize(typed), 3),
                            "offsets lie inside the text");
                require(text::token_labels(*tokenizer, made).size() == made.ids.size(), "every token has a label");
                for (const std::int64_t id : made.ids) (void)tokenizer->bytes_of(id);
            }
        }
    } catch (const Error&) {
    }
}

}  // namespace headlight::test
