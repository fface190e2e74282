// A projector that also works in double precision: the references do. Tests of gradients need it, because the
// differences that they divide are as small as a float's rounding.
#pragma once

#include <span>
#include <vector>

namespace tofstream {

/// `Data`: as of Projector<Data>.
template <class Data>
class DoublePrecision {
 public:
  virtual ~DoublePrecision() = default;
  /// A x, of a number for each voxel, and A^T y, of a number for each datum: in host memory, on one thread.
  virtual std::vector<double> forward(const Data& data, std::span<const double> image) const = 0;
  virtual std::vector<double> back(const Data& data, std::span<const double> values) const = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
