// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/tasks/tasks.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/trace.h"
#include "intervention/tasks/task_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace headlight::intervention {
namespace {

std::vector<TaskPair> pairs_in(std::string_view name) {
    std::vector<TaskPair> pairs;
    for (int i = 0; i < number_of_task_files; ++i) {
        if (task_files[i].name != name) continue;
        std::istringstream lines{std::string(task_files[i].text)};
        for (std::string line; std::getline(lines, line);) {
            if (line.empty()) continue;
            const nlohmann::json j = nlohmann::json::parse(line);
            TaskPair& pair = pairs.emplace_back();
            pair.clean = j.at("clean");
            pair.corrupt = j.at("corrupt");
            pair.answer = j.value("answer", "");
            pair.wrong = j.value("wrong", "");
            pair.year = j.value("year", -1);
            pair.group = j.value("group", "");
        }
    }
    return pairs;
}

Task made_task(const char* id, const char* title, const char* source, TaskKind kind, bool with_end = false) {
    return {.id = id, .title = title, .source = source, .kind = kind, .pairs = pairs_in(id), .with_end = with_end};
}

std::string two_digits(std::int64_t year) { return (year < 10 ? "0" : "") + std::to_string(year); }

std::string with_mask(std::string text, const std::string& mask) {
    const std::string place = "[MASK]";
    if (const auto at = text.find(place); at != std::string::npos) text.replace(at, place.size(), mask);
    return text;
}

/// A year that is written as its century and the rest, " 13" and "52": the answer continues a century.
bool splits_after_century(const text::Tokenizer& tokenizer, const TaskPair& pair) {
    const text::Encoding encoded = tokenizer.encode(pair.clean, std::nullopt, false);
    const auto rest = single_token(tokenizer, two_digits(pair.year));
    if (!rest) return false;
    const auto at = std::ranges::find(encoded.ids, *rest);
    if (at == encoded.ids.end() || at == encoded.ids.begin()) return false;
    // The century before it, and the text ends with the same token.
    return encoded.ids.back() == *(at - 1);
}

std::int64_t reading_position(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& ids, TaskKind kind) {
    if (kind != TaskKind::masked) return std::ssize(ids) - 1;
    const auto at = std::ranges::find(ids, *tokenizer.mask_id());
    return at - ids.begin();
}

struct PairNumbers {
    double difference, probability;
};

PairNumbers numbers_of(const at::Tensor& logits, const TaskPair& pair, TaskKind kind, const text::Tokenizer& tokenizer) {
    const at::Tensor row = logits.to(at::kDouble), probabilities = at::softmax(row, 0);
    const auto at_id = [](const at::Tensor& t, std::int64_t id) { return t[id].item<double>(); };
    if (kind == TaskKind::years) {
        double above = 0, others = 0;
        const auto years = year_tokens(tokenizer);
        for (std::int64_t year = 0; year < 100; ++year) {
            if (years[static_cast<std::size_t>(year)] < 0) continue;
            (year > pair.year ? above : others) += at_id(probabilities, years[static_cast<std::size_t>(year)]);
        }
        return {above - others, above};
    }
    const std::int64_t answer = *single_token(tokenizer, pair.answer), wrong = *single_token(tokenizer, pair.wrong);
    return {at_id(row, answer) - at_id(row, wrong), at_id(probabilities, answer)};
}

at::Tensor logits_at_answer(const model::Model& model, const text::Tokenizer& tokenizer, const std::string& text, TaskKind kind,
                            const CancelToken& cancel) {
    const trace::TokenIds ids = trace::ids_of(tokenizer.encode(text));
    return trace::replay(model, ids, {}, cancel)[reading_position(tokenizer, ids.ids, kind)];
}

}  // namespace

const std::vector<Task>& built_in_tasks() {
    static const std::vector<Task> all{
        made_task("ioi", "Indirect object", "Wang et al. 2022; the eight texts of TransformerLens' exploratory analysis demo",
                  TaskKind::answers, true),
        made_task("greater-than", "Greater than", "Hanna et al. 2023, with years of our own", TaskKind::years),
        made_task("induction", "Induction", "after Olsson et al. 2022, with repeated words", TaskKind::answers),
        made_task("agreement", "Agreement of subject and verb", "after Linzen et al. 2016", TaskKind::answers),
        made_task("gendered-pronoun", "Gendered pronoun", "after Mathwin et al. 2023", TaskKind::answers),
        made_task("masked-agreement", "Agreement at a mask", "after Goldberg 2019", TaskKind::masked)};
    return all;
}

const Task& task_called(const std::string& id) {
    std::vector<std::string> ids;
    for (const Task& task : built_in_tasks()) {
        if (task.id == id) return task;
        ids.push_back(task.id);
    }
    const std::string near = nearest(id, ids);
    throw Error({.problem = "There is no such task",
                 .item = id,
                 .expected = "",
                 .hint = near.empty() ? "" : "Did you mean " + near + "?"});
}

bool is_task(const std::string& id) {
    return std::ranges::any_of(built_in_tasks(), [&](const Task& task) { return task.id == id; });
}

