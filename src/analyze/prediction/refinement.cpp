// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/refinement.h"
#include "headlight/analyze/columns.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/logit_rows.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;
using Runs = std::vector<std::shared_ptr<const trace::Trace>>;

/// Top token of each vector, and the probability that each of the first ones gives a wished token.
struct Reads {
    std::vector<std::int64_t> top;
    std::vector<double> probability;
};

Reads read_vectors(const model::Model& model, const at::Tensor& vectors, ReadOut how, const std::vector<std::int64_t>& of,
                   const CancelToken& cancel) {
    const auto n = vectors.size(0);
    Reads reads{std::vector<std::int64_t>(static_cast<std::size_t>(n)), std::vector<double>(of.size())};
    const std::int64_t vocab = model.config().vocab_size, at_once = logit_rows_at_a_time(vocab);
    const at::Tensor w_u = how == ReadOut::model ? at::Tensor() : trace::unembed(model);
    for (std::int64_t first = 0; first < n; first += at_once) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(at_once, n - first);
        const at::Tensor block = vectors.narrow(0, first, count);
        const at::Tensor logits =
            (how == ReadOut::model ? trace::logits_of(model, block) : at::mm(block.to(w_u.device(), w_u.scalar_type()), w_u))
                .to(at::kCPU, at::kFloat)
                .contiguous();
        const float* data = logits.data_ptr<float>();
        at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t r = begin; r < end; ++r) {
                const auto i = static_cast<std::size_t>(first + r);
                const float* x = data + r * vocab;
                const LogitRow row(x, vocab);
                reads.top[i] = row.largest(1, 0)[0].id;
                if (i < of.size()) reads.probability[i] = std::exp(static_cast<double>(x[of[i]]) - row.numbers().log_sum);
            }
        });
    }
    return reads;
}

at::Tensor normed(const at::Tensor& x, const trace::NormTensors& norm, const model::ModelConfig& c) {
    const at::Tensor wide = x.to(at::kCPU, at::kDouble),
                     centred = c.norm == model::Norm::layer_norm ? wide - wide.mean(-1, true) : wide;
    at::Tensor out = centred / (centred.square().mean(-1, true) + c.norm_epsilon).sqrt();
    if (norm.gain.defined()) out = out * norm.gain.to(at::kCPU, at::kDouble);
    if (norm.bias.defined()) out = out + norm.bias.to(at::kCPU, at::kDouble);
    return out.to(x.scalar_type());
}

