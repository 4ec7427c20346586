// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/arc_run.h"

#include "corpus/probe/kept_probe.h"
#include "headlight/base/error.h"
#include "headlight/corpus/probe/trees.h"

#include <algorithm>
#include <utility>

namespace headlight::corpus {
namespace {

using nlohmann::json;

/// The same sentences with the heads of one layer.
std::vector<ArcSentence> of_layer(const std::vector<ArcSentence>& sentences, std::int64_t layer, std::int64_t heads) {
    std::vector<ArcSentence> out;
    for (const ArcSentence& of : sentences) {
        const std::int64_t size = heads * of.places() * of.places();
        const auto begin = of.attention.begin() + layer * size;
        out.push_back(
            {.attention = {begin, begin + size}, .special = of.special, .heads = of.heads, .punctuation = of.punctuation});
    }
    return out;
}

}  // namespace

ArcResult run_arcs(const Manifest& manifest, const StatesOptions& source, const ArcRunOptions& options, const CancelToken& cancel,
                   const Progress& progress) {
    if (!source.model)
        throw Error({.problem = "The attention probe runs the texts again, so it needs the model",
                     .file = source.store.string(),
                     .expected = manifest.model,
                     .hint = "Give --model"});
    check_model(manifest, source);
    TextStore texts(source.store, manifest);
    const StoredTrees trees = read_trees(texts, options.seed, cancel);
    ArcResult out{.rows = {}, .probe = {}, .heads_per_layer = source.model->config().n_heads, .left_out = trees.left_out};
    std::vector<std::int64_t> train_chunks, test_chunks;
    for (std::size_t s = 0; s < trees.sentences.size(); ++s) {
        const Chunk chunk = texts.chunk(trees.chunks[s]);
        if (!chunk.whole || std::ssize(texts.text(trees.texts[s]).words) != trees.sentences[s].words())
            ++out.left_out;
        else
            (trees.parts[s] == ProbePart::test ? test_chunks : train_chunks).push_back(chunk.number);
    }
    if (train_chunks.empty() || test_chunks.empty())
        throw Error({.problem = "The attention probe needs texts of one sentence",
                     .found = std::to_string(train_chunks.size()) + " to learn from, " + std::to_string(test_chunks.size()) +
                              " to test with",
                     .hint = "Texts of several sentences, as in CorefUD, are not read by it"});
    const auto gathered = [&](const std::vector<std::int64_t>& chunks) {
        return gather_word_attention(texts, chunks, source.model, source.tokenizer, cancel, progress);
    };
    const std::vector<ArcSentence> train = gathered(train_chunks), test = gathered(test_chunks);
    out.n_train = std::ssize(train);
    out.n_test = std::ssize(test);
    const Bootstrap bootstrap(out.n_test, options.bootstrap);
    out.offset = best_arc_offset(train);
    const std::vector<TextTerm> baseline = offset_hits(out.offset, test);
    for (const TextTerm& term : baseline) out.n_words += static_cast<std::int64_t>(term.weight);
    out.baseline = bootstrap.mean(baseline);
    const std::int64_t layers = source.model->config().n_layers;
    const auto fit = [&](const std::vector<ArcSentence>& learn, const std::vector<ArcSentence>& score, std::int64_t first,
                         std::int64_t last) {
        if (progress) progress({"Attention probe", "layer", std::ssize(out.rows), layers + 1});
        ArcProbe probe = fit_arc_probe(learn, options.fit, cancel);
        out.rows.push_back({.first_layer = first,
                            .last_layer = last,
                            .accuracy = bootstrap.mean(arc_hits(probe, score)),
                            .loss = probe.loss,
                            .iterations = probe.iterations,
                            .converged = probe.converged});
        return probe;
    };
    out.probe = fit(train, test, 0, layers - 1);
    for (std::int64_t layer = 0; layer < layers; ++layer)
        fit(of_layer(train, layer, out.heads_per_layer), of_layer(test, layer, out.heads_per_layer), layer, layer);
    return out;
}

analyze::Table table_of(const ArcResult& result) {
    analyze::Table table;
    table.columns = {"first_layer",   "last_layer", "uas",        "low",       "high",    "offset", "baseline", "baseline_low",
                     "baseline_high", "loss",       "iterations", "converged", "n_train", "n_test", "n_words"};
    table.definitions = {
        {"first_layer", "The probe reads the attention of all heads of these layers, to last_layer."},
        {"uas",
         "Share of the n_words words of the test sentences, without punctuation, whose head is the candidate with the largest "
         "sum over heads k of w_k a_k(word, candidate) + u_k a_k(candidate, word) (Clark et al. 2019, section 5)."},
        {"low", "95 % interval, to high: a bootstrap over sentences."},
        {"baseline", "The same share where the head is always the word at `offset`, the best one of the training sentences."},
        {"loss", "Mean cross entropy in nats of the training words, with the penalty."},
        {"converged", "1: the gradient is within the tolerance."}};
    for (const ArcRow& row : result.rows)
        table.add({row.first_layer, row.last_layer, row.accuracy.mean, row.accuracy.low, row.accuracy.high, result.offset,
                   result.baseline.mean, result.baseline.low, result.baseline.high, row.loss, row.iterations,
                   std::int64_t{row.converged ? 1 : 0}, result.n_train, result.n_test, result.n_words});
    return table;
}

std::vector<analyze::NamedArray> arrays_of(const ArcResult& result) {
    const std::int64_t layers = std::ssize(result.probe.to_head) / result.heads_per_layer;
    const auto array = [&](const char* name, const std::vector<double>& values) {
        return analyze::NamedArray{name, {layers, result.heads_per_layer}, {values.begin(), values.end()}};
    };
    return {array("to_head", result.probe.to_head), array("from_head", result.probe.from_head)};
}

std::string json_members(const ArcResult& result) {
    return "\"to_head\": " + dumped(result.probe.to_head) + ",\n\"from_head\": " + dumped(result.probe.from_head) +
           ",\n\"root\": " +
           dumped({{"first", result.probe.first}, {"last", result.probe.last}, {"constant", result.probe.root}});
}

void write_arcs(const std::filesystem::path& store, const Manifest& manifest, const ArcResult& result) {
    json out = {{"heads_per_layer", result.heads_per_layer},
                {"to_head", result.probe.to_head},
                {"from_head", result.probe.from_head},
                {"root", {result.probe.first, result.probe.last, result.probe.root}},
                {"offset", result.offset},
                {"baseline", interval_json(result.baseline)},
                {"n_train", result.n_train},
                {"n_test", result.n_test},
                {"n_words", result.n_words},
                {"left_out", result.left_out}};
    json& rows = out["rows"] = json::array();
    for (const ArcRow& row : result.rows)
        rows.push_back({{"layers", {row.first_layer, row.last_layer}},
                        {"uas", interval_json(row.accuracy)},
                        {"loss", row.loss},
                        {"iterations", row.iterations},
                        {"converged", row.converged}});
    keep_probe(store, manifest, ProbeKind::attention, kTreeTask, std::move(out));
}

ArcResult read_arcs(const std::filesystem::path& store, const Manifest& manifest) {
    ArcResult out;
    read_kept_probe(store, manifest, ProbeKind::attention, kTreeTask, [&](const json& in) {
        out.heads_per_layer = std::max<std::int64_t>(1, in.at("heads_per_layer"));
        out.probe.to_head = in.at("to_head").get<std::vector<double>>();
        out.probe.from_head = in.at("from_head").get<std::vector<double>>();
        out.probe.from_head.resize(out.probe.to_head.size());
        const json& root = in.at("root");
        out.probe.first = root.at(0), out.probe.last = root.at(1), out.probe.root = root.at(2);
        out.offset = in.at("offset");
        out.baseline = interval_in(in.at("baseline"));
        out.n_train = in.at("n_train");
        out.n_test = in.at("n_test");
        out.n_words = in.at("n_words");
        out.left_out = in.at("left_out");
        for (const json& row : in.at("rows"))
            out.rows.push_back({.first_layer = row.at("layers").at(0),
                                .last_layer = row.at("layers").at(1),
                                .accuracy = interval_in(row.at("uas")),
                                .loss = number_in(row.at("loss")),
                                .iterations = row.at("iterations"),
                                .converged = row.at("converged")});
    });
    return out;
}

}  // namespace headlight::corpus
