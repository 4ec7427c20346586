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
    std::string rows = "tokens", neutral;
    CLI::Option* where = nullptr;
    analyze::ImportanceRequest asked;

    void add(Definition& definition) {
        where = add_value(
            definition, kPosition, position,
            "the token whose prediction is explained, from 0 (default: the last; classifiers: the one their head reads)", "P");
        definition.add_choice("--rows", rows, {"tokens", "layers"},
                              "a row a token, or a row a layer with correlations and the permutation test");
        add_value(definition, "--blank", neutral, "what a token is replaced by (default: mask, unknown, padding or end token)",
                  "ID|TEXT");
        add_fields(definition, asked);
    }

    Result run(const Console& console) const {
        refuse_unused(*cli_app, {{"--permutations", rows == "tokens", "it is for --rows layers"},
                                 {"--seed", rows == "tokens", "it is for --rows layers"},
                                 {"--blank", asked.no_blank_out, "nothing is blanked out"}});
        const Loaded loaded = load(console);
        const text::Encoding encoding = encoding_of(loaded);
        note_tokens(asked, loaded, console);
        const model::ModelConfig& config = loaded.model->config();
        const Position p = position_of(where, position, config, encoding.ids);
        analyze::ImportanceOptions options = analyze::importance_asked(config, *loaded.tokenizer, encoding, p, asked);
        if (rows == "tokens") options.permutations = 0;  // that table does not show them
        if (!neutral.empty()) options.neutral = typed_token(*loaded.tokenizer, config.vocab_size, neutral, "--blank", console);
        options.source = source_of(loaded);
        const analyze::Importance r =
            analyze::importance(*loaded.model, *loaded.tokenizer, encoding, p, options, loaded.cancel, console.progress());
        Result found{.table = rows == "tokens" ? analyze::table_of(r, encoding, options.source, *loaded.tokenizer)
                                               : analyze::layers_table(r),
                     .facts = facts_of(*loaded.model)};
        const auto label = [&](std::int64_t id) { return text::token_label(*loaded.tokenizer, id); };
        found.fact("dtype", compute.dtype).fact("text", loaded.prompt.text);
        if (!loaded.prompt.pair.empty()) found.fact("pair", loaded.prompt.pair);
        found.fact("position", r.position.value)
            .fact("target_id", r.target)
            .fact("target", analyze::output_label(config, *loaded.tokenizer, r.target));
        found.fact("probability", r.probability);
        found.fact("input", std::string(enum_word(r.input)));
        found.fact("position_is_masked", r.masked);
        if (r.neutral >= 0) found.fact("blanked_out_by", label(r.neutral));
        found.fact("permutations", asked.permutations).fact("seed", asked.seed);
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
