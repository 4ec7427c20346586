// SPDX-License-Identifier: GPL-3.0-or-later
// What is published of GPT-2 small, checked.
#include "headlight/analyze/heads/induction_probe.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/base/error.h"
#include "headlight/intervention/tasks/tasks.h"
#include "headlight/trace/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace headlight::intervention {
namespace {

const char *const kIoi = "Wang et al. 2022", *const kDemo = "TransformerLens, exploratory analysis demo",
                  *const kGreater = "Hanna et al. 2023", *const kOlsson = "Olsson et al. 2022; heads as in the IOI paper";

std::string number_text(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", x);
    return text;
}

TaskCheck within(const char* task, std::string what, double value, double published, double by, const char* source) {
    return {.task = task,
            .what = std::move(what),
            .value = value,
            .expected = number_text(published) + " ± " + number_text(by),
            .passed = std::abs(value - published) <= by,
            .source = source};
}

TaskCheck at_least(const char* task, std::string what, double value, double least, const char* source) {
    return {.task = task,
            .what = std::move(what),
            .value = value,
            .expected = "at least " + number_text(least),
            .passed = value >= least,
            .source = source};
}

HeadId gpt2_head(std::int64_t layer, std::int64_t number) { return {Layer(layer), Head(number)}; }

/// The roles of heads in the circuit. `least`: half of what is published, or 0.2 where only the role is.
struct Role {
    const char* what;
    std::vector<HeadId> heads;
    enum Place { end, s2, s1_next, s1, io } from, to;
    double least;
};

const std::vector<Role>& roles() {
    static const std::vector<Role> all{{"name movers 9.9, 9.6, 10.0 from the end to the indirect object",
                                        {gpt2_head(9, 9), gpt2_head(9, 6), gpt2_head(10, 0)},
                                        Role::end,
                                        Role::io,
                                        .295},
                                       {"S-inhibition 7.3, 7.9, 8.6, 8.10 from the end to the second subject",
                                        {gpt2_head(7, 3), gpt2_head(7, 9), gpt2_head(8, 6), gpt2_head(8, 10)},
                                        Role::end,
                                        Role::s2,
                                        .255},
                                       {"induction 5.5, 6.9 from the second subject to behind the first",
                                        {gpt2_head(5, 5), gpt2_head(6, 9)},
                                        Role::s2,
                                        Role::s1_next,
                                        .2},
                                       {"duplicate token 0.1, 3.0 from the second subject to the first",
                                        {gpt2_head(0, 1), gpt2_head(3, 0)},
                                        Role::s2,
                                        Role::s1,
                                        .2},
                                       {"previous token 2.2, 4.11 from behind the first subject to it",
                                        {gpt2_head(2, 2), gpt2_head(4, 11)},
                                        Role::s1_next,
                                        Role::s1,
                                        .2}};
    return all;
}

struct IoiPlaces {
    std::int64_t end, io, s1, s2;
    std::int64_t of(Role::Place place) const {
        switch (place) {
            case Role::end: return end;
            case Role::s2: return s2;
            case Role::s1_next: return s1 + 1;
            case Role::s1: return s1;
            case Role::io: return io;
        }
        return end;
    }
};

IoiPlaces ioi_places(const std::vector<std::int64_t>& ids, std::int64_t io, std::int64_t s) {
    const auto first = std::ranges::find(ids, s);
    const auto second = std::find(first + 1, ids.end(), s);
    return {.end = std::ssize(ids) - 1,
            .io = std::ranges::find(ids, io) - ids.begin(),
            .s1 = first - ids.begin(),
            .s2 = second - ids.begin()};
}

void check_ioi(std::vector<TaskCheck>& checks, const std::shared_ptr<const model::Model>& model,
               const std::shared_ptr<const text::Tokenizer>& tokenizer, const CancelToken& cancel, const Progress& progress) {
    const FittedTask fitted = fit(task_called("ioi"), *model, *tokenizer);
    if (fitted.pairs.empty()) return;
    const TaskResult result = run_task(fitted, model, tokenizer, cancel, progress);
    checks.push_back(within("ioi", "mean logit difference", result.clean, 3.5519, .001, kDemo));
    checks.push_back(within("ioi", "the same of the corrupt texts", result.corrupt, -3.5519, .001, kDemo));
    const auto& config = model->config();
    Eigen::MatrixXd direct = Eigen::MatrixXd::Zero(config.n_layers, config.n_heads);
    std::vector<double> attention(roles().size(), 0);
    const auto n = static_cast<double>(fitted.pairs.size());
    for (const TaskPair& pair : fitted.pairs) {
        const auto run = trace::run(model, tokenizer, {.text = pair.clean}, {}, cancel);
        const std::int64_t io = *single_token(*tokenizer, pair.answer), s = *single_token(*tokenizer, pair.wrong);
        const IoiPlaces places = ioi_places(run->encoding().ids, io, s);
        direct += analyze::attribution(*run, Position(places.end), {.token = io, .minus = s}).heads(config) / n;
        for (std::size_t r = 0; r < roles().size(); ++r) {
            const Role& role = roles()[r];
            for (const HeadId id : role.heads)
                attention[r] +=
                    static_cast<double>(analyze::pattern_row(*run, {id}, places.of(role.from), {})(0, places.of(role.to))) / n /
                    static_cast<double>(role.heads.size());
        }
    }
    std::vector<HeadId> order;
    for (std::int64_t l = 0; l < config.n_layers; ++l)
        for (std::int64_t h = 0; h < config.n_heads; ++h) order.push_back(gpt2_head(l, h));
    const auto value = [&](HeadId id) { return direct(id.layer.value, id.head.value); };
    std::ranges::sort(order, [&](HeadId a, HeadId b) { return value(a) > value(b); });
    const auto are = [&](std::vector<HeadId> found, std::vector<HeadId> expected) {
        std::ranges::sort(found);
        std::ranges::sort(expected);
        return found == expected;
    };
    const bool largest = are({order.begin(), order.begin() + 3}, {gpt2_head(9, 9), gpt2_head(9, 6), gpt2_head(10, 0)}),
               smallest = are({order.end() - 2, order.end()}, {gpt2_head(10, 7), gpt2_head(11, 10)});
    checks.push_back(
        {"ioi", "largest direct effects are of 9.9, 9.6 and 10.0", value(order.front()), "these three", largest, kIoi});
    checks.push_back({"ioi", "smallest direct effects are of 10.7 and 11.10", value(order.back()), "these two", smallest, kIoi});
    for (std::size_t r = 0; r < roles().size(); ++r)
        checks.push_back(at_least("ioi", std::string("attention of ") + roles()[r].what, attention[r], roles()[r].least, kIoi));
}

}  // namespace

