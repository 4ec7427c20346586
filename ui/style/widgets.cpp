// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/widgets.h"

#include "ui/style/appearance.h"

#include <QBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QTableWidget>
#include <QToolButton>

namespace headlight::ui {

namespace {

template <class Layout>
Layout* new_layout(QWidget* of, const QMargins& margins, int spacing) {
    auto* layout = new Layout(of);
    layout->setContentsMargins(margins);
    layout->setSpacing(spacing);  // -1: of the style
    return layout;
}

}  // namespace

QHBoxLayout* new_row(QWidget* of, const QMargins& margins, int spacing) { return new_layout<QHBoxLayout>(of, margins, spacing); }
QVBoxLayout* new_column(QWidget* of, const QMargins& margins, int spacing) {
    return new_layout<QVBoxLayout>(of, margins, spacing);
}

void add_widgets(QBoxLayout& layout, std::initializer_list<QWidget*> widgets) {
    for (QWidget* widget : widgets) layout.addWidget(widget);
}

QLabel* role_label(const char* role, const QString& text) {
    auto* label = new QLabel(text);
    label->setProperty("role", role);
    return label;
}

QLabel* wrapped_label(const char* role, const QString& text) {
    QLabel* label = role_label(role, text);
    label->setWordWrap(true);
    return label;
}

QToolButton* quiet_button(const char* icon_name, const QString& name, const QString& tip) {
    auto* button = new QToolButton;
    button->setProperty("kind", "quiet");
    button->setProperty("plain", true);
    button->setIcon(icon(QLatin1String(icon_name)));
    button->setFocusPolicy(Qt::TabFocus);
    button->setAccessibleName(name);
    button->setToolTip(tip);
    return button;
}

QPushButton* link_button(const QString& text) {
    auto* button = new QPushButton(text);
    button->setProperty("kind", "link");
    return button;
}

QScrollArea* scroll_area(QWidget* content) {
    auto* area = new QScrollArea;
    area->setWidget(content);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    return area;
}

void bring_to_front(QWidget& window) {
    window.show();
    window.raise();
    window.activateWindow();
}

void set_up_list(QTableWidget& table, const QStringList& titles, int row_height) {
    table.setHorizontalHeaderLabels(titles);
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setSelectionMode(QAbstractItemView::SingleSelection);
    table.setShowGrid(false);
    table.setTabKeyNavigation(false);
    table.verticalHeader()->hide();
    table.verticalHeader()->setDefaultSectionSize(row_height);
    table.horizontalHeader()->setHighlightSections(false);
    table.horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

}  // namespace headlight::ui
