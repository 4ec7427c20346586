// SPDX-License-Identifier: GPL-3.0-or-later
// Views of predictions and their origin.
#pragma once

#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace headlight::figure {

/// The logit lens: a row per token, a column per layer (nostalgebraist 2020). Kept with the trace.
enum class LensColor { probability, rank, entropy, kl };
inline constexpr EnumRow<LensColor> lens_colors[] = {{LensColor::probability, "probability", "Probability of the top token"},
                                                     {LensColor::rank, "rank", "Rank of the watched token"},
                                                     {LensColor::entropy, "entropy", "Entropy"},
                                                     {LensColor::kl, "kl", "KL divergence to the output"}};
constexpr const auto& enum_rows(LensColor) { return lens_colors; }
struct LensViewOptions {
    analyze::StreamPlace at = analyze::StreamPlace::resid_post;
    LensColor color = LensColor::probability;
    std::optional<std::int64_t> watched{};  ///< for `rank`; none: the next token of the text
    std::string tuned{};                    ///< file of a tuned lens; empty: none
};
/// Opened: the candidates of this position in that layer are listed with their history.
std::unique_ptr<Figure> lens_view(TracePtr, std::optional<Position> opened, Layer, const LensViewOptions&,
                                  const CancelToken& = {}, const Progress& = {});

/// Direct logit attribution at a position (Elhage et al. 2021), with the sources of one head.
struct AttributionViewOptions {
    std::optional<std::int64_t> token{};  ///< none: the likeliest there
    std::optional<std::int64_t> minus{};
    std::optional<Layer> mlp{};  ///< whose neurons are listed; none: of every layer
};
std::unique_ptr<Figure> attribution_view(TracePtr, HeadId, Position, const AttributionViewOptions&, const CancelToken& = {},
                                         const Progress& = {});

/// The memories of an MLP at a token (Geva 2021).
enum class MlpOrder { strength, logit };
inline constexpr EnumRow<MlpOrder> mlp_orders[] = {{MlpOrder::strength, "strength", "What they write: |m| · |v|"},
                                                   {MlpOrder::logit, "logit", "What they add to the logit"}};
constexpr const auto& enum_rows(MlpOrder) { return mlp_orders; }
struct MlpViewOptions {
    bool gain = false;               ///< values read with the final norm's gain
    std::optional<Neuron> neuron{};  ///< shown along the text; none: the strongest
    MlpOrder order = MlpOrder::strength;
    std::optional<std::int64_t> token{};  ///< whose logit the memories add to; none: the likeliest there
    std::optional<std::int64_t> minus{};
};
std::unique_ptr<Figure> mlp_view(TracePtr, Layer, Position, const MlpViewOptions&, const CancelToken& = {}, const Progress& = {});

/// Geva's curves for the text, layer by layer (2021, section 5). `unembedding`: vectors are read without the final norm.
std::unique_ptr<Figure> refinement_view(TracePtr, bool unembedding, const CancelToken&, const Progress&);

/// The logit that is split: of `token`, else of the likeliest one at the position; with `minus` the difference to its logit.
analyze::AttributionOptions split_logit(const trace::Trace&, Position, std::optional<std::int64_t> token,
                                        std::optional<std::int64_t> minus);
/// "·nurse", "·nurse − ·doctor"
QString logit_name(const trace::Trace&, const analyze::AttributionOptions&);
/// "·nurse"
QString token_word(const trace::Trace&, std::int64_t id);

/// How well every token was predicted and what comes next; of masked-word models: the candidates of one masked token.
std::unique_ptr<Figure> predictions_view(TracePtr, std::optional<Position>, std::int64_t top, const CancelToken&);

}  // namespace headlight::figure
