// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sweep/largest_cells.h"

#include "headlight/figure/core/number_text.h"
#include "ui/panels/heads/head_list_model.h"
#include "ui/panels/heads/head_row_delegate.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headlight::ui {
namespace {

using intervention::SweepResult;

constexpr int cell_row_height = 25;

/// "+0.813"
QString signed_effect(double value) {
    const QString text = figure::sweep_number(value);
    return value > 0 ? QStringLiteral("+") + text : text;
}

}  // namespace

LargestCells::LargestCells(Document& document, QWidget* parent)
    : QWidget(parent),
      model_(new QStandardItemModel(this)),
      list_(new QTableView),
      title_(role_label("title")),
      rest_(wrapped_label("note")),
      chosen_title_(role_label("title")),
      story_(wrapped_label("note")),
      edit_words_(wrapped_label("note")),
      chosen_(new QWidget),
      runs_(new NumberRows),
      edit_(new QPushButton),
      in_text_(new QPushButton(QStringLiteral("Show in Text"))) {
    for (QLabel* heading : {title_, chosen_title_}) heading->setFont(figure::ui_font(12.5, QFont::DemiBold));
    list_->setModel(model_);
    list_->setAccessibleName(QStringLiteral("Largest effects"));
    list_->setItemDelegate(new HeadRowDelegate(document, list_));
    list_->setShowGrid(false);
    list_->setSelectionBehavior(QAbstractItemView::SelectRows);
    list_->setSelectionMode(QAbstractItemView::SingleSelection);
    list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    list_->setTabKeyNavigation(false);
    list_->setMaximumWidth(420);
    list_->verticalHeader()->hide();
    list_->verticalHeader()->setDefaultSectionSize(cell_row_height);
    list_->horizontalHeader()->setHighlightSections(false);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    for (QLabel* words : {story_, edit_words_}) words->setTextInteractionFlags(Qt::TextSelectableByMouse);

    auto* of_chosen = new_column(chosen_, {0, 0, 0, 0}, 6);
    auto* buttons = new QHBoxLayout;
    add_widgets(*buttons, {edit_, in_text_});
    buttons->addStretch(1);
    add_widgets(*of_chosen, {chosen_title_, story_, edit_words_});
    of_chosen->addLayout(buttons);
    auto* column = new_column(this, {12, 0, 0, 0}, 8);
    add_widgets(*column, {title_, list_, rest_, chosen_, runs_});
    column->addStretch(1);

    connect(list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
        if (!filling_ && now.isValid()) Q_EMIT cell_chosen(order_[std::size_t(now.row())]);
    });
    connect(edit_, &QPushButton::clicked, this, &LargestCells::edit_asked);
    connect(in_text_, &QPushButton::clicked, this, &LargestCells::text_asked);
    show(nullptr, {});
}

void LargestCells::show(const figure::SweepPtr& result, const std::optional<Chosen>& chosen) {
    setVisible(result != nullptr);
    if (!result) return void(result_.reset());
    filling_ = true;
    if (result != result_) {
        result_ = result;
        fill(*result);
    }
    const auto at = chosen ? std::ranges::find(order_, chosen->cell) : order_.end();
    list_->clearSelection();
    list_->setCurrentIndex(at == order_.end() ? QModelIndex() : model_->index(int(at - order_.begin()), 0));
    filling_ = false;
    chosen_->setVisible(chosen.has_value());
    if (chosen) {
        chosen_title_->setText(
            QStringLiteral("%1 in words").arg(figure::sweep_cell_name(*result, result->cells[chosen->cell]).simplified()));
        const QString story = figure::sweep_story(*result, chosen->cell);
        story_->setText(story.isEmpty() ? QStringLiteral("It has no number.") : story);
        edit_words_->setText(chosen->edit);
        edit_->setEnabled(chosen->can_edit);
        edit_->setToolTip(chosen->can_edit ? QString() : chosen->edit);
        edit_->setText(chosen->for_text ? QStringLiteral("Add as edit") : QStringLiteral("Copy edit"));
    }
    show_runs(*result, chosen);
}

