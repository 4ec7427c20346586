// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/about.h"

#include "headlight/base/version.h"
#include "headlight/figure/core/theme.h"
#include "headlight/model/runtime.h"
#include "ui/style/widgets.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

void show_in_window(QWidget* parent, const QString& title, QLayout* content, QSize size) {
    auto* dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    auto* column = new_column(dialog, {24, 20, 24, 16}, 12);
    auto* heading = new QLabel(title);
    heading->setFont(figure::ui_font(15, QFont::DemiBold));
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* holder = new QWidget;
    holder->setProperty("role", "clear");
    auto* inner = new_column(holder, {0, 0, 8, 0});
    inner->addLayout(content);
    inner->addStretch();
    area->setWidget(holder);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    column->addWidget(heading);
    column->addWidget(area, 1);
    column->addWidget(buttons);
    dialog->resize(size);
    dialog->show();
}

}  // namespace

void show_text_window(QWidget* parent, const QString& title, const QString& text) {
    auto* body = new QLabel(text);
    body->setTextFormat(Qt::PlainText);
    body->setWordWrap(true);
    body->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    body->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    auto* content = new QVBoxLayout;
    content->addWidget(body);
    show_in_window(parent, title, content, {460, text.size() > 900 ? 560 : 320});
}

void show_list_window(QWidget* parent, const QString& title, const std::vector<std::pair<QString, QString>>& rows) {
    auto* content = new QGridLayout;
    content->setHorizontalSpacing(24);
    content->setVerticalSpacing(6);
    content->setColumnStretch(1, 1);
    for (const auto& [left, right] : rows) {
        const int row = content->rowCount();
        content->addWidget(role_label("muted", left), row, 0);
        content->addWidget(new QLabel(right), row, 1);
    }
    show_in_window(parent, title, content, {460, 560});
}

void show_about(QWidget* parent) {
    const auto facts = model::runtime_facts();
    show_text_window(
        parent, QStringLiteral("Headlight %1").arg(QLatin1String(version())),
        QStringLiteral(
            "Shows what every attention head of a transformer language model did with a sentence. Everything runs on this machine.\n\n"
            "LibTorch %1, Qt %2\n%3\n%4 threads%5\n\n"
            "Free software under the GNU General Public License, version 3 or later. The built-in model and its licence: models/README.md.")
            .arg(QString::fromStdString(facts.torch_version), QLatin1String(qVersion()), QString::fromStdString(facts.blas))
            .arg(facts.threads)
            .arg(facts.cuda ? QStringLiteral(", CUDA") : QString()));
}

}  // namespace headlight::ui
