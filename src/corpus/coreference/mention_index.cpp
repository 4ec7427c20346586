// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/coreference/mention_index.h"

#include "corpus/accumulate/archive.h"
#include "headlight/base/error.h"
#include "text/unicode/unicode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::size_t kMostMentions = std::numeric_limits<std::int16_t>::max();
constexpr double kToUnit = 32767;

/// The tokens that overlap bytes of the text; empty: none in the chunk, or the bytes go beyond it.
std::vector<std::int32_t> tokens_of(const TextRun& run, std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> out;
    std::int64_t covered = begin;
    const text::Encoding& encoding = run.encoding;
    for (std::size_t t = 0; t < static_cast<std::size_t>(encoding.size()); ++t) {
        if (encoding.special[t] || encoding.sequence[t] != 0) continue;
        const std::int64_t first = encoding.offsets[t].begin + run.first_byte, last = encoding.offsets[t].end + run.first_byte;
        if (first >= end || last <= begin) continue;
        if (out.empty() && first > begin) return {};  // it begins in an earlier chunk
        out.push_back(static_cast<std::int32_t>(t));
        covered = std::max(covered, last);
    }
    return covered >= end ? out : std::vector<std::int32_t>();
}

bool has_answer(const Text& text) {
    return text.mentions[1].chain == text.mentions[0].chain || text.mentions[2].chain == text.mentions[0].chain;
}

class MentionPatterns final : public TextPatterns {
public:
    MentionPatterns(const TextRun& run, std::int64_t n_layers, std::int64_t n_heads, bool causal)
        : n_heads_(n_heads), heads_(static_cast<std::size_t>(n_layers * n_heads)) {
        chunk.task = run.text.task;
        chunk.key = run.text.pair.empty() ? run.text.id : run.text.pair;
        std::map<std::string, std::int32_t> chains, forms;
        for (const Mention& m : run.text.mentions) {
            std::vector<std::int32_t> tokens = tokens_of(run, m.head_begin, m.head_end);
            if (tokens.empty() || chunk.mentions.size() == kMostMentions) continue;
            const auto number = static_cast<std::int32_t>(chunk.mentions.size());
            const std::string form = headlight::text::unicode::case_folded(
                std::string_view(run.text.text)
                    .substr(static_cast<std::size_t>(m.head_begin), static_cast<std::size_t>(m.head_end - m.head_begin)));
            IndexedMention mention{.chain = chains.emplace(m.chain, static_cast<std::int32_t>(chains.size())).first->second,
                                   .form = forms.emplace(form, number).first->second,
                                   .begin = m.begin,
                                   .end = m.end,
                                   .head_begin = m.head_begin,
                                   .head_end = m.head_end,
                                   .first_token = tokens.front(),
                                   .last_token = tokens.back()};
            mention.asked = chunk.task == MentionTask::chains && tokens.front() >= run.first_query &&
                            std::ranges::any_of(chunk.mentions, [&](const IndexedMention& earlier) {
                                return earlier.chain == mention.chain && earlier.head_begin < mention.head_begin;
                            });
            chunk.mentions.push_back(mention);
            tokens_.push_back(std::move(tokens));
        }
        if (chunk.task != MentionTask::chains && chunk.mentions.size() == 3 && has_answer(run.text)) {
            IndexedMention& pronoun = chunk.mentions.front();
            const bool reached = !causal || (chunk.mentions[1].last_token < pronoun.first_token &&
                                             chunk.mentions[2].last_token < pronoun.first_token);
            pronoun.asked = reached && pronoun.first_token >= run.first_query;
        }
        const auto asked = static_cast<std::size_t>(std::ranges::count_if(chunk.mentions, &IndexedMention::asked));
        any = asked > 0;
        if (chunk.task == MentionTask::chains)
            chunk.to.assign(asked * heads_, -1), chunk.to_weight.assign(asked * heads_, 0);
        else
            chunk.names.assign(any ? heads_ * 2 : 0, 0);
        std::set<std::pair<std::int64_t, std::int64_t>> counted;
        sharing_.assign(static_cast<std::size_t>(run.encoding.size()), 0);
        for (std::size_t m = 0; m < chunk.mentions.size(); ++m)
            if (counted.emplace(chunk.mentions[m].head_begin, chunk.mentions[m].head_end).second)
                for (const std::int32_t t : tokens_[m]) ++sharing_[static_cast<std::size_t>(t)];
    }

