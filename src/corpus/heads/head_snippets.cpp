// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/head_snippets.h"

#include "headlight/base/error.h"
#include "headlight/trace/encoded.h"

#include <algorithm>
#include <map>
#include <set>

namespace headlight::corpus {
namespace {

/// Fills the snippets of one text from the pattern of one head.
class SnippetReader final : public trace::PatternReader {
public:
    SnippetReader(HeadId head, std::vector<HeadSnippet*> snippets) : head_(head), snippets_(std::move(snippets)) {}
    void pattern(HeadId head, const trace::HeadPattern& pattern) override {
        if (!(head == head_)) return;
        for (HeadSnippet* of : snippets_)
            for (const std::int64_t query : of->positions)
                for (const std::int64_t key : of->positions)
                    of->weights.push_back(pattern.row(query)[static_cast<std::size_t>(key)]);
    }

private:
    HeadId head_;
    std::vector<HeadSnippet*> snippets_;
};

std::vector<std::int64_t> positions_near(const Example& example, std::int64_t tokens, std::int64_t before) {
    std::set<std::int64_t> near;
    const auto add = [&](std::int64_t from, std::int64_t last) {
        for (std::int64_t p = std::max<std::int64_t>(from, 0); p <= std::min(last, tokens - 1); ++p) near.insert(p);
    };
    add(example.key - 2, example.key + 2);
    add(example.query - before, example.query + 1);
    return {near.begin(), near.end()};
}

}  // namespace

std::vector<HeadSnippet> head_snippets(TextStore& texts, const std::shared_ptr<const model::Model>& model,
                                       const std::shared_ptr<const headlight::text::Tokenizer>& tokenizer, HeadId head,
                                       const std::vector<Example>& examples, std::int64_t before, const CancelToken& cancel) {
    const model::ModelConfig& config = model->config();
    if (head.layer.value < 0 || head.layer.value >= config.n_layers || head.head.value < 0 || head.head.value >= config.n_heads)
        throw Error({.problem = "The model has no such head",
                     .item = config.name,
                     .found = "layer " + std::to_string(head.layer.value) + ", head " + std::to_string(head.head.value)});
    std::vector<HeadSnippet> out;
    std::map<std::int64_t, std::vector<HeadSnippet*>> of_text;
    out.reserve(examples.size());
    for (const Example& example : examples) of_text[example.text].push_back(&out.emplace_back(HeadSnippet{.example = example}));
    for (auto& [number, snippets] : of_text) {
        cancel.throw_if_cancelled();
        const Chunk& chunk = texts.chunk(number);
        const Text& text = texts.text(chunk.text);
        const std::int64_t tokens = chunk.encoding.size();
        for (HeadSnippet* of : snippets) {
            texts.chunk_with(number, {of->example.query, of->example.key});
            of->positions = positions_near(of->example, tokens, before);
            for (const std::int64_t p : of->positions)
                of->tokens.push_back(headlight::text::token_label(*tokenizer, chunk.encoding.ids[static_cast<std::size_t>(p)]));
        }
        SnippetReader reader(head, snippets);
        trace::EncodedText encoded{.text = bytes_of(chunk, text), .encoding = chunk.encoding};
        const trace::CapturePlan plan{.globs = {"blocks.0.hook_resid_pre"}, .overview = trace::no_overview};
        trace::run_encoded(model, tokenizer, std::move(encoded), plan, cancel, &reader);
    }
    return out;
}

}  // namespace headlight::corpus
