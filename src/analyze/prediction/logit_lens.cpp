// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/logit_lens.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/logit_rows.h"
#include "analyze/prediction/tuned_lens.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/model/classes.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/weights.h"
#include "model/arithmetic/kernels.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

Hook hook_of(StreamPlace place) {
    return place == StreamPlace::resid_pre   ? Hook::resid_pre
           : place == StreamPlace::resid_mid ? Hook::resid_mid
                                             : Hook::resid_post;
}

void check_lens(const trace::Trace& trace, const LensOptions& options) {
    const model::ModelConfig& c = trace.config();
    require_unembedding(c, "The logit lens");
    if (options.tuned) check_place(*options.tuned, options.at);
    if (options.watched) {
        const std::int64_t vocab = logit_count(c);
        if (*options.watched < 0 || *options.watched >= vocab)
            throw Error({.problem = "There is no such token",
                         .expected = "an id from 0 to " + std::to_string(vocab - 1),
                         .found = std::to_string(*options.watched)});
    }
}

/// States of every layer at the positions of a stretch. Where layers are made again for each reading they are read one after the
/// other, for as many positions as there is room for.
class States {
public:
    /// `positions`: how many will be read in all.
    States(const trace::Trace& trace, const LensOptions& options, std::int64_t positions) : trace_(trace), o_(options) {
        if (options.at != StreamPlace::resid_mid || !trace::remade_now(trace).any) return;
        const model::ModelConfig& c = trace.config();
        const std::int64_t room = memory_budget() / 8, each = c.n_layers * c.d_model * std::int64_t{sizeof(double)};
        stretch_ = std::clamp<std::int64_t>(room / each, 1, positions);
    }
    /// Of some layers at positions [first, first + count), one layer after the other: [layers * count, d_model]. In rising order
    /// of positions.
    at::Tensor of(std::int64_t layer, std::int64_t layers, std::int64_t first, std::int64_t count) {
        std::vector<at::Tensor> rows;
        for (std::int64_t l = layer; l < layer + layers; ++l) {
            const at::Tensor state = rows_of(l, first, count);
            rows.push_back(o_.tuned ? translate(*o_.tuned, o_.at, l, state) : state);
        }
        return at::cat(rows);
    }

private:
    at::Tensor rows_of(std::int64_t layer, std::int64_t first, std::int64_t count) {
        const auto read = [&](std::int64_t l, std::int64_t from, std::int64_t rows) {
            return trace::tensor_rows(trace_, {hook_of(o_.at), Layer(l)}, from, rows);
        };
        if (stretch_ == 0) return read(layer, first, count);
        if (read_.empty() || first + count > first_ + read_.front().size(0)) {
            read_.clear();
            first_ = first;
            const std::int64_t some = std::min(trace_.tokens() - first, std::max(stretch_, count));
            for (std::int64_t l = 0; l < trace_.config().n_layers; ++l) read_.push_back(read(l, first, some).clone());
        }
        return read_[static_cast<std::size_t>(layer)].narrow(0, first - first_, count);
    }

    const trace::Trace& trace_;
    const LensOptions& o_;
    std::int64_t stretch_ = 0;  ///< positions that are read at once; 0: those that are asked for
    std::int64_t first_ = 0;
    std::vector<at::Tensor> read_;  ///< [layer]: positions from first_ on
};

at::Tensor on_cpu(const at::Tensor& logits) { return logits.to(at::kCPU, at::kFloat).contiguous(); }

/// The model's output at positions [first, first + count): as the run left it, or once more from the last state.
at::Tensor final_logits(const trace::Trace& trace, std::int64_t first, std::int64_t count) {
    const std::vector<HookPoint> kept = trace.kept();
    if (std::find(kept.begin(), kept.end(), HookPoint{Hook::logits, Layer(0)}) != kept.end())
        return on_cpu(trace::tensor_rows(trace, {Hook::logits, Layer(0)}, first, count));
    const HookPoint last{Hook::resid_post, Layer(trace.config().n_layers - 1)};
    return on_cpu(trace::logits_of(*trace.model(), trace::tensor_rows(trace, last, first, count)));
}

struct Output {
    std::vector<float> probabilities;  ///< softmax of the model's output
    double entropy = 0;
};

