// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/token_neurons.h"

#include "headlight/analyze/columns.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_set>

namespace headlight::corpus {
namespace {

/// A place of the corpus as one number.
std::uint64_t place_key(std::int64_t chunk, std::int64_t position) {
    return static_cast<std::uint64_t>(chunk) << 32 | static_cast<std::uint64_t>(position);
}

/// The bytes of a text that are the token.
bool is_token(std::string_view text, std::int64_t begin, std::int64_t end, std::string_view token) {
    if (begin < 0 || end <= begin || end > std::ssize(text)) return false;
    const std::string_view here = text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (here == token) return true;
    return token.starts_with(' ') && here == token.substr(1) && begin > 0 && text[static_cast<std::size_t>(begin) - 1] == ' ';
}

}  // namespace

TokenNeurons neurons_of_token(const Neurons& neurons, TextStore& texts, const std::string& token, std::int64_t layer,
                              std::int64_t top, const CancelToken& cancel, const Progress& progress) {
    if (layer >= 0)
        static_cast<void>(neurons.width(Layer(layer)));  // reports a layer that is not there before the texts are read
    if (token.empty()) throw Error(ErrorFacts{.problem = "A token is empty", .item = "--token"});
    TokenNeurons out{.token = token, .neurons{}};
    std::unordered_set<std::uint64_t> places;
    for (std::int64_t c = 0; c < texts.chunks(); ++c) {
        cancel.throw_if_cancelled();
        if (progress && c % 64 == 0) progress({"Reading texts", "chunk", c, texts.chunks()});
        const Chunk& chunk = texts.chunk(c);
        const Text& text = texts.text(chunk.text);
        out.tokens += chunk.encoding.size();
        for (std::int64_t i = 0; i < chunk.encoding.size(); ++i) {
            const auto at = chunk.encoding.offsets[static_cast<std::size_t>(i)];
            if (is_token(text.text, chunk.first_byte + at.begin, chunk.first_byte + at.end, token))
                places.insert(place_key(c, i));
        }
    }
    out.occurrences = std::ssize(places);
    if (places.empty())
        throw Error({.problem = "No token of the corpus has this text",
                     .item = "--token",
                     .found = "\"" + token + "\"",
                     .hint = "Give one token as it stands in the text, with its space: \" Mr\""});
    for (std::int64_t l = layer < 0 ? 0 : layer; l < (layer < 0 ? neurons.layers() : layer + 1); ++l) {
        cancel.throw_if_cancelled();
        for (std::int64_t n = 0; n < neurons.width(Layer(l)); ++n) {
            TokenNeuron of{.id = {Layer(l), Neuron(n)}};
            double sum = 0;
            for (const Trigger& trigger : neurons.largest(Layer(l), Neuron(n))) {
                const std::int64_t rank = of.triggers++;
                if (!places.contains(place_key(trigger.text, trigger.position))) continue;
                if (of.with_token++ == 0) of.best_rank = rank, of.largest = trigger.value;
                sum += trigger.value;
            }
            if (of.with_token == 0) continue;
            of.mean = sum / static_cast<double>(of.with_token);
            out.neurons.push_back(of);
        }
    }
    out.found = std::ssize(out.neurons);
    // By the lower end: one of one trigger says less than forty of fifty.
    std::ranges::stable_sort(out.neurons, std::greater(),
                             [](const TokenNeuron& of) { return std::tuple(of.share().low, of.mean); });
    if (top > 0 && out.found > top) out.neurons.resize(static_cast<std::size_t>(top));
    return out;
}

analyze::Table table_of(const TokenNeurons& of) {
    using Row = TokenNeuron;
    return analyze::Columns<Row>{
        {"layer", [](const Row& row) { return row.id.layer; }},
        {"neuron", [](const Row& row) { return row.id.neuron; }},
        {"share", [](const Row& row) { return row.share().mean; }, "of the neuron's triggers, those that are the token"},
        {"low", [](const Row& row) { return row.share().low; }, "Wilson's interval of 95 %; rows are sorted by it"},
        {"high", [](const Row& row) { return row.share().high; }},
        {"with_token", &Row::with_token, "triggers that are the token"},
        {"triggers", &Row::triggers, "chunks with the neuron's largest positive coefficients, one token each"},
        {"best_rank", &Row::best_rank, "of the strongest trigger that is the token; 0: the neuron's strongest"},
        {"mean", &Row::mean, "coefficient at the triggers that are the token"},
        {"largest", &Row::largest, "the largest of these"}}
        .table(of.neurons);
}

}  // namespace headlight::corpus
