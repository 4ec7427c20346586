// SPDX-License-Identifier: GPL-3.0-or-later
// Views of what a head is wired to do, of copy suppression on the text, and of what a prediction depends on.
#pragma once

#include "headlight/analyze/circuit/composition.h"
#include "headlight/analyze/circuit/copy_suppression.h"
#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/analyze/circuit/importance.h"
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
void describe(Describes<CircuitViewOptions> auto& r, const auto& field) {
    field(analyze::kFoldNorms, r.fold_norms);
    field(Field{"embedding", "A token is", "what stands for a token in the tables"}, r.tokens);
    field(Field{"diagonal", "Ranks over the whole vocabulary", "where every token stands in its own row"}, r.diagonal);
}
std::unique_ptr<Figure> head_circuit_view(TracePtr, HeadId, const CircuitViewOptions&, const CancelToken&, const Progress& = {});

/// Pairs that a head attends to, and what it does to the logit of the key's token.
std::unique_ptr<Figure> copy_suppression_view(TracePtr, HeadId, const analyze::CopySuppressionRequest&, const CancelToken&,
                                              const Progress& = {});

struct ImportanceViewOptions {
    analyze::ImportanceRequest asked{.permutations = 20};
    bool long_texts = false;  ///< blank-out and shuffles also where the position reads more than 128 tokens
};
void describe(Describes<ImportanceViewOptions> auto& r, const auto& field) {
    describe(r.asked, field);
    field(Field{"long-texts", "Blank-out and shuffles on long texts",
                "also where the position reads more than 128 tokens; takes a pass each"},
          r.long_texts);
}
std::unique_ptr<Figure> importance_view(TracePtr, Position, const ImportanceViewOptions&, const CancelToken&,
                                        const Progress& = {});

}  // namespace headlight::figure
