// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/config.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headlight::trace {

/// One number that a benchmark found. `headlight bench --json` prints {"results": [{"benchmark", "tokens", "what",
/// "value", "unit"}, …]}, which bench/ reads.
struct Measured {
    std::string benchmark;    ///< "forward"
    std::int64_t tokens = 0;  ///< 0 where the length of a text plays no part
    std::string what;         ///< "share of matrix product"
    double value = 0;
    std::string unit;  ///< "GFLOP/s", "ms", "MB", "" for ratios
};

struct BenchmarkOptions {
    std::filesystem::path model_folder;
    std::vector<std::int64_t> tokens;  ///< empty: what the benchmark is defined for (512 and 1,024; memory also 2,048)
    int repeats = 7;                   ///< the median is reported
};

/// "forward": a traced pass with everything captured against a 2,048 x 2,048 matrix product, taken in turns.
/// "capture": everything captured against nothing captured, in turns; with and without the overview.
/// "memory":  bytes of a trace with everything captured.
/// "load":    opening the folder again with its files in the page cache.
/// "generate": the prompt of a continuation against the matrix product, a token behind it against reading as many numbers
///            as the model has weights; nothing for a model that does not continue texts.
std::vector<std::string> benchmark_names();

/// Error for an unknown name (with the known ones), and whatever loading and running can throw.
/// Lengths that the model does not take are left out.
std::vector<Measured> run_benchmark(const std::string& name, const BenchmarkOptions&, const CancelToken& = {},
                                    const Progress& = {});

/// A made-up text of exactly so many tokens, as every benchmark uses it.
Prompt benchmark_prompt(const text::Tokenizer&, std::int64_t tokens);
/// A finished run on a made-up text of exactly so many tokens, as every benchmark uses it.
std::shared_ptr<const Trace> benchmark_trace(const std::filesystem::path& model_folder, std::int64_t tokens,
                                             const CancelToken& = {});

/// Multiply-adds of one pass, counted twice and as if attention were dense. The embedding look-up counts nothing.
double forward_flops(const model::ModelConfig&, std::int64_t tokens);

}  // namespace headlight::trace
