// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the map: drawn beside the window, linked with it, searched, drawn around.
#include "ui/map/map_window.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/style/widgets.h"

#include <QAccessible>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <QSettings>
#include <QSignalSpy>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headlight::ui {
namespace map_window_test {

class MapPage : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        window.action(Command::map).trigger();
        ASSERT_TRUE(window.map());
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.map(), longest_wait_ms));
        ASSERT_TRUE(drawn());
    }
    MapWindow& page() { return *window.map(); }
    bool drawn() {
        return wait_for([&] { return window.jobs().idle() && page().canvas().figure() && !page().settling(); });
    }
    const map::QueryKeyMap& shown() { return page().canvas().figure()->map(); }
    MapOrder of_texts(int count) {
        QString texts;
        for (int i = 0; i < count; ++i)
            texts += QStringLiteral("The doctor asked the nurse %1 times, and she answered, but never the same.\n").arg(i);
        MapOrder order = page().order();
        order.texts = folder.filePath(QStringLiteral("texts.txt"));
        EXPECT_TRUE(write_file(order.texts, texts.toUtf8()));
        return order;
    }
    /// A query or a key of the head that is shown, in the viewport.
    QPoint place(std::int32_t point) {
        const auto head = page().canvas().figure()->index_of(*page().canvas().look().single);
        return page().canvas().place_of({*head, point}).value_or(QPointF()).toPoint();
    }
    void press(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, modifiers, at);
    }
    void drag(const std::vector<QPointF>& way, Qt::KeyboardModifiers modifiers) {
        QWidget* viewport = page().canvas().viewport();
        const auto send = [&](QEvent::Type type, QPointF at, Qt::MouseButton button, Qt::MouseButtons buttons) {
            QMouseEvent event(type, at, viewport->mapToGlobal(at), button, buttons, modifiers);
            QCoreApplication::sendEvent(viewport, &event);
        };
        send(QEvent::MouseButtonPress, way.front(), Qt::LeftButton, Qt::LeftButton);
        for (const QPointF& at : way) send(QEvent::MouseMove, at, Qt::NoButton, Qt::LeftButton);
        send(QEvent::MouseButtonRelease, way.back(), Qt::LeftButton, Qt::NoButton);
    }
    std::vector<QPointF> around_everything() {
        const QRectF room = page().canvas().figure()->room().adjusted(1, 1, -1, -1);
        return {room.topLeft(), room.topLeft() + QPointF(20, 0), room.topRight(), room.bottomRight(), room.bottomLeft()};
    }
    QTemporaryDir folder;
};

TEST_F(MapPage, DrawsAllHeadsOfTheWindowsText) {
    EXPECT_EQ(shown().heads.size(), 48u);
    EXPECT_EQ(map::query_count(shown()), static_cast<std::size_t>(window.document().trace()->tokens()));
    for (const map::HeadMap& head : shown().heads) EXPECT_FALSE(head.trust.empty()) << "measured";
    EXPECT_GT(page().canvas().visible_heads().size(), 20u);
    EXPECT_FALSE(page().stop_button().isVisible());
    // Another text of the window is drawn as it comes.
    ASSERT_TRUE(retype(QStringLiteral("The nurse asked the doctor")));
    ASSERT_TRUE(drawn());
    EXPECT_EQ(map::query_count(shown()), static_cast<std::size_t>(window.document().trace()->tokens()));
}

