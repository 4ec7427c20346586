// SPDX-License-Identifier: GPL-3.0-or-later
// The random-token probe of a model, run once: kept with the model while it is open, and on disk by the model's hash.
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/heads/induction_probe.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace headlight::analyze {

/// Few sequences, so that it can run in passing: 4 of 50 random tokens, 2 of 25 from half a billion parameters on, fewer tokens
/// where the model takes fewer or its vocabulary is small. Depends on the model alone. None for models without weights (saved
/// traces), of pictures, with an encoder and a decoder, and for those that take fewer than 2 * 8 tokens.
std::optional<ProbeOptions> probe_plan(const model::Model&, const text::Tokenizer&);
/// Tokens that the model reads for it, over all runs.
std::int64_t probe_tokens(const model::ModelConfig&, const text::Tokenizer&, const ProbeOptions&);

/// What is at hand in memory; null: nothing yet. Never runs the model. What is kept on disk has no ids.
std::shared_ptr<const InductionProbe> known_probe(const model::Model&);
/// The same, or from disk. Null as well when that file is of another plan or tokenizer, or cannot be read.
std::shared_ptr<const InductionProbe> kept_probe(const model::Model&, const text::Tokenizer&, const ProbeOptions&);
/// At hand, from disk, or run now and then kept in both places. A disk that cannot be written is no error. Error for a model
/// without a plan.
std::shared_ptr<const InductionProbe> model_probe(const std::shared_ptr<const model::Model>&,
                                                  const std::shared_ptr<const text::Tokenizer>&, const CancelToken& = {},
                                                  const Progress& = {});

/// The measures that come from it: "probe_induction" and others. head_table() fills them from known_probe().
bool is_of_probe(std::string_view measure_id) noexcept;
void fill_probe(HeadTable&, const InductionProbe&);

}  // namespace headlight::analyze
