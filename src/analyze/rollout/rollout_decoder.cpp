// SPDX-License-Identifier: GPL-3.0-or-later
// Rollout of a decoder that reads a source: what a state holds is partly of the target's input, partly of the source's.
#include "analyze/pattern/head_reader.h"
#include "analyze/rollout/joint_attention.h"
#include "headlight/base/error.h"

#include <cstdio>

namespace headlight::analyze {

Matrix mean_cross(const trace::Trace& cross, Layer layer) {
    Matrix sum = Matrix::Zero(cross.tokens(), cross.keys());
    for (std::int64_t h = 0; h < cross.config().n_heads; ++h) sum += pattern(cross, {layer, Head(h)}, {});
    return sum / static_cast<float>(cross.config().n_heads);
}

void check_decoder(const trace::Trace& trace, const RolloutOptions& options) {
    check_head(trace, {options.layer.value_or(Layer(0)), options.head.value_or(Head(0))});
    if (options.query) check_position(trace, *options.query, "query");
    if (options.by_receptive_field)
        throw Error(ErrorFacts{.problem = "A target that reads a source has no receptive field of its own text alone",
                               .item = "by_receptive_field",
                               .hint = "Choose the encoder, or a model of one stack"});
}

Rollout decoder_rollout(const trace::Trace& trace, const RolloutOptions& options, const CancelToken& cancel,
                        const Progress& progress) {
    check_decoder(trace, options);
    const trace::Trace& cross = *trace.part(model::Stack::cross);
    const std::int64_t last = options.layer ? options.layer->value : trace.config().n_layers - 1;
    // The encoder to its input: the same for every layer of the decoder.
    const Matrix encoder = options.of_source
                               ? rollout(*trace.part(model::Stack::encoder),
                                         {.layer = Layer(trace.part(model::Stack::encoder)->config().n_layers - 1)}, cancel)
                                     .maps[0]
                               : Matrix();
    Rollout out;
    Matrix target, source;
    double from_source = 0;
    for (std::int64_t l = 0; l <= last; ++l) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Rolling out", "layer", l, last + 1});
        const bool kept = !options.layer || l == last;
        Matrix own;
        if (kept && options.head) {
            const HeadId id{Layer(l), *options.head};
            own = options.of_source ? Matrix(pattern(cross, id, {}) * encoder) : head_pattern(trace, id);
            if (!options.of_source && l > 0) own = own * target;
        }
        const Matrix joint = joint_attention(trace, Layer(l));
        target = (l == 0 ? joint : Matrix(joint * target)) * 0.5F;
        if (options.of_source) {
            const Matrix read = mean_cross(cross, Layer(l)) * encoder;
            source = (l == 0 ? read : Matrix(joint * source + read)) * 0.5F;
        }
        from_source = 1 - target.cast<double>().rowwise().sum().mean();
        if (!kept) continue;
        if (!options.head) own = options.of_source ? source : target;
        if (options.query) own = Matrix(own.row(options.query->value));
        out.layers.emplace_back(l);
        out.maps.push_back(std::move(own));
    }
    char share[64];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * from_source);
    if (options.head)
        out.notes.push_back(options.of_source
                                ? "This cross-attention head's own pattern, through the encoder's layers to the source."
                                : "The last step is this head's own pattern, without the residual; the layers below are means.");
    else
        out.notes.push_back(
            options.of_source
                ? std::string(share) +
                      " of what the tokens hold is from the source, which this map shows; rows sum to their share."
                : std::string(share) +
                      " of what the tokens hold is from the source: rows sum to the rest. The cross attention's map shows it.");
    return out;
}

}  // namespace headlight::analyze
