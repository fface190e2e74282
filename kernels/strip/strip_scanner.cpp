// Two strips as a scanner and back: see strip_scanner.hpp.
#include "kernels/strip/strip_scanner.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

std::shared_ptr<const Scanner> make_strip_scanner(const std::string& name, const StripGeometry& strips) {
  auto scanner = std::make_shared<Scanner>();
  scanner->name = name;
  const Vec3 positions[] = {{0, strips.radius_mm, 0}, {0, -strips.radius_mm, 0}};
  scanner->detectors = std::make_shared<const DetectorTable>(positions);
  scanner->types = {{.modules = 2, .element_size_mm = {0, 0, strips.length_mm}}};
  scanner->validate();
  return scanner;
}

StripGeometry strip_geometry(const Scanner& scanner) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("scanner {} is no pair of strips above and below the origin: {}",
                                            scanner.name.empty() ? "without a name" : scanner.name, why));
  };
  if (scanner.detectors->size() != 2) refuse(fmt::format("it has {} detectors", scanner.detectors->size()));
  if (scanner.modules() != 2) refuse("both detectors are of one module");
  const Vec3 up = scanner.detectors->position(0), down = scanner.detectors->position(1);
  constexpr float tolerance_mm = 1e-3f;
  if (!(up.y > 0) || norm(up - Vec3{0, up.y, 0}) > tolerance_mm || norm(down + Vec3{0, up.y, 0}) > tolerance_mm)
    refuse(fmt::format("they lie at ({:g}, {:g}, {:g}) and ({:g}, {:g}, {:g}) mm", up.x, up.y, up.z, down.x, down.y,
                       down.z));
  const float length = scanner.types.front().element_size_mm.z;
  if (!(length > 0)) refuse("it does not say how long they are");
  return {.radius_mm = up.y, .length_mm = length};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
