// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/config.h"
#include "headlight/model/hook_name.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headlight::trace {

/// What a run gathers of every head while its pattern exists.
struct HeadOverview {
    bool pooled = true;   ///< Trace::pooled()
    bool numbers = true;  ///< Trace::head_numbers(), and the lengths of values that some of them weigh with
    bool any() const noexcept { return pooled || numbers; }
    /// All of the other one.
    bool has(const HeadOverview& other) const noexcept { return (pooled || !other.pooled) && (numbers || !other.numbers); }
};
inline constexpr HeadOverview no_overview{.pooled = false, .numbers = false};

/// Which hooks can be read from the trace afterwards, by globs over hook names ("blocks.*.attn.hook_q", "all").
/// The default is what the views need: every hook but the normalised copies of the residual stream; scores, patterns
/// and head results are not in the list, but can be read.
/// What another kept tensor gives by one cheap step of the pass is not stored but computed when asked for: patterns and
/// scores from q and k, hook_result from z, mlp.hook_post from mlp.hook_pre. So a trace grows with T, not with T^2.
struct CapturePlan {
    std::vector<std::string> globs;  ///< empty: the default set
    HeadOverview overview{};

    static CapturePlan everything();  ///< {"all"}: every hook
    /// Error when a glob matches no hook of this model, with the nearest names.
    /// `may_be_elsewhere`: such a glob is one of another part of the model, and matches nothing here.
    std::vector<model::HookPoint> resolve(const model::ModelConfig&, bool may_be_elsewhere = false) const;
};

/// Bytes that a run will need, before it starts.
struct Forecast {
    std::int64_t kept = 0;       ///< the trace
    std::int64_t working = 0;    ///< the largest temporaries of one layer
    std::int64_t available = 0;  ///< memory that is free now: the machine's, or what limits of its control group leave
    std::vector<std::pair<std::string, std::int64_t>> parts;  ///< hook kind -> bytes kept over all layers, largest first
    bool fits() const noexcept { return kept + working <= available; }
    std::string text() const;  ///< "needs 4.2 GB (kept 4.0, working 0.2), 3.1 GB free; leave out: hook_pattern 3.2 GB, …"
};
/// `source`: tokens of the encoder's text, where the configuration is a decoder's.
Forecast forecast(const model::ModelConfig&, std::int64_t tokens, const CapturePlan&, std::int64_t element_bytes = 4,
                  std::int64_t source = 0);

}  // namespace headlight::trace
