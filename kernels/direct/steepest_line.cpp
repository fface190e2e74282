// The steepest line of a scanner: see steepest_line.hpp.
#include "kernels/direct/steepest_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace tofstream {
namespace {

/// Detectors of one transverse place, from the lowest to the highest.
struct DetectorColumn {
  float x = 0, y = 0, low_z = 0, high_z = 0;
};

struct ModuleOfColumns {
  std::vector<DetectorColumn> columns;
  std::uint32_t a_detector = 0;
  double x = 0, y = 0, radius = 0;  // of a circle about all of them
  double low_z = std::numeric_limits<double>::infinity(), high_z = -low_z;
};

ModuleOfColumns columns_of(const DetectorTable& detectors, std::uint32_t first, std::uint32_t count) {
  std::vector<Vec3> places;
  for (std::uint32_t d = first; d < first + count; ++d) places.push_back(detectors.position(d));
  std::ranges::sort(places, [](Vec3 a, Vec3 b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  ModuleOfColumns module{.columns = {}, .a_detector = first};
  for (const Vec3 at : places) {
    if (module.columns.empty() || module.columns.back().x != at.x || module.columns.back().y != at.y)
      module.columns.push_back({at.x, at.y, at.z, at.z});
    DetectorColumn& column = module.columns.back();
    column.low_z = std::min(column.low_z, at.z);
    column.high_z = std::max(column.high_z, at.z);
    module.low_z = std::min(module.low_z, static_cast<double>(at.z));
    module.high_z = std::max(module.high_z, static_cast<double>(at.z));
    module.x += static_cast<double>(at.x) / count;
    module.y += static_cast<double>(at.y) / count;
  }
  for (const DetectorColumn& column : module.columns)
    module.radius = std::max(
        module.radius, std::hypot(static_cast<double>(column.x) - module.x, static_cast<double>(column.y) - module.y));
  return module;
}

double tangent_of(double along, double across) {
  return across > 0 ? along / across : std::numeric_limits<double>::infinity();
}

/// No line between the two modules is steeper.
double most_tangent(const ModuleOfColumns& a, const ModuleOfColumns& b) {
  const double along = std::max(a.high_z - b.low_z, b.high_z - a.low_z);
  return tangent_of(along, std::hypot(a.x - b.x, a.y - b.y) - a.radius - b.radius);
}

double steepest_tangent(const ModuleOfColumns& a, const ModuleOfColumns& b) {
  double steepest = 0;
  for (const DetectorColumn& from : a.columns)
    for (const DetectorColumn& to : b.columns)
      steepest =
          std::max(steepest, tangent_of(static_cast<double>(std::max(from.high_z - to.low_z, to.high_z - from.low_z)),
                                        static_cast<double>(std::hypot(from.x - to.x, from.y - to.y))));
  return steepest;
}

std::vector<ModuleOfColumns> modules_of(const Scanner& scanner) {
  std::vector<ModuleOfColumns> modules;
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t m = 0; m < type.modules; ++m)
      modules.push_back(columns_of(*scanner.detectors, type.first_detector + m * type.elements, type.elements));
  return modules;
}

struct PairOfModules {
  std::size_t a = 0, b = 0;
  double most_tangent = 0;
};

}  // namespace

double steepest_line_deg(const Scanner& scanner) {
  const std::vector<ModuleOfColumns> modules = modules_of(scanner);
  std::vector<PairOfModules> pairs;
  for (std::size_t a = 0; a < modules.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b)
      if (scanner.in_coincidence(modules[a].a_detector, modules[b].a_detector))
        pairs.push_back({a, b, most_tangent(modules[a], modules[b])});
  std::ranges::sort(pairs, std::ranges::greater(), &PairOfModules::most_tangent);
  double steepest = 0;
  for (const PairOfModules& pair : pairs) {
    if (pair.most_tangent <= steepest) break;
    steepest = std::max(steepest, steepest_tangent(modules[pair.a], modules[pair.b]));
  }
  return std::atan(steepest) * 180 / std::numbers::pi;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
