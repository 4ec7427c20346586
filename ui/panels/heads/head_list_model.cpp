// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/head_list_model.h"

#include "headlight/analyze/heads/model_probe.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/fixed_text.h"
#include "headlight/figure/pattern/pattern_views.h"
#include "ui/style/typeset.h"

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {
bool is_difference(const analyze::MeasureInfo* measure) { return measure && measure->group == figure::kDifferenceGroup; }
}  // namespace

void HeadListModel::show(std::shared_ptr<const analyze::HeadTable> table, std::vector<std::string> measures,
                         const analyze::HeadQuery& query) {
    beginResetModel();
    table_ = std::move(table);
    if (measures.empty() || measures_.empty() || measures.front() != measures_.front()) {  // what is asked is the order
        sort_column_ = 1;
        order_ = Qt::DescendingOrder;
    }
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
    if (is_difference(info(measure))) {
        const Eigen::MatrixXd& values = *table_->find(measure);
        const auto size = [&](HeadId head) {
            const double x = std::abs(values(head.layer.value, head.head.value));
            return std::isnan(x) ? -1 : x;
        };
        std::ranges::stable_sort(
            heads_, [&](HeadId a, HeadId b) { return order_ == Qt::AscendingOrder ? size(a) < size(b) : size(a) > size(b); });
    }
    if (by_name) {
        std::sort(heads_.begin(), heads_.end());
        if (order_ == Qt::DescendingOrder) std::reverse(heads_.begin(), heads_.end());
    }
}

const analyze::MeasureInfo* HeadListModel::info(const std::string& id) const {
    const auto at = std::ranges::find(table_->measures, id, &analyze::MeasureInfo::id);
    return at == table_->measures.end() ? nullptr : &*at;
}

/// By its size.
double HeadListModel::largest(const std::string& id) const {
    double largest = 0;
    for (const double x : table_->find(id)->reshaped())
        if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    return largest;
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
    return figure::draw::fixed_text(value, figure::draw::decimals_for(largest(measures_[std::size_t(column - 1)]), 2));
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
            const analyze::MeasureInfo* info = this->info(id);
            if (!info || std::isnan(v)) return 0.0;
            if (is_difference(info)) return v / std::max(largest(id), 1e-12);
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
        case signed_role: return is_difference(info(measures_[static_cast<std::size_t>(index.column() - 1)]));
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
    const analyze::MeasureInfo* measure = table_ ? info(id) : nullptr;
    if (name) {
        // A probe's is short as well: the measure's whole name stands above the mosaic.
        const auto of_text = [&] { return id.substr(id.find('_') + 1); };
        if (analyze::is_of_probe(id) && std::ranges::find(measures_, of_text()) == measures_.end())
            return QString::fromStdString(of_text()).replace('_', ' ') + mark;
        const bool own = id.find(' ') == std::string::npos || !measure;  // attention between tokens is called by its title
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
