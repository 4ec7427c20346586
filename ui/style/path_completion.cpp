// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/path_completion.h"

#include <QDir>
#include <QKeyEvent>
#include <QToolTip>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr qsizetype most_listed = 12;

/// As far as they agree.
QString common_start(const QStringList& all, Qt::CaseSensitivity sensitivity) {
    QString start = all.isEmpty() ? QString() : all.front();
    for (const QString& one : all)
        while (!one.startsWith(start, sensitivity)) start.chop(1);
    return start;
}

}  // namespace

bool is_path(const QString& typed) {
    return typed == QStringLiteral("~") || typed.startsWith(u'/') || typed.startsWith(QStringLiteral("~/")) ||
           typed.startsWith(QStringLiteral("./")) || typed.startsWith(QStringLiteral("../"));
}

Completion complete_path(const QString& typed, const QStringList& files) {
    QString path = typed;
    if (path.startsWith(u'~')) path = QDir::homePath() + (path.size() > 1 ? path.sliced(1) : QStringLiteral("/"));
    const qsizetype name_at = path.lastIndexOf(u'/') + 1;
    const QString folder = path.first(name_at), begun = path.sliced(name_at);
    QStringList fits;
    const auto hidden = begun.startsWith(u'.') ? QDir::Hidden : QDir::Filters();
    const QDir dir(folder.isEmpty() ? QStringLiteral(".") : folder);
    for (const QString& name : dir.entryList(QDir::Dirs | QDir::NoDotAndDotDot | hidden, QDir::Name))
        if (name.startsWith(begun)) fits << name + u'/';
    if (!files.isEmpty())
        for (const QString& name : dir.entryList(files, QDir::Files | hidden, QDir::Name))
            if (name.startsWith(begun)) fits << name;
    return {fits.isEmpty() ? typed : folder + common_start(fits, Qt::CaseSensitive), fits};
}

Completion complete_name(const QString& typed, const QStringList& names) {
    QStringList fits;
    for (const QString& name : names)
        if (name.startsWith(typed, Qt::CaseInsensitive)) fits << name;
    return {fits.isEmpty() ? typed : common_start(fits, Qt::CaseInsensitive), fits};
}

PathCompletion::PathCompletion(QLineEdit& line, QStringList files, std::function<QStringList()> names)
    : QObject(&line), line_(line), files_(std::move(files)), names_(std::move(names)) {
    line.installEventFilter(this);
}

bool PathCompletion::eventFilter(QObject*, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() != Qt::Key_Tab || key->modifiers() || line_.isReadOnly()) return false;
    const QString typed = line_.text();
    const bool path = !names_ || is_path(typed);
    if (typed.isEmpty()) return false;
    const Completion found = path ? complete_path(typed, files_) : complete_name(typed, names_());
    const bool several = found.fits.size() > 1;
    if (found.text == typed && (!several || said_ == typed)) return false;
    if (found.text != typed) {  // as typed: who listens to edits hears of it, and undo takes it back
        line_.selectAll();
        line_.insert(found.text);
    }
    said_ = found.text;
    if (several) {
        QStringList shown = found.fits.first(std::min(most_listed, found.fits.size()));
        if (shown.size() < found.fits.size()) shown << QStringLiteral("… and %1 more").arg(found.fits.size() - shown.size());
        QToolTip::showText(line_.mapToGlobal(QPoint(0, line_.height() / 2)), shown.join(u'\n').toHtmlEscaped(), &line_);
    }
    return true;
}

}  // namespace headlight::ui
