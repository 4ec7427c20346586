// SPDX-License-Identifier: GPL-3.0-or-later
// Menus of the things under the pointer, and what the palette finds.
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/window/command_palette.h"

#include <QClipboard>
#include <QHeaderView>

#include <algorithm>

namespace headlight::ui {
namespace context_menu_test {

TEST_F(WindowTest, ACellOffersItsNumberItsPairAndItsFigure) {
    window.show_view("matrix");
    window.document().selection().focus_head({Layer(4), Head(5)});
    ASSERT_TRUE(settle());
    const auto at = cell(12, 3);
    ASSERT_TRUE(at);
    QMenu* menu = ask(*canvas().viewport(), *at);
    ASSERT_TRUE(menu);
    QAction* copy = entry(menu, QStringLiteral("Copy 0."));
    ASSERT_TRUE(copy);
    copy->trigger();
    EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("0.")));
    QAction* pin = entry(menu, QStringLiteral("Pin "));
    ASSERT_TRUE(pin);
    pin->trigger();
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(12)});
    EXPECT_EQ(selected().pinned_keys, std::vector<Position>{Position(3)});
    EXPECT_TRUE(menu->actions().contains(&window.action(Command::copy_image)));
    EXPECT_TRUE(menu->actions().contains(&window.action(Command::export_figure)));
    menu->close();
    ASSERT_TRUE(settle());
    menu = ask(canvas(), QPoint(5, 5), QContextMenuEvent::Keyboard);
    ASSERT_TRUE(menu);
    EXPECT_TRUE(entry(menu, QStringLiteral("Go to L4H5"))) << "the menu key is about the selection";
    menu->close();
}

TEST_F(WindowTest, HeadsTokensAndNumbersHaveMenus) {
    FigureCanvas& mosaic = window.heads_panel().mosaic();
    const auto square = find(mosaic, [](const figure::Hit& hit) { return hit.head == HeadId{Layer(2), Head(1)}; });
    ASSERT_TRUE(square);
    QMenu* menu = ask(*mosaic.viewport(), *square);
    ASSERT_TRUE(menu);
    QAction* split = entry(menu, QStringLiteral("Open L2H1 in split"));
    ASSERT_TRUE(split);
    split->trigger();
    menu->close();
    EXPECT_TRUE(window.document().views().split);
    EXPECT_EQ(selected().focus, (HeadId{Layer(2), Head(1)}));

    TokenStrip& strip = window.prompt_bar().tokens();
    menu = ask(*strip.viewport(), strip.chip_rect(Position(2)).center());
    ASSERT_TRUE(menu);
    entry(menu, QStringLiteral("Pin ·old (2) as key"))->trigger();
    EXPECT_EQ(selected().pinned_keys, std::vector<Position>{Position(2)});
    menu->close();

    QTableView& list = window.heads_panel().list();
    list.scrollToTop();
    menu = ask(*list.viewport(), list.visualRect(list.model()->index(1, 1)).center());
    ASSERT_TRUE(menu);
    entry(menu, QStringLiteral("Copy the list"))->trigger();
    EXPECT_EQ(QApplication::clipboard()->text().split(u'\n').size(), 49);
    menu->close();
    ASSERT_TRUE(settle());

    QCoreApplication::processEvents();  // new rows are shown by an event
    const auto rows = window.inspector().findChildren<NumberRow*>();
    const auto shown = std::ranges::find_if(rows, [](NumberRow* r) { return r->isVisible() && !r->exact().isEmpty(); });
    ASSERT_NE(shown, rows.end());
    const NumberRow* row = *shown;
    const QPoint at = row->mapTo(&window.inspector(), row->rect().center());
    menu = ask(window.inspector(), at);
    ASSERT_TRUE(menu);
    EXPECT_TRUE(entry(menu, QStringLiteral("Copy with its name")));
    menu->close();
}

