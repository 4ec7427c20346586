// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/why/why.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace headlight::analyze {

std::string name_of(const StreamPart& part) {
    if (part.component == Component::final_bias) return "bias";
    const std::string layer = part.layer < 0 ? std::string() : "L" + std::to_string(part.layer);
    if (part.component == Component::head || part.component == Component::cross_head) {
        const std::string prefix = part.component == Component::head ? "" : "cross.";
        if (part.index >= 0) {
            const std::string from = part.source == StreamPart::whole       ? ""
                                     : part.source == StreamPart::elsewhere ? " at other keys"
                                                                            : " from " + std::to_string(part.source);
            return prefix + layer + "H" + std::to_string(part.index) + from;
        }
        return prefix + (layer.empty() ? "heads" : layer + ".heads");
    }
    return (layer.empty() ? "" : layer + ".") + std::string(name_of(part.component));
}

std::vector<Why::Pair> Why::strongest(std::int64_t count) const {
    std::vector<Pair> all;
    for (Eigen::Index q = 0; q < advantages.rows(); ++q)
        for (Eigen::Index k = 0; k < advantages.cols(); ++k) all.push_back({q, k});
    const auto order = [&](const Pair& a, const Pair& b) {
        const double x = std::abs(advantages(a.query, a.key)), y = std::abs(advantages(b.query, b.key));
        return x != y ? x > y : std::pair(a.query, a.key) < std::pair(b.query, b.key);
    };
    const auto middle = all.begin() + std::min<std::ptrdiff_t>(count, std::ssize(all));
    std::partial_sort(all.begin(), middle, all.end(), order);
    all.erase(middle, all.end());
    return all;
}

WhyList listed(const Why& why, std::int64_t count) {
    WhyList out;
    double amounts = 0, listed_amounts = 0, positive = 0;
    std::vector<double> sorted(why.advantages.data(), why.advantages.data() + why.advantages.size());
    for (const double x : sorted) {
        amounts += std::abs(x);
        positive += std::max(x, 0.0);
        (x > 0 ? out.rest_for : out.rest_from) += x;
    }
    const auto pairs = why.strongest(count);
    for (const Why::Pair& pair : pairs) {
        const double x = why.advantages(pair.query, pair.key);
        out.listed += x;
        listed_amounts += std::abs(x);
        (x > 0 ? out.rest_for : out.rest_from) -= x;
    }
    out.all = why.advantages.sum();
    out.share = listed_amounts / amounts;
    out.opposing = amounts / std::abs(why.advantage);
    out.others = std::ssize(sorted) - std::ssize(pairs);
    std::ranges::sort(sorted, std::greater());
    for (double held = 0; out.half < std::ssize(sorted) && held < positive / 2; ++out.half)
        held += sorted[static_cast<std::size_t>(out.half)];
    return out;
}

bool WhyList::holds_little() const { return share < 0.25; }

bool WhyList::sums_to_other() const {
    const double held = listed / all;
    return std::isfinite(held) && (held < 0.5 || held > 1.5);
}

std::vector<Eigen::Index> by_amount(const Eigen::VectorXd& sums) {
    std::vector<Eigen::Index> order(static_cast<std::size_t>(sums.size()));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](Eigen::Index part) { return std::abs(sums[part]); });
    return order;
}

double share_of_largest(const Eigen::VectorXd& sums, std::int64_t count) {
    const std::vector<Eigen::Index> order = by_amount(sums);
    double held = 0;
    for (std::size_t i = 0; i < order.size() && static_cast<std::int64_t>(i) < count; ++i) held += std::abs(sums[order[i]]);
    return held / sums.cwiseAbs().sum();
}

Table table_of(const Why& why, std::int64_t top) {
    Table table;
    table.columns = {"kind",      "query_component", "query_layer", "query_index", "key_component", "key_layer",
                     "key_index", "source",          "score",       "others",      "advantage"};
    table.definitions = {
        {"score", "scale * q_a . k_b of the parts a and b that wrote the query and the key, norms at their scale in the run"},
        {"others", "its mean over the other keys, weighted by the softmax among them"},
        {"advantage", "score - others; with the position's they sum to A, and ln(a / (1 - a)) = A - H"},
        {"source", "of a head that is split by the tokens that it read: the token; a component elsewhere: at the other keys"},
        {"kind", "pair; query, key: sums over the other side; position; rest: pairs that are not listed; total: A"},
        {"pairs", "advantages [query part, key part]"},
        {"pair_scores", "scores [query part, key part]"}};
    const auto add = [&](const char* kind, const StreamPart* query, const StreamPart* key, double score, double advantage) {
        std::vector<Table::Cell> row{std::string(kind)};
        Table::Cell source;
        for (const StreamPart* part : {query, key}) {
            if (part) {
                const std::string component(name_of(part->component));
                row.push_back(part->source == StreamPart::elsewhere ? component + "_elsewhere" : component);
                row.push_back(index_cell(part->layer));
                row.push_back(index_cell(part->index));
                if (part->source >= 0) source = index_cell(part->source);
            } else {
                row.resize(row.size() + 3);
            }
        }
        row.insert(row.end(), {source, score, score - advantage, advantage});
        table.add(std::move(row));
    };
    const auto size = static_cast<std::int64_t>(why.advantages.size());
    const std::int64_t count = top > 0 ? std::min(top, size) : size;
    check_rows(count, size);
    double score = why.scores.sum(), advantage = why.advantages.sum();
    for (const Why::Pair& pair : why.strongest(count)) {
        const double own = why.scores(pair.query, pair.key), more = why.advantages(pair.query, pair.key);
        add("pair", &why.query_parts[static_cast<std::size_t>(pair.query)], &why.key_parts[static_cast<std::size_t>(pair.key)],
            own, more);
        score -= own, advantage -= more;
    }
    if (count < size) add("rest", nullptr, nullptr, score, advantage);
    for (std::size_t i = 0; i < why.query_parts.size(); ++i)
        add("query", &why.query_parts[i], nullptr, why.scores.row(static_cast<Eigen::Index>(i)).sum(),
            why.query_sums[static_cast<Eigen::Index>(i)]);
    for (std::size_t i = 0; i < why.key_parts.size(); ++i)
        add("key", nullptr, &why.key_parts[i], why.scores.col(static_cast<Eigen::Index>(i)).sum(),
            why.key_sums[static_cast<Eigen::Index>(i)]);
    if (!std::isnan(why.position)) add("position", nullptr, nullptr, why.position, why.position_advantage);
    add("total", nullptr, nullptr, why.score, why.advantage);
    const auto names = [](const std::vector<StreamPart>& parts) {
        std::vector<std::string> out;
        for (const StreamPart& part : parts) out.push_back(name_of(part));
        return out;
    };
    table.arrays = {named_array("pairs", why.advantages),
                    named_array("pair_scores", why.scores),
                    named_array("query_sums", why.query_sums),
                    named_array("key_sums", why.key_sums),
                    text_array("query_parts", names(why.query_parts)),
                    text_array("key_parts", names(why.key_parts)),
                    integer_array("other_keys", why.compared),
                    named_array("other_weights", why.compared_weights)};
    return table;
}

}  // namespace headlight::analyze
