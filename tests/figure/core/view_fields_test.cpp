// SPDX-License-Identifier: GPL-3.0-or-later
// The options of every view, as they are described: each is read back as it was written, and is one option with those of its
// name.
#include "figure/core/view_fields.h"

#include "figure/circuit/circuit_views.h"
#include "figure/circuit/composition_graph.h"
#include "figure/contribution/contribution_views.h"
#include "figure/pattern/pattern_requests.h"
#include "figure/picture/picture_views.h"
#include "figure/prediction/prediction_views.h"
#include "figure/reach/reach_views.h"
#include "figure/rollout/rollout_views.h"
#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/analyze/sparsity/sparsity.h"
#include "headlight/analyze/why/why.h"
#include "headlight/figure/heads/head_plots.h"
#include "headlight/intervention/compare/layers.h"

#include <gtest/gtest.h>

#include <map>

namespace headlight::figure {
namespace {

/// Another value of the option than its default.
std::string other_value(const ViewOption& option) {
    switch (option.kind) {
        case OptionKind::flag: return "1";
        case OptionKind::choice: return option.choices[option.choices[0].first == option.initial ? 1 : 0].first;
        case OptionKind::integer:
        case OptionKind::number: {
            const double least = std::stod(option.initial) == option.low ? option.high : option.low;
            return option.kind == OptionKind::integer ? std::to_string(static_cast<std::int64_t>(least)) : field_words(least);
        }
        case OptionKind::text: break;
    }
    return option.list ? "1,3" : "7";
}

template <class Request>
void travels(const char* view, const Request& defaults = {}) {
    const ViewSpec& spec = view_spec(view);
    const std::vector<FieldValue> before = fields_of(defaults);
    ASSERT_EQ(before.size(), spec.options.size()) << view;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const ViewOption& option = spec.options[i];
        ViewState state;
        state.view = view;
        state.values[option.name] = other_value(option);
        EXPECT_NO_THROW(check_values(spec, state.values)) << view << " --" << option.name;
        const std::vector<FieldValue> now = fields_of(request_of<Request>(state, defaults));
        for (std::size_t k = 0; k < now.size(); ++k)
            EXPECT_EQ(now[k].words == before[k].words, k != i) << view << " --" << option.name << " and " << now[k].field.name;
    }
}

TEST(ViewFields, EveryOptionTravelsAlone) {
    travels<CombinedHeads>("head");
    travels<MatrixRequest>("matrix");
    travels<ModelRequest>("model");
    travels<NeuronViewOptions>("neuron");
    travels<RolloutViewOptions>("rollout");
    travels<RolloutViewOptions>("flow", {.flow = true});
    travels<PathsViewOptions>("rollout-paths");
    travels<AggregateRequest>("aggregate");
    travels<PictureViewOptions>("picture");
    travels<HeadScatterOptions>("head-scatter");
    travels<FocusFigureOptions>("focus");
    for (int i = 1; i <= 10; ++i)
        travels<FocusFigureOptions>(("focus-" + std::to_string(i)).c_str(), {.figure = i, .head = {}, .terms = {}});
    travels<LensViewOptions>("lens");
    travels<analyze::MemoriesRequest>("mlp");
    travels<AttributionViewOptions>("attribution");
    travels<analyze::RefinementRequest>("refinement");
    travels<analyze::PredictionsRequest>("predictions");
    travels<ContributionViewOptions>("contribution-graph");
    travels<DriversViewOptions>("drivers");
    travels<NeuronMapViewOptions>("neuron-map");
    travels<ExpertsViewOptions>("experts");
    travels<CircuitViewOptions>("head-circuit");
    travels<CompositionOptions>("composition");
    travels<analyze::CopySuppressionRequest>("copy-suppression");
    travels<ImportanceViewOptions>("importance");
    travels<analyze::SparsityOptions>("sparsity");
    travels<ReachViewOptions>("reach");
    travels<analyze::WhyRequest>("why");
    travels<analyze::KvCacheOptions>("kv-cache");
    travels<intervention::CompareOptions>("compare-head");
    travels<intervention::LayerOptions>("compare-layers");
}

TEST(ViewFields, OptionsOfOneNameAreOfOneKind) {
    std::map<std::string, const ViewOption*> known;
    for (const ViewSpec& spec : view_specs())
        for (const ViewOption& option : spec.options) {
            const ViewOption& first = *known.try_emplace(option.name, &option).first->second;
            EXPECT_EQ(option.kind, first.kind) << spec.id << " --" << option.name;
            EXPECT_EQ(option.choices, first.choices) << spec.id << " --" << option.name;
            EXPECT_FALSE(option.title.empty() || option.help.empty()) << spec.id << " --" << option.name;
        }
}

TEST(ViewFields, EarlierNamesAreRead) {
    const ViewValues values = renamed(view_spec("importance"), {{"shuffles", "7"}, {"target", "x"}});
    EXPECT_EQ(values, (ViewValues{{"permutations", "7"}, {"target", "x"}}));
    EXPECT_EQ(renamed(view_spec("predictions"), {{"candidates", "3"}}), (ViewValues{{"top", "3"}}));
}

}  // namespace
}  // namespace headlight::figure
