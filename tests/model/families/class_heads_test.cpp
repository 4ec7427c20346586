// SPDX-License-Identifier: GPL-3.0-or-later
// Class logits of every kind of head against Hugging Face transformers (tests/golden/make_class_golden.py), and classifiers of
// tied families, which are no language models.
#include "headlight/base/error.h"
#include "headlight/model/classes.h"
#include "headlight/model/generate.h"
#include "headlight/model/peek.h"
#include "model/run/packed.h"
#include "model/run/stacked.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"
#include "tests/support/case_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <span>

namespace headlight::model {
namespace class_heads_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path classifier(const std::string& name) { return tests_folder() / "fixtures" / "class_heads" / name; }

std::vector<std::string> classifiers() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / "class_heads"))
        names.push_back(entry.path().filename().string());
    if (names.size() < 50) throw std::runtime_error("fixtures are missing from tests/fixtures/class_heads");
    std::ranges::sort(names);
    return names;
}

struct Expected {
    std::vector<std::int64_t> ids;                     ///< of a text
    std::shared_ptr<const std::vector<float>> pixels;  ///< of a picture
    at::Tensor logits;
};

Expected expected_of(const std::string& name, const char* precision) {
    static std::map<std::string, Tensors> files;
    Tensors& tensors = files[precision];
    if (tensors.empty()) tensors = tensors_in(golden_file("class_heads", precision));
    if (const auto found = tensors.find(name + ".pixels"); found != tensors.end()) {
        const float* first = found->second.data_ptr<float>();
        return {
            {}, std::make_shared<const std::vector<float>>(first, first + found->second.numel()), tensors.at(name + ".logits")};
    }
    const at::Tensor ids = tensors.at(name + ".ids");
    return {{ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel()}, {}, tensors.at(name + ".logits")};
}

/// What the model reads: of an encoder-decoder model the text is the source, and shifted by the start token the target, or by its
/// own last token.
ForwardInput input_of(const Model& model, const Expected& expected) {
    const std::vector<std::int64_t>& ids = expected.ids;
    ForwardInput input{.ids = ids, .type_ids = {}, .pixels = expected.pixels};
    const auto& encoder = model.part(Stack::encoder);
    if (!encoder) return input;
    NoObserver nobody;
    input.source = encode(*encoder, input, nobody, {}, {});
    input.ids.pop_back();
    input.ids.insert(input.ids.begin(), model.config().class_head.wraps ? ids.back() : model.config().start_ids.front());
    return input;
}

class ClassHead : public testing::TestWithParam<std::string> {
protected:
    void expect_logits(ComputeType type, const char* precision, double tolerance) {
        const auto model = Model::load(classifier(GetParam()), {.dtype = type});
        const ModelConfig& c = model->config();
        const Expected expected = expected_of(GetParam(), precision);
        const ForwardInput input = input_of(*model, expected);
        at::Tensor ours = run_all(*model, input).tensors.at("logits");
        const std::int64_t tokens = reads_pictures(c) ? c.context_length : std::ssize(expected.ids);
        ASSERT_EQ(ours.sizes(), (std::vector{tokens, logit_count(c)}));
        const auto position = class_position(c, input.ids);
        EXPECT_EQ(position.has_value(), head_of(c) != HeadKind::token_classifier && head_of(c) != HeadKind::question_answering);
        if (position) ours = ours[*position];
        ASSERT_EQ(ours.sizes(), expected.logits.sizes());
        EXPECT_LE(deviation("class_logits", ours, expected.logits), tolerance);
    }
};

TEST_P(ClassHead, LogitsInFloat32) { expect_logits(ComputeType::float32, "f32", 2e-5); }
TEST_P(ClassHead, LogitsInFloat64) { expect_logits(ComputeType::float64, "f64", 1e-10); }

