// SPDX-License-Identifier: GPL-3.0-or-later
// The finder in the real window: what it finds, what it dims, and filters with names.
#include "headlight/base/error.h"
#include "tests/ui/window_fixture.h"

#include <QHeaderView>
#include <QScrollBar>

namespace headlight::ui {
namespace finder_test {

TEST_F(WindowTest, FinderFiltersAndMarksMistakes) {
    HeadsPanel& panel = window.heads_panel();
    const int all = panel.model().rowCount();
    QTest::keyClicks(&panel.finder(), QStringLiteral("induction > 0.3"));
    EXPECT_GT(panel.model().rowCount(), 0);
    EXPECT_LT(panel.model().rowCount(), all);
    EXPECT_FALSE(panel.finder_message().isVisible());
    const auto& values = *window.document().head_table()->find("induction");
    for (const HeadId head : panel.model().heads()) EXPECT_GT(values(head.layer.value, head.head.value), 0.3);
    panel.finder().clear();
    QTest::keyClicks(&panel.finder(), QStringLiteral("inducton > 0.3"));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("induction")))
        << panel.finder_message().text().toStdString();
}

TEST_F(WindowTest, KeysInTheFinderAreTheFieldsOwnOnlyWhereTheyHelpThere) {
    QLineEdit& field = window.heads_panel().finder();
    window.document().selection().pin_query(Position(2), false);
    QTest::keyClicks(&field, QStringLiteral("induction > 0.3 and entropy < 1"));
    QTest::keyClicks(&field, QStringLiteral(" and"));
    EXPECT_TRUE(window.document().finder().mistake());
    QTest::keyClick(&field, Qt::Key_Escape);
    EXPECT_TRUE(field.text().isEmpty());
    EXPECT_FALSE(window.document().finder().mistake());
    EXPECT_FALSE(selected().pinned_queries.empty()) << "the pins are not what Esc was about";
    QTest::keyClick(&field, Qt::Key_Escape);
    EXPECT_TRUE(selected().pinned_queries.empty()) << "nothing is left in the field";
    QKeyEvent export_key(QEvent::ShortcutOverride, Qt::Key_E, Qt::ControlModifier);
    QCoreApplication::sendEvent(&field, &export_key);
    EXPECT_FALSE(export_key.isAccepted()) << "a field that takes it keeps the export from opening";
}

TEST_F(WindowTest, MeasuresAreChosenByKind) {
    QMenu& menu = window.heads_panel().measure_menu();
    Q_EMIT menu.aboutToShow();
    const auto entries = menu.actions().size();
    std::size_t measures = 0;
    QAction* wanted = nullptr;
    QAction* automatic = menu.actions().front();
    EXPECT_TRUE(automatic->isChecked()) << "nobody has chosen one";
    for (QAction* entry : menu.actions().mid(2)) {
        if (entry->isSeparator()) break;  // behind it: how colours are scaled
        ASSERT_TRUE(entry->menu()) << entry->text().toStdString() << " is in no group";
        measures += std::size_t(entry->menu()->actions().size());
        for (QAction* action : entry->menu()->actions()) {
            EXPECT_EQ(action->isChecked(), action->text() == QStringLiteral("induction on random tokens"))
                << action->text().toStdString();
            if (action->text() == QStringLiteral("mean distance")) wanted = action;
        }
    }
    EXPECT_EQ(measures, window.document().head_table()->measures.size());
    ASSERT_TRUE(wanted);
    wanted->trigger();
    EXPECT_EQ(window.document().options().measure, "mean_distance");
    Q_EMIT menu.aboutToShow();  // made anew, not twice
    EXPECT_EQ(menu.actions().size(), entries);
    EXPECT_FALSE(menu.actions().front()->isChecked());
    QAction* to_data = menu.actions().back();
    ASSERT_TRUE(to_data->isCheckable());
    EXPECT_FALSE(to_data->isChecked());
    to_data->trigger();
    EXPECT_TRUE(window.document().options().measure_to_data);
}

