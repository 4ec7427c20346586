// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/gather/gather.h"

#include "headlight/base/error.h"
#include "headlight/map/pictures.h"
#include "headlight/trace/tensors.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight::map {
namespace {

using corpus::OpenedModel;

OpenedModel fixture(const std::string& name) { return corpus::opened(corpus::fixture_model(name)); }

std::vector<corpus::Text> lines(const std::vector<std::string>& texts) {
    std::vector<corpus::Text> out;
    for (const std::string& text : texts) out.push_back({.id = "line " + std::to_string(out.size() + 1), .text = text});
    return out;
}

TEST(ChooseTexts, TakesWholeTextsInTheSeedsOrderUntilTheBudgetIsFull) {
    const auto ten = [](std::int64_t) { return std::int64_t{10}; };
    const ChosenTexts a = choose_texts(100, ten, 55, 1), b = choose_texts(100, ten, 55, 2);
    EXPECT_EQ(a.texts.size(), 5u);
    EXPECT_EQ(a.tokens, 50);
    EXPECT_EQ(a.left_out, 95);
    EXPECT_TRUE(std::ranges::is_sorted(a.texts));
    EXPECT_EQ(a.texts, choose_texts(100, ten, 55, 1).texts);
    EXPECT_NE(a.texts, b.texts);
    EXPECT_EQ(choose_texts(100, ten, 0, 1).texts.size(), 100u);
    // A long text is left out, whichever place it has; the shorter ones are not.
    EXPECT_EQ(choose_texts(
                  3, [](std::int64_t t) { return t == 1 ? std::int64_t{1000} : 10; }, 55, 1)
                  .texts,
              (std::vector<std::int64_t>{0, 2}));
}

TEST(ChooseTexts, OfTextsLongerThanTheBudgetIsAnError) {
    const auto longer = [](std::int64_t t) { return 3000 + t; };
    EXPECT_THAT(corpus::error_of([&] { choose_texts(2, longer, 2500, 0); }), testing::HasSubstr("3,000 in the shortest text"));
}

TEST(Gather, GivesQueriesAndKeysOfEveryHeadTextByText) {
    const OpenedModel gpt2 = fixture("gpt2");
    const auto texts = lines({"The doctor asked the nurse.", "A nurse was late."});
    const auto found = gather_texts(gpt2.model, gpt2.tokenizer, texts);
    const model::ModelConfig& c = gpt2.model->config();
    ASSERT_EQ(std::ssize(found->heads), c.n_layers * c.n_heads);
    std::int64_t at = 0;
    for (std::size_t t = 0; t < texts.size(); ++t) {
        const auto run = trace::run(gpt2.model, gpt2.tokenizer, {.text = texts[t].text});
        for (const HeadVectors& head : found->heads)
            for (const model::Hook hook : {model::Hook::q, model::Hook::k}) {
                const at::Tensor wanted = trace::tensor(*run, {hook, head.layer}).select(1, head.head.value).contiguous();
                const Rows rows = hook == model::Hook::q ? head.query_rows() : head.key_rows();
                for (std::int64_t i = 0; i < run->tokens(); ++i)
                    for (std::int64_t d = 0; d < head.width; ++d)
                        ASSERT_NEAR(rows.row(at + i)[d], wanted[i][d].item<float>(), 1e-6);
            }
        for (std::int64_t i = 0; i < run->tokens(); ++i) {
            const auto token = static_cast<std::size_t>(at + i);
            EXPECT_EQ(found->tokens.text[token], static_cast<std::int32_t>(t));
            EXPECT_EQ(found->tokens.position[token], i);
            EXPECT_EQ(found->tokens.apart[token], i == 0 ? 1 : 0);
        }
        at += run->tokens();
    }
    EXPECT_EQ(std::ssize(found->tokens.tokens), at);
    EXPECT_EQ(found->tokens.names[1], "A nurse was late.");
}

TEST(Gather, OfRotaryModelsIsTheScoreAtDistanceZeroBeforeTheRotation) {
    const OpenedModel llama = fixture("llama-kv2");
    const auto texts = lines({"The doctor asked the nurse."});
    const auto before = gather_texts(llama.model, llama.tokenizer, texts),
               behind = gather_texts(llama.model, llama.tokenizer, texts, {.rotated = true});
    EXPECT_FALSE(before->rotated);
    EXPECT_TRUE(behind->rotated);
    const auto product = [](const HeadVectors& head, std::int64_t i, std::int64_t j) {
        double sum = 0;
        for (std::int64_t d = 0; d < head.width; ++d)
            sum += static_cast<double>(head.query_rows().row(i)[d]) * static_cast<double>(head.key_rows().row(j)[d]);
        return sum;
    };
    double moved = 0;
    for (std::size_t h = 0; h < before->heads.size(); ++h)
        for (std::int64_t i = 1; i < before->heads[h].query_rows().count; ++i) {
            EXPECT_NEAR(product(before->heads[h], i, i), product(behind->heads[h], i, i), 1e-4);
            moved = std::max(moved, std::abs(product(before->heads[h], i, 0) - product(behind->heads[h], i, 0)));
        }
    EXPECT_GT(moved, 1e-3) << "the rotation changes scores at other distances";
    // Grouped queries: the heads of a group have the same keys, not a copy.
    const std::int64_t group = llama.model->config().n_heads / llama.model->config().n_kv_heads;
    ASSERT_GT(group, 1);
    EXPECT_EQ(before->heads[0].keys, before->heads[1].keys);
    EXPECT_NE(before->heads[0].keys, before->heads[static_cast<std::size_t>(group)].keys);
}

TEST(Gather, OfLatentAttentionIsTheContentPart) {
    const OpenedModel deepseek = fixture("deepseek-v2");
    const auto texts = lines({"The doctor asked the nurse."});
    const std::int64_t content = deepseek.model->config().latent.content;
    EXPECT_EQ(gather_texts(deepseek.model, deepseek.tokenizer, texts)->heads[0].width, content);
    EXPECT_GT(gather_texts(deepseek.model, deepseek.tokenizer, texts, {.rotated = true})->heads[0].width, content);
}

TEST(Gather, MarksFirstAndSpecialTokensApart) {
    const OpenedModel bert = fixture("bert");
    const auto found = gather_texts(bert.model, bert.tokenizer, lines({"the nurse was late"}));
    EXPECT_EQ(found->tokens.apart.front(), 1);
    EXPECT_EQ(found->tokens.apart.back(), 1);
    EXPECT_EQ(found->tokens.apart[1], 0);
    EXPECT_FALSE(found->causal);
    EXPECT_EQ(found->texts, std::vector<std::string>{"the nurse was late"}) << "pieces of words have no spaces";
}

TEST(Gather, OfACrossAttentionHasQueriesOfTheTargetAndKeysOfTheSource) {
    const OpenedModel t5 = corpus::opened(corpus::source_file("tests/fixtures/encoder_decoders/t5"));
    const auto texts = lines({"the doctor asked the nurse\tthe nurse was late", "a nurse\ta doctor was late"});
    const auto cross = gather_texts(t5.model, t5.tokenizer, texts, {.stack = model::Stack::cross}),
               encoder = gather_texts(t5.model, t5.tokenizer, texts, {.stack = model::Stack::encoder}),
               decoder = gather_texts(t5.model, t5.tokenizer, texts);
    EXPECT_TRUE(cross->crossed());
    EXPECT_FALSE(encoder->crossed() || decoder->crossed());
    EXPECT_EQ(cross->tokens.token_ids, decoder->tokens.token_ids);
    EXPECT_EQ(cross->source.token_ids, encoder->tokens.token_ids);
    EXPECT_EQ(cross->source.text, encoder->tokens.text);
    const auto run = trace::run(t5.model, t5.tokenizer, {.text = "a nurse", .pair = "a doctor was late"});
    const auto part = trace::part_of(run, model::Stack::cross);
    const std::int64_t queries_before = std::ssize(cross->tokens.tokens) - part->tokens(),
                       keys_before = std::ssize(cross->source.tokens) - part->keys();
    for (const HeadVectors& head : cross->heads) {
        const at::Tensor q = trace::tensor(*part, {model::Hook::q, head.layer}).select(1, head.head.value).contiguous(),
                         k = trace::tensor(*part, {model::Hook::k, head.layer}).select(1, head.head.value).contiguous();
        for (std::int64_t i = 0; i < part->tokens(); ++i)
            ASSERT_NEAR(head.query_rows().row(queries_before + i)[0], q[i][0].item<float>(), 1e-5);
        for (std::int64_t j = 0; j < part->keys(); ++j)
            ASSERT_NEAR(head.key_rows().row(keys_before + j)[0], k[j][0].item<float>(), 1e-5);
    }
    // Every key of the text is legal, those of other texts are none.
    const std::vector<TokenRange> ranges = text_ranges(cross->source);
    EXPECT_EQ(legal_keys(*cross, cross->heads[0], ranges, queries_before),
              (TokenRange{keys_before, std::ssize(cross->source.tokens)}));
}

TEST(Gather, KnowsPartsOfSpeechOfTreebanksAndOfTheirStores) {
    const std::filesystem::path treebank = corpus::treebank_file();
    const OpenedModel& novella = corpus::built_in();
    const test::TempFolder folder;
    const corpus::RunSetup setup = corpus::run_setup(folder / "store", treebank, {});
    corpus::open_store(setup);
    const GatherOptions options{.heads = {{Layer(1), Head(0)}}, .budget = 0};
    const auto found = gather_texts(novella.model, novella.tokenizer, texts_of(treebank), options),
               stored = gather_texts(novella.model, novella.tokenizer, texts_of(setup.store), options);
    const MapTokens& tokens = found->tokens;
    ASSERT_EQ(tokens.tags.size(), tokens.tokens.size());
    EXPECT_EQ(tokens.tags, stored->tokens.tags);
    EXPECT_EQ(tokens.token_ids, stored->tokens.token_ids);
    EXPECT_EQ(*found->heads[0].keys, *stored->heads[0].keys);
    // "From the AP comes this story :"; the space before the colon is a token of no word.
    std::vector<std::string> tags;
    for (std::size_t i = 0; i < tokens.tags.size() && tokens.text[i] == 0; ++i)
        if (tags.empty() || tags.back() != tokens.tags[i]) tags.push_back(tokens.tags[i]);
    EXPECT_EQ(tags, (std::vector<std::string>{"", "ADP", "DET", "PROPN", "VERB", "DET", "NOUN", "", "PUNCT"}));
    // Among texts with and without words the latter have none.
    std::vector<corpus::Text> mixed = {texts_of(treebank).front(), {.id = "plain", .text = "A plain text."}};
    const auto both = gather_texts(novella.model, novella.tokenizer, mixed, options);
    EXPECT_EQ(both->tokens.tags.size(), both->tokens.tokens.size());
    EXPECT_EQ(both->tokens.tags.back(), "");
    EXPECT_TRUE(gather_texts(novella.model, novella.tokenizer, {mixed[1]}, options)->tokens.tags.empty());
}

TEST(Gather, OfChosenHeadsAloneAndNamesThoseThatDoNotExist) {
    const OpenedModel gpt2 = fixture("gpt2");
    const auto texts = lines({"The doctor asked the nurse."});
    const auto found = gather_texts(gpt2.model, gpt2.tokenizer, texts, {.heads = {{Layer(1), Head(0)}}});
    ASSERT_EQ(found->heads.size(), 1u);
    EXPECT_EQ(found->heads[0].layer, Layer(1));
    EXPECT_THROW(gather_texts(gpt2.model, gpt2.tokenizer, texts, {.heads = {{Layer(99), Head(0)}}}), Error);
    EXPECT_THROW(gather_texts(gpt2.model, gpt2.tokenizer, texts, {.stack = model::Stack::cross}), Error);
    EXPECT_THROW(gather_texts(gpt2.model, gpt2.tokenizer, {}), Error);
}

TEST(Gather, CutsATextThatIsLongerThanTheContextIntoParts) {
    const OpenedModel gpt2 = fixture("gpt2");
    std::string text = "The";
    for (std::int64_t i = 0; i < gpt2.model->config().context_length + 5; ++i) text += " doctor";
    const auto found = gather_texts(gpt2.model, gpt2.tokenizer, lines({text}), {.budget = 0});
    EXPECT_GT(found->tokens.names.size(), 1u);
    EXPECT_LT(*std::ranges::max_element(found->tokens.position), gpt2.model->config().context_length);
}

TEST(Gather, OfPicturesHasTheirPatchesAndThePixelsThatTheyAreOf) {
    const OpenedModel vit = fixture("vit");
    const auto read = [](const std::string& file) {
        auto picture = std::make_shared<model::Picture>();
        picture->width = picture->height = 40;
        picture->rgb.resize(40 * 40 * 3, static_cast<std::uint8_t>(file.size() * 10));
        for (std::size_t i = 0; i < picture->rgb.size(); i += 7) picture->rgb[i] = static_cast<std::uint8_t>(i % 251);
        return std::shared_ptr<const model::Picture>(picture);
    };
    const auto found = gather_pictures(vit.model, vit.tokenizer, {"folder/a.png", "folder/bb.png"}, read);
    const model::ModelConfig& c = vit.model->config();
    const auto each = static_cast<std::size_t>(c.class_tokens + model::patch_rows(c) * model::patch_columns(c));
    ASSERT_EQ(found.runs.size(), 2u);
    ASSERT_TRUE(found.vectors->pictures);
    EXPECT_EQ(found.vectors->tokens.tokens.size(), 2 * each);
    EXPECT_EQ(found.vectors->tokens.names, (std::vector<std::string>{"a.png", "bb.png"}));
    EXPECT_EQ(found.vectors->pictures->class_tokens, c.class_tokens);
    EXPECT_EQ(found.vectors->pictures->rows * found.vectors->pictures->columns + c.class_tokens,
              std::ssize(found.runs[0]->labels()));
    EXPECT_EQ(found.vectors->pictures->shown.at(1).pixels->rgb[1], 130);
    const HeadVectors& head = found.vectors->heads.at(1);
    const at::Tensor keys = trace::tensor(*found.runs[1], {model::Hook::k, head.layer}).select(1, head.head.value);
    for (std::int64_t i = 0; i < keys.size(0); ++i)
        for (std::int64_t d = 0; d < head.width; ++d)
            ASSERT_EQ(head.key_rows().row(static_cast<std::int64_t>(each) + i)[d], keys[i][d].item<float>());
    const auto one =
        gather_pictures(vit.model, vit.tokenizer, {"a.png", "b.png", "c.png"}, read, {.budget = static_cast<std::int64_t>(each)});
    EXPECT_EQ(one.vectors->tokens.left_out, 2);
    const OpenedModel gpt2 = fixture("gpt2");
    EXPECT_THROW(gather_pictures(gpt2.model, gpt2.tokenizer, {"a.png"}, read), Error);
}

TEST(Gather, FindsNumbersThatAreNotFinite) {
    HeadVectors head;
    head.width = 2;
    head.queries = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, NAN, 5, 6});
    head.keys = std::make_shared<std::vector<float>>(6, 1.0F);
    EXPECT_EQ(not_finite(head), "The query of token 1 holds NaN");
    head.queries = head.keys;
    EXPECT_EQ(not_finite(head), "");
}

}  // namespace
}  // namespace headlight::map
