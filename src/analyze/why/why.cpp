// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/why/why.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/stream_paths.h"
#include "headlight/analyze/pattern/sinks.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/model/outline.h"
#include "headlight/trace/edits.h"
#include "headlight/trace/weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace headlight::analyze {
namespace {

using model::Hook;

constexpr std::int64_t kBlockBytes = std::int64_t{1} << 26;  ///< of the directions of a block of keys
constexpr std::int64_t kManyKeys = 2000;                     ///< of more, blocks without weight are left out
constexpr double kNoWeight = 1e-9;
/// Of the amounts of all pairs: those of a float32 run stay far below the first, of a bfloat16 run below the second.
constexpr double kMostRounding = 1e-4, kMostRoundingBfloat16 = 2e-2;

/// What one side of a head reads of the stream in front of it.
struct ReadSide {
    Hook hook;
    at::Tensor weight, bias;  ///< [d_head, d_model], [d_head] float64
    std::int64_t head;        ///< for keys the head that has them
};

ReadSide side_of(const trace::Trace& trace, HeadId id, Hook hook) {
    const trace::AttentionTensors w = trace::attention_weights(*trace.model(), id.layer);
    const bool query = hook == Hook::q;
    const std::int64_t head = query ? id.head.value : kv_head(trace, id.head);
    const at::Tensor &weight = query ? w.w_q : w.w_k, &bias = query ? w.b_q : w.b_k;
    const at::Tensor own = wide(weight.select(0, head)).t().contiguous();
    return {hook, own, bias.defined() ? wide(bias.select(0, head)) : at::zeros({own.size(0)}, own.options()), head};
}

/// Directions and constants of the side in front of the layer's attention, at positions [first, first + count).
StreamReadings readings_of(const trace::Trace& trace, const ReadSide& side, Layer layer, std::int64_t first, std::int64_t count) {
    StreamReadings out{.directions = side.weight.unsqueeze(0).expand({count, -1, -1}),
                       .constants = side.bias.unsqueeze(0).expand({count, -1}),
                       .layer = Layer(layer.value - 1)};
    if (!norm_before_attention(trace.config(), layer.value)) return out;
    const FrozenNorm norm = frozen_norms(trace, Hook::ln1_scale, layer, first, count);
    if (norm.bias.defined()) out.constants = out.constants + norm.of_bias(out.directions);
    out.directions = norm.back(out.directions);
    return out;
}

/// The side's vectors of every part, as the scores take them: [position, part, d_head].
at::Tensor vectors_of(const trace::Trace& trace, const ReadSide& side, Layer layer, std::int64_t first, std::int64_t count,
                      std::vector<StreamPart>* parts = nullptr) {
    std::vector<at::Tensor> all;
    for (const PartReadings& part : split_readings(trace, first, readings_of(trace, side, layer, first, count))) {
        all.push_back(part.values.transpose(1, 2));
        for (std::int64_t i = 0; parts && i < part.values.size(2); ++i)
            parts->push_back({part.component, part.layer, part.indexed ? i : -1});
    }
    return trace::through_rotation(trace, layer, side.hook, side.head, at::cat(all, 1), first);
}

Eigen::MatrixXd matrix_of(const at::Tensor& t) {
    const at::Tensor rows = t.contiguous();
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const RowMajor>(rows.data_ptr<double>(), rows.size(0), rows.size(1));
}

/// Natural logarithm of the sum of exponentials.
double log_sum(const std::vector<double>& x) {
    const double most = std::ranges::max(x);
    double sum = 0;
    for (const double each : x) sum += std::exp(each - most);
    return most + std::log(sum);
}

/// Scores of the query's row, [key] from the first that it sees: before the cap and behind it, and the position term.
struct ScoreRow {
    model::KeyRange legal;
    Eigen::VectorXd raw{}, scores{}, ratios{}, positions{};  ///< raw: scores before the cap
    bool has_position = false;
    double sink = -std::numeric_limits<double>::infinity();  ///< score of the head's own share of the softmax that goes to no key

