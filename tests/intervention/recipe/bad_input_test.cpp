// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/npz.h"
#include "headlight/text/alignment.h"
#include "tests/intervention/recipe/edited.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace headlight::intervention {
namespace bad_input_test {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const Fixture& f, const std::string& words, Recipe recipe = {}) {
    return test::error_of([&] { f.edited({words}, std::move(recipe)); });
}

TEST(BadEdits, NameTheEditAndWhatTheModelHas) {
    const Fixture f("models/gpt2");
    const std::string heads = "0 to " + std::to_string(f.config().n_heads - 1), tokens = std::to_string(f.plain()->tokens());
    EXPECT_THAT(error_of(f, "zero L99H0"), AllOf(HasSubstr("no such layer"), HasSubstr("99"), HasSubstr("zero L99H0")));
    EXPECT_THAT(error_of(f, "zero L0H99"), AllOf(HasSubstr("no such head"), HasSubstr(heads)));
    EXPECT_THAT(error_of(f, "zero L0N99999"), HasSubstr("no such neuron"));
    EXPECT_THAT(error_of(f, "zero L0H0 @" + tokens), AllOf(HasSubstr("no such position"), HasSubstr(tokens)));
    EXPECT_THAT(error_of(f, "knockout L0H0 0<-" + tokens), HasSubstr("no such position"));
    EXPECT_THAT(error_of(f, "zero L0H0 @IQ", {.names = {{"IO", 1}}}),
                AllOf(HasSubstr("no position of this name"), HasSubstr("IO")));
    EXPECT_THAT(error_of(f, "forbid L0E0"), HasSubstr("no such"));
    EXPECT_THAT(error_of(f, "zero encoder.L0H0"), HasSubstr("one attention"));
    EXPECT_THAT(error_of(f, "zero L0.rot_q"), HasSubstr("no such site"));
    EXPECT_THAT(error_of(f, "swap L0H0 L1H1"), HasSubstr("the same layer"));
    EXPECT_THAT(error_of(f, "zero L0-1 where \"layer > 90\""), HasSubstr("No head matches"));
    EXPECT_THAT(error_of(f, "patch L0H0 from \"qqq\""), HasSubstr("counterpart"));
    EXPECT_THAT(error_of(f, "set L0H0 3<-0-2 0.5"), HasSubstr("sum to more than 1"));
    EXPECT_THAT(error_of(f, "zero L0H0", {.model = "another", .sha256 = "123456"}),
                AllOf(HasSubstr("another model"), HasSubstr("another (123456)"), HasSubstr("gpt2")));
}

TEST(BadEdits, NameWhatIsWrongWithADirection) {
    const Fixture f("models/gpt2");
    const test::TempFolder folder;
    const auto write = [&](const char* name, const std::vector<double>& v) {
        io::write_npz(folder / name, {{"v", io::DType::F64, {std::ssize(v)}, std::as_bytes(std::span(v))}}, {});
        return "add L0.resid_post \"" + (folder / name).string() + "\" 1";
    };
    const std::int64_t d = f.config().d_model;
    EXPECT_THAT(error_of(f, write("narrow.npz", {1, 2, 3})),
                AllOf(HasSubstr("another width"), HasSubstr(std::to_string(d)), HasSubstr("3")));
    std::vector<double> v(static_cast<std::size_t>(d), 1.0);
    v[5] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(error_of(f, write("nan.npz", v)), AllOf(HasSubstr("not finite"), HasSubstr("index 5")));
    EXPECT_THAT(error_of(f, write("zeros.npz", std::vector<double>(static_cast<std::size_t>(d)))), HasSubstr("length 0"));
    EXPECT_THAT(error_of(f, "project L0.resid_post difference @2 @2"), HasSubstr("length 0"));
    EXPECT_THAT(error_of(f, "add L0.resid_post difference @2 @2 0.4 norm"), HasSubstr("length 0"));
    EXPECT_THAT(error_of(f, "add L0.resid_post \"/nowhere/v.npz\" 1"), HasSubstr("/nowhere/v.npz"));
    EXPECT_THAT(error_of(f, "add L0.resid_post token \" nurse asked the\" 1"), HasSubstr("more than one token"));
    EXPECT_THAT(error_of(f, "mean L0H0 over \"" + folder.write("short.txt", "the nurse\n").string() + "\" per position"),
                AllOf(HasSubstr("one length"), HasSubstr("text 1")));
    EXPECT_THAT(error_of(f, "resample L0H0 over \"" + folder.write("same.txt", std::string(kText) + "\n").string() + "\""),
                HasSubstr("No other text"));
}

