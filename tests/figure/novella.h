// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/pattern/pattern_views.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"

#include <filesystem>
#include <string>

namespace headlight::figure {

/// A run of the built-in model of six layers of eight heads, which is loaded once.
inline TracePtr novella(const std::string& text, const trace::CapturePlan& plan = {}) {
    static const std::filesystem::path folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m";
    static const auto model = model::Model::load(folder);
    static const auto tokenizer = text::Tokenizer::load(folder);
    return trace::run(model, tokenizer, {.text = text}, plan);
}

}  // namespace headlight::figure
