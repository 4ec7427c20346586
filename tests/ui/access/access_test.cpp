// SPDX-License-Identifier: GPL-3.0-or-later
// What a screen reader gets, through Qt's own interface.
#include "tests/ui/window_fixture.h"

#include <QAccessible>

namespace headlight::ui {
namespace access_test {

QStringList names_in(QWidget& widget) {
    QAccessibleInterface* of = QAccessible::queryAccessibleInterface(&widget);
    QStringList names;
    for (int i = 0; of && i < of->childCount(); ++i) names << of->child(i)->text(QAccessible::Name);
    return names;
}

TEST_F(WindowTest, TheMosaicReadsItsHeadsAndTheirNumbers) {
    FigureCanvas& mosaic = window.heads_panel().mosaic();
    const QStringList names = names_in(mosaic);
    const auto of = [&](const QString& head) {
        QStringList found;
        for (const QString& name : names)
            if (name.startsWith(head + u',')) found << name;
        return found;
    };
    EXPECT_EQ(of(QStringLiteral("L0H0")).size(), 1);
    ASSERT_EQ(of(QStringLiteral("L4H5")).size(), 1) << names.join(u'\n').toStdString();
    const auto& table = *window.document().head_table();
    const double value = (*table.find("probe_induction"))(4, 5);
    EXPECT_TRUE(of(QStringLiteral("L4H5")).front().contains(QString::number(value, 'f', 2)))
        << of(QStringLiteral("L4H5"))[0].toStdString();
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(&mosaic);
    EXPECT_FALSE(interface->text(QAccessible::Name).isEmpty());
    const int place = int(names.indexOf(of(QStringLiteral("L4H5")).front()));
    QAccessibleInterface* mark = interface->child(place);
    ASSERT_TRUE(mark && mark->actionInterface());
    EXPECT_EQ(mark->parent(), interface);
    const QPoint middle = mark->rect().center();
    EXPECT_EQ(interface->childAt(middle.x(), middle.y()), mark);
    mark->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(5)}));
    ASSERT_TRUE(settle());
    EXPECT_EQ(interface->child(place), mark) << "it is the same mark";
    int chosen = 0;
    for (int i = 0; i < interface->childCount(); ++i) chosen += interface->child(i)->state().selected;
    EXPECT_EQ(chosen, 1);
}

TEST_F(WindowTest, FiguresReadTheirMarks) {
    ASSERT_TRUE(show_view("matrix"));
    const QStringList cells = names_in(canvas());
    EXPECT_GT(cells.size(), 100);
    EXPECT_TRUE(std::any_of(cells.begin(), cells.end(), [](const QString& name) {
        return name.contains(QStringLiteral("doctor")) && name.contains(QRegularExpression(QStringLiteral("0\\.\\d{3}")));
    })) << cells.value(40).toStdString();
    ASSERT_TRUE(show_view("predictions"));
    const QStringList rows = names_in(canvas());
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const QString& name) {
        return name.contains(QStringLiteral("doctor"));
    })) << rows.join(u'\n').toStdString();
}

/// A screen reader may hold a mark while the figure changes: the mark answers until the event loop ends it.
TEST_F(WindowTest, AMarkThatIsHeldEndsAfterItsFigure) {
    ASSERT_TRUE(show_view("matrix"));
    QAccessibleInterface* figure = QAccessible::queryAccessibleInterface(&canvas());
    QAccessibleInterface* mark = figure->child(30);
    ASSERT_TRUE(mark);
    const QAccessible::Id id = QAccessible::uniqueId(mark);
    window.document().selection().focus_head({Layer(1), Head(6)});
    window.show_view("head");
    ASSERT_EQ(canvas().shown()->view(), "head");
    mark->text(QAccessible::Name);
    mark->rect();
    mark->state();
    mark->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    EXPECT_EQ(QAccessible::accessibleInterface(id), mark);
    EXPECT_EQ(mark->parent(), figure);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(wait_for([&] { return !QAccessible::accessibleInterface(id); }));
}

TEST_F(WindowTest, AFigureThatWaitsForItsSuccessorHasNoMarks) {
    ASSERT_TRUE(show_view("matrix"));
    QAccessibleInterface* figure = QAccessible::queryAccessibleInterface(&canvas());
    const int marks = figure->childCount();
    ASSERT_GT(marks, 100);
    QAccessibleInterface* mark = figure->child(marks - 1);
    canvas().set_outdated(true);
    ASSERT_TRUE(wait_for([&] { return canvas().outdated(); }));
    EXPECT_EQ(figure->childCount(), 0);
    const auto before = selected();
    mark->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    EXPECT_EQ(selected(), before);
    canvas().set_outdated(false);
    EXPECT_EQ(figure->childCount(), marks);
    EXPECT_EQ(figure->child(marks - 1), mark) << "nothing else is shown";
}

TEST_F(WindowTest, TokensThatAreGoneAreNoChildren) {
    QAccessibleInterface* strip = QAccessible::queryAccessibleInterface(&window.prompt_bar().tokens());
    const QAccessible::Id id = QAccessible::uniqueId(strip->child(strip->childCount() - 1));
    ASSERT_TRUE(retype(QStringLiteral("One")));
    ASSERT_TRUE(strip->child(0));
    EXPECT_FALSE(QAccessible::accessibleInterface(id));
}

TEST_F(WindowTest, TheTokenStripReadsItsTokens) {
    TokenStrip& strip = window.prompt_bar().tokens();
    const QStringList names = names_in(strip);
    ASSERT_EQ(names.size(), window.document().trace()->tokens());
    EXPECT_TRUE(names[3].startsWith(QStringLiteral("·doctor, token 3"))) << names[3].toStdString();
    QAccessibleInterface* third = QAccessible::queryAccessibleInterface(&strip)->child(3);
    third->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(3)});
    EXPECT_TRUE(third->state().selected);
    EXPECT_TRUE(third->text(QAccessible::Name).contains(QStringLiteral("pinned query")));
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, RowsOfTheFinderReadHeadAndMeasure) {
    const QModelIndex index = window.heads_panel().model().index(0, 1);
    const QString head = window.heads_panel().model().index(0, 0).data().toString();
    const QString name = index.data(Qt::AccessibleTextRole).toString();
    EXPECT_TRUE(name.startsWith(head + QStringLiteral(", induction 0."))) << name.toStdString();
}

}  // namespace access_test
}  // namespace headlight::ui
