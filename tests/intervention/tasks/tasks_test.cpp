// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/tasks/tasks.h"

#include "headlight/base/error.h"
#include "headlight/intervention/tasks/task_pairs.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/trace.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace headlight::intervention {
namespace tasks_test {

const std::filesystem::path root = HEADLIGHT_SOURCE_DIR;

struct Opened {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
};
Opened opened(const std::string& folder) { return {model::Model::load(root / folder), text::Tokenizer::load(root / folder)}; }

TEST(Tasks, EveryTaskHasPairsThatAreEachOthersOpposite) {
    ASSERT_EQ(built_in_tasks().size(), 6u);
    for (const Task& task : built_in_tasks()) {
        EXPECT_GE(task.pairs.size(), 8u) << task.id;
        std::set<std::string> texts;
        for (const TaskPair& pair : task.pairs) {
            EXPECT_NE(pair.clean, pair.corrupt);
            texts.insert(pair.clean);
            EXPECT_EQ(pair.year >= 0, task.kind == TaskKind::years);
            EXPECT_EQ(pair.clean.find("[MASK]") != std::string::npos, task.kind == TaskKind::masked);
        }
        if (task.kind == TaskKind::years) continue;
        for (const TaskPair& pair : task.pairs) EXPECT_TRUE(texts.contains(pair.corrupt)) << pair.corrupt;
    }
    EXPECT_THROW(task_called("oi"), Error);
}

TEST(Tasks, OfTheBuiltInModelAreThoseOfTransformers) {
    const Opened novella = opened("models/novella-7m");
    const nlohmann::json golden = io::read_json(root / "tests/golden/tasks.json");
    for (const auto& [id, expected] : golden.items()) {
        SCOPED_TRACE(id);
        const FittedTask fitted = fit(task_called(id), *novella.model, *novella.tokenizer);
        ASSERT_EQ(std::ssize(fitted.pairs), expected["pairs"].get<std::int64_t>());
        EXPECT_EQ(fitted.left_out, std::ssize(task_called(id).pairs) - std::ssize(fitted.pairs));
        const TaskResult result = run_task(fitted, novella.model, novella.tokenizer);
        if (fitted.pairs.empty()) {
            EXPECT_FALSE(fitted.why_not.empty());
            EXPECT_TRUE(std::isnan(result.clean));
            continue;
        }
        EXPECT_NEAR(result.clean, expected["clean"].get<double>(), 1e-4);
        EXPECT_NEAR(result.corrupt, expected["corrupt"].get<double>(), 1e-4);
        EXPECT_NEAR(result.probability, expected["probability"].get<double>(), 1e-5);
        EXPECT_EQ(result.right, expected["right"].get<double>());
    }
}

/// A built-in task by its name: the mean metric of its pairs is what check-tasks gives.
TEST(Tasks, ArePairsOfASweepByTheirName) {
    const auto [model, tokenizer] = opened("models/novella-7m");
    for (const char* id : {"ioi", "induction"}) {
        SCOPED_TRACE(id);
        const FittedTask fitted = fit(task_called(id), *model, *tokenizer);
        const TaskResult task = run_task(fitted, model, tokenizer);
        SweepRequest asked{.pairs = id, .options = {.metric = Metric::prob, .layers = {5}}};
        const std::vector<SweepPair> pairs = asked_pairs(asked, *model, *tokenizer);
        ASSERT_EQ(std::ssize(pairs), task.pairs);
        EXPECT_EQ(pairs.front().group, fitted.pairs.front().group);
        EXPECT_NEAR(run_sweep(model, pairs, asked.options).clean_mean(), task.probability, 1e-6);
    }
    for (const SweepPair& pair : asked_pairs({.pairs = "greater-than"}, *model, *tokenizer)) {
        EXPECT_FALSE(pair.answers.empty()) << "a later year is one token";
        EXPECT_FALSE(pair.wrong.empty());
    }
    EXPECT_THAT(test::error_of([&] { asked_pairs({.pairs = "masked-agreement"}, *model, *tokenizer); }),
                testing::HasSubstr("fills in no mask"));
}

TEST(Tasks, SayWhyAModelHasNone) {
    const Opened novella = opened("models/novella-7m"), bert = opened("tests/fixtures/models/bert-mlm");
    EXPECT_EQ(fit(task_called("masked-agreement"), *novella.model, *novella.tokenizer).why_not, "the model fills in no mask");
    EXPECT_EQ(fit(task_called("agreement"), *bert.model, *bert.tokenizer).why_not, "the model does not predict the next token");
    const FittedTask masked = fit(task_called("masked-agreement"), *bert.model, *bert.tokenizer);
    for (const TaskPair& pair : masked.pairs) EXPECT_EQ(pair.clean.find("[MASK]"), pair.clean.rfind("[MASK]"));
    EXPECT_THROW(check_tasks(novella.model, novella.tokenizer), Error);
    EXPECT_FALSE(has_published_answers(novella.model->config()));
}

TEST(Tasks, OfAMaskAreReadThere) {
    const Opened bert = opened("tests/fixtures/models/bert-mlm");
    const Task task{
        .id = "mask",
        .title = {},
        .source = {},
        .kind = TaskKind::masked,
        .pairs = {{.clean = "the [MASK] asked", .corrupt = "a [MASK] asked", .answer = "the", .wrong = "a", .group = {}}}};
    const FittedTask fitted = fit(task, *bert.model, *bert.tokenizer);
    ASSERT_EQ(fitted.pairs.size(), 1u);
    const TaskResult result = run_task(fitted, bert.model, bert.tokenizer);
    const auto difference = [&](const std::string& text) {
        const auto run =
            trace::run(bert.model, bert.tokenizer, {.text = text}, {.globs = {"logits"}, .overview = trace::no_overview});
        const auto mask = std::ranges::find(run->encoding().ids, *bert.tokenizer->mask_id()) - run->encoding().ids.begin();
        const at::Tensor row = trace::tensor(*run, {model::Hook::logits, Layer(0)})[mask];
        return (row[*single_token(*bert.tokenizer, "the")] - row[*single_token(*bert.tokenizer, "a")]).item<double>();
    };
    EXPECT_NEAR(result.clean, difference("the [MASK] asked"), 1e-5);
    EXPECT_NEAR(result.corrupt, difference("a [MASK] asked"), 1e-5);
}

TEST(Tasks, PublishedAnswersAreOfTheShapeOfGpt2Small) {
    model::ModelConfig c;
    c.family = "gpt2";
    c.n_layers = c.n_heads = 12;
    c.d_model = 768;
    c.vocab_size = 50257;
    EXPECT_TRUE(has_published_answers(c));
    c.n_heads = 16;
    EXPECT_FALSE(has_published_answers(c));
}

}  // namespace tasks_test
}  // namespace headlight::intervention