    /// Natural logarithm of what the softmax divides by.
    double log_total(std::vector<double> of_keys) const {
        of_keys.push_back(sink);
        return log_sum(of_keys);
    }
};

double capped(double score, double limit) { return limit > 0 ? limit * std::tanh(score / limit) : score; }

ScoreRow row_of(const trace::Trace& trace, const WhyOptions& o) {
    const model::ModelConfig& c = trace.config();
    const HeadId id = o.head;
    ScoreRow row{.legal = legal_keys_of(trace, id.layer, o.query)};
    const std::int64_t n = row.legal.count();
    const at::Tensor q = wide(head_queries(trace, id).select(0, o.query.value)),
                     k = wide(head_keys(trace, id).narrow(0, row.legal.first, n));
    const at::Tensor content = (at::mv(k, q) * model::score_scale_of(c, id.layer.value)).contiguous();
    row.scores = Eigen::Map<const Eigen::VectorXd>(content.data_ptr<double>(), n);
    row.positions = Eigen::VectorXd::Zero(n);
    row.has_position = model::has_position_term(c);
    if (row.has_position) {
        const at::Tensor term =
            wide(trace::position_rows(trace, id.layer, id.head, o.query.value, 1)[0]).narrow(0, row.legal.first, n).contiguous();
        row.positions = Eigen::Map<const Eigen::VectorXd>(term.data_ptr<double>(), n);
    }
    row.ratios = Eigen::VectorXd::Ones(n);
    row.raw = row.scores + row.positions;
    for (std::int64_t key = 0; key < n; ++key) {
        row.scores[key] = capped(row.raw[key], c.score_softcap);
        if (row.raw[key] != 0) row.ratios[key] = row.scores[key] / row.raw[key];
    }
    if (c.attention_sinks) {
        const auto share = static_cast<double>(sink_shares(trace, id)[o.query.value]);
        row.sink = log_sum({row.scores.data(), row.scores.data() + n}) + std::log(share / (1 - share));
    }
    return row;
}

std::vector<std::int64_t> others_of(const trace::Trace& trace, const WhyOptions& o, const model::KeyRange& legal,
                                    const CancelToken& cancel) {
    if (o.against == Against::key) {
        if (!legal.has(o.other))
            throw Error({.problem = "The query does not see the key to compare with",
                         .item = "key " + std::to_string(o.other),
                         .expected = std::to_string(legal.first) + " to " + std::to_string(legal.last - 1)});
        if (o.other == o.key.value)
            throw Error({.problem = "A key cannot be compared with itself", .item = "key " + std::to_string(o.other)});
        return {o.other};
    }
    std::vector<std::int64_t> keys;
    const auto sinks = o.against == Against::no_sinks ? attention_sinks(trace, cancel) : nullptr;
    for (std::int64_t k = legal.first; k < legal.last; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (k == o.key.value || (sinks && ((*sinks)[at] || trace.encoding().special[at]))) continue;
        keys.push_back(k);
    }
    if (sinks && keys.empty())
        throw Error({.problem = "No other key is left to compare with",
                     .item = "query " + std::to_string(o.query.value),
                     .found = "sinks and special tokens only",
                     .hint = "Compare with the row, or with one key"});
    return keys;
}

void check_why(const trace::Trace& trace, const WhyOptions& o) {
    check_head(trace, o.head);
    check_position(trace, o.query, "query");
    check_key(trace, o.key);
    require_own_text(trace, "Who wrote a query and its key");
    if (!trace.model() || !model::has_weights(*trace.model()))
        throw Error(ErrorFacts{
            .problem = "What wrote a query and its key is computed from the model's weights, which this trace does not have",
            .hint = "Open the model and run the text"});
    if (trace.config().latent.any())
        throw Error({.problem = "Queries and keys of latent attention are not split by what wrote them",
                     .item = trace.config().name,
                     .hint = "headlight render --view focus-2 shows the content and the rotary part of its scores"});
    if (const model::KeyRange legal = legal_keys_of(trace, o.head.layer, o.query); !legal.has(o.key.value))
        throw Error({.problem = "The query does not see this key",
                     .item = "query " + std::to_string(o.query.value) + ", key " + std::to_string(o.key.value),
                     .expected = "a key from " + std::to_string(legal.first) + " to " + std::to_string(legal.last - 1)});
}

[[noreturn]] void throw_too_late(HeadId head, Layer layer) {
    throw Error({.problem = "A head writes only for the layers behind it",
                 .item = "L" + std::to_string(head.layer.value) + "H" + std::to_string(head.head.value),
                 .expected = "a layer before " + std::to_string(layer.value)});
}

/// `left`: what the parts leave of a score, of the key itself or of those that it is compared with.
void require_sum(const trace::Trace& trace, const WhyOptions& o, double left, const Why& why) {
    const bool coarse =
        trace.model()->dtype() == model::ComputeType::bfloat16 || trace.model()->dtype() == model::ComputeType::float32_bf16;
    const double amounts = std::max(1.0, why.scores.cwiseAbs().sum() + why.advantages.cwiseAbs().sum());
    if (std::abs(left) <= (coarse ? kMostRoundingBfloat16 : kMostRounding) * amounts) return;
    throw Error({.problem = "Here a score is not the sum of what wrote the query and a key",
                 .item = "L" + std::to_string(o.head.layer.value) + "H" + std::to_string(o.head.head.value),
                 .found = significant(left) + " is left",
                 .hint = trace.config().qkv_clip > 0 ? "This model clips queries and keys; another head may be within its limits"
                         : trace::edits_of(trace).empty() ? "Run the model in float32"
                                                          : "An edit may have replaced a query or a key: ask without it"});
}

StreamPart group_of(const StreamPart& part, WhyBy by) {
    if (by == WhyBy::part || by == WhyBy::token) return part;
    const auto is_bias = [](Component c) {
        return c == Component::attn_bias || c == Component::cross_bias || c == Component::norm_bias || c == Component::final_bias;
    };
    if (is_bias(part.component)) return {Component::final_bias, -1, -1};
    return {part.component, by == WhyBy::layer ? part.layer : -1, -1};
}

/// Sums rows of parts that are one group, in the order of their first parts.
Eigen::MatrixXd grouped(const Eigen::MatrixXd& rows, std::vector<StreamPart>& parts, WhyBy by) {
    std::vector<StreamPart> groups;
    std::vector<Eigen::Index> group(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const StreamPart own = group_of(parts[i], by);
        auto found = std::ranges::find(groups, own);
        if (found == groups.end()) found = groups.insert(found, own);
        group[i] = found - groups.begin();
    }
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(std::ssize(groups), rows.cols());
    for (std::size_t i = 0; i < parts.size(); ++i) out.row(group[i]) += rows.row(static_cast<Eigen::Index>(i));
    parts = std::move(groups);
    return out;
}

/// Calls fn(first, vectors [position, part, d_head]) for the blocks of keys with any weight.
template <class Fn>
void for_key_blocks(const trace::Trace& trace, const ReadSide& side, Layer layer, const ScoreRow& row,
                    const Eigen::VectorXd& weights, const CancelToken& cancel, const Fn& fn) {
    const std::int64_t bytes = side.weight.numel() * std::int64_t{sizeof(double)};
    const std::int64_t block = std::clamp<std::int64_t>(kBlockBytes / bytes, 1, 64);
    for (std::int64_t first = row.legal.first; first < row.legal.last; first += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, row.legal.last - first);
        const double share = weights.segment(first - row.legal.first, count).cwiseAbs().sum();
        if (share > (row.legal.count() > kManyKeys ? kNoWeight : 0)) fn(first, vectors_of(trace, side, layer, first, count));
    }
}