/// `watched` -1: none.
LensState read_state(const model::ModelConfig& c, const float* logits, std::int64_t top, std::int64_t watched,
                     const Output* output) {
    const std::int64_t vocab = logit_count(c);
    const auto probability = [&](float logit, double log_sum) {
        return static_cast<float>(output_probability(c, static_cast<double>(logit), log_sum));
    };
    const LogitRow row(logits, vocab);
    const RowNumbers numbers = row.numbers();
    LensState state;
    state.top = row.largest(top, numbers.log_sum);
    for (TokenScore& each : state.top) each.probability = probability(each.logit, numbers.log_sum);
    state.entropy = std::max(0.0, numbers.entropy);
    if (output) {
        // sum p (ln p - ln q) = -H(p) - sum p x + ln sum exp x; rounding may leave a little below 0
        const double cross = numbers.log_sum - model::kernels::dot(output->probabilities.data(), logits, vocab);
        state.kl_to_final = std::max(0.0, cross - output->entropy);
    }
    if (watched >= 0) {
        const float logit = logits[watched];
        state.watched_rank = row.rank(watched);
        state.watched = {watched, logit, probability(logit, numbers.log_sum)};
    }
    return state;
}

class Reader {
public:
    Reader(const trace::Trace& trace, const LensOptions& options, LogitLens& lens)
        : trace_(trace), o_(options), lens_(lens), states_(trace, options, trace.tokens()) {}

    void positions(std::int64_t first, std::int64_t count, const CancelToken& cancel) {
        outputs(first, count);
        const std::int64_t at_once = std::max<std::int64_t>(1, logit_rows_at_a_time(lens_.vocab) / count);
        for (std::int64_t layer = 0; layer < lens_.layers; layer += at_once) {
            cancel.throw_if_cancelled();
            const std::int64_t layers = std::min(at_once, lens_.layers - layer);
            const at::Tensor logits = on_cpu(trace::logits_of(*trace_.model(), states_.of(layer, layers, first, count)));
            const float* data = logits.data_ptr<float>();
            at::parallel_for(0, layers * count, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t r = begin; r < end; ++r) {
                    const Output& output = outputs_[static_cast<std::size_t>(r % count)];
                    cell(layer + r / count, first + r % count) =
                        read_state(trace_.config(), data + r * lens_.vocab, o_.top, watched(first + r % count), &output);
                }
            });
        }
    }

private:
    LensState& cell(std::int64_t layer, std::int64_t position) {
        return lens_.states[static_cast<std::size_t>(layer * lens_.positions + position)];
    }

    std::int64_t watched(std::int64_t position) const {
        if (o_.watched) return *o_.watched;
        if (!o_.watch_text || model::has_classes(trace_.config())) return -1;
        const std::int64_t at = position + (trace_.config().causal ? 1 : 0);
        return at < lens_.positions ? trace_.encoding().ids[static_cast<std::size_t>(at)] : -1;
    }

    void outputs(std::int64_t first, std::int64_t count) {
        const at::Tensor logits = final_logits(trace_, first, count);
        const float* data = logits.data_ptr<float>();
        outputs_.resize(static_cast<std::size_t>(count));
        at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const float* x = data + i * lens_.vocab;
                Output& output = outputs_[static_cast<std::size_t>(i)];
                cell(lens_.layers, first + i) = read_state(trace_.config(), x, o_.top, watched(first + i), nullptr);
                output.entropy = cell(lens_.layers, first + i).entropy;
                output.probabilities.assign(x, x + lens_.vocab);
                constexpr float no_sink = -std::numeric_limits<float>::infinity();
                model::kernels::softmax(output.probabilities.data(), lens_.vocab, lens_.vocab, no_sink);
            }
        });
    }

    const trace::Trace& trace_;
    const LensOptions& o_;
    LogitLens& lens_;
    States states_;
    std::vector<Output> outputs_;
};

bool marks_answers(const trace::Trace& trace) { return head_of(trace.config()) == model::HeadKind::question_answering; }

/// Question answering: every state as start and end of the answer, [layer, position, 2] float64; the last row is the output.
at::Tensor answer_logits(const trace::Trace& trace, const LensOptions& options, const CancelToken& cancel,
                         const Progress& progress) {
    const std::int64_t layers = trace.config().n_layers, tokens = trace.tokens();
    States states(trace, options, tokens);
    at::Tensor all = at::empty({layers + 1, tokens, logit_count(trace.config())}, at::kDouble);
    const std::int64_t at_once = std::max<std::int64_t>(1, logit_rows_at_a_time(all.size(2)) / layers);
    for (std::int64_t first = 0; first < tokens; first += at_once) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Reading the stream", "token", first, tokens});
        const std::int64_t count = std::min(at_once, tokens - first);
        const at::Tensor logits = on_cpu(trace::logits_of(*trace.model(), states.of(0, layers, first, count)));
        all.narrow(0, 0, layers).narrow(1, first, count).copy_(logits.view({layers, count, -1}));
        all[layers].narrow(0, first, count).copy_(final_logits(trace, first, count));
    }
    return all;
}

/// How many tokens are likelier, [layer, position].
at::Tensor ranks_over_tokens(const at::Tensor& logits) {
    return at::argsort(at::argsort(logits, /*stable=*/true, 1, /*descending=*/true), /*stable=*/true, 1, false);
}

