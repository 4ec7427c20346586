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
    std::filesystem::path folder, text_file;  ///< text_file: for "tokenizer"; empty: a made-up text
    std::filesystem::path scratch;            ///< removed afterwards
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
    std::string unit;  ///< "ms", "MB", "GFLOP/s", "s"; "" and "share added" for shares, "x" for ratios
};
using Results = std::vector<Measured>;

// passes.cpp
Results forward(const Subject&);     ///< a traced pass against a matrix product of 2,048 x 2,048
Results capture(const Subject&);     ///< every hook kept, with and without the overview, against none
Results corpus(const Subject&);      ///< a text of a corpus run against the pass alone and a matrix product
Results long_texts(const Subject&);  ///< passes over long texts with the overview, causal half counted, against the product
Results precision(const Subject&);   ///< a pass in bfloat16 against float32: time and error
Results memory(const Subject&);      ///< bytes of a trace of every hook
Results load(const Subject&);        ///< opening the folder again, its files in the page cache
Results generate(const Subject&);    ///< the prompt and the tokens of a continuation
// analyses.cpp
Results measures(const Subject&);    ///< every measure of every head over a traced pass without the overview
Results prediction(const Subject&);  ///< lens, promoted tokens, attribution and contribution graph
Results circuits(const Subject&);    ///< eigenvalues, ranks and composition scores, and importance
// edits.cpp
Results edits(const Subject&);   ///< a weight set in an early, a middle and the last layer: until the window has its picture
Results typing(const Subject&);  ///< the last word of a text typed: a run after that of the text before it against a whole run
// maps.cpp
Results maps(const Subject&);  ///< one head of 5,000 points by t-SNE and UMAP, PCA of 144 heads: processor time
// probes.cpp
Results probes(const Subject&);  ///< linear probes of 25,000 made-up words with the path of penalties
// tokenizer.cpp
Results tokenizer(const Subject&);  ///< MB/s on one thread, processor time
// figures.cpp
Results figures(const Subject&);  ///< every view painted into memory: first paint, pan, zoom and hover
// cancel.cpp
Results cancel(const Subject&);  ///< from cancel to return: in passes, layers made again, products and conversions
// window.cpp
Results window(const Subject&);  ///< the window on a long text: frames of views and panels, gaps of its thread
// map_drawing.cpp
Results map_drawing(const Subject&);  ///< frames of a map of 1.44 million points

double milliseconds(const std::function<void()>& work);
double median(std::vector<double>);
/// Milliseconds of each piece of work [work][round]: by the clock, and of all threads together.
struct Rounds {
    std::vector<std::vector<double>> wall, processor;
};
/// The pieces take turns, so that a busy machine slows all of them.
Rounds rounds_of(int rounds, const std::vector<std::function<void()>>& works, const CancelToken&);
std::vector<double> medians(const std::vector<std::vector<double>>&);
/// The medians by the clock of `rounds_of`.
std::vector<double> in_turns(int rounds, const std::vector<std::function<void()>>& works, const CancelToken&);
/// The first round touches memory and loads weights; it is not counted.
std::vector<double> warm_in_turns(const Subject&, const std::vector<std::function<void()>>& works);

/// Writes a model of GPT-2 small's shape (12 layers, 12 heads, width 768, context 2,048; 500 MB of fp32) with random weights from
/// a fixed seed into a folder. Its tokenizer knows the words w1 ... w50256, so that a text of N words has N tokens.
void write_random_gpt2(const std::filesystem::path& folder);
/// Two layers of SmolLM2-135M's shape (a Llama of 9 heads and 3 of keys, width 576) with 2,048 words, which repeat about as often
/// as those of English text, in the same way.
void write_random_llama(const std::filesystem::path& folder);

}  // namespace headlight::bench
