// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors that edits refer to.
#pragma once

#include "headlight/intervention/recipe/run.h"
#include "headlight/trace/tensors.h"

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace headlight::intervention {

/// The Error about an edit.
[[noreturn]] void fail_edit(const Edit&, const std::string& problem, const std::string& expected = {},
                            const std::string& found = {}, const std::string& hint = {});

/// A tensor of one stack, as the stack itself calls it (trace::part_of).
struct StackPoint {
    model::Stack stack = model::Stack::decoder;
    model::HookPoint point;
    auto operator<=>(const StackPoint&) const = default;
};

/// The name of a hook in a run of the whole model.
std::string hook_name(const model::Model&, const StackPoint&);

/// One layer or one unit.
inline bool names_one(const std::vector<Span>& spans) { return spans.size() == 1 && spans.front().first == spans.front().last; }

struct Sources::Internals {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    trace::Prompt prompt;
    trace::Encodings encodings;
    std::shared_ptr<const trace::Trace> unedited;
    std::function<trace::Prompt(const std::string&)> read_picture;
    std::set<std::string> wanted;  ///< hooks that the recipe reads in other runs

    std::map<std::pair<std::string, std::string>, std::shared_ptr<const trace::Trace>> runs{};  ///< by text and target
    std::map<std::tuple<std::string, From, bool, StackPoint>, at::Tensor> means{};              ///< by file
    std::map<std::string, std::vector<std::string>> texts{};                                    ///< by file

    /// The part of the model with its configuration: the cross attention's has the layers' second attentions. Error: none.
    const model::Model& part(const Edit&) const;
    /// Positions that the rows of a site's tensor stand for: of the source for the encoder, and for keys and values of a cross
    /// attention.
    const text::Encoding& rows_of(const Edit&) const;
    const text::Encoding& keys_of(const Edit&) const;  ///< what the columns of a pattern are

    /// With the default capture plan.
    const std::shared_ptr<const trace::Trace>& plain(const CancelToken&, const Progress&);
    std::shared_ptr<const trace::Trace> run_of(const std::string& text, const std::string& target, const CancelToken&,
                                               const Progress&);
    /// In float64 on the CPU.
    at::Tensor in_plain(const StackPoint&, const CancelToken&, const Progress&);
    at::Tensor in_text(const Edit&, const std::string& text, const StackPoint&, const CancelToken&, const Progress&);
    /// [row, …] of texts of a file: one row for From::texts, as many as this text has tokens for From::reference.
    at::Tensor mean_of(const Edit&, const StackPoint&, const CancelToken&, const Progress&);
    const std::vector<std::string>& texts_of(const Edit&, const CancelToken&);
    /// The text of a resampling.
    const std::string& drawn(const Edit&, std::uint64_t seed, const CancelToken&);
    /// A direction of the tensor's width: [width] or [unit, width].
    at::Tensor direction(const Edit&, const StackPoint&, const std::vector<std::int64_t>& shape, const CancelToken&,
                         const Progress&);
};

}  // namespace headlight::intervention