TEST_F(WindowTest, AFilterDimsEveryViewAndNoneWhenNothingMatches) {
    HeadsPanel& panel = window.heads_panel();
    const auto matches = [&](HeadId head) {
        return (*window.document().head_table()->find("entropy"))(head.layer.value, head.head.value) < 1;
    };
    QTest::keyClicks(&panel.finder(), QStringLiteral("entropy < 1"));
    const auto filter = window.document().finder().filter();
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->expression, "entropy < 1");
    int dimmed = 0;
    for (std::int64_t l = 0; l < window.document().selection().layers(); ++l) {
        for (std::int64_t h = 0; h < window.document().selection().heads(); ++h) {
            const HeadId head{Layer(l), Head(h)};
            EXPECT_EQ(canvas().style_in_use().dims(head), !matches(head));
            dimmed += !matches(head);
        }
    }
    EXPECT_EQ(std::int64_t(filter->dimmed.size()), dimmed);
    EXPECT_EQ(panel.model().rowCount(), int(filter->matching));
    // The model view really paints them fainter.
    ASSERT_TRUE(show_view("model"));
    const QImage with = canvas().grab().toImage();
    QTest::keyClicks(&panel.finder(), QStringLiteral(" and entropy > 90"));
    EXPECT_EQ(panel.model().rowCount(), 0);
    EXPECT_TRUE(panel.finder_message().text().startsWith(QStringLiteral("No head matches: the largest entropy is")));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_FALSE(window.document().finder().filter());
    EXPECT_FALSE(canvas().style_in_use().filter);
    const QImage without = canvas().grab().toImage();
    EXPECT_NE(with, without);
    panel.finder().clear();
    QTest::keyClicks(&panel.finder(), QStringLiteral(" "));
    EXPECT_EQ(canvas().grab().toImage(), without) << "as if there were no filter";
    EXPECT_FALSE(panel.finder_message().isVisible());
}

TEST_F(WindowTest, NumbersAreSortedDownwardsFirstAndTheColumnIsMarked) {
    HeadsPanel& panel = window.heads_panel();
    QHeaderView* header = panel.list().horizontalHeader();
    const auto title = [&](int column) { return panel.model().headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(); };
    EXPECT_EQ(title(1), QStringLiteral("induction ↓"));
    const auto click = [&](int column) {
        QTest::mouseClick(header->viewport(), Qt::LeftButton, {},
                          {header->sectionViewportPosition(column) + header->sectionSize(column) / 2, header->height() / 2});
    };
    const auto entropy = [&](int row) { return panel.model().index(row, 2).data(HeadListModel::value_role).toDouble(); };
    click(2);
    EXPECT_EQ(title(1), QStringLiteral("induction"));
    EXPECT_EQ(title(2), QStringLiteral("entropy ↓"));
    EXPECT_GT(entropy(0), entropy(panel.model().rowCount() - 1));
    click(2);
    EXPECT_EQ(title(2), QStringLiteral("entropy ↑"));
    EXPECT_LT(entropy(0), entropy(panel.model().rowCount() - 1));
    click(0);
    EXPECT_EQ(panel.model().heads().front(), (HeadId{Layer(0), Head(0)}));
}

/// The answer stands there; the selected head may be far below.
TEST_F(WindowTest, TheListGoesToItsTopAfterAQuestion) {
    HeadsPanel& panel = window.heads_panel();
    window.resize(1200, 640);
    ASSERT_TRUE(settle());
    const auto at_top = [&] { return panel.list().verticalScrollBar()->value() == 0; };
    document().edit_options([](ViewOptions& o) { o.measure = "entropy"; });
    document().selection().focus_head(panel.model().heads().back());
    ASSERT_TRUE(wait_for([&] { return !at_top(); })) << "a head that is selected comes into sight";
    document().edit_options([](ViewOptions& o) { o.measure = "share_first"; });
    EXPECT_TRUE(wait_for(at_top));
    document().selection().focus_head(panel.model().heads().back());
    ASSERT_TRUE(wait_for([&] { return !at_top(); }));
    set_finder(QStringLiteral("layer < 5"));
    EXPECT_TRUE(wait_for(at_top));
}

