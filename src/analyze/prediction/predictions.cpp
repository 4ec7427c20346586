// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/logit_rows.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/model/classes.h"
#include "headlight/trace/edits.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;

}  // namespace

std::vector<TokenPrediction> predictions(const trace::Trace& trace, std::int64_t top, const CancelToken& cancel) {
    const model::ModelConfig& c = trace.config();
    require_unembedding(c, "The prediction of the next token");
    require_token_logits(c, "The prediction of the next token");
    if (!c.causal)
        throw Error({.problem = "This model looks both ways: it does not predict the next token",
                     .item = c.name,
                     .hint = "Mask a token and look at its candidates"});
    const at::NoGradGuard no_grad;
    const std::int64_t tokens = trace.tokens(), vocab = c.vocab_size;
    const std::vector<std::int64_t>& ids = trace.encoding().ids;
    std::vector<TokenPrediction> out(static_cast<std::size_t>(tokens));
    out[0].log_probability = kNaN;
    const auto read = [&](const at::Tensor& logits, std::int64_t first, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            cancel.throw_if_cancelled();
            const float* x = logits.data_ptr<float>() + (i - first) * vocab;
            const LogitRow row(x, vocab);
            const RowNumbers numbers = row.numbers();
            const auto at = static_cast<std::size_t>(i);
            out[at].id = ids[at];
            out[at].entropy = std::max(0.0, numbers.entropy);
            out[at].next = row.largest(top, numbers.log_sum);
            if (i + 1 == tokens) continue;
            out[at + 1].log_probability = static_cast<double>(x[ids[at + 1]]) - numbers.log_sum;
            out[at + 1].rank = row.rank(ids[at + 1]);
        }
    };
    for (std::int64_t first = 0; first < tokens; first += trace::kLogitRows) {
        const std::int64_t end = std::min(tokens, first + trace::kLogitRows);
        const at::Tensor logits = plain(trace::tensor_rows(trace, {Hook::logits, Layer(0)}, first, end - first));
        at::parallel_for(first, end, 1, [&](std::int64_t from, std::int64_t to) { read(logits, first, from, to); });
    }
    return out;
}

Outcome outcome(const trace::Trace& trace, Position p, std::int64_t top, const std::vector<std::int64_t>& asked) {
    const model::ModelConfig& c = trace.config();
    require_unembedding(c, "A prediction");
    check_position(trace, p, "position");
    const at::Tensor logits = plain(trace::tensor_rows(trace, {Hook::logits, Layer(0)}, p.value, 1));
    const float* x = logits.data_ptr<float>();
    const LogitRow row(x, logits.size(1));
    const RowNumbers numbers = row.numbers();
    Outcome out{.likeliest = row.largest(top, numbers.log_sum),
                .entropy = c.class_head.independent ? kNaN : std::max(0.0, numbers.entropy),
                .asked = {},
                .ranks = {}};
    for (const std::int64_t id : asked) {
        out.asked.push_back({.id = id, .logit = x[id]});
        out.ranks.push_back(row.rank(id));
    }
    for (auto* scores : {&out.likeliest, &out.asked})
        for (TokenScore& each : *scores)
            each.probability = static_cast<float>(output_probability(c, static_cast<double>(each.logit), numbers.log_sum));
    return out;
}

std::vector<TokenScore> next_tokens(const trace::Trace& trace, Position p, std::int64_t top) {
    return outcome(trace, p, top).likeliest;
}

namespace {

/// Tokens as one end of the answer, likeliest first: a softmax over them.
std::vector<ClassScore> ends_of(const at::Tensor& logits, std::int64_t id, std::int64_t top) {
    const at::Tensor column = logits.select(1, id).to(at::kDouble).contiguous(), chances = at::softmax(column, 0);
    const at::Tensor order = at::argsort(column, /*stable=*/true, /*dim=*/0, /*descending=*/true);
    std::vector<ClassScore> scores;
    for (std::int64_t rank = 0; rank < std::min(top, order.size(0)); ++rank) {
        const std::int64_t p = order[rank].item<std::int64_t>();
        scores.push_back({Position(p), rank, id, column[p].item<double>(), chances[p].item<double>()});
    }
    return scores;
}

}  // namespace

std::vector<ClassScore> class_predictions(const trace::Trace& trace, std::int64_t top) {
    const model::ModelConfig& c = trace.config();
    require_unembedding(c, "A prediction");
    if (!has_classes(c)) throw Error({.problem = "The logits of this model are of tokens, not of classes", .item = c.name});
    const at::NoGradGuard no_grad;
    std::vector<ClassScore> scores;
    if (head_of(c) == model::HeadKind::question_answering) {
        const at::Tensor logits = plain(trace::tensor_rows(trace, {Hook::logits, Layer(0)}, 0, trace.tokens()));
        for (const std::int64_t id : {0, 1})
            for (const ClassScore& each : ends_of(logits, id, top)) scores.push_back(each);
        return scores;
    }
    const auto position = model::class_position(c, trace.encoding().ids);
    const std::int64_t first = position.value_or(0), last = position ? first + 1 : trace.tokens();
    for (std::int64_t p = first; p < last; ++p) {
        std::int64_t rank = 0;
        for (const TokenScore& each : next_tokens(trace, Position(p), top))
            scores.push_back(
                {Position(p), rank++, each.id, static_cast<double>(each.logit), static_cast<double>(each.probability)});
    }
    return scores;
}