void fill_answers(LogitLens& lens, const at::Tensor& logits, std::int64_t top) {
    const at::Tensor log = at::log_softmax(logits, 1), chances = log.exp();
    const std::int64_t watched = *lens.watched;
    const at::Tensor own = log.select(2, watched), p = chances.select(2, watched);
    const at::Tensor entropy = -(p * own).sum(1);
    const at::Tensor kl = (p[lens.layers].unsqueeze(0) * (own[lens.layers].unsqueeze(0) - own)).sum(1);
    const at::Tensor ranks = ranks_over_tokens(logits.select(2, watched));
    for (std::int64_t l = 0; l <= lens.layers; ++l)
        for (std::int64_t i = 0; i < lens.positions; ++i) {
            LensState& state = lens.states[static_cast<std::size_t>(l * lens.positions + i)];
            for (std::int64_t id = 0; id < logits.size(2); ++id)
                state.top.push_back({id, logits[l][i][id].item<float>(), static_cast<float>(chances[l][i][id].item<double>())});
            state.watched = state.top[static_cast<std::size_t>(watched)];
            std::ranges::stable_sort(state.top, std::greater{}, &TokenScore::probability);
            state.top.resize(std::min(state.top.size(), static_cast<std::size_t>(std::max<std::int64_t>(top, 1))));
            state.watched_rank = ranks[l][i].item<std::int64_t>();
            state.entropy = std::max(0.0, entropy[l].item<double>());
            state.kl_to_final = std::max(0.0, kl[l].item<double>());
        }
}

}  // namespace

void require_unembedding(const model::ModelConfig& config, const std::string& what) {
    if (config.has_unembedding) return;
    throw Error({.problem = what + " needs an unembedding, and this model has none: it gives no logits",
                 .item = config.name,
                 .found = config.other_head.empty() ? "" : model::why_no_logits(config),
                 .hint = "Attention, memory coefficients, drivers of a neuron and contributions work without one; or open "
                         "the same model with its language-model or masked-word head"});
}

bool unembeds_stream(const model::ModelConfig& config) {
    return config.has_unembedding && config.d_embed == 0 && !config.class_head.any();
}

void require_stream_unembedding(const model::ModelConfig& config, const std::string& what) {
    require_unembedding(config, what);
    require_token_logits(config, what);
    if (unembeds_stream(config)) return;
    throw Error({.problem = what + " needs an unembedding that reads the residual stream; this model's is narrower and "
                                   "stands behind the masked-word head",
                 .item = config.name,
                 .expected = "vectors of " + std::to_string(config.d_model) + " numbers",
                 .found = std::to_string(config.d_embed),
                 .hint = "The logit lens works: it goes through the head"});
}

LogitLens logit_lens(const trace::Trace& trace, const LensOptions& options, const CancelToken& cancel, const Progress& progress) {
    check_lens(trace, options);
    const at::NoGradGuard no_grad;
    LogitLens lens{.at = options.at,
                   .layers = trace.config().n_layers,
                   .positions = trace.tokens(),
                   .vocab = logit_count(trace.config()),
                   .watched = options.watched,
                   .states = {}};
    lens.states.resize(static_cast<std::size_t>((lens.layers + 1) * lens.positions));
    if (marks_answers(trace)) {
        lens.over_tokens = true;
        lens.vocab = lens.positions;
        lens.watched = options.watched.value_or(0);
        fill_answers(lens, answer_logits(trace, options, cancel, progress), options.top);
        return lens;
    }
    Reader reader(trace, options, lens);
    // Few positions and all layers in one product: the output's distribution of a position is then read while it is warm.
    const std::int64_t at_once = std::max<std::int64_t>(1, logit_rows_at_a_time(lens.vocab) / lens.layers);
    for (std::int64_t first = 0; first < lens.positions; first += at_once) {
        if (progress) progress({"Reading the stream", "token", first, lens.positions});
        reader.positions(first, std::min(at_once, lens.positions - first), cancel);
    }
    if (progress) progress({"Reading the stream", "token", lens.positions, lens.positions});
    return lens;
}

