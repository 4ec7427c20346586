// SPDX-License-Identifier: GPL-3.0-or-later
// Questions, pills, presets and chips above the views.
#include "tests/ui/window_fixture.h"

#include <QSettings>

namespace headlight::ui {
namespace views_test {

class ViewsTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        window.activateWindow();  // else that comes later, and closes a popover
        ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    }
    ViewPills& views() { return window.tool_row().views(); }
    SubjectChips& chips() { return window.tool_row().subject(); }
    const View& shown() { return window.document().views().left; }
    std::string value(const View& view, const std::string& option) {
        return view_value(window.document().options(), view, *figure::view_spec(view).option(option));
    }
    bool has(const View& view) { return views().why_not(view).isEmpty(); }
};

TEST_F(ViewsTest, EveryViewIsTwoClicksAway) {
    const auto questions = figure::view_questions();
    std::size_t reached = 0;
    for (std::size_t q = 0; q < questions.size(); ++q)
        for (const figure::ViewPlace& place : questions[q].places) {
            const View& view = place.presets.front().view;
            if (!has(view)) continue;
            ASSERT_TRUE(show_view(q == 0 ? "lens" : "head"));
            views().question(q).click();
            ASSERT_TRUE(views().pill(view).isVisible()) << view;
            if (shown() != view) views().pill(view).click();
            EXPECT_EQ(shown(), view);
            ASSERT_TRUE(settle());
            ++reached;
        }
    EXPECT_GE(reached, 18u);
}

TEST_F(ViewsTest, AQuestionOpensTheViewThatWasLastUsedUnderIt) {
    ASSERT_TRUE(show_view("attribution"));
    views().question(0).click();
    EXPECT_EQ(shown(), "head");
    views().pill("matrix").click();
    views().question(3).click();
    EXPECT_EQ(shown(), "attribution");
    views().question(0).click();
    EXPECT_EQ(shown(), "matrix");
    EXPECT_TRUE(views().question(0).isChecked());
    EXPECT_FALSE(views().question(3).isChecked());
    ASSERT_TRUE(settle());
}

TEST_F(ViewsTest, ThePillOfAViewHasItsPresets) {
    ASSERT_TRUE(show_view("head-scatter"));
    QMenu* menu = views().preset_menu("head-scatter");
    ASSERT_EQ(menu->actions().size(), 6);
    EXPECT_TRUE(menu->actions()[0]->isChecked());
    for (QAction* entry : menu->actions())
        if (entry->data() == QStringLiteral("focus-5")) entry->trigger();
    EXPECT_EQ(shown(), "focus-5");
    EXPECT_TRUE(views().pill("focus-5").isChecked());
    EXPECT_EQ(&views().pill("focus-5"), &views().pill("head-scatter"));
    EXPECT_TRUE(views().pill("focus-5").text().startsWith(QStringLiteral("Scatter: "))) << "which preset it is";
    ASSERT_TRUE(settle());
    for (const QAction* entry : views().preset_menu("mlp")->actions())
        if (entry->data() == QStringLiteral("experts")) {
            EXPECT_FALSE(entry->isEnabled());
            EXPECT_TRUE(entry->toolTip().contains(QStringLiteral("no experts"))) << entry->toolTip().toStdString();
        }
}

TEST_F(ViewsTest, WhatIsNotThereIsGreyAndSaysWhy) {
    EXPECT_FALSE(views().pill("compare-heads").isEnabled());
    EXPECT_TRUE(views().pill("compare-heads").toolTip().contains(QStringLiteral("two runs")));
    EXPECT_FALSE(views().pill("picture").isVisible());
    ASSERT_TRUE(trigger(Command::compare_bias));
    EXPECT_TRUE(views().pill("compare-heads").isEnabled());
}