at::Tensor tensor_of(const Eigen::VectorXd& x, std::int64_t first, std::int64_t count) {
    at::Tensor t = at::empty({count}, at::kDouble);
    std::copy_n(x.data() + first, count, t.data_ptr<double>());
    return t;
}

/// The key minus the mean of the compared ones, each with its cap.
at::Tensor key_contrast(const trace::Trace& trace, const WhyOptions& o, const ScoreRow& row) {
    const std::vector<std::int64_t> others = others_of(trace, o, row.legal, {});
    const auto at = [&](std::int64_t key) { return static_cast<Eigen::Index>(key - row.legal.first); };
    std::vector<double> scores;
    for (const std::int64_t k : others) scores.push_back(row.scores[at(k)]);
    const double rest = scores.empty() ? 0 : log_sum(scores);
    Eigen::VectorXd counts = Eigen::VectorXd::Zero(row.scores.size());
    counts[at(o.key.value)] = row.ratios[at(o.key.value)];
    for (std::size_t i = 0; i < others.size(); ++i)
        counts[at(others[i])] = -std::exp(scores[i] - rest) * row.ratios[at(others[i])];
    const at::Tensor keys = wide(head_keys(trace, o.head).narrow(0, row.legal.first, row.legal.count()));
    return at::mv(keys.t(), tensor_of(counts, 0, row.legal.count()));
}

