// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

namespace headlight::corpus {

/// Of values in ascending order, linear between neighbours (NumPy's default); NaN if there are none. `share` is from 0 to 1.
double quantile(const std::vector<double>& sorted, double share);

/// The numbers of a box plot: the sample's ends, quartiles and median; NaN if it is empty.
struct Box {
    double lowest, lower, median, upper, highest;
};
Box box_of(std::vector<double> values);

}  // namespace headlight::corpus
