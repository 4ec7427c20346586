// SPDX-License-Identifier: GPL-3.0-or-later
// What the kinds of saved traces share: their arrays as tensors, checks of patterns, and the trace that comes of them.
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/safetensors.h"
#include "trace/internals.h"
#include "trace/saved/saved_text.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace headlight::trace {

[[noreturn]] void fail_saved(const std::filesystem::path& file, const std::string& problem, const std::string& item,
                             const std::string& expected = {}, const std::string& found = {}, const std::string& hint = {});

/// The numbers of a view as a tensor: the file's own memory where it lies at a place that its type allows.
at::Tensor tensor_of(const io::TensorView&);

/// Rows that do not sum to one are counted.
struct RowCheck {
    std::int64_t wrong_rows = 0, rows = 0;
    std::string first;
};
/// Weights [head, query, key] must be numbers from 0 to 1.
void check_pattern(const std::filesystem::path& file, const std::string& name, std::int64_t layer, const at::Tensor& pattern,
                   RowCheck& rows);
void add_row_warning(const RowCheck&, RunInfo&);
bool looks_ahead(const at::Tensor& pattern);

/// All that is known of a model whose patterns alone are there.
model::ModelConfig plain_config(std::int64_t layers, std::int64_t heads, std::int64_t tokens);

/// The trace of tensors that are stored; its encoding, tokenizer, prompt and model are set. Makes labels, and the pictures
/// and numbers of every head as a run would have gathered them (without values there is no share of them).
std::shared_ptr<const Trace> finish_saved(std::unique_ptr<Trace::Internals>, const CancelToken&, const Progress&);

}  // namespace headlight::trace
