// SPDX-License-Identifier: GPL-3.0-or-later
// `headlight analyze importance` and `headlight analyze attention-gradient`.
#include "headlight/analyze/circuit/importance.h"

#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/base/error.h"

namespace headlight::cli {
namespace {

struct ImportanceArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t position = 0;
    std::string target, neutral, rows = "tokens", input = "auto";
    bool no_blank_out = false;
    analyze::ImportanceOptions options;
};

/// The text whose predictions are asked about: of an encoder-decoder model the target with what stands before it.
text::Encoding encoding_of(const Loaded& loaded) {
    if (has_cross_attention(loaded.model->config()))
        return trace::target_encoding(loaded.model->config(), *loaded.tokenizer, loaded.prompt.pair);
    std::optional<std::string_view> pair;
    if (!loaded.prompt.pair.empty()) pair = loaded.prompt.pair;
    return loaded.tokenizer->encode(loaded.prompt.text, pair, loaded.prompt.add_special_tokens);
}

/// What an encoder in front of a decoder reads.
text::Encoding source_of(const Loaded& loaded) {
    return loaded.tokenizer->encode(loaded.prompt.text, std::nullopt, loaded.prompt.add_special_tokens);
}

std::int64_t target_of(const ImportanceArguments& o, const Loaded& loaded, const text::Encoding& encoding) {
    if (o.target != "next")
        return analyze::choose_token(*loaded.tokenizer, loaded.model->config().vocab_size, o.target, "--target").id;
    const std::int64_t at = o.position + (loaded.model->config().causal ? 1 : 0);
    if (at < encoding.size()) return encoding.ids[static_cast<std::size_t>(at)];
    throw Error({.problem = "No token comes after the last position, so there is no next one to ask about",
                 .item = "--target next",
                 .hint = "Name a token, or leave --target out for the model's own prediction"});
}

std::vector<std::pair<std::string, std::string>> facts(const Loaded& loaded, const ImportanceArguments& o,
                                                       const analyze::Importance& r) {
    auto list = facts_of(*loaded.model);
    const auto label = [&](std::int64_t id) { return text::token_label(*loaded.tokenizer, id); };
    list.emplace_back("dtype", o.compute.dtype);
    list.emplace_back("text", loaded.prompt.text);
    if (!loaded.prompt.pair.empty()) list.emplace_back("pair", loaded.prompt.pair);
    list.emplace_back("position", std::to_string(r.position.value));
    list.emplace_back("target_id", std::to_string(r.target));
    list.emplace_back("target", label(r.target));
    list.emplace_back("probability", std::to_string(r.probability));
    list.emplace_back("input", r.input == analyze::InputVectors::stream ? "stream" : "embedding");
    list.emplace_back("position_is_masked", r.masked ? "true" : "false");
    if (r.neutral >= 0) list.emplace_back("blanked_out_by", label(r.neutral));
    list.emplace_back("permutations", std::to_string(o.options.permutations));
    list.emplace_back("seed", std::to_string(o.options.seed));
    return list;
}

void token_rows(Result& result, const analyze::Importance& r, const text::Encoding& source, const text::Encoding& encoding,
                const text::Tokenizer& tokenizer) {
    result.definitions = {{"gradient_x_input", "a token's vector times the gradient of the target's probability"},
                          {"gradient_norm", "length of that gradient"},
                          {"blank_out", "target's probability minus the one with this token replaced"},
                          {"attention", "from the position, mean over heads and layers"},
                          {"value_weighted", "|sum over heads of weight v W_O|, mean over layers"}};
    result.table.columns = {"position",      "token_id",  "token",     "gradient_x_input",
                            "gradient_norm", "blank_out", "attention", "value_weighted"};
    if (r.source > 0) {
        result.table.columns.insert(result.table.columns.begin(), "text");
        result.definitions.emplace_back("text", "whose token it is; of the source the attention is the cross attention");
    }
    for (std::int64_t j = 0; j < r.tokens; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const bool of_source = j < r.source;
        const std::int64_t position = of_source ? j : j - r.source;
        const std::int64_t id = (of_source ? source : encoding).ids[static_cast<std::size_t>(position)];
        auto& row = result.table.rows.emplace_back();
        if (r.source > 0) row.emplace_back(std::string(of_source ? "source" : "target"));
        for (figure::Table::Cell cell : std::initializer_list<figure::Table::Cell>{
                 position, id, text::token_label(tokenizer, id), r.gradient_x_input[at], r.gradient_norm[at], r.blank_out[at],
                 r.attention.col(j).mean(), r.value_weighted.col(j).mean()})
            row.push_back(std::move(cell));
    }
    const auto array = [&](const char* name, const Eigen::MatrixXd& m) {
        figure::NamedArray a{.name = name, .shape = {m.rows(), m.cols()}, .values = {}};
        for (Eigen::Index l = 0; l < m.rows(); ++l)
            for (Eigen::Index j = 0; j < m.cols(); ++j) a.values.push_back(static_cast<float>(m(l, j)));
        result.arrays.push_back(std::move(a));
    };
    array("attention_by_layer", r.attention);
    array("value_weighted_by_layer", r.value_weighted);
    result.definitions.emplace_back("attention_by_layer", "[layer, token], NPZ only");
    result.definitions.emplace_back("value_weighted_by_layer", "[layer, token], NPZ only");
}

void layer_rows(Result& result, const analyze::Importance& r) {
    result.definitions = {{"measure", "attention: mean over heads; value_weighted: |sum over heads of weight v W_O|"},
                          {"against", "|gradient x input| or |blank-out|"},
                          {"spearman", "rank correlation over the tokens"},
                          {"kendall", "tau-b over the tokens"},
                          {"shuffled_median", "total variation distance of the prediction after shuffling the layer's weights"}};
    result.table.columns = {"layer",        "measure",         "against",       "spearman",      "kendall",
                            "shuffled_low", "shuffled_median", "shuffled_high", "largest_weight"};
    const bool two = !r.cross_layers.empty();
    if (two) {
        result.table.columns.insert(result.table.columns.begin(), "attention_to");
        result.definitions.emplace_back(
            "attention_to",
            "source: the cross attention, over the source's tokens; target: the decoder's own, over the target's");
    }
    const auto add_layers = [&](const std::vector<analyze::LayerImportance>& layers, const std::string& to) {
        for (std::size_t l = 0; l < layers.size(); ++l) {
            const analyze::LayerImportance& layer = layers[l];
            const auto add = [&](const char* measure, const char* against, const analyze::Agreement& a) {
                auto& row = result.table.rows.emplace_back();
                if (two) row.emplace_back(to);
                for (figure::Table::Cell cell : std::initializer_list<figure::Table::Cell>{
                         static_cast<std::int64_t>(l), std::string(measure), std::string(against), a.spearman, a.kendall,
                         layer.shuffled_low, layer.shuffled_median, layer.shuffled_high, layer.largest_weight})
                    row.push_back(std::move(cell));
            };
            add("attention", "gradient_x_input", layer.attention_gradient);
            add("attention", "blank_out", layer.attention_blank);
            add("value_weighted", "gradient_x_input", layer.weighted_gradient);
            add("value_weighted", "blank_out", layer.weighted_blank);
        }
    };
    add_layers(r.cross_layers, "source");
    add_layers(r.layers, "target");
}

int importance(const ImportanceArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const text::Encoding encoding = encoding_of(loaded);
    analyze::ImportanceOptions options = o.options;
    options.blank_out = !o.no_blank_out;
    if (o.rows == "tokens") options.permutations = 0;  // nobody would see them
    options.input = o.input == "stream"      ? analyze::InputVectors::stream
                    : o.input == "embedding" ? analyze::InputVectors::embedding
                                             : analyze::InputVectors::automatic;
    if (!o.target.empty()) options.target = target_of(o, loaded, encoding);
    if (!o.neutral.empty())
        options.neutral = analyze::choose_token(*loaded.tokenizer, loaded.model->config().vocab_size, o.neutral, "--blank").id;
    if (const auto& encoder = loaded.model->part(model::Stack::encoder); encoder) options.source = source_of(loaded);
    const analyze::Importance r = analyze::importance(*loaded.model, *loaded.tokenizer, encoding, Position(o.position), options,
                                                      loaded.cancel, console.progress());
    console.clear_progress();
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts(loaded, o, r)};
    o.rows == "tokens" ? token_rows(result, r, options.source.value_or(text::Encoding{}), encoding, *loaded.tokenizer)
                       : layer_rows(result, r);
    o.out.write(result, console);
    return 0;
}

