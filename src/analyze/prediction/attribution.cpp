// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/stream_paths.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/error.h"
#include "headlight/model/classes.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

void check_token(const trace::Trace& trace, std::int64_t id) {
    const std::int64_t vocab = logit_count(trace.config());
    if (id >= 0 && id < vocab) return;
    throw Error({.problem = "There is no such token",
                 .expected = "an id from 0 to " + std::to_string(vocab - 1),
                 .found = std::to_string(id)});
}

void check_attribution(const trace::Trace& trace, Position p, const AttributionOptions& o) {
    const model::ModelConfig& c = trace.config();
    require_unembedding(c, "Attribution to a logit");
    if (!splits_logits(c))
        throw Error({.problem = "In this model a logit is not a sum over what was written into the stream",
                     .item = c.name,
                     .found = c.mlm_head ? "a masked-word head, which is not linear" : "a norm behind every layer",
                     .hint = "The logit lens, drivers of a neuron and contributions work for it"});
    check_position(trace, p, "position");
    model::require_class_position(c, trace.encoding().ids, p.value);
    check_token(trace, o.token);
    if (o.minus) check_token(trace, *o.minus);
    if (o.minus == o.token)
        throw Error({.problem = "The difference of a logit to itself is 0",
                     .item = "minus",
                     .expected = has_classes(trace.config()) ? "another class" : "another token",
                     .found = trace.tokenizer() ? output_label(trace, o.token) : std::to_string(o.token)});
}

/// Before the cap, where the model has one: that is what a sum over the stream can give.
double logit_of(const trace::Trace& trace, Position p, std::int64_t id) {
    if (trace.config().final_softcap > 0) {
        const trace::NormTensors norm = trace::final_norm(*trace.model());
        at::Tensor x =
            trace::tensor_rows(trace, HookPoint{Hook::ln_final_normalized, Layer(0)}, p.value, 1)[0].cpu().to(at::kDouble);
        x = x * norm.gain.cpu().to(at::kDouble);
        if (norm.bias.defined()) x = x + norm.bias.cpu().to(at::kDouble);
        const at::Tensor b_u = trace::unembed_bias(*trace.model());
        const double bias = b_u.defined() ? b_u[id].to(at::kDouble).item<double>() : 0;
        return at::dot(x, trace::unembed(*trace.model(), id, 1).select(1, 0).cpu().to(at::kDouble)).item<double>() + bias;
    }
    return trace::tensor_rows(trace, HookPoint{Hook::logits, Layer(0)}, p.value, 1)[0][id].to(at::kDouble).item<double>();
}

Eigen::VectorXd to_vector_d(const at::Tensor& t) { return Eigen::Map<const Eigen::VectorXd>(t.data_ptr<double>(), t.size(0)); }

}  // namespace

bool splits_logits(const model::ModelConfig& c) {
    return c.has_unembedding && !c.mlm_head && (!c.post_norm || has_cross_attention(c) || c.class_head.any());
}

namespace {

/// In the order of Component.
constexpr std::array kComponentNames = {"embed",      "pos",    "token_type", "head", "attn_bias", "mlp",        "cross_head",
                                        "cross_bias", "neuron", "mlp_bias",   "conv", "norm_bias", "final_bias", "nonlinear"};
static_assert(kComponentNames.size() == static_cast<std::size_t>(Component::nonlinear) + 1);

}  // namespace

const char* name_of(Component component) noexcept { return kComponentNames[static_cast<std::size_t>(component)]; }

std::optional<Component> component_named(std::string_view word) noexcept {
    const auto found = std::ranges::find(kComponentNames, word);
    if (found == kComponentNames.end()) return std::nullopt;
    return static_cast<Component>(found - kComponentNames.begin());
}

