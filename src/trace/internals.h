// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/memory_account.h"
#include "headlight/trace/trace.h"
#include "trace/head_kernels.h"
#include "trace/remake.h"

#include <ATen/ATen.h>

#include <map>
#include <optional>

namespace headlight::trace {

struct Trace::Internals {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    Prompt prompt;
    PictureShown picture;
    text::Encoding encoding;
    std::vector<text::TokenLabel> labels;
    RunInfo info;
    std::vector<std::string> edits;  ///< of the run, in words
    std::int64_t shared_rows = 0;    ///< shared_rows_of() it

    /// On the CPU, in the compute type, in the shapes of docs/hooks.md; never changed after the run.
    /// Some share memory (q, k and v of a fused projection, resid_post and the next resid_pre).
    std::map<model::HookPoint, at::Tensor> stored;
    std::vector<model::HookPoint> kept;      ///< what the plan asked for, and what interventions replaced; in pass order
    std::int64_t bytes = 0;                  ///< of an encoder-decoder run with those of its parts
    MemoryAccount account{MemoryUse::runs};  ///< of these, without the parts'
    std::shared_ptr<const Remaker> remaker;  ///< of what is not stored; nullptr: there is nothing else
    bool through_decoder = false;            ///< of a cross attention: the remaker is the decoder's, and has its names

    /// Of an encoder-decoder run, which is the decoder's.
    std::shared_ptr<const Trace> encoder, cross;
    mutable std::weak_ptr<const Trace> whole;  ///< of these two: the run that owns them
    std::optional<text::Encoding> source;      ///< cross: what the columns of its patterns are; else the text itself
    std::vector<text::TokenLabel> source_labels;

    HeadOverview overview = no_overview;        ///< that was asked for
    std::vector<PooledPattern> pooled;          ///< [layer * head]
    std::vector<GatheredNumbers> head_numbers;  ///< likewise
};

/// A tensor that is stored or can be made again; nothing where it is neither.
std::optional<at::Tensor> available_tensor(const Trace&, model::HookPoint);
bool is_available(const Trace&, model::HookPoint);
/// Rows of it: of logits that are made again no others.
std::optional<at::Tensor> available_rows(const Trace&, model::HookPoint, std::int64_t first, std::int64_t count);

/// Tells the parts of a run whose they are.
std::shared_ptr<const Trace> own_parts(std::shared_ptr<const Trace> run);

}  // namespace headlight::trace
