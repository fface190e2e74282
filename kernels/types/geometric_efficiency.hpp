// Closed-form efficiency of a pair of detectors whose modules are slabs of scintillator: for
// detectors of response W_i(n) (mm^2, photons of direction n recorded a unit fluence),
// E[trues] = W_1 W_2 / (2 pi d^2) x line integral of decays; derived in full at pair_response().
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// How one element of a module records photons. Its front and back faces lie at `front` and `back`
/// mean free paths below the module's face, for a photon that comes along the module's normal.
struct ElementResponse {
  float area_mm2 = 0;         // of the face that records
  float front = 0, back = 0;  // optical depths, dimensionless
};

/// W of an element for photons at cosine `c` to the module's normal, in mm^2. A photon that
/// crosses the face at cosine c meets optical depth tau after tau / c, so W = area c (exp(-front
/// / c) - exp(-back / c)); 0 for photons that come from behind.
TOFSTREAM_HOST_DEVICE inline float element_response(const ElementResponse& element, float c) {
  if (!(c > 0)) return 0;
  return element.area_mm2 * c * (std::exp(-element.front / c) - std::exp(-element.back / c));
}

/// Mean trues on a pair for a line integral of decays of 1 /mm^2 (decays/mm^3 times mm), in mm^2, from the
/// elements, the modules' normals and the detectors' positions (mm). Lines through two small areas number
/// W_1 W_2 / d^2 (mm^2 sr); a decay sends its pair along a line, whichever photon goes which way, with density
/// 1 / (2 pi) per sr. d joins the positions, which are the mean points of interaction.
TOFSTREAM_HOST_DEVICE inline float pair_response(const ElementResponse& e1, Vec3 n1, Vec3 position1,
                                                 const ElementResponse& e2, Vec3 n2, Vec3 position2) {
  const Vec3 along = position2 - position1;
  const float d2 = dot(along, along), inverse = 1 / std::sqrt(d2);
  const float w1 = element_response(e1, -inverse * dot(along, n1));
  const float w2 = element_response(e2, inverse * dot(along, n2));
  return 0.15915494f * w1 * w2 / d2;
}

struct GeometricEfficiency {
  std::vector<Vec3> module_normals;       // unit vectors that point away from the scanner's axis
  std::vector<ElementResponse> elements;  // alike in every module

  bool empty() const { return elements.empty(); }

  /// pair_response of two elements of two modules, in mm^2.
  float pair(std::uint32_t module1, std::uint32_t element1, Vec3 position1, std::uint32_t module2,
             std::uint32_t element2, Vec3 position2) const {
    return pair_response(elements[element1], module_normals[module1], position1, elements[element2],
                         module_normals[module2], position2);
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
