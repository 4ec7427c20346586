// SPDX-License-Identifier: GPL-3.0-or-later
// One edit after another, and what each does to an answer: activation patching (Vig et al. 2020, arXiv:2004.12265; Meng et al.
// 2022, arXiv:2202.05262) and ablation of every layer, head, position, attention weight or neuron. Definitions: docs/sweep.md.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/intervention/sweep/grid.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headlight::intervention {

/// A text, or a picture, as the model reads it.
struct SweepText {
    std::vector<std::int64_t> ids{}, type_ids{}, source{};
    std::shared_ptr<const std::vector<float>> pixels{};         ///< of a picture, whose patches the ids name
    std::int64_t end = -1;                                      ///< position that the answer is read at
    std::map<std::string, std::vector<std::int64_t>> places{};  ///< named positions
    std::vector<text::TokenLabel> labels{};                     ///< for figures
    std::vector<text::TokenLabel> source_labels{};              ///< likewise, of `source`
    std::vector<float> noise{};  ///< [pos, width] added to the token embeddings (hook_embed); empty: none
};

/// Two texts that differ in what is asked about, and the answers. Ablations read the clean one alone.
struct SweepPair {
    SweepText clean{}, corrupt{};
    std::vector<std::int64_t> answers{}, wrong{};
    std::vector<std::string> answer_words{}, wrong_words{};  ///< of these tokens, "·Mary": for figures
    std::string group{};                                     ///< pairs of a group (a template) are resampled together
};

struct SweepOptions {
    Grid grid = Grid::z;
    Metric metric = Metric::logit_diff;
    Direction direction = Direction::denoise;
    Ablation ablation = Ablation::none;
    Effect effect = Effect::total;
    /// Whose heads, patterns and outputs of attention are edited: the decoder's own or, of an encoder-decoder model, its cross
    /// attention's, whose keys and values have the source's positions.
    model::Stack attention = model::Stack::decoder;
    Method method = Method::exact;
    /// Queries, keys or values of heads, as recipes name them ("L5H7.k"): the effect is that on the way through them alone (path
    /// patching, Wang et al. 2022, arXiv:2211.00593, appendix B). Empty: not so; else `effect` is direct.
    std::vector<std::string> to{};
    std::int64_t window = 1;                      ///< layers edited at once, from l - window / 2 on
    std::vector<std::int64_t> layers{}, heads{};  ///< empty: all; neurons need layers
    bool by_name = false;                         ///< positions are the pairs' named ones, whatever their lengths
    std::int64_t donors = 10;                     ///< of resampling, at most
    /// Causal tracing (Meng et al. 2022): the corrupt text is the clean one with normal noise on the token embeddings of the
    /// place of this name, once for each draw; its standard deviation is so many times that of these tokens' embeddings in all
    /// pairs. What is a pair in a result is then a draw. Empty: pairs have two texts.
    std::string noise{};
    double noise_scale = 3;
    std::int64_t noise_draws = 10;
    /// Means and resampled tensors are of these texts in place of the pairs' clean ones; a mean is then one of all positions, or
    /// `per_position` of texts that have the length of those that are run.
    std::shared_ptr<const std::vector<SweepText>> over{};
    bool per_position = false;
    double least_gap = 1e-3;                            ///< |clean - corrupt| below which nothing is normalised
    corpus::BootstrapOptions bootstrap{.draws = 2000};  ///< its seed draws donors and noise too
    std::int64_t memory = std::int64_t{1} << 28;        ///< of the variants in one pass, in bytes
    bool operator==(const SweepOptions&) const = default;
};

/// How a cell's number came about. `certain`: no token that the metric reads depends on it, so its effect is 0 without a pass.
/// `missing`: no pair has it (positions that are not aligned). `pending`: its turn has not come yet.
enum class CellState { computed, certain, missing, pending };
inline constexpr EnumRow<CellState> cell_states[] = {
    {CellState::computed, "computed", "computed", ""},
    {CellState::certain, "certain", "certain", "nothing that the metric reads depends on the cell, so the effect is 0"},
    {CellState::missing, "missing", "missing", "no aligned position"},
    {CellState::pending, "pending", "pending", "not computed yet"}};
constexpr const auto& enum_rows(CellState) { return cell_states; }

struct SweepCellResult {
    double value = kNaN;             ///< the metric after the edit, mean over pairs
    double effect = kNaN;            ///< minus that of the unedited run, mean over pairs
    double normalized = kNaN;        ///< ratio of means: 0 nothing, 1 the other run's metric; NaN where the gap is too small
    double stderr_ = kNaN;           ///< of the effect over pairs, clustered by group; NaN below two groups
    double low = kNaN, high = kNaN;  ///< of the effect: percentile bootstrap over pairs (groups), at the level
    double band_low = kNaN, band_high = kNaN;  ///< of the effect: holds for all cells at once
    double estimate = kNaN;                    ///< of the effect by attribution, mean over pairs; method `both` alone
    double direct = kNaN;                      ///< effect, mean over pairs; effect `both` alone
    std::int64_t pairs = 0, agreeing = 0;      ///< pairs that have the cell; those whose effect has the sign of the mean
    CellState state = CellState::missing;
};

