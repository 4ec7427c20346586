// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/corpus/corpus_form.h"

#include "headlight/analyze/heads/head_table.h"
#include "ui/style/path_completion.h"
#include "ui/style/real_field.h"
#include "ui/style/widgets.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QStandardPaths>
#include <QVBoxLayout>

namespace headlight::ui {
namespace {

QHBoxLayout* with_buttons(QLineEdit* edit, std::initializer_list<QPushButton*> buttons) {
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(edit, 1);
    for (QPushButton* button : buttons) {
        button->setAutoDefault(false);
        row->addWidget(button);
    }
    return row;
}

/// Stores are collected under the user's data, named after their texts.
QString proposed_store(const QString& texts) {
    const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/corpora/");
    QString name = QFileInfo(QDir::cleanPath(texts)).completeBaseName();
    if (name.isEmpty()) return {};
    QString folder = root + name;
    for (int n = 2; QFileInfo::exists(folder); ++n) folder = QStringLiteral("%1%2-%3").arg(root, name).arg(n);
    return folder;
}

}  // namespace

void CorpusForm::Rows::insert(int at, const QString& title, QLayout* row) {
    auto* whole = new QWidget;
    row->setContentsMargins(0, 0, 0, 0);
    whole->setLayout(row);
    insert(at, title, whole);
}

CorpusForm::CorpusForm(const QString& model, QWidget* parent)
    : QDialog(parent),
      rows_(new Rows),
      texts_(new QLineEdit),
      store_(new QLineEdit),
      stop_measure_(new QComboBox),
      stop_width_(new RealField),
      limit_(new QSpinBox),
      problem_(wrapped_label("note")),
      run_(new QPushButton(QStringLiteral("Run"))) {
    setWindowTitle(QStringLiteral("Run texts through %1").arg(model));
    setObjectName(QStringLiteral("CorpusForm"));
    texts_->setPlaceholderText(QStringLiteral("File or folder: .txt, .jsonl, .csv, .tsv, .conllu, also .gz and .zst"));
    texts_->setAccessibleName(QStringLiteral("Texts"));
    store_->setAccessibleName(QStringLiteral("Store"));
    new PathCompletion(*texts_, {QStringLiteral("*")});
    new PathCompletion(*store_, {});
    store_->setPlaceholderText(QStringLiteral("Folder for the results"));
    limit_->setRange(0, 100'000'000);
    limit_->setSpecialValueText(QStringLiteral("all"));
    limit_->setGroupSeparatorShown(true);
    auto* file = new QPushButton(QStringLiteral("File …"));
    auto* folder = new QPushButton(QStringLiteral("Folder …"));
    auto* store = new QPushButton(QStringLiteral("Choose …"));
    constexpr int kEnd = -1;
    rows_->insert(0, QStringLiteral("Texts"), with_buttons(texts_, {file, folder}));
    rows_->insert(rows_->place_of("context"), QStringLiteral("Texts at most"), limit_);
    auto* gathered = new QVBoxLayout;
    for (const corpus::AccumulatorKind& kind : corpus::accumulator_kinds()) {
        auto* box = new QCheckBox(QString::fromUtf8(kind.title));
        box->setChecked(kind.usual);
        box->setToolTip(QString::fromUtf8(kind.note));
        box->setProperty("kind", QString::fromUtf8(kind.id));
        if (kind.of_treebank && !box->text().contains(QStringLiteral("treebank")))
            box->setText(box->text() + QStringLiteral(" of a treebank"));
        connect(box, &QCheckBox::toggled, this, &CorpusForm::changed);
        gathered->addWidget(box);
        measures_.push_back(box);
    }
    rows_->insert(kEnd, QStringLiteral("Gather"), gathered);
    stop_measure_->setAccessibleName(QStringLiteral("Measure to stop at"));
    stop_measure_->addItem(QStringLiteral("all texts have been run"));
    for (const analyze::MeasureInfo& measure : analyze::head_measures())
        stop_measure_->addItem(QStringLiteral("every head’s %1 is known to").arg(QString::fromStdString(measure.title)),
                               QString::fromStdString(measure.id));
    stop_measure_->setMaxVisibleItems(20);
    stop_width_->setAccessibleName(QStringLiteral("Half width of the interval"));
    stop_width_->setPrefix(QStringLiteral("± "));
    stop_width_->setDecimals(4);
    stop_width_->setRange(0.0001, 1000);
    stop_width_->setSingleStep(0.005);
    stop_width_->setValue(0.01);
    stop_width_->setToolTip(QStringLiteral(
        "Half width of the 95 % interval over texts, in the measure’s unit; of a share 0.01 is one percent. Texts are then run in "
        "random order, and what has been run stands for all of them"));
    auto* stop = new QHBoxLayout;
    stop->setSpacing(8);
    stop->addWidget(stop_measure_, 1);
    stop->addWidget(stop_width_);
    rows_->insert(kEnd, QStringLiteral("Stop when"), stop);
    const auto show_width = [this] {
        const bool stops = stop_measure_->currentIndex() > 0;
        stop_width_->setVisible(stops);
        const auto& known = analyze::head_measures();
        const auto at =
            std::ranges::find(known, stop_measure_->currentData().toString().toStdString(), &analyze::MeasureInfo::id);
        const bool named = stops && (at->unit == "nats" || at->unit == "tokens");
        stop_width_->setSuffix(named ? QStringLiteral(" ") + QString::fromStdString(at->unit) : QString());
    };
    connect(stop_measure_, &QComboBox::currentIndexChanged, this, show_width);
    connect(stop_measure_, &QComboBox::currentIndexChanged, this, &CorpusForm::changed);
    show_width();
    rows_->insert(kEnd, QStringLiteral("Store"), with_buttons(store_, {store}));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    buttons->addButton(run_, QDialogButtonBox::AcceptRole);
    auto* column = new_column(this, {24, 20, 24, 16}, 14);
    column->addWidget(rows_);
    column->addWidget(problem_);
    column->addWidget(buttons);
    connect(file, &QPushButton::clicked, this, [this] {
        const QString chosen = QFileDialog::getOpenFileName(this, QStringLiteral("Texts"), texts_->text());
        if (!chosen.isEmpty()) texts_->setText(chosen);
    });
    connect(folder, &QPushButton::clicked, this, [this] {
        const QString chosen = QFileDialog::getExistingDirectory(this, QStringLiteral("Folder of texts"), texts_->text());
        if (!chosen.isEmpty()) texts_->setText(chosen);
    });
    connect(store, &QPushButton::clicked, this, [this] {
        const QString chosen = QFileDialog::getExistingDirectory(this, QStringLiteral("Folder of the store"), store_->text());
        if (chosen.isEmpty()) return;
        store_->setText(chosen);
        store_typed_ = true;
    });
    connect(store_, &QLineEdit::textEdited, this, [this] { store_typed_ = true; });
    connect(store_, &QLineEdit::textChanged, this, &CorpusForm::changed);
    connect(texts_, &QLineEdit::textChanged, this, [this](const QString& path) {
        if (!store_typed_) store_->setText(proposed_store(path.trimmed()));
        changed();
    });
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    // In the order of the rows, not in that of their making.
    QWidget* before = texts_;
    for (QWidget* next :
         std::initializer_list<QWidget*>{file, folder, rows_->row("unit"), rows_->row("field"), limit_, rows_->row("context")}) {
        setTabOrder(before, next);
        before = next;
    }
    texts_->setFocus();
    resize(680, sizeHint().height());
    changed();
}

void CorpusForm::changed() {
    const QFileInfo texts(texts_->text().trimmed());
    const bool any = std::ranges::any_of(measures_, [](const QCheckBox* box) { return box->isChecked(); });
    const auto gathers = [&](const char* kind) {
        return std::ranges::any_of(measures_, [&](const QCheckBox* box) {
            return box->isChecked() && box->property("kind").toString() == QString::fromUtf8(kind);
        });
    };
    QString problem;
    if (texts_->text().trimmed().isEmpty())
        problem = QStringLiteral("Choose the texts.");
    else if (!texts.exists())
        problem = QStringLiteral("There is no such file or folder: %1").arg(texts.filePath());
    else if (!any)
        problem = QStringLiteral("Choose something to gather.");
    else if (stop_measure_->currentIndex() > 0 && !gathers("heads"))
        problem = QStringLiteral("To stop at a measure of heads, gather “%1”.").arg(measures_.front()->text());
    else if (store_->text().trimmed().isEmpty())
        problem = QStringLiteral("Choose a folder for the store.");
    problem_->setText(problem);
    run_->setEnabled(problem.isEmpty());
    run_->setToolTip(problem);
}

CorpusOrder CorpusForm::order() const {
    CorpusOrder order;
    order.texts = texts_->text().trimmed();
    order.store = store_->text().trimmed();
    order.options = rows_->asked();
    order.limit = limit_->value();
    if (stop_measure_->currentIndex() > 0)
        order.stop_at = corpus::StopAt{stop_measure_->currentData().toString().toStdString(), stop_width_->value()};
    // The usual ones of these texts, unless another choice was made: not every text has words or mentions.
    const auto& kinds = corpus::accumulator_kinds();
    const bool usual = std::ranges::equal(measures_, kinds, [](const QCheckBox* box, const corpus::AccumulatorKind& kind) {
        return box->isChecked() == kind.usual;
    });
    for (const QCheckBox* box : measures_)
        if (!usual && box->isChecked()) order.options.measures.push_back(box->property("kind").toString().toStdString());
    return order;
}

}  // namespace headlight::ui
