// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of a corpus draw the numbers that they are given: where marks stand, what their tips say, and what is written.
#include "figure/corpus/corpus_figures.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/export/export.h"
#include "tests/figure/painting.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <map>
#include <vector>

namespace headlight::figure {
namespace corpus_numbers_test {

using corpus::Interval;

/// Centres of the marks with each tip: an interval has three, its ends and the mean.
using Marks = std::map<QString, std::vector<QPointF>>;
Marks marks_of(Figure& figure) {
    const QSizeF size = figure.layout({900, 0}, {}, {});
    Marks marks;
    each_hit(figure, QRectF({1, 1}, QPointF(size.width(), size.height())), 3, 3, [&](const Hit& hit) {
        if (hit.tip.isEmpty()) return;
        if (auto& at = marks[hit.tip]; std::ranges::find(at, hit.area.center()) == at.end()) at.push_back(hit.area.center());
    });
    for (auto& [tip, at] : marks) std::ranges::sort(at, {}, [](QPointF p) { return p.y(); });
    return marks;
}

/// Of the one tip with these words, from the top.
std::vector<QPointF> marks_with(const Marks& marks, const QString& words) {
    std::vector<std::vector<QPointF>> found;
    for (const auto& [tip, at] : marks)
        if (tip.contains(words)) found.push_back(at);
    if (found.size() == 1) return found.front();
    QStringList tips;
    for (const auto& [tip, at] : marks) tips << tip;
    ADD_FAILURE() << found.size() << " tips with " << words.toStdString() << " of " << tips.join(u'|').toStdString();
    return {{}, {}, {}};
}
QPointF mark_with(const Marks& marks, const QString& words) {
    const std::vector<QPointF> found = marks_with(marks, words);
    EXPECT_EQ(found.size(), 1u) << words.toStdString();
    return found.front();
}

/// Every text that an SVG file of the figure has.
QStringList written(Figure& figure) {
    const test::TempFolder folder;
    const std::string file = folder / "figure.svg";
    export_figure(figure, {}, {}, {}, file);
    QStringList texts;
    const QString svg = QString::fromStdString(test::slurp(file));
    static const QRegularExpression text(QStringLiteral(">([^<>]+)</text>"));
    for (auto it = text.globalMatch(svg); it.hasNext();) texts << it.next().captured(1).trimmed();
    return texts;
}

TEST(CorpusNumbers, DotsOfHeadsStandAtTheirValues) {
    std::vector<corpus::HeadAlignment> heads;
    const double values[] = {0.1, 0.2, 0.4, 0.3};
    for (std::int64_t h = 0; h < 4; ++h)
        heads.push_back({.head = {Layer(h / 2), Head(h % 2)},
                         .alignment = {values[h], values[h] - 0.05, values[h] + 0.05},
                         .base = 0.25,
                         .distance = {double(3 + h), double(2 + h), double(4 + h)}});
    const auto figure = alignment_figure(heads, QStringLiteral("tiny over 4 texts"));
    const auto marks = marks_of(*figure);
    const QPointF a = mark_with(marks, QStringLiteral("L0H0  0.100 (0.050 to 0.150) · even attention 0.250")),
                  b = mark_with(marks, QStringLiteral("L0H1  0.200 (0.150 to 0.250)")),
                  c = mark_with(marks, QStringLiteral("L1H0  0.400 (0.350 to 0.450)")),
                  d = mark_with(marks, QStringLiteral("L1H1  0.300 (0.250 to 0.350)"));
    EXPECT_EQ(a.x(), b.x());
    EXPECT_EQ(c.x(), d.x());
    EXPECT_GT(c.x(), a.x() + 20);
    const double tenth = a.y() - b.y();
    EXPECT_GT(tenth, 10) << "upwards";
    EXPECT_NEAR(b.y() - d.y(), tenth, 1.5);
    EXPECT_NEAR(d.y() - c.y(), tenth, 1.5);
    mark_with(marks, QStringLiteral("L1H1  6.000"));
    mark_with(marks, QStringLiteral("layer 0  mean 0.150"));
    const Table table = figure->table();
    ASSERT_EQ(table.rows.size(), 4u) << "the table of headlight corpus alignment";
    EXPECT_EQ(table.columns, corpus::table_of(heads).columns);
    EXPECT_EQ(table.rows, corpus::table_of(heads).rows);
}

TEST(CorpusNumbers, PartsOfSpeechHaveAPanelEachByFrequency) {
    // NOUN is tag 7, VERB 15, and PUNCT 12, which is the rarest of the three.
    std::vector<corpus::TagShare> shares;
    const std::map<std::size_t, double> rows = {{7, 50}, {15, 30}, {12, 5}};
    for (const auto& [tag, n] : rows) {
        shares.push_back({.head = {Layer(0), Head(0)}, .to = tag, .share = {n / 100, 0, 1}, .base = n / 200, .rows = 85});
        shares.push_back({.head = {Layer(0), Head(0)}, .from = tag, .share = {0.5, 0, 1}, .base = 0.5, .rows = n});
    }
    const auto figure = tags_figure(shares, {});
    const auto marks = marks_of(*figure);
    const QPointF noun = mark_with(marks, QStringLiteral("L0H0  0.500 (0.000 to 1.000) · even attention 0.250")),
                  verb = mark_with(marks, QStringLiteral("L0H0  0.300 (0.000 to 1.000) · even attention 0.150")),
                  punct = mark_with(marks, QStringLiteral("L0H0  0.050 (0.000 to 1.000) · even attention 0.025"));
    EXPECT_TRUE(noun.x() < verb.x() || noun.y() < verb.y());
    EXPECT_TRUE(verb.x() < punct.x() || verb.y() < punct.y());
    const QStringList texts = written(*figure);
    for (const char* name : {"NOUN", "VERB", "PUNCT"}) EXPECT_TRUE(texts.contains(QString::fromUtf8(name))) << name;
    EXPECT_EQ(figure->table().rows, corpus::table_of(shares).rows) << "the table of headlight corpus pos";
}

TEST(CorpusNumbers, ListsWriteMeansAndIntervals) {
    corpus::HeadMeans means;
    means.measures = {"entropy"};
    means.layers = 1, means.heads = 3, means.texts = 9;
    means.by_text = {{0.123, 0.101, 0.149}, {1.987, 1.876, 2.011}, {kNaN, kNaN, kNaN}};
    means.by_query = {0.321, 1.765, kNaN};
    means.with = {9, 8, 0};
    means.rows = {90, 80, 0};
    const QStringList texts = written(*interval_figure(means, "entropy", {}));
    for (const char* number : {"0.123", "0.101", "0.149", "0.321", "1.987", "1.876", "2.011", "1.765", "L0H0", "L0H1"})
        EXPECT_TRUE(texts.contains(QString::fromUtf8(number))) << number;
    EXPECT_LT(texts.indexOf(QStringLiteral("1.987")), texts.indexOf(QStringLiteral("0.123"))) << "largest first";
    EXPECT_FALSE(texts.contains(QStringLiteral("L0H2"))) << "it has no mean";
}

TEST(CorpusNumbers, RelationsArePercent) {
    corpus::RelationTable relations;
    corpus::RelationRow& obj = relations.rows.emplace_back();
    obj.relation = "obj";
    obj.head = {Layer(2), Head(1)};
    obj.best = true;
    obj.arcs = 400, obj.n = 300, obj.held_out_n = 140;
    obj.accuracy = {0.771, 0.742, 0.794};
    obj.held_out = {0.783, 0.7, 0.8};
    obj.baseline = 0.407;
    obj.offset = -2;
    relations.rows.push_back(corpus::RelationRow(obj));
    relations.rows.back().relation = "vocative";
    relations.rows.back().n = corpus::kFewArcs - 1;
    const QStringList texts = written(*relations_figure(relations, {}));
    for (const char* word : {"obj", "L2H1", "77.1", "74.2–79.4", "78.3", "40.7", "−2", "300", "75.0"})
        EXPECT_TRUE(texts.contains(QString::fromUtf8(word))) << word << " in " << texts.join(u'|').toStdString();
    EXPECT_FALSE(texts.contains(QStringLiteral("vocative"))) << "too few arcs";
}

/// The fill of the one text of an SVG.
QString fill_of(const QString& svg, const QString& text) {
    const QRegularExpression of(QStringLiteral("<text [^>]*fill=\"([^\"]*)\"[^>]*>%1</text>").arg(text));
    const auto match = of.match(svg);
    EXPECT_TRUE(match.hasMatch()) << text.toStdString();
    return match.captured(1);
}

TEST(CorpusNumbers, BestHeadsThatDoNotBeatTheirBaselineAreQuiet) {
    corpus::RelationTable relations;
    for (const Interval gain : {Interval{0.2, 0.1, 0.3}, Interval{0.01, -0.02, 0.04}, Interval{-0.1, -0.2, -0.05}}) {
        corpus::RelationRow& row = relations.rows.emplace_back();
        row.relation = "r" + std::to_string(relations.rows.size());
        row.head = {Layer(2), Head(std::ssize(relations.rows))};
        row.arcs = row.n = 300;
        row.baseline = 0.4;
        row.accuracy = {0.4 + gain.mean, 0.4 + gain.low, 0.4 + gain.high};
        row.gain = gain;
    }
    const test::TempFolder folder;
    const std::string file = folder / "figure.svg";
    export_figure(*relations_figure(relations, {}), {}, {}, {}, file);
    const QString svg = QString::fromStdString(test::slurp(file)), better = fill_of(svg, QStringLiteral("L2H1"));
    EXPECT_NE(fill_of(svg, QStringLiteral("L2H2")), better);
    EXPECT_NE(fill_of(svg, QStringLiteral("L2H3")), better);
}

TEST(CorpusNumbers, RemovalByLayerIsALineEach) {
    std::vector<corpus::LayerRemoval> layers;
    for (std::int64_t l = 0; l < 3; ++l) {
        corpus::LayerRemoval of{.layer = Layer(l), .neurons = 10, .triggers = 100, .change = {}};
        of.change[0] = {-0.1, -0.2, 0};
        of.change[1] = {-0.9 + 0.2 * static_cast<double>(l), -1, -0.3};
        of.change[2] = {-0.43, -0.46, -0.39};
        layers.push_back(of);
    }
    const auto figure = removal_figure(layers, {});
    const auto marks = marks_of(*figure);
    const auto first = marks_with(marks, QStringLiteral("layer 0  First token removed −0.100 (−0.200 to 0.000)")),
               last = marks_with(marks, QStringLiteral("layer 0  Last token removed −0.900 (−1.000 to −0.300)")),
               later = marks_with(marks, QStringLiteral("layer 2  Last token removed −0.500"));
    ASSERT_EQ(first.size(), 3u);
    ASSERT_EQ(last.size(), 3u);
    ASSERT_EQ(later.size(), 3u);
    const double unit = (last[1].y() - first[1].y()) / 0.8;
    EXPECT_GT(unit, 50) << "downwards";
    EXPECT_NEAR(last[2].y() - last[0].y(), 0.7 * unit, 2) << "the ends of the interval";
    EXPECT_NEAR(last[1].y() - later[1].y(), 0.4 * unit, 2);
    EXPECT_EQ(figure->table().rows, corpus::table_of(layers).rows);
}

TEST(CorpusNumbers, AgreementDrawsItsSharesAndParts) {
    std::vector<corpus::LayerAgreement> layers(2);
    layers[0].active = {0.25, 0.2, 0.3};
    layers[1].active = {0.5, 0.4, 0.6};
    for (std::size_t part = 0; part < 4; ++part) layers[0].parts[part] = layers[1].parts[part] = {0.25, 0.2, 0.3};
    EXPECT_TRUE(written(*agreement_figure(layers, {})).contains(QStringLiteral("thin lines: 95 % interval over texts")));
    std::vector<corpus::LayerAgreement> few = layers;
    for (auto& layer : few) layer.active.low = layer.active.high = kNaN;
    EXPECT_TRUE(written(*agreement_figure(few, {})).contains(QStringLiteral("no intervals: fewer than 5 texts")));
    const auto marks = marks_of(*agreement_figure(layers, {}));
    const auto low = marks_with(marks, QStringLiteral("layer 0  m > 0 0.250 (0.200 to 0.300)")),
               high = marks_with(marks, QStringLiteral("layer 1  m > 0 0.500 (0.400 to 0.600)"));
    ASSERT_EQ(low.size(), 3u);
    ASSERT_EQ(high.size(), 3u);
    EXPECT_GT(low[1].y(), high[1].y() + 10);
    EXPECT_NEAR(high[2].y() - high[0].y(), 2 * (low[2].y() - low[0].y()), 2) << "0.2 and 0.1 wide";
}

TEST(CorpusNumbers, TenthsOfValuesAreNoLayers) {
    corpus::ValueAgreement found;
    found.layers.resize(2);
    for (std::size_t l = 0; l < 2; ++l)
        found.layers[l] = {
            .neurons = 40, .triggered = 20, .agreeing = 5 + static_cast<std::int64_t>(5 * l), .rank = {0, 4, 9, 99, 500}};
    for (std::size_t i = 0; i < 10; ++i)
        found.by_probability[i] = {.lowest = 0.1 * static_cast<double>(i),
                                   .highest = 0.1 * static_cast<double>(i + 1),
                                   .triggered = 100,
                                   .agreeing = static_cast<std::int64_t>(i + 1)};
    const auto marks = marks_of(*values_figure(found, {}));
    const Interval last = found.by_probability[9].rate();
    const QString words =
        QStringLiteral("tenth 9  agree 0.100 (%1 to %2)").arg(number_text(last.low, 3), number_text(last.high, 3));
    EXPECT_EQ(marks_with(marks, words).size(), 3u);
    for (const auto& [tip, at] : marks) EXPECT_FALSE(tip.contains(QStringLiteral("layer 2"))) << "there are two layers";
    EXPECT_EQ(marks_with(marks, QStringLiteral("layer 1  median and quartiles 10.000 (5.000 to 100.000)")).size(), 3u);
}

TEST(CorpusNumbers, ControlsWithoutIntervalsShowNone) {
    corpus::ProbeResult probe{.task = "upos", .classes = {"NOUN", "VERB"}, .majority = 0.3, .most_frequent_label = 0.5};
    for (std::int64_t l = 0; l < 2; ++l) {
        corpus::LayerProbe& of = probe.layers.emplace_back();
        of.layer = l;
        of.accuracy = {0.8, 0.7, 0.9};
        of.control = 0.4, of.random_label = 0.2;
        of.code = {1000, 2.5};
        of.confusion.setConstant(2, 2, 1);
    }
    const auto marks = marks_of(*probe_figure(probe, {}, {}, {}));
    EXPECT_EQ(marks_with(marks, QStringLiteral("layer 0  probe 0.800 (0.700 to 0.900)")).size(), 3u);
    EXPECT_EQ(marks_with(marks, QStringLiteral("layer 0  control task 0.400")).size(), 1u);
    EXPECT_EQ(marks_with(marks, QStringLiteral("layer 1  random labels 0.200")).size(), 1u);
    for (const auto& [tip, at] : marks)
        EXPECT_FALSE(tip.contains(QStringLiteral("control task")) && tip.contains(u'(')) << tip.toStdString();
}

}  // namespace corpus_numbers_test
}  // namespace headlight::figure
