// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/head_list_model.h"

#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/fixed_text.h"
#include "ui/style/typeset.h"

#include <algorithm>
#include <cmath>

namespace headlight::ui {

void HeadListModel::show(std::shared_ptr<const analyze::HeadTable> table, std::vector<std::string> measures,
                         const analyze::HeadQuery& query) {
    beginResetModel();
    table_ = std::move(table);
    measures_ = std::move(measures);
    query_ = query;
    if (sort_column_ > static_cast<int>(measures_.size())) sort_column_ = 1;
    rank();
    endResetModel();
}

void HeadListModel::rank() {
    heads_.clear();
    if (!table_ || measures_.empty()) return;
    const bool by_name = sort_column_ == 0;
    const std::string& measure = measures_[by_name ? 0 : static_cast<std::size_t>(sort_column_ - 1)];
    heads_ = analyze::ranked_heads(*table_, query_, measure, order_ == Qt::AscendingOrder);
    if (by_name) {
        std::sort(heads_.begin(), heads_.end());
        if (order_ == Qt::DescendingOrder) std::reverse(heads_.begin(), heads_.end());
    }
}

int HeadListModel::row_of(HeadId head) const {
    const auto found = std::find(heads_.begin(), heads_.end(), head);
    return found == heads_.end() ? -1 : static_cast<int>(found - heads_.begin());
}

int HeadListModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(heads_.size()); }
int HeadListModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(measures_.size()) + 1;
}

double HeadListModel::value(int row, int column) const {
    const HeadId head = heads_[static_cast<std::size_t>(row)];
    const auto* values = table_->find(measures_[static_cast<std::size_t>(column - 1)]);
    return values ? (*values)(head.layer.value, head.head.value) : std::nan("");
}

QString HeadListModel::number(int column, double value) const {
    const auto* values = table_->find(measures_[static_cast<std::size_t>(column - 1)]);
    double largest = 0;
    for (Eigen::Index i = 0; i < values->size(); ++i)
        if (std::isfinite(values->data()[i])) largest = std::max(largest, std::abs(values->data()[i]));
    return figure::draw::fixed_text(value, figure::draw::decimals_for(largest, 2));
}

QVariant HeadListModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !table_) return {};
    const HeadId head = heads_[static_cast<std::size_t>(index.row())];
    if (role == head_role) return QVariant::fromValue<qlonglong>(head.head.value);
    if (index.column() == 0) {
        if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) return figure::head_name(head);
        return {};
    }
    const double v = value(index.row(), index.column());
    if (role == Qt::AccessibleTextRole)
        return QStringLiteral("%1, %2 %3")
            .arg(figure::head_name(head), headerData(index.column(), Qt::Horizontal, Qt::AccessibleTextRole).toString(),
                 std::isnan(v) ? QStringLiteral("not defined") : number(index.column(), v));
    switch (role) {
        case Qt::DisplayRole: return std::isnan(v) ? QStringLiteral("–") : number(index.column(), v);
        case Qt::ToolTipRole:
        case value_role: return std::isnan(v) ? QVariant() : QVariant(QString::number(v, 'g', 8));
        case Qt::TextAlignmentRole: return int(Qt::AlignRight | Qt::AlignVCenter);
        case share_role: {
            const std::string& id = measures_[static_cast<std::size_t>(index.column() - 1)];
            const auto info =
                std::find_if(table_->measures.begin(), table_->measures.end(), [&](const auto& m) { return m.id == id; });
            if (info == table_->measures.end() || std::isnan(v)) return 0.0;
            double high = info->high;
            if (std::isnan(high)) {
                const auto& all = *table_->find(id);
                high = info->low;
                for (Eigen::Index i = 0; i < all.size(); ++i) {
                    if (!std::isnan(all(i))) high = std::max(high, all(i));
                }
            }
            return high > info->low ? std::clamp((v - info->low) / (high - info->low), 0.0, 1.0) : 0.0;
        }
        default: return {};
    }
}

QVariant HeadListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return int((section == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    const QString mark = section != sort_column_ || role == Qt::AccessibleTextRole ? QString()
                         : order_ == Qt::AscendingOrder                            ? QStringLiteral(" ↑")
                                                                                   : QStringLiteral(" ↓");
    const bool name = role == Qt::DisplayRole || role == Qt::AccessibleTextRole;
    if (section == 0) return name ? QStringLiteral("head") + mark : QVariant();
    const std::string& id = measures_[static_cast<std::size_t>(section - 1)];
    const analyze::MeasureInfo* measure = nullptr;
    for (std::size_t m = 0; table_ && m < table_->measures.size(); ++m)
        if (table_->measures[m].id == id) measure = &table_->measures[m];
    if (name) {  // attention between tokens is called by its title
        const bool own = id.find(' ') == std::string::npos || !measure;
        return (own ? QString::fromStdString(id).replace('_', ' ') : QString::fromStdString(measure->title)) + mark;
    }
    if (role == Qt::ToolTipRole && measure) {
        const std::string repeats = analyze::repeats_text(*table_, id);
        return typeset(QString::fromStdString(measure->definition + (repeats.empty() ? "" : " Here: " + repeats + ".")));
    }
    return {};
}

void HeadListModel::sort_by_click(int column) {
    const Qt::SortOrder first = column == 0 ? Qt::AscendingOrder : Qt::DescendingOrder;
    const Qt::SortOrder second = column == 0 ? Qt::DescendingOrder : Qt::AscendingOrder;
    sort(column, column == sort_column_ && order_ == first ? second : first);
}

void HeadListModel::sort(int column, Qt::SortOrder order) {
    if (column < 0) return;
    beginResetModel();
    sort_column_ = column;
    order_ = order;
    rank();
    endResetModel();
}

}  // namespace headlight::ui
