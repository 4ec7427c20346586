// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_query.h"
#include "headlight/analyze/heads/variability.h"
#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::analyze {

/// A measure that every head has on the current text.
struct MeasureInfo {
    std::string id;            ///< "induction": column name in CSV and in finder expressions
    std::string title;         ///< "induction score"
    std::string definition;    ///< one sentence with the formula and source
    std::string unit;          ///< "nats", "tokens", "share", "length", "ratio" or "cosine"
    double low = 0, high = 1;  ///< natural range; high may be data-driven (NaN)
    std::string group{};       ///< one of measure_groups(); empty: of no menu
};

/// Values of all measures for all heads; NaN where a measure does not exist for this text.
struct HeadTable {
    std::int64_t n_layers = 0, n_heads = 0;
    std::int64_t n_kv_heads = 0;  ///< heads of a group read one key/value head
    std::vector<MeasureInfo> measures;
    std::vector<Eigen::MatrixXd> values;  ///< per measure [layer, head]
    bool causal = true;
    std::int64_t rows = 0;  ///< queries that the means are over; of several texts the sum
    /// Of measures that few queries of a text have, how many do: "induction" needs queries that repeat a token.
    std::map<std::string, std::int64_t, std::less<>> queries{};

    const Eigen::MatrixXd* find(std::string_view measure_id) const noexcept;
};

/// Measures of a corpus stand beside those of the text: "corpus_induction" is the mean of "induction" over its texts.
inline constexpr std::string_view corpus_prefix = "corpus_";
inline bool is_of_corpus(std::string_view measure_id) noexcept { return measure_id.starts_with(corpus_prefix); }

/// The measures of HeadTable without values: ids, titles, definitions, units (docs/measures.md).
const std::vector<MeasureInfo>& head_measures();
/// The kinds of question that measures answer, for menus: "Where it attends". In the order they are shown.
const std::vector<std::string>& measure_groups();
/// One measure of one head; NaN where the run gathers none of that name (updates, variability) or the text has none. Errors: no
/// such measure, no overview.
double head_measure(const trace::Trace&, HeadId, std::string_view id, bool with_first_row = false);

struct HeadTableOptions {
    bool with_first_row = false;  ///< row 0 of a causal model counts in the means, though it can only attend to itself
};
/// From what the run gathered, and its z and resid_pre for the updates (NaN when it kept none). Error when the
/// run kept no overview. `variability` needs several texts: NaN here. The measures of the random-token probe are filled where
/// the model's probe is known (model_probe.h), else NaN.
HeadTable head_table(const trace::Trace&, const HeadTableOptions& = {});
/// The same with NaN everywhere: of a model whose layers have implied maps, which no measure is defined for.
HeadTable unmeasured_heads(const model::ModelConfig&);

/// Means over texts, each of weight one; a text in which a measure does not exist does not count in its mean.
class HeadAverages {
public:
    explicit HeadAverages(HeadTableOptions options = {}) : options_(options) {}
    /// Error for a trace of another model's shape, and as head_table().
    void add(const trace::Trace&);
    std::int64_t texts() const noexcept { return static_cast<std::int64_t>(tokens_.size()); }
    /// With `variability` (Vig & Belinkov 2019) over the first 10 tokens, where at least two texts have them.
    /// Error when nothing was added.
    HeadTable table() const;

private:
    void add_corner(const trace::Trace&);
    FirstPairs first_pairs() const;
    double variability(std::int64_t head) const;

    HeadTableOptions options_;
    bool causal_ = true;
    HeadTable sums_;
    std::vector<Eigen::MatrixXd> counts_;
    std::vector<std::int64_t> tokens_;         ///< of each text
    std::vector<std::vector<float>> corners_;  ///< of each text: [layer * head, FirstPairs::size()]
};

/// "2 repeats": how many queries a measure is a mean over, where few have it; empty: most have.
std::string repeats_text(const HeadTable&, std::string_view measure_id);

/// Shares from which on a head is called one of a kind, and the least number of queries that a text must have for it.
inline constexpr double induction_from = 0.3, duplicate_from = 0.3, previous_from = 0.4;
inline constexpr std::int64_t queries_for_a_kind = 4;

/// A head worth looking at first. An induction head by the random-token probe which shows it on this text (the largest
/// induction_excess, at least 0.1); where the probe is not known, the largest induction_excess above 0.3. Else the most focused
/// head past layer 0 that does not mainly attend to the first token or itself.
HeadId interesting_head(const HeadTable&);
/// A query and key of that head to show first: the largest weight off the first token and itself, special tokens only
/// when nothing else is left. A pair that shows induction (the key stands right behind an earlier copy of the query)
/// with a weight above 0.3 comes before all others. One token: that token twice.
struct InterestingPair {
    Position query, key;
};
InterestingPair interesting_pair(const trace::Trace&, HeadId, const CancelToken& = {});

}  // namespace headlight::analyze
