// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <Eigen/Core>

namespace headlight {

struct Eigenvectors {
    Eigen::VectorXd values;   ///< ascending
    Eigen::MatrixXd vectors;  ///< [n, n] a column for each value, of length 1 and either sign
};

/// Of a symmetric matrix, whose lower triangle is read; the same bits on any number of threads. In one file, because Eigen's
/// solver takes seconds to compile wherever it is used.
Eigenvectors eigenvectors_of(const Eigen::MatrixXd& symmetric);

}  // namespace headlight