double quantile_of(std::vector<double> sorted, double q) {
    if (sorted.empty()) return kNaN;
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

/// The strongest trigger of every memory of a layer so far, and the token that followed it.
struct Triggers {
    std::vector<float> largest;
    std::vector<std::int64_t> next;
};

/// Some tokens of a text, and what they are read as.
class TextReader {
public:
    TextReader(const trace::Trace& trace, ReadOut how, std::vector<std::int64_t> positions, const CancelToken& cancel)
        : trace_(trace), c_(trace.config()), how_(how), positions_(std::move(positions)), cancel_(cancel) {
        if (!positions_.empty()) final_ = read_vectors(*trace.model(), output(Layer(c_.n_layers - 1)), how_, {}, cancel_).top;
    }
    const trace::Trace& trace() const { return trace_; }
    const std::vector<std::int64_t>& positions() const { return positions_; }
    std::int64_t final(std::size_t i) const { return final_[i]; }

    std::vector<TokenReading> layer(Layer l) const {
        cancel_.throw_if_cancelled();
        const std::size_t n = positions_.size();
        std::vector<TokenReading> out(n);
        if (n == 0) return out;
        const Reads reads = read_vectors(
            *trace_.model(), at::cat({part(before(l), l), part(rows(Hook::mlp_out, l), l), output(l)}), how_, final_, cancel_);
        for (std::size_t i = 0; i < n; ++i) out[i] = {reads.top[i], reads.top[n + i], reads.top[2 * n + i], reads.probability[i]};
        return out;
    }

    at::Tensor rows(Hook hook, Layer layer) const {
        std::vector<at::Tensor> stretches;
        for (std::size_t i = 0, next = 0; i < positions_.size(); i = next) {
            for (next = i + 1; next < positions_.size() && positions_[next] == positions_[next - 1] + 1;) ++next;
            stretches.push_back(trace::tensor_rows(trace_, {hook, layer}, positions_[i], static_cast<std::int64_t>(next - i)));
        }
        return stretches.size() == 1 ? stretches[0] : at::cat(stretches);
    }

private:
    at::Tensor before(Layer l) const { return rows(has_cross_attention(c_) ? Hook::resid_mid_cross : Hook::resid_mid, l); }

    /// What the layer leaves. Read by the unembedding alone, where a norm stands behind the sum: the sum itself.
    at::Tensor output(Layer l) const {
        return c_.post_norm && how_ == ReadOut::unembedding ? before(l) + rows(Hook::mlp_out, l) : rows(Hook::resid_post, l);
    }

    /// Part of a sum as the model would read it if it were all of it: through the norm behind the sum, its statistics the part's
    /// own.
    at::Tensor part(const at::Tensor& x, Layer l) const {
        return c_.post_norm && how_ == ReadOut::model ? normed(x, trace::layer_vectors(*trace_.model(), l).mlp, c_) : x;
    }

    const trace::Trace& trace_;
    const model::ModelConfig& c_;
    ReadOut how_;
    std::vector<std::int64_t> positions_;
    const CancelToken& cancel_;
    std::vector<std::int64_t> final_;  ///< top token of the last layer's output
};

void check_readable(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    require_own_text(trace, "Refinement");
    require_refinement(c);
}

/// Counts of one layer over all texts.
struct Counts {
    std::int64_t by_part[4] = {};  ///< by Breakdown
    std::int64_t none_agrees = 0, final_top = 0;
    double active = 0;
    std::vector<double> probabilities;
};

class Measure {
public:
    Measure(const Runs& runs, const RefinementOptions& o, const CancelToken& cancel, const Progress& progress)
        : o_(o), cancel_(cancel), progress_(progress), model_(*runs[0]->model()), c_(model_.config()) {
        for (const auto& run : runs) {
            std::vector<std::int64_t> positions;
            const bool skip = o_.skip_first && !model::reads_pictures(c_);
            for (std::int64_t p = skip ? 1 : 0; p < run->tokens(); ++p) positions.push_back(p);
            out_.tokens += std::ssize(positions);
            texts_.emplace_back(*run, o_.read_out, std::move(positions), cancel_);
        }
    }

    Refinement run() {
        for (std::int64_t l = 0; l < c_.n_layers; ++l) {
            if (progress_) progress_({"Refinement", "layer", l, c_.n_layers});
            layer(Layer(l));
        }
        if (progress_) progress_({"Refinement", "layer", c_.n_layers, c_.n_layers});
        return std::move(out_);
    }

private:
    void layer(Layer l) {
        std::vector<std::vector<TokenReading>> readings;  // [text][token]
        for (const TextReader& text : texts_) readings.push_back(text.layer(l));
        Counts counts;
        Triggers triggers;
        std::vector<std::int64_t> values;
        if (o_.values) {
            values = top_tokens_among(model_, l, asked(readings), o_.read_out == ReadOut::model, cancel_);
            triggers = {std::vector<float>(values.size(), 0), std::vector<std::int64_t>(values.size(), -1)};
        }
        for (std::size_t text = 0; text < texts_.size(); ++text)
            one_text(static_cast<std::int64_t>(text), l, readings[text], values, counts, triggers);
        finish(counts, triggers, values);
    }

    /// -1: the last token of a text, and a patch, have no next one, and can be nobody's trigger.
    std::int64_t next_of(const trace::Trace& trace, std::int64_t position) const {
        return position + 1 < trace.tokens() && !model::reads_pictures(c_)
                   ? trace.encoding().ids[static_cast<std::size_t>(position + 1)]
                   : -1;
    }

    /// The tokens that a value may have to agree with.
    std::vector<std::int64_t> asked(const std::vector<std::vector<TokenReading>>& readings) const {
        std::vector<std::int64_t> ids;
        for (std::size_t text = 0; text < texts_.size(); ++text) {
            for (const TokenReading& reading : readings[text]) ids.push_back(reading.update);
            for (const std::int64_t p : texts_[text].positions())
                if (const std::int64_t next = next_of(texts_[text].trace(), p); next >= 0) ids.push_back(next);
        }
        return ids;
    }

    void one_text(std::int64_t number, Layer l, const std::vector<TokenReading>& readings,
                  const std::vector<std::int64_t>& values, Counts& counts, Triggers& triggers) {
        if (readings.empty()) return;
        const TextReader& text = texts_[static_cast<std::size_t>(number)];
        const at::Tensor m = text.rows(Hook::mlp_post, l).to(at::kFloat).contiguous();
        const bool last = l.value + 1 == c_.n_layers;
        for (std::size_t i = 0; i < readings.size(); ++i) {
            const TokenReading& read = readings[i];
            ++counts.by_part[static_cast<std::size_t>(breakdown_of(read))];
            counts.final_top += read.before == text.final(i);
            counts.probabilities.push_back(read.final_probability);
            const std::int64_t position = text.positions()[i];
            if (last && read.before != read.after) out_.last_layer.push_back({number, position, read.before, read.after});
            memories_at(m.data_ptr<float>() + static_cast<std::int64_t>(i) * m.size(1), m.size(1), read.update,
                        next_of(text.trace(), position), values, counts, triggers);
        }
    }

    void memories_at(const float* m, std::int64_t width, std::int64_t top_y, std::int64_t next,
                     const std::vector<std::int64_t>& values, Counts& counts, Triggers& triggers) const {
        std::int64_t active = 0;
        for (std::int64_t i = 0; i < width; ++i) active += m[i] > 0;
        counts.active += static_cast<double>(active) / static_cast<double>(width);
        if (values.empty()) return;
        bool agrees = false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if ((o_.all_memories || m[i] > 0) && values[i] == top_y) agrees = true;
            if (next >= 0 && m[i] > triggers.largest[i]) {
                triggers.largest[i] = m[i];
                triggers.next[i] = next;
            }
        }
        counts.none_agrees += !agrees;
    }

    void finish(Counts& counts, const Triggers& triggers, const std::vector<std::int64_t>& values) {
        const auto part = [&](Breakdown of) { return static_cast<double>(counts.by_part[static_cast<std::size_t>(of)]); };
        const auto share = [&](double count) { return out_.tokens > 0 ? count / static_cast<double>(out_.tokens) : kNaN; };
        LayerRefinement layer;
        layer.active = share(counts.active);
        layer.agreement = share(part(Breakdown::agreement));
        layer.residual = share(part(Breakdown::residual));
        layer.ffn = share(part(Breakdown::ffn));
        layer.composition = share(part(Breakdown::composition));
        layer.zero_agreement = values.empty() ? kNaN : share(static_cast<double>(counts.none_agrees));
        layer.residual_final = share(static_cast<double>(counts.final_top));
        double sum = 0;
        for (const double p : counts.probabilities) sum += p;
        layer.residual_probability = share(sum);
        std::sort(counts.probabilities.begin(), counts.probabilities.end());
        layer.residual_probability_low = quantile_of(counts.probabilities, 0.25);
        layer.residual_probability_median = quantile_of(counts.probabilities, 0.5);
        layer.residual_probability_high = quantile_of(counts.probabilities, 0.75);
        std::int64_t agree = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            layer.active_memories += triggers.next[i] >= 0;
            agree += triggers.next[i] >= 0 && triggers.next[i] == values[i];
        }
        layer.value_agreement =
            layer.active_memories > 0 ? static_cast<double>(agree) / static_cast<double>(layer.active_memories) : kNaN;
        out_.layers.push_back(layer);
    }

    const RefinementOptions& o_;
    const CancelToken& cancel_;
    const Progress& progress_;
    const model::Model& model_;
    const model::ModelConfig& c_;
    std::vector<TextReader> texts_;
    Refinement out_;
};

}  // namespace