TEST_F(WindowTest, MenusAreOfWhatIsThereAndEndWithIt) {
    QTableView& list = window.heads_panel().list();
    EXPECT_FALSE(ask(list, list.horizontalHeader()->geometry().center())) << "a column's title is no head";
    list.scrollToTop();
    const QPoint second = list.visualRect(list.model()->index(1, 1)).center();
    QMenu* menu = ask(list, list.viewport()->mapTo(&list, second));
    ASSERT_TRUE(menu);
    EXPECT_TRUE(entry(menu, QStringLiteral("Go to ") + list.model()->index(1, 0).data().toString()));
    menu->close();

    window.document().selection().pin_pair({Layer(4), Head(5)}, Position(12), Position(3));
    ASSERT_TRUE(settle());
    menu = ask(canvas(), QPoint(5, 5), QContextMenuEvent::Keyboard);
    ASSERT_TRUE(menu);
    const auto copy_number = [&] { return QStringLiteral("Copy %1").arg(window.inspector().chain()->weight, 0, 'g', 6); };
    EXPECT_TRUE(entry(menu, copy_number()));
    menu->close();
    window.document().selection().hover({}, Position(8), Position(2));
    ASSERT_TRUE(settle());
    menu = ask(canvas(), QPoint(5, 5), QContextMenuEvent::Keyboard);
    ASSERT_TRUE(menu);
    EXPECT_TRUE(entry(menu, QStringLiteral("Pin ")));
    ASSERT_EQ(window.inspector().chain()->query, Position(8));
    EXPECT_FALSE(entry(menu, copy_number())) << "the inspector's number is of the hovered pair";

    window.action(Command::search_tokens).trigger();
    auto* palette = window.findChild<CommandPalette*>();
    ASSERT_TRUE(palette);
    palette->field().setText(QStringLiteral("nurse"));
    set_text(QStringLiteral("Two words"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.context_menus().open_menu() && window.context_menus().open_menu()->isVisible());
    const auto pins = selected().pinned_queries;
    QTest::keyClick(&palette->field(), Qt::Key_Return);
    EXPECT_EQ(selected().pinned_queries, pins) << "the token is of another text";
}

TEST(Palette, MatchesBeginningsAndWordsBeforeLetters) {
    const QString matrix = QStringLiteral("Matrix view");
    EXPECT_LT(match_score(QStringLiteral("mat"), matrix), match_score(QStringLiteral("mat"), QStringLiteral("Next format")));
    EXPECT_LT(match_score(QStringLiteral("view"), matrix), match_score(QStringLiteral("view"), QStringLiteral("Interviews")));
    EXPECT_GE(match_score(QStringLiteral("export pdf"), QStringLiteral("Export as PDF")), 0);
    EXPECT_GE(match_score(QStringLiteral("mv"), matrix), 0);
    EXPECT_EQ(match_score(QStringLiteral("mv"), QStringLiteral("Example: Mary loves John"), false), -1);
}

TEST_F(WindowTest, ThePaletteKnowsHeadsMeasuresTokensAndFormats) {
    const auto type = [&](const QString& text) {
        window.action(Command::palette).trigger();
        auto* palette = window.findChild<CommandPalette*>();
        palette->field().setText(text);
        return palette;
    };
    const auto first = [](CommandPalette* palette) { return palette->list().item(0)->text(); };
    for (const char* typed : {"L4H5", "l4h5", "4.5"}) {
        CommandPalette* palette = type(QString::fromLatin1(typed));
        EXPECT_EQ(first(palette), QStringLiteral("L4H5")) << typed;
        QTest::keyClick(&palette->field(), Qt::Key_Return);
        EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(5)})) << typed;
        window.document().selection().focus_head({Layer(0), Head(0)});
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
    CommandPalette* palette = type(QStringLiteral("nurse"));
    EXPECT_EQ(first(palette), QStringLiteral("·nurse"));
    QTest::keyClick(&palette->field(), Qt::Key_Return);
    EXPECT_EQ(window.document().trace()->encoding().ids[std::size_t(selected().pinned_queries.back().value)],
              *window.document().trace()->tokenizer()->id_of("Ġnurse"));
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    palette = type(QStringLiteral("sparsity"));
    EXPECT_EQ(first(palette), QStringLiteral("Sparse attention view")) << "by its name on the command line";
    palette->close();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    palette = type(QStringLiteral("Logit lens"));
    EXPECT_EQ(first(palette), QStringLiteral("Lens view")) << "by its name in papers";
    palette->close();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    palette = type(QStringLiteral("by entropy"));
    EXPECT_EQ(first(palette), QStringLiteral("Tint heads by entropy")) << first(palette).toStdString();
    QTest::keyClick(&palette->field(), Qt::Key_Return);
    EXPECT_EQ(window.document().options().measure, "entropy");
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    palette = type(QStringLiteral("qqqq"));
    EXPECT_EQ(first(palette), QStringLiteral("Nothing matches “qqqq”"));
    QTest::keyClick(&palette->field(), Qt::Key_Return);
    palette->close();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    palette = type(QStringLiteral("numpy"));
    EXPECT_EQ(first(palette), QStringLiteral("Export as NPZ (NumPy)"));
    palette->close();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    palette = type(QStringLiteral("export as svg"));
    EXPECT_EQ(first(palette), QStringLiteral("Export as SVG"));
    QTest::keyClick(&palette->field(), Qt::Key_Return);
    auto* dialog = window.findChild<ExportDialog*>();
    ASSERT_TRUE(dialog);
    EXPECT_EQ(dialog->format().currentData().toString(), QStringLiteral("svg"));
    dialog->close();
    ASSERT_TRUE(settle());
}

}  // namespace context_menu_test
}  // namespace headlight::ui
