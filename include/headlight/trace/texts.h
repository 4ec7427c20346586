// SPDX-License-Identifier: GPL-3.0-or-later
// Several texts through one model, all kept.
#pragma once

#include "headlight/io/text_lines.h"
#include "headlight/trace/trace.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace headlight::trace {

/// Runs each text of a list separately. Errors name the file and the line; a text that does not fit into the
/// memory that the ones before left is one.
std::vector<std::shared_ptr<const Trace>> run_texts(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>,
                                                    const std::vector<io::TextLine>&, const std::filesystem::path& file,
                                                    const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::trace