void require_refinement(const model::ModelConfig& c) {
    require_unembedding(c, "Refinement of the prediction");
    require_token_logits(c, "Refinement of the prediction");
    if (c.mlm_head)
        throw Error({.problem = "In this model the stream before and behind an MLP is not read by the unembedding",
                     .item = c.name,
                     .found = "a masked-word head, which is not linear",
                     .hint = "The logit lens and the memories of a layer work for it"});
}

Refinement refinement(const Runs& runs, const RefinementOptions& options, const CancelToken& cancel, const Progress& progress) {
    if (runs.empty()) throw Error("Refinement needs at least one text");
    for (const auto& run : runs)
        if (run->model() != runs[0]->model()) throw Error("Refinement needs runs of one model");
    check_readable(*runs[0]);
    const at::NoGradGuard no_grad;
    return Measure(runs, options, cancel, progress).run();
}

Breakdown breakdown_of(const TokenReading& x) {
    return x.before == x.update && x.update == x.after   ? Breakdown::agreement
           : x.after == x.before && x.before != x.update ? Breakdown::residual
           : x.after == x.update && x.before != x.update ? Breakdown::ffn
                                                         : Breakdown::composition;
}

std::vector<std::vector<TokenReading>> token_readings(const trace::Trace& trace, const std::vector<Position>& positions,
                                                      ReadOut how, const CancelToken& cancel) {
    check_readable(trace);
    std::vector<std::int64_t> numbers;
    for (const Position p : positions) {
        check_position(trace, p, "position");
        numbers.push_back(p.value);
    }
    const at::NoGradGuard no_grad;
    const TextReader text(trace, how, std::move(numbers), cancel);
    std::vector<std::vector<TokenReading>> out;
    for (std::int64_t l = 0; l < trace.config().n_layers; ++l) out.push_back(text.layer(Layer(l)));
    return out;
}