TEST_F(MapPage, HeadsAreLinkedBothWays) {
    window.document().selection().focus_head({Layer(2), Head(3)});
    EXPECT_EQ(page().canvas().selection().focus, (HeadId{Layer(2), Head(3)}));
    EXPECT_FALSE(page().canvas().look().single);
    const auto at = page().canvas().middle_of({Layer(4), Head(5)});
    ASSERT_TRUE(at);
    press(at->toPoint());
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(5)}));
    QTest::mouseDClick(page().canvas().viewport(), Qt::LeftButton, {}, at->toPoint());
    ASSERT_TRUE(page().canvas().look().single);
    EXPECT_EQ(*page().canvas().look().single, (HeadId{Layer(4), Head(5)}));
    EXPECT_FALSE(page().canvas().look().chosen) << "a point that the first of the two clicks hit";
    page().canvas().setFocus();
    QTest::keyClick(&page(), Qt::Key_Right);
    EXPECT_EQ(*page().canvas().look().single, (HeadId{Layer(4), Head(6)}));
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(6)}));
    QTest::keyClick(&page(), Qt::Key_Up);
    EXPECT_EQ(selected().focus, (HeadId{Layer(3), Head(6)}));
    window.document().selection().focus_head({Layer(1), Head(1)});
    EXPECT_EQ(*page().canvas().look().single, (HeadId{Layer(1), Head(1)}));
    QTest::keyClick(&page(), Qt::Key_Escape);
    EXPECT_FALSE(page().canvas().look().single);
    EXPECT_TRUE(page().isVisible());
    QTest::keyClick(&page(), Qt::Key_Return);
    EXPECT_TRUE(page().canvas().look().single);
    QTest::keyClick(&page(), Qt::Key_Escape);
    QTest::keyClick(&page(), Qt::Key_Escape);
    EXPECT_EQ(window.page(), Page::map) << "Esc leaves no page";
}

TEST_F(MapPage, AClickedQueryShowsTheModelsAttention) {
    const HeadId head{Layer(4), Head(2)};
    page().show_head(head);
    ASSERT_TRUE(drawn());
    const auto& trace = window.document().trace();
    const std::int64_t query = trace->tokens() - 2;
    press(place(static_cast<std::int32_t>(query)));
    ASSERT_TRUE(drawn());
    ASSERT_TRUE(page().token_panel().point());
    // Points may lie upon each other: what was hit counts.
    const figure::MapToken token = figure::map_token(shown(), page().token_panel().point()->point);
    EXPECT_EQ(token.key ? selected().pinned_keys : selected().pinned_queries, std::vector{token.position()})
        << "the token is pinned in every view";
    if (!token.key) {
        const auto row = analyze::pattern_row(*trace, {head}, token.position().value, {});
        const auto& weights = page().token_panel().sentence().content().weights;
        ASSERT_EQ(std::ssize(weights), trace->tokens());
        for (std::int64_t k = 0; k < trace->tokens(); ++k) EXPECT_NEAR(weights[std::size_t(k)], row(0, k), 1e-6);
    }
    // Beside those to near points of what the pointer is at.
    const auto attention_lines = [&] {
        std::vector<figure::MapLine> lines = page().canvas().look().lines;
        std::erase_if(lines, [](const figure::MapLine& line) { return line.neighbour; });
        return lines;
    };
    EXPECT_EQ(attention_lines().size(), 2u);
    EXPECT_FALSE(page().token_panel().nearest().text().isEmpty());
    page().canvas().setFocus();
    const std::int32_t chosen = page().token_panel().point()->point;
    QTest::keyClick(&page(), Qt::Key_BracketLeft);
    EXPECT_EQ(page().token_panel().point()->point, chosen - 1);
    ASSERT_TRUE(drawn());
    page().token_panel().hide_first().setChecked(true);
    ASSERT_TRUE(drawn());
    const auto& without = page().token_panel().sentence().content().weights;
    EXPECT_EQ(without[0], 0.0F);
    page().token_panel().line_choice().setCurrentIndex(1);
    for (const figure::MapLine& line : attention_lines()) EXPECT_GE(line.weight, 0.05F);
}

