// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/base/working_for.h"
#include "headlight/model/runtime.h"
#include "headlight/text/notes.h"
#include "headlight/trace/edited.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/shared_rows.h"
#include "headlight/trace/tensors.h"
#include "model/run/again.h"
#include "model/run/forward.h"
#include "model/run/packed.h"
#include "trace/forecast_internal.h"
#include "trace/hook_sets.h"
#include "trace/internals.h"
#include "trace/picture_tokens.h"
#include "trace/precision.h"
#include "trace/recorder.h"
#include "trace/shared_run.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace headlight::trace {
namespace {

using model::Hook;

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

/// A text for models of texts, a picture for models of pictures.
void check_prompt(const model::ModelConfig& c, const Prompt& prompt) {
    const bool text = !(prompt.text.empty() && prompt.pair.empty());
    if (!prompt.ids.empty() && text) throw Error("A prompt is a text or token ids, not both");
    const std::string name = c.name.empty() ? "This model" : c.name;
    if (model::reads_pictures(c)) {
        if (text || !prompt.ids.empty())
            throw Error({.problem = name + " reads pictures", .found = "a text", .hint = "Give a picture in its place"});
        if (!prompt.picture)
            throw Error(
                {.problem = "There is nothing to run", .found = "no picture", .hint = name + " reads pictures: open one"});
        return;
    }
    if (prompt.picture) throw Error({.problem = name + " reads text", .found = "a picture", .hint = "Give a text in its place"});
    if (!text && prompt.ids.empty())
        throw Error({.problem = "There is nothing to run", .found = "an empty text", .hint = "Type some text"});
}

text::Encoding encode(const text::Tokenizer& tokenizer, const Prompt& prompt) {
    std::optional<std::string_view> pair;
    if (!prompt.pair.empty()) pair = prompt.pair;
    return prompt.ids.empty() ? tokenizer.encode(prompt.text, pair, prompt.add_special_tokens)
                              : tokenizer.encode_ids(prompt.ids, prompt.add_special_tokens);
}

/// What an encoder reads: the text, of a classifier with its second sentence.
text::Encoding source_of(const model::ModelConfig& decoder, const text::Tokenizer& tokenizer, const Prompt& prompt) {
    if (decoder.class_head.any() && prompt.ids.empty()) return encode(tokenizer, prompt);
    return tokenizer.encode(prompt.text, std::nullopt, prompt.add_special_tokens);
}

void show_picture(const model::Model& model, const text::Tokenizer& tokenizer, const Prompt& prompt, Trace::Internals& t) {
    const model::PicturePlan plan = model::picture_plan(model.folder(), model.config());
    if (!plan.warning.empty()) t.info.warnings.push_back(plan.warning);
    model::PictureInput input = model::prepare(*prompt.picture, plan, model.config());
    t.picture = {prompt.image, prompt.picture, input.seen};
    t.encoding = picture_encoding(model.config(), tokenizer, std::move(input.pixels));
}

std::set<model::HookPoint> points_of(const Hooked& hooked) {
    std::set<model::HookPoint> points;
    for (const auto& [point, functions] : hooked) points.insert(point);
    return points;
}

/// Makes `wanted` again but for what is stored, which holds the stream before every layer and behind the last.
void add_remaker(Trace::Internals& t, const std::shared_ptr<const model::Model>& model, const model::ForwardInput& input,
                 std::set<model::HookPoint> wanted, const std::set<model::HookPoint>& hooked) {
    const std::int64_t layers = model->config().n_layers;
    std::vector<at::Tensor> streams;
    for (std::int64_t l = 0; l < layers; ++l) streams.push_back(t.stored.at({Hook::resid_pre, Layer(l)}));
    streams.push_back(t.stored.at({Hook::resid_post, Layer(layers - 1)}));
    for (std::int64_t l = 0; l + 1 < layers; ++l)
        if (!hooked.contains({Hook::resid_pre, Layer(l + 1)}))
            t.stored.try_emplace({Hook::resid_post, Layer(l)}, streams[static_cast<std::size_t>(l + 1)]);
    std::erase_if(wanted, [&](const model::HookPoint& point) { return t.stored.contains(point); });
    t.remaker = std::make_shared<const Remaker>(model, input, std::move(streams), std::move(wanted));
}

void check_run_memory(const model::Model& model, std::int64_t tokens, const std::set<model::HookPoint>& stored,
                      const Hooked& hooked, const HeadOverview& overview, std::int64_t source) {
    std::set<model::HookPoint> all = stored;
    bool whole_patterns = false;
    for (const auto& [point, functions] : hooked) {
        const bool terms = model::is_score_term(point.hook);
        if (!terms && point.hook != Hook::pattern && point.hook != Hook::attn_scores && point.hook != Hook::cross_pattern &&
            point.hook != Hook::cross_scores)
            continue;
        whole_patterns = true;
        all.insert(point);  // a replaced one is kept, and what is computed from it
        if (terms) all.insert({Hook::attn_scores, point.layer});
    }
    const auto expect = [&] {
        return forecast(model.config(), tokens, all, overview, whole_patterns, model::element_bytes(model.dtype()), source);
    };
    Forecast expected = expect();
    keep_to_budget(expected.kept + expected.working);
    if (expected.fits()) return;
    keep_to_budget(memory_budget());  // everything that can be made again
    expected = expect();
    if (expected.fits()) return;
    throw Error({.problem = "Not enough memory for this run of " + with_commas(tokens) + " tokens",
                 .found = expected.text(),
                 .hint = "Shorten the text, or keep fewer hooks"});
}

/// One stack and its text.
struct StackRun {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    const Prompt& prompt;
    text::Encoding encoding;
    const CapturePlan& plan;
    const std::vector<Intervention>& interventions;
    const text::Encoding* source = nullptr;  ///< decoder behind an encoder: the text that was encoded …
    at::Tensor states{};                     ///< … and what came of it
    std::int64_t first_counted = 0;
    PatternReader* reader = nullptr;
    const std::vector<std::string>* edits = nullptr;  ///< the interventions in words; nullptr: they have none
    /// Of this stack, without interventions: the same run, or one of a text that begins alike; nullptr: not known.
    const Trace* unedited = nullptr;
};

/// Whose run it was, and on what.
void tell_run(Trace::Internals& t, std::shared_ptr<const model::Model> model, std::shared_ptr<const text::Tokenizer> tokenizer) {
    t.info.device = model->device_name();
    t.info.dtype = enum_word(model->dtype());
    t.info.version = version();
    t.info.threads = at::get_num_threads();
    t.model = std::move(model);
    t.tokenizer = std::move(tokenizer);
}

/// Runs it. `output`: an encoder's; `overview`: where the attention to a source leaves its own.
std::unique_ptr<Trace::Internals> run_stack(StackRun pass, at::Tensor* output, Trace::Internals* overview,
                                            const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& config = pass.model->config();
    const bool part = config.stack != model::Stack::whole;
    auto internals = std::make_unique<Trace::Internals>();
    if (pass.prompt.picture)
        show_picture(*pass.model, *pass.tokenizer, pass.prompt, *internals);
    else
        internals->encoding = std::move(pass.encoding);
    check_length(config, internals->encoding, internals->info);
    if (!pass.prompt.picture) {
        auto notes = text::notes_on(*pass.tokenizer, internals->encoding);
        std::ranges::move(notes, std::back_inserter(internals->info.warnings));
    }
    // Numbers of heads are of distributions, which implied maps are not; their pictures are made when they are asked for.
    const HeadOverview gathered = model::has_implied_maps(config) ? no_overview : pass.plan.overview;
    if (pass.reader) model::require_attention(config, "What reads a run's patterns");
    internals->overview = gathered;

    internals->kept = pass.plan.resolve(config, part);
    const std::set<model::HookPoint> wanted = stored_for(config, internals->kept);
    Hooked hooked = resolve_interventions(config, pass.interventions, part);
    const std::set<model::HookPoint> hooked_points = points_of(hooked);
    const std::int64_t source_tokens = pass.source ? pass.source->size() : 0;
    const Keeping keeping = keeping_of(config, internals->encoding.size(), pass.plan, wanted, hooked_points,
                                       model::element_bytes(pass.model->dtype()), source_tokens);
    check_run_memory(*pass.model, internals->encoding.size(), keeping.kept, hooked, gathered, source_tokens);
    internals->labels = text::token_labels(*pass.tokenizer, internals->encoding);

    const at::NoGradGuard no_grad;
    auto shared = pass.unedited && !pass.reader
                      ? shared_layers(*pass.unedited, *pass.model, internals->encoding, keeping, hooked_points, gathered)
                      : std::nullopt;
    Recorder recorder(*pass.model, *pass.tokenizer, internals->encoding, shared ? shared->own : keeping.kept, std::move(hooked),
                      gathered, pass.source, pass.first_counted, pass.reader);
    const model::ForwardInput input{internals->encoding.ids, internals->encoding.type_ids, pass.states,
                                    internals->encoding.pixels};
    if (pass.unedited && !shared && !pass.reader && !output)
        internals->shared_rows = shared_rows(*pass.unedited, *pass.model, internals->encoding, keeping, hooked_points);
    if (internals->shared_rows > 0) {
        const WorkingFor working(cancel);
        RowJoiner joiner(*pass.unedited, internals->shared_rows, recorder);
        model::forward_last_rows(*pass.model, input, joiner.earlier(), joiner, cancel, progress);
    } else if (shared) {
        const at::Tensor end = model::forward_from(*pass.model, input, Layer(shared->layers), shared->stream, recorder,
                                                   output != nullptr, cancel, progress);
        if (output) *output = end;
    } else if (output) {
        *output = model::encode(*pass.model, input, recorder, cancel, progress);
    } else {
        model::forward(*pass.model, input, recorder, cancel, progress);
    }
    recorder.finish(*internals);
    if (overview) {
        overview->overview = internals->overview;
        recorder.finish_cross(*overview);
    }
    if (model::has_bfloat16_products(pass.model->dtype()) && config.stack != model::Stack::encoder)
        internals->info.warnings.push_back(products_error(*pass.model, input, cancel)->text());
    if (const std::string& why = pass.model->report().why_cpu; !why.empty()) internals->info.warnings.push_back(why);
    if (shared) {
        share(*shared, *pass.unedited, *internals);
        if (overview && pass.unedited->part(model::Stack::cross))
            share_overview(*shared, *pass.unedited->part(model::Stack::cross), *overview);
    }
    if (keeping.remade)
        add_remaker(*internals, pass.model, input, wanted, hooked_points);
    else if (shared && !shared->later.empty())
        add_remaker(*internals, pass.model, input, std::move(shared->later), hooked_points);

    tell_run(*internals, std::move(pass.model), std::move(pass.tokenizer));
    internals->prompt = pass.prompt;
    if (pass.edits) internals->edits = *pass.edits;
    return internals;
}

/// A glob is of the encoder, of the decoder, or of both; of none is an Error.
void check_globs(const std::vector<std::string>& globs, const model::ModelConfig& decoder, const model::ModelConfig& encoder) {
    for (const std::string& glob : globs) {
        const CapturePlan one{.globs = {glob}};
        if (one.resolve(encoder, true).empty()) one.resolve(decoder);
    }
}

/// The decoder's attention to the source as a separate trace, from what the decoder's kept.
void fill_cross(Trace::Internals& cross, const Trace::Internals& decoder, const Trace& encoder,
                std::shared_ptr<const model::Model> model) {
    for (const model::HookPoint& own : model::hooks_of(model->config())) {
        const model::HookPoint there{*model::in_decoder(own.hook), own.layer};
        if (const auto found = decoder.stored.find(there); found != decoder.stored.end()) cross.stored[own] = found->second;
        if (std::ranges::find(decoder.kept, there) != decoder.kept.end()) cross.kept.push_back(own);
    }
    for (const PooledPattern& p : cross.pooled)
        cross.bytes += static_cast<std::int64_t>((p.max.size() + p.mean.size()) * sizeof(float));
    cross.remaker = decoder.remaker;
    cross.through_decoder = true;
    cross.model = std::move(model);
    cross.tokenizer = decoder.tokenizer;
    cross.prompt = decoder.prompt;
    cross.encoding = decoder.encoding;
    cross.labels = decoder.labels;
    cross.info = decoder.info;
    cross.edits = decoder.edits;
    cross.source = encoder.encoding();
    cross.source_labels = encoder.labels();
}

std::unique_ptr<Trace::Internals> run_encoder_decoder(StackRun pass, const CancelToken& cancel, const Progress& progress) {
    if (!pass.prompt.ids.empty())
        throw Error({.problem = "Token ids alone are no input of an encoder-decoder model",
                     .expected = "a source and a target",
                     .hint = "This needs a model of one stack"});
    const std::shared_ptr<const model::Model> encoder = pass.model->part(model::Stack::encoder);
    check_globs(pass.plan.globs, pass.model->config(), encoder->config());
    for (const Intervention& each : pass.interventions) check_globs({each.glob}, pass.model->config(), encoder->config());

    StackRun first = pass;
    first.model = encoder;
    if (pass.unedited) first.unedited = pass.unedited->part(model::Stack::encoder).get();
    first.encoding = source_of(pass.model->config(), *pass.tokenizer, pass.prompt);
    // By its tokens: that of a classifier has both sentences.
    const bool other_source = !first.unedited || first.unedited->encoding().ids != first.encoding.ids ||
                              !resolve_interventions(encoder->config(), pass.interventions, true).empty();
    if (other_source) pass.unedited = nullptr;
    const std::shared_ptr<const Trace> encoded =
        std::make_shared<const Trace>(run_stack(first, &pass.states, nullptr, cancel, progress));

    auto cross = std::make_unique<Trace::Internals>();
    pass.source = &encoded->encoding();
    pass.encoding = target_encoding(pass.model->config(), *pass.tokenizer, pass.prompt.pair, encoded->encoding());
    const std::shared_ptr<const model::Model> cross_model = pass.model->part(model::Stack::cross);
    auto decoder = run_stack(std::move(pass), nullptr, cross.get(), cancel, progress);
    if (decoder->prompt.pair.empty() && !decoder->model->config().class_head.any())
        decoder->info.warnings.push_back("no target: the decoder reads only its start tokens (" + decoder->labels.front().text +
                                         "), and predicts the first token");
    for (const std::string& warning : encoded->info().warnings) decoder->info.warnings.push_back("source: " + warning);
    fill_cross(*cross, *decoder, *encoded, cross_model);
    decoder->bytes += encoded->bytes() + cross->bytes;
    decoder->encoder = encoded;
    decoder->cross = std::make_shared<const Trace>(std::move(cross));
    return decoder;
}

}  // namespace

