// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineEdit>
#include <QStringList>

#include <functional>

namespace headlight::ui {

struct Completion {
    QString text;      ///< as far as all that fits agrees
    QStringList fits;  ///< what may stand there: names in their folder, with / after folders
};
/// Of a path, as a shell does; ~ is the home folder. `files`: patterns of the files that count, next to folders.
Completion complete_path(const QString& typed, const QStringList& files);
/// Of one of these names, whatever their case.
Completion complete_name(const QString& typed, const QStringList& names);
/// It is meant as one, and not as a name.
bool is_path(const QString& typed);

/// Tab completes what is typed, and lists what fits where that is more than one; where it has nothing more to say, Tab leaves
/// the field as in other fields. `names`: of what is no path.
class PathCompletion : public QObject {
public:
    PathCompletion(QLineEdit&, QStringList files, std::function<QStringList()> names = {});
    bool eventFilter(QObject*, QEvent*) override;

private:
    QLineEdit& line_;
    QStringList files_;
    std::function<QStringList()> names_;
    QString said_;  ///< the text of which it has listed what fits
};

}  // namespace headlight::ui
