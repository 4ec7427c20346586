// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QColor>
#include <QStringList>

#include <optional>
#include <vector>

namespace headlight::ui {

/// A name, a small bar and a number, or numbers of several runs. A click copies them in full.
class NumberRow : public QAbstractButton {
    Q_OBJECT
public:
    explicit NumberRow(const QString& name, QWidget* parent = nullptr);

    /// `shown` is painted, `exact` is copied and shown in the tip.
    void set_value(const QString& shown, const QString& exact);
    /// Several numbers in columns of these widths, in place of one and of the bar. A click copies all of them.
    void set_columns(const QStringList& shown, const QStringList& exact);
    void set_column_widths(const std::vector<int>&);
    const QStringList& columns() const { return columns_; }
    /// px that the numbers need.
    std::vector<int> needed_widths() const;
    /// Names of columns: small, and nothing to click.
    void set_heading();
    /// Signed share -1..1 of the track; none: no bar. A row without room for its bar leaves it out.
    void set_bar(std::optional<double> share, bool from_middle = true);
    void set_bar_color(const QColor& color) { bar_color_ = color; }
    /// What the number is, for the tip.
    void set_definition(const QString& text);
    void set_indent(bool indent) { indent_ = indent; }
    /// For lists: the bar follows the column of names.
    void set_wide_bar(bool wide) { wide_ = wide; }
    QString exact() const { return exact_; }
    QString shown() const { return shown_; }
    QSize sizeHint() const override { return {200, 24}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    void show_tip();

    void paint_columns(QPainter&, const QRect& inner) const;
    QRectF bar_track(int value_width) const;

    QString shown_, exact_, definition_;
    QStringList columns_;
    std::vector<int> widths_;
    std::optional<double> share_;
    QColor bar_color_;
    bool from_middle_ = true, indent_ = false, wide_ = false, heading_ = false;
};

/// −0.148: three significant digits, a real minus.
QString number_text(double value);
/// For numbers that are added up: so many digits behind the point, and three significant ones where these would say little.
QString aligned_text(double value, int digits = 2);
inline QString score_text(double value) { return aligned_text(value); }
QString signed_aligned_text(double value);  ///< +1.56: the same with a plus
QString exact_text(double value);

}  // namespace headlight::ui