int attention_gradient(const ImportanceArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    std::optional<text::Encoding> source;
    if (loaded.model->part(model::Stack::encoder)) source = source_of(loaded);
    const analyze::AttentionGradient g = analyze::attention_gradient(*loaded.model, *loaded.tokenizer, encoding_of(loaded),
                                                                     o.options.seed, loaded.cancel, console.progress(), source);
    console.clear_progress();
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*loaded.model)};
    result.facts.emplace_back("text", loaded.prompt.text);
    result.facts.emplace_back("loss", std::to_string(g.loss));
    result.facts.emplace_back("predicted_tokens", std::to_string(g.predicted));
    result.facts.emplace_back("seed", std::to_string(o.options.seed));
    result.definitions = {{"keys", "first: position 0; special: other special tokens; punctuation: . and ,"},
                          {"mean_abs_gradient", "mean of |d loss / d weight| over queries and keys of the group"},
                          {"mean_weight", "mean softmax weight over the same pairs"}};
    result.table.columns = {"layer", "head", "keys", "number_of_keys", "mean_abs_gradient", "mean_weight"};
    if (source) {
        result.facts.emplace_back("target", loaded.prompt.pair);
        result.table.columns.insert(result.table.columns.begin(), "attention");
        result.definitions.emplace_back(
            "attention", "self: the decoder's own; cross: from the target to the source; encoder: the source's own");
    }
    const auto add = [&](const std::string& attention, const analyze::GradientByKey& of) {
        for (Eigen::Index l = 0; l < of.gradient.front().rows(); ++l)
            for (Eigen::Index h = 0; h < of.gradient.front().cols(); ++h)
                for (std::size_t group = 0; group < g.groups.size(); ++group) {
                    auto& row = result.table.rows.emplace_back();
                    if (source) row.emplace_back(attention);
                    for (figure::Table::Cell cell : std::initializer_list<figure::Table::Cell>{
                             static_cast<std::int64_t>(l), static_cast<std::int64_t>(h), g.groups[group], of.group_tokens[group],
                             of.gradient[group](l, h), of.weight[group](l, h)})
                        row.push_back(std::move(cell));
                }
    };
    add("self", g);
    if (g.cross) add("cross", *g.cross);
    if (g.encoder) add("encoder", *g.encoder);
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_importance(Definition& definition, const Frontend&) {
    auto options = std::make_shared<ImportanceArguments>();
    CLI::App& app = *definition.app;
    options->model.add(definition);
    options->text.add(definition);
    app.add_option("--position", options->position, "the token whose prediction is asked about, from 0")
        ->required()
        ->type_name("P");
    app.add_option("--target", options->target,
                   "the predicted token, by id or text; \"next\": the one in the text (default: the most probable one)")
        ->type_name("ID|TEXT");
    definition.add_choice("--rows", options->rows, {"tokens", "layers"},
                          "a row a token, or a row a layer with correlations and the permutation test");
    definition.add_choice("--input", options->input, {"auto", "embedding", "stream"},
                          "vectors of gradient x input; auto: the stream where a norm follows the embedding");
    app.add_option("--blank", options->neutral, "what a token is replaced by (default: mask, unknown, padding or end token)")
        ->type_name("ID|TEXT");
    app.add_flag("--no-blank-out", options->no_blank_out, "leave out blank-out, which takes one pass a token");
    app.add_option("--permutations", options->options.permutations, "shuffles of each layer's weights, with --rows layers")
        ->capture_default_str()
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000000}));
    app.add_option("--seed", options->options.seed, "of the shuffles")->capture_default_str()->type_name("N");
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return importance(*options, *console); };
}

Action define_analyze_attention_gradient(Definition& definition, const Frontend&) {
    auto options = std::make_shared<ImportanceArguments>();
    options->model.add(definition);
    options->text.add(definition);
    definition.app->add_option("--seed", options->options.seed, "which words of an encoder's text are masked")
        ->capture_default_str()
        ->type_name("N");
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return attention_gradient(*options, *console); };
}

}  // namespace headlight::cli
