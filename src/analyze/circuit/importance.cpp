// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/columns.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/analyze/heads/rank_correlation.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/model/classes.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/variants.h"
#include "headlight/trace/weights.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

/// The question: which text is read, and where.
struct Question {
    const model::Model& model;
    trace::TokenIds tokens;
    std::int64_t position = 0;
    bool masked = false;
    bool answer = false;  ///< probabilities are over the tokens: of start and of end
    std::int64_t target = 0;
    std::int64_t own() const { return static_cast<std::int64_t>(tokens.ids.size()); }
    std::int64_t source() const { return static_cast<std::int64_t>(tokens.source.size()); }
    std::int64_t size() const { return source() + own(); }
};

Question question_of(const model::Model& model, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                     Position position) {
    if (model::reads_pictures(model.config()))
        throw Error({.problem = "Importance is about the tokens of a text, and this model reads pictures",
                     .item = model.config().name,
                     .hint = "Attention, rollout, the lens and attribution work for it"});
    const bool answer = head_of(model.config()) == model::HeadKind::question_answering;
    if (answer && model.config().causal)
        throw Error({.problem = "Importance in a causal model reads the text up to the position, and a start or end of an answer "
                                "is one among all tokens",
                     .item = model.config().name,
                     .expected = "an encoder",
                     .hint = "Predictions, the lens and attribution work for it"});
    if (position.value < 0 || position.value >= encoding.size())
        throw Error({.problem = "There is no such position in the text",
                     .expected = "0 to " + std::to_string(encoding.size() - 1),
                     .found = std::to_string(position.value)});
    Question q{.model = model, .tokens = trace::ids_of(encoding), .position = position.value, .answer = answer};
    if (model.config().causal) {
        q.tokens.ids.resize(static_cast<std::size_t>(position.value) + 1);
        q.tokens.type_ids.resize(std::min(q.tokens.type_ids.size(), q.tokens.ids.size()));
    } else if (const auto mask = tokenizer.mask_id();
               mask && *mask < model.config().vocab_size && !model.config().class_head.any()) {
        q.tokens.ids[static_cast<std::size_t>(position.value)] = *mask;
        q.masked = true;
    }
    return q;
}

std::int64_t neutral_id(const model::Model& model, const text::Tokenizer& tokenizer, std::optional<std::int64_t> asked) {
    const std::int64_t vocab = model.config().vocab_size;
    if (asked) {
        if (*asked >= 0 && *asked < vocab) return *asked;
        throw Error({.problem = "There is no such token to blank out with",
                     .expected = "0 to " + std::to_string(vocab - 1),
                     .found = std::to_string(*asked)});
    }
    if (const auto mask = tokenizer.mask_id(); mask && *mask < vocab) return *mask;
    for (const char* name : {"<unk>", "[UNK]", "<pad>", "[PAD]", "</s>", "<|endoftext|>", "<|end_of_text|>"})
        if (const auto id = tokenizer.id_of(name); id && *id < vocab) return *id;
    throw Error({.problem = "This tokenizer has no token that stands for nothing",
                 .expected = "a mask, unknown, padding or end token",
                 .hint = "Name one to blank tokens out with"});
}

/// Tokens of the source first.
void append(std::vector<double>& out, const at::Tensor& t) {
    const at::Tensor plain = t.contiguous();
    out.insert(out.end(), plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel());
}

HookPoint input_of(const Importance& r) { return {r.input == InputVectors::stream ? Hook::resid_pre : Hook::embed, Layer(0)}; }

/// Of one row of logits.
at::Tensor chances_of(const model::ModelConfig& c, const at::Tensor& row) {
    return c.class_head.independent ? at::sigmoid(row) : at::softmax(row, 0);
}

/// Of the position: of the classes or tokens that its row is of, or of an answer of start and end.
at::Tensor chances_there(const Question& q, const at::Tensor& logits) {
    return q.answer ? at::softmax(logits, 0).select(0, q.position) : chances_of(q.model.config(), logits.select(0, q.position));
}

void set_gradients(Importance& out, const Question& q, const CancelToken& cancel, const Progress& progress) {
    const HookPoint input = input_of(out);
    const auto probability = [&](const at::Tensor& logits) { return chances_there(q, logits).select(0, q.target); };
    const trace::Gradients g = trace::gradients(q.model, q.tokens, {input}, probability, cancel, progress);
    const auto take = [&](const auto& values, const auto& gradients) {
        if (values.empty()) return;
        const at::Tensor x = values.at(input).to(at::kDouble), dx = gradients.at(input).to(at::kDouble);
        append(out.gradient_x_input, (x * dx).sum(1));
        append(out.gradient_norm, dx.square().sum(1).sqrt());
    };
    take(g.source_values, g.source_gradients);
    take(g.values, g.gradients);
}

