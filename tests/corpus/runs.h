// SPDX-License-Identifier: GPL-3.0-or-later
// Texts run through a committed model, and given to accumulators in any order and any parts.
#pragma once

#include "headlight/corpus/accumulate/accumulator.h"
#include "headlight/corpus/run/run.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/corpus/fixtures.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace headlight::corpus {

struct OpenedModel {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
};
inline OpenedModel opened(const std::filesystem::path& folder) {
    return {model::Model::load(folder), trace::load_tokenizer(folder)};
}
inline const OpenedModel& built_in() {
    static const OpenedModel one = opened(built_in_model());
    return one;
}

inline RunSetup run_setup(const std::filesystem::path& store, const std::filesystem::path& texts,
                          const std::vector<std::string>& measures, const OpenedModel& of = built_in()) {
    RunSetup setup;
    setup.store = store;
    setup.model = of.model;
    setup.tokenizer = of.tokenizer;
    setup.options.measures = measures;
    setup.texts.from = texts;
    return setup;
}
inline Manifest run_store(const RunSetup& setup) {
    CorpusRun run;
    run.setup = setup;
    return run_corpus(run).manifest;
}

inline std::span<const float> floats_of(const at::Tensor& t) {
    return {t.data_ptr<float>(), static_cast<std::size_t>(t.numel())};
}

/// Adds a text with the patterns [head] [query, key] of one layer, unless nothing in it is of the kind that is gathered.
inline void add_patterns(Accumulator& to, const TextRun& run, const std::vector<std::vector<float>>& heads,
                         bool gathered = true) {
    const std::unique_ptr<TextPatterns> patterns = to.patterns_of(run);
    EXPECT_EQ(patterns != nullptr, gathered);
    for (std::size_t h = 0; patterns && h < heads.size(); ++h)
        patterns->add({Layer(0), Head(static_cast<std::int64_t>(h))}, {.weights = heads[h], .keys = run.tokens()});
    to.add(run, patterns.get());
}

class Runs {
public:
    Runs(std::shared_ptr<const model::Model> model, std::shared_ptr<const text::Tokenizer> tokenizer)
        : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {}
    explicit Runs(const std::filesystem::path& folder) : Runs(model::Model::load(folder), trace::load_tokenizer(folder)) {}

    void run(const trace::Prompt& prompt) {
        run_text({.id = "text:" + std::to_string(texts_.size() + 1), .text = prompt.text}, prompt);
    }
    void run_text(const Text& text, const trace::Prompt& prompt) {
        texts_.push_back(text);
        traces_.push_back(trace::run(model_, tokenizer_, prompt));
    }
    void run_all(const std::vector<std::string>& texts) {
        for (const std::string& text : texts) run({.text = text});
    }

    std::int64_t size() const { return std::ssize(traces_); }
    const trace::Trace& trace(std::int64_t i) const { return *shared(i); }
    const std::shared_ptr<const trace::Trace>& shared(std::int64_t i) const { return traces_.at(static_cast<std::size_t>(i)); }
    const std::shared_ptr<const model::Model>& model() const { return model_; }
    const std::shared_ptr<const text::Tokenizer>& tokenizer() const { return tokenizer_; }
    const model::ModelConfig& config() const { return model_->config(); }
    TextRun text_run(std::int64_t i, std::int64_t first_query = 0) const {
        return {.number = i,
                .text = texts_.at(static_cast<std::size_t>(i)),
                .first_query = first_query,
                .encoding = trace(i).encoding(),
                .trace = &trace(i)};
    }

    void add(Accumulator& to, std::int64_t i, std::int64_t first_query = 0) const {
        const TextRun run = text_run(i, first_query);
        const std::unique_ptr<TextPatterns> patterns = to.patterns_of(run);
        for (std::int64_t l = 0; patterns && l < config().n_layers; ++l) {
            const at::Tensor v = trace::tensor(trace(i), {model::Hook::v, Layer(l)});
            const at::Tensor w_o = trace::attention_output(*model_, Layer(l)).w_o;
            for (std::int64_t h = 0; h < config().n_heads; ++h) {
                const at::Tensor pattern = trace::pattern_rows(trace(i), Layer(l), Head(h), 0, run.tokens()).contiguous();
                const at::Tensor lengths =
                    at::mm(v.select(1, h * v.size(1) / config().n_heads), w_o[h]).square().sum(1).sqrt().contiguous();
                patterns->add({Layer(l), Head(h)},
                              {.weights = floats_of(pattern), .keys = run.tokens(), .lengths = floats_of(lengths)});
            }
        }
        if (patterns) patterns->finish(run);
        to.add(run, patterns.get());
    }
    void add_all(Accumulator& to) const {
        for (std::int64_t i = 0; i < size(); ++i) add(to, i);
    }
    template <class Kind>
    Kind filled(Kind empty) const {
        add_all(empty);
        return empty;
    }

private:
    std::shared_ptr<const model::Model> model_;
    std::shared_ptr<const text::Tokenizer> tokenizer_;
    std::deque<Text> texts_;
    std::vector<std::shared_ptr<const trace::Trace>> traces_;
};

/// `Kind`: an accumulator, or Gathered.
template <class Kind>
Arrays saved_arrays(const Kind& accumulator) {
    Arrays arrays;
    accumulator.save(arrays);
    return arrays;
}

/// What save() writes, as a file.
template <class Kind>
std::string saved_bytes(const Kind& accumulator) {
    const test::TempFolder folder;
    saved_arrays(accumulator).write(folder / "a.safetensors", {});
    return test::slurp(folder / "a.safetensors");
}

/// Shuffled texts over three parts, two of which go through a file, merged in another order: the bytes of one pass.
inline void expect_the_same_bytes_in_any_order(const Runs& runs, const Accumulator& empty) {
    const std::unique_ptr<Accumulator> once = empty.fresh();
    runs.add_all(*once);
    const std::string expected = saved_bytes(*once);
    std::mt19937 random(3);
    std::vector<std::int64_t> order(static_cast<std::size_t>(runs.size()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    for (int round = 0; round < 3; ++round) {
        std::ranges::shuffle(order, random);
        std::vector<std::unique_ptr<Accumulator>> parts;
        for (int i = 0; i < 3; ++i) parts.push_back(empty.fresh());
        for (const std::int64_t text : order) runs.add(*parts[random() % 3], text);
        for (int i = 0; i < 2; ++i) {
            const test::TempFolder folder;
            saved_arrays(*parts[static_cast<std::size_t>(i)]).write(folder / "part.safetensors", {});
            parts[static_cast<std::size_t>(i)] = empty.fresh();
            parts[static_cast<std::size_t>(i)]->load(Arrays::read(folder / "part.safetensors"));
        }
        parts[2]->merge(*parts[0]);
        parts[1]->merge(*parts[2]);
        EXPECT_TRUE(saved_bytes(*parts[1]) == expected) << "round " << round;
    }
    EXPECT_TRUE(saved_bytes(*empty.fresh()) != expected);
}

}  // namespace headlight::corpus
