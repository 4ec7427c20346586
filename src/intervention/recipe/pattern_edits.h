// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of attention weights. Knockouts, set weights and temperatures change the scores, so that the pass' own softmax does the
// rest, until another edit of the same pattern comes before them; then, and in rows that no scores can express, they change the
// weights.
#pragma once

#include "intervention/recipe/selection.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace headlight::intervention {

/// What edits find during a pass. From several threads.
class Notes {
public:
    /// A later note of the same key takes the place of the earlier one.
    void set(const std::string& key, std::string note);
    std::vector<std::string> all() const;

private:
    mutable std::mutex mutex_;
    std::vector<std::pair<std::string, std::string>> notes_;
};

/// Where the rows of the pass stand in the text: `first` and how many; 0 rows: all, from 0.
struct PassRows {
    std::int64_t first = 0, rows = 0;
    /// Position of the first of `count` rows: behind the last layer a pass has the last row alone.
    std::int64_t start(std::int64_t count) const noexcept { return rows > 0 ? first + rows - count : 0; }
};

/// One edit of patterns, its selection resolved.
struct PatternStep {
    Edit edit;
    std::vector<std::int64_t> heads;
    Rows queries, keys;  ///< keys: of an edge
    std::int64_t other_head = 0;
    at::Tensor source{};                             ///< patch, freeze, resample: [head, query, key] float64 of the other run
    std::vector<std::int64_t> to_query{}, to_key{};  ///< its rows and columns for those of this text; -1: none
    bool same_texts = true;                          ///< of equal length: rows are replaced as they are
    bool at_scores = false;
};

/// All edits of one layer's pattern.
class PatternEdits {
public:
    PatternEdits(const model::ModelConfig&, std::int64_t layer, at::Tensor sinks, std::shared_ptr<const PassRows>,
                 std::shared_ptr<Notes>);
    /// Returns its number.
    std::size_t add(PatternStep);
    bool step_at_scores(std::size_t step) const { return steps_[step].at_scores; }

    at::Tensor at_scores(std::size_t step, const at::Tensor& scores);
    at::Tensor at_sink(const at::Tensor& share);
    at::Tensor at_pattern(const at::Tensor& pattern);
    bool has_sinks() const { return sinks_.defined(); }

private:
    struct Row {
        std::vector<double> weights;
        double sink = 0;
        std::int64_t head = 0, query = 0;  ///< query: its position in the text
        std::int64_t key0 = 0;             ///< position of the first weight's key
    };
    bool sees(std::int64_t query, std::int64_t key, std::int64_t keys) const;
    void change(Row&, const PatternStep&, const std::vector<std::vector<double>>& other_heads, std::int64_t index);
    bool shift_scores(std::vector<double>& scores, Row& instead, const PatternStep&, double sink);
    std::vector<bool> edited_keys(const PatternStep&, std::int64_t key0, std::int64_t count) const;
    void note(const PatternStep&, const char* kind, const std::string& text) const;

    bool causal_ = false, across_ = false;
    std::int64_t window_ = 0;
    at::Tensor sinks_;
    std::shared_ptr<const PassRows> rows_;
    std::shared_ptr<Notes> notes_;
    std::vector<PatternStep> steps_;
    /// Rows that no scores can express, by (head, row of the pass): the step that gave up on the scores, and what it writes.
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::size_t, std::vector<double>>> written_;
    at::Tensor share_;  ///< of the sinks in this pass, [head, query] float64
};

}  // namespace headlight::intervention
