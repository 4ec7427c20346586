// SPDX-License-Identifier: GPL-3.0-or-later
// Several heads edited at once: the first of an order, the first two, and so on, and as many heads drawn at random.
#pragma once

#include "headlight/base/fields.h"
#include "headlight/intervention/sweep/sweep.h"

#include <string>
#include <vector>

namespace headlight::intervention {

struct CumulativeRequest {
    std::int64_t steps = 0;  ///< 0: a sweep of single cells
    std::vector<std::string>
        order{};                 ///< "L5H1"; empty: by each head's own effect towards the other run, of an ablation by its size
    std::int64_t controls = 20;  ///< orders drawn at random
    std::uint64_t seed = 0;      ///< of these
    bool operator==(const CumulativeRequest&) const = default;
};
void describe(Describes<CumulativeRequest> auto& r, const auto& field) {
    field(Field{"cumulative", "Heads at once",
                "edit the first head, the first two … up to N at once, and as many heads drawn at random (0: cell by cell)"}
              .within(0, 10'000)
              .or_if_empty("cell by cell"),
          r.steps);
    field(Field{"order", "Order", "--cumulative: the heads in their order: L5H1,L3H2; without it by each one's own effect"}
              .as(FieldKind::names)
              .called("HEADS")
              .or_if_empty("by effect")
              .when(r.steps > 0, "--cumulative"),
          r.order);
    field(Field{"controls", "Controls", "--cumulative: how often heads are drawn at random"}.within(1, 1000).when(r.steps > 0,
                                                                                                                  "--cumulative"),
          r.controls);
    field(Field{"control-seed", "Seed of controls", "--cumulative: equal seeds draw equal heads"}
              .within(0, 2'147'483'647)
              .called("S")
              .when(r.steps > 0, "--cumulative"),
          r.seed);
}

/// After so many heads; the first one is the run without edits.
struct CumulativeStep {
    SweepCell added{};          ///< the head that this step adds; layer -1: none
    double single = kNaN;       ///< its effect alone, mean over pairs; NaN with a given order
    double value = kNaN;        ///< the metric, mean over pairs
    corpus::Interval effect{};  ///< minus that of the unedited run, with an interval over pairs (groups)
    double normalized = kNaN;   ///< effect over the gap between the two runs; NaN: an ablation, or too small a gap
    double control = kNaN;      ///< effect of as many random heads, mean over draws and pairs
    double control_low = kNaN, control_high = kNaN;  ///< the middle 95 % of the draws
    std::int64_t pairs = 0;
};
struct CumulativeResult {
    SweepOptions options;
    CumulativeRequest asked;
    std::vector<double> clean, corrupt;                      ///< [pair]; ablations: corrupt is empty
    double base = kNaN;                                      ///< the metric of the unedited runs, mean over pairs
    std::vector<CumulativeStep> steps;                       ///< from none to the last
    std::int64_t units = 0;                                  ///< heads that the controls are drawn from
    std::vector<std::string> answer_words{}, wrong_words{};  ///< where all pairs have the same
    std::vector<std::string> notes{};
};

/// Of the heads of a sweep of z, q, k, v or pattern, at all positions. Controls are drawn from all heads of the sweep (layers and
/// heads of the options), each draw without repetition. Errors: those of run_sweep(); another site; paths, direct effects,
/// attribution, windows or noise; a head of the order that the sweep does not have, or twice.
CumulativeResult cumulative_heads(const std::shared_ptr<const model::Model>&, const std::vector<SweepPair>&, const SweepOptions&,
                                  const CumulativeRequest&, const CancelToken& = {}, const Progress& = {});

/// heads, layer, head, single, value, effect, low, high, normalized, control, control_low, control_high, pairs.
analyze::Table table_of(const CumulativeResult&);

}  // namespace headlight::intervention
