// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/run_text.h"

#include "cli/offscreen.h"
#include "cli/run_need.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/io/gguf.h"
#include "headlight/model/peek.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/edits.h"

#include <algorithm>
#include <optional>

namespace headlight::cli {

std::int64_t Loaded::tokens() const {
    if (prompt.picture) return model->config().context_length;
    if (!prompt.ids.empty()) return static_cast<std::int64_t>(prompt.ids.size());
    std::optional<std::string_view> pair;
    if (!prompt.pair.empty()) pair = prompt.pair;
    return tokenizer->encode(prompt.text, pair, prompt.add_special_tokens).size();
}

std::vector<StackTokens> stacks_of(const Loaded& loaded) {
    const model::Model& model = *loaded.model;
    std::vector<StackTokens> stacks;
    if (const auto& encoder = model.part(model::Stack::encoder)) {
        const trace::Encodings read = trace::encodings_of(model, *loaded.tokenizer, loaded.prompt);
        stacks = {{encoder.get(), read.source.size(), 0}, {&model, read.own.size(), read.source.size()}};
    } else {
        stacks = {{&model, loaded.tokens(), 0}};
    }
    for (const StackTokens& stack : stacks) {
        const model::ModelConfig& c = stack.model->config();
        if (c.context_is_hard_limit && c.context_length > 0 && stack.tokens > c.context_length) return {};
    }
    return stacks;
}

namespace {

/// Weights that are converted because the budget has room for them must find that room.
void bound_budget(const Console& console) {
    const std::int64_t free = available_memory();
    if (!memory_budget_given() || memory_budget() <= free) return;
    console.note("--memory is " + rounded_bytes(static_cast<double>(memory_budget())) + ", and only " +
                 rounded_bytes(static_cast<double>(free)) + " are free: they are the budget");
    set_memory_budget(std::max<std::int64_t>(1, free - free / 16));
}

/// A run that needs more than --memory allows says so, with the number, before it begins.
void note_need(const Loaded& loaded, const trace::CapturePlan& plan, const Console& console) {
    if (!memory_budget_given()) return;
    std::int64_t need = memory_in_use(MemoryUse::weights), working = 0;
    for (const StackTokens& stack : stacks_of(loaded)) {
        const trace::Forecast run =
            trace::forecast(stack.model->config(), stack.tokens, plan, model::element_bytes(loaded.model->dtype()), stack.source);
        need += run.kept;
        working = std::max(working, run.working);
    }
    need += working;
    if (need <= memory_budget()) return;
    console.note("this run needs about " + rounded_bytes(static_cast<double>(need)) + ", more than --memory allows (" +
                 rounded_bytes(static_cast<double>(memory_budget())) + ")");
}

/// The quick part: reports at once that the folder is wrong.
Loaded load_tokenizer(const std::filesystem::path& folder) {
    Loaded loaded;
    loaded.cancel = interruptible();
    loaded.tokenizer = trace::load_tokenizer(folder);
    return loaded;
}

/// The folder's own tokenizer; where it has none, its ids are their own names.
std::shared_ptr<const text::Tokenizer> tokenizer_of_ids(const std::filesystem::path& folder, const std::vector<std::int64_t>& ids,
                                                        const Console& console) {
    try {
        return trace::load_tokenizer(folder);
    } catch (const Error& error) {
        console.note("without a tokenizer tokens are shown as their ids (" + error.facts().problem + ")");
    }
    const model::ModelConfig config = model::read_config(folder);
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] >= config.vocab_size)
            throw Error({.problem = "This model has no such token",
                         .item = "--ids, number " + std::to_string(i + 1),
                         .expected = "0 to " + std::to_string(config.vocab_size - 1),
                         .found = std::to_string(ids[i])});
    std::string vocab;
    for (std::int64_t id = 0; id < config.vocab_size; ++id)
        vocab += (id > 0 ? ",\"" : "\"") + std::to_string(id) + "\":" + std::to_string(id);
    return text::Tokenizer::from_json_text(R"({"model":{"type":"WordLevel","unk_token":"0","vocab":{)" + vocab + "}}}",
                                           folder / "no tokenizer");
}