TEST_F(ViewsTest, DigitsOpenAPlaceAndThenItsNextPreset) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    const auto press = [&](Qt::Key key) {
        QTest::keyClick(&canvas(), key);
        return shown();
    };
    EXPECT_EQ(press(Qt::Key_2), "matrix");
    EXPECT_EQ(press(Qt::Key_2), "aggregate");
    EXPECT_EQ(press(Qt::Key_8), "attribution");
    EXPECT_EQ(press(Qt::Key_2), "aggregate") << "where it was left";
    EXPECT_EQ(press(Qt::Key_4), "neuron");
    QTest::keyClick(&canvas(), Qt::Key_5, Qt::AltModifier);
    EXPECT_EQ(shown(), "head-scatter");
    ASSERT_TRUE(settle());
}

/// Sessions name views by their ids, those of before too.
TEST_F(ViewsTest, EveryIdOfASessionOpensItsPlace) {
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        if (!has(spec.id)) continue;
        Session session = window.session();
        session.views.left = spec.id;
        session.page = Page::text;
        window.apply_session(session);
        ASSERT_TRUE(settle()) << spec.id;
        if (figure::seat_of(spec.id)) {
            EXPECT_EQ(window.page(), Page::text) << spec.id;
            EXPECT_EQ(shown(), spec.id);
            EXPECT_TRUE(views().pill(spec.id).isChecked()) << spec.id;
        } else {
            EXPECT_EQ(window.page(), Page::model) << spec.id;
            EXPECT_EQ(window.model_page().pane().view(), spec.id);
            EXPECT_NE(shown(), spec.id);
        }
    }
}

TEST_F(ViewsTest, InANarrowWindowQuestionsAreAListAndPillsFold) {
    window.resize(900, 600);
    ASSERT_TRUE(show_view("attribution"));
    EXPECT_FALSE(views().questions().isVisible());
    EXPECT_TRUE(views().question_list().isVisible());
    EXPECT_EQ(views().question_list().text(), QStringLiteral("Why this prediction?"));
    EXPECT_TRUE(views().pill("attribution").isVisible());
    for (const figure::ViewPlace& place : figure::view_questions()[3].places) {
        QToolButton& pill = views().pill(place.presets.front().view);
        if (!pill.isVisible()) continue;
        EXPECT_GE(pill.width(), pill.sizeHint().width()) << place.title << " is cut";
    }
    if (views().more().isVisible()) {
        QAction* folded = nullptr;
        for (QAction* entry : views().more().menu()->actions())
            if (entry->isVisible()) folded = entry;
        ASSERT_TRUE(folded);
        folded->trigger();
        EXPECT_NE(shown(), "attribution");
    }
    window.resize(1440, 900);
    EXPECT_TRUE(views().questions().isVisible());
    EXPECT_FALSE(views().question_list().isVisible());
    ASSERT_TRUE(settle());
}

TEST_F(ViewsTest, EveryViewHasTheChipsOfWhatItIsAbout) {
    const auto of = [&](const View& view) {
        EXPECT_TRUE(show_view(view));
        return chips().shown();
    };
    using enum Subject;
    EXPECT_EQ(of("head"), (std::vector{at, to}));
    EXPECT_EQ(of("attribution"), (std::vector{at, answer, contrast}));
    EXPECT_EQ(of("mlp"), (std::vector{at, answer, contrast, neuron}));
    EXPECT_EQ(of("lens"), (std::vector{at, answer}));
    EXPECT_EQ(of("reach"), (std::vector{at, to, passage}));
    EXPECT_EQ(of("why"), (std::vector{at, to, against}));
    EXPECT_TRUE(of("composition").empty()) << "of weights alone";
}