namespace {

Eigen::MatrixXd component_map(const std::vector<Contribution>& parts, Component component, const model::ModelConfig& config) {
    Eigen::MatrixXd map = Eigen::MatrixXd::Constant(config.n_layers, config.n_heads, kNaN);
    for (const Contribution& part : parts)
        if (part.component == component) map(part.layer, part.index) = part.value;
    return map;
}

}  // namespace

Eigen::MatrixXd Decomposition::heads(const model::ModelConfig& config) const {
    return component_map(parts, Component::head, config);
}

Eigen::MatrixXd Decomposition::cross_heads(const model::ModelConfig& config) const {
    return has_cross_attention(config) ? component_map(parts, Component::cross_head, config) : Eigen::MatrixXd();
}

namespace {

/// Its derivative, of float64.
at::Tensor slope_of(model::Activation activation, const at::Tensor& x) {
    const auto sigmoid = [&](double steepness) {
        const at::Tensor s = at::sigmoid(x * steepness);
        return s + x * steepness * s * (1 - s);
    };
    const auto tanh_form = [&](double root) {
        const at::Tensor t = ((x + x * x * x * 0.044715) * root).tanh();
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
    };
    switch (activation) {
        case model::Activation::gelu:
            return 0.5 * (1 + at::erf(x / std::sqrt(2.0))) + x * (-0.5 * x * x).exp() / std::sqrt(2 * std::numbers::pi);
        case model::Activation::gelu_tanh: return tanh_form(std::sqrt(2 / std::numbers::pi));
        case model::Activation::gelu_bloom: return tanh_form(0.79788456);
        case model::Activation::relu: return x.gt(0).to(at::kDouble);
        case model::Activation::silu: return sigmoid(1);
        case model::Activation::quick_gelu: return sigmoid(1.702);
        case model::Activation::relu_squared: return 2 * at::relu(x);
        case model::Activation::xielu: throw Error("No class head has this activation: xIELU has parameters of its layer");
        case model::Activation::tanh: break;
    }
    return 1 - x.tanh().square();
}

/// From behind a class head's dense layer to the stream in front of it, by the derivative at the run.
void through_dense_head(const trace::Trace& trace, Position p, StreamReading& reading) {
    const trace::DenseHeadTensors head = trace::dense_head(*trace.model());
    at::Tensor u = reading.direction;
    if (trace.config().class_head.norm) u = before_norm(trace, Hook::mlm_ln_scale, Layer(0), p, u, reading.constant);
    const at::Tensor pre = state_row(trace, Hook::mlm_pre, Layer(0), p), post = state_row(trace, Hook::mlm_post, Layer(0), p);
    const at::Tensor sloped = u * slope_of(trace.config().class_head.activation, pre);
    reading.nonlinear = (at::dot(u, post) - at::dot(sloped, pre)).item<double>();
    if (head.bias.defined()) reading.constant += at::dot(sloped, wide(head.bias)).item<double>();
    reading.direction = at::mv(wide(head.weight), sloped);
}

/// The positions whose streams a row of logits is made of: several where the head reads them together.
std::vector<model::ReadRow> rows_of(const trace::Trace& trace, Position p) {
    if (reads_mean(trace.config())) return model::rows_read(trace.config(), trace.tokens());
    return {{.row = p.value}};
}

/// The sum of several splits by the shares of their rows, part by part.
Decomposition sum_of(const std::vector<Decomposition>& splits, const std::vector<model::ReadRow>& rows) {
    Decomposition sum = splits.front();
    for (Contribution& part : sum.parts) part.value = 0;
    for (std::size_t row = 0; row < splits.size(); ++row) {
        const Decomposition& split = splits[row];
        for (std::size_t i = 0; i < split.parts.size(); ++i) {
            const Contribution& each = split.parts[i];
            const auto is_same = [&](const Contribution& part) {
                return part.component == each.component && part.layer == each.layer && part.index == each.index;
            };
            auto part = sum.parts.begin() + static_cast<std::ptrdiff_t>(std::min(i, sum.parts.size() - 1));
            if (!is_same(*part)) part = std::ranges::find_if(sum.parts, is_same);  // one of them has a part more
            if (part == sum.parts.end()) part = sum.parts.insert(part, {each.component, each.layer, each.index, 0});
            part->value += each.value * rows[row].share;
        }
    }
    sum.sum = 0;
    for (const Contribution& part : sum.parts) sum.sum += part.value;
    return sum;
}

}  // namespace

