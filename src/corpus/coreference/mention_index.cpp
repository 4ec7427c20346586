// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/coreference/mention_index.h"

#include "corpus/heads/saved_heads.h"
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

std::unique_ptr<Accumulator> MentionIndex::fresh() const { return std::make_unique<MentionIndex>(n_layers_, n_heads_, causal_); }

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

void MentionIndex::merge(const Accumulator& other) {
    const auto& index = dynamic_cast<const MentionIndex&>(other);
    for (const auto& [number, chunk] : index.chunks_) chunks_.emplace(number, chunk);
    for (std::size_t t = 0; t < counts_.size(); ++t) {
        counts_[t].texts += index.counts_[t].texts;
        counts_[t].cases += index.counts_[t].cases;
        counts_[t].neither += index.counts_[t].neither;
    }
}

void MentionIndex::save(Arrays& arrays) const {
    std::vector<std::int64_t> numbers, ends, key_ends, bytes, counts;
    std::vector<std::uint8_t> tasks, keys, asked;
    std::vector<std::int32_t> places;
    std::vector<float> names;
    std::vector<std::int16_t> to, weights;
    for (const auto& [number, chunk] : chunks_) {
        numbers.push_back(number);
        tasks.push_back(static_cast<std::uint8_t>(chunk.task));
        keys.insert(keys.end(), chunk.key.begin(), chunk.key.end());
        key_ends.push_back(std::ssize(keys));
        for (const IndexedMention& m : chunk.mentions) {
            places.insert(places.end(), {m.chain, m.form, m.first_token, m.last_token});
            bytes.insert(bytes.end(), {m.begin, m.end, m.head_begin, m.head_end});
            asked.push_back(m.asked);
        }
        ends.push_back(std::ssize(asked));
        to.insert(to.end(), chunk.to.begin(), chunk.to.end());
        weights.insert(weights.end(), chunk.to_weight.begin(), chunk.to_weight.end());
        names.insert(names.end(), chunk.names.begin(), chunk.names.end());
    }
    for (const Counts& each : counts_) counts.insert(counts.end(), {each.texts, each.cases, each.neither});
    const std::int64_t n = std::ssize(asked), s = std::ssize(numbers), rows = std::ssize(to) / heads(),
                       questions = std::ssize(names) / (2 * heads());
    arrays.put<std::int64_t>("mentions.chunk", {s}, numbers);
    arrays.put<std::uint8_t>("mentions.task", {s}, tasks);
    arrays.put<std::uint8_t>("mentions.key_bytes", {std::ssize(keys)}, keys);
    arrays.put<std::int64_t>("mentions.key_end", {s}, key_ends);
    arrays.put<std::int64_t>("mentions.end", {s}, ends);
    arrays.put<std::int32_t>("mentions.chain_form_tokens", {n, 4}, places);
    arrays.put<std::int64_t>("mentions.bytes", {n, 4}, bytes);
    arrays.put<std::uint8_t>("mentions.asked", {n}, asked);
    arrays.put<std::int16_t>("mentions.to", {rows, n_layers_, n_heads_}, to);
    arrays.put<std::int16_t>("mentions.to_weight", {rows, n_layers_, n_heads_}, weights);
    arrays.put<float>("mentions.names", {questions, n_layers_, n_heads_, 2}, names);
    arrays.put<std::int64_t>("mentions.counts", {kMentionTasks, 3}, counts);
    put_heads(arrays, "mentions.heads", {.layers = n_layers_, .heads = n_heads_, .causal = causal_});
}

MentionIndex MentionIndex::read(const Arrays& arrays) {
    if (!arrays.has("mentions.heads"))
        throw Error({.problem = "The store has no mentions of entities",
                     .item = "mentions",
                     .expected = "--measure with mentions",
                     .hint = "Run headlight corpus run with --texts of CorefUD, CoNLL-2012, GAP or WinoBias"});
    const HeadsShape saved = get_heads(arrays, "mentions.heads");
    MentionIndex index(saved.layers, saved.heads, saved.causal);
    index.load(arrays);
    return index;
}

