// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/examples.h"

#include <QFile>

namespace headlight::ui {

const QStringList& example_sentences() {
    static const QStringList sentences = [] {
        QFile file(QStringLiteral(":/headlight/examples.txt"));
        return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts) : QStringList();
    }();
    return sentences;
}

}  // namespace headlight::ui
