// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/columns.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/logit_rows.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/trace/weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::analyze {
namespace {

using model::Hook;

void check_mlp_layer(const model::ModelConfig& c, Layer layer) {
    if (layer.value >= 0 && layer.value < c.n_layers) return;
    throw Error({.problem = "There is no such layer",
                 .expected = "0 to " + std::to_string(c.n_layers - 1),
                 .found = std::to_string(layer.value)});
}

void check_memory_neuron(const model::ModelConfig& c, Layer layer, Neuron neuron) {
    const std::int64_t width = model::mlp_width(c, layer.value);
    if (neuron.value >= 0 && neuron.value < width) return;
    throw Error({.problem = "There is no such neuron",
                 .expected = "0 to " + std::to_string(width - 1),
                 .found = std::to_string(neuron.value)});
}

/// Row of a kept tensor at a token, float64.
at::Tensor indices(const std::vector<Neuron>& neurons, std::size_t first, std::size_t last) {
    at::Tensor index = at::empty({static_cast<std::int64_t>(last - first)}, at::kLong);
    for (std::size_t i = first; i < last; ++i) index.data_ptr<std::int64_t>()[i - first] = neurons[i].value;
    return index;
}

/// Values of a layer as the unembedding reads them: [neuron, d_model].
class ReadValues {
public:
    ReadValues(const model::Model& model, Layer layer, bool gain) {
        const trace::MlpTensors w = trace::mlp_weights(model, layer);
        values_ = w.w_out;
        branch_ = w.branch.gain;
        // Of the norm that reads the sum: the final one, or the layer's own behind it.
        const bool behind_mlp = model.config().post_norm && !model.config().mlm_head;
        if (gain) gain_ = behind_mlp ? w.norm.gain : trace::final_norm(model).gain;
    }
    at::Tensor of(const at::Tensor& neurons) const {
        at::Tensor rows = values_.index_select(0, neurons.to(values_.device()));
        if (branch_.defined()) rows = rows * branch_;
        return gain_.defined() ? rows * gain_ : rows;
    }

private:
    at::Tensor values_;
    at::Tensor branch_;  ///< of the norm between the value and the stream
    at::Tensor gain_;
};

/// Calls fn(index in `neurons`, logits of its value) for all of them, from several threads.
template <class Fn>
void for_each_value(const model::Model& model, Layer layer, const std::vector<Neuron>& neurons, bool gain,
                    const CancelToken& cancel, const Progress& progress, Fn fn) {
    const at::NoGradGuard no_grad;
    const ReadValues values(model, layer, gain);
    const at::Tensor w_u = trace::unembed(model);
    const auto count = static_cast<std::int64_t>(neurons.size());
    const std::int64_t at_once = even_share(count, logit_rows_at_a_time(w_u.size(1)));
    for (std::int64_t first = 0; first < count; first += at_once) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Reading values", "neuron", first, count});
        const std::int64_t last = std::min(first + at_once, count);
        const at::Tensor rows = values.of(indices(neurons, static_cast<std::size_t>(first), static_cast<std::size_t>(last)));
        for_each_product_row(rows, w_u,
                             [&](std::int64_t r, const LogitRow& row) { fn(static_cast<std::size_t>(first + r), row); });
    }
    if (progress) progress({"Reading values", "neuron", count, count});
}

std::vector<Neuron> all_neurons(const model::ModelConfig& c, Layer layer) {
    std::vector<Neuron> all;
    for (std::int64_t i = 0; i < model::mlp_width(c, layer.value); ++i) all.emplace_back(i);
    return all;
}

}  // namespace

