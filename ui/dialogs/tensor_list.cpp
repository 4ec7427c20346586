// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/tensor_list.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QTableWidget>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

QString count_text(qint64 n) { return QLocale(QLocale::English).toString(n); }

QString shape_text(const std::vector<std::int64_t>& shape) {
    QStringList sizes;
    for (const std::int64_t size : shape) sizes << QString::number(size);
    return QStringLiteral("[%1]").arg(sizes.join(QStringLiteral(", ")));
}

void add_row(QTableWidget& table, const QStringList& cells) {
    const int row = table.rowCount();
    table.insertRow(row);
    for (int column = 0; column < cells.size(); ++column) {
        auto* item = new QTableWidgetItem(cells[column]);
        item->setToolTip(cells[column]);
        table.setItem(row, column, item);
    }
}

void fill(QTableWidget& table, const model::LoadReport& report) {
    for (const model::LoadedParameter& loaded : report.loaded)
        add_row(table, {QString::fromStdString(loaded.tensor), QString::fromStdString(loaded.parameter), shape_text(loaded.shape),
                        QString::fromStdString(loaded.stored_dtype), loaded.mapped ? QObject::tr("in place") : QObject::tr("converted"),
                        QFileInfo(QString::fromStdString(loaded.file)).fileName()});
    for (const std::string& name : report.ignored) add_row(table, {QString::fromStdString(name), QObject::tr("not needed"), {}, {}, {}, {}});
    for (const std::string& name : report.unused) add_row(table, {QString::fromStdString(name), QObject::tr("not used"), {}, {}, {}, {}});
}

void apply_filter(QTableWidget& table, const QString& wanted) {
    for (int row = 0; row < table.rowCount(); ++row) {
        bool fits = false;
        for (int column = 0; column < table.columnCount() && !fits; ++column) fits = table.item(row, column)->text().contains(wanted, Qt::CaseInsensitive);
        table.setRowHidden(row, !fits);
    }
}

}  // namespace

void show_tensors(QWidget* parent, const std::shared_ptr<const model::Model>& model) {
    auto* dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("TensorList"));
    dialog->setWindowTitle(QObject::tr("Tensors of %1").arg(QString::fromStdString(model->config().name)));
    const model::LoadReport& report = model->report();
    auto* filter = new QLineEdit;
    filter->setPlaceholderText(QObject::tr("Filter by name, shape, type or file"));
    filter->setAccessibleName(QObject::tr("Filter"));
    auto* table = new QTableWidget(0, 6);
    table->setHorizontalHeaderLabels({QObject::tr("Tensor"), QObject::tr("Feeds"), QObject::tr("Shape"), QObject::tr("Type"), QObject::tr("Used"), QObject::tr("File")});
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setShowGrid(false);
    table->setTabKeyNavigation(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(26);
    QHeaderView* header = table->horizontalHeader();
    header->setHighlightSections(false);
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    fill(*table, report);
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setSectionResizeMode(0, QHeaderView::Stretch);
    auto* facts = new QLabel(QObject::tr("%1 parameters in %2 file(s), %3 bytes used in place, %4 converted, loaded in %5 s")
                                 .arg(count_text(static_cast<qint64>(report.loaded.size())), count_text(static_cast<qint64>(report.files.size())),
                                      count_text(report.bytes_mapped), count_text(report.bytes_copied), QString::number(report.seconds, 'f', 2)));
    facts->setProperty("role", "note");
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    auto* column = new QVBoxLayout(dialog);
    column->setContentsMargins(24, 20, 24, 16);
    column->setSpacing(12);
    column->addWidget(filter);
    column->addWidget(table, 1);
    column->addWidget(facts);
    column->addWidget(buttons);
    QObject::connect(filter, &QLineEdit::textChanged, table, [table](const QString& wanted) { apply_filter(*table, wanted.trimmed()); });
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    dialog->resize(960, 560);
    dialog->show();
}

}  // namespace headlight::ui