text::Encoding target_encoding(const model::ModelConfig& decoder, const text::Tokenizer& tokenizer, const std::string& target,
                               const text::Encoding& source) {
    const bool wraps = decoder.class_head.wraps && source.size() > 0;
    text::Encoding encoding = tokenizer.encode_ids(wraps ? std::vector{source.ids.back()} : decoder.start_ids, false);
    encoding.special.assign(encoding.ids.size(), true);
    encoding.words.assign(encoding.ids.size(), -1);
    encoding.sequence.assign(encoding.ids.size(), -1);
    if (decoder.class_head.any()) {
        if (source.size() == 0) return encoding;
        text::Encoding shifted = source;
        const auto drop_last = [](auto&... of_each_token) { (of_each_token.pop_back(), ...); };
        drop_last(shifted.ids, shifted.tokens, shifted.offsets, shifted.type_ids, shifted.special, shifted.words,
                  shifted.sequence);
        encoding.append(shifted);
        return encoding;
    }
    if (target.empty()) return encoding;
    // A second text: tokenizers of two models (Marian) cut it by the target's.
    text::Encoding written = tokenizer.encode("", target, false);
    std::ranges::replace(written.sequence, 1, 0);
    std::ranges::fill(written.type_ids, 0);
    encoding.append(written);
    return encoding;
}