TEST_F(ViewsTest, AnAnswerIsThatOfEveryViewAndGoesWithItsText) {
    ASSERT_TRUE(show_view("attribution"));
    EXPECT_EQ(chips().chip(Subject::answer).text(), QStringLiteral("answer likeliest"));
    EXPECT_FALSE(chips().clear_button(Subject::answer).isVisible());
    SubjectPopover& popover = chips().popover();
    popover.setWindowFlags(Qt::Tool);  // that the application has become active comes late here, and closes a popup
    chips().open(Subject::answer);
    ASSERT_TRUE(settle());
    ASSERT_GT(popover.list().count(), 10);
    Q_EMIT popover.list().itemClicked(popover.list().item(3));
    EXPECT_FALSE(popover.isVisible());
    ASSERT_TRUE(settle());
    const std::string chosen = value("attribution", "token");
    EXPECT_FALSE(chosen.empty());
    EXPECT_EQ(value("lens", "watch"), chosen);
    EXPECT_EQ(value("importance", "target"), chosen);
    EXPECT_TRUE(chips().clear_button(Subject::answer).isVisible());
    const QString text = window.document().prompt().text;
    ASSERT_TRUE(retype(text + QStringLiteral(" And")));
    EXPECT_EQ(value("attribution", "token"), "") << "it was chosen for the text before";
    EXPECT_EQ(window.document().edits().watched, QString()) << "edits watch what the chips say";
    while (value("attribution", "token").empty() && window.history().stack().canUndo()) window.history().stack().undo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(value("attribution", "token"), chosen);
    window.document().edit_options([](ViewOptions& o) { o.answer_kept = true; });
    ASSERT_TRUE(retype(text + QStringLiteral(" But")));
    EXPECT_EQ(value("attribution", "token"), chosen) << "locked";
    chips().clear_button(Subject::answer).click();
    EXPECT_EQ(value("lens", "watch"), "");
    ASSERT_TRUE(settle());
}

/// "next" is a word of some views: others would read it as a token.
TEST_F(ViewsTest, TheTokenOfTheTextIsTheAnswerOnlyWhereAViewKnowsIt) {
    ASSERT_TRUE(show_view("importance"));
    window.document().edit_options([](ViewOptions& o) { set_subject(o, Subject::answer, "next"); });
    EXPECT_EQ(value("importance", "target"), "next");
    for (const auto& [view, option] : {std::pair("attribution", "token"), {"lens", "watch"}, {"mlp", "token"}})
        EXPECT_EQ(value(view, option), "") << view;
    ASSERT_TRUE(settle());
}

/// Pairs that the program has found are those of the head view; a weight is asked about when a person pins one.
TEST_F(ViewsTest, WhyAsksAboutTheLastTokenUntilAPairIsPinned) {
    ASSERT_TRUE(show_view("why"));
    if (selected().found_pins) {
        EXPECT_EQ(chips().chip(Subject::to).text(), QStringLiteral("to any token"));
    }
    window.document().selection().pin_pair(selected().focus, Position(5), Position(2));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(chips().chip(Subject::at).text().contains(QStringLiteral("(5)")));
    EXPECT_TRUE(chips().chip(Subject::to).text().contains(QStringLiteral("(2)")));
    EXPECT_TRUE(window.left_pane().shown());
}

TEST_F(ViewsTest, WhatActsOnTheTextShowsIt) {
    for (const Command command : {Command::edit_typed, Command::edits, Command::transfer, Command::subject}) {
        window.show_page(Page::sweep);
        ASSERT_TRUE(trigger(command));
        EXPECT_EQ(window.page(), Page::text);
    }
    EXPECT_FALSE(window.edits_panel().isHidden());
    ASSERT_TRUE(settle());
}

