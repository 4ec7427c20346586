// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/benchmark.h"

#include <functional>
#include <vector>

namespace headlight::cli {

/// "ui": every view of a finished trace painted into memory, without a window: first paint, pan, zoom and hover;
/// milliseconds, median and worst.
std::vector<trace::Measured> measure_figures(const trace::BenchmarkOptions&, const CancelToken&);

/// "measures": what every measure of every head costs over a traced pass that makes no overview, taken in turns, and
/// how much memory pass and measures need at their peak.
std::vector<trace::Measured> measure_heads(const trace::BenchmarkOptions&, const CancelToken&);

/// "tokenizer": MB/s of the model's tokenizer on one thread, on made-up running text from its own vocabulary.
std::vector<trace::Measured> measure_tokenizer(const trace::BenchmarkOptions&, const CancelToken&);

/// "prediction": logit lens, promoted tokens, attribution and contribution graph, beside their matrix products.
std::vector<trace::Measured> measure_prediction(const trace::BenchmarkOptions&, const CancelToken&);

/// "circuits": eigenvalues, diagonal ranks and composition scores from the weights, and a panel of importance.
std::vector<trace::Measured> measure_circuits(const trace::BenchmarkOptions&, const CancelToken&);

/// Median milliseconds of some works taken in turns, so that a busy machine slows all of them.
std::vector<double> in_turns(int rounds, const std::vector<std::function<void()>>& works, const CancelToken&);

}  // namespace headlight::cli