StreamReading logit_reading(const trace::Trace& trace, const model::ReadRow& row, const AttributionOptions& o) {
    const model::ModelConfig& c = trace.config();
    const Position p(row.row);
    const bool parts = model::head_parts(c) > 1;
    const at::Tensor b_u = row.part == 0 ? trace::unembed_bias(*trace.model()) : at::Tensor();  // counted once
    const auto column = [&](std::int64_t token) {
        const at::Tensor whole = wide(trace::unembed(*trace.model(), token, 1).select(1, 0));
        return parts ? whole.narrow(0, row.part * c.d_model, c.d_model) : whole;
    };
    StreamReading reading{.direction = column(o.token), .constant = 0, .layer = Layer(c.n_layers - 1), .behind_mlp = true};
    if (b_u.defined()) reading.constant += b_u[o.token].to(at::kDouble).item<double>();
    if (o.minus) {
        reading.direction = reading.direction - column(*o.minus);
        if (b_u.defined()) reading.constant -= b_u[*o.minus].to(at::kDouble).item<double>();
    }
    if (c.class_head.dense) through_dense_head(trace, p, reading);
    if (c.final_norm)
        reading.direction = before_norm(trace, Hook::ln_final_scale, Layer(0), p, reading.direction, reading.constant);
    return reading;
}

Decomposition attribution(const trace::Trace& trace, Position p, const AttributionOptions& o) {
    check_attribution(trace, p, o);
    const at::NoGradGuard no_grad;
    const std::vector<model::ReadRow> rows = rows_of(trace, p);
    std::vector<Decomposition> splits;
    for (const model::ReadRow& row : rows)
        splits.push_back(split_reading(trace, Position(row.row), logit_reading(trace, row, o), o.neurons));
    Decomposition split = splits.size() == 1 ? std::move(splits.front()) : sum_of(splits, rows);
    split.total = logit_of(trace, p, o.token) - (o.minus ? logit_of(trace, p, *o.minus) : 0.0);
    return split;
}

std::vector<Contribution> largest_neurons(const trace::Trace& trace, Position p, const AttributionOptions& o,
                                          std::optional<Layer> layer, std::int64_t top) {
    AttributionOptions each = o;
    each.neurons = true;
    std::vector<Contribution> found = attribution(trace, p, each).parts;
    std::erase_if(found, [&](const Contribution& part) {
        return part.component != Component::neuron || (layer && part.layer != layer->value);
    });
    const auto count = std::clamp<std::int64_t>(top, 0, std::ssize(found));
    std::partial_sort(found.begin(), found.begin() + count, found.end(), [](const Contribution& a, const Contribution& b) {
        return std::abs(a.value) != std::abs(b.value) ? std::abs(a.value) > std::abs(b.value)
                                                      : std::pair(a.layer, a.index) < std::pair(b.layer, b.index);
    });
    found.resize(static_cast<std::size_t>(count));
    return found;
}

std::vector<double> neuron_parts(const trace::Trace& trace, Position p, const AttributionOptions& o, Layer layer) {
    AttributionOptions each = o;
    each.neurons = true;
    std::vector<double> values(static_cast<std::size_t>(model::mlp_width(trace.config(), layer.value)));
    for (const Contribution& part : attribution(trace, p, each).parts)
        if (part.component == Component::neuron && part.layer == layer.value)
            values[static_cast<std::size_t>(part.index)] = part.value;
    return values;
}