TEST_F(WindowTest, TheFinderOffersHowToGoOn) {
    FinderField& field = window.heads_panel().finder();
    field.setFocus();
    QTest::keyClicks(&field, QStringLiteral("share on [s"));
    EXPECT_EQ(field.offered().value(0), QStringLiteral("share on [SEP]"));
    field.take(QStringLiteral("share on [SEP]"));
    EXPECT_EQ(field.text(), QStringLiteral("share on [SEP] "));
    QTest::keyClicks(&field, QStringLiteral("> 0.5 or attention from `doc"));
    EXPECT_EQ(field.offered(), QStringList{QStringLiteral("`doctor`")});
    field.take(QStringLiteral("`doctor`"));
    QTest::keyClicks(&field, QStringLiteral("to 1 > 0.2"));
    EXPECT_EQ(field.text(), QStringLiteral("share on [SEP] > 0.5 or attention from `doctor` to 1 > 0.2"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.document().finder().mistake());
    EXPECT_TRUE(field.offered().isEmpty());
}

TEST_F(WindowTest, AMistakeKeepsTheLastFilterInForce) {
    HeadsPanel& panel = window.heads_panel();
    QTest::keyClicks(&panel.finder(), QStringLiteral("entropy < 1"));
    const auto filter = window.document().finder().filter();
    const auto heads = panel.model().heads();
    ASSERT_TRUE(filter);
    QTest::keyClicks(&panel.finder(), QStringLiteral(" and nonsens > 2"));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("Column 17")))
        << panel.finder_message().text().toStdString();
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("<b>nonsens</b>")));
    EXPECT_EQ(panel.finder().text(), QStringLiteral("entropy < 1 and nonsens > 2")) << "nothing typed is lost";
    EXPECT_EQ(window.document().finder().filter()->dimmed, filter->dimmed);
    EXPECT_EQ(panel.model().heads(), heads);
    EXPECT_EQ(canvas().style_in_use().filter->dimmed, filter->dimmed);
    // Also on another text.
    ASSERT_TRUE(retype(QStringLiteral("The old nurse was late.")));
    EXPECT_TRUE(panel.finder_message().isVisible());
    ASSERT_TRUE(window.document().finder().filter());
    EXPECT_EQ(window.document().finder().query().measures(), std::vector<std::string>{"entropy"});
}

