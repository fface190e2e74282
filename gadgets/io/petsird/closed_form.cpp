// Efficiencies of pairs from crystals' boxes and material: see closed_form.hpp.
#include "gadgets/io/petsird/closed_form.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/materials.hpp"

namespace tofstream::petsird {
namespace {

[[noreturn]] void refuse_closed_form(const std::string& what) {
  throw Error(
      fmt::format("PETSIRD header says in its methodDescription that efficiencies of pairs are not tabulated but "
                  "follow from crystals' boxes and material, {}: write it as tofstream simulate does, or with "
                  "tables and without these words",
                  what));
}

double crystals_attenuation_per_mm(const ScannerInformation& scanner, std::uint32_t material_id) {
  for (const BulkMaterial& material : scanner.bulk_materials)
    if (material.id == material_id)
      if (const auto per_mm = attenuation_per_mm(material)) return *per_mm;
  refuse_closed_form(fmt::format("and material {} of its crystals does not say what it stops", material_id));
}

/// What a crystal's box takes up in the frame of its module.
struct BoxExtent {
  std::array<double, 3> least, most;

  double edge(std::size_t axis) const { return most[axis] - least[axis]; }
};

BoxExtent extent_in_module(const BoxShape& box, const Transform& element) {
  constexpr double far = std::numeric_limits<double>::infinity();
  BoxExtent extent{{far, far, far}, {-far, -far, -far}};
  for (const auto& [x, y, z] : box) {
    const Point corner = moved_by(element, {x, y, z});
    for (std::size_t axis = 0; axis < 3; ++axis) {
      extent.least[axis] = std::min(extent.least[axis], corner[axis]);
      extent.most[axis] = std::max(extent.most[axis], corner[axis]);
    }
  }
  return extent;
}

}  // namespace

bool has_closed_form(const DetectionEfficiencies& efficiencies) {
  return efficiencies.module_pair_efficiencies.empty() &&
         efficiencies.method_description.find(closed_form_words) != std::string::npos;
}

GeometricEfficiency closed_form(const ScannerInformation& scanner) {
  if (module_types(scanner) != 1)
    refuse_closed_form(fmt::format("which is known for one type of modules, and it has {}", module_types(scanner)));
  const Replicated<DetectorModule>& modules = scanner.geometry.replicated_modules.front();
  const auto& elements = modules.object.detecting_elements;
  const double per_mm = crystals_attenuation_per_mm(scanner, elements.object.material_id);
  std::vector<BoxExtent> extents;
  double face = std::numeric_limits<double>::infinity();
  for (const Transform& element : elements.transforms) {
    extents.push_back(extent_in_module(elements.object.shape, element));
    face = std::min(face, extents.back().least[0]);
  }
  GeometricEfficiency result;
  for (const BoxExtent& extent : extents)
    result.elements.push_back({static_cast<float>(extent.edge(1) * extent.edge(2)),
                               static_cast<float>(per_mm * (extent.least[0] - face)),
                               static_cast<float>(per_mm * (extent.most[0] - face))});
  for (const Transform& module : modules.transforms) result.module_normals.push_back({module[0], module[4], module[8]});
  return result;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
