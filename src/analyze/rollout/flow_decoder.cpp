// SPDX-License-Identifier: GPL-3.0-or-later
// Attention flow of a decoder that reads a source: one network of both texts.
#include "analyze/rollout/flow_decoder.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/rollout/joint_attention.h"
#include "analyze/rollout/max_flow.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>

namespace headlight::analyze {
namespace {

double questions(const BothTexts& size, const RolloutOptions& options) {
    const auto s = static_cast<double>(size.source), t = static_cast<double>(size.target);
    return options.query ? s + static_cast<double>(options.query->value + 1) : t * s + t * (t + 1) / 2;
}

void check_time(const trace::Trace& trace, const BothTexts& size, const RolloutOptions& options, std::int64_t last) {
    // Of each question: the numbers of all steps. An edge takes three times as long as in a causal text, where a question is of
    // half the tokens.
    const auto n = static_cast<double>(size.all());
    double steps = 0;
    for (std::int64_t l = options.layer ? last : 0; l <= last; ++l) steps += static_cast<double>(size.steps(l + 1));
    const double work = 3 * steps * n * n * questions(size, options);
    if (work <= most_flow_work) return;
    throw Error(ErrorFacts{
        .problem = "Attention flow of these texts would take too long: it is a maximum flow for every pair",
        .item = trace.config().name,
        .found = with_commas(size.source) + " tokens of the source, " + with_commas(size.target) + " of the target",
        .hint = options.query
                    ? "Take shorter texts, one layer, or rollout, which has no such limit"
                    : "Ask for one token (flow-paths) or one layer, take shorter texts, or rollout, which has no such limit"});
}

}  // namespace

BothTexts both_texts(const trace::Trace& decoder) {
    const trace::Trace& encoder = *decoder.part(model::Stack::encoder);
    return {.source = encoder.tokens(), .target = decoder.tokens(), .source_layers = encoder.config().n_layers};
}

std::vector<Matrix> joint_steps(const trace::Trace& decoder, std::int64_t last, const CancelToken& cancel, float passing) {
    const trace::Trace &encoder = *decoder.part(model::Stack::encoder), &cross = *decoder.part(model::Stack::cross);
    const BothTexts size = both_texts(decoder);
    const std::int64_t s = size.source, t = size.target;
    std::vector<Matrix> steps;
    const auto add = [&](bool of_source) -> Matrix& {
        cancel.throw_if_cancelled();
        steps.push_back(Matrix::Zero(size.all(), size.all()));
        // The text that this step is not of passes it as it is.
        (of_source ? steps.back().diagonal().tail(t) : steps.back().diagonal().head(s)).setConstant(passing);
        return steps.back();
    };
    for (std::int64_t l = 0; l < size.source_layers; ++l) add(true).topLeftCorner(s, s) = joint_attention(encoder, Layer(l));
    for (std::int64_t l = 0; l <= last; ++l) {
        add(false).bottomRightCorner(t, t) = joint_attention(decoder, Layer(l));
        Matrix& reading = add(false);
        reading.bottomLeftCorner(t, s) = mean_cross(cross, Layer(l)) * 0.5F;
        reading.diagonal().tail(t).setConstant(0.5F);
    }
    return steps;
}

Rollout decoder_flow(const trace::Trace& trace, const RolloutOptions& options, const CancelToken& cancel,
                     const Progress& progress) {
    check_decoder(trace, options);
    const BothTexts size = both_texts(trace);
    const std::int64_t last = options.layer ? options.layer->value : trace.config().n_layers - 1;
    check_time(trace, size, options, last);
    check_map_memory(trace, size.all(), size.steps(last + 1) + 2, "Take shorter texts");
    const std::vector<Matrix> steps = joint_steps(trace, last, cancel);
    const std::int64_t first = options.query ? options.query->value : 0, count = options.query ? 1 : size.target;
    const std::int64_t block = options.query ? 1 : 4 * at::get_num_threads();
    Rollout out;
    double from_source = 0;
    for (std::int64_t l = options.layer ? last : 0; l <= last; ++l) {
        Eigen::MatrixXd flow = Eigen::MatrixXd::Zero(count, size.all());
        for (std::int64_t begun = 0; begun < count; begun += block) {
            cancel.throw_if_cancelled();
            if (progress) progress({"Finding flows", "token", begun, count});
            // One query's inputs, or many queries, over the threads.
            const std::int64_t end = std::min(count, begun + block), questions = options.query ? size.all() : end;
            at::parallel_for(options.query ? 0 : begun, questions, 1, [&](std::int64_t from, std::int64_t to) {
                LayeredFlow network(steps, false);
                const auto ask = [&](std::int64_t row, std::int64_t input) {
                    cancel.throw_if_cancelled();
                    if (input > size.source + first + row) return;  // a later token of the target
                    flow(row, input) = network.largest(size.steps(l + 1), size.source + first + row, input);
                };
                for (std::int64_t k = from; k < to; ++k) {
                    if (options.query)
                        ask(0, k);
                    else
                        for (std::int64_t input = 0; input < size.all(); ++input) ask(k, input);
                }
            });
        }
        from_source = 0;
        for (Eigen::Index i = 0; i < flow.rows(); ++i) {
            flow.row(i) /= flow.row(i).sum();
            from_source += flow.row(i).head(size.source).sum() / static_cast<double>(flow.rows());
        }
        out.layers.emplace_back(l);
        out.maps.emplace_back((options.of_source ? flow.leftCols(size.source) : flow.rightCols(size.target)).cast<float>());
    }
    char share[64];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * from_source);
    out.notes.push_back("A row is divided by its sum over both texts: " + std::string(share) +
                        " of what can flow is from the source" +
                        (options.of_source ? ", which this map shows." : ". The cross attention's map shows it."));
    return out;
}

}  // namespace headlight::analyze