TEST_F(WindowTest, AttentionBetweenTokensIsAskedByTheirText) {
    HeadsPanel& panel = window.heads_panel();
    QTest::keyClicks(&panel.finder(), QStringLiteral("attention from `the` to `doctor` > 0.1"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(panel.finder_message().isVisible()) << panel.finder_message().text().toStdString();
    const auto& trace = *window.document().trace();
    const auto values =
        analyze::attention_between(trace, analyze::tokens_called(trace, "the"), analyze::tokens_called(trace, "doctor"), false);
    EXPECT_EQ(panel.model().rowCount(), int((values.array() > 0.1).count()));
    ASSERT_GT(panel.model().rowCount(), 0);
    // What is asked sorts the list from its top and tints the mosaic.
    EXPECT_EQ(panel.model().headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QStringLiteral("the → doctor ↓"));
    EXPECT_NEAR(panel.model().index(0, 1).data(HeadListModel::value_role).toDouble(), values.maxCoeff(), 1e-6);
    EXPECT_EQ(panel.mosaic().shown()->table().columns[2], window.document().finder().query().measures().front());
    window.document().edit_options([](ViewOptions& o) { o.measure = "entropy"; });
    EXPECT_EQ(panel.mosaic().shown()->table().columns[2], "entropy") << "asked after it";
    set_finder(QStringLiteral("attention from `the` to `doctor` > 0.05"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(panel.mosaic().shown()->table().columns[2], window.document().finder().query().measures().front());
    panel.list().sortByColumn(1, Qt::AscendingOrder);
    for (int row = 0; row < panel.model().rowCount(); ++row) {
        const HeadId head = panel.model().heads()[std::size_t(row)];
        EXPECT_NEAR(panel.model().index(row, 1).data(HeadListModel::value_role).toDouble(),
                    values(head.layer.value, head.head.value), 1e-6);
    }
    // The tokens are gone: the mistake is reported, nothing is dimmed by what was found on the other text.
    ASSERT_TRUE(retype(QStringLiteral("Rain fell all night.")));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_FALSE(window.document().finder().filter());
    EXPECT_TRUE(window.document().finder().query().empty());
    EXPECT_EQ(std::int64_t(panel.model().rowCount()), window.document().finder().all());
}

TEST_F(WindowTest, LongMeasuringOfAttentionIsAJobThatCanBeOvertaken) {
    QString text;
    for (int i = 0; i < 60; ++i) text += QStringLiteral("The old doctor asked the nurse to wait. ");
    set_text(text);
    ASSERT_TRUE(settle());
    set_finder(QStringLiteral("weighted attention from `nurse` to `doctor` > 0.01"));
    EXPECT_TRUE(window.document().finder().working());
    set_finder(QStringLiteral("attention from `nurse` to `doctor` > 0.01"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.document().finder().working());
    ASSERT_EQ(window.document().finder().query().terms().size(), 1u);
    EXPECT_FALSE(window.document().finder().query().terms()[0].weighted);
    EXPECT_TRUE(window.document().finder().query().measured());
    EXPECT_EQ(window.heads_panel().model().rowCount(), int(window.document().finder().matching()));
}

TEST_F(WindowTest, FiltersGetNamesAreSavedAppliedRenamedAndDeleted) {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("filters.headlight"));
    HeadsPanel& panel = window.heads_panel();
    FilterMenu& filters = panel.filters();
    const auto choose = [](FilterMenu& menu, const char* what) {
        QAction* entry = menu.entry(QString::fromUtf8(what));
        ASSERT_TRUE(entry) << what;
        ASSERT_TRUE(entry->isEnabled()) << what;
        entry->trigger();
    };
    const auto type_name = [&](const char* name) {
        ASSERT_TRUE(filters.name().isVisible());
        QTest::keyClicks(&filters.name(), QString::fromUtf8(name));
        QTest::keyClick(&filters.name(), Qt::Key_Return);
    };
    EXPECT_FALSE(filters.entry(QStringLiteral("save"))->isEnabled()) << "nothing to name";
    QTest::keyClicks(&panel.finder(), QStringLiteral("entropy < 1"));
    choose(filters, "save");
    type_name("sharp");
    EXPECT_FALSE(filters.name().isVisible());
    panel.finder().selectAll();
    QTest::keyClicks(&panel.finder(), QStringLiteral("induction > 0.3"));
    choose(filters, "save");
    QTest::keyClicks(&filters.name(), QStringLiteral("nothing"));
    QTest::keyClick(&filters.name(), Qt::Key_Escape);
    EXPECT_FALSE(filters.name().isVisible()) << "Esc names nothing";
    choose(filters, "save");
    type_name("copies");
    const std::vector<NamedFilter> both{{QStringLiteral("copies"), QStringLiteral("induction > 0.3")},
                                        {QStringLiteral("sharp"), QStringLiteral("entropy < 1")}};
    EXPECT_EQ(window.document().options().filters, both);
    ASSERT_TRUE(window.save_to(file));

    choose(filters, "apply:sharp");
    EXPECT_EQ(panel.finder().text(), QStringLiteral("entropy < 1"));
    EXPECT_EQ(window.document().finder().filter()->expression, "entropy < 1");
    EXPECT_TRUE(filters.entry(QStringLiteral("apply:sharp"))->isChecked());
    choose(filters, "rename:sharp");
    type_name("Copies");
    EXPECT_EQ(window.document().options().filters, both) << "the name is taken";
    filters.name().selectAll();
    type_name("narrow");
    EXPECT_FALSE(filters.entry(QStringLiteral("apply:sharp")));
    choose(filters, "apply:copies");
    const auto renamed = window.document().options().filters;
    EXPECT_EQ(renamed.size(), 2u);
    window.history().set_merging(0);  // what follows is a step of its own
    choose(filters, "delete:copies");
    EXPECT_EQ(window.document().options().filters,
              (std::vector<NamedFilter>{{QStringLiteral("narrow"), QStringLiteral("entropy < 1")}}));
    window.history().stack().undo();
    EXPECT_EQ(window.document().options().filters, renamed) << "undo brings a filter back";

    MainWindow other;
    ASSERT_TRUE(opened_in(other, file));
    EXPECT_EQ(other.document().options().filters, both);
    choose(other.heads_panel().filters(), "apply:sharp");
    EXPECT_EQ(other.heads_panel().finder().text(), QStringLiteral("entropy < 1"));
    ASSERT_TRUE(other.document().finder().filter());
    EXPECT_EQ(other.left_pane().canvas().style_in_use().filter, other.document().finder().filter());
    other.document().set_modified(false);
}

TEST_F(WindowTest, MatchingHeadsOfTheLayerBecomeActive) {
    window.document().selection().focus_head({Layer(2), Head(0)});
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("head >= 3 and head < 6"));
    window.action(Command::activate_matching).trigger();
    EXPECT_EQ(selected().layer, Layer(2));
    EXPECT_EQ(selected().heads, (std::vector{Head(3), Head(4), Head(5)}));
    window.heads_panel().finder().selectAll();
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("layer = 0"));
    window.action(Command::activate_matching).trigger();
    EXPECT_EQ(selected().heads, (std::vector{Head(3), Head(4), Head(5)})) << "no head of layer 2 matches";
}

TEST_F(WindowTest, TheCommandOfAFilteredViewSaysTheFilter) {
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("entropy < 1"));
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--where 'entropy < 1'")))
        << window.command_for_shown().toStdString();
    ASSERT_TRUE(show_view("matrix"));
    EXPECT_FALSE(window.command_for_shown().contains(QStringLiteral("--where"))) << "it paints no other heads";
}

TEST(SessionFilters, TwoOfOneNameAreAMistakeThatIsNamed) {
    const std::string text = R"({"format": "headlight-session", "version": 1, "options": {"filters": [
        {"name": "a", "expression": "layer = 1"}, {"name": "A", "expression": "layer = 2"}]}})";
    try {
        session_from_json(text, "x.headlight");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.facts().item, "filters");
    }
}

}  // namespace finder_test
}  // namespace headlight::ui
