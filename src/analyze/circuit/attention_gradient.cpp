// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/trace/replay.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

/// What is read, at which rows something is predicted, and what.
struct Task {
    trace::TokenIds tokens;
    std::vector<std::int64_t> rows, targets;
};

Task next_tokens(const text::Encoding& encoding) {
    Task task{trace::ids_of(encoding), {}, {}};
    for (std::int64_t i = 0; i + 1 < encoding.size(); ++i) {
        task.rows.push_back(i);
        task.targets.push_back(encoding.ids[static_cast<std::size_t>(i) + 1]);
    }
    return task;
}

Task masked_tokens(const model::Model& model, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                   std::uint64_t seed) {
    const auto mask = tokenizer.mask_id();
    if (!mask || *mask >= model.config().vocab_size)
        throw Error({.problem = "This tokenizer has no mask token, so there is no masked-word loss",
                     .file = model.folder().string(),
                     .hint = "Gradients of one prediction work (importance)"});
    Task task{trace::ids_of(encoding), {}, {}};
    std::vector<std::int64_t> candidates;
    for (std::int64_t i = 0; i < encoding.size(); ++i)
        if (!encoding.special[static_cast<std::size_t>(i)]) candidates.push_back(i);
    std::mt19937_64 random(seed);
    const std::size_t count = std::min(candidates.size(), std::max<std::size_t>(1, (candidates.size() * 15 + 50) / 100));
    for (std::size_t k = 0; k < count; ++k)  // the first `count` places of a shuffle
        std::swap(candidates[k], candidates[k + random() % (candidates.size() - k)]);
    task.rows.assign(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(task.rows.begin(), task.rows.end());
    for (const std::int64_t row : task.rows) {
        task.targets.push_back(task.tokens.ids[static_cast<std::size_t>(row)]);
        task.tokens.ids[static_cast<std::size_t>(row)] = *mask;
    }
    return task;
}

constexpr std::array<const char*, 4> kGroups = {"first", "special", "punctuation", "other"};

std::vector<std::size_t> groups_of(const text::Tokenizer& tokenizer, const text::Encoding& encoding) {
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const std::string text = tokenizer.bytes_of(encoding.ids[i]);
        groups.push_back(i == 0 ? 0 : encoding.special[i] ? 1 : text == "." || text == "," ? 2 : 3);
    }
    return groups;
}

/// Pairs of a query and a key it may attend to: all of [query, key], or those of a causal model without row 0, which can only
/// attend to itself.
struct Pairs {
    std::int64_t queries, keys;
    bool causal;
    std::int64_t first() const { return causal ? 1 : 0; }
    std::int64_t end(std::int64_t query) const { return causal ? query + 1 : keys; }
};

/// Sums over the pairs, by group: [group, head].
using Sums = std::array<std::vector<double>, kGroups.size()>;

Sums group_sums(const at::Tensor& whole, const std::vector<std::size_t>& groups, const Pairs& pairs) {
    const at::Tensor t = whole.to(at::kDouble).abs().contiguous();  // [head, query, key]
    const std::int64_t heads = t.size(0);
    Sums sums;
    for (auto& group : sums) group.assign(static_cast<std::size_t>(heads), 0.0);
    const double* values = t.data_ptr<double>();
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = pairs.first(); i < pairs.queries; ++i)
            for (std::int64_t j = 0; j < pairs.end(i); ++j)
                sums[groups[static_cast<std::size_t>(j)]][static_cast<std::size_t>(h)] +=
                    values[(h * pairs.queries + i) * pairs.keys + j];
    return sums;
}

std::array<double, kGroups.size()> pair_counts(const std::vector<std::size_t>& groups, const Pairs& pairs) {
    std::array<double, kGroups.size()> counts{};
    for (std::int64_t i = pairs.first(); i < pairs.queries; ++i)
        for (std::int64_t j = 0; j < pairs.end(i); ++j) counts[groups[static_cast<std::size_t>(j)]] += 1;
    return counts;
}

using Tensors = std::map<HookPoint, at::Tensor>;

GradientByKey by_key(const Tensors& gradients, const Tensors& values, Hook hook, const model::ModelConfig& c,
                     const std::vector<std::size_t>& groups, const Pairs& pairs) {
    GradientByKey out;
    const auto counts = pair_counts(groups, pairs);
    const Eigen::MatrixXd gap = Eigen::MatrixXd::Constant(c.n_layers, c.n_heads, kNaN);
    out.gradient.assign(kGroups.size(), gap);
    out.weight.assign(kGroups.size(), gap);
    for (std::size_t group = 0; group < kGroups.size(); ++group)
        out.group_tokens.push_back(std::count(groups.begin(), groups.end(), group));
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const Sums gradient = group_sums(gradients.at({hook, Layer(l)}), groups, pairs),
                   weight = group_sums(values.at({hook, Layer(l)}), groups, pairs);
        for (std::size_t group = 0; group < kGroups.size(); ++group)
            for (std::int64_t h = 0; h < c.n_heads && counts[group] > 0; ++h) {
                out.gradient[group](l, h) = gradient[group][static_cast<std::size_t>(h)] / counts[group];
                out.weight[group](l, h) = weight[group][static_cast<std::size_t>(h)] / counts[group];
            }
    }
    return out;
}