/// What the position attends to in every layer, and what that writes: one pass. Returns the prediction there, [vocab] float64.
at::Tensor set_attention(Importance& out, const Question& q, const CancelToken& cancel, const Progress& progress) {
    out.attention.resize(q.model.config().n_layers, q.size());
    out.value_weighted.resize(q.model.config().n_layers, q.size());
    const auto take = [&](HookPoint point, const at::Tensor& weights, const at::Tensor& values) {
        const bool cross = point.hook == Hook::cross_pattern;
        const model::Model& model = cross ? *q.model.part(model::Stack::cross) : q.model;
        const model::ModelConfig& c = model.config();
        const std::int64_t first = cross ? 0 : q.source(), count = cross ? q.source() : q.own();
        const at::Tensor row = weights.to(at::kDouble);  // [head, key]
        const at::Tensor of_heads = values.to(at::kDouble).repeat_interleave(c.n_heads / c.n_kv_heads, 1);
        const at::Tensor w_o = trace::attention_output(model, point.layer).w_o.to(at::kCPU).to(at::kDouble);
        const at::Tensor mixed = (of_heads * row.t().unsqueeze(2)).reshape({count, -1});
        const at::Tensor written = at::mm(mixed, w_o.reshape({-1, c.d_model})).square().sum(1).sqrt().contiguous();
        const at::Tensor mean = row.mean(0).contiguous();
        for (std::int64_t j = 0; j < count; ++j) {
            out.attention(point.layer.value, first + j) = mean.data_ptr<double>()[j];
            out.value_weighted(point.layer.value, first + j) = written.data_ptr<double>()[j];
        }
    };
    const at::Tensor logits = trace::replay_row(q.model, q.tokens, q.position, take, cancel, progress);
    return chances_there(q, logits.to(at::kDouble));
}

