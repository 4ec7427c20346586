// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens by what they read, and the attention between them.
#include "analyze/heads/head_query_text.h"
#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/map_layout.h"
#include "headlight/analyze/heads/head_query.h"
#include "headlight/base/nearest.h"
#include "text/unicode/unicode.h"

#include <algorithm>
#include <set>

namespace headlight::analyze {
namespace {

constexpr std::int64_t row_gap = 64;

using text::unicode::case_folded;

/// Without the mark of a leading space, as text, as label or as vocabulary entry; a token of nothing else keeps it.
std::string_view stripped(std::string_view text) {
    for (const std::string_view mark : {" ", "·", "Ġ", "▁"})
        if (text.starts_with(mark) && text.size() > mark.size()) return text.substr(mark.size());
    return text;
}

std::string bare_word(std::string_view text) { return case_folded(stripped(text)); }

/// One side of the patterns.
struct Text {
    Text(const trace::Trace& trace, Side side)
        : encoding(side == Side::keys ? trace.key_encoding() : trace.encoding()),
          labels(side == Side::keys ? trace.key_labels() : trace.labels()),
          tokenizer(*trace.tokenizer()) {}

    const text::Encoding& encoding;
    const std::vector<text::TokenLabel>& labels;
    const text::Tokenizer& tokenizer;

    std::size_t size() const { return encoding.ids.size(); }
    std::string bytes_at(std::size_t position) const { return tokenizer.bytes_of(encoding.ids[position]); }
    bool reads(std::size_t position, const std::string& wanted) const {
        const text::TokenLabel& label = labels[position];
        return bare_word(bytes_at(position)) == wanted || bare_word(label.text) == wanted ||
               bare_word(label.continuation + label.text) == wanted || bare_word(encoding.tokens[position]) == wanted;
    }
};

}  // namespace

std::vector<Position> tokens_called(const trace::Trace& trace, std::string_view typed) {
    return tokens_called(trace, typed, Side::queries);
}

std::vector<Position> tokens_called(const trace::Trace& trace, std::string_view typed, Side side) {
    const Text own(trace, side);
    const std::string wanted = bare_word(typed);
    std::vector<Position> found;
    if (wanted.empty()) return found;
    const std::size_t count = own.size();
    for (std::size_t i = 0; i < count; ++i)
        if (own.reads(i, wanted)) found.emplace_back(static_cast<std::int64_t>(i));
    if (!found.empty()) return found;

    const text::Encoding& encoding = own.encoding;
    for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
        std::string word;
        for (end = begin;
             end < count && encoding.words[end] == encoding.words[begin] && encoding.sequence[end] == encoding.sequence[begin];
             ++end)
            word += own.bytes_at(end);
        if (encoding.words[begin] < 0 || bare_word(word) != wanted) continue;
        for (std::size_t i = begin; i < end; ++i) found.emplace_back(static_cast<std::int64_t>(i));
    }
    return found;
}

std::string nearest_token(const trace::Trace& trace, std::string_view typed, Side side) {
    const Text own(trace, side);
    const std::string wanted = bare_word(typed);
    std::size_t least = std::max<std::size_t>(wanted.size(), 3);
    std::string nearest;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string shown(stripped(own.labels[i].text));
        const std::size_t cost = edit_distance(case_folded(shown), wanted);
        if (cost >= least) continue;
        least = cost;
        nearest = "`" + shown + "` (" + std::to_string(i) + ")";
    }
    return nearest;
}

Eigen::MatrixXd attention_between(const trace::Trace& trace, const std::vector<Position>& from, const std::vector<Position>& to,
                                  bool weighted, const CancelToken& cancel) {
    std::set<std::int64_t> queries;
    for (const Position position : from) {
        check_position(trace, position, "query");
        queries.insert(position.value);
    }
    for (const Position position : to) check_key(trace, position);
    const model::ModelConfig& config = trace.config();
    const MapLayout layout = map_layout(token_facts(trace), key_facts(trace, {}), PatternOptions{});
    Eigen::MatrixXd largest = Eigen::MatrixXd::Zero(config.n_layers, config.n_heads);
    for (std::int64_t layer = 0; layer < config.n_layers; ++layer) {
        const ReadableKeys readable(trace, Layer(layer));
        for (std::int64_t head = 0; head < config.n_heads; ++head) {
            cancel.throw_if_cancelled();
            const HeadId id{Layer(layer), Head(head)};
            const at::Tensor norms = weighted ? output_norms(trace, id) : at::Tensor();
            double& best = largest(layer, head);
            const auto take = [&](std::int64_t query, const float* weights) {
                if (!queries.contains(query)) return;
                const AttentionRow row{weights, weighted ? norms.data_ptr<float>() : nullptr, readable(query)};
                const double scale = row_scale(row, layout);
                for (const Position key : to)
                    best = std::max(best, static_cast<double>(prepared_cell(row, Span{key.value, 1}, scale)));
            };
            // Rows near each other are read together: a call costs as much as dozens of rows.
            for (auto first = queries.begin(); first != queries.end();) {
                auto last = first, next = std::next(first);
                while (next != queries.end() && *next - *last <= row_gap) last = next++;
                for_each_pattern_row(trace, id, *first, *last - *first + 1, take);
                first = next;
            }
        }
    }
    return largest;
}

}  // namespace headlight::analyze
