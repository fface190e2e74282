// Image operators beside one that changes from subset to subset: the one that changes nothing, and the mean of several.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/em/image_sum.hpp"
#include "kernels/operator/image_operator.hpp"

namespace tofstream {

class IdentityOperator final : public ImageOperator {
 public:
  using ImageOperator::ImageOperator;

 private:
  Image forward_of(const Image& x) const override { return x.to(x.voxels.memory()); }
  Image adjoint_of(const Image& y) const override { return y.to(y.voxels.memory()); }
};

/// sum_g w_g A_g, with weights that are divided by their sum.
class MeanOperator final : public ImageOperator {
 public:
  using Operators = std::vector<std::shared_ptr<const ImageOperator>>;

  /// All of one grid and backend. Throws std::invalid_argument for another number of weights, or none that is positive.
  MeanOperator(Operators operators, std::vector<double> weights)
      : ImageOperator(operators.at(0)->grid(), operators[0]->backend()),
        operators_(std::move(operators)),
        weights_(std::move(weights)) {
    double sum = 0;
    for (const double weight : weights_) sum += weight;
    if (weights_.size() != operators_.size() || !(sum > 0))
      throw std::invalid_argument("the mean of operators needs a weight for each of them");
    for (double& weight : weights_) weight /= sum;
  }

 private:
  template <class Apply>
  Image mean_of(const Image& like, const Apply& apply) const {
    Image sum = Image::zeros(grid(), like.voxels.memory());
    for (std::size_t g = 0; g < operators_.size(); ++g) add_difference(sum, weights_[g], apply(*operators_[g]));
    return sum;
  }
  Image forward_of(const Image& x) const override {
    return mean_of(x, [&](const ImageOperator& one) { return one.forward(x); });
  }
  Image adjoint_of(const Image& y) const override {
    return mean_of(y, [&](const ImageOperator& one) { return one.adjoint(y); });
  }

  Operators operators_;
  std::vector<double> weights_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
