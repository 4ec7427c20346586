// SPDX-License-Identifier: GPL-3.0-or-later
// Views of predictions and their origin.
#pragma once

#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/analyze/prediction/refinement.h"
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
    analyze::LensRequest asked{};
    LensColor color = LensColor::probability;
};
void describe(Describes<LensViewOptions> auto& r, const auto& field) {
    describe(r.asked, field);
    field(Field{"shade", "Colour", "what the colour shows"}, r.color);
}
/// Opened: the candidates of this position in that layer are listed with their history.
std::unique_ptr<Figure> lens_view(TracePtr, std::optional<Position> opened, Layer, const LensViewOptions&,
                                  const CancelToken& = {}, const Progress& = {});

/// Direct logit attribution at a position (Elhage et al. 2021), with the sources of one head.
struct AttributionViewOptions {
    analyze::LogitRequest asked{};
    std::int64_t mlp = -1;  ///< whose neurons are listed; -1: of every layer
};
void describe(Describes<AttributionViewOptions> auto& r, const auto& field) {
    describe(r.asked, field);
    field(Field{"mlp", "Neurons of layer", "neurons are listed of this layer's MLP; -1: of every layer"}.within(-1, 4095), r.mlp);
}
std::unique_ptr<Figure> attribution_view(TracePtr, HeadId, Position, const AttributionViewOptions&, const CancelToken& = {},
                                         const Progress& = {});

/// The memories of an MLP at a token (Geva 2021).
/// `followed` is shown along the text; none: the strongest.
std::unique_ptr<Figure> mlp_view(TracePtr, Layer, Position, std::optional<Neuron> followed, const analyze::MemoriesRequest&,
                                 const CancelToken& = {}, const Progress& = {});

/// Geva's curves for the text, layer by layer (2021, section 5).
std::unique_ptr<Figure> refinement_view(TracePtr, const analyze::RefinementRequest&, const CancelToken&, const Progress&);

/// "·nurse", "·nurse − ·doctor"
QString logit_name(const trace::Trace&, const analyze::AttributionOptions&);
/// "·nurse"
QString token_word(const trace::Trace&, std::int64_t id);

/// How well every token was predicted and what comes next; of masked-word models: the candidates of one masked token.
std::unique_ptr<Figure> predictions_view(TracePtr, std::optional<Position>, std::int64_t top, const CancelToken&);

}  // namespace headlight::figure
