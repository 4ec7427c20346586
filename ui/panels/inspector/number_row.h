// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QColor>

#include <optional>

namespace headlight::ui {

/// A name, a small bar and a number. A click copies the number in full.
class NumberRow : public QAbstractButton {
    Q_OBJECT
public:
    explicit NumberRow(const QString& name, QWidget* parent = nullptr);

    /// `shown` is painted, `exact` is copied and shown in the tip.
    void set_value(const QString& shown, const QString& exact);
    /// Signed share -1..1 of the track; none: no bar.
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

    QString shown_, exact_, definition_;
    std::optional<double> share_;
    QColor bar_color_;
    bool from_middle_ = true, indent_ = false, wide_ = false;
};

/// −0.148: three significant digits, a real minus.
QString number_text(double value);
/// For numbers that are added up: so many digits behind the point, and three significant ones where these would say little.
QString aligned_text(double value, int digits = 2);
QString exact_text(double value);

}  // namespace headlight::ui
