// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"

#include <QAbstractTableModel>

#include <memory>
#include <string>
#include <vector>

namespace headlight::ui {

/// Rows: the heads that match the finder's expression. Columns: the head, then one measure each.
class HeadListModel : public QAbstractTableModel {
    Q_OBJECT
public:
    /// Value of the row's head in the column's measure (NaN: none), and its share of the measure's range for the bar: of a
    /// difference -1..1, and signed_role is true.
    enum Role { value_role = Qt::UserRole, share_role, signed_role, head_role };

    using QAbstractTableModel::QAbstractTableModel;

    /// `measures`: columns from 1 on; the first is the one with the bar.
    void show(std::shared_ptr<const analyze::HeadTable>, std::vector<std::string> measures, const analyze::HeadQuery&);
    const std::vector<HeadId>& heads() const { return heads_; }
    int row_of(HeadId) const;
    const std::vector<std::string>& measures() const { return measures_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex&, int role) const override;
    QVariant headerData(int section, Qt::Orientation, int role) const override;
    void sort(int column, Qt::SortOrder) override;
    /// Numbers from the largest down first, differences from the farthest from 0, names upwards; the other way round the second
    /// time.
    void sort_by_click(int column);

private:
    double value(int row, int column) const;
    const analyze::MeasureInfo* info(const std::string& id) const;
    double largest(const std::string& id) const;
    /// As many decimals in the whole column.
    QString number(int column, double) const;
    void rank();

    std::shared_ptr<const analyze::HeadTable> table_;
    std::vector<std::string> measures_;
    analyze::HeadQuery query_;
    std::vector<HeadId> heads_;
    int sort_column_ = 1;
    Qt::SortOrder order_ = Qt::DescendingOrder;
};

}  // namespace headlight::ui