/// Uniform in [0, n) without the library's own distributions, which differ between systems.
std::int64_t below(std::mt19937_64& random, std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

/// False for the position that is masked anyway.
bool is_blanked(const Question& q, std::int64_t token) { return !(q.masked && token - q.source() == q.position); }

/// Passes on texts with one difference each: first those with a token replaced, then those with an order of weights. Made one
/// after the other, since all of a long text's would fill the memory.
class Passes {
public:
    Passes(const Question& q, const ImportanceOptions& o, std::int64_t neutral) : q_(q), o_(o), neutral_(neutral) {
        for (std::int64_t j = 0; o.blank_out && j < q.size(); ++j)
            if (is_blanked(q, j)) blanked_.push_back(j);
        for (const Hook hook : {Hook::pattern, Hook::cross_pattern})
            for (std::int64_t l = 0; l < q.model.config().n_layers && o.permutations > 0; ++l)
                if (keys_of(hook) > 1) shuffled_.push_back({hook, Layer(l)});
    }
    std::int64_t count() const { return std::ssize(blanked_) + std::ssize(shuffled_) * o_.permutations; }
    /// What the target's probability loses in a pass, and how far the whole prediction moves (total variation distance).
    void run(std::int64_t target, const CancelToken& cancel, const Progress& progress) {
        constexpr std::int64_t kNumbersAtOnce = 1 << 24;
        const std::int64_t at_once = std::max<std::int64_t>(1, kNumbersAtOnce / (q_.size() * q_.model.config().n_heads));
        for (std::int64_t first = 0; first < count(); first += at_once) {
            std::vector<trace::Variant> variants;
            for (std::int64_t i = first; i < std::min(first + at_once, count()); ++i) variants.push_back(variant(i));
            const auto report = [&](const ProgressStep& step) {
                if (progress) progress({step.what, step.unit, first + step.done, count()});
            };
            if (q_.answer) {
                run_answers(target, variants, cancel, report);
                continue;
            }
            const auto take = [&](std::int64_t, const at::Tensor& own, const at::Tensor& logits) {
                const model::ModelConfig& c = q_.model.config();
                const at::Tensor before = chances_of(c, own.to(at::kDouble));
                for (std::int64_t i = 0; i < logits.size(0); ++i) {
                    const at::Tensor change = before - chances_of(c, logits[i].to(at::kDouble));
                    lost_.push_back(change[target].item<double>());
                    distances_.push_back(0.5 * change.abs().sum().item<double>());
                }
            };
            trace::replay_variants(q_.model, q_.tokens, q_.position, variants, take, cancel, report);
        }
    }
    /// [token] NaN where none was replaced.
    std::vector<double> lost() const {
        std::vector<double> out(static_cast<std::size_t>(q_.size()), kNaN);
        for (std::size_t i = 0; i < blanked_.size(); ++i) out[static_cast<std::size_t>(blanked_[i])] = lost_[i];
        return out;
    }
    /// In order; empty: the pattern's weights were not shuffled.
    std::vector<double> distances(HookPoint pattern) const {
        const auto found = std::ranges::find(shuffled_, pattern);
        if (found == shuffled_.end()) return {};
        const auto first = distances_.begin() + std::ssize(blanked_) + (found - shuffled_.begin()) * o_.permutations;
        std::vector<double> out(first, first + o_.permutations);
        std::ranges::sort(out);
        return out;
    }

private:
    /// The distribution is over the tokens: all rows are read, of one column.
    void run_answers(std::int64_t target, const std::vector<trace::Variant>& variants, const CancelToken& cancel,
                     const Progress& progress) {
        const std::shared_ptr<const model::Model> model(std::shared_ptr<const model::Model>(), &q_.model);  // outlives the call
        const trace::Variants runs(model, q_.tokens, {.columns = {target}}, cancel);
        const auto chances = [](const at::Tensor& logits) { return at::softmax(logits.to(at::kDouble).select(1, 0), 0); };
        const at::Tensor before = chances(runs.logits());
        const std::size_t first = lost_.size();
        lost_.resize(first + variants.size());
        distances_.resize(first + variants.size());
        const auto take = [&](std::int64_t variant, const at::Tensor& logits) {
            const at::Tensor change = before - chances(logits);
            lost_[first + static_cast<std::size_t>(variant)] = change[q_.position].item<double>();
            distances_[first + static_cast<std::size_t>(variant)] = 0.5 * change.abs().sum().item<double>();
        };
        runs.run(variants, take, cancel, progress);
    }
    std::int64_t keys_of(Hook pattern) const {  // causal: the text ends at the position
        return pattern == Hook::cross_pattern ? q_.source() : q_.own();
    }
    trace::Variant variant(std::int64_t i) {
        if (i < std::ssize(blanked_)) return with_blank(blanked_[static_cast<std::size_t>(i)]);
        i -= std::ssize(blanked_);
        return with_shuffle(shuffled_[static_cast<std::size_t>(i / o_.permutations)], i % o_.permutations == 0);
    }
    trace::Variant with_blank(std::int64_t token) const {
        trace::Variant v;
        const bool of_source = token < q_.source();
        std::vector<std::int64_t>& ids = of_source ? v.source : v.ids;
        ids = of_source ? q_.tokens.source : q_.tokens.ids;
        ids[static_cast<std::size_t>(of_source ? token : token - q_.source())] = neutral_;
        return v;
    }
    /// The position's weights in random orders, each head's its own.
    trace::Variant with_shuffle(HookPoint pattern, bool first) {
        const std::int64_t keys = keys_of(pattern.hook), heads = q_.model.config().n_heads;
        // Each layer has its own stream, so that its numbers do not depend on which others were asked for.
        if (first)
            random_.seed(o_.seed * 1000003ULL + static_cast<std::uint64_t>(pattern.layer.value) +
                         (pattern.hook == Hook::cross_pattern ? 500009ULL : 0));
        const at::Tensor orders = at::empty({heads, keys}, at::kLong);
        for (std::int64_t h = 0; h < heads; ++h) {
            std::int64_t* order = orders.data_ptr<std::int64_t>() + h * keys;
            std::iota(order, order + keys, 0);
            for (std::int64_t k = keys - 1; k > 0; --k) std::swap(order[k], order[below(random_, k + 1)]);
        }
        const auto reorder = [orders, position = q_.position](HookPoint, const at::Tensor& weights, std::int64_t first_row) {
            at::Tensor changed = weights.clone();
            const at::Tensor row = changed.select(1, position - first_row).narrow(1, 0, orders.size(1));
            row.copy_(row.gather(1, orders.to(row.device())));
            return changed;
        };
        return {.edits = {{pattern, q_.position, reorder}}};
    }

    const Question& q_;
    const ImportanceOptions& o_;
    std::int64_t neutral_;
    std::vector<std::int64_t> blanked_;  ///< tokens
    std::vector<HookPoint> shuffled_;
    std::mt19937_64 random_;
    std::vector<double> lost_, distances_;
};

double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return kNaN;
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

void set_shuffles(LayerImportance& layer, const std::vector<double>& distances) {
    layer.shuffled_low = quantile(distances, 0.1);
    layer.shuffled_median = quantile(distances, 0.5);
    layer.shuffled_high = quantile(distances, 0.9);
}

std::vector<double> magnitudes(std::vector<double> values) {
    for (double& value : values) value = std::abs(value);
    return values;
}

std::vector<double> row_of(const Eigen::MatrixXd& m, Eigen::Index row) {
    const Eigen::VectorXd values = m.row(row);
    return {values.begin(), values.end()};
}

}  // namespace