/// What a head wrote at the pair's key or query by the token that it read, as the head of the score reads it there: [token,
/// d_head].
at::Tensor source_vectors(const trace::Trace& trace, const WhyOptions& o, bool of_query, HeadId writer) {
    const Layer layer = o.head.layer;
    check_head(trace, writer);
    if (writer.layer >= layer) throw_too_late(writer, layer);
    const ReadSide own = side_of(trace, o.head, of_query ? Hook::q : Hook::k);
    const std::int64_t at = of_query ? o.query.value : o.key.value;
    std::vector<at::Tensor> attention;
    split_readings(trace, at, readings_of(trace, own, layer, at, 1), &attention);
    const at::Tensor directions = attention.at(static_cast<std::size_t>(writer.layer.value))[0];  // [d_head, d_model]
    const at::Tensor w_o = wide(trace::attention_output(*trace.model(), writer.layer).w_o.select(0, writer.head.value));
    const at::Tensor weights = wide(trace::pattern_rows(trace, writer.layer, writer.head, at, 1)[0]);
    const at::Tensor read = at::mm(wide(head_values(trace, writer)), at::mm(w_o, directions.t()));  // [token, d_head]
    // The last summand would take the bias of a norm of queries and keys.
    const at::Tensor summands = at::cat({read * weights.unsqueeze(1), at::zeros({1, read.size(1)}, read.options())});
    return trace::through_rotation(trace, layer, own.hook, own.head, summands.unsqueeze(0), at)[0].narrow(0, 0, read.size(0));
}

/// Replaces the column of a head by one for each token that it read and one for its writing elsewhere; rows of a query by tokens
/// alone. `by_token`: what the tokens give of each other part.
void split_column(Eigen::MatrixXd& values, Eigen::Index column, const Eigen::MatrixXd& by_token, bool elsewhere) {
    const Eigen::Index tokens = by_token.cols(), after = values.cols() - column - 1, added = tokens + (elsewhere ? 1 : 0);
    Eigen::MatrixXd out(values.rows(), column + added + after);
    out << values.leftCols(column), by_token, Eigen::MatrixXd::Zero(values.rows(), elsewhere ? 1 : 0), values.rightCols(after);
    if (elsewhere) out.col(column + tokens) = values.col(column) - by_token.rowwise().sum();
    values = std::move(out);
}

/// The head that a word names: "L3H0".
HeadId head_of(const std::string& word) {
    HeadId head{Layer(0), Head(0)};
    const char *at = word.data(), *end = at + word.size();
    const auto number = [&](char letter, std::int64_t& value) {
        if (at == end || std::toupper(static_cast<unsigned char>(*at)) != letter) return false;
        const auto [stopped, error] = std::from_chars(at + 1, end, value);
        at = stopped;
        return error == std::errc() && value >= 0;
    };
    if (!number('L', head.layer.value) || !number('H', head.head.value) || at != end)
        throw Error({.problem = "Only what a head wrote can be split by token",
                     .item = "part",
                     .expected = "a head such as L3H0",
                     .found = word});
    return head;
}

}  // namespace