const std::vector<std::string>& edits_of(const Trace& trace) { return trace.internals().edits; }

void require_unedited(const Trace& trace, const std::string& what) {
    if (edits_of(trace).empty()) return;
    throw Error({.problem = what + " runs the model by itself, without the edits of this run",
                 .expected = "an unedited run",
                 .found = edits_of(trace).front(),
                 .hint = "Switch the edits off"});
}

Encodings encodings_of(const model::Model& model, const text::Tokenizer& tokenizer, const Prompt& prompt) {
    const model::ModelConfig& c = model.config();
    check_prompt(c, prompt);
    if (model::reads_pictures(c)) return {picture_encoding(c, tokenizer, {}), {}};
    if (!model.part(model::Stack::encoder)) return {encode(tokenizer, prompt), {}};
    text::Encoding source = source_of(c, tokenizer, prompt);
    text::Encoding target = target_encoding(c, tokenizer, prompt.pair, source);
    return {std::move(target), std::move(source)};
}

std::shared_ptr<const Trace> run_with_hooks(std::shared_ptr<const model::Model> model,
                                            std::shared_ptr<const text::Tokenizer> tokenizer, const Prompt& prompt,
                                            const CapturePlan& plan, const std::vector<Intervention>& interventions,
                                            const CancelToken& cancel, const Progress& progress) {
    return run_edited(std::move(model), std::move(tokenizer), prompt, plan, interventions, {}, cancel, progress);
}

