// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of one quantity beside each other: columns, strips of cells, bars of one figure.
#pragma once

#include <QString>

namespace headlight::figure::draw {

/// As many decimals as the others beside it: "<0.01" and ">−0.01" for what they would show as zero.
QString fixed_text(double, int decimals);
/// The decimals of numbers whose largest amount is given: at least `least`, and more where it would keep less than two digits.
int decimals_for(double largest, int least);

}  // namespace headlight::figure::draw
