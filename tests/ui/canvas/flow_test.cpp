// SPDX-License-Identifier: GPL-3.0-or-later
// Contribution graph, followed neurons and the prediction strip in the window.
#include "tests/ui/window_fixture.h"

#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"

#include <QScrollBar>
#include <QSlider>

namespace headlight::ui {

using figure::Hit;

/// The vertical bar takes its room from the layers, of which the last ones are in sight.
TEST_F(WindowTest, TheLastLayerStaysInSightWhenAVerticalBarComes) {
    ASSERT_TRUE(show_view("lens"));
    ASSERT_TRUE(trigger(Command::split));
    window.resize(1200, 900);
    const QScrollBar &across = *canvas().horizontalScrollBar(), &down = *canvas().verticalScrollBar();
    ASSERT_TRUE(wait_for([&] { return across.maximum() > 0 && down.maximum() == 0; }));
    ASSERT_EQ(across.value(), across.maximum());
    const int before = across.maximum();
    window.resize(1200, 480);
    ASSERT_TRUE(wait_for([&] { return down.maximum() > 0 && across.maximum() > before; }));
    EXPECT_EQ(across.value(), across.maximum());
    canvas().horizontalScrollBar()->setValue(3);
    window.resize(1200, 460);
    ASSERT_TRUE(settle());
    EXPECT_EQ(across.value(), 3) << "where the reader has scrolled to";
}

TEST_F(WindowTest, AClickOnALineOfTheGraphOpensItAndTheSliderMovesTheThreshold) {
    ASSERT_TRUE(show_view("contribution-graph"));
    const auto line = find(canvas(), [](const Hit& h) { return h.kind == Hit::Kind::option; });
    ASSERT_TRUE(line);
    move(*line);
    click(*line);
    ASSERT_TRUE(settle());
    const auto values = [&]() -> figure::ViewValues {
        const auto& all = window.document().options().values;
        return all.contains("contribution-graph") ? all.at("contribution-graph") : figure::ViewValues();
    };
    ASSERT_TRUE(values().contains("edge"));
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--edge ") + QString::fromStdString(values().at("edge"))));
    const std::int64_t layer = std::stoll(values().at("edge"));
    EXPECT_EQ(selected().focus.layer, Layer(layer)) << "its strongest head is in focus everywhere";
    const std::size_t before = canvas().shown()->table().rows.size();
    window.tool_row().view_options().click();
    QWidget* field = window.tool_row().options().field("least-share");
    ASSERT_TRUE(field);
    auto* slider = field->parentWidget()->findChild<QSlider*>();
    ASSERT_TRUE(slider && slider->isVisible());
    slider->setValue(30);
    window.tool_row().options().close();
    ASSERT_TRUE(settle());
    ASSERT_TRUE(values().contains("least-share"));
    EXPECT_NEAR(std::stod(values().at("least-share")), 0.002 * std::pow(250.0, 0.3), 1e-3);
    EXPECT_GT(canvas().shown()->table().rows.size(), before) << "a lower threshold leaves more parts";
}

TEST_F(WindowTest, TheNeuronsOfAClickedMlpComeIntoSight) {
    window.resize(1100, 640);
    ASSERT_TRUE(show_view("attribution"));
    const QScrollBar& bar = *canvas().verticalScrollBar();
    ASSERT_EQ(bar.value(), 0);
    const auto mlp = find(canvas(), [](const Hit& h) { return h.kind == Hit::Kind::option; });
    ASSERT_TRUE(mlp);
    move(*mlp);
    click(*mlp);
    ASSERT_TRUE(settle());
    EXPECT_GT(bar.value(), 0);
    EXPECT_TRUE(find(canvas(), [](const Hit& h) { return h.kind == Hit::Kind::dimension && h.neuron; }));
}

TEST_F(WindowTest, ANeuronThatIsClickedIsFollowedByTheOtherViews) {
    ASSERT_TRUE(show_view("mlp"));
    const auto row = find(canvas(), [](const Hit& h) { return h.kind == Hit::Kind::dimension && h.neuron; });
    ASSERT_TRUE(row);
    // Not the first row: that is the strongest one, shown without a click.
    const auto second = find(canvas(), [&](const Hit& h) {
        return h.neuron &&
               h.neuron != canvas().shown()->hit_test(canvas().to_figure(*row), canvas().style_in_use(), selected()).neuron;
    });
    ASSERT_TRUE(second);
    move(*second);
    click(*second);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(selected().neuron);
    const analyze::NeuronId id = *selected().neuron;
    EXPECT_EQ(id.layer, selected().layer);
    const auto followed = canvas().shown()->arrays().back().values;
    const auto expected = analyze::neuron_activations(*window.document().trace(), id.layer, id.neuron);
    ASSERT_EQ(followed.size(), static_cast<std::size_t>(expected.size()));
    EXPECT_NEAR(followed[4], expected[4], 1e-6);
    ASSERT_TRUE(show_view("drivers"));
    const QString name = QStringLiteral("L%1 neuron %2").arg(id.layer.value).arg(id.neuron.value);
    EXPECT_TRUE(canvas().shown()->title().endsWith(name)) << canvas().shown()->title().toStdString();
    // A head of an earlier layer keeps it.
    const auto head = find(canvas(), [](const Hit& h) { return h.kind == Hit::Kind::head && h.head->layer == Layer(0); });
    ASSERT_TRUE(head);
    move(*head);
    click(*head);
    ASSERT_TRUE(settle());
    EXPECT_EQ(selected().neuron, id);
    EXPECT_EQ(selected().focus.layer, Layer(0));
    EXPECT_TRUE(canvas().shown()->title().endsWith(name));
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--neuron %1:%2").arg(id.layer.value).arg(id.neuron.value)));
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_EQ(selected().neuron, id);
}

TEST_F(WindowTest, PredictionsStandUnderTheTokens) {
    TokenStrip& strip = window.prompt_bar().tokens();
    const int height = strip.height();
    EXPECT_TRUE(strip.prediction_text(Position(3)).isEmpty());
    ASSERT_TRUE(trigger(Command::predictions));
    EXPECT_GT(strip.height(), height);
    EXPECT_TRUE(window.prompt_bar().predictions().isChecked());
    const auto expected = analyze::predictions(*window.document().trace(), 3);
    EXPECT_TRUE(strip.prediction_text(Position(0)).isEmpty()) << "nothing stands before the first token";
    EXPECT_TRUE(strip.prediction_text(Position(3)).endsWith(QStringLiteral("rank %1").arg(expected[3].rank)));
    const std::string next = text::token_label(*window.document().trace()->tokenizer(), expected[3].next.front().id);
    EXPECT_TRUE(strip.prediction_tip(Position(3)).contains(QString::fromStdString(next)));
    ASSERT_TRUE(retype(QStringLiteral("The nurse was late.")));
    const auto again = analyze::predictions(*window.document().trace(), 1);
    EXPECT_TRUE(strip.prediction_text(Position(3)).endsWith(QStringLiteral("rank %1").arg(again[3].rank)));
    window.prompt_bar().predictions().click();
    EXPECT_EQ(strip.height(), height);
    EXPECT_TRUE(strip.prediction_text(Position(3)).isEmpty());
}

TEST_F(WindowTest, AMaskedWordModelIsAskedAboutThePinnedToken) {
    window.action(Command::predictions).trigger();
    ASSERT_TRUE(retype(QStringLiteral("the nurse sat")));  // short enough for the model
    window.open(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/bert-mlm"));
    ASSERT_TRUE(wait_for([&] { return window.document().trace()->config().mlm_head && window.jobs().idle(); }));
    ASSERT_TRUE(settle());
    TokenStrip& strip = window.prompt_bar().tokens();
    window.document().selection().pin_query(Position(2), false);
    if (selected().pinned_queries.empty()) window.document().selection().pin_query(Position(2), false);
    ASSERT_TRUE(settle());
    const auto found = analyze::masked_candidates(*window.document().trace(), Position(2), 1);
    EXPECT_TRUE(strip.prediction_tip(Position(2)).contains(QStringLiteral("rank %1").arg(found.rank)));
    EXPECT_TRUE(strip.prediction_tip(Position(3)).isEmpty());
}

TEST_F(WindowTest, AClassifierHasALineOfItsClasses) {
    window.action(Command::predictions).trigger();
    ASSERT_TRUE(retype(QStringLiteral("the cat sat")));
    window.open(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/class_heads/bert"));
    ASSERT_TRUE(wait_for([&] { return window.document().trace()->config().class_head.any() && window.jobs().idle(); }));
    ASSERT_TRUE(settle());
    const auto likeliest = analyze::class_predictions(*window.document().trace(), 1).front();
    const QString name =
        QString::fromStdString(window.document().trace()->config().labels[static_cast<std::size_t>(likeliest.id)]);
    EXPECT_TRUE(window.document().predictions().line().startsWith(name)) << window.document().predictions().line().toStdString();
    ASSERT_TRUE(show_view("predictions"));
    EXPECT_EQ(canvas().shown()->table().rows.size(), 3) << "a row a class";
}

}  // namespace headlight::ui