bool has_published_answers(const model::ModelConfig& c) {
    return c.family == "gpt2" && c.n_layers == 12 && c.n_heads == 12 && c.d_model == 768 && c.vocab_size == 50257;
}

std::vector<TaskCheck> check_tasks(const std::shared_ptr<const model::Model>& model,
                                   const std::shared_ptr<const text::Tokenizer>& tokenizer, const CancelToken& cancel,
                                   const Progress& progress) {
    const auto& c = model->config();
    if (!has_published_answers(c))
        throw Error({.problem = "No published answers are known for this model",
                     .item = c.name,
                     .expected = "GPT-2 small: gpt2, 12 layers of 12 heads, 768 wide, 50,257 tokens",
                     .found = c.family + ", " + std::to_string(c.n_layers) + " layers of " + std::to_string(c.n_heads) +
                              " heads, " + std::to_string(c.d_model) + " wide, " + with_commas(c.vocab_size) + " tokens"});
    std::vector<TaskCheck> checks;
    check_ioi(checks, model, tokenizer, cancel, progress);
    const TaskResult greater = run_task(fit(task_called("greater-than"), *model, *tokenizer), model, tokenizer, cancel, progress);
    checks.push_back(
        within("greater-than", "probability of the right years minus that of the others", greater.clean, .817, .03, kGreater));
    const analyze::InductionProbe probe = analyze::induction_probe(model, tokenizer, {}, cancel, progress);
    for (const HeadId id : {gpt2_head(5, 1), gpt2_head(5, 5), gpt2_head(6, 9), gpt2_head(7, 2), gpt2_head(7, 10)})
        checks.push_back(at_least("induction",
                                  "induction score of " + std::to_string(id.layer.value) + "." + std::to_string(id.head.value),
                                  probe.induction(id.layer.value, id.head.value), .3, kOlsson));
    checks.push_back(at_least("induction", "previous-token score of 4.11", probe.previous(4, 11), .4, kOlsson));
    return checks;
}

analyze::Table table_of(const std::vector<TaskCheck>& checks) {
    analyze::Table table{{"task", "check", "value", "expected", "passed", "source"}, {}};
    for (const TaskCheck& check : checks)
        table.add(
            {check.task, check.what, check.value, check.expected, std::string(check.passed ? "pass" : "fail"), check.source});
    return table;
}

}  // namespace headlight::intervention