TEST_F(ViewsTest, ChipsPinAndClear) {
    ASSERT_TRUE(show_view("head"));
    chips().open(Subject::at);
    SubjectPopover& popover = chips().popover();
    QTest::keyClicks(&popover.field(), QStringLiteral("nurse"));
    QTest::keyClick(&popover.field(), Qt::Key_Return);
    ASSERT_EQ(selected().pinned_queries.size(), 1u);
    const auto nurse = selected().pinned_queries.front();
    EXPECT_TRUE(window.document().trace()->labels()[std::size_t(nurse.value)].text.ends_with("nurse"));
    EXPECT_TRUE(chips().chip(Subject::at).text().contains(QStringLiteral("nurse (%1)").arg(nurse.value)));
    chips().open(Subject::to);
    QTest::keyClick(&popover.field(), Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(&popover.field(), QStringLiteral("99"));
    QTest::keyClick(&popover.field(), Qt::Key_Return);
    EXPECT_TRUE(popover.isVisible()) << "there is no such token";
    EXPECT_TRUE(popover.note().isVisible());
    popover.close();
    chips().clear_button(Subject::at).click();
    EXPECT_TRUE(selected().pinned_queries.empty());
    ASSERT_TRUE(settle());
}

TEST_F(ViewsTest, AKeyIsComparedWithWhatItsChipSays) {
    window.document().selection().pin_pair({Layer(5), Head(7)}, Position(12), Position(3));
    ASSERT_TRUE(show_view("why"));
    EXPECT_TRUE(looks_default(window.document().options(), "why"));
    SubjectPopover& popover = chips().popover();
    const auto type = [&](const QString& text) {
        chips().open(Subject::against);
        QTest::keyClick(&popover.field(), Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(&popover.field(), text);
        QTest::keyClick(&popover.field(), Qt::Key_Return);
        return settle();
    };
    const auto compared = [&](const char* with) {
        return window.inspector().row(QLatin1String("advantage ") + QLatin1String(with));
    };
    EXPECT_TRUE(compared("over the row"));
    ASSERT_TRUE(type(QStringLiteral("no sinks")));
    EXPECT_EQ(value("why", "against"), "no-sinks");
    EXPECT_TRUE(chips().chip(Subject::against).text().contains(QStringLiteral("no sinks")));
    EXPECT_TRUE(compared("without sinks"));
    ASSERT_TRUE(type(QStringLiteral("7")));
    EXPECT_EQ(value("why", "against"), "7");
    EXPECT_TRUE(chips().chip(Subject::against).text().contains(QStringLiteral("(7)")));
    EXPECT_TRUE(looks_default(window.document().options(), "why")) << "it is what is asked";
    ASSERT_TRUE(compared("over key 7")) << "the Inspector asks what the view asks";
    const analyze::Why why =
        analyze::why(*window.document().trace(), {{Layer(5), Head(7)}, Position(12), Position(3), analyze::Against::key, 7});
    EXPECT_NEAR(compared("over key 7")->exact().toDouble(), why.advantage, 1e-6);
    ASSERT_TRUE(type(QStringLiteral("99")));
    EXPECT_TRUE(popover.note().isVisible()) << "there is no such key";
    popover.close();
    EXPECT_EQ(value("why", "against"), "7");
    ASSERT_TRUE(retype(QStringLiteral("One day the captain saw a ship upon the sea.")));
    EXPECT_EQ(value("why", "against"), "") << "it was a key of the text before";
}

TEST_F(ViewsTest, ShiftAndAClickOnASecondKeyCompareWithIt) {
    window.document().selection().pin_pair({Layer(5), Head(7)}, Position(12), Position(3));
    ASSERT_TRUE(settle());
    TokenStrip& strip = window.prompt_bar().tokens();
    const auto click = [&](std::int64_t key) {
        strip.reveal(Position(key));
        QTest::mouseClick(strip.viewport(), Qt::LeftButton, Qt::ShiftModifier, strip.chip_rect(Position(key)).center());
        return settle();
    };
    const std::vector<Position> third{Position(3)}, fifth{Position(5)};
    ASSERT_TRUE(click(5));
    EXPECT_EQ(selected().pinned_keys, fifth) << "elsewhere it pins";
    ASSERT_TRUE(click(3));
    ASSERT_TRUE(show_view("why"));
    ASSERT_TRUE(click(7));
    EXPECT_EQ(value("why", "against"), "7");
    EXPECT_EQ(selected().pinned_keys, third);
    EXPECT_TRUE(strip.spoken(7).contains(QStringLiteral("compared")));
    ASSERT_TRUE(click(7));
    EXPECT_EQ(value("why", "against"), "") << "the same again";
    EXPECT_FALSE(strip.spoken(7).contains(QStringLiteral("compared")));
    ASSERT_TRUE(click(14));
    EXPECT_EQ(value("why", "against"), "") << "the query does not see it";
    window.document().selection().pin_pair({Layer(5), Head(7)}, Position(12), Position(3));
    ASSERT_TRUE(show_view("matrix"));
    const auto click_cell = [&](std::int64_t query, std::int64_t key) {
        const auto at = cell(query, key);
        if (!at) return false;
        QTest::mouseClick(canvas().viewport(), Qt::LeftButton, Qt::ShiftModifier, *at);
        return settle();
    };
    ASSERT_TRUE(click_cell(12, 6));
    EXPECT_EQ(value("why", "against"), "6");
    EXPECT_EQ(selected().pinned_keys, third);
    ASSERT_TRUE(click_cell(11, 4));
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(11)}) << "another row: its pair is pinned";
    EXPECT_EQ(value("why", "against"), "6");
}

