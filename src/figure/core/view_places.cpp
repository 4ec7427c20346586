// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/view_places.h"

namespace headlight::figure {

std::span<const ViewQuestion> view_questions() {
    static const std::vector<ViewQuestion> questions{
        {.title = "Where does it attend?",
         .places = {{.title = "Picture", .key = '0', .presets = {{"picture", "Picture"}}},
                    {.title = "Head", .key = '1', .presets = {{"head", "Lines from queries to keys"}}},
                    {.title = "Matrix",
                     .key = '2',
                     .presets = {{"matrix", "One head"},
                                 {"aggregate", "Heads combined"},
                                 {"focus-1", "Scores and their maxima"},
                                 {"compare-head", "One head in A and B"}}},
                    {.title = "All heads",
                     .key = '3',
                     .presets = {{"model", "Maps of all heads"}, {"compare-maps", "Differences of all heads"}}},
                    {.title = "Rollout & flow",
                     .presets = {{"rollout", "Rollout"},
                                 {"rollout-paths", "Rollout from a token"},
                                 {"flow", "Attention flow"},
                                 {"flow-paths", "Attention flow from a token"}}},
                    {.title = "Reach", .presets = {{"reach", "Reach"}}}}},
        {.title = "Why there?",
         .places = {{.title = "Why", .key = '9', .presets = {{"why", "Why"}}},
                    {.title = "Neuron", .key = '4', .presets = {{"neuron", "Neuron"}}},
                    {.title = "Terms",
                     .key = '5',
                     .presets = {{"focus-2", "Terms of the score"},
                                 {"focus-3", "Bias against position"},
                                 {"focus", "All ten figures of Focus"}}},
                    {.title = "Head circuit", .presets = {{"head-circuit", "Head circuit"}}},
                    {.title = "Composition", .presets = {{"composition", "Composition"}}}}},
        {.title = "What does it write?",
         .places = {{.title = "Updates",
                     .presets = {{"focus-7", "Magnitude"},
                                 {"focus-8", "Orientation"},
                                 {"focus-9", "Magnitude against orientation"},
                                 {"focus-10", "Magnitude over the text"}}},
                    {.title = "Contributions", .presets = {{"contribution-graph", "Contribution graph"}}},
                    {.title = "Copy suppression", .presets = {{"copy-suppression", "Copy suppression"}}}}},
        {.title = "Why this prediction?",
         .places = {{.title = "Predictions", .presets = {{"predictions", "Predictions"}}},
                    {.title = "Lens", .key = '6', .presets = {{"lens", "Lens"}, {"refinement", "Refinement by each layer"}}},
                    {.title = "Attribution", .key = '8', .presets = {{"attribution", "Attribution"}}},
                    {.title = "MLP",
                     .key = '7',
                     .presets = {{"mlp", "Memories of a layer"},
                                 {"drivers", "Drivers of a neuron"},
                                 {"neuron-map", "A neuron at all tokens"},
                                 {"experts", "Experts"}}},
                    {.title = "Importance",
                     .presets = {{"importance", "Of each head in this text"}, {"clark-gradients", "Gradients by layer"}}}}},
        {.title = "Compare heads",
         .places = {{.title = "Scatter",
                     .presets = {{"head-scatter", "Two measures"},
                                 {"focus-4", "Largest weight on itself"},
                                 {"focus-5", "Largest weight on the first token"},
                                 {"focus-6", "Largest minus second weight"},
                                 {"clark-kinds", "Attention to kinds of tokens"},
                                 {"clark-entropy", "Entropy by layer"}}},
                    {.title = "Sparse attention", .presets = {{"sparsity", "Sparse attention"}}},
                    {.title = "Differences", .presets = {{"compare-heads", "Heads that differ"}}},
                    {.title = "Layers", .presets = {{"compare-layers", "Layers that are alike"}}}}}};
    return questions;
}

const ViewQuestion& model_views() {
    static const ViewQuestion views{.title = "Model",
                                    .places = {{.title = "Architecture", .presets = {{"architecture", "Architecture"}}},
                                               {.title = "KV cache", .presets = {{"kv-cache", "KV cache"}}}}};
    return views;
}

std::optional<ViewSeat> seat_of(std::string_view view) {
    const auto questions = view_questions();
    for (std::size_t q = 0; q < questions.size(); ++q)
        for (std::size_t p = 0; p < questions[q].places.size(); ++p) {
            const auto& presets = questions[q].places[p].presets;
            for (std::size_t i = 0; i < presets.size(); ++i)
                if (presets[i].view == view) return ViewSeat{q, p, i};
        }
    return std::nullopt;
}

const ViewPlace& place_at(const ViewSeat& seat) { return view_questions()[seat.question].places[seat.place]; }

}  // namespace headlight::figure