TEST_F(MapPage, ATextOfAFileOpensInTheWindow) {
    page().draw(of_texts(12));
    ASSERT_TRUE(drawn());
    EXPECT_EQ(shown().tokens.names.size(), 12u);
    const HeadId head{Layer(3), Head(1)};
    page().show_head(head);
    // The token "·nurse" of the fifth text, as a key.
    const auto& tokens = shown().tokens;
    std::int32_t key = -1;
    for (std::size_t i = 0; i < tokens.tokens.size(); ++i)
        if (tokens.text[i] == 5 && figure::map_token_text(tokens.tokens[i]) == QStringLiteral("·nurse"))
            key = static_cast<std::int32_t>(i);
    ASSERT_GE(key, 0);
    const auto at = Position(tokens.position[static_cast<std::size_t>(key)]);
    Q_EMIT page().canvas().point_clicked(
        {*page().canvas().figure()->index_of(head), key + static_cast<std::int32_t>(tokens.tokens.size())});
    ASSERT_TRUE(drawn());
    page().token_panel().over_texts().setChecked(true);
    ASSERT_TRUE(drawn());
    EXPECT_TRUE(page().token_panel().note().text().contains(QStringLiteral("mean over 12 texts")))
        << page().token_panel().note().text().toStdString();
    page().token_panel().open_button().click();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.document().shown_prompt().text.contains(QStringLiteral("nurse 5 times")))
        << window.document().shown_prompt().text.toStdString();
    EXPECT_EQ(selected().pinned_keys, std::vector{at});
    EXPECT_EQ(window.document().trace()->encoding().tokens.at(static_cast<std::size_t>(at.value)),
              tokens.tokens.at(static_cast<std::size_t>(key)));
    EXPECT_EQ(selected().focus, head);
}

TEST_F(MapPage, ASearchMarksAndRanksHeads) {
    page().draw(of_texts(20));
    ASSERT_TRUE(drawn());
    const auto count = std::ranges::count_if(shown().tokens.tokens, [](const std::string& token) {
        return figure::map_token_text(token).remove(u'·').toLower() == QStringLiteral("the");
    });
    ASSERT_GT(count, 20);
    QTest::keyClicks(&page().search_field(), QStringLiteral("the"));
    ASSERT_TRUE(wait_for([&] { return page().found_heads().topLevelItemCount() == 48; }));
    ASSERT_TRUE(page().canvas().look().marked);
    EXPECT_EQ(std::ranges::count(*page().canvas().look().marked, 1), 2 * count);
    EXPECT_TRUE(page().search_note().text().startsWith(QStringLiteral("%1 queries and %1 keys").arg(count)));
    const QTreeWidgetItem* first = page().found_heads().topLevelItem(0);
    EXPECT_LE(first->text(1).toDouble(), page().found_heads().topLevelItem(47)->text(1).toDouble());
    Q_EMIT page().found_heads().itemActivated(page().found_heads().topLevelItem(0), 0);
    ASSERT_TRUE(page().canvas().look().single);
    EXPECT_EQ(figure::head_name(*page().canvas().look().single), first->text(0));
    // What cannot be read is said beside the field.
    choose_value(page().search_kind(), map::SearchKind::regex);
    page().search_field().setText(QStringLiteral("(the"));
    ASSERT_TRUE(wait_for([&] { return page().search_note().text().contains(QStringLiteral("regular expression")); }));
    EXPECT_EQ(page().found_heads().topLevelItemCount(), 0);
    EXPECT_FALSE(page().canvas().look().marked) << "no hits of the search before";
    // An emptied field takes its own hits away, and nothing else.
    page().search_field().setText(QStringLiteral("the"));
    ASSERT_TRUE(wait_for([&] { return page().found_heads().topLevelItemCount() == 48; }));
    Q_EMIT page().canvas().point_clicked({0, 3});
    page().search_field().clear();
    ASSERT_TRUE(wait_for([&] { return !page().canvas().look().marked; }));
    EXPECT_EQ(page().canvas().look().chosen, (figure::MapPoint{0, 3}));
}