Importance importance(const model::Model& model, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                      Position position, const ImportanceOptions& o, const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = model.config();
    Question q = question_of(model, tokenizer, encoding, position);
    model::require_class_position(c, encoding.ids, position.value);
    if (has_cross_attention(c) != o.source.has_value())
        throw Error({.problem = o.source ? "This model reads no source"
                                         : "The importance of tokens needs the source that this model reads",
                     .item = c.name});
    if (o.source) q.tokens.source = o.source->ids;
    if (o.target && (*o.target < 0 || *o.target >= logit_count(c)))
        throw Error({.problem = "There is no such target in this model",
                     .expected = "0 to " + std::to_string(logit_count(c) - 1),
                     .found = std::to_string(*o.target)});
    Importance out;
    out.input = o.input;
    if (out.input == InputVectors::automatic) out.input = c.embed_norm ? InputVectors::stream : InputVectors::embedding;
    trace::require_memory_for_gradients(model, q.tokens, {input_of(out)});  // other passes come before
    if (o.blank_out) out.neutral = neutral_id(model, tokenizer, o.neutral);
    Passes passes(q, o, out.neutral);
    // One pass for attention, one forwards and backwards for gradients, then those of variants, which take less or more.
    constexpr std::int64_t kAttentionAndGradients = 3;
    const auto from = [&](std::int64_t pass, std::int64_t step) {
        return Progress([&, pass, step](const ProgressStep& now) {
            if (!progress) return;
            progress({"Importance", "pass", pass + step * now.done / c.n_layers, kAttentionAndGradients + passes.count()});
        });
    };

    out.tokens = q.size();
    out.source = q.source();
    const at::Tensor usual = set_attention(out, q, cancel, from(0, 1));
    q.target = o.target.value_or(usual.argmax().item<std::int64_t>());
    out.position = position;
    out.target = q.target;
    out.probability = usual.select(0, q.target).item<double>();
    out.masked = q.masked;
    set_gradients(out, q, cancel, from(1, 1));
    passes.run(q.target, cancel, from(kAttentionAndGradients, c.n_layers));
    out.blank_out = passes.lost();

    // Each attention by itself: the weights of two softmaxes are in no order.
    const auto compare = [&](Hook pattern, std::int64_t first, std::int64_t count, std::vector<LayerImportance>& layers) {
        const auto part = [&](const std::vector<double>& all) {
            return std::vector<double>(all.begin() + first, all.begin() + first + count);
        };
        const std::vector<double> gradient = magnitudes(part(out.gradient_x_input)), blank = magnitudes(part(out.blank_out));
        for (std::int64_t l = 0; l < c.n_layers; ++l) {
            LayerImportance& layer = layers.emplace_back();
            const std::vector<double> attention = part(row_of(out.attention, l)), weighted = part(row_of(out.value_weighted, l));
            const auto agreement = [](const std::vector<double>& a, const std::vector<double>& b) {
                return Agreement{spearman(a, b), kendall(a, b)};
            };
            layer.attention_gradient = agreement(attention, gradient);
            layer.attention_blank = agreement(attention, blank);
            layer.weighted_gradient = agreement(weighted, gradient);
            layer.weighted_blank = agreement(weighted, blank);
            layer.largest_weight = *std::max_element(attention.begin(), attention.end());
            set_shuffles(layer, passes.distances({pattern, Layer(l)}));
        }
    };
    compare(Hook::pattern, q.source(), q.own(), out.layers);
    if (q.source() > 0) compare(Hook::cross_pattern, 0, q.source(), out.cross_layers);
    return out;
}