WhyOptions why_options(const trace::Trace& trace, HeadId head, std::optional<Position> query, std::optional<Position> key,
                       const WhyRequest& request, const CancelToken& cancel) {
    check_head(trace, head);
    WhyOptions o{.head = head, .query = query.value_or(Position(trace.tokens() - 1)), .key = Position(0), .by = request.by};
    check_position(trace, o.query, "query");
    require_own_text(trace, "Who wrote a query and its key");
    const model::KeyRange legal = legal_keys_of(trace, head.layer, o.query);
    const at::Tensor weights = wide(trace::pattern_rows(trace, head.layer, head.head, o.query.value, 1)[0]).contiguous();
    const double* weight = weights.data_ptr<double>();
    const auto sinks = attention_sinks(trace, cancel);
    const auto is_sink = [&](std::int64_t k) { return static_cast<bool>((*sinks)[static_cast<std::size_t>(k)]); };
    std::int64_t strongest = -1;
    double all = 0, of_sinks = 0;
    for (std::int64_t k = legal.first; k < legal.last; ++k)
        if (!is_sink(k) && (strongest < 0 || weight[k] > weight[strongest])) strongest = k;
    o.key = key.value_or(Position(strongest < 0 ? legal.first : strongest));
    for (std::int64_t k = legal.first; k < legal.last; ++k) {
        if (k == o.key.value) continue;
        all += weight[k];
        if (is_sink(k) || trace.encoding().special[static_cast<std::size_t>(k)]) of_sinks += weight[k];
    }
    const bool own_sink = is_sink(o.key.value);
    if (request.against.empty()) {
        o.against = !own_sink && of_sinks < all && of_sinks > all / 2 ? Against::no_sinks : Against::row;
    } else if (const auto word = enum_value<Against>(request.against); word && *word != Against::key) {
        o.against = *word;
    } else {
        const char *begin = request.against.data(), *end = begin + request.against.size();
        const auto [stopped, error] = std::from_chars(begin, end, o.other);
        if (error != std::errc() || stopped != end)
            throw Error({.problem = "A key cannot be compared with this",
                         .item = "against",
                         .expected = "row, no-sinks or the position of a key",
                         .found = request.against});
        o.against = Against::key;
    }
    if (request.by == WhyBy::token) {
        if (!request.part.empty()) o.split = head_of(request.part);
        o.split_of = request.part_of;
    }
    return o;
}

namespace {

/// Splits a head of WhyOptions::split by token. `queries`: [part, d_head], scaled; `own`, `contrast`: of the key and less the
/// others; `ratio`: the cap at the key.
void split_by_token(const trace::Trace& trace, const at::Tensor& queries, const at::Tensor& own, const at::Tensor& contrast,
                    double ratio, Why& why) {
    const WhyOptions& o = why.of;
    struct Found {
        Eigen::Index part = -1;
        double amount = -1;
    };
    const auto strongest = [&](const std::vector<StreamPart>& parts, const Eigen::VectorXd& sums) {
        Found found;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const HeadId head{Layer(parts[i].layer), Head(parts[i].index)};
            const double amount = std::abs(sums[static_cast<Eigen::Index>(i)]);
            if (parts[i].is_head() && (!o.split || *o.split == head) && amount > found.amount)
                found = {static_cast<Eigen::Index>(i), amount};
        }
        return found;
    };
    const Found query = strongest(why.query_parts, why.advantages.rowwise().sum()),
                key = strongest(why.key_parts, why.advantages.colwise().sum().transpose());
    if (o.split) {
        check_head(trace, *o.split);
        if (o.split->layer >= o.head.layer) throw_too_late(*o.split, o.head.layer);
    }
    if (query.part < 0 || key.part < 0)
        throw Error({.problem = "No head wrote in front of this layer, so none can be split by token",
                     .item = "layer " + std::to_string(o.head.layer.value)});
    const bool of_query = o.split_of == WhySide::query || (o.split_of == WhySide::larger && query.amount > key.amount);
    std::vector<StreamPart>& parts = of_query ? why.query_parts : why.key_parts;
    const Eigen::Index part = (of_query ? query : key).part;
    const StreamPart head = parts[static_cast<std::size_t>(part)];
    const HeadId writer{Layer(head.layer), Head(head.index)};
    const model::KeyRange seen = legal_keys_of(trace, writer.layer, of_query ? o.query : o.key);
    const at::Tensor vectors = source_vectors(trace, o, of_query, writer).narrow(0, seen.first, seen.count());
    if (of_query) {
        const double scale = model::score_scale_of(trace.config(), o.head.layer.value);
        for (auto [values, side] : {std::pair(&why.scores, &own), {&why.advantages, &contrast}}) {
            Eigen::MatrixXd turned = values->transpose();
            split_column(turned, part, matrix_of(at::mm(*side * scale, vectors.t())), false);
            *values = turned.transpose();
        }
    } else {
        const Eigen::MatrixXd terms = matrix_of(at::mm(queries, vectors.t())) * ratio;
        split_column(why.scores, part, terms, true);
        split_column(why.advantages, part, terms, true);
    }
    std::vector<StreamPart> tokens;
    for (std::int64_t t = seen.first; t < seen.last; ++t) tokens.push_back({head.component, head.layer, head.index, t});
    if (!of_query) tokens.push_back({head.component, head.layer, head.index, StreamPart::elsewhere});
    const auto place = parts.erase(parts.begin() + part);
    parts.insert(place, tokens.begin(), tokens.end());
}

}  // namespace

