// SPDX-License-Identifier: GPL-3.0-or-later
// `headlight analyze importance` and `headlight analyze attention-gradient`.
#include "headlight/analyze/circuit/importance.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/base/error.h"
#include "headlight/trace/edits.h"

namespace headlight::cli {
namespace {

/// The text whose predictions are explained: of an encoder-decoder model the target with what stands before it.
text::Encoding encoding_of(const Loaded& loaded) {
    return trace::encodings_of(*loaded.model, *loaded.tokenizer, loaded.prompt).own;
}

/// What an encoder in front of a decoder reads.
std::optional<text::Encoding> source_of(const Loaded& loaded) {
    if (!loaded.model->part(model::Stack::encoder)) return std::nullopt;
    return trace::encodings_of(*loaded.model, *loaded.tokenizer, loaded.prompt).source;
}

struct ImportanceCommand : Analysis {
    std::int64_t position = 0;
    std::string target, rows = "tokens", input = "auto", neutral;
    bool no_blank_out = false;
    CLI::Option* where = nullptr;
    analyze::ImportanceOptions options;

    void add(Definition& definition) {
        where = add_value(definition, kPosition, position,
                          "the token whose prediction is explained, from 0; classifiers: the one that their head reads", "P");
        add_value(definition, "--target", target,
                  "the predicted token, by id or text, or class; \"next\": the one in the text (default: the most probable one)",
                  "ID|TEXT");
        definition.add_choice("--rows", rows, {"tokens", "layers"},
                              "a row a token, or a row a layer with correlations and the permutation test");
        definition.add_choice("--input", input, {"auto", "embedding", "stream"},
                              "vectors of gradient x input; auto: the stream where a norm follows the embedding");
        add_value(definition, "--blank", neutral, "what a token is replaced by (default: mask, unknown, padding or end token)",
                  "ID|TEXT");
        definition.app->add_flag("--no-blank-out", no_blank_out, "leave out blank-out, which takes one pass a token");
        add_count(definition, "--permutations", options.permutations, "shuffles of each layer's weights, with --rows layers", 0,
                  1000000);
        add_seed(definition, options.seed, "of the shuffles");
    }

    Result run(const Console& console) const {
        refuse_unused(*cli_app, {{"--permutations", rows == "tokens", "it is for --rows layers"},
                                 {"--seed", rows == "tokens", "it is for --rows layers"},
                                 {"--blank", no_blank_out, "nothing is blanked out"}});
        const Loaded loaded = load(console);
        const text::Encoding encoding = encoding_of(loaded);
        analyze::ImportanceOptions asked = options;
        asked.blank_out = !no_blank_out;
        if (rows == "tokens") asked.permutations = 0;  // that table does not show them
        asked.input = input == "stream"      ? analyze::InputVectors::stream
                      : input == "embedding" ? analyze::InputVectors::embedding
                                             : analyze::InputVectors::automatic;
        const model::ModelConfig& config = loaded.model->config();
        const Position p = position_of(where, position, config, encoding.ids);
        if (!target.empty()) asked.target = typed_target(config, *loaded.tokenizer, encoding, p, target, "--target", console);
        if (!neutral.empty()) asked.neutral = typed_token(*loaded.tokenizer, config.vocab_size, neutral, "--blank", console);
        asked.source = source_of(loaded);
        const analyze::Importance r =
            analyze::importance(*loaded.model, *loaded.tokenizer, encoding, p, asked, loaded.cancel, console.progress());
        Result found{.table = rows == "tokens" ? analyze::table_of(r, encoding, asked.source, *loaded.tokenizer)
                                               : analyze::layers_table(r),
                     .facts = facts_of(*loaded.model)};
        const auto label = [&](std::int64_t id) { return text::token_label(*loaded.tokenizer, id); };
        found.fact("dtype", compute.dtype).fact("text", loaded.prompt.text);
        if (!loaded.prompt.pair.empty()) found.fact("pair", loaded.prompt.pair);
        found.fact("position", r.position.value)
            .fact("target_id", r.target)
            .fact("target", analyze::output_label(config, *loaded.tokenizer, r.target));
        found.fact("probability", r.probability);
        found.fact("input", r.input == analyze::InputVectors::stream ? "stream" : "embedding");
        found.fact("position_is_masked", r.masked);
        if (r.neutral >= 0) found.fact("blanked_out_by", label(r.neutral));
        found.fact("permutations", options.permutations).fact("seed", options.seed);
        return found;
    }
};

struct AttentionGradientCommand : Analysis {
    std::uint64_t seed = 0;

    void add(Definition& definition) { add_seed(definition, seed, "which words of an encoder's text are masked"); }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        const auto source = source_of(loaded);
        const analyze::AttentionGradient g = analyze::attention_gradient(*loaded.model, *loaded.tokenizer, encoding_of(loaded),
                                                                         seed, loaded.cancel, console.progress(), source);
        Result found{.table = analyze::table_of(g), .facts = facts_of(*loaded.model)};
        found.fact("text", loaded.prompt.text).fact("loss", g.loss).fact("predicted_tokens", g.predicted);
        found.fact("seed", seed);
        if (source) found.fact("target", loaded.prompt.pair);
        return found;
    }
};

}  // namespace

Action define_analyze_importance(Definition& definition, const Frontend&) {
    return define_analysis<ImportanceCommand>(definition, kRun | kUnedited);
}

Action define_analyze_attention_gradient(Definition& definition, const Frontend&) {
    return define_analysis<AttentionGradientCommand>(definition, kRun | kUnedited);
}

}  // namespace headlight::cli
