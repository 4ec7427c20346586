// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/eigenvectors.h"

#include <Eigen/Eigenvalues>

namespace headlight {

Eigenvectors eigenvectors_of(const Eigen::MatrixXd& symmetric) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric);
    return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace headlight