std::vector<Memory> memories(const trace::Trace& trace, Layer layer, Position p, std::int64_t top) {
    const model::ModelConfig& c = trace.config();
    check_mlp_layer(c, layer);
    check_position(trace, p, "position");
    const at::NoGradGuard no_grad;
    const at::Tensor m = state_row(trace, Hook::mlp_post, layer, p), pre = state_row(trace, Hook::mlp_pre, layer, p);
    const at::Tensor up = c.gated_mlp ? state_row(trace, Hook::mlp_pre_linear, layer, p) : at::Tensor();
    const at::Tensor w_out = trace::mlp_weights(*trace.model(), layer).w_out.cpu();
    const at::Tensor norms = w_out.to(at::kDouble).square().sum(1).sqrt().contiguous();
    const std::int64_t width = model::mlp_width(c, layer.value);
    const at::Tensor experts = model::has_experts(c, layer.value) ? state_row(trace, Hook::experts, layer, p) : at::Tensor();
    const double shared =
        experts.defined() && c.experts.shared_gate ? state_row(trace, Hook::shared_gate, layer, p).item<double>() : 1.0;
    std::vector<Memory> all(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double coefficient = m.data_ptr<double>()[i], norm = norms.data_ptr<double>()[i];
        const std::int64_t expert = model::expert_of(c, layer.value, static_cast<std::int64_t>(i));
        all[i] = {.neuron = Neuron(static_cast<std::int64_t>(i)),
                  .expert = expert,
                  .weight = expert < 0               ? shared
                            : c.experts.weighs_input ? 1.0
                                                     : experts.data_ptr<double>()[expert],
                  .coefficient = coefficient,
                  .pre = pre.data_ptr<double>()[i],
                  .up = up.defined() ? up.data_ptr<double>()[i] : kNaN,
                  .value_norm = norm,
                  .contribution_norm = std::abs(coefficient) * norm};
    }
    const auto count = top <= 0 ? width : std::min(top, width);
    std::partial_sort(all.begin(), all.begin() + count, all.end(), [](const Memory& a, const Memory& b) {
        return a.contribution_norm != b.contribution_norm ? a.contribution_norm > b.contribution_norm : a.neuron < b.neuron;
    });
    all.resize(static_cast<std::size_t>(count));
    return all;
}

std::vector<Promoted> promoted_tokens(const model::Model& model, Layer layer, const std::vector<Neuron>& neurons,
                                      const PromotedOptions& o, const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = model.config();
    require_stream_unembedding(c, "What a memory promotes");
    check_mlp_layer(c, layer);
    if (o.watched && (*o.watched < 0 || *o.watched >= c.vocab_size))
        throw Error({.problem = "There is no such token",
                     .expected = "an id from 0 to " + std::to_string(c.vocab_size - 1),
                     .found = std::to_string(*o.watched)});
    for (const Neuron neuron : neurons) check_memory_neuron(c, layer, neuron);
    const std::vector<Neuron> wanted = neurons.empty() ? all_neurons(c, layer) : neurons;
    std::vector<Promoted> out(wanted.size());
    for_each_value(model, layer, wanted, o.gain, cancel, progress, [&](std::size_t i, const LogitRow& row) {
        const double log_sum = row.numbers().log_sum;
        out[i] = {.neuron = wanted[i],
                  .top = row.largest(o.top, log_sum),
                  .bottom = row.smallest(o.top, log_sum),
                  .max_probability = std::exp(static_cast<double>(row.highest()) - log_sum),
                  .watched_rank = o.watched ? row.rank(*o.watched) : -1};
    });
    return out;
}

namespace {

/// Columns of W_U: [d_model, token]. Mostly it is the embedding turned, whose rows are copied at once.
at::Tensor columns_of(const at::Tensor& w_u, const at::Tensor& ids) {
    return w_u.stride(0) == 1 ? w_u.t().index_select(0, ids).t() : w_u.index_select(1, ids);
}

/// The largest of some tokens' logits in every row: [row] float64 on the CPU.
at::Tensor largest_of(const at::Tensor& rows, const at::Tensor& w_u, const at::Tensor& ids, const CancelToken& cancel) {
    const std::int64_t at_once = std::max<std::int64_t>(1, kLogitsAtATime / std::max<std::int64_t>(rows.size(0), 1));
    const at::Tensor of = rows.to(w_u.device(), w_u.scalar_type());
    at::Tensor largest;
    for (std::int64_t first = 0; first < ids.size(0); first += at_once) {
        cancel.throw_if_cancelled();
        const at::Tensor some = ids.narrow(0, first, std::min(at_once, ids.size(0) - first)).to(w_u.device());
        const at::Tensor here = model::matrix_product(of, columns_of(w_u, some)).amax(1);
        largest = largest.defined() ? at::maximum(largest, here) : here;
    }
    return largest.to(at::kCPU, at::kDouble);
}

}  // namespace

