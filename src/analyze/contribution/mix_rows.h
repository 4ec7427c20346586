// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/contribution/value_mix.h"

#include <memory>

namespace headlight::analyze {

/// Norm-based attention of a layer, ready to give rows: what does not depend on the row is computed once, for the tokens
/// that the first `sources` of the text hold.
class MixRows {
public:
    MixRows(const trace::Trace&, Layer, MixScope, std::int64_t sources, const CancelToken& = {});
    ~MixRows();
    /// [count, source token]; all that these rows can read must be among the sources.
    Matrix rows(std::int64_t first, std::int64_t count, const CancelToken& = {}) const;

private:
    class Products;
    struct State;
    std::unique_ptr<const State> state_;
};

}  // namespace headlight::analyze