    void add(HeadId head, const trace::HeadPattern& pattern) override {
        const auto column = static_cast<std::size_t>(head.layer.value * n_heads_ + head.head.value);
        if (chunk.task != MentionTask::chains) {
            for (std::size_t name = 0; name < 2; ++name)
                chunk.names[2 * column + name] = static_cast<float>(weight(pattern, 0, name + 1));
            return;
        }
        std::size_t row = 0;
        for (std::size_t m = 0; m < chunk.mentions.size(); ++m) {
            if (!chunk.mentions[m].asked) continue;
            double most = 0;
            const std::size_t at = row++ * heads_ + column;
            for (std::size_t c = 0; c < m; ++c) {
                if (chunk.mentions[c].head_begin >= chunk.mentions[m].head_begin) break;  // they are in this order
                if (const double w = weight(pattern, m, c); w > most) {
                    most = w;
                    chunk.to[at] = static_cast<std::int16_t>(c);
                }
            }
            chunk.to_weight[at] = static_cast<std::int16_t>(std::lround(std::min(most, 1.0) * kToUnit));
        }
    }

    IndexedMentions chunk;
    bool any = false;  ///< something is asked

private:
    /// A token of two heads is split equally between them.
    double weight(const trace::HeadPattern& pattern, std::size_t from, std::size_t to) const {
        double sum = 0;
        for (const std::int32_t query : tokens_[from]) {
            const std::span<const float> row = pattern.row(query);
            for (const std::int32_t key : tokens_[to])
                sum += static_cast<double>(row[static_cast<std::size_t>(key)]) / sharing_[static_cast<std::size_t>(key)];
        }
        return sum / static_cast<double>(tokens_[from].size());
    }

    std::int64_t n_heads_;
    std::size_t heads_;
    std::vector<std::vector<std::int32_t>> tokens_;  ///< [mention]
    std::vector<int> sharing_;                       ///< [token] heads of mentions with it
};

std::int64_t asked_in(const IndexedMentions& chunk) { return std::ranges::count_if(chunk.mentions, &IndexedMention::asked); }

/// Error unless ends stand after their beginnings, a question has three mentions, and the mentions that are attended to exist.
void check_chunk(const Arrays& arrays, const IndexedMentions& chunk) {
    const auto check_order = [&](const char* name, std::int64_t begin, std::int64_t end) {
        if (end < begin) arrays.throw_damaged(name, std::to_string(begin) + " or more", std::to_string(end));
    };
    const std::int64_t n = std::ssize(chunk.mentions);
    for (const IndexedMention& m : chunk.mentions) {
        check_order("mentions.bytes", m.begin, m.end);
        check_order("mentions.bytes", m.head_begin, m.head_end);
        check_order("mentions.chain_form_tokens", m.first_token, m.last_token);
    }
    if (chunk.task != MentionTask::chains && (n != 3 || asked_in(chunk) != 1 || !chunk.mentions.front().asked))
        arrays.throw_damaged("mentions.asked", "the first of three mentions",
                             std::to_string(asked_in(chunk)) + " of " + std::to_string(n));
    for (const std::int16_t to : chunk.to)
        if (to >= n) arrays.throw_damaged("mentions.to", "-1 to " + std::to_string(n - 1), std::to_string(to));
}

}  // namespace

AccumulatorKind mentions_kind() {
    return {.id = "mentions",
            .title = "Mentions of entities",
            .note = "the earlier mention that each mention attends to most, by head; 4 bytes a mention and head",
            .usual = true,
            .of_treebank = false,
            .make =
                [](const AccumulatorContext& context) {
                    const model::ModelConfig& config = context.config;
                    return new_accumulator(MentionIndex(config.n_layers, config.n_heads, config.causal));
                },
            .open = [](const Arrays& arrays, std::uint64_t) { return new_accumulator(MentionIndex::read(arrays)); },
            .of_mentions = true};
}