Table table_of(const Refinement& found) {
    using Row = LayerRefinement;
    return Columns<Row>{
        {"layer", [](const Row&, std::int64_t number) { return number; }},
        {"active", &Row::active, "mean share of memories with m > 0"},
        {"agreement", &Row::agreement, "top(r) = top(y) = top(o); r before the MLP, y its output, o = r + y"},
        {"residual", &Row::residual, "top(o) = top(r) only"},
        {"ffn", &Row::ffn, "top(o) = top(y) only"},
        {"composition", &Row::composition, "top(o) is neither"},
        {"zero_agreement", &Row::zero_agreement, "no active memory's value has top(y); with --all-memories: no memory's at all"},
        {"residual_final", &Row::residual_final, "top(r) is the top token of the last layer's output"},
        {"residual_probability", &Row::residual_probability, "probability of that token in r: mean, quartiles"},
        {"residual_probability_low", &Row::residual_probability_low},
        {"residual_probability_median", &Row::residual_probability_median},
        {"residual_probability_high", &Row::residual_probability_high},
        {"value_agreement", &Row::value_agreement,
         "share of active memories whose value's top token followed their strongest trigger"},
        {"active_memories", &Row::active_memories, "memories that were active somewhere, of which value_agreement is a share"}}
        .table(found.layers);
}

Table last_layer_table(const Refinement& found, const text::Tokenizer& tokenizer) {
    Table table{{"text", "position", "before_id", "before", "after_id", "after"}, {}};
    for (const LastLayerChange& c : found.last_layer)
        table.add({c.text, c.position, c.before, text::token_label(tokenizer, c.before), c.after,
                   text::token_label(tokenizer, c.after)});
    return table;
}

}  // namespace headlight::analyze
