// SPDX-License-Identifier: GPL-3.0-or-later
// headlight_bench: what docs/benchmarks.md describes, one function for each name.
#pragma once

#include "headlight/base/job.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headlight::bench {

/// What all benchmarks of one call measure with.
struct Subject {
    std::filesystem::path folder;
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    std::vector<std::int64_t> tokens;  ///< empty: the lengths that the benchmark is defined for
    std::vector<std::string> views;    ///< for "window"; empty: all, and the panels
    int repeats = 7;
    CancelToken cancel;

    void load(const std::filesystem::path& model);
    /// The lengths to measure, without those that the model cannot take; Error if none is left.
    std::vector<std::int64_t> lengths(std::vector<std::int64_t> standard) const;
    /// A made-up text of exactly this many tokens.
    trace::Prompt prompt(std::int64_t tokens) const;
    std::shared_ptr<const trace::Trace> run(std::int64_t tokens,
                                            const trace::CapturePlan& = trace::CapturePlan::everything()) const;
};

/// One measured number: {"benchmark", "tokens", "what", "value", "unit"} in --json, which the scripts here read.
struct Measured {
    std::int64_t tokens = 0;  ///< 0 where the length of a text does not matter
    std::string what;
    double value = 0;
    std::string unit;  ///< "ms", "s", "MB", "GB", "GFLOP/s", "tokens/s"; "" for shares
};
using Results = std::vector<Measured>;

// passes.cpp
Results forward(const Subject&);     ///< a traced pass against a matrix product of 2,048 x 2,048
Results corpus(const Subject&);      ///< a text of a corpus run against the pass alone and a matrix product
Results long_texts(const Subject&);  ///< passes over long texts with the overview, causal half counted, against the product
Results memory(const Subject&);      ///< bytes of a trace of every hook
Results load(const Subject&);        ///< opening the folder again, its files in the page cache
// maps.cpp
Results maps(const Subject&);  ///< one head of 5,000 points by t-SNE and UMAP, PCA of 144 heads: processor time
// window.cpp
Results window(const Subject&);  ///< the window on a long text: frames of views and panels, gaps of its thread

double milliseconds(const std::function<void()>& work);
double median(std::vector<double>);
/// Milliseconds of each piece of work [work][round]: by the clock, and of all threads together.
struct Rounds {
    std::vector<std::vector<double>> wall, processor;
};
/// The pieces take turns, so that a busy machine slows all of them.
Rounds rounds_of(int rounds, const std::vector<std::function<void()>>& works, const CancelToken&);
std::vector<double> medians(const std::vector<std::vector<double>>&);
/// The medians by the clock of `rounds_of`, after a round that is not counted: it touches memory and loads weights.
std::vector<double> warm_in_turns(const Subject&, const std::vector<std::function<void()>>& works);

/// Writes a model of GPT-2 small's shape (12 layers, 12 heads, width 768, context 2,048; 500 MB of fp32) with random weights from
/// a fixed seed into a folder. Its tokenizer knows the words w1 ... w50256, so that a text of N words has N tokens.
void write_random_gpt2(const std::filesystem::path& folder);
/// Two layers of SmolLM2-135M's shape (a Llama of 9 heads and 3 of keys, width 576) with 2,048 words, which repeat about as often
/// as those of English text, in the same way.
void write_random_llama(const std::filesystem::path& folder);

}  // namespace headlight::bench
