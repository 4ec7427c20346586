// SPDX-License-Identifier: GPL-3.0-or-later
// Scatter of heads and Clark's figures on a table made by hand.
#include "headlight/figure/heads/head_plots.h"
#include "figure/plot/plot_figure.h"
#include "headlight/base/error.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

namespace headlight::figure {
namespace head_plots_test {

using Eigen::MatrixXd;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const Style style;

std::shared_ptr<analyze::HeadTable> table(std::vector<std::pair<const char*, MatrixXd>> measures) {
    auto out = std::make_shared<analyze::HeadTable>();
    out->n_layers = measures.front().second.rows(), out->n_heads = measures.front().second.cols();
    for (auto& [id, values] : measures) {
        out->measures.push_back({id, std::string("title of ") + id, "", std::string(id) == "entropy" ? "nats" : "share", 0, 1});
        out->values.push_back(values);
    }
    return out;
}

const plot::PlotData& data_of(const Figure& figure) { return dynamic_cast<const plot::PlotFigure&>(figure).data(); }

TEST(HeadScatter, APointIsAHeadAndItsMeasures) {
    const auto figure = head_scatter(
        table({{"entropy", MatrixXd{{1, 2, 3}, {0.5, nan, 2.5}}}, {"share_self", MatrixXd{{.1, .2, .3}, {.4, .5, .6}}}}),
        {.x = "share_self", .y = "entropy", .color = "layer"});
    figure->layout({600, 400}, style, {});
    const auto& panel = dynamic_cast<plot::PlotFigure&>(*figure).frame().panels[0];
    const Hit hit = figure->hit_test(panel.at(0.3, 3), style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::head);
    EXPECT_EQ(hit.head, (HeadId{Layer(0), Head(2)}));
    EXPECT_EQ(hit.tip, QStringLiteral("L0H2  title of share_self 0.3000 · title of entropy 3.0000 nats"));
    EXPECT_EQ(figure->table().rows.size(), 6U);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(figure->table().rows[4][3]));
    EXPECT_THAT(data_of(*figure).note.toStdString(), testing::HasSubstr("1 of 6 heads"));
}

TEST(HeadScatter, UnknownMeasuresAreNamedWithThoseThatExist) {
    EXPECT_THAT(
        [] {
            head_scatter(table({{"entropy", MatrixXd{{1}}}}), {.x = "entrpy", .y = "entropy"});
        },
        testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("entrpy"), testing::HasSubstr("layer, head, entropy"))));
}

TEST(HeadScatter, OfSeveralBehavioursTheLaterRuleWins) {
    // Clark 2019, section 6: next, previous, entropy, first, special, punctuation
    const auto figure = head_scatter(table({{"entropy", MatrixXd{{4, 1, 4, 1}}},
                                            {"share_next", MatrixXd{{0.9, 0.6, 0, 0.5}}},
                                            {"share_special", MatrixXd{{0.7, 0, 0, 0.6}}}}),
                                     {.x = "entropy", .y = "share_next", .color = "behaviour"});
    std::map<std::int64_t, std::string> names;
    for (const plot::Series& s : data_of(*figure).panels[0].series)
        for (const HeadId& head : s.heads) names[head.head.value] = s.name.toStdString();
    EXPECT_EQ(names, (std::map<std::int64_t, std::string>{
                         {0, "special tokens > 0.6"}, {1, "next token > 0.5"}, {2, "entropy > 3.8 nats"}, {3, "other"}}));
}

TEST(ClarkKinds, DotsAndMeansOfWhatIsThere) {
    const auto figure =
        clark_kinds(table({{"share_first", MatrixXd{{0.2, 0.4}, {0.6, nan}}}, {"share_next", MatrixXd{{0, 0}, {0, 0.5}}}}));
    const auto& data = data_of(*figure);
    ASSERT_EQ(data.panels.size(), 2U);
    const auto& kinds = data.panels[0].series;
    ASSERT_EQ(kinds.size(), 2U) << "mean line and dots";
    EXPECT_THAT(kinds[0].y, testing::Pointwise(testing::DoubleEq(), {0.3, 0.6})) << "a head without the measure is no zero";
    EXPECT_EQ(data.panels[1].series.size(), 1U) << "no line for neighbours";
    EXPECT_THAT(data.note.toStdString(), testing::AllOf(testing::HasSubstr("special tokens"), testing::HasSubstr("[SEP]")));
    EXPECT_EQ(data.panels[0].series[1].color.role, plot::Color::Role::clark_red);
    figure->layout({900, 400}, style, {});
    const auto& drawn = dynamic_cast<plot::PlotFigure&>(*figure).frame().panels;
    EXPECT_GT(drawn[0].y.high, 0.6);
    EXPECT_EQ(drawn[1].y.high, drawn[0].y.high) << "shares are compared across panels";
}

