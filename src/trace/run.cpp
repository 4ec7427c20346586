// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/tensors.h"
#include "model/forward.h"
#include "trace/forecast_internal.h"
#include "trace/hook_sets.h"
#include "trace/internals.h"
#include "trace/recorder.h"

#include <ATen/core/grad_mode.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

namespace headlight::trace {
namespace {

using model::Hook;

/// 12345 -> "12,345".
std::string with_commas(std::int64_t n) {
    std::string digits = std::to_string(n);
    for (std::int64_t at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

/// Error where the model cannot take the text at all; a warning where it was not made for it.
void check_length(const model::ModelConfig& c, const text::Encoding& encoding, RunInfo& info) {
    if (encoding.size() == 0) {
        throw Error({.problem = "There is nothing to run", .found = "a text without tokens", .hint = "Type some text"});
    }
    if (c.context_length <= 0 || encoding.size() <= c.context_length) return;
    const std::string limit = with_commas(c.context_length), count = with_commas(encoding.size());
    if (c.context_is_hard_limit) {
        throw Error({.problem = "The text is too long for " + (c.name.empty() ? "this model" : c.name),
                     .expected = "at most " + limit + " tokens",
                     .found = count + " tokens",
                     .hint = "Shorten the text, or run it in parts"});
    }
    info.warnings.push_back(count + " tokens on a model made for " + limit +
                            ": it runs, but was never trained on texts this long");
}

std::int64_t element_bytes(model::ComputeType type) {
    switch (type) {
        case model::ComputeType::bfloat16:
            return 2;
        case model::ComputeType::float64:
            return 8;
        case model::ComputeType::float32:
            break;
    }
    return 4;
}

const char* dtype_name(model::ComputeType type) {
    switch (type) {
        case model::ComputeType::bfloat16:
            return "bfloat16";
        case model::ComputeType::float64:
            return "float64";
        case model::ComputeType::float32:
            break;
    }
    return "float32";
}

void check_memory(const model::Model& model, std::int64_t tokens, const std::set<model::HookPoint>& stored,
                  const Hooked& hooked, bool overview) {
    std::set<model::HookPoint> all = stored;
    bool whole_patterns = false;
    for (const auto& [point, functions] : hooked) {
        const bool terms = point.hook == Hook::c2p || point.hook == Hook::p2c;
        if (!terms && point.hook != Hook::pattern && point.hook != Hook::attn_scores) continue;
        whole_patterns = true;
        all.insert(point);  // a replaced one is kept, and what is made of it
        if (terms) all.insert({Hook::attn_scores, point.layer});
    }
    const Forecast expected =
        forecast(model.config(), tokens, all, overview, whole_patterns, element_bytes(model.dtype()));
    if (expected.fits()) return;
    throw Error({.problem = "Not enough memory for this run of " + with_commas(tokens) + " tokens",
                 .found = expected.text(),
                 .hint = "Shorten the text, or keep fewer hooks"});
}

}  // namespace

std::shared_ptr<const Trace> run_with_hooks(std::shared_ptr<const model::Model> model,
                                            std::shared_ptr<const text::Tokenizer> tokenizer, const Prompt& prompt,
                                            const CapturePlan& plan, const std::vector<Intervention>& interventions,
                                            const CancelToken& cancel, const Progress& progress) {
    const auto started = std::chrono::steady_clock::now();
    if (!model || !tokenizer) throw Error("A run needs a model and a tokenizer");
    require_weights(*model);
    if (!prompt.ids.empty() && !(prompt.text.empty() && prompt.pair.empty()))
        throw Error("A prompt is a text or token ids, not both");
    if (prompt.text.empty() && prompt.pair.empty() && prompt.ids.empty()) {
        throw Error({.problem = "There is nothing to run", .found = "an empty text", .hint = "Type some text"});
    }
    cancel.throw_if_cancelled();
    const model::ModelConfig& config = model->config();
    auto internals = std::make_unique<Trace::Internals>();
    std::optional<std::string_view> pair;
    if (!prompt.pair.empty()) pair = prompt.pair;
    internals->encoding = prompt.ids.empty() ? tokenizer->encode(prompt.text, pair, prompt.add_special_tokens)
                                             : tokenizer->encode_ids(prompt.ids, prompt.add_special_tokens);
    check_length(config, internals->encoding, internals->info);

    internals->kept = plan.resolve(config);
    const std::set<model::HookPoint> stored = stored_for(config, internals->kept);
    Hooked hooked = resolve_interventions(config, interventions);
    check_memory(*model, internals->encoding.size(), stored, hooked, plan.overview);
    internals->labels = text::token_labels(*tokenizer, internals->encoding);

    const at::NoGradGuard no_grad;
    Recorder recorder(*model, *tokenizer, internals->encoding, stored, std::move(hooked), plan.overview);
    model::forward(*model, {internals->encoding.ids, internals->encoding.type_ids}, recorder, cancel, progress);
    recorder.finish(*internals);

    internals->info.device = model->device_name();
    internals->info.dtype = dtype_name(model->dtype());
    internals->info.version = version();
    internals->info.threads = at::get_num_threads();
    internals->prompt = prompt;
    internals->model = std::move(model);
    internals->tokenizer = std::move(tokenizer);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
    internals->info.seconds = elapsed.count();
    return std::make_shared<const Trace>(std::move(internals));
}

std::shared_ptr<const Trace> run(std::shared_ptr<const model::Model> model,
                                 std::shared_ptr<const text::Tokenizer> tokenizer, const Prompt& prompt,
                                 const CapturePlan& plan, const CancelToken& cancel, const Progress& progress) {
    return run_with_hooks(std::move(model), std::move(tokenizer), prompt, plan, {}, cancel, progress);
}

}  // namespace headlight::trace
