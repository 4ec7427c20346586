// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/tensor_list.h"

#include "headlight/figure/architecture/architecture_views.h"
#include "headlight/figure/core/number_text.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QPointer>
#include <QVBoxLayout>

#include <utility>

namespace headlight::ui {

namespace {

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
                        QString::fromStdString(loaded.stored_dtype),
                        loaded.mapped ? QStringLiteral("in place") : QStringLiteral("converted"),
                        QFileInfo(QString::fromStdString(loaded.file)).fileName()});
    for (const std::string& name : report.ignored)
        add_row(table, {QString::fromStdString(name), QStringLiteral("not needed"), {}, {}, {}, {}});
    for (const std::string& name : report.unused)
        add_row(table, {QString::fromStdString(name), QStringLiteral("not used"), {}, {}, {}, {}});
}

void apply_filter(QTableWidget& table, const QString& wanted) {
    for (int row = 0; row < table.rowCount(); ++row) {
        bool fits = false;
        for (int column = 0; column < table.columnCount() && !fits; ++column)
            fits = table.item(row, column)->text().contains(wanted, Qt::CaseInsensitive);
        table.setRowHidden(row, !fits);
    }
}

}  // namespace

TensorList::TensorList(const OpenModel& opened, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      model_(opened),
      jobs_(jobs),
      filter_(new QLineEdit),
      table_(new QTableWidget(0, 6)),
      histogram_(new FigureCanvas(selection_)) {
    const model::LoadReport& report = model_.model->report();
    setObjectName(QStringLiteral("TensorList"));
    filter_->setPlaceholderText(QStringLiteral("Filter by name, shape, type or file"));
    filter_->setAccessibleName(QStringLiteral("Filter"));
    table_->setAccessibleName(QStringLiteral("Tensors"));
    set_up_list(*table_,
                {QStringLiteral("Tensor"), QStringLiteral("Feeds"), QStringLiteral("Shape"), QStringLiteral("Type"),
                 QStringLiteral("Used"), QStringLiteral("File")},
                26);
    QHeaderView* header = table_->horizontalHeader();
    fill(*table_, report);
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setSectionResizeMode(0, QHeaderView::Stretch);
    histogram_->setAccessibleName(QStringLiteral("Histogram"));
    histogram_->setFixedHeight(250);
    histogram_->set_placeholder({}, QStringLiteral("Choose a tensor to see the distribution of its values."));
    QLabel* facts = role_label(
        "note", QStringLiteral("%1 parameters in %2 %6, %3 bytes read where they lie in the file, %4 converted, loaded in %5 s")
                    .arg(figure::count_text(static_cast<qint64>(report.loaded.size())),
                         figure::count_text(static_cast<qint64>(report.files.size())), figure::count_text(report.bytes_mapped),
                         figure::count_text(report.bytes_copied), QString::number(report.seconds, 'f', 2),
                         report.files.size() == 1 ? QStringLiteral("file") : QStringLiteral("files")));
    QLabel* pointed = role_label("note");
    auto* column = new_column(this, {16, 12, 16, 12}, 10);
    column->addWidget(filter_);
    column->addWidget(table_, 1);
    add_widgets(*column, {histogram_, pointed, facts});
    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& wanted) { apply_filter(*table_, wanted.trimmed()); });
    connect(table_, &QTableWidget::itemSelectionChanged, this, &TensorList::show_histogram);
    connect(histogram_, &FigureCanvas::pointed_at, pointed, &QLabel::setText);
    connect(&Appearance::instance(), &Appearance::changed, this, &TensorList::restyle);
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        if (lane == Jobs::Lane::tensor)
            histogram_->set_placeholder(QStringLiteral("%1: no histogram").arg(asked_),
                                        QString::fromStdString(failure.facts.problem));
    });
    restyle();
}

TensorList::~TensorList() { jobs_.cancel(Jobs::Lane::tensor); }

void TensorList::restyle() {
    figure::Style style;
    style.theme = &Appearance::instance().theme();
    histogram_->set_style(style);
}

void TensorList::show_histogram() {
    const QList<QTableWidgetItem*> chosen = table_->selectedItems();
    if (chosen.isEmpty()) return;
    const QString name = table_->item(chosen.front()->row(), 0)->text();
    if (name == std::exchange(asked_, name)) return;
    histogram_->set_figure(nullptr);
    histogram_->set_placeholder(name, QStringLiteral("Reading its values …"));
    jobs_.start(
        Jobs::Lane::tensor, QStringLiteral("Reading %1").arg(name),
        [self = QPointer(this), opened = model_, name](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
            check_files(opened);
            const auto stats = model::tensor_stats(opened.model->folder(), name.toStdString(), 60, cancel, progress);
            std::shared_ptr<figure::Figure> figure = figure::tensor_histogram(stats);
            return [self, name, figure] {
                if (self && self->asked_ == name) self->histogram_->set_figure(figure);
            };
        });
}

}  // namespace headlight::ui