TEST_F(MapPage, ALassoListsWhatIsInside) {
    page().draw(of_texts(20));
    ASSERT_TRUE(drawn());
    page().show_head(HeadId{Layer(2), Head(2)});
    // The keys alone: a lasso around all that is drawn has nothing but keys.
    page().show_action(0).setChecked(false);
    drag(around_everything(), Qt::ShiftModifier);
    ASSERT_TRUE(page().canvas().look().marked);
    const auto& marked = *page().canvas().look().marked;
    const auto queries = static_cast<std::ptrdiff_t>(map::query_count(shown()));
    EXPECT_EQ(std::count(marked.begin(), marked.begin() + queries, 1), 0);
    EXPECT_GT(std::count(marked.begin() + queries, marked.end(), 1), queries * 9 / 10);
    // The keys of one token: the rest are the other keys, since queries are hidden.
    std::vector<std::int32_t> nurses;
    for (std::size_t i = 0; i < shown().tokens.tokens.size(); ++i)
        if (figure::map_token_text(shown().tokens.tokens[i]) == QStringLiteral("·nurse"))
            nurses.push_back(static_cast<std::int32_t>(queries) + static_cast<std::int32_t>(i));
    ASSERT_EQ(nurses.size(), 20u);
    Q_EMIT page().canvas().lassoed(nurses);
    // Another kind of search has nothing to find: the field is empty.
    choose_value(page().search_kind(), map::SearchKind::substring);
    ASSERT_TRUE(wait_for([&] { return page().shares().topLevelItemCount() > 0; }));
    EXPECT_EQ(page().shares().topLevelItem(0)->text(0), QStringLiteral("·nurse"));
    EXPECT_EQ(page().shares().topLevelItem(0)->text(1), QStringLiteral("20"));
    EXPECT_EQ(page().shares().topLevelItem(0)->text(2), QStringLiteral("100 %"));
    EXPECT_EQ(page().shares().topLevelItem(0)->text(3), QStringLiteral("0.0 %"));
    EXPECT_TRUE(page().shares().findItems(QStringLiteral("keys"), Qt::MatchExactly).isEmpty());
    EXPECT_TRUE(page().canvas().look().marked);
    // Around nothing.
    const QRectF room = page().canvas().figure()->room();
    const QPointF corner = room.topLeft() + QPointF(2, 2);
    drag({corner, corner + QPointF(8, 0), corner + QPointF(8, 8)}, Qt::ShiftModifier);
    EXPECT_EQ(page().lasso_note().text(), QStringLiteral("The lasso contains no points."));
    EXPECT_FALSE(page().canvas().look().marked);
}

TEST_F(MapPage, ATypedSentenceStandsInEveryHead) {
    page().draw(of_texts(20));
    ASSERT_TRUE(drawn());
    // A text of the map: its points stand where the map has them.
    QTest::keyClicks(&page().typed_field(),
                     QStringLiteral("The doctor asked the nurse 3 times, and she answered, but never the same."));
    ASSERT_TRUE(wait_for([&] { return page().canvas().look().guests && window.jobs().idle(); }))
        << page().message().text().toStdString();
    const figure::MapGuests& guests = *page().canvas().look().guests;
    const auto first = static_cast<std::size_t>(std::ranges::find(shown().tokens.text, 3) - shown().tokens.text.begin());
    ASSERT_EQ(guests.points.size(), shown().heads.size());
    EXPECT_EQ(guests.tokens.at(2), shown().tokens.tokens.at(first + 2));
    for (std::size_t h = 0; h < guests.points.size(); ++h) {
        ASSERT_EQ(guests.points[h].size(), 4 * guests.tokens.size());
        for (std::size_t i = 0; i < 2 * guests.tokens.size(); ++i)
            ASSERT_NEAR(guests.points[h][i], shown().heads[h].points[2 * first + i], 1e-3) << h;
    }
    page().typed_field().clear();
    ASSERT_TRUE(wait_for([&] { return !page().canvas().look().guests; }));
}

TEST_F(MapPage, ASavedRunIsRefusedWithTheReasonAndTheMapStays) {
    const auto before = page().canvas().figure();
    window.open(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/attention/bert.npz"));
    ASSERT_TRUE(wait_for([&] { return window.document().model().reference.endsWith(QStringLiteral("bert.npz")); }));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(wait_for([&] { return !page().message().text().isEmpty(); }));
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("the model's weights"))) << page().message().text().toStdString();
    EXPECT_EQ(page().canvas().figure(), before);
}