TEST_F(ViewsTest, OptionsAreLooksAndCanBeReset) {
    ASSERT_TRUE(show_view("matrix"));
    EXPECT_TRUE(looks_default(window.document().options(), "matrix"));
    window.tool_row().view_options().click();
    OptionsPopover& options = window.tool_row().options();
    auto* sinks = qobject_cast<QAbstractButton*>(options.field("hide-sinks"));
    ASSERT_TRUE(sinks);
    EXPECT_FALSE(options.reset_button().isEnabled());
    sinks->click();
    EXPECT_TRUE(window.document().options().pattern.hide_sinks);
    EXPECT_FALSE(looks_default(window.document().options(), "matrix"));
    options.reset_button().click();
    EXPECT_FALSE(window.document().options().pattern.hide_sinks);
    options.close();
    ASSERT_TRUE(show_view("attribution"));
    window.document().edit_options([](ViewOptions& o) { set_subject(o, Subject::answer, " the"); });
    EXPECT_TRUE(looks_default(window.document().options(), "attribution")) << "what it is about is no look";
    window.tool_row().view_options().click();
    EXPECT_FALSE(options.field("token"));
    EXPECT_TRUE(options.field("mlp"));
    options.close();
    ASSERT_TRUE(settle());
}

TEST_F(ViewsTest, PagesKeepTheirStateAndShareTheHead) {
    for (const Page page : {Page::corpus, Page::map, Page::sweep, Page::model, Page::text}) {
        window.top_bar().page_button(page).click();
        EXPECT_EQ(window.page(), page);
        EXPECT_TRUE(window.top_bar().page_button(page).isChecked());
        EXPECT_EQ(window.prompt_bar().isVisible(), page == Page::text);
        ASSERT_TRUE(settle());
    }
    const MapWindow* map = window.map();
    window.document().selection().focus_head({Layer(2), Head(3)});
    window.show_page(Page::map);
    EXPECT_EQ(window.map(), map);
    EXPECT_EQ(window.map()->canvas().selection().focus, (HeadId{Layer(2), Head(3)}));
    window.show_view("lens");
    EXPECT_EQ(window.page(), Page::text) << "a view is on the page of the text";
    window.show_view("architecture");
    EXPECT_EQ(window.page(), Page::model);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.model_page().pane().canvas().shown());
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("architecture")));
}

TEST_F(ViewsTest, TheFirstRowOfALowWindowJoinsThatOfTheText) {
    window.resize(1440, 900);
    EXPECT_TRUE(window.top_bar().isVisible());
    EXPECT_TRUE(window.top_bar().page_button(Page::map).isVisible());
    window.resize(900, 600);
    EXPECT_FALSE(window.top_bar().isVisible());
    EXPECT_TRUE(window.top_bar().model_button().isVisible());
    EXPECT_TRUE(window.top_bar().page_list().isVisible());
    EXPECT_TRUE(window.top_bar().menu_button().isVisible());
    window.show_page(Page::model);
    EXPECT_TRUE(window.top_bar().isVisible()) << "the other pages have no text";
    window.show_page(Page::text);
    EXPECT_FALSE(window.top_bar().isVisible());
    window.resize(1440, 900);
    EXPECT_TRUE(window.top_bar().isVisible());
    EXPECT_TRUE(window.top_bar().page_button(Page::map).isVisible());
    ASSERT_TRUE(settle());
}

}  // namespace views_test
}  // namespace headlight::ui