struct SweepResult {
    SweepOptions options;
    SweepAxes axes;
    std::vector<SweepCell> cells;
    std::vector<SweepCellResult> results;                 ///< [cell]
    std::vector<std::vector<double>> effects{};           ///< [pair][cell]; NaN: missing
    std::vector<std::vector<double>> estimates{};         ///< likewise; method `both` alone
    std::vector<std::vector<double>> directs{};           ///< likewise; effect `both` alone
    std::vector<double> clean, corrupt;                   ///< [pair] the metric of the two runs; ablations: corrupt is empty
    std::vector<std::vector<float>> noise{};              ///< [pair] SweepText::noise of its corrupt text
    std::int64_t computed = 0, certain = 0, missing = 0;  ///< cells of all pairs
    std::vector<std::string> position_names{};            ///< of the position axis where it is not the token's: named positions
    std::vector<text::TokenLabel> labels{};  ///< of the texts that are run; a token that pairs do not share: its name, or empty
    std::vector<text::TokenLabel> source_labels{};           ///< of its source, in a sweep of a cross attention
    std::vector<std::string> answer_words{}, wrong_words{};  ///< where all pairs have the same
    std::vector<std::string> notes{};
    double seconds = 0;
    bool complete = true;  ///< no cell of any pair is pending

    double clean_mean() const, corrupt_mean() const;
    double base_mean() const;  ///< of the runs that are edited
    /// Divisor of `normalized`; NaN: an ablation, or too small.
    double gap() const;
};

/// What the numbers of a sweep depend on, by the names of the command line.
using SweepFacts = std::vector<std::pair<std::string, std::string>>;

/// A sweep that can be stopped and go on, and whose numbers so far can be read at any time.
class SweepRun {
public:
    /// Errors: as run_sweep().
    SweepRun(std::shared_ptr<const model::Model>, std::vector<SweepPair>, const SweepOptions&);
    ~SweepRun();
    SweepRun(SweepRun&&) noexcept;

    /// Before run(): cells are taken from this file, where it exists, and those that follow are appended to it after every pass;
    /// with them the sweep has bit for bit the numbers of one that was not interrupted. Returns how many cells it had. Errors: a
    /// file of a sweep with other facts or pairs, named; a file that is none.
    std::int64_t keep_in(const std::filesystem::path&, SweepFacts);
    /// The cells that are there, in the lines of such a file. From any thread; of a pass under way, its first cells.
    std::string kept(SweepFacts) const;
    /// Before run(): takes the cells that kept() gave, and returns how many. Errors: as keep_in(); they name the file.
    std::int64_t take(std::string_view kept, SweepFacts, const std::string& file);
    /// Computes the cells that are pending: all, or after Cancelled those that are left, with the same numbers. Progress counts
    /// the cells of all pairs.
    void run(const CancelToken& = {}, const Progress& = {});
    /// From any thread. Until all cells are there: of the pairs that have begun, without intervals and notes.
    SweepResult result() const;
    const std::vector<SweepPair>& pairs() const noexcept;

private:
    struct Internals;
    std::unique_ptr<Internals> in_;
};

/// Errors: a grid that the model has no tensor for, or whose tensor nobody reads (resid_mid of parallel blocks); no answer for a
/// metric that needs one; a loss of a model that does not predict the next token; texts of unequal length without named
/// positions, where pairs are averaged by position; layers or heads that do not exist; models without an unembedding. Cancelled
/// within a layer.
SweepResult run_sweep(const std::shared_ptr<const model::Model>&, const std::vector<SweepPair>&, const SweepOptions&,
                      const CancelToken& = {}, const Progress& = {});

/// What a sweep will cost: a few of its passes are run to measure the machine.
struct SweepForecast {
    std::int64_t cells = 0, computed = 0;  ///< of all pairs
    std::int64_t work = 0;                 ///< layers times rows of the passes of all cells
    double seconds = 0;
    std::int64_t bytes = 0;    ///< beside the model
    std::string text() const;  ///< "2,160 cells (624 computed), 8 s, 210 MB"
};
SweepForecast forecast_sweep(const std::shared_ptr<const model::Model>&, const std::vector<SweepPair>&, const SweepOptions&,
                             const CancelToken& = {});

/// Columns: site where there are several, those of layer, head (of keys and values the key/value head), position, source, neuron,
/// expert that the grid has, and the position's token; then value, effect, normalized, of several pairs stderr, low, high,
/// agreeing, pairs, band_low, band_high, with method `both` estimate and error (estimate - effect), with effect `both` direct and
/// mediated (effect - direct), and state. Arrays: `effects` [pair, cell], with `both` `estimates` or `directs`, the metrics of
/// the runs and, of texts of one length, `noise` [pair, token, width].
analyze::Table table_of(const SweepResult&);

}  // namespace headlight::intervention