Why why(const trace::Trace& trace, const WhyOptions& o, const CancelToken& cancel) {
    check_why(trace, o);
    const at::NoGradGuard no_grad;
    const ScoreRow row = row_of(trace, o);
    const auto at = [&](std::int64_t key) { return static_cast<Eigen::Index>(key - row.legal.first); };
    Why out;
    out.of = o;
    out.compared = others_of(trace, o, row.legal, cancel);
    std::vector<double> all(row.scores.data(), row.scores.data() + row.scores.size()), others;
    for (const std::int64_t k : out.compared) others.push_back(row.scores[at(k)]);
    out.score = row.scores[at(o.key.value)];
    out.weight = std::exp(out.score - row.log_total(all));
    out.position = row.has_position ? row.positions[at(o.key.value)] * row.ratios[at(o.key.value)] : kNaN;
    const bool compares = !others.empty();
    const double rest = compares ? log_sum(others) : kNaN;
    out.compared_weights.resize(std::ssize(others));
    // Of each key what its vectors count in the mean over the others, and their cap.
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(row.scores.size());
    double scores = 0, positions = 0, entropy = 0;
    for (std::size_t i = 0; i < others.size(); ++i) {
        const Eigen::Index key = at(out.compared[i]);
        const double w = std::exp(others[i] - rest);
        out.compared_weights[static_cast<Eigen::Index>(i)] = w;
        mean[key] = w * row.ratios[key];
        scores += w * row.scores[key];
        positions += mean[key] * row.positions[key];
        entropy -= w > 0 ? w * std::log(w) : 0;
        if (w > 0.01) out.cap_ratio = std::min(out.cap_ratio, row.ratios[key]);
    }
    out.cap_ratio = std::min(out.cap_ratio, row.ratios[at(o.key.value)]);
    out.rest_entropy = compares ? entropy : kNaN;
    out.advantage = compares ? out.score - scores : kNaN;
    out.log_odds = out.score - rest;
    out.position_advantage = !compares ? kNaN : row.has_position ? out.position - positions : 0;

    const ReadSide queries = side_of(trace, o.head, Hook::q), keys = side_of(trace, o.head, Hook::k);
    const at::Tensor q = vectors_of(trace, queries, o.head.layer, o.query.value, 1, &out.query_parts)[0];
    const at::Tensor own = vectors_of(trace, keys, o.head.layer, o.key.value, 1, &out.key_parts)[0] * row.ratios[at(o.key.value)];
    at::Tensor mean_of_others = at::zeros_like(own);
    for_key_blocks(trace, keys, o.head.layer, row, mean, cancel, [&](std::int64_t first, const at::Tensor& vectors) {
        const at::Tensor w = tensor_of(mean, at(first), vectors.size(0));
        mean_of_others = mean_of_others + at::tensordot(w, vectors, {0}, {0});
    });
    const double scale = model::score_scale_of(trace.config(), o.head.layer.value);
    const auto pairs = [&](const at::Tensor& k) { return matrix_of(at::mm(q * scale, k.t())); };
    out.scores = pairs(own);
    out.advantages = pairs(own - mean_of_others);
    const double sum = out.scores.sum() + (row.has_position ? out.position : 0);
    require_sum(trace, o, sum - out.score, out);
    if (compares) require_sum(trace, o, out.advantage - out.position_advantage - out.advantages.sum(), out);
    if (o.by == WhyBy::token) split_by_token(trace, q * scale, own, own - mean_of_others, row.ratios[at(o.key.value)], out);
    std::vector<StreamPart> query_parts = out.query_parts, key_parts = out.key_parts;
    for (Eigen::MatrixXd* m : {&out.scores, &out.advantages}) {
        out.query_parts = query_parts, out.key_parts = key_parts;
        const Eigen::MatrixXd by_query = grouped(*m, out.query_parts, o.by);
        *m = grouped(by_query.transpose(), out.key_parts, o.by).transpose();
    }
    if (!compares) out.advantages.setConstant(kNaN);
    out.query_sums = out.advantages.rowwise().sum();
    out.key_sums = out.advantages.colwise().sum();
    out.residual = out.advantage - out.position_advantage - out.advantages.sum();
    return out;
}

