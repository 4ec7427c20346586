// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/metric.h"

#include "headlight/base/error.h"
#include "intervention/recipe/log_probabilities.h"

namespace headlight::intervention {

MetricReader::MetricReader(const model::ModelConfig& c, const SweepPair& pair, const SweepText& run, Metric metric)
    : config_(c), metric_(metric), answers_(pair.answers), first_(run.end), last_(run.end + 1) {
    const std::string word(enum_word(metric));
    if (metric != Metric::kl && metric != Metric::loss && pair.answers.empty())
        throw Error({.problem = "The metric " + word + " needs an answer",
                     .item = "--answer",
                     .hint = "Give the token that is right, or use --metric kl or loss"});
    if (metric == Metric::logit_diff) {
        if (pair.wrong.empty())
            throw Error(ErrorFacts{.problem = "A logit difference needs a wrong answer",
                                   .item = "--wrong",
                                   .hint = "Give the token that it is compared with, or use --metric logprob"});
        columns_ = pair.answers;
        columns_.insert(columns_.end(), pair.wrong.begin(), pair.wrong.end());
    }
    if (metric == Metric::loss) {
        const auto tokens = std::ssize(run.ids);
        if (std::ssize(pair.clean.ids) != tokens)
            throw Error(ErrorFacts{.problem = "The loss of the clean text needs texts of equal length",
                                   .expected = std::to_string(pair.clean.ids.size()) + " tokens",
                                   .found = std::to_string(tokens)});
        if (tokens < 2) throw Error(ErrorFacts{.problem = "A text of one token has no loss"});
        first_ = 0;
        last_ = tokens - 1;
        next_.assign(pair.clean.ids.begin() + 1, pair.clean.ids.end());
    }
}

void MetricReader::set_reference(const at::Tensor& logits) { reference_ = logits.to(at::kDouble)[0]; }

at::Tensor MetricReader::divergence(const at::Tensor& logits) const {
    const at::Tensor clean = reference_.to(logits.device());
    const auto part = [&](const at::Tensor& of_clean, const at::Tensor& of_run) {
        const at::Tensor log = log_probabilities(config_, of_clean);
        return (log.exp() * (log - log_probabilities(config_, of_run))).sum();
    };
    // Of a class that is there or not: the logit of its absence is minus its own, however sure the model is.
    return config_.class_head.independent ? part(clean, logits) + part(-clean, -logits) : part(clean, logits);
}

at::Tensor MetricReader::tensor_of(const at::Tensor& logits) const {
    const at::Tensor all = logits.to(at::kDouble);
    if (metric_ == Metric::logit_diff) {
        const auto right = std::ssize(answers_), count = all.size(1);
        return all[0].narrow(0, 0, right).mean() - all[0].narrow(0, right, count - right).mean();
    }
    if (metric_ == Metric::kl) return divergence(all[0]);
    const at::Tensor logs = log_probabilities(config_, all);
    const auto indices = [&](const std::vector<std::int64_t>& ids) { return at::tensor(ids, at::kLong).to(logs.device()); };
    if (metric_ == Metric::loss) return -logs.gather(1, indices(next_).unsqueeze(1)).mean();
    const at::Tensor of_answers = logs[0].index_select(0, indices(answers_));
    if (metric_ == Metric::logprob) return of_answers.mean();
    if (metric_ == Metric::prob) return of_answers.exp().sum();
    const at::Tensor answers = all[0].index_select(0, indices(answers_));
    return 1 + all[0].unsqueeze(0).gt(answers.unsqueeze(1)).sum(1).to(at::kDouble).mean();
}

}  // namespace headlight::intervention
