// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/generate.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/python_json.h"
#include "headlight/model/classes.h"
#include "model/internals.h"
#include "model/run/kv_cache.h"
#include "model/run/sampler.h"
#include "model/run/watch.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace headlight::model {
namespace {

/// Keeps only the logits of a pass, and shows `watch` what it wants.
class Logits : public Observer {
public:
    explicit Logits(Observer* watch) : watch_(watch) {}
    bool wants(HookPoint point) const override { return point.hook == Hook::logits || (watch_ && watch_->wants(point)); }
    at::Tensor visit(HookPoint point, at::Tensor t) override {
        if (watch_ && watch_->wants(point)) t = watch_->visit(point, t);
        if (point.hook != Hook::logits) return t;
        const at::Tensor row = t.select(0, t.size(0) - 1).to(at::kCPU, at::kDouble).contiguous();
        row_.assign(row.data_ptr<double>(), row.data_ptr<double>() + row.numel());
        return t;
    }
    const std::vector<double>& row() const { return row_; }

private:
    Observer* watch_;
    std::vector<double> row_;
};

void check(const Model& model, const std::vector<std::int64_t>& prompt, const GenerateOptions& o) {
    const ModelConfig& c = model.config();
    const auto refuse = [&](const char* problem, std::string expected, std::string found) {
        throw Error(ErrorFacts{
            .problem = problem, .file = model.folder().string(), .expected = std::move(expected), .found = std::move(found)});
    };
    if (const auto why = why_no_continuation(model)) throw Error(*why);
    if (o.source.empty() == has_cross_attention(c))
        refuse(has_cross_attention(c) ? "This model's decoder needs a source" : "This model does not read a source",
               has_cross_attention(c) ? "the tokens of a source" : "none", o.source.empty() ? "none" : "a source");
    if (prompt.empty()) refuse("There is no token to continue", "at least one token", "none");
    if (o.tokens < 1) refuse("No new tokens requested", "at least 1", std::to_string(o.tokens));
    if (!(o.temperature >= 0) || !std::isfinite(o.temperature))
        refuse("Wrong temperature", "0 or more", std::to_string(o.temperature));
    if (o.top_k < 0) refuse("Wrong top-k", "0 or more", std::to_string(o.top_k));
    if (!(o.top_p > 0 && o.top_p <= 1)) refuse("Wrong top-p", "more than 0, at most 1", std::to_string(o.top_p));
    const auto wanted = static_cast<std::int64_t>(prompt.size()) + o.tokens - 1;
    if (c.positions == Positions::learned && wanted > c.context_length)
        refuse("Prompt and new tokens are too many for this model", "at most " + std::to_string(c.context_length) + " tokens",
               std::to_string(wanted));
}

double probability(const std::vector<double>& logits, std::int64_t id) {
    const double top = *std::ranges::max_element(logits);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - top);
    return std::exp(logits[static_cast<std::size_t>(id)] - top) / sum;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void add_ids(const nlohmann::json& config, std::vector<std::int64_t>& ids) {
    const auto field = config.is_object() ? config.find("eos_token_id") : config.end();
    if (field == config.end()) return;
    if (field->is_number_unsigned()) ids.push_back(field->get<std::int64_t>());
    if (!field->is_array()) return;
    for (const nlohmann::json& id : *field)
        if (id.is_number_unsigned()) ids.push_back(id.get<std::int64_t>());
}

}  // namespace

std::optional<ErrorFacts> why_no_continuation(const Model& model) {
    const ModelConfig& c = model.config();
    if (c.class_head.any())
        return ErrorFacts{.problem = "This model classifies texts and does not continue them",
                          .file = model.folder().string(),
                          .expected = "a language model",
                          .found = head_text(c)};
    if (!c.causal)
        return ErrorFacts{.problem = "This model cannot continue texts",
                          .file = model.folder().string(),
                          .expected = "a causal model",
                          .found = c.family + ", which is bidirectional"};
    if (!c.has_unembedding)
        return ErrorFacts{.problem = "This model has no logits",
                          .file = model.folder().string(),
                          .expected = "a model with an unembedding",
                          .found = c.architecture,
                          .hint = c.other_head.empty() ? "" : why_no_logits(c)};
    return std::nullopt;
}

Generated generate(const Model& model, const std::vector<std::int64_t>& prompt, const GenerateOptions& options,
                   const std::function<void(std::int64_t)>& on_token, const CancelToken& cancel, const Progress& progress) {
    return generate_watched(model, prompt, options, on_token, cancel, progress, {});
}

Generated generate_watched(const Model& model, const std::vector<std::int64_t>& prompt, const GenerateOptions& options,
                           const std::function<void(std::int64_t)>& on_token, const CancelToken& cancel, const Progress& progress,
                           const GenerateWatch& watch) {
    check(model, prompt, options);
    const at::NoGradGuard no_gradient;
    KvCache cache(model.config().n_layers);
    Logits logits(watch.decoder), of_encoder(watch.encoder);
    Sampler sampler(options);
    Generated out;
    auto start = std::chrono::steady_clock::now();
    ForwardInput input{.ids = prompt, .type_ids = {}};
    if (!options.source.empty()) input.source = encode(*model.part(Stack::encoder), {options.source, {}}, of_encoder, cancel, {});
    for (std::int64_t i = 0; i < options.tokens; ++i) {
        if (progress) progress({"Writing", "token", i, options.tokens});
        if (watch.begin_pass) {
            const bool anew = cache.tokens() == 0 || !rotation_stays(model.config(), cache.tokens(), cache.tokens() + 1);
            const std::int64_t rows = static_cast<std::int64_t>(input.ids.size()) + (anew ? cache.tokens() : 0);
            watch.begin_pass(anew ? 0 : cache.tokens(), rows);
        }
        forward_cached(model, input, cache, logits, cancel);
        const std::int64_t id = sampler.draw(logits.row());
        if (i == 0) {
            out.prompt_seconds = seconds_since(start);
            start = std::chrono::steady_clock::now();
        }
        out.ids.push_back(id);
        out.probabilities.push_back(probability(logits.row(), id));
        if (on_token) on_token(id);
        out.ended = !options.ignore_end && std::ranges::find(options.end, id) != options.end.end();
        if (out.ended) break;
        input.ids = {id};
    }
    out.seconds = seconds_since(start);
    return out;
}

std::vector<std::int64_t> end_tokens(const std::filesystem::path& model) {
    std::vector<std::int64_t> ids;
    if (const auto gguf = io::gguf_file_of(model)) {
        const auto file = io::GgufFile::open(*gguf);
        for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
            if (const auto id = file->metadata().find(key); id != file->metadata().end() && id->is_number_unsigned())
                ids.push_back(id->get<std::int64_t>());
        return ids;
    }
    for (const char* name : {"generation_config.json", "config.json"}) {
        std::error_code none;
        if (!std::filesystem::exists(model / name, none)) continue;
        add_ids(io::read_python_json(model / name), ids);
        if (!ids.empty()) break;  // the first file that says anything counts, as in transformers
    }
    return ids;
}

}  // namespace headlight::model