TEST_F(MapPage, TheWheelGoesIntoAHeadAndOutAgain) {
    const HeadId head{Layer(3), Head(5)};
    QWidget* viewport = page().canvas().viewport();
    const auto roll = [&](int steps, bool until_it_changes = true) {
        const bool single = page().canvas().look().single.has_value();
        for (int i = 0; i < std::abs(steps); ++i) {
            const QPointF at = page().canvas().middle_of(head).value_or(QRectF(viewport->rect()).center());
            QWheelEvent event(at, viewport->mapToGlobal(at), {}, {0, steps > 0 ? 120 : -120}, Qt::NoButton, Qt::NoModifier,
                              Qt::NoScrollPhase, false);
            QCoreApplication::sendEvent(viewport, &event);
            if (until_it_changes && page().canvas().look().single.has_value() != single) return;
        }
    };
    roll(30);
    ASSERT_EQ(page().canvas().look().single, head);
    EXPECT_EQ(page().canvas().look().zoom, 1);
    roll(-30);
    ASSERT_FALSE(page().canvas().look().single);
    const QRectF cell = *page().canvas().area_of(head), room = page().canvas().figure()->room();
    EXPECT_TRUE(room.contains(cell.center())) << "the head that one comes from is in sight";
    EXPECT_GT(cell.height(), room.height() / 2);
    roll(-30, false);
    EXPECT_EQ(page().canvas().look().zoom, 1) << "and all heads after that";
}

TEST_F(MapPage, OneHeadIsTheSelectedOne) {
    window.document().selection().focus_head({Layer(1), Head(2)});
    MapOrder order = of_texts(30);
    order.one_head = true;
    order.gather.budget = 0;
    page().draw(order);
    ASSERT_TRUE(drawn());
    const auto only = [&] { return std::pair(shown().heads.size(), HeadId{shown().heads[0].layer, shown().heads[0].head}); };
    EXPECT_EQ(only(), std::pair(std::size_t{1}, HeadId{Layer(1), Head(2)}));
    EXPECT_EQ(shown().tokens.names.size(), 30u);
    EXPECT_EQ(page().canvas().look().single, (HeadId{Layer(1), Head(2)}));
    page().canvas().setFocus();
    QTest::keyClick(&page(), Qt::Key_Down);
    ASSERT_TRUE(drawn());
    EXPECT_EQ(only().second, (HeadId{Layer(2), Head(2)}));
    EXPECT_EQ(selected().focus, (HeadId{Layer(2), Head(2)}));
    window.document().selection().focus_head({Layer(5), Head(7)});
    ASSERT_TRUE(drawn());
    EXPECT_EQ(only().second, (HeadId{Layer(5), Head(7)}));
    QTest::keyClick(&page(), Qt::Key_Down);
    ASSERT_TRUE(drawn());
    EXPECT_EQ(only().second, (HeadId{Layer(5), Head(7)})) << "the last layer";
    EXPECT_TRUE(window.session().map.order.one_head);
    EXPECT_TRUE(window.session().map.order.gather.heads.empty());
}

TEST_F(MapPage, ASessionKeepsThePage) {
    MapOrder order = of_texts(6);
    order.options.projection = map::Projection::umap;
    order.options.preset = map::Preset::balanced;
    order.options.iterations = 30;
    order.options.dims = 3;
    order.options.seed = order.gather.seed = 4;
    order.gather.budget = 90;
    page().draw(order);
    ASSERT_TRUE(drawn());
    page().show_head(HeadId{Layer(2), Head(6)});
    choose_value(page().color(), figure::MapColor::position);
    page().show_action(1).setChecked(false);
    page().canvas().turn_by(30, 10);
    choose_value(page().search_kind(), map::SearchKind::substring);
    page().search_field().setText(QStringLiteral("urs"));
    page().typed_field().setText(QStringLiteral("A nurse asked."));
    ASSERT_TRUE(wait_for([&] { return page().canvas().look().marked && page().canvas().look().guests; }));
    const QString file = folder.filePath(QStringLiteral("map.headlight"));
    const Session saved = window.session();
    save_session(saved, file.toStdString());
    EXPECT_EQ(load_session(file.toStdString()), saved);
    const std::vector<float> before = shown().heads.at(22).points;

    window.show_page(Page::text);
    EXPECT_EQ(window.session().map.order, saved.map.order) << "another page changes nothing";
    EXPECT_EQ(window.session().page, Page::text);
    window.action(Command::map).trigger();
    choose_value(page().method(), map::Projection::pca);
    page().search_field().clear();
    window.show_page(Page::text);

    window.open(file);
    ASSERT_TRUE(wait_for([&] { return window.page() == Page::map; }));
    ASSERT_TRUE(drawn());
    ASSERT_TRUE(wait_for([&] { return page().canvas().look().marked && page().canvas().look().guests; }));
    EXPECT_FALSE(window.document().modified()) << "opening it changes nothing";
    EXPECT_EQ(window.session().map, saved.map);
    EXPECT_EQ(page().method().currentData().toInt(), static_cast<int>(map::Projection::umap));
    EXPECT_EQ(page().color().currentData().toInt(), static_cast<int>(figure::MapColor::position));
    EXPECT_FALSE(page().show_action(1).isChecked());
    EXPECT_EQ(page().canvas().look().single, (HeadId{Layer(2), Head(6)}));
    EXPECT_EQ(page().canvas().look().yaw, 30);
    EXPECT_EQ(shown().heads.at(22).points, before) << "the same picture";
    page().show_action(1).setChecked(true);
    EXPECT_TRUE(window.document().modified());

    for (const auto& [from, to, item] :
         {std::tuple("\"dims\": 3", "\"dims\": 4", "dims"), std::tuple("\"method\": \"umap\"", "\"method\": \"map\"", "method"),
          std::tuple("\"zoom\": 1.0", "\"zoom\": -1", "zoom"),
          std::tuple("\"sentence\": \"A nurse asked.\"", "\"sentence\": 3", "sentence")}) {
        std::string text = to_json(saved);
        const std::size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        text.replace(at, std::string_view(from).size(), to);
        try {
            session_from_json(text, "a.headlight");
            ADD_FAILURE() << item;
        } catch (const Error& error) {
            EXPECT_EQ(error.facts().item, item);
        }
    }
}

