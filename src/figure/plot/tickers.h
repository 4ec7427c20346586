// SPDX-License-Identifier: GPL-3.0-or-later
// Where the ticks of an axis are, and how their numbers are written: as everywhere else in the program.
#pragma once

#include "figure/plot/with_qcustomplot.h"

namespace headlight::figure::plot {

/// 0, 0.5, 1 …: as many decimals as the step needs, a true minus sign, thousands with a comma.
class NumberTicker : public QCPAxisTicker {
public:
    explicit NumberTicker(bool integer) : integer_(integer) {}

protected:
    double getTickStep(const QCPRange&) override;
    int getSubTickCount(double) override { return 0; }
    QVector<QString> createLabelVector(const QVector<double>&, const QLocale&, QChar, int) override;

private:
    bool integer_;
};

/// Powers of ten; 1, 2, 5 in between where an axis spans few of them. All written out (0.01, 1,000) where the axis lies
/// within 0.001 to 10,000,000, else all as powers: never both on one axis.
class LogTicker : public QCPAxisTicker {
protected:
    int getSubTickCount(double) override { return 0; }
    QVector<double> createTickVector(double, const QCPRange&) override;
    QVector<QString> createLabelVector(const QVector<double>&, const QLocale&, QChar, int) override;

private:
    bool plain_ = true;  ///< of the range that the ticks were made for
};

}  // namespace headlight::figure::plot
