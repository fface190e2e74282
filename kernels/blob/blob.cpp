// The Kaiser-Bessel window and its parameters: see blob.hpp.
#include "kernels/blob/blob.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include <boost/math/special_functions/bessel.hpp>
#include <fmt/format.h>

namespace tofstream {

namespace {

constexpr double order = 2;

}  // namespace

float uniform_blob_radius_mm(float edge_mm, float alpha) {
  if (!(edge_mm > 0 && alpha > 0) || !std::isfinite(edge_mm) || !std::isfinite(alpha))
    throw std::invalid_argument(
        fmt::format("blobs: an edge of {} mm and alpha {}: give positive, finite numbers", edge_mm, alpha));
  const double zero = boost::math::cyl_bessel_j_zero(order + 1.5, 1), shape = alpha;
  const double edges = std::sqrt(shape * shape + zero * zero) / (2 * std::numbers::pi * std::numbers::sqrt2);
  return static_cast<float>(edges * static_cast<double>(edge_mm));
}

BlobProfile::BlobProfile(const Blob& blob, float edge_mm) : radius_(blob.radius_mm), alpha_(blob.alpha) {
  // The integral over space of w^m I_m(alpha w), w = sqrt(1 - (r/a)^2), is (2 pi / alpha)^(3/2) a^3 I_(m + 3/2)(alpha)
  // (Lewitt 1990).
  const double edge = edge_mm;
  const double integral = std::pow(2 * std::numbers::pi / alpha_, 1.5) * radius_ * radius_ * radius_ *
                          boost::math::cyl_bessel_i(order + 1.5, alpha_);
  scale_ = 0.5 * edge * edge * edge / integral;
}

double BlobProfile::operator()(double r_mm) const {
  const double part = r_mm / radius_, w2 = 1 - part * part;
  if (!(w2 > 0)) return 0;
  return scale_ * w2 * boost::math::cyl_bessel_i(order, alpha_ * std::sqrt(w2));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