/// By the size of the effect, or of the share of the way where there is one.
void LargestCells::fill(const SweepResult& r) {
    const bool shares = std::ranges::any_of(r.results, [](const auto& of) { return std::isfinite(of.normalized); });
    const auto size = [&](std::size_t i) { return std::abs(shares ? r.results[i].normalized : r.results[i].effect); };
    order_.clear();
    std::size_t known = 0;
    for (std::size_t i = 0; i < r.cells.size(); ++i)
        if (std::isfinite(size(i))) order_.push_back(i), ++known;
    std::ranges::stable_sort(order_, std::greater(), size);
    double others_most = 0;  // a share's gap may be that of fewer pairs: their order is not that of the effects
    for (std::size_t i = most; i < order_.size(); ++i) others_most = std::max(others_most, std::abs(r.results[order_[i]].effect));
    order_.resize(std::min(order_.size(), most));
    const double largest = order_.empty() || size(order_.front()) == 0 ? 1 : size(order_.front());

    model_->clear();
    QStringList columns{QStringLiteral("cell")};
    if (shares) columns << QStringLiteral("share");
    model_->setHorizontalHeaderLabels(columns << QStringLiteral("effect"));
    model_->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    for (int c = 1; c < model_->columnCount(); ++c)
        model_->horizontalHeaderItem(c)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    model_->horizontalHeaderItem(model_->columnCount() - 1)
        ->setToolTip(QStringLiteral("Of the %1: after the edit minus before it").arg(figure::sweep_metric_words(r)));
    if (shares)
        model_->horizontalHeaderItem(1)->setToolTip(
            QStringLiteral("Of the way to the other run: 0 changes nothing, 1 gives its metric"));
    for (const std::size_t i : order_) {
        const auto& of = r.results[i];
        auto* name = new QStandardItem(figure::sweep_cell_name(r, r.cells[i]).simplified());
        name->setToolTip(figure::sweep_story(r, i));
        QList<QStandardItem*> row{name};
        if (shares) row << new QStandardItem(figure::sweep_number(of.normalized));
        row << new QStandardItem(signed_effect(of.effect));
        const double value = shares ? of.normalized : of.effect;
        row[1]->setData(std::clamp(value / largest, -1.0, 1.0), HeadListModel::share_role);
        row[1]->setData(true, HeadListModel::signed_role);
        model_->appendRow(row);
    }
    auto* header = list_->horizontalHeader();
    header->setSectionResizeMode(QHeaderView::Fixed);
    header->setSectionResizeMode(0, QHeaderView::Stretch);
    list_->setColumnWidth(1, 108);
    if (shares) list_->setColumnWidth(2, 76);
    list_->setFixedHeight(std::max(1, model_->rowCount()) * cell_row_height + header->sizeHint().height() + 2);
    title_->setText(known == order_.size()
                        ? QStringLiteral("All %1 cells").arg(known)
                        : QStringLiteral("Ten largest of %1").arg(figure::count_text(std::int64_t(r.cells.size()))));
    const auto others = std::int64_t(known - order_.size());
    rest_->setVisible(others > 0);
    rest_->setText(
        QStringLiteral("the other %1: each within ±%2").arg(figure::count_text(others), figure::sweep_number(others_most)));
}

void LargestCells::show_runs(const SweepResult& r, const std::optional<Chosen>& chosen) {
    runs_->start(false);
    QLabel* heading = runs_->add_note(
        r.options.ablation == intervention::Ablation::none ? QStringLiteral("The two runs") : QStringLiteral("The run"), 600);
    heading->setToolTip(figure::sweep_metric_words(r));
    const QString what = figure::sweep_metric_words(r) +
                         (r.clean.size() > 1 ? QStringLiteral(", mean over %1 pairs").arg(r.clean.size()) : QString());
    runs_->add_note(what);
    runs_->add(QStringLiteral("clean"), {r.clean_mean(), kNaN}, QStringLiteral("The metric of the clean text's run."));
    if (!r.corrupt.empty())
        runs_->add(QStringLiteral("corrupt"), {r.corrupt_mean(), kNaN}, QStringLiteral("The metric of the corrupt text's run."));
    if (chosen) {
        const auto& of = r.results[chosen->cell];
        const double after = std::isfinite(of.value) ? of.value : r.base_mean() + of.effect;
        if (std::isfinite(after))
            runs_->add(QStringLiteral("with %1").arg(figure::sweep_cell_name(r, r.cells[chosen->cell]).simplified()),
                       {after, kNaN}, QStringLiteral("The metric after the edit."));
    }
    runs_->end();
}

}  // namespace headlight::ui
