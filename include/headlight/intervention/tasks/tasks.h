// SPDX-License-Identifier: GPL-3.0-or-later
// Tasks with known right answers, as pairs of texts, and checks of a model against published numbers.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::intervention {

/// A text and the one that differs from it in what decides the answer. Answers are read at the end; of a masked task at [MASK].
struct TaskPair {
    std::string clean, corrupt;
    std::string answer, wrong;  ///< each one token, with its leading space; empty for a task of years
    std::int64_t year = -1;     ///< greater-than: the two digits that the answer must exceed
    std::string group;
};

enum class TaskKind {
    answers,  ///< logit of the answer minus that of the wrong answer
    masked,   ///< the same at the mask of a model that fills one in
    years,    ///< probability of two-digit numbers above the year minus that of the others
};

struct Task {
    std::string id, title, source;
    TaskKind kind = TaskKind::answers;
    std::vector<TaskPair> pairs;
    bool with_end = false;  ///< texts begin with the model's end-of-text token, as the published numbers do
};
/// IOI, greater-than, induction, agreement, gendered pronoun and masked agreement; resources/tasks has their pairs.
const std::vector<Task>& built_in_tasks();
/// Error names the nearest.
const Task& task_called(const std::string& id);

/// A built-in task has this id.
bool is_task(const std::string& id);

/// What a task is for one model.
struct FittedTask {
    const Task* task = nullptr;
    std::vector<TaskPair> pairs;  ///< those that the tokenizer fits, with special tokens filled in
    std::int64_t left_out = 0;    ///< whose answers are more than one token, or whose texts have other lengths
    std::string why_not;          ///< why there are none
};
FittedTask fit(const Task&, const model::Model&, const text::Tokenizer&);
/// Tokens of 00 to 99; -1: it is not one token.
std::vector<std::int64_t> year_tokens(const text::Tokenizer&);
/// The token of an answer, as it stands; nothing if it is not one token.
std::optional<std::int64_t> single_token(const text::Tokenizer&, const std::string& answer);

/// Means over the pairs.
struct TaskResult {
    std::string task;
    std::int64_t pairs = 0;
    double clean = kNaN, corrupt = kNaN;  ///< logit difference in nats, or difference of probabilities
    double right = kNaN;                  ///< share of clean texts with a positive difference
    double probability = kNaN;            ///< of the answer, or of the right years
};
TaskResult run_task(const FittedTask&, const std::shared_ptr<const model::Model>&, const std::shared_ptr<const text::Tokenizer>&,
                    const CancelToken& = {}, const Progress& = {});

/// A number of the model beside what is published of GPT-2 small.
struct TaskCheck {
    std::string task, what;
    double value = kNaN;
    std::string expected;  ///< "3.5519 ± 0.001"
    bool passed = false;
    std::string source;  ///< where the bound is from
};
/// Published numbers are of GPT-2 small; true for a model of its shape (12 layers of 12 heads, 768 wide, its vocabulary),
/// whatever its weights.
bool has_published_answers(const model::ModelConfig&);
/// Every check, each run on this model. Error for a model of another shape.
std::vector<TaskCheck> check_tasks(const std::shared_ptr<const model::Model>&, const std::shared_ptr<const text::Tokenizer>&,
                                   const CancelToken& = {}, const Progress& = {});

/// task, pairs, left_out, clean, corrupt, right, probability, why_not.
analyze::Table table_of(const std::vector<FittedTask>&, const std::vector<TaskResult>&);
/// task, check, value, expected, passed, source.
analyze::Table table_of(const std::vector<TaskCheck>&);

}  // namespace headlight::intervention