void check_source(const model::ModelConfig& c, bool given) {
    if (has_cross_attention(c) == given) return;
    throw Error(
        {.problem = given ? "Only a decoder behind an encoder reads a source" : "This decoder reads a source, and none was given",
         .item = c.name,
         .expected = given ? "one text" : "a source and a target"});
}

}  // namespace

AttentionGradient attention_gradient(const model::Model& model, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                                     std::uint64_t seed, const CancelToken& cancel, const Progress& progress,
                                     const std::optional<text::Encoding>& source) {
    const model::ModelConfig& c = model.config();
    check_source(c, source.has_value());
    require_token_logits(c, "The loss over the tokens of a text");
    Task task = c.causal ? next_tokens(encoding) : masked_tokens(model, tokenizer, encoding, seed);
    if (task.rows.empty())
        throw Error({.problem = "There is nothing to predict in this text",
                     .expected = c.causal ? "at least two tokens" : "a token that can be masked",
                     .found = with_commas(encoding.size()) + " tokens"});
    const model::ModelConfig* encoder = source ? &model.part(model::Stack::encoder)->config() : nullptr;
    std::vector<HookPoint> patterns;
    for (std::int64_t l = 0; l < std::max(c.n_layers, encoder ? encoder->n_layers : 0); ++l)
        patterns.push_back({Hook::pattern, Layer(l)});
    if (source) {
        task.tokens.source = source->ids;
        for (std::int64_t l = 0; l < c.n_layers; ++l) patterns.push_back({Hook::cross_pattern, Layer(l)});
    }
    const auto loss = [&](const at::Tensor& logits) {
        const at::Tensor rows = at::tensor(task.rows, at::kLong).to(logits.device());
        const at::Tensor targets = at::tensor(task.targets, at::kLong).to(logits.device());
        const at::Tensor wide = logits.index_select(0, rows).to(logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
        return -at::log_softmax(wide, 1).gather(1, targets.unsqueeze(1)).mean();
    };
    const trace::Gradients g = trace::gradients(model, task.tokens, patterns, loss, cancel, progress);

    const std::vector<std::size_t> groups = groups_of(tokenizer, encoding);
    AttentionGradient out;
    static_cast<GradientByKey&>(out) =
        by_key(g.gradients, g.values, Hook::pattern, c, groups, {encoding.size(), encoding.size(), c.causal});
    out.loss = g.value;
    out.predicted = static_cast<std::int64_t>(task.rows.size());
    out.groups.assign(kGroups.begin(), kGroups.end());
    if (source) {
        const std::vector<std::size_t> of_source = groups_of(tokenizer, *source);
        out.cross = by_key(g.gradients, g.values, Hook::cross_pattern, c, of_source, {encoding.size(), source->size(), false});
        out.encoder = by_key(g.source_gradients, g.source_values, Hook::pattern, *encoder, of_source,
                             {source->size(), source->size(), false});
    }
    return out;
}

Table table_of(const AttentionGradient& g) {
    Table table{{"layer", "head", "keys", "number_of_keys", "mean_abs_gradient", "mean_weight"}, {}};
    table.definitions = {{"keys", "first: position 0; special: other special tokens; punctuation: . and ,"},
                         {"mean_abs_gradient", "mean of |d loss / d weight| over queries and keys of the group"},
                         {"mean_weight", "mean softmax weight over the same pairs"}};
    const bool several = g.cross || g.encoder;
    if (several) {
        table.columns.insert(table.columns.begin(), "attention");
        table.definitions.emplace_back(
            "attention", "self: the decoder's own; cross: from the target to the source; encoder: the source's own");
    }
    const auto add = [&](const char* attention, const GradientByKey& of) {
        for (Eigen::Index l = 0; l < of.gradient.front().rows(); ++l)
            for (Eigen::Index h = 0; h < of.gradient.front().cols(); ++h)
                for (std::size_t group = 0; group < g.groups.size(); ++group) {
                    std::vector<Table::Cell> row{std::int64_t{l},        std::int64_t{h},          g.groups[group],
                                                 of.group_tokens[group], of.gradient[group](l, h), of.weight[group](l, h)};
                    if (several) row.insert(row.begin(), std::string(attention));
                    table.add(std::move(row));
                }
    };
    add("self", g);
    if (g.cross) add("cross", *g.cross);
    if (g.encoder) add("encoder", *g.encoder);
    return table;
}

}  // namespace headlight::analyze