std::vector<std::int64_t> top_tokens_among(const model::Model& model, Layer layer, std::vector<std::int64_t> asked, bool gain,
                                           const CancelToken& cancel) {
    require_stream_unembedding(model.config(), "What a memory promotes");
    check_mlp_layer(model.config(), layer);
    const at::NoGradGuard no_grad;
    std::vector<std::int64_t> out(static_cast<std::size_t>(model::mlp_width(model.config(), layer.value)), -1);
    std::ranges::sort(asked);
    asked.erase(std::ranges::unique(asked).begin(), asked.end());
    if (asked.empty()) return out;
    const ReadValues values(model, layer, gain);
    const at::Tensor w_u = trace::unembed(model);
    const std::int64_t vocab = w_u.size(1);
    at::Tensor left = at::arange(static_cast<std::int64_t>(out.size()), at::kLong);
    at::Tensor best = largest_of(values.of(left), w_u, at::tensor(asked, at::kLong), cancel);
    // Products of other shapes round differently: what is that close is read whole.
    const double close = w_u.scalar_type() == at::kBFloat16 ? 3e-2 : 1e-4;
    for (const std::int64_t sample : {512, 4096}) {
        if (2 * sample > vocab || left.size(0) == 0) break;
        const at::Tensor others = largest_of(values.of(left), w_u, at::arange(0, vocab, vocab / sample, at::kLong), cancel);
        const at::Tensor stays = (others - best <= at::maximum(others.abs(), best.abs()) * close).nonzero().flatten();
        left = left.index_select(0, stays);
        best = best.index_select(0, stays);
    }
    std::vector<Neuron> candidates;
    for (std::int64_t i = 0; i < left.size(0); ++i) candidates.emplace_back(left.data_ptr<std::int64_t>()[i]);
    for_each_value(model, layer, candidates, gain, cancel, {}, [&](std::size_t i, const LogitRow& row) {
        const std::int64_t top = row.largest(1, 0)[0].id;
        if (std::ranges::binary_search(asked, top)) out[static_cast<std::size_t>(candidates[i].value)] = top;
    });
    return out;
}

std::vector<ValueRead> value_reads(const model::Model& model, Layer layer, const std::vector<std::int64_t>& watched, bool gain,
                                   const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = model.config();
    require_stream_unembedding(c, "What a memory promotes");
    check_mlp_layer(c, layer);
    const std::vector<Neuron> neurons = all_neurons(c, layer);
    if (!watched.empty() && watched.size() != neurons.size())
        throw Error({.problem = "Each neuron of a layer watches one token",
                     .expected = std::to_string(neurons.size()) + " tokens",
                     .found = std::to_string(watched.size())});
    std::vector<ValueRead> out(neurons.size());
    for_each_value(model, layer, neurons, gain, cancel, progress, [&](std::size_t i, const LogitRow& row) {
        const bool asked = !watched.empty() && watched[i] >= 0 && watched[i] < c.vocab_size;
        out[i] = {.top = row.largest(1, 0)[0].id,
                  .probability = std::exp(static_cast<double>(row.highest()) - row.numbers().log_sum),
                  .rank = asked ? row.rank(watched[i]) : -1};
    });
    return out;
}

namespace {

struct TopValuesKey {
    bool gain;
    bool operator==(const TopValuesKey&) const = default;
};

}  // namespace

std::shared_ptr<const std::vector<std::vector<std::int32_t>>> top_tokens_of_values(
    const std::shared_ptr<const model::Model>& model, bool gain, const CancelToken& cancel) {
    using Tops = std::vector<std::vector<std::int32_t>>;
    const model::ModelConfig& c = model->config();
    const auto make = [&] {
        Tops tops;
        for (std::int64_t l = 0; l < c.n_layers; ++l) {
            std::vector<std::int32_t>& layer = tops.emplace_back(static_cast<std::size_t>(model::mlp_width(c, l)));
            for_each_value(*model, Layer(l), all_neurons(c, Layer(l)), gain, cancel, {}, [&](std::size_t i, const LogitRow& row) {
                layer[i] = static_cast<std::int32_t>(row.largest(1, 0)[0].id);
            });
        }
        return tops;
    };
    require_stream_unembedding(c, "What a memory promotes");
    return model->results().get(TopValuesKey{gain}, make, [](const Tops& tops) {
        std::int64_t bytes = 0;
        for (const auto& layer : tops) bytes += std::ssize(layer) * static_cast<std::int64_t>(sizeof(std::int32_t));
        return bytes;
    });
}

Vector neuron_activations(const trace::Trace& trace, Layer layer, Neuron neuron) {
    return layer_activations(trace, layer, {neuron}).row(0);
}

Matrix layer_activations(const trace::Trace& trace, Layer layer, const std::vector<Neuron>& neurons) {
    check_mlp_layer(trace.config(), layer);
    for (const Neuron neuron : neurons) check_memory_neuron(trace.config(), layer, neuron);
    const at::Tensor post = trace::tensor(trace, {Hook::mlp_post, layer});
    return to_matrix((neurons.empty() ? post : post.index_select(1, indices(neurons, 0, neurons.size()))).t());
}