std::shared_ptr<const Trace> run_edited(std::shared_ptr<const model::Model> model,
                                        std::shared_ptr<const text::Tokenizer> tokenizer, const Prompt& prompt,
                                        const CapturePlan& plan, const std::vector<Intervention>& interventions,
                                        const EditsTold& told, const CancelToken& cancel, const Progress& progress,
                                        const std::shared_ptr<const Trace>& unedited) {
    const model::KeepMemory keep;
    const auto started = std::chrono::steady_clock::now();
    if (!model || !tokenizer) throw Error("A run needs a model and a tokenizer");
    require_weights(*model);
    check_prompt(model->config(), prompt);
    const bool encodes = model->part(model::Stack::encoder) != nullptr;
    if (encodes && prompt.text.empty() && prompt.ids.empty())
        throw Error({.problem = "There is nothing to run", .found = "an empty text", .hint = "Type a source"});
    cancel.throw_if_cancelled();
    StackRun pass{.model = std::move(model),
                  .tokenizer = std::move(tokenizer),
                  .prompt = prompt,
                  .encoding = {},
                  .plan = plan,
                  .interventions = interventions,
                  .edits = &told.words,
                  .unedited = unedited.get()};
    std::unique_ptr<Trace::Internals> internals;
    if (encodes) {
        internals = run_encoder_decoder(std::move(pass), cancel, progress);
    } else {
        if (!prompt.picture) pass.encoding = encode(*pass.tokenizer, prompt);
        internals = run_stack(std::move(pass), nullptr, nullptr, cancel, progress);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
    internals->info.seconds = elapsed.count();
    if (told.notes)
        for (std::string& note : told.notes()) internals->info.warnings.push_back(std::move(note));
    return own_parts(std::make_shared<const Trace>(std::move(internals)));
}

namespace {

void check_one_stack(const model::Model& model) {
    require_weights(model);
    if (model::reads_pictures(model.config()) || model.part(model::Stack::encoder))
        throw Error({.problem = "Encoded texts are for models of one stack that read text", .found = model.config().name});
}

}  // namespace

std::shared_ptr<const Trace> run_encoded(std::shared_ptr<const model::Model> model,
                                         std::shared_ptr<const text::Tokenizer> tokenizer, EncodedText text,
                                         const CapturePlan& plan, const CancelToken& cancel, PatternReader* reader) {
    const model::KeepMemory keep;
    const auto started = std::chrono::steady_clock::now();
    check_one_stack(*model);
    const Prompt prompt{.text = std::move(text.text)};
    const std::vector<Intervention> none;
    StackRun pass{.model = std::move(model),
                  .tokenizer = std::move(tokenizer),
                  .prompt = prompt,
                  .encoding = std::move(text.encoding),
                  .plan = plan,
                  .interventions = none,
                  .first_counted = text.first_counted,
                  .reader = reader};
    auto internals = run_stack(std::move(pass), nullptr, nullptr, cancel, {});
    internals->info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return own_parts(std::make_shared<const Trace>(std::move(internals)));
}

std::vector<std::shared_ptr<const Trace>> run_packed(const std::shared_ptr<const model::Model>& model,
                                                     const std::shared_ptr<const text::Tokenizer>& tokenizer,
                                                     std::vector<PackedText> texts, const CapturePlan& plan,
                                                     const CancelToken& cancel, const Progress& progress) {
    const model::KeepMemory keep;
    const at::NoGradGuard no_grad;
    const auto started = std::chrono::steady_clock::now();
    check_one_stack(*model);
    const model::ModelConfig& config = model->config();
    model::require_attention(config, "A run over many texts");
    const std::vector<model::HookPoint> kept = plan.resolve(config);
    const std::set<model::HookPoint> stored = stored_for(config, kept);
    std::int64_t tokens = 0;
    for (const PackedText& text : texts) tokens += text.text.encoding.size();
    check_run_memory(*model, tokens, stored, {}, plan.overview, 0);

    struct Recorded {
        std::unique_ptr<Trace::Internals> internals;
        model::ForwardInput input;
        std::unique_ptr<Recorder> recorder;
    };
    std::vector<Recorded> all(texts.size());
    at::parallel_for(0, std::ssize(texts), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
            auto internals = std::make_unique<Trace::Internals>();
            internals->prompt.text = std::move(texts[i].text.text);
            internals->encoding = std::move(texts[i].text.encoding);
            check_length(config, internals->encoding, internals->info);
            internals->kept = kept;
            internals->overview = plan.overview;
            internals->labels = text::token_labels(*tokenizer, internals->encoding);
            auto recorder = std::make_unique<Recorder>(*model, *tokenizer, internals->encoding, stored, Hooked(), plan.overview,
                                                       nullptr, texts[i].text.first_counted, texts[i].reader);
            const text::Encoding& encoding = internals->encoding;
            all[i] = {std::move(internals), {.ids = encoding.ids, .type_ids = encoding.type_ids}, std::move(recorder)};
        }
    });
    std::vector<model::PackedText> packed;
    for (const Recorded& each : all) packed.push_back({each.input, *each.recorder});
    model::forward_packed(*model, packed, cancel, progress);

    std::vector<std::shared_ptr<const Trace>> traces;
    for (Recorded& each : all) {
        each.recorder->finish(*each.internals, false);
        tell_run(*each.internals, model, tokenizer);
        each.internals->info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        traces.push_back(own_parts(std::make_shared<const Trace>(std::move(each.internals))));
    }
    return traces;
}

std::shared_ptr<const Trace> run_after(const std::shared_ptr<const Trace>& earlier, std::shared_ptr<const model::Model> model,
                                       std::shared_ptr<const text::Tokenizer> tokenizer, const Prompt& prompt,
                                       const CapturePlan& plan, const CancelToken& cancel, const Progress& progress) {
    return run_edited(std::move(model), std::move(tokenizer), prompt, plan, {}, {}, cancel, progress, earlier);
}

std::shared_ptr<const Trace> run(std::shared_ptr<const model::Model> model, std::shared_ptr<const text::Tokenizer> tokenizer,
                                 const Prompt& prompt, const CapturePlan& plan, const CancelToken& cancel,
                                 const Progress& progress) {
    return run_with_hooks(std::move(model), std::move(tokenizer), prompt, plan, {}, cancel, progress);
}

}  // namespace headlight::trace
