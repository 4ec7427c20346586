// SPDX-License-Identifier: GPL-3.0-or-later
// What every `headlight analyze` command shares: the model, the text, --out and how to compute. A command is a struct
// derived from Analysis with its own options and a run() (docs/adding-an-analysis.md).
#pragma once

#include "cli/fields.h"
#include "cli/open_or_run.h"
#include "cli/result_file.h"
#include "cli/token_option.h"
#include "headlight/model/classes.h"
#include "headlight/model/runtime.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headlight::cli {

/// What an analysis takes beside MODEL and --out.
enum Input : unsigned {
    kConfig = 0,     ///< the configuration alone: no weights are loaded
    kWeights = 1,    ///< --dtype, --device, --threads
    kText = 2,       ///< --text, --text-file, --pair
    kImage = 4,      ///< --image
    kAttention = 8,  ///< --attention
    kAnyMixer = 32,  ///< also models with layers that have no softmax attention
    kUnedited = 16,  ///< no --edit and --recipe: it runs the model by itself, or several texts
    kRun = kWeights | kText,
};

struct Analysis {
    const CLI::App* cli_app = nullptr;  ///< which options were given
    bool any_mixer = false;             ///< kAnyMixer
    ModelArgument model;
    TextArguments text;
    AttentionArgument attention;
    ComputeOptions compute;
    ResultFile file;

    /// Loads the model and runs the text.
    struct Run {
        Loaded loaded;
        std::shared_ptr<const trace::Trace> whole, trace;  ///< the run, and the part of it that --attention names
    };
    Run run_text(const Console& console, const trace::CapturePlan& plan = hooks_alone()) const {
        Run run{.loaded = load(console), .whole = {}, .trace = {}};
        run.whole = run_loaded(run.loaded, plan, console);
        run.trace = attention.of(run.whole);
        return run;
    }
    Loaded load(const Console& console) const { return checked(load_for_run(model, text, compute, console)); }
    Loaded load_weights(const Console& console) const { return checked(load_model(model, compute, console)); }
    /// Error where the model has layers without attention and the analysis needs it in all.
    template <class Of>
    Of checked(Of loaded) const {
        if (!any_mixer) model::require_attention(loaded.model->config(), cli_app->get_name());
        return loaded;
    }
    /// Without the tokenizer, which a folder of weights may lack.
    struct Weights {
        std::filesystem::path folder;
        CancelToken cancel;
        std::shared_ptr<const model::Model> model;
    };
    Weights load_model_alone(const Console& console) const {
        Weights weights{.folder = model.folder(), .cancel = {}, .model = {}};
        model::start_runtime(compute.threads);
        weights.cancel = interruptible();
        weights.model = load_model(weights.folder, compute, weights.cancel, console);
        return checked(std::move(weights));
    }
    bool writes_arrays() const { return file.path.ends_with(".npz"); }
    /// The result of a run, which says so if --attention chose a part of it.
    Result result(const trace::Trace& trace, analyze::Table table) const {
        Result found{.table = std::move(table), .facts = facts_of(trace)};
        if (attention.given()) found.fact("attention", attention.word);
        return found;
    }
};

/// The options of `Command` in the order of --help, and its run().
template <class Command>
Action define_analysis(Definition& definition, unsigned inputs, std::vector<std::string> formats = {".csv", ".json", ".npz"}) {
    auto command = std::make_shared<Command>();
    command->cli_app = definition.app.get();
    command->any_mixer = (inputs & kAnyMixer) != 0;
    command->model.add(definition);
    if (inputs & kText) command->text.add(definition);
    if (inputs & kImage) {
        command->text.add_image(definition);
        command->text.add_ids(definition);
    }
    if ((inputs & kText) && !(inputs & kUnedited)) command->text.add_edits(definition);
    if (inputs & kAttention) command->attention.add(definition);
    command->add(definition);
    command->file.add(definition, std::move(formats));
    if (inputs & kWeights) command->compute.add(definition);
    return [command, console = definition.console] {
        command->file.check();
        const Result result = command->run(*console);
        console->clear_progress();
        command->file.write(result, *console);
        return 0;
    };
}

/// Notes how the tokens of a described request were understood; errors: one that does not exist. "next" is each text's own.
template <class Request>
void note_tokens(const Request& request, const Loaded& loaded, const Console& console) {
    describe(request, [&](const Field& field, const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
            if (field.names_token() && !value.empty() && !(field.kind == FieldKind::target && value == "next"))
                typed_output(loaded.model->config(), *loaded.tokenizer, value, field.option(), console);
    });
}

/// An option that names a token: an id, or text that is one token; of a classifier a class.
struct TokenArgument {
    std::string name;  ///< "--token"
    std::string typed{};
    CLI::Option* option = nullptr;

    CLI::Option* add(Definition& definition, const std::string& help) {
        option =
            definition.app->add_option(name, typed, help + ": an id, text that is one token, or a class")->type_name("ID|TEXT");
        return option;
    }
    bool given() const { return option->count() > 0; }
    /// A note says how the text was understood.
    std::optional<std::int64_t> id(const Loaded& loaded, const Console& console) const {
        if (!given()) return std::nullopt;
        return typed_output(loaded.model->config(), *loaded.tokenizer, typed, name, console);
    }
};

/// A position that was given, or where a classifier's head reads its classes, or the last one. Error: given, and the head reads
/// another one.
inline Position position_of(const CLI::Option* option, std::int64_t given, const model::ModelConfig& config,
                            const std::vector<std::int64_t>& ids) {
    if (option->count() > 0) {
        model::require_class_position(config, ids, given, option->get_name());
        return Position(given);
    }
    return Position(model::class_position(config, ids).value_or(std::ssize(ids) - 1));
}

inline std::optional<Layer> layer_of(std::int64_t i) { return i < 0 ? std::nullopt : std::optional(Layer(i)); }
inline std::optional<Head> head_of(std::int64_t i) { return i < 0 ? std::nullopt : std::optional(Head(i)); }

}  // namespace headlight::cli
