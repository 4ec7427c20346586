// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/metric.h"

#include "headlight/base/error.h"

namespace headlight::intervention {

MetricReader::MetricReader(const SweepPair& pair, const SweepText& run, Metric metric)
    : metric_(metric), answers_(pair.answers), first_(run.end), last_(run.end + 1) {
    const std::string word(enum_word(metric));
    if (metric != Metric::kl && metric != Metric::loss && pair.answers.empty())
        throw Error(
            {.problem = "The metric " + word + " needs an answer", .hint = "Name the token that is right, or use kl or loss"});
    if (metric == Metric::logit_diff) {
        if (pair.wrong.empty())
            throw Error(ErrorFacts{.problem = "A logit difference needs a wrong answer",
                                   .hint = "Name the token that it is compared with, or use the metric logprob"});
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

void MetricReader::set_reference(const at::Tensor& logits) { reference_ = at::log_softmax(logits[0].to(at::kDouble), 0); }

double MetricReader::operator()(const at::Tensor& logits) const {
    const at::Tensor all = logits.to(at::kDouble);
    if (metric_ == Metric::logit_diff) {
        const auto right = std::ssize(answers_), count = all.size(1);
        return (all[0].narrow(0, 0, right).mean() - all[0].narrow(0, right, count - right).mean()).item<double>();
    }
    const at::Tensor logs = at::log_softmax(all, 1);
    if (metric_ == Metric::kl) return (reference_.exp() * (reference_ - logs[0])).sum().item<double>();
    double sum = 0;
    if (metric_ == Metric::loss) {
        for (std::size_t i = 0; i < next_.size(); ++i) sum -= logs[static_cast<std::int64_t>(i)][next_[i]].item<double>();
        return sum / static_cast<double>(next_.size());
    }
    for (const std::int64_t answer : answers_) {
        const at::Tensor log = logs[0][answer];
        if (metric_ == Metric::logprob) sum += log.item<double>();
        if (metric_ == Metric::prob) sum += log.exp().item<double>();
        if (metric_ == Metric::rank) sum += 1 + static_cast<double>(all[0].gt(all[0][answer]).sum().item<std::int64_t>());
    }
    return metric_ == Metric::prob ? sum : sum / static_cast<double>(answers_.size());
}

}  // namespace headlight::intervention