void MentionIndex::load(const Arrays& arrays) {
    const auto numbers = arrays.get_chunks("mentions.chunk", {-1});
    const std::int64_t s = std::ssize(numbers);
    const auto tasks = arrays.get<std::uint8_t>("mentions.task", {s});
    const auto keys = arrays.get<std::uint8_t>("mentions.key_bytes", {-1});
    const auto key_ends = arrays.get<std::int64_t>("mentions.key_end", {s}), ends = arrays.get<std::int64_t>("mentions.end", {s});
    const auto asked = arrays.get<std::uint8_t>("mentions.asked", {-1});
    const std::int64_t n = std::ssize(asked);
    const auto places = arrays.get<std::int32_t>("mentions.chain_form_tokens", {n, 4});
    const auto bytes = arrays.get<std::int64_t>("mentions.bytes", {n, 4});
    const auto to = arrays.get<std::int16_t>("mentions.to", {-1, n_layers_, n_heads_});
    const auto weights = arrays.get<std::int16_t>("mentions.to_weight", {-1, n_layers_, n_heads_});
    const auto names = arrays.get<float>("mentions.names", {-1, n_layers_, n_heads_, 2});
    const auto check = [&](const std::vector<std::int64_t>& of, std::int64_t size, const char* array) {
        if (!std::ranges::is_sorted(of) || (of.empty() ? size != 0 : of.front() < 0 || of.back() != size))
            arrays.throw_damaged(array);
    };
    check(ends, n, "mentions.end");
    check(key_ends, std::ssize(keys), "mentions.key_end");
    if (weights.size() != to.size()) arrays.throw_damaged("mentions.to_weight");
    auto next_to = to.begin();
    auto next_weight = weights.begin();
    auto next_name = names.begin();
    for (std::size_t c = 0; c < numbers.size(); ++c) {
        const auto [place, is_new] = chunks_.try_emplace(numbers[c]);
        if (!is_new) arrays.throw_damaged("mentions.chunk");
        IndexedMentions& chunk = place->second;
        if (tasks[c] >= kMentionTasks) arrays.throw_damaged("mentions.task");
        chunk.task = static_cast<MentionTask>(tasks[c]);
        chunk.key.assign(keys.begin() + (c > 0 ? key_ends[c - 1] : 0), keys.begin() + key_ends[c]);
        std::int64_t rows = 0;
        for (std::int64_t m = c > 0 ? ends[c - 1] : 0; m < ends[c]; ++m) {
            const auto at = static_cast<std::size_t>(m);
            const std::int32_t* p = places.data() + 4 * at;
            const std::int64_t* b = bytes.data() + 4 * at;
            if (b[0] < 0 || b[1] < b[0] || b[2] < 0 || b[3] < b[2] || p[2] < 0 || p[3] < p[2])
                arrays.throw_damaged("mentions.bytes");
            chunk.mentions.push_back({p[0], p[1], b[0], b[1], b[2], b[3], p[2], p[3], asked[at] != 0});
            rows += asked[at] != 0;
        }
        if (chunk.task == MentionTask::chains) {
            if (to.end() - next_to < rows * heads()) arrays.throw_damaged("mentions.to");
            chunk.to.assign(next_to, next_to + rows * heads());
            chunk.to_weight.assign(next_weight, next_weight + rows * heads());
            next_to += rows * heads();
            next_weight += rows * heads();
            for (const std::int16_t to_mention : chunk.to)
                if (to_mention < -1 || to_mention >= std::ssize(chunk.mentions)) arrays.throw_damaged("mentions.to");
        } else {
            if (chunk.mentions.size() != 3 || rows != 1 || !chunk.mentions.front().asked) arrays.throw_damaged("mentions.asked");
            if (names.end() - next_name < 2 * heads()) arrays.throw_damaged("mentions.names");
            chunk.names.assign(next_name, next_name + 2 * heads());
            next_name += 2 * heads();
        }
    }
    if (next_to != to.end() || next_name != names.end()) arrays.throw_damaged("mentions.to");
    const auto counts = arrays.get_within<std::int64_t>("mentions.counts", {kMentionTasks, 3}, 0, kMostCounted);
    for (std::size_t t = 0; t < counts_.size(); ++t) counts_[t] = {counts[3 * t], counts[3 * t + 1], counts[3 * t + 2]};
}

}  // namespace headlight::corpus