TEST_P(ClassHead, EveryTensorIsReadAndNothingIsContinued) {
    const auto model = Model::load(classifier(GetParam()));
    for (const std::string& name : model->report().unused) ADD_FAILURE() << name << " is not read";
    if (!model->part(Stack::encoder)) {
        EXPECT_EQ(counted_parameters(*model), stored_parameters(*model));
    }
    EXPECT_THAT(test::error_of([&] { generate(*model, {5, 6}, {}); }), HasSubstr("classifies texts and does not continue them"));
    const std::vector<HookPoint> hooks = hooks_of(model->config());
    EXPECT_EQ(name_of(hooks.back(), model->config()), "class_logits");
    EXPECT_EQ(parse_hook("class_logits"), parse_hook("logits"));
    EXPECT_EQ(peek(classifier(GetParam())).problem, "");
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ClassHead, testing::ValuesIn(classifiers()),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(ClassHeads, EachKindSaysWhatItIs) {
    const auto text = [](const std::string& name) { return head_text(read_config(classifier(name))); };
    EXPECT_EQ(text("bert"), "sequence classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read at the first token");
    EXPECT_EQ(text("gpt2"),
              "sequence classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read at the last token that is no padding");
    EXPECT_EQ(text("modernbert-mean"),
              "sequence classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read from the mean of all tokens");
    EXPECT_EQ(text("bert-token"), "token classifier of 3 classes (O, B-PER, I-PER), read at every token");
    EXPECT_EQ(text("bert-answer"), "question answering of 2 classes (start, end), read at every token");
    EXPECT_EQ(text("qwen3"), "sequence classifier of 1 class (LABEL_0), read at the last token that is no padding");
    EXPECT_EQ(text("mistral"),
              "sequence classifier of 3 classes (LABEL_0, LABEL_1, LABEL_2), read at the last token that is no padding");
    EXPECT_TRUE(read_config(classifier("roberta")).class_head.independent);
    EXPECT_EQ(text("bert-choice"), "multiple choice of 1 class (choice), read at the first token");
    EXPECT_EQ(text("mbart"),
              "sequence classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read at the source's last end token");
    EXPECT_EQ(text("siglip-picture"),
              "image classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read from the mean of the patches");
    EXPECT_EQ(text("dinov2-picture"),
              "image classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read from [CLS] and the mean of the patches");
}

TEST(ClassHeads, ClassesHaveNamesAndNumbers) {
    const ModelConfig c = read_config(classifier("bert"));
    EXPECT_EQ(class_of(c, "POSITIVE", "--token"), 2);
    EXPECT_EQ(class_of(c, "Neutral", "--token"), 1);
    EXPECT_EQ(class_of(c, "0", "--token"), 0);
    for (const char* wrong : {"3", "-1", "happy", ""})
        EXPECT_THAT(test::error_of([&] { class_of(c, wrong, "--token"); }), HasSubstr("NEGATIVE, neutral, POSITIVE")) << wrong;
}

/// The position is that of the last token that is no padding, as in transformers; of padding alone the first.
TEST(ClassHeads, PaddingIsNotRead) {
    const ModelConfig c = read_config(classifier("gpt2"));
    EXPECT_EQ(class_position(c, {5, 6, 3, 3}), 1);
    EXPECT_EQ(class_position(c, {5, 3, 6}), 2);
    EXPECT_EQ(class_position(c, {3, 3}), 0);
}

/// The decoder of mBART reads the source one token later, its last token first: the row is that where the source has </s> (2).
TEST(ClassHeads, TheRowOfMbartIsThatOfTheLastEndToken) {
    const ModelConfig c = read_config(classifier("mbart"));
    EXPECT_EQ(class_position(c, {1, 5, 6, 2}), 2) << "5 6 </s> language";
    EXPECT_EQ(class_position(c, {1, 5, 2, 6, 7, 2}), 4) << "5 </s> 6 7 </s> language";
    EXPECT_EQ(class_position(c, {2, 5, 6}), 2) << "5 6 </s>";
    EXPECT_EQ(class_position(c, {1, 5, 6}), 2) << "none";
}

/// Texts in one pass have each their own mean.
TEST(ClassHeads, PackedTextsAreAveragedOneByOne) {
    const auto model = Model::load(classifier("modernbert-mean"));
    const std::vector<ForwardInput> inputs = {some_text(model->config(), 5), some_text(model->config(), 9)};
    std::vector<Collector> seen(2);
    std::vector<PackedText> texts = {{inputs[0], seen[0]}, {inputs[1], seen[1]}};
    forward_packed(*model, texts, {}, {});
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_LE(deviation("class_logits", seen[i].tensors.at("logits"), run_all(*model, inputs[i]).tensors.at("logits")), 1e-6);
}

/// Variants of a text give what a run of each gives, where the head reads one row as where it reads the mean of all.
TEST(ClassHeads, StackedVariantsEqualRuns) {
    for (const char* name : {"modernbert-mean", "bert", "gpt2"}) {
        const auto model = Model::load(classifier(name));
        const ForwardInput input = some_text(model->config(), 7);
        const std::int64_t position = *class_position(model->config(), input.ids);
        std::vector<Variant> variants(2);
        variants[0].ids = variants[1].ids = input.ids;
        variants[0].ids[3] += 1, variants[1].ids[6] += 2;
        const at::Tensor stacked = forward_stacked(*model, input, {}, position, variants, {}, {});
        const KeptText kept(*model, input, {position, position + 1}, {}, {}, {});
        const at::Tensor from_kept = kept.run(variants, {}, {});
        const at::Tensor by_itself = kept.run(std::span(variants).first(1), {}, {});
        EXPECT_LE(deviation("class_logits", by_itself[0][0], from_kept[0][0]), 1e-5) << name << ", one variant in a pass";
        for (std::int64_t v = 0; v < 2; ++v) {
            ForwardInput other = input;
            other.ids = variants[static_cast<std::size_t>(v)].ids;
            const at::Tensor run = run_all(*model, other).tensors.at("logits")[position];
            EXPECT_LE(deviation("class_logits", stacked[v + 1], run), 1e-5) << name;
            EXPECT_LE(deviation("class_logits", from_kept[v][0], run), 1e-5) << name;
        }
    }
}

TEST(ClassHeads, FamiliesWithoutSuchAHeadAreNoLanguageModels) {
    const test::TempFolder folder;
    std::filesystem::copy(classifier("nomic-bert"), folder.path(), std::filesystem::copy_options::recursive);
    nlohmann::json config = nlohmann::json::parse(std::ifstream(folder.path() / "config.json"));
    config["architectures"] = {"NomicBertForMultipleChoice"};
    std::ofstream(folder.path() / "config.json") << config;
    EXPECT_THAT(why_no_logits(Model::load(folder.path())->config()),
                testing::AllOf(HasSubstr("NomicBertForMultipleChoice"), HasSubstr("classifier.weight")));
}

/// A class name of another program, with a head of its own: no logits, whether the family ties its language head or not.
TEST(ClassHeads, AnotherHeadIsNoLanguageModel) {
    for (const char* name : {"gpt2", "bloom", "qwen2", "llama", "bert"}) {
        const test::TempFolder folder;
        std::filesystem::copy(classifier(name), folder.path(), std::filesystem::copy_options::recursive);
        nlohmann::json config = nlohmann::json::parse(std::ifstream(folder.path() / "config.json"));
        config["architectures"] = {"GptForRegression"};
        std::ofstream(folder.path() / "config.json") << config;
        const auto model = Model::load(folder.path());
        EXPECT_FALSE(model->config().has_unembedding) << name;
        EXPECT_EQ(head_of(model->config()), HeadKind::none) << name;
        EXPECT_THAT(why_no_logits(model->config()), HasSubstr("GptForRegression")) << name;
        EXPECT_EQ(hooks_of(model->config()).back().hook == Hook::logits, false) << name;
        const bool continues = model->config().causal;
        if (continues) {
            EXPECT_THAT(test::error_of([&] { generate(*model, {5, 6}, {}); }), HasSubstr("is no language model")) << name;
        }
    }
}

}  // namespace class_heads_test
}  // namespace headlight::model