ImportanceOptions importance_asked(const model::ModelConfig& config, const text::Tokenizer& tokenizer,
                                   const text::Encoding& encoding, Position position, const ImportanceRequest& asked) {
    ImportanceOptions options{
        .input = asked.input, .blank_out = !asked.no_blank_out, .permutations = asked.permutations, .seed = asked.seed};
    if (!asked.target.empty()) options.target = choose_target(config, tokenizer, encoding, position, asked.target, "--target").id;
    return options;
}

Table table_of(const Importance& r, const text::Encoding& encoding, const std::optional<text::Encoding>& source,
               const text::Tokenizer& tokenizer) {
    const auto of_source = [&](std::int64_t j) { return j < r.source; };
    const auto position = [&](std::int64_t j) { return of_source(j) ? j : j - r.source; };
    const auto id = [&](std::int64_t j) {
        return (of_source(j) ? *source : encoding).ids[static_cast<std::size_t>(position(j))];
    };
    const auto at = [](const std::vector<double>& numbers) {
        return [&](std::int64_t j) { return numbers[static_cast<std::size_t>(j)]; };
    };
    Columns<std::int64_t> columns{
        {"text", [&](std::int64_t j) { return of_source(j) ? "source" : "target"; },
         "whose token it is; of the source the attention is the cross attention", r.source > 0},
        {"position", position},
        {"token_id", id},
        {"token", [&](std::int64_t j) { return text::token_label(tokenizer, id(j)); }},
        {"gradient_x_input", at(r.gradient_x_input), "a token's vector times the gradient of the target's probability"},
        {"gradient_norm", at(r.gradient_norm), "length of that gradient"},
        {"blank_out", at(r.blank_out), "target's probability minus the one with this token replaced"},
        {"attention", [&](std::int64_t j) { return r.attention.col(j).mean(); }, "from the position, mean over heads and layers"},
        {"value_weighted", [&](std::int64_t j) { return r.value_weighted.col(j).mean(); },
         "|sum over heads of weight v W_O|, mean over layers"}};
    for (Eigen::Index l = 0; l < r.attention.rows(); ++l)
        columns.add({"attention_layer_" + std::to_string(l), [&r, l](std::int64_t j) { return r.attention(l, j); }});
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(r.tokens));
    std::iota(tokens.begin(), tokens.end(), std::int64_t{0});
    Table table = columns.table(tokens);
    table.arrays = {named_array("attention_by_layer", r.attention), named_array("value_weighted_by_layer", r.value_weighted)};
    for (const NamedArray& array : table.arrays) table.definitions.emplace_back(array.name, "[layer, token], NPZ only");
    return table;
}

Table layers_table(const Importance& r) {
    struct Row : LayerImportance, Agreement {
        std::size_t layer;
        const char *to, *measure, *against;
    };
    std::vector<Row> rows;
    const auto add = [&](const std::vector<LayerImportance>& layers, const char* to) {
        for (std::size_t l = 0; l < layers.size(); ++l) {
            const LayerImportance& of = layers[l];
            rows.push_back({of, of.attention_gradient, l, to, "attention", "gradient_x_input"});
            rows.push_back({of, of.attention_blank, l, to, "attention", "blank_out"});
            rows.push_back({of, of.weighted_gradient, l, to, "value_weighted", "gradient_x_input"});
            rows.push_back({of, of.weighted_blank, l, to, "value_weighted", "blank_out"});
        }
    };
    add(r.cross_layers, "source");
    add(r.layers, "target");
    return Columns<Row>{
        {"attention_to", &Row::to,
         "source: the cross attention, over the source's tokens; target: the decoder's own, over the target's",
         !r.cross_layers.empty()},
        {"layer", &Row::layer},
        {"measure", &Row::measure, "attention: mean over heads; value_weighted: |sum over heads of weight v W_O|"},
        {"against", &Row::against, "|gradient x input| or |blank-out|"},
        {"spearman", &Row::spearman, "rank correlation over the tokens"},
        {"kendall", &Row::kendall, "tau-b over the tokens"},
        {"shuffled_low", &Row::shuffled_low, "10th percentile over the shuffles"},
        {"shuffled_median", &Row::shuffled_median,
         "total variation distance of the prediction after shuffling the layer's weights"},
        {"shuffled_high", &Row::shuffled_high, "90th percentile over the shuffles"},
        {"largest_weight", &Row::largest_weight, "of the mean over heads"}}
        .table(rows);
}

}  // namespace headlight::analyze