MaskedCandidates masked_candidates(const trace::Trace& trace, Position p, std::int64_t top, const CancelToken& cancel) {
    const model::ModelConfig& c = trace.config();
    trace::require_unedited(trace, "Masking a token");
    check_position(trace, p, "position");
    if (!fills_masks(c))
        throw Error({.problem = "This model has no masked-word head",
                     .item = c.name,
                     .hint = c.causal ? "Look at its predictions of the next token" : "Open the same model with its head"});
    const auto mask = trace.tokenizer()->mask_id();
    if (!mask || *mask >= c.vocab_size) throw Error({.problem = "The tokenizer of this model has no mask token", .item = c.name});
    const at::NoGradGuard no_grad;
    const std::vector<bool>& special = trace.encoding().special;
    const at::Tensor masked = trace::embedding(*trace.model(), *mask, 1)[0];
    const trace::Intervention put_mask{model::name_of({Hook::embed, Layer(0)}), [&](model::HookPoint, const at::Tensor& x) {
                                           at::Tensor changed = x.clone();
                                           changed.select(0, p.value).copy_(masked);
                                           return changed;
                                       }};
    trace::CapturePlan plan{.globs = {model::name_of({Hook::logits, Layer(0)})}, .overview = trace::no_overview};
    const auto run =
        trace::run_with_hooks(trace.model(), trace.tokenizer(),
                              {.text = trace.text_a(),
                               .pair = trace.text_b(),
                               .add_special_tokens = std::find(special.begin(), special.end(), true) != special.end()},
                              plan, {put_mask}, cancel);
    const at::Tensor logits = plain(trace::tensor_rows(*run, {Hook::logits, Layer(0)}, p.value, 1));
    const float* x = logits.data_ptr<float>();
    const LogitRow row(x, logits.size(1));
    const double log_sum = row.numbers().log_sum;
    const std::int64_t there = trace.encoding().ids[static_cast<std::size_t>(p.value)];
    return {row.largest(top, log_sum), static_cast<double>(x[there]) - log_sum, row.rank(there)};
}

Table table_of(const std::vector<TokenPrediction>& tokens, const text::Tokenizer& tokenizer) {
    Table table;
    table.columns = {"position",     "token_id",  "token",         "log_probability", "rank",
                     "next_entropy", "next_rank", "next_token_id", "next_token",      "next_probability"};
    table.definitions = {{"log_probability", "nats, of this token given those before it"},
                         {"rank", "of this token; 0: the likeliest"},
                         {"next_token", "likely after this token"}};
    for (std::size_t i = 0; i < tokens.size(); ++i)
        for (std::size_t k = 0; k < tokens[i].next.size(); ++k) {
            const TokenPrediction& p = tokens[i];
            table.add({static_cast<std::int64_t>(i), p.id, text::token_label(tokenizer, p.id), p.log_probability,
                       index_cell(p.rank), p.entropy, static_cast<std::int64_t>(k), p.next[k].id,
                       text::token_label(tokenizer, p.next[k].id), static_cast<double>(p.next[k].probability)});
        }
    return table;
}

Table table_of(const MaskedCandidates& masked, const text::Tokenizer& tokenizer) {
    Table table{{"rank", "token_id", "token", "logit", "probability"}, {}};
    for (std::size_t k = 0; k < masked.candidates.size(); ++k) {
        const TokenScore& t = masked.candidates[k];
        table.add({static_cast<std::int64_t>(k), t.id, text::token_label(tokenizer, t.id), static_cast<double>(t.logit),
                   static_cast<double>(t.probability)});
    }
    return table;
}

Table table_of(const std::vector<ClassScore>& scores, const trace::Trace& trace) {
    Table table;
    table.columns = {"position", "token", "rank", "class_id", "class", "logit", "probability"};
    const model::ModelConfig& c = trace.config();
    const bool answer = head_of(c) == model::HeadKind::question_answering;
    table.definitions = {{"position", "the row of the class logits that is read"},
                         {"rank", answer ? "among all tokens; 0: the likeliest" : "among the classes; 0: the likeliest"},
                         {"probability", answer                     ? "softmax over the tokens"
                                         : c.class_head.independent ? "sigmoid of the logit"
                                                                    : "softmax over the classes"}};
    for (const ClassScore& each : scores)
        table.add({each.position.value, token_name(trace.labels(), each.position.value), each.rank, each.id,
                   output_label(trace, each.id), each.logit, each.probability});
    return table;
}

}  // namespace headlight::analyze
