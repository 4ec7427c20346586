// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/compare_dialog.h"

#include "headlight/model/locate.h"
#include "ui/style/any_length.h"
#include "ui/style/path_completion.h"
#include "ui/style/widgets.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

namespace headlight::ui {

CompareDialog::CompareDialog(Document& document, QWidget* parent)
    : QDialog(parent),
      document_(document),
      text_(new QPlainTextEdit),
      pair_(new QLineEdit),
      image_(new QLineEdit),
      model_(new QComboBox) {
    setWindowTitle(QStringLiteral("Compare with"));
    const PromptText& a = document.prompt();
    const OtherInput& now = document.options().other;
    const bool pictures = reads_pictures(document.model());
    const bool two_texts = a.has_pair || (document.model().model && document.model().model->part(model::Stack::encoder));
    const auto or_own = [](const QString& own, const QString& of_a) { return own.isEmpty() ? of_a : own; };

    take_any_length(*text_);
    set_text(*text_, or_own(now.prompt.text, a.text));
    text_->setTabChangesFocus(true);
    text_->setToolTip(QStringLiteral("Return compares, Shift+Return breaks the line"));
    text_->setAccessibleName(QStringLiteral("Text of B"));
    text_->setFixedHeight(96);
    pair_->setText(or_own(now.prompt.pair, a.pair));
    pair_->setAccessibleName(a.has_pair ? QStringLiteral("Second sentence of B") : QStringLiteral("Target of B"));
    image_->setText(or_own(now.prompt.image, a.image));
    image_->setAccessibleName(QStringLiteral("Picture of B"));
    new PathCompletion(*image_, {QStringLiteral("*")});
    model_->setEditable(true);
    model_->setAccessibleName(QStringLiteral("Model of B"));
    model_->addItem(QStringLiteral("the same model"), QString());
    QStringList names{QString::fromLatin1(model::default_model_name)};
    names << QSettings().value(QStringLiteral("recent/models")).toStringList();
    names.removeDuplicates();
    for (const QString& name : names)
        if (name != document.model().reference) model_->addItem(name, name);
    if (!now.model.isEmpty()) model_->setEditText(now.model);

    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setHorizontalSpacing(14);
    form->setVerticalSpacing(10);
    const auto with_button = [](QWidget* field, const QString& words, auto work) {
        auto* row = new QHBoxLayout;
        row->addWidget(field, 1);
        auto* button = new QPushButton(words);
        button->setAutoDefault(false);  // Enter compares
        connect(button, &QPushButton::clicked, field, work);
        row->addWidget(button);
        return row;
    };
    if (pictures) {
        form->addRow(QStringLiteral("Picture of B"),
                     with_button(image_, QStringLiteral("Choose …"), [this] { choose_picture(); }));
    } else {
        form->addRow(QStringLiteral("Text of B"), text_);
        if (two_texts) form->addRow(a.has_pair ? QStringLiteral("Second sentence") : QStringLiteral("Target"), pair_);
    }
    form->addRow(QStringLiteral("Model of B"), with_button(model_, QStringLiteral("Folder …"), [this] { choose_folder(); }));
    QLabel* note = wrapped_label(
        "note",
        QStringLiteral(
            "B runs beside what is shown now, which is A. Views then show A, B or B − A (Space), and View › Comparison has the heads that "
            "differ, the differences of all heads, one head in both, and the layers that are alike."));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    auto* compare = buttons->addButton(QStringLiteral("Compare"), QDialogButtonBox::AcceptRole);
    compare->setDefault(true);
    connect(buttons, &QDialogButtonBox::accepted, this, &CompareDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new_column(this, {24, 20, 24, 16}, 14);
    column->addLayout(form);
    column->addWidget(note);
    column->addWidget(buttons);
    // These keep Return for themselves: a line break, and the choice of an entry.
    text_->installEventFilter(this);
    model_->lineEdit()->installEventFilter(this);
    resize(560, sizeHint().height());
    text_->setFocus();
    text_->selectAll();
}

bool CompareDialog::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (enter && !(key->modifiers() & Qt::ShiftModifier)) {
            accept();
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

OtherInput CompareDialog::input() const {
    const PromptText& a = document_.prompt();
    const auto changed = [](const QString& own, const QString& of_a) { return own == of_a ? QString() : own; };
    OtherInput input{.on = true};
    input.prompt.text = changed(text_->toPlainText(), a.text);
    input.prompt.pair = changed(pair_->text(), a.pair);
    // A session is read elsewhere than where it is written.
    const auto absolute = [](const QString& file) { return QFileInfo::exists(file) ? QFileInfo(file).absoluteFilePath() : file; };
    input.prompt.image = changed(absolute(image_->text()), a.image);
    const QString words = model_->currentText().trimmed(), typed = words == model_->itemText(0) ? words : absolute(words);
    if (typed != model_->itemText(0) && typed != document_.model().reference) input.model = typed;
    return input;
}

void CompareDialog::accept() {
    ViewOptions options = document_.options();
    options.other = input();
    if (options.side == figure::Side::a) options.side = figure::Side::difference;
    document_.set_options(options);
    QDialog::accept();
}

void CompareDialog::choose_folder() {
    const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("Model of B"));
    if (!folder.isEmpty()) model_->setEditText(folder);
}

void CompareDialog::choose_picture() {
    const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("Picture of B"));
    if (!file.isEmpty()) image_->setText(file);
}

}  // namespace headlight::ui