TEST_F(MapPage, EscEndsALassoThatIsBeingDrawn) {
    page().show_head(HeadId{Layer(2), Head(2)});
    QWidget* viewport = page().canvas().viewport();
    const QRectF room = page().canvas().figure()->room();
    const auto send = [&](QEvent::Type type, QPointF at, Qt::MouseButton button, Qt::MouseButtons buttons) {
        QMouseEvent event(type, at, viewport->mapToGlobal(at), button, buttons, Qt::ShiftModifier);
        QCoreApplication::sendEvent(viewport, &event);
    };
    send(QEvent::MouseButtonPress, room.center(), Qt::LeftButton, Qt::LeftButton);
    for (const double by : {20.0, 60.0}) send(QEvent::MouseMove, room.center() + QPointF(by, by), Qt::NoButton, Qt::LeftButton);
    ASSERT_FALSE(page().canvas().look().lasso.empty());
    QTest::keyClick(&page(), Qt::Key_Escape);
    ASSERT_TRUE(page().canvas().look().lasso.empty());
    send(QEvent::MouseMove, room.topRight(), Qt::NoButton, Qt::LeftButton);
    send(QEvent::MouseButtonRelease, room.topRight(), Qt::LeftButton, Qt::NoButton);
    EXPECT_TRUE(page().canvas().look().lasso.empty());
    EXPECT_NE(page().lasso_note().text(), QStringLiteral("The lasso contains no points."));
    EXPECT_TRUE(page().canvas().look().single) << "Esc ended the lasso alone";
}

