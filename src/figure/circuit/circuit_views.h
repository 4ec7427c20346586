// SPDX-License-Identifier: GPL-3.0-or-later
// Views of what a head is wired to do, of copy suppression on the text, and of what a prediction depends on.
#pragma once

#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/base/job.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <cstdint>
#include <memory>
#include <string>

namespace headlight::figure {

struct CircuitViewOptions {
    bool fold_norms = false;
    bool diagonal = false;  ///< ranks over the whole vocabulary: takes seconds with a large one
    analyze::TokenVectors tokens = analyze::TokenVectors::stream;
};
std::unique_ptr<Figure> head_circuit_view(TracePtr, HeadId, const CircuitViewOptions&, const CancelToken&, const Progress& = {});

/// Pairs that a head attends to, and what it does to the logit of the key's token.
std::unique_ptr<Figure> copy_suppression_view(TracePtr, HeadId, double threshold, bool explained, const CancelToken&,
                                              const Progress& = {});

struct ImportanceViewOptions {
    std::string target{};  ///< a token as typed; empty: the model's most probable one; "next": the one in the text
    bool blank_out = true;
    std::int64_t permutations = 20;
    bool long_texts = false;  ///< blank-out and shuffles also where the position reads more than 128 tokens
};
std::unique_ptr<Figure> importance_view(TracePtr, Position, const ImportanceViewOptions&, const CancelToken&,
                                        const Progress& = {});

}  // namespace headlight::figure