Matrix active_share(const trace::Trace& trace) {
    const at::NoGradGuard no_grad;
    Matrix share(trace.config().n_layers, trace.tokens());
    for (std::int64_t l = 0; l < trace.config().n_layers; ++l)
        share.row(l) = to_vector(trace::tensor(trace, {Hook::mlp_post, Layer(l)}).gt(0).to(at::kFloat).mean(1));
    return share;
}

MemoriesAnswer memories_of(const trace::Trace& trace, Layer layer, Position position, const MemoriesRequest& asked,
                           const CancelToken& cancel, const Progress& progress) {
    MemoriesAnswer out{.memories = memories(trace, layer, position, 0), .promoted = {}, .logit = {}};
    cancel.throw_if_cancelled();
    out.active = std::ranges::count_if(out.memories, [](const Memory& m) { return m.coefficient > 0; });
    if (splits_logits(trace.config())) {
        out.logit = logit_asked(trace, position, asked.logit);
        const std::vector<double> adds = neuron_parts(trace, position, *out.logit, layer);
        for (Memory& m : out.memories) m.adds = adds[static_cast<std::size_t>(m.neuron.value)];
        if (asked.order == MemoryOrder::logit)
            std::ranges::stable_sort(out.memories, std::ranges::greater(), [](const Memory& m) { return std::abs(m.adds); });
    }
    if (asked.top > 0) out.memories.resize(std::min(out.memories.size(), static_cast<std::size_t>(asked.top)));
    if (!unembeds_stream(trace.config())) return out;
    std::vector<Neuron> neurons;
    for (const Memory& m : out.memories) neurons.push_back(m.neuron);
    out.promoted = promoted_tokens(*trace.model(), layer, neurons, {.top = promoted_listed, .gain = asked.gain, .watched = {}},
                                   cancel, progress);
    return out;
}

Table table_of(const std::vector<Memory>& memories, const std::vector<Promoted>& promoted, const trace::Trace& trace, Layer layer,
               Position position) {
    const bool experts = model::has_experts(trace.config(), layer.value);
    const bool adds = std::ranges::any_of(memories, [](const Memory& m) { return std::isfinite(m.adds); });
    const auto label = [&](std::int64_t id) { return text::token_label(*trace.tokenizer(), id); };
    // Gaps where it was not asked what the memories promote.
    const auto promotes = [&](auto get) {
        return [&promoted, get](const Memory&, std::int64_t i) {
            return promoted.empty() ? Table::Cell() : cell_of(get(promoted[static_cast<std::size_t>(i)]));
        };
    };
    const auto list = [&](bool raised) {
        return [&promoted, label, raised](const Memory& m, std::int64_t i) -> Table::Cell {
            if (promoted.empty()) return {};
            const Promoted& of = promoted[static_cast<std::size_t>(i)];
            std::string all;
            for (const TokenScore& token : (m.coefficient < 0) == raised ? of.bottom : of.top)
                all += (all.empty() ? "" : "   ") + label(token.id);
            return all;
        };
    };
    return Columns<Memory>{
        {"neuron", &Memory::neuron},
        {"coefficient", &Memory::coefficient,
         experts ? "m = weight act(x . g) (x . u); 0 where the expert was not chosen"
                 : "m = act(x . k + b); gated: act(x . g) (x . u)"},
        {"value_norm", &Memory::value_norm, "|v|"},
        {"contribution_norm", &Memory::contribution_norm, "|m| |v|"},
        {"top_token_id", promotes([](const Promoted& p) { return p.top.front().id; })},
        {"top_token", promotes([=](const Promoted& p) { return label(p.top.front().id); }),
         "likeliest of softmax(v E); a negative coefficient promotes the bottom token"},
        {"top_probability", promotes([](const Promoted& p) { return p.top.front().probability; })},
        {"bottom_token_id", promotes([](const Promoted& p) { return p.bottom.front().id; })},
        {"bottom_token", promotes([=](const Promoted& p) { return label(p.bottom.front().id); })},
        {"expert", &Memory::expert, "that the neuron belongs to; -1: the shared one", experts},
        {"weight", &Memory::weight, "what the layer's router (or the shared expert's gate) weighs the expert with", experts},
        {"layer", layer},
        {"position", position},
        {"pre_activation", &Memory::pre, "x . k + b; gated: the gate"},
        {"up", &Memory::up, "gated: the linear branch"},
        {"raises", list(true), "tokens that the memory promotes most here, the coefficient's sign included"},
        {"lowers", list(false), "tokens that it demotes most here"},
        {"logit_contribution", &Memory::adds,
         "what the memory adds to the logit of the likeliest next token (or of the one that was asked for), as in attribution",
         adds}}
        .table(memories);
}

}  // namespace headlight::analyze