TEST_F(MapPage, SettlesPausesAndStops) {
    MapOrder order = of_texts(30);
    order.options.projection = map::Projection::tsne;
    order.options.iterations = 100'000;  // never ends by itself
    page().draw(order);
    const auto settling = [&] {
        return page().canvas().figure() && shown().projection == map::Projection::tsne &&
               std::ranges::any_of(shown().heads, [](const map::HeadMap& head) { return head.iterations > 0; });
    };
    ASSERT_TRUE(wait_for(settling)) << page().message().text().toStdString();
    const auto most = [&] { return std::ranges::max(shown().heads, {}, &map::HeadMap::iterations).iterations; };
    page().pause_button().click();
    EXPECT_EQ(page().pause_button().text(), QStringLiteral("Go on"));
    // Steps under way may still end; then nothing moves for 300 ms.
    const auto sum = [&] {
        int iterations = 0;
        for (std::size_t i = 0; i < page().running()->heads(); ++i) iterations += page().running()->head(i).iterations;
        return iterations;
    };
    QElapsedTimer still;
    still.start();
    int last = sum();
    ASSERT_TRUE(wait_for([&] {
        if (const int now = sum(); now != last) {
            last = now;
            still.restart();
        }
        return still.elapsed() >= 300;
    }));
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::map)) << "paused, not over";
    page().pause_button().click();
    const int before = most();
    ASSERT_TRUE(wait_for([&] { return most() > before; }));
    page().stop_button().click();
    EXPECT_FALSE(window.jobs().busy(Jobs::Lane::map));
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped")));
    EXPECT_TRUE(page().canvas().figure());
    EXPECT_TRUE(page().pause_button().isVisible()) << "it can go on";
    page().pause_button().click();
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::map));
    // Another map that cannot be drawn leaves this one as it is, and it can go on.
    order.texts = folder.filePath(QStringLiteral("none.txt"));
    page().draw(order);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("none.txt"))) << page().message().text().toStdString();
    EXPECT_TRUE(page().pause_button().isVisible());
    page().pause_button().click();
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::map));
    window.show_page(Page::text);
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::map)) << "the page works on while another is shown";
    page().stop();
    EXPECT_FALSE(window.jobs().busy(Jobs::Lane::map));
}

TEST_F(MapPage, BadInputIsSaidAndTheMapStays) {
    MapOrder order = page().order();
    order.texts = folder.filePath(QStringLiteral("none.txt"));
    page().draw(order);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("none.txt"))) << page().message().text().toStdString();
    EXPECT_EQ(page().message().property("role").toString(), QStringLiteral("error"));
    EXPECT_FALSE(window.error_panel().isVisible()) << "said once, on the page";
    EXPECT_TRUE(page().canvas().figure());
    EXPECT_TRUE(page().order().texts.isEmpty()) << "what is on screen";
    order = of_texts(3);
    order.gather.budget = 5;
    page().draw(order);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("No text fits"))) << page().message().text().toStdString();
    // One token: nothing to lay out, but nothing breaks.
    ASSERT_TRUE(retype(QStringLiteral("a")));
    ASSERT_TRUE(drawn());
    EXPECT_LE(map::query_count(shown()), 2u);
}

TEST_F(MapPage, ThreeDimensionsTurnAndFilesKeepTheAngle) {
    page().dims().setCurrentIndex(1);
    ASSERT_TRUE(wait_for([&] { return page().canvas().solid() && window.jobs().idle(); }));
    page().show_head(HeadId{Layer(0), Head(0)});
    const QPointF middle = page().canvas().figure()->room().center();
    drag({middle, middle + QPointF(30, 10), middle + QPointF(100, 40)}, {});
    EXPECT_NEAR(page().canvas().look().yaw, 40, 4);
    EXPECT_NEAR(page().canvas().look().pitch, 16, 4);
    // The dialog of every figure writes it, with a command that has the angle.
    page().canvas().edit([](figure::MapLook& look) { look.yaw = 40, look.pitch = 16; });
    page().export_button().click();
    auto* dialog = page().findChild<ExportDialog*>();
    ASSERT_TRUE(dialog);
    EXPECT_TRUE(dialog->file().text().startsWith(QStringLiteral("novella-7m-map-L0H0"))) << dialog->file().text().toStdString();
    dialog->format().setCurrentIndex(dialog->format().findData(QStringLiteral("svg")));
    const QString file = folder.filePath(QStringLiteral("map.svg"));
    dialog->file().setText(file);
    QSignalSpy written(dialog, &ExportDialog::written);
    dialog->write();
    ASSERT_TRUE(wait_for([&] { return written.count() == 1; }));
    ASSERT_TRUE(settle());
    QSettings().remove(QStringLiteral("export"));  // as other tests expect it
    EXPECT_TRUE(page().message().text().contains(file)) << page().message().text().toStdString();
    QFile picture(file);
    ASSERT_TRUE(picture.open(QIODevice::ReadOnly));
    const QByteArray svg = picture.readAll();
    EXPECT_TRUE(svg.contains("--dims 3")) << "the command";
    EXPECT_TRUE(svg.contains("--yaw 40"));
    EXPECT_TRUE(svg.contains("--layer 0 --head 0"));
    const figure::Table rows = page().exportable().figure({})->table();
    EXPECT_EQ(rows.columns.at(8), "z");
    EXPECT_EQ(rows.rows.size(), map::point_count(shown())) << "of the head that is shown";
}