Eigen::VectorXd why_sources(const trace::Trace& trace, const WhyOptions& o, bool of_query, const StreamPart& part) {
    check_why(trace, o);
    if (!part.is_head())
        throw Error({.problem = "Only what a head wrote has tokens that it was read from", .found = name_of(part)});
    const at::NoGradGuard no_grad;
    const ScoreRow row = row_of(trace, o);
    const at::Tensor vectors = source_vectors(trace, o, of_query, {Layer(part.layer), Head(part.index)});
    // The query's parts against what tells the key from the others; the key's as this query reads them.
    const at::Tensor whole =
        of_query ? key_contrast(trace, o, row)
                 : wide(head_queries(trace, o.head).select(0, o.query.value)) * row.ratios[o.key.value - row.legal.first];
    const double scale = model::score_scale_of(trace.config(), o.head.layer.value);
    const at::Tensor terms = (at::mv(vectors, whole) * scale).contiguous();
    return Eigen::Map<const Eigen::VectorXd>(terms.data_ptr<double>(), terms.size(0));
}

double why_predicted(const trace::Trace& trace, const WhyOptions& o, bool of_query, const std::vector<HeadId>& heads) {
    check_why(trace, o);
    const at::NoGradGuard no_grad;
    const Layer layer = o.head.layer;
    const std::int64_t at = of_query ? o.query.value : o.key.value;
    const ReadSide side = side_of(trace, o.head, of_query ? Hook::q : Hook::k);
    std::vector<at::Tensor> attention;
    split_readings(trace, at, readings_of(trace, side, layer, at, 1), &attention);
    at::Tensor change = at::zeros({side.weight.size(0)}, side.weight.options());
    for (const HeadId head : heads) {
        check_head(trace, head);
        if (head.layer >= layer) throw_too_late(head, layer);
        const at::Tensor z = wide(trace::tensor(trace, {Hook::z, head.layer}).select(1, head.head.value));
        const at::Tensor w_o = wide(trace::attention_output(*trace.model(), head.layer).w_o.select(0, head.head.value));
        const at::Tensor& directions = attention.at(static_cast<std::size_t>(head.layer.value));
        change = change + at::mv(directions[0], at::mv(w_o.t(), z.mean(0) - z[at]));
    }
    // The last summand would take the bias of a norm of queries and keys, which is in the score already.
    const at::Tensor summands = at::stack({change, at::zeros_like(change)}).unsqueeze(0);
    change = trace::through_rotation(trace, layer, side.hook, side.head, summands, at)[0][0];
    ScoreRow row = row_of(trace, o);
    const double scale = model::score_scale_of(trace.config(), layer.value);
    const auto key = static_cast<Eigen::Index>(o.key.value - row.legal.first);
    if (of_query) {
        const at::Tensor k = wide(head_keys(trace, o.head).narrow(0, row.legal.first, row.legal.count()));
        const at::Tensor added = (at::mv(k, change) * scale).contiguous();
        row.raw += Eigen::Map<const Eigen::VectorXd>(added.data_ptr<double>(), added.size(0));
    } else {
        row.raw[key] += scale * at::dot(wide(head_queries(trace, o.head).select(0, o.query.value)), change).item<double>();
    }
    std::vector<double> scores;
    for (const double raw : row.raw) scores.push_back(capped(raw, trace.config().score_softcap));
    return std::exp(scores[static_cast<std::size_t>(key)] - row.log_total(scores));
}

}  // namespace headlight::analyze