LensHistory lens_history(const trace::Trace& trace, Position position, const std::vector<std::int64_t>& ids,
                         const LensOptions& options) {
    check_lens(trace, options);
    check_position(trace, position, "position");
    const at::NoGradGuard no_grad;
    const std::int64_t vocab = logit_count(trace.config()), layers = trace.config().n_layers;
    LensHistory history{.ids = ids, .layers = layers, .scores = {}, .ranks = {}};
    if (marks_answers(trace)) {
        const at::Tensor logits = answer_logits(trace, options, {}, {}), chances = at::softmax(logits, 1);
        std::vector<at::Tensor> ranks;
        for (const std::int64_t id : ids) ranks.push_back(ranks_over_tokens(logits.select(2, id)));
        for (std::int64_t l = 0; l <= layers; ++l)
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const std::int64_t id = ids[i];
                history.scores.push_back({id, logits[l][position.value][id].item<float>(),
                                          static_cast<float>(chances[l][position.value][id].item<double>())});
                history.ranks.push_back(ranks[i][l][position.value].item<std::int64_t>());
            }
        return history;
    }
    const auto add = [&](const at::Tensor& logits) {
        for (std::int64_t r = 0; r < logits.size(0); ++r) {
            const float* x = logits.data_ptr<float>() + r * vocab;
            const LogitRow row(x, vocab);
            const double log_sum = row.numbers().log_sum;
            for (const std::int64_t id : ids) {
                if (id < 0 || id >= vocab)
                    throw Error({.problem = "There is no such token",
                                 .expected = "an id from 0 to " + std::to_string(vocab - 1),
                                 .found = std::to_string(id)});
                const double chance = output_probability(trace.config(), static_cast<double>(x[id]), log_sum);
                history.scores.push_back({id, x[id], static_cast<float>(chance)});
                history.ranks.push_back(row.rank(id));
            }
        }
    };
    add(on_cpu(trace::logits_of(*trace.model(), States(trace, options, 1).of(0, layers, position.value, 1))));
    add(final_logits(trace, position.value, 1));
    return history;
}

LensOptions lens_asked(const model::ModelConfig& config, const text::Tokenizer& tokenizer, const LensRequest& asked) {
    LensOptions options{.at = asked.at, .top = asked.top, .watch_text = asked.watch.empty()};
    if (!asked.watch.empty()) options.watched = choose_output(config, tokenizer, asked.watch, "--watch").id;
    return options;
}

Table table_of(const LogitLens& lens, const trace::Trace& trace, std::int64_t top) {
    Table table;
    table.columns = {"layer",        "position",           "rank",    "token_id",   "token",      "logit",
                     "probability",  "kl_to_final",        "entropy", "text_token", "watched_id", "watched_token",
                     "watched_rank", "watched_probability"};
    table.definitions = {{"layer", "-1: the model's output"},
                         {"rank", "0: the likeliest token"},
                         {"logit", "LN_f(state) W_U + b_U, the norm's statistics those of the state"},
                         {"kl_to_final", "nats, KL(model's output || this state), on rank 0"},
                         {"entropy", "nats, on rank 0"},
                         {"text_token", "the token at the position, on rank 0"},
                         {"watched_rank", "of the watched token in this state, on rank 0; 0: the likeliest"}};
    if (lens.over_tokens) {
        table.definitions = {
            {"layer", "-1: the model's output"},
            {"rank", "of start and end at this token; 0: the likelier"},
            {"logit", "of the state as start or end of the answer"},
            {"probability", "softmax over the tokens"},
            {"kl_to_final", "nats, KL(model's output || this layer) over the tokens, of the watched end; on rank 0"},
            {"entropy", "nats, of the layer's distribution over the tokens, of the watched end; on rank 0"},
            {"text_token", "the token at the position, on rank 0"},
            {"watched_rank", "of this token among all as the watched end (start unless named); 0: the likeliest"}};
    }
    const auto label = [&](std::int64_t id) { return output_label(trace, id); };
    const auto add_state = [&](std::int64_t layer, std::int64_t position) {
        const LensState& state = lens.state(layer, Position(position));
        const auto row = [&](std::int64_t rank, const TokenScore& token) {
            std::vector<Table::Cell> cells{layer,
                                           position,
                                           rank,
                                           token.id,
                                           label(token.id),
                                           static_cast<double>(token.logit),
                                           static_cast<double>(token.probability)};
            if (rank == 0) {
                cells.insert(cells.end(), {state.kl_to_final, state.entropy, token_name(trace.labels(), position)});
                if (state.watched_rank >= 0)
                    cells.insert(cells.end(), {state.watched.id, label(state.watched.id), state.watched_rank,
                                               static_cast<double>(state.watched.probability)});
            }
            table.add(std::move(cells));
        };
        const std::int64_t listed = std::min(top, std::ssize(state.top));
        for (std::int64_t rank = 0; rank < listed; ++rank) row(rank, state.top[static_cast<std::size_t>(rank)]);
        if (lens.watched && !lens.over_tokens && state.watched_rank >= listed) row(state.watched_rank, state.watched);
    };
    for (std::int64_t layer = 0; layer <= lens.layers; ++layer)
        for (std::int64_t position = 0; position < lens.positions; ++position)
            add_state(layer == lens.layers ? -1 : layer, position);
    return table;
}

}  // namespace headlight::analyze
