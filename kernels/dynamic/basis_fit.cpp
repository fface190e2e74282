// Sums of functions of time by least squares: see basis_fit.hpp.
#include "kernels/dynamic/basis_fit.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>

#include <Eigen/Dense>
#include <fmt/format.h>

namespace tofstream {

std::vector<std::vector<double>> basis_fit(const std::vector<BasisFrame>& frames) {
  const std::size_t functions = frames.empty() ? 0 : frames[0].functions.size();
  if (functions == 0 || frames.size() < functions)
    throw std::invalid_argument(
        fmt::format("{} frames cannot tell {} functions of time apart", frames.size(), functions));
  const auto rows = static_cast<Eigen::Index>(frames.size()), columns = static_cast<Eigen::Index>(functions);
  Eigen::MatrixXd weighted(rows, columns);
  Eigen::VectorXd root(rows);
  for (Eigen::Index f = 0; f < rows; ++f) {
    const BasisFrame& frame = frames[static_cast<std::size_t>(f)];
    root[f] = std::sqrt(frame.weight);
    for (Eigen::Index m = 0; m < columns; ++m) weighted(f, m) = root[f] * frame.functions[static_cast<std::size_t>(m)];
  }
  // Columns of length 1, so that the functions' units do not decide what counts as alike.
  const Eigen::VectorXd lengths = weighted.colwise().norm();
  if (!(lengths.minCoeff() > 0)) throw std::invalid_argument("a function of time is 0 in all these frames");
  for (Eigen::Index m = 0; m < columns; ++m) weighted.col(m) /= lengths[m];
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> decomposition(weighted);
  decomposition.setThreshold(3e-5);  // the sine of an angle between functions
  if (decomposition.rank() < columns)
    throw std::invalid_argument("the functions of time are so alike in these frames that they cannot be told apart");
  const Eigen::MatrixXd inverse = decomposition.solve(Eigen::MatrixXd(root.asDiagonal()));
  std::vector<std::vector<double>> sums(functions);
  for (std::size_t m = 0; m < functions; ++m)
    for (Eigen::Index f = 0; f < rows; ++f)
      sums[m].push_back(inverse(static_cast<Eigen::Index>(m), f) / lengths[static_cast<Eigen::Index>(m)]);
  return sums;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
