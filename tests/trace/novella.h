// SPDX-License-Identifier: GPL-3.0-or-later
// The built-in model, loaded once a test program.
#pragma once

#include "headlight/trace/tensors.h"

#include <ATen/ATen.h>

namespace headlight::trace::testing_support {

struct Novella {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;

    static const Novella& get() {
        static const Novella it = [] {
            const std::string folder = std::string(HEADLIGHT_SOURCE_DIR) + "/models/novella-7m";
            return Novella{model::Model::load(folder), text::Tokenizer::load(folder)};
        }();
        return it;
    }
    std::shared_ptr<const Trace> run(const std::string& text, const CapturePlan& plan = {}) const {
        return trace::run(model, tokenizer, {.text = text}, plan);
    }
    std::shared_ptr<const Trace> run_with(const std::string& text, const std::vector<Intervention>& interventions,
                                          const CapturePlan& plan = {}) const {
        return run_with_hooks(model, tokenizer, {.text = text}, plan, interventions);
    }
};

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

inline const char* kSentence = "The old doctor asked the nurse to wait, because the old doctor was late.";

}  // namespace headlight::trace::testing_support
