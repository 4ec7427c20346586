// SPDX-License-Identifier: GPL-3.0-or-later
// Runs under edits that have words. With torch in it (as tensors.h).
#pragma once

#include "headlight/model/generate.h"
#include "headlight/trace/edits.h"
#include "headlight/trace/tensors.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlight::trace {

/// What interventions amount to, for people.
struct EditsTold {
    std::vector<std::string> words{};                      ///< edits_of() the run
    std::function<std::vector<std::string>()> notes = {};  ///< asked after the pass; they become warnings of the run
};
/// run_with_hooks() of them. With the run of the same prompt without them, whose layers before the first intervention are then
/// shared: only the others are computed, and the trace is that of a whole run bit for bit.
std::shared_ptr<const Trace> run_edited(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>,
                                        const Prompt&, const CapturePlan&, const std::vector<Intervention>&, const EditsTold&,
                                        const CancelToken& = {}, const Progress& = {},
                                        const std::shared_ptr<const Trace>& unedited = nullptr);

/// model::generate() under interventions, with `begin_pass` as there.
model::Generated generate_edited(const model::Model&, const std::vector<std::int64_t>& prompt, const model::GenerateOptions&,
                                 const std::vector<Intervention>&,
                                 const std::function<void(std::int64_t first_row, std::int64_t rows)>& begin_pass,
                                 const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::trace