Eigen::VectorXd head_sources(const trace::Trace& trace, HeadId id, Position p, const AttributionOptions& o) {
    check_attribution(trace, p, o);
    check_head(trace, id);
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(trace.tokens());
    for (const model::ReadRow& row : rows_of(trace, p)) {
        Directions directions;
        split_reading(trace, Position(row.row), logit_reading(trace, row, o), false, &directions);
        const at::Tensor& towards = directions.attention[static_cast<std::size_t>(id.layer.value)];
        sum += row.share * to_vector_d(sources_of(trace, id, Position(row.row), towards));
    }
    return sum;
}

Eigen::VectorXd cross_head_sources(const trace::Trace& trace, HeadId id, Position p, const AttributionOptions& o) {
    check_attribution(trace, p, o);
    const auto& cross = trace.part(model::Stack::cross);
    if (!cross)
        throw Error({.problem = "This model has no attention to a source",
                     .item = trace.config().name,
                     .expected = "an encoder-decoder model"});
    check_head(*cross, id);
    Directions directions;
    split_reading(trace, p, logit_reading(trace, {.row = p.value}, o), false, &directions);
    return to_vector_d(sources_of(*cross, id, p, directions.cross[static_cast<std::size_t>(id.layer.value)]));
}

Eigen::MatrixXd all_head_sources(const trace::Trace& trace, Position p, const AttributionOptions& o, const CancelToken& cancel) {
    check_attribution(trace, p, o);
    const model::ModelConfig& c = trace.config();
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(c.n_layers * c.n_heads, trace.tokens());
    for (const model::ReadRow& row : rows_of(trace, p)) {
        Directions directions;
        split_reading(trace, Position(row.row), logit_reading(trace, row, o), false, &directions);
        for (std::int64_t l = 0; l < c.n_layers; ++l) {
            cancel.throw_if_cancelled();
            for (std::int64_t h = 0; h < c.n_heads; ++h)
                all.row(l * c.n_heads + h) +=
                    row.share * to_vector_d(sources_of(trace, {Layer(l), Head(h)}, Position(row.row),
                                                       directions.attention[static_cast<std::size_t>(l)]));
        }
    }
    return all;
}

AttributionOptions logit_asked(const trace::Trace& trace, Position position, const LogitRequest& asked) {
    const auto id = [&](const std::string& typed, const char* option) {
        return choose_output(trace.config(), *trace.tokenizer(), typed, option).id;
    };
    AttributionOptions options{.token =
                                   asked.token.empty() ? next_tokens(trace, position, 1).front().id : id(asked.token, "--token")};
    if (!asked.minus.empty()) options.minus = id(asked.minus, "--minus");
    return options;
}

Table table_of(const Decomposition& whole, HeadId head, const Eigen::VectorXd& sources, bool cross) {
    Table table;
    table.columns = {"component", "layer", "index", "contribution", "source"};
    table.definitions = {{"component", "what wrote into the stream; total: the logit (difference) of the run"},
                         {"index", "head or neuron"},
                         {"contribution",
                          "((c - mean c) / sigma * gain) W_U of the token, sigma of the run's final norm; "
                          "RMSNorm: no mean; final_bias: the final norm's and the unembedding's bias"},
                         {"source", "of a head_source: the token that the head reads"}};
    if (std::ranges::any_of(whole.parts, [](const Contribution& part) { return part.component == Component::nonlinear; }))
        table.definitions.emplace_back(
            "nonlinear",
            "the class head's dense layer is taken by its derivative at the run; what that leaves of the "
            "logit is the part nonlinear");
    for (const Contribution& part : whole.parts)
        table.add({std::string(name_of(part.component)), index_cell(part.layer), index_cell(part.index), part.value});
    table.add({std::string("total"), {}, {}, whole.total});
    for (Eigen::Index j = 0; j < sources.size(); ++j)
        table.add({std::string(cross ? "cross_head_source" : "head_source"), head.layer.value, head.head.value, sources[j],
                   std::int64_t{j}});
    return table;
}

}  // namespace headlight::analyze
