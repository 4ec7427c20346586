// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/filter_menu.h"

#include "ui/style/appearance.h"

#include <QKeyEvent>

namespace headlight::ui {

FilterMenu::FilterMenu(Document& document, QWidget* parent) : QToolButton(parent), document_(document), name_(new QLineEdit) {
    setObjectName(QStringLiteral("FilterMenu"));
    setProperty("kind", "quiet");
    setProperty("plain", true);
    setIcon(ui::icon(QStringLiteral("star")));
    setIconSize({15, 15});
    setPopupMode(QToolButton::InstantPopup);
    setAccessibleName(QStringLiteral("Filters"));
    setToolTip(QStringLiteral("Named filters"));
    setMenu(new QMenu(this));
    menu()->setToolTipsVisible(true);
    name_->setObjectName(QStringLiteral("Finder"));  // looks like the finder
    name_->setAccessibleName(QStringLiteral("Name of the filter"));
    name_->installEventFilter(this);
    name_->hide();
    connect(menu(), &QMenu::aboutToShow, this, &FilterMenu::refresh);
    connect(name_, &QLineEdit::returnPressed, this, &FilterMenu::take_name);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        using Change = Document::Change;
        if (change == Change::options || change == Change::trace || change == Change::filter) refresh();
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) refresh();
    });
    refresh();
}

QAction* FilterMenu::put(QMenu* into, const QString& object_name, const QString& text, std::function<void()> run) {
    QAction* action = into->addAction(text);
    action->setObjectName(object_name);
    connect(action, &QAction::triggered, this, std::move(run));
    entries_.push_back(action);
    return action;
}

QAction* FilterMenu::entry(const QString& object_name) const {
    for (QAction* action : entries_) {
        if (action->objectName() == object_name) return action;
    }
    return nullptr;
}

void FilterMenu::refresh() {
    if (menu()->isVisible()) return;
    const auto plain = [](QString name) { return name.replace('&', QStringLiteral("&&")); };
    const auto& [filters, expression] = std::pair(document_.options().filters, document_.options().finder.trimmed());
    entries_.clear();
    // The entry that was just triggered may be in one of these.
    for (QMenu* old : menu()->findChildren<QMenu*>(Qt::FindDirectChildrenOnly)) old->deleteLater();
    menu()->clear();
    bool named = false;
    for (const NamedFilter& filter : filters) {
        QAction* action = put(menu(), QStringLiteral("apply:") + filter.name, plain(filter.name),
                              [this, filter] { document_.edit_options([&](ViewOptions& o) { o.finder = filter.expression; }); });
        action->setCheckable(true);
        action->setChecked(filter.expression == expression);
        action->setToolTip(filter.expression);
        named |= action->isChecked();
    }
    if (!filters.empty()) menu()->addSeparator();
    QAction* save = put(menu(), QStringLiteral("save"), QStringLiteral("Save the filter as …"), [this] { ask_name(); });
    save->setEnabled(!expression.isEmpty() && !document_.finder().mistake());
    if (!filters.empty()) {
        QMenu *rename = menu()->addMenu(QStringLiteral("Rename")), *remove = menu()->addMenu(QStringLiteral("Delete"));
        for (const NamedFilter& filter : filters) {
            put(rename, QStringLiteral("rename:") + filter.name, plain(filter.name),
                [this, name = filter.name] { ask_name(name); });
            put(remove, QStringLiteral("delete:") + filter.name, plain(filter.name), [this, name = filter.name] {
                document_.edit_options([&](ViewOptions& o) { o.filters = without_filter(o.filters, name); });
            });
        }
    }
    menu()->addSeparator();
    QAction* activate = put(menu(), QStringLiteral("activate"),
                            QStringLiteral("Activate matching heads of layer %1").arg(document_.selection().get().layer.value),
                            [this] { activate_matching(); });
    activate->setEnabled(document_.finder().all() > 0);
    // Lit while the current expression has a name.
    setCheckable(true);
    setChecked(named);
}

void FilterMenu::ask_name(const QString& renamed) {
    renamed_ = renamed;
    name_->setPlaceholderText(renamed.isEmpty() ? QStringLiteral("Name of this filter")
                                                : QStringLiteral("New name of %1").arg(renamed));
    name_->setText(renamed);
    name_->show();
    name_->setFocus();
    name_->selectAll();
}

void FilterMenu::take_name() {
    const QString name = name_->text().simplified();
    if (name.isEmpty()) return stop_asking();
    const auto& filters = document_.options().filters;
    if (renamed_.isEmpty()) {
        document_.edit_options([&](ViewOptions& o) { o.filters = with_filter(o.filters, {name, o.finder.trimmed()}); });
    } else if (const NamedFilter* old = filter_called(filters, renamed_)) {
        const NamedFilter* taken = filter_called(filters, name);
        if (taken && taken != old) return Q_EMIT said(QStringLiteral("There already is a filter %1").arg(taken->name));
        const NamedFilter next{name, old->expression};
        document_.edit_options([&](ViewOptions& o) { o.filters = with_filter(without_filter(o.filters, renamed_), next); });
    }
    stop_asking();
}

void FilterMenu::stop_asking() {
    renamed_.clear();
    name_->clear();
    name_->hide();
}

bool FilterMenu::eventFilter(QObject* watched, QEvent* event) {
    if (watched == name_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        stop_asking();
        return true;
    }
    return QToolButton::eventFilter(watched, event);
}

bool FilterMenu::activate_matching() {
    figure::Selection next = without_hover(document_.selection().get());
    std::vector<Head> heads;
    for (std::int64_t h = 0; h < document_.selection().heads(); ++h) {
        if (document_.finder().matches({next.layer, Head(h)})) heads.push_back(Head(h));
    }
    if (heads.empty()) {
        Q_EMIT said(QStringLiteral("No head of layer %1 matches").arg(next.layer.value));
        return false;
    }
    next.heads = heads;
    document_.selection().set(next);
    return true;
}

}  // namespace headlight::ui