/// A picture for a model of texts, or the other way round.
void check_kind(const std::filesystem::path& folder, const TextArguments& text) {
    if (!text.has_image() && io::gguf_file_of(folder)) return;  // none of them reads pictures
    const model::ModelConfig config = model::read_config(folder);
    const bool pictures = model::reads_pictures(config), towers = config.family.starts_with("clip");
    if (pictures == text.has_image()) return;
    if (!pictures)
        throw Error({.problem = config.name + " reads text",
                     .file = text.image,
                     .item = "--image",
                     .hint = towers ? "--tower vision opens the half of the model that reads pictures"
                                    : "Give --text, or a model that reads pictures"});
    const std::string other = towers ? ", or leave --tower vision out" : ", or a model that reads text";
    throw Error(
        {.problem = config.name + " reads pictures",
         .file = text.text_file,
         .item = text.file_option->count() > 0 ? "--text-file" : "--text",
         .hint = text.image_option ? "Give --image FILE" + other : "This command is about texts" + (towers ? other : "")});
}

}  // namespace

std::shared_ptr<const model::Model> load_model(const std::filesystem::path& folder, const ComputeOptions& compute,
                                               const CancelToken& cancel, const Console& console) {
    bound_budget(console);
    model::start_runtime(compute.threads);
    auto model = model::Model::load(folder, compute.load(), cancel, console.progress());
    console.clear_progress();
    return model;
}

Loaded load_model(const ModelArgument& model_argument, const ComputeOptions& compute, const Console& console) {
    const std::filesystem::path folder = model_argument.folder();
    Loaded loaded = load_tokenizer(folder);
    loaded.model = load_model(folder, compute, loaded.cancel, console);
    return loaded;
}

Loaded load_for_run(const ModelArgument& model_argument, const TextArguments& text, const ComputeOptions& compute,
                    const Console& console) {
    text.require();
    trace::Prompt prompt = text.has_image() ? picture_prompt(text.image)
                           : text.has_ids() ? trace::Prompt{.add_special_tokens = false, .ids = text.ids()}
                                            : trace::Prompt{.text = text.text(), .pair = text.pair()};
    const std::filesystem::path folder = model_argument.folder();
    check_kind(folder, text);
    const intervention::Recipe recipe = text.recipe();
    Loaded loaded;
    if (text.has_ids()) {
        loaded.cancel = interruptible();
        loaded.tokenizer = tokenizer_of_ids(folder, prompt.ids, console);
    } else {
        loaded = load_tokenizer(folder);
    }
    loaded.recipe = recipe;
    if (!text.has_image() && !text.has_ids()) prompt.text = text.as_model_text(prompt.text, *loaded.tokenizer);
    loaded.prompt = prompt;
    if (!text.has_image() && !text.has_ids()) loaded.tokens();  // reports an unreadable text before the weights are loaded
    loaded.model = load_model(folder, compute, loaded.cancel, console);
    if (text.has_ids() && loaded.model->part(model::Stack::encoder))
        throw Error({.problem = "Ids are run by models of one stack", .item = "--ids", .hint = "Give --text and --pair"});
    return loaded;
}

trace::Prompt picture_prompt(const std::string& file) {
    const Offscreen offscreen;
    return {.image = file, .picture = figure::read_picture(file)};
}

std::unique_ptr<intervention::Sources> sources_of(const Loaded& loaded) {
    auto sources = std::make_unique<intervention::Sources>(loaded.model, loaded.tokenizer, loaded.prompt);
    sources->set_picture_reader(picture_prompt);
    return sources;
}

std::shared_ptr<const trace::Trace> run_loaded(const Loaded& loaded, const trace::CapturePlan& plan, const Console& console) {
    note_need(loaded, plan, console);
    const auto trace = loaded.recipe.any()
                           ? intervention::run_recipe(*sources_of(loaded), loaded.recipe, plan, loaded.cancel, console.progress())
                           : trace::run(loaded.model, loaded.tokenizer, loaded.prompt, plan, loaded.cancel, console.progress());
    console.clear_progress();
    for (const std::string& warning : trace->info().warnings) console.note(warning);
    return trace;
}

}  // namespace headlight::cli