std::vector<std::int64_t> year_tokens(const text::Tokenizer& tokenizer) {
    std::vector<std::int64_t> ids;
    for (std::int64_t year = 0; year < 100; ++year) ids.push_back(single_token(tokenizer, two_digits(year)).value_or(-1));
    return ids;
}

std::optional<std::int64_t> single_token(const text::Tokenizer& tokenizer, const std::string& answer) {
    const std::vector<std::int64_t> ids = tokenizer.encode(answer, std::nullopt, false).ids;
    return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

FittedTask fit(const Task& task, const model::Model& model, const text::Tokenizer& tokenizer) {
    FittedTask fitted{.task = &task, .pairs = {}, .left_out = 0, .why_not = {}};
    const model::ModelConfig& c = model.config();
    if (model::reads_pictures(c))
        fitted.why_not = "the model reads pictures";
    else if (!c.has_unembedding)
        fitted.why_not = "the model has no logits";
    else if (c.class_head.any())
        fitted.why_not = "the model classifies texts";
    else if (model.part(model::Stack::encoder))
        fitted.why_not = "an encoder and a decoder";
    else if (task.kind == TaskKind::masked && (!model::fills_masks(c) || !tokenizer.mask_id()))
        fitted.why_not = "the model fills in no mask";
    else if (task.kind != TaskKind::masked && !c.causal)
        fitted.why_not = "the model does not predict the next token";
    if (!fitted.why_not.empty()) return fitted;
    const std::optional<std::int64_t> end = tokenizer.id_of("<|endoftext|>");
    for (TaskPair pair : task.pairs) {
        bool fits = task.kind == TaskKind::years ? splits_after_century(tokenizer, pair)
                                                 : single_token(tokenizer, pair.answer) && single_token(tokenizer, pair.wrong);
        if (task.kind == TaskKind::masked) {
            const std::string mask = tokenizer.token_of(*tokenizer.mask_id());
            pair.clean = with_mask(pair.clean, mask);
            pair.corrupt = with_mask(pair.corrupt, mask);
        }
        if (task.with_end && end)
            for (std::string* text : {&pair.clean, &pair.corrupt}) *text = tokenizer.token_of(*end) + *text;
        fits = fits && tokenizer.encode(pair.clean).size() == tokenizer.encode(pair.corrupt).size();
        if (fits)
            fitted.pairs.push_back(std::move(pair));
        else
            ++fitted.left_out;
    }
    if (fitted.pairs.empty()) fitted.why_not = "no answer is one token of this tokenizer in texts of equal length";
    return fitted;
}

TaskResult run_task(const FittedTask& fitted, const std::shared_ptr<const model::Model>& model,
                    const std::shared_ptr<const text::Tokenizer>& tokenizer, const CancelToken& cancel,
                    const Progress& progress) {
    TaskResult result{.task = fitted.task->id};
    if (fitted.pairs.empty()) return result;
    result.pairs = std::ssize(fitted.pairs);
    const auto n = static_cast<double>(result.pairs);
    result.clean = result.corrupt = result.probability = 0;
    const TaskKind kind = fitted.task->kind;
    std::int64_t right = 0;
    for (std::size_t i = 0; i < fitted.pairs.size(); ++i) {
        if (progress) progress({"Running " + fitted.task->id, "pair", static_cast<std::int64_t>(i), result.pairs});
        const TaskPair& pair = fitted.pairs[i];
        const PairNumbers clean =
                              numbers_of(logits_at_answer(*model, *tokenizer, pair.clean, kind, cancel), pair, kind, *tokenizer),
                          corrupt = numbers_of(logits_at_answer(*model, *tokenizer, pair.corrupt, kind, cancel), pair, kind,
                                               *tokenizer);
        result.clean += clean.difference / n;
        result.corrupt += corrupt.difference / n;
        result.probability += clean.probability / n;
        right += clean.difference > 0;
    }
    result.right = static_cast<double>(right) / n;
    return result;
}

analyze::Table table_of(const std::vector<FittedTask>& fitted, const std::vector<TaskResult>& results) {
    analyze::Table table{{"task", "pairs", "left_out", "clean", "corrupt", "right", "probability", "why_not"}, {}};
    table.definitions = {
        {"clean",
         "mean logit of the answer minus that of the wrong answer, nats; greater-than: probability of the right years minus "
         "that of the others"},
        {"corrupt",
         "the same in the other text of the pair, where the wrong answer is right; greater-than: where the year ends in 01, with the "
         "years of the clean text"},
        {"right", "share of clean texts with a positive difference"},
        {"probability", "mean probability of the answer; greater-than: of the right years"},
        {"left_out", "pairs that the tokenizer does not fit: an answer of several tokens, texts of unequal length"}};
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        const TaskResult& r = results[i];
        table.add({fitted[i].task->id, r.pairs, fitted[i].left_out, r.clean, r.corrupt, r.right, r.probability,
                   fitted[i].why_not.empty() ? analyze::Table::Cell() : analyze::Table::Cell(fitted[i].why_not)});
    }
    return table;
}

}  // namespace headlight::intervention
