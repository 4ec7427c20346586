// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/coreference/coreference.h"

#include "headlight/base/error.h"
#include "headlight/corpus/syntax/relations.h"

#include <algorithm>
#include <map>
#include <string>

namespace headlight::corpus {
namespace {

MentionTask task_of(CoreferenceScore score) { return static_cast<MentionTask>(score); }

/// Mentions of the chain of `m` with this mention's head.
bool is_right(const IndexedMentions& chunk, std::size_t m, std::int64_t chosen) {
    if (chosen < 0) return false;
    const IndexedMention& of = chunk.mentions[static_cast<std::size_t>(chosen)];
    return std::ranges::any_of(
        chunk.mentions, [&](const IndexedMention& each) { return each.chain == chunk.mentions[m].chain && each.same_head(of); });
}

/// The nearest mention with an earlier head for which `is` holds; -1: none.
template <class Is>
std::int64_t nearest_earlier(const IndexedMentions& chunk, std::size_t m, Is&& is) {
    for (std::int64_t c = static_cast<std::int64_t>(m) - 1; c >= 0; --c) {
        const IndexedMention& each = chunk.mentions[static_cast<std::size_t>(c)];
        if (each.head_begin < chunk.mentions[m].head_begin && is(each)) return c;
    }
    return -1;
}

std::int64_t same_word(const IndexedMentions& chunk, std::size_t m) {
    return nearest_earlier(chunk, m, [&](const IndexedMention& each) { return each.form == chunk.mentions[m].form; });
}

/// The name nearest to the pronoun, 1 or 2; the earlier one of two as near.
std::int64_t nearest_name(const IndexedMentions& chunk) {
    const auto gap = [&](std::size_t name) {
        const IndexedMention &a = chunk.mentions[0], &b = chunk.mentions[name];
        return b.begin < a.begin ? a.begin - b.end : b.begin - a.end;
    };
    return gap(2) < gap(1) ? 2 : 1;
}

/// What a head decides for a question: 1 or 2; -1 if both have the same weight.
std::int64_t chosen_name(const IndexedMentions& chunk, std::int64_t head) {
    const float first = chunk.names[static_cast<std::size_t>(2 * head)],
                second = chunk.names[static_cast<std::size_t>(2 * head + 1)];
    return first == second ? -1 : first > second ? 1 : 2;
}

/// Cases and hits by unit: a text, or a pair of sentences.
struct ScoreSums {
    Bootstrap::Columns n, hits;                ///< [unit, 1] and [unit, head]
    double nearest = 0, match = 0, first = 0;  ///< hits of the baselines
    std::vector<bool> half_b;                  ///< [unit]
};

double share_of(double hits, std::int64_t n) { return n > 0 ? hits / static_cast<double>(n) : kNaN; }

std::string unit_key(std::int64_t number, const IndexedMentions& chunk, const std::vector<std::int64_t>& text_of_chunk) {
    if (chunk.task == MentionTask::winobias_pro || chunk.task == MentionTask::winobias_anti) return chunk.key;
    return std::to_string(text_of_chunk.at(static_cast<std::size_t>(number)));
}

/// The units of a score with their numbers; WinoBias's are the same for both versions.
std::map<std::string, std::int64_t> units_of(const MentionIndex& index, const std::vector<std::int64_t>& text_of_chunk,
                                             const std::vector<MentionTask>& tasks, std::vector<bool>& half_b) {
    std::map<std::string, std::int64_t> units;
    for (const auto& [number, chunk] : index.chunks()) {
        if (std::ranges::find(tasks, chunk.task) == tasks.end()) continue;
        if (units.emplace(unit_key(number, chunk, text_of_chunk), std::ssize(half_b)).second)
            half_b.push_back(in_half_b(chunk.key));
    }
    return units;
}

void count_chunk(const IndexedMentions& chunk, std::int64_t heads, Eigen::Index unit, ScoreSums& out) {
    std::int64_t row = 0;
    for (std::size_t m = 0; m < chunk.mentions.size(); ++m) {
        if (!chunk.mentions[m].asked) continue;
        out.n(unit, 0) += 1;
        if (chunk.task == MentionTask::chains) {
            for (std::int64_t h = 0; h < heads; ++h)
                out.hits(unit, h) += is_right(chunk, m, chunk.to[static_cast<std::size_t>(row * heads + h)]);
            out.nearest += is_right(chunk, m, nearest_earlier(chunk, m, [](const IndexedMention&) { return true; }));
            out.match += is_right(chunk, m, same_word(chunk, m));
            ++row;
        } else {
            for (std::int64_t h = 0; h < heads; ++h) out.hits(unit, h) += is_right(chunk, m, chosen_name(chunk, h));
            out.nearest += is_right(chunk, m, nearest_name(chunk));
            out.first += is_right(chunk, m, 1);
        }
    }
}

}  // namespace

CoreferenceTable coreference_table(const MentionIndex& index, const std::vector<std::int64_t>& text_of_chunk,
                                   const BootstrapOptions& options, const CancelToken& cancel) {
    CoreferenceTable table;
    table.causal = index.causal();
    const std::int64_t heads = index.heads();
    const auto head_at = [&](std::int64_t h) { return HeadId{Layer(h / index.n_heads()), Head(h % index.n_heads())}; };
    using Tasks = std::vector<MentionTask>;
    for (const Tasks& tasks :
         {Tasks{MentionTask::chains}, Tasks{MentionTask::gap}, Tasks{MentionTask::winobias_pro, MentionTask::winobias_anti}}) {
        cancel.throw_if_cancelled();
        std::vector<bool> half_b;
        const auto units = units_of(index, text_of_chunk, tasks, half_b);
        if (units.empty()) continue;
        const Bootstrap bootstrap(std::ssize(units), options);
        std::map<MentionTask, ScoreSums> sums;
        for (const auto& [number, chunk] : index.chunks()) {
            if (std::ranges::find(tasks, chunk.task) == tasks.end()) continue;
            ScoreSums& out = sums[chunk.task];
            if (out.n.size() == 0) {
                out.n.setZero(std::ssize(units), 1);
                out.hits.setZero(std::ssize(units), heads);
            }
            count_chunk(chunk, heads, units.at(unit_key(number, chunk, text_of_chunk)), out);
        }
        Bootstrap::Columns in_b(std::ssize(units), 1);
        for (std::size_t u = 0; u < half_b.size(); ++u) in_b(static_cast<Eigen::Index>(u), 0) = half_b[u];
        for (const auto& [task, of] : sums) {
            const Bootstrap::Columns held_n = of.n.array() * in_b.array(),
                                     held_hits = of.hits.array().colwise() * in_b.col(0).array();
            const std::vector<Interval> accuracy = bootstrap.means(of.hits, of.n), held_out = bootstrap.means(held_hits, held_n);
            const auto n = static_cast<std::int64_t>(of.n.sum()), b_n = static_cast<std::int64_t>(held_n.sum());
            const Eigen::RowVectorXd all = of.hits.colwise().sum(), selected = all - held_hits.colwise().sum();
            Eigen::Index best = 0;  // ties go to the first
            (n > b_n ? selected : all).maxCoeff(&best);
            for (std::int64_t h = 0; h < heads; ++h) {
                CoreferenceRow row{.score = static_cast<CoreferenceScore>(task),
                                   .head = head_at(h),
                                   .accuracy = accuracy[static_cast<std::size_t>(h)],
                                   .n = n,
                                   .cases = index.counts(task).cases,
                                   .nearest_mention = share_of(of.nearest, n),
                                   .best = h == best,
                                   .selection = share_of(selected(h), n - b_n),
                                   .selection_n = n - b_n};
                (task == MentionTask::chains ? row.head_match : row.first_name) =
                    share_of(task == MentionTask::chains ? of.match : of.first, n);
                // A head that is chosen on all cases has none left to be measured on.
                if (n > b_n) {
                    row.held_out = held_out[static_cast<std::size_t>(h)];
                    row.held_out_n = b_n;
                }
                table.rows.push_back(row);
            }
        }
        if (!sums.contains(MentionTask::winobias_pro) || !sums.contains(MentionTask::winobias_anti)) continue;
        const ScoreSums &pro = sums.at(MentionTask::winobias_pro), &anti = sums.at(MentionTask::winobias_anti);
        const auto pairs = static_cast<std::int64_t>((pro.n.array() > 0 && anti.n.array() > 0).count());
        if (pairs == 0) continue;
        const auto difference = bootstrap.differences(pro.hits, pro.n.replicate(1, heads), anti.hits, anti.n.replicate(1, heads));
        for (std::int64_t h = 0; h < heads; ++h)
            table.rows.push_back({.score = CoreferenceScore::winobias_difference,
                                  .head = head_at(h),
                                  .accuracy = difference[static_cast<std::size_t>(h)],
                                  .n = pairs,
                                  .cases = std::min(index.counts(MentionTask::winobias_pro).cases,
                                                    index.counts(MentionTask::winobias_anti).cases)});
    }
    return table;
}

HeadId best_head(const CoreferenceTable& table, CoreferenceScore score) {
    const auto row =
        std::ranges::find_if(table.rows, [&](const CoreferenceRow& each) { return each.score == score && each.best; });
    return row == table.rows.end() ? HeadId{Layer(-1), Head(-1)} : row->head;
}

std::vector<CoreferenceCase> coreference_cases(const MentionIndex& index, CoreferenceScore score, HeadId head) {
    std::vector<CoreferenceCase> out;
    if (score == CoreferenceScore::winobias_difference) return out;
    if (head.layer.value < 0 || head.layer.value >= index.n_layers() || head.head.value < 0 || head.head.value >= index.n_heads())
        throw Error({.problem = "There is no such head",
                     .expected = std::to_string(index.n_layers()) + " layers of " + std::to_string(index.n_heads()) + " heads",
                     .found = "L" + std::to_string(head.layer.value) + "H" + std::to_string(head.head.value)});
    const std::int64_t heads = index.heads(), h = head.layer.value * index.n_heads() + head.head.value;
    for (const auto& [number, chunk] : index.chunks()) {
        if (chunk.task != task_of(score)) continue;
        std::int64_t row = 0;
        for (std::size_t m = 0; m < chunk.mentions.size(); ++m) {
            if (!chunk.mentions[m].asked) continue;
            CoreferenceCase one{.chunk = number, .mention = static_cast<std::int32_t>(m)};
            if (chunk.task == MentionTask::chains) {
                const auto at = static_cast<std::size_t>(row++ * heads + h);
                one.chosen = chunk.to[at];
                one.weight = chunk.to_weight[at] / 32767.0;
            } else {
                one.chosen = static_cast<std::int32_t>(chosen_name(chunk, h));
                one.weight = static_cast<double>(
                    std::max(chunk.names[static_cast<std::size_t>(2 * h)], chunk.names[static_cast<std::size_t>(2 * h + 1)]));
            }
            one.hit = is_right(chunk, m, one.chosen);
            const auto same_chain = [&](const IndexedMention& each) { return each.chain == chunk.mentions[m].chain; };
            one.correct = one.hit                             ? one.chosen
                          : chunk.task == MentionTask::chains ? static_cast<std::int32_t>(nearest_earlier(chunk, m, same_chain))
                          : same_chain(chunk.mentions[1])     ? 1
                                                              : 2;
            out.push_back(one);
        }
    }
    return out;
}

std::vector<CoreferenceCase> coreference_examples(const MentionIndex& index, CoreferenceScore score, HeadId head,
                                                  std::int64_t n) {
    std::vector<CoreferenceCase> cases = coreference_cases(index, score, head), out;
    std::ranges::stable_sort(cases, std::greater(), &CoreferenceCase::weight);
    for (const bool hit : {true, false}) {
        std::int64_t taken = 0;
        for (const CoreferenceCase& each : cases)
            if (each.hit == hit && taken < n) {
                out.push_back(each);
                ++taken;
            }
    }
    return out;
}

}  // namespace headlight::corpus
