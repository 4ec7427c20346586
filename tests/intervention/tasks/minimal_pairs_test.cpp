// SPDX-License-Identifier: GPL-3.0-or-later
// Minimal pairs against transformers, on the built-in model.
#include "headlight/intervention/tasks/minimal_pairs.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/trace.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace headlight::intervention {
namespace minimal_pairs_test {

namespace fs = std::filesystem;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
const fs::path kSource = HEADLIGHT_SOURCE_DIR;

TEST(MinimalPairs, LikelihoodsAreThoseOfTransformers) {
    const auto model = model::Model::load(kSource / "models/novella-7m", {.dtype = model::ComputeType::float64});
    const auto tokenizer = trace::load_tokenizer(kSource / "models/novella-7m");
    const test::TempFolder folder;
    std::string lines;
    std::int64_t preferred = 0, first = 0;
    double difference = 0;
    const nlohmann::json golden = io::read_json(kSource / "tests/golden/minimal_pairs.json");
    for (const nlohmann::json& pair : golden) {
        std::vector<SentenceLikelihood> both;
        for (const std::size_t i : {0, 1}) {
            both.push_back(likelihood_of(*model, *tokenizer, pair[i == 0 ? "good" : "bad"].get<std::string>()));
            EXPECT_NEAR(both[i].sum(), pair["log_p"][i].get<double>(), 1e-5);
        }
        const auto at = static_cast<std::size_t>(std::ranges::mismatch(both[0].ids, both[1].ids).in1 - both[0].ids.begin());
        first += both[0].tokens[at] > both[1].tokens[at];
        preferred += pair["log_p"][0] > pair["log_p"][1];
        difference += (pair["log_p"][0].get<double>() - pair["log_p"][1].get<double>()) / static_cast<double>(golden.size());
        lines += nlohmann::json{{"sentence_good", pair["good"]}, {"sentence_bad", pair["bad"]}, {"UID", "some"}}.dump() + "\n";
    }
    const auto paradigm = read_paradigm(folder.write("p.jsonl", lines));
    const ParadigmResult r = run_paradigm(paradigm, *model, *tokenizer);
    EXPECT_EQ(r.name, "some");
    EXPECT_EQ(r.pairs, std::ssize(golden));
    const auto share = [&](std::int64_t n) { return static_cast<double>(n) / static_cast<double>(golden.size()); };
    EXPECT_EQ(r.accuracy.mean, share(preferred));
    EXPECT_EQ(r.first_token.mean, share(first));
    EXPECT_GT(preferred, 0);
    EXPECT_LT(r.accuracy.low, r.accuracy.mean);
    EXPECT_NEAR(r.difference, difference, 1e-5);
    const analyze::Table one = table_of({r}), two = table_of({r, r});
    EXPECT_EQ(one.rows.size(), 1u);
    ASSERT_EQ(two.rows.size(), 3u);
    EXPECT_EQ(std::get<std::string>(two.rows.back().front()), "mean");
    // Without a beginning token the first one is given.
    const auto plain = model::Model::load(kSource / "tests/fixtures/models/gpt2");
    const auto words = trace::load_tokenizer(kSource / "tests/fixtures/models/gpt2");
    const SentenceLikelihood given = likelihood_of(*plain, *words, "the nurse asked");
    if (!words->id_of("<|endoftext|>")) {
        EXPECT_EQ(given.tokens.front(), 0);
    }
    EXPECT_LT(given.tokens.back(), 0);
}

TEST(MinimalPairs, ErrorsNameFileLineAndField) {
    const test::TempFolder folder;
    const fs::path lacks = folder.write("lacks.jsonl",
                                        "{\"sentence_good\": \"a\", \"sentence_bad\": \"b\"}\n{\"sentence_good\": \"a\"}\n"),
                   number = folder.write("number.jsonl", "{\"sentence_good\": 3, \"sentence_bad\": \"b\"}\n"),
                   list = folder.write("list.jsonl", "[1]\n");
    EXPECT_THAT(error_of([&] { read_paradigm(lacks); }),
                AllOf(HasSubstr("lacks.jsonl"), HasSubstr("line 2, sentence_bad"), HasSubstr("nothing")));
    EXPECT_THAT(error_of([&] { read_paradigm(number); }), AllOf(HasSubstr("line 1, sentence_good"), HasSubstr("3")));
    EXPECT_THAT(error_of([&] { read_paradigm(list); }), HasSubstr("not a JSON object"));
    EXPECT_EQ(read_paradigm(folder.write("name.jsonl", "{\"sentence_good\": \"a\", \"sentence_bad\": \"b\"}\n")).name, "name");
    EXPECT_EQ(paradigm_files({folder.path().string()}).size(), 4u);
    fs::create_directory(folder / "empty");
    EXPECT_THAT(error_of([&] { paradigm_files({(folder / "empty").string()}); }), HasSubstr("*.jsonl"));
    const auto masked = model::Model::load(kSource / "tests/fixtures/models/bert-mlm");
    const auto tokenizer = trace::load_tokenizer(kSource / "models/novella-7m");
    EXPECT_THAT(error_of([&] { likelihood_of(*masked, *tokenizer, "the nurse"); }), HasSubstr("no probability"));
}

}  // namespace minimal_pairs_test
}  // namespace headlight::intervention
