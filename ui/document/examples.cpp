// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/examples.h"

#include <QFile>

namespace headlight::ui {

namespace {

QStringList lines_of(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts) : QStringList();
}

}  // namespace

const QStringList& example_sentences() {
    static const QStringList sentences = lines_of(QStringLiteral(":/headlight/examples.txt"));
    return sentences;
}

const QStringList& comparison_examples() {
    static const QStringList pairs = lines_of(QStringLiteral(":/headlight/comparisons.txt"));
    return pairs;
}

}  // namespace headlight::ui