TEST_F(MapPage, ArrowsReachPointsAndScreenReadersTheirNumbers) {
    QAccessibleInterface* map = QAccessible::queryAccessibleInterface(&page().canvas());
    ASSERT_TRUE(map);
    ASSERT_EQ(map->childCount(), 48);
    const QString head = map->child(9)->text(QAccessible::Name);
    EXPECT_TRUE(head.startsWith(QStringLiteral("L1H1, faithfulness "))) << head.toStdString();
    EXPECT_TRUE(map->rect().contains(map->child(9)->rect()));
    map->child(9)->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    EXPECT_EQ(selected().focus, (HeadId{Layer(1), Head(1)}));
    page().canvas().setFocus();
    QTest::keyClick(&page(), Qt::Key_Return);
    ASSERT_TRUE(page().canvas().look().single);
    ASSERT_EQ(map->childCount(), static_cast<int>(map::point_count(shown())));
    // The first key takes the point nearest to the middle, each further one the nearest on its side.
    QTest::keyClick(&page(), Qt::Key_Right, Qt::ControlModifier);
    ASSERT_TRUE(page().canvas().look().chosen);
    const std::size_t index = page().canvas().look().chosen->head;
    for (const auto& [key, way] : {std::pair{Qt::Key_Up, QPointF(0, -1)}, std::pair{Qt::Key_Left, QPointF(-1, 0)}}) {
        const std::int32_t before = page().canvas().look().chosen->point;
        const QPointF from = *page().canvas().place_of({index, before});
        std::pair<double, std::int32_t> nearest(1e300, before);
        for (std::int32_t i = 0; i < map->childCount(); ++i) {
            const QPointF by = *page().canvas().place_of({index, i}) - from;
            const double along = by.x() * way.x() + by.y() * way.y(), across = by.x() * way.y() - by.y() * way.x();
            if (along > 0 && std::abs(across) <= along) nearest = std::min(nearest, {std::hypot(by.x(), by.y()), i});
        }
        QTest::keyClick(&page(), key, Qt::ControlModifier);
        EXPECT_EQ(page().canvas().look().chosen->point, nearest.second);
    }
    const int chosen = page().canvas().look().chosen->point;
    const figure::MapToken token = figure::map_token(shown(), chosen);
    EXPECT_TRUE(map->child(chosen)->state().selected);
    const QString name = map->child(chosen)->text(QAccessible::Name);
    EXPECT_TRUE(name.startsWith(
        QStringLiteral("L1H1, %1 %2 (%3)")
            .arg(token.key ? QStringLiteral("key") : QStringLiteral("query"), figure::map_token_text(token.of.tokens[token.at]))
            .arg(token.position().value)))
        << name.toStdString();
    EXPECT_TRUE(name.contains(QStringLiteral("length "))) << name.toStdString();
    const QPoint place = page().canvas().viewport()->mapToGlobal(page().canvas().place_of({index, chosen})->toPoint());
    EXPECT_TRUE(map->child(chosen)->rect().contains(place));
    QTest::keyClick(&page(), Qt::Key_Right);
    EXPECT_EQ(selected().focus, (HeadId{Layer(1), Head(2)})) << "arrows alone still go to the next head";
}

TEST_F(MapPage, EveryColourAndSwitchPaints) {
    for (const auto single : {std::optional<HeadId>(), std::optional(HeadId{Layer(1), Head(1)})}) {
        page().show_head(single);
        for (int i = 0; i < page().color().count(); ++i) {
            page().color().setCurrentIndex(i);
            EXPECT_EQ(static_cast<int>(page().canvas().look().color), page().color().currentData().toInt());
            const QImage image = page().canvas().viewport()->grab().toImage();
            EXPECT_FALSE(image.isNull());
        }
        for (std::size_t i = 0; i < 6; ++i) {
            page().show_action(i).toggle();
            page().canvas().viewport()->grab();
        }
    }
}

}  // namespace map_window_test
}  // namespace headlight::ui