std::unique_ptr<TextPatterns> MentionIndex::patterns_of(const TextRun& run) const {
    if (run.text.mentions.empty()) return nullptr;
    auto patterns = std::make_unique<MentionPatterns>(run, n_layers_, n_heads_, causal_);
    if (!patterns->any) return nullptr;
    return patterns;
}

void MentionIndex::add(const TextRun& run, TextPatterns* patterns) {
    const std::vector<Mention>& mentions = run.text.mentions;
    if (!mentions.empty() && run.begins) {
        Counts& counts = counts_[static_cast<std::size_t>(run.text.task)];
        ++counts.texts;
        if (run.text.task != MentionTask::chains) {
            ++(has_answer(run.text) ? counts.cases : counts.neither);
        } else {
            std::map<std::string, std::int64_t> first;  // head of the chain's first mention
            for (const Mention& m : mentions) counts.cases += first.emplace(m.chain, m.head_begin).first->second < m.head_begin;
        }
    }
    if (patterns) chunks_[run.number] = std::move(dynamic_cast<MentionPatterns&>(*patterns).chunk);
}

void MentionIndex::stored(Archive& a) {
    a.heads("mentions.heads", n_layers_, n_heads_, causal_);
    std::vector<std::int64_t*> counts;
    for (Counts& each : counts_) counts.insert(counts.end(), {&each.texts, &each.cases, &each.neither});
    a.counts("mentions.counts", {kMentionTasks, 3}, counts);
    a.rows("mentions.chunk", chunks_, [&](StoredRows<IndexedMentions>& chunk) {
        using Row = IndexedMentions;
        using Item = IndexedMention;
        chunk.column<std::uint8_t>("mentions.task", {}, within(0, &Row::task, kMentionTasks - 1))
            .ends("mentions.key_end", "mentions.key_bytes", &Row::key)
            .ragged<std::uint8_t>("mentions.key_bytes", {}, &Row::key, [](const Row& c) { return std::ssize(c.key); })
            .ends("mentions.end", "mentions.asked", &Row::mentions)
            .each(&Row::mentions)
            .column<std::uint8_t>("mentions.asked", {}, within(0, &Item::asked))
            .column<std::int32_t>("mentions.chain_form_tokens", {}, &Item::chain, &Item::form, within(0, &Item::first_token),
                                  within(0, &Item::last_token))
            .column<std::int64_t>("mentions.bytes", {}, within(0, &Item::begin), within(0, &Item::end),
                                  within(0, &Item::head_begin), within(0, &Item::head_end));
        const auto of_chains = [](const Row& c) { return c.task == MentionTask::chains ? asked_in(c) : 0; };
        const auto questions = [](const Row& c) { return c.task == MentionTask::chains ? 0 : 1; };
        chunk.ragged<std::int16_t>("mentions.to", {n_layers_, n_heads_}, within(-1, &Row::to), of_chains)
            .ragged<std::int16_t>("mentions.to_weight", {n_layers_, n_heads_}, &Row::to_weight, of_chains)
            .ragged<float>("mentions.names", {n_layers_, n_heads_, 2}, &Row::names, questions);
    });
    for (const auto& [number, chunk] : chunks_)
        if (a.loads()) check_chunk(a.in(), chunk);
}

MentionIndex MentionIndex::read(const Arrays& arrays) {
    if (!arrays.has("mentions.heads"))
        throw Error({.problem = "The store has no mentions of entities",
                     .item = "mentions",
                     .expected = "--measure with mentions",
                     .hint = "Run headlight corpus run with --texts of CorefUD, CoNLL-2012, GAP or WinoBias"});
    MentionIndex index(0, 0, true);
    index.load(arrays);
    return index;
}

}  // namespace headlight::corpus
