// SPDX-License-Identifier: GPL-3.0-or-later
// A run that ends once a measure is precise enough.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/stored_corpus.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Run on until every head's mean of a measure has a 95 % interval (bootstrap over texts) whose half width is at most this.
struct StopAt {
    std::string measure;    ///< of heads: "induction"
    double half_width = 0;  ///< in the measure's unit; for a share 0.01 is one percent
};
/// "induction:1%", "entropy:0.05". Errors state the syntax.
StopAt parse_stop_at(const std::string&);
/// Errors: no such measure (names the nearest), a half width that is not positive, a store that does not gather heads.
void check(const StopAt&, const Manifest&);

/// Intervals over fewer texts are not trusted, so no run stops by them.
inline constexpr std::int64_t kTextsToStop = 30;

struct WidestInterval {
    HeadId head;
    double half_width = 0;
    std::int64_t texts = 0;  ///< that have the measure
};
/// Over the heads that have the measure in any text; none: there are no such heads, or one of them has it in fewer than
/// kTextsToStop texts.
std::optional<WidestInterval> widest_interval(const StoredCorpus&, const std::string& measure, const BootstrapOptions& = {});

/// Blocks in an order drawn by the seed: the blocks finished when a run stops represent the whole corpus, not its beginning.
void shuffle_blocks(std::vector<std::int64_t>& blocks, std::uint64_t seed);

}  // namespace headlight::corpus