TEST(Positions, AreNamedAndCountedFromTheEnd) {
    const Fixture f("models/gpt2");
    const std::int64_t end = f.plain()->tokens() - 1;
    const at::Tensor by_number = output_of(f.edited({"zero L0H0 @" + std::to_string(end - 1)}));
    EXPECT_TRUE(at::equal(output_of(f.edited({"zero L0H0 @END-1"})), by_number));
    EXPECT_TRUE(at::equal(output_of(f.edited({"zero L0H0 @S2+1"}, {.names = {{"S2", end - 2}}})), by_number));
    EXPECT_EQ(trace::edits_of(*f.edited({"zero L0H0 @S2+1"}, {.names = {{"S2", end - 2}}})),
              (std::vector<std::string>{"zero L0H0 @" + std::to_string(end - 1)}));
    EXPECT_FALSE(at::equal(output_of(f.edited({"zero L0H0"})), by_number));
    EXPECT_TRUE(at::equal(output_of(f.edited({"add L0.resid_post difference @S2 @1 2"}, {.names = {{"S2", end - 2}}})),
                          output_of(f.edited({"add L0.resid_post difference @" + std::to_string(end - 2) + " @1 2"}))));
    // A masked model answers at its mask.
    const Fixture masked("models/bert-mlm");
    if (!masked.tokenizer->mask_id()) return;
    Fixture with_mask("models/bert-mlm");
    with_mask.prompt.text = "the [MASK] asked";
    const auto ids = with_mask.tokenizer->encode(with_mask.prompt.text).ids;
    const auto at = std::ranges::find(ids, *masked.tokenizer->mask_id()) - ids.begin();
    EXPECT_TRUE(at::equal(output_of(with_mask.edited({"zero L0H0 @END"})),
                          output_of(with_mask.edited({"zero L0H0 @" + std::to_string(at)}))));
}

TEST(Patching, AlignsTextsOfOtherLengths) {
    const Fixture f("models/gpt2");
    const char* longer = "the nurse asked the very old nurse";
    const auto there = f.plain(longer);
    const auto here = f.plain();
    ASSERT_GT(there->tokens(), here->tokens());
    const std::int64_t shift = there->tokens() - here->tokens(), last = here->tokens() - 1;
    const auto out = f.edited({std::string("patch L0H0 from \"") + longer + "\""});
    const at::Tensor z = at_hook(out, Hook::z).select(1, 0), donor = at_hook(there, Hook::z).select(1, 0);
    EXPECT_LT(relative(z[1], donor[1]), 1e-12);
    EXPECT_LT(relative(z[last], donor[last + shift]), 1e-12);
    // Aligned edges of a pattern; the rest of the row makes up for them.
    const auto pattern =
        at_hook(f.edited({std::string("patch L0H0.pattern from \"") + longer + "\" @END"}), Hook::pattern)[0][last];
    EXPECT_LT(relative(pattern[1], at_hook(there, Hook::pattern)[0][last + shift][1]), 1e-12);
    EXPECT_EQ(trace::edits_of(*out).size(), 1u);
}

TEST(Patching, CountsSelectedTokensWithoutAPartner) {
    const Fixture f("models/gpt2");
    const std::string shorter = "the nurse";
    const auto there = f.plain(shorter), here = f.plain();
    ASSERT_LT(there->tokens(), here->tokens());
    const auto from = text::align_positions(here->encoding().tokens, there->encoding().tokens);
    const auto alone = std::ranges::count(from, -1);
    ASSERT_GT(alone, 0);
    const std::string count = std::to_string(alone) + " of " + std::to_string(here->tokens()) + " selected tokens";
    for (const char* what : {"L0H0", "L0H0.pattern", "L0.mlp"}) {
        const auto out = f.edited({std::string("patch ") + what + " from \"" + shorter + "\""});
        EXPECT_THAT(out->info().warnings, testing::Contains(testing::HasSubstr(count))) << what;
    }
    const auto every_layer = f.edited({"patch mlp_out from \"" + shorter + "\""});
    EXPECT_EQ(std::ranges::count_if(every_layer->info().warnings,
                                    [](const std::string& note) { return note.find("no partner") != std::string::npos; }),
              1)
        << "one note for all layers";
    for (const std::string& edit : {std::string("patch L0H0 from \"") + shorter + "\" @END", std::string("zero L0H0")})
        EXPECT_THAT(f.edited({edit})->info().warnings, testing::Not(testing::Contains(testing::HasSubstr("no partner"))));
}

/// The continuation of a text one token at a time, with keys and values kept, is that of whole passes.
TEST(Generation, EachNewTokenIsThatOfAWholePassUnderTheRecipe) {
    for (const char* name :
         {"models/gpt2", "models/llama-kv2", "models/mistral", "models/gpt-oss", "models/bloom", "models/deepseek-v3"}) {
        const Fixture f(name);
        for (const std::vector<std::string>& words :
             std::vector<std::vector<std::string>>{{"zero L0H0", "scale L1.mlp 3"},
                                                   {"uniform L0", "temperature L1 0.5"},
                                                   {"knockout L0 END<-1", "write L1H0 *<-0 0.4", "previous L1H1"},
                                                   {"zero L1.attn @END"},
                                                   {"freeze norm @1"}}) {
            Recipe recipe = recipe_of(words);
            const auto prompt = f.tokenizer->encode(f.prompt.text).ids;
            Sources sources(f.model, f.tokenizer, f.prompt);
            const auto made = generate_under(sources, recipe, prompt, {.tokens = 4}).made.ids;
            // Positions of the recipe are the prompt's.
            for (Edit& edit : recipe.edits) edit = resolved(edit, {.names = {{"END", std::ssize(prompt) - 1}}});
            std::vector<std::int64_t> ids = prompt;
            for (const std::int64_t id : made) {
                Sources whole(f.model, f.tokenizer, {.add_special_tokens = false, .ids = ids});
                const auto run = run_recipe(whole, recipe);
                EXPECT_EQ(output_of(run)[run->tokens() - 1].argmax().item<std::int64_t>(), id) << name << " " << words[0];
                ids.push_back(id);
            }
        }
    }
}

}  // namespace bad_input_test
}  // namespace headlight::intervention