TEST(ClarkKinds, WhatCannotBeAttendedToIsLeftOut) {
    const auto first = MatrixXd{{0.2, 0.4}, {0.6, 0.1}};
    const auto figure = clark_kinds(table({{"share_first", first},
                                           {"share_special", first},
                                           {"share_punctuation", MatrixXd{{0, 0}, {0, 0}}},
                                           {"share_next", MatrixXd{{0, 0}, {0, 0}}},
                                           {"share_self", first}}),
                                    1, true);
    const auto& data = data_of(*figure);
    ASSERT_EQ(data.panels.size(), 2U);
    EXPECT_EQ(data.panels[0].series.size(), 2U) << "the first token alone: mean line and dots";
    EXPECT_EQ(data.panels[1].series.size(), 1U);
    EXPECT_THAT(data.note.toStdString(),
                testing::AllOf(testing::HasSubstr("next token (the model is causal)"),
                               testing::HasSubstr("special tokens other than the first"), testing::HasSubstr("punctuation")));
}

TEST(ClarkGradients, AreThoseOfTheAnalysisByKindOfKey) {
    analyze::AttentionGradient of;
    of.loss = 2.5, of.predicted = 7;
    of.groups = {"first", "special", "punctuation", "other"};
    of.group_tokens = {1, 0, 2, 5};
    for (double scale : {1.0, 2.0, 3.0, 4.0}) of.gradient.push_back(scale * MatrixXd{{0.25, 0.75}, {0.5, 0.125}});
    const auto figure = clark_gradients(of);
    const auto& data = data_of(*figure);
    ASSERT_EQ(data.panels.size(), 1U);
    const auto& series = data.panels[0].series;
    ASSERT_EQ(series.size(), 6U) << "a line and dots for each kind that the text has";
    EXPECT_EQ(series[0].y, (std::vector<double>{0.5, 0.3125}));
    EXPECT_EQ(series[5].y, (std::vector<double>{1, 3, 2, 0.5}));
    EXPECT_EQ(series[5].color.role, plot::Color::Role::clark_grey);
    EXPECT_THAT(data.note.toStdString(), testing::HasSubstr("other special tokens"));
    EXPECT_THAT(data.subtitle.toStdString(), testing::HasSubstr("loss 2.5"));
}

TEST(ClarkEntropy, TheDashedLineIsUniformOverWhatAQueryMaySee) {
    EXPECT_DOUBLE_EQ(uniform_entropy(4, false), std::log(4.0));
    EXPECT_DOUBLE_EQ(uniform_entropy(3, true), (std::log(2.0) + std::log(3.0)) / 2);
    EXPECT_TRUE(std::isnan(uniform_entropy(1, true)));
    const auto figure = clark_entropy(table({{"entropy", MatrixXd{{1, 2}, {0.5, 1.5}}}}), 2.25);
    const auto& panel = data_of(*figure).panels[0];
    ASSERT_EQ(panel.references.size(), 1U);
    EXPECT_EQ(panel.references[0].at, 2.25);
    EXPECT_TRUE(panel.references[0].dashed);
    EXPECT_EQ(panel.series[0].y, (std::vector<double>{1.5, 1}));
    figure->layout({500, 300}, style, {});
    EXPECT_GT(dynamic_cast<plot::PlotFigure&>(*figure).frame().panels[0].y.high, 2.25) << "the line is in sight";
}

TEST(ClarkEntropy, NothingToSeeSaysSo) {
    const auto figure = clark_entropy(table({{"entropy", MatrixXd{{nan, nan}}}}), nan);
    EXPECT_FALSE(data_of(*figure).panels[0].empty.isEmpty());
    EXPECT_NO_THROW(figure->layout({500, 300}, style, {}));
}

}  // namespace head_plots_test
}  // namespace headlight::figure
