// Scanner tables and transforms from a ring's figures: see ring_scanner.hpp.
#include "kernels/ring/simulate/ring_scanner.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "kernels/math/interaction_depth.hpp"
#include "kernels/math/units.hpp"
#include "kernels/simulate/random.hpp"

namespace tofstream {
namespace {

void require(bool holds, const std::string& scanner, const char* what) {
  if (!holds) throw std::invalid_argument(fmt::format("scanner {}: {}", scanner, what));
}

/// Centres of `count` crystals, symmetric about 0.
double centre_of(int index, int count, double pitch) {
  return (index - 0.5 * (count - 1)) * pitch;
}

double sector_angle(const RingScanner& ring, int sector) {
  return 2 * std::numbers::pi * sector / ring.modules_transaxial;
}

/// Visits the elements of a module in the order of their numbers, each with the middle of its face in the module's
/// frame.
template <class Visit>
void for_each_element(const RingScanner& ring, Visit&& visit) {
  double front_mm = 0;
  for (std::size_t layer = 0; layer < ring.layers.size(); ++layer) {
    for (int axial = 0; axial < ring.crystals_axial; ++axial)
      for (int across = 0; across < ring.crystals_transaxial; ++across)
        visit(layer, Vec3d{front_mm, centre_of(across, ring.crystals_transaxial, ring.pitch_transaxial_mm),
                           centre_of(axial, ring.crystals_axial, ring.pitch_axial_mm)});
    front_mm += ring.layers[layer].depth_mm;
  }
}

GeometricEfficiency efficiencies_of(const RingScanner& ring) {
  GeometricEfficiency result;
  for (std::int64_t m = 0; m < ring.modules(); ++m) {
    const double angle = sector_angle(ring, static_cast<int>(m % ring.modules_transaxial));
    result.module_normals.push_back(Vec3d{std::cos(angle), std::sin(angle), 0}.as<float>());
  }
  std::vector<ElementResponse> layers;
  double front = 0;
  for (const CrystalLayer& layer : ring.layers) {
    const double depth = layer.depth_mm * layer.attenuation_per_cm / 10;
    layers.push_back({static_cast<float>(ring.crystal_transaxial_mm * ring.crystal_axial_mm), static_cast<float>(front),
                      static_cast<float>(front + depth)});
    front += depth;
  }
  for_each_element(ring, [&](std::size_t layer, Vec3d) { result.elements.push_back(layers[layer]); });
  return result;
}

/// One a detector; empty where all are 1.
std::vector<float> crystal_efficiencies(const RingScanner& ring) {
  std::vector<float> result;
  if (ring.crystal_efficiency_spread == 0) return result;
  RandomStream random(1, 0);
  for (std::int64_t d = 0; d < ring.detectors(); ++d)
    result.push_back(static_cast<float>(1 - ring.crystal_efficiency_spread * random.uniform()));
  return result;
}

/// Index of the class of module pairs with the same step around the ring and along the axis; -1
/// where not in coincidence. Ordered: module 1 lies at the higher ring, or at the same.
std::int32_t class_of(const RingScanner& ring, int sector_step, int ring_step) {
  const int around = std::min(sector_step, ring.modules_transaxial - sector_step);
  if (around < ring.min_sector_difference || ring_step > ring.max_module_ring_difference) return -1;
  return sector_step + ring.modules_transaxial * ring_step;
}

/// All classes in coincidence. A class's first pair has module 0 as its second, so the class's number is module 1.
std::vector<std::uint32_t> classes_of(const RingScanner& ring) {
  std::vector<std::uint32_t> classes;
  for (int ring_step = 0; ring_step < ring.modules_axial; ++ring_step)
    for (int sector_step = 0; sector_step < ring.modules_transaxial; ++sector_step)
      if (const std::int32_t group = class_of(ring, sector_step, ring_step); group >= 0)
        classes.push_back(static_cast<std::uint32_t>(group));
  return classes;
}

/// Fills [module1, module2] of every pair by classify(sector step, ring step), for either order.
template <class Classify>
std::vector<std::int32_t> module_pairs(const RingScanner& ring, Classify&& classify) {
  const auto modules = static_cast<std::size_t>(ring.modules());
  const auto sectors = static_cast<std::size_t>(ring.modules_transaxial);
  std::vector<std::int32_t> pairs(modules * modules);
  for (std::size_t m1 = 0; m1 < modules; ++m1)
    for (std::size_t m2 = 0; m2 <= m1; ++m2)
      pairs[m1 * modules + m2] = pairs[m2 * modules + m1] =
          classify(static_cast<int>((m1 % sectors + sectors - m2 % sectors) % sectors),
                   static_cast<int>(m1 / sectors - m2 / sectors));
  return pairs;
}

std::shared_ptr<Scanner> scanner_of(const RingScanner& ring) {
  validate(ring);
  auto scanner = std::make_shared<Scanner>();
  scanner->name = ring.name;
  const RingGeometry geometry = ring_geometry(ring);
  std::vector<Vec3> positions;
  positions.reserve(static_cast<std::size_t>(ring.detectors()));
  for (const RigidTransform& module : geometry.module_transforms)
    for_each_element(ring, [&](std::size_t layer, Vec3d face) {
      const Vec3d point = face + Vec3d{ring.layers[layer].mean_depth_mm(), 0, 0};
      positions.push_back(apply(module, point).as<float>());
    });
  scanner->detectors = std::make_shared<const DetectorTable>(positions);
  ModuleType type;
  type.modules = static_cast<std::uint32_t>(ring.modules());
  type.elements = static_cast<std::uint32_t>(ring.elements());
  type.element_size_mm = Vec3d{ring.depth_mm() / static_cast<double>(ring.layers.size()), ring.crystal_transaxial_mm,
                               ring.crystal_axial_mm}
                             .as<float>();
  type.energy = {static_cast<float>(ring.energy_low_keV), static_cast<float>(ring.energy_high_keV),
                 static_cast<float>(ring.energy_resolution)};
  type.free_paths = static_cast<float>(
      std::accumulate(ring.layers.begin(), ring.layers.end(), 0.0,
                      [](double sum, const CrystalLayer& l) { return sum + l.depth_mm * l.attenuation_per_cm / 10; }) /
      static_cast<double>(ring.layers.size()));
  scanner->types = {type};
  if (ring.tof_fwhm_ps > 0)
    scanner->tof = {{static_cast<float>(ring.tof_sigma_mm()), static_cast<float>(ring.tof_bin_mm()),
                     static_cast<float>(2 * ring.tof_window_mm())}};
  scanner->calibration = static_cast<float>(mL_per_mm3);
  scanner->bin_efficiency = crystal_efficiencies(ring);
  return scanner;
}

}  // namespace

double CrystalLayer::mean_depth_mm() const {
  return mean_interaction_depth(depth_mm, 0.1 * attenuation_per_cm);
}

double RingScanner::depth_mm() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [](double sum, const CrystalLayer& l) { return sum + l.depth_mm; });
}

double RingScanner::axial_length_mm() const {
  return (modules_axial - 1) * module_pitch_axial_mm + (crystals_axial - 1) * pitch_axial_mm + crystal_axial_mm;
}

double RingScanner::tof_sigma_mm() const {
  return 0.5 * speed_of_light_mm_ps * tof_fwhm_ps / fwhm_per_sigma;
}

double RingScanner::tof_bin_mm() const {
  return tof_bins > 0 ? 0.5 * speed_of_light_mm_ps * tof_bin_ps : 0.0;
}

double RingScanner::tof_window_mm() const {
  if (tof_bins > 0) return 0.5 * tof_bins * tof_bin_mm();
  return 0.5 * speed_of_light_mm_ps * 1000 * coincidence_window_ns;
}

std::vector<double> RingScanner::tof_bin_edges_mm() const {
  const int bins = std::max(tof_bins, 1);
  const double window = tof_window_mm();
  std::vector<double> edges;
  for (int i = 0; i <= bins; ++i) edges.push_back(window * (2.0 * i / bins - 1));
  return edges;
}

void validate(const RingScanner& ring) {
  const auto check = [&](bool holds, const char* what) { require(holds, ring.name, what); };
  check(std::isfinite(ring.inner_radius_mm) && ring.inner_radius_mm > 0 && ring.inner_radius_mm <= 1e4,
        "inner_radius_mm must lie in (0, 10000]");
  check(ring.modules_transaxial >= 6 && ring.modules_transaxial <= 4096,
        "modules around the ring must number 6 to 4096");
  check(ring.modules_axial >= 1 && ring.modules_axial <= 4096, "modules along the axis must number 1 to 4096");
  check(ring.crystals_transaxial >= 1 && ring.crystals_transaxial <= 1024 && ring.crystals_axial >= 1 &&
            ring.crystals_axial <= 1024,
        "crystals along an edge of a module must number 1 to 1024");
  check(ring.modules() <= 16384, "a scanner may have 16384 modules");
  check(!ring.layers.empty() && ring.layers.size() <= 16, "crystals must have 1 to 16 layers");
  check(ring.detectors() <= std::int64_t{1} << 28, "a scanner may have 2^28 detectors");
  for (const CrystalLayer& layer : ring.layers)
    check(
        layer.depth_mm > 0 && layer.depth_mm <= 1000 && layer.attenuation_per_cm > 0 && layer.attenuation_per_cm <= 100,
        "a crystal layer needs a depth in (0, 1000] mm and an attenuation in (0, 100] per cm");
  check(ring.crystal_transaxial_mm > 0 && ring.crystal_axial_mm > 0, "the edges of crystals must be positive");
  check(ring.pitch_transaxial_mm >= ring.crystal_transaxial_mm && ring.pitch_axial_mm >= ring.crystal_axial_mm,
        "crystals are wider than their pitch");
  const double tangent = std::tan(std::numbers::pi / ring.modules_transaxial);
  const double width = (ring.crystals_transaxial - 1) * ring.pitch_transaxial_mm + ring.crystal_transaxial_mm;
  check(0.5 * width <= ring.inner_radius_mm * tangent * (1 + 1e-9),
        "the modules are too wide for the ring: enlarge inner_radius_mm or use fewer");
  check(ring.modules_axial == 1 || ring.module_pitch_axial_mm * (1 + 1e-9) >=
                                       (ring.crystals_axial - 1) * ring.pitch_axial_mm + ring.crystal_axial_mm,
        "modules overlap along the axis: enlarge their axial pitch");
  check(ring.tof_fwhm_ps >= 0 && ring.tof_fwhm_ps <= 1e5, "tof fwhm_ps must lie in [0, 100000]");
  check(ring.tof_bins >= 0 && ring.tof_bins <= 65536, "ToF bins must number 0 to 65536");
  check(ring.tof_bins == 0 || (ring.tof_bin_ps > 0 && ring.tof_fwhm_ps > 0),
        "ToF bins need a width in ps and a ToF resolution");
  check(ring.coincidence_window_ns > 0 && ring.coincidence_window_ns <= 1000,
        "the coincidence window must lie in (0, 1000] ns");
  check(ring.energy_low_keV >= 0 && ring.energy_high_keV > ring.energy_low_keV && ring.energy_high_keV <= 5000,
        "the energy window must ascend within [0, 5000] keV");
  check(ring.energy_resolution > 0 && ring.energy_resolution < 2, "the energy resolution must lie in (0, 2)");
  check(ring.min_sector_difference >= 1 && ring.min_sector_difference <= ring.modules_transaxial / 2,
        "min_sector_difference must lie between 1 and half the modules around the ring");
  check(ring.max_module_ring_difference >= 0, "max_module_ring_difference must not be negative");
  check(ring.crystal_efficiency_spread >= 0 && ring.crystal_efficiency_spread < 1,
        "crystal_efficiency_spread must lie in [0, 1)");
  check(ring.fov_radius_mm >= 0 && ring.fov_radius_mm <= ring.inner_radius_mm,
        "fov_radius_mm must lie within inner_radius_mm");
}

Vec3d apply(const RigidTransform& t, Vec3d p) {
  const auto row = [&](std::size_t r) {
    return static_cast<double>(t[r]) * p.x + static_cast<double>(t[r + 1]) * p.y + static_cast<double>(t[r + 2]) * p.z +
           static_cast<double>(t[r + 3]);
  };
  return {row(0), row(4), row(8)};
}

RingGeometry ring_geometry(const RingScanner& ring) {
  validate(ring);
  RingGeometry result;
  const Vec3d half{0.5 * ring.depth_mm() / static_cast<double>(ring.layers.size()), 0.5 * ring.crystal_transaxial_mm,
                   0.5 * ring.crystal_axial_mm};
  for (unsigned i = 0; i < 8; ++i)
    result.crystal_corners[i] =
        Vec3d{i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z}.as<float>();
  const auto f = [](double value) { return static_cast<float>(value); };
  for_each_element(ring, [&](std::size_t layer, Vec3d face) {
    const double middle_mm = face.x + 0.5 * ring.layers[layer].depth_mm;
    result.element_transforms.push_back({1, 0, 0, f(middle_mm), 0, 1, 0, f(face.y), 0, 0, 1, f(face.z)});
  });
  for (int along = 0; along < ring.modules_axial; ++along)
    for (int sector = 0; sector < ring.modules_transaxial; ++sector) {
      const double angle = sector_angle(ring, sector);
      const double c = std::cos(angle), s = std::sin(angle), r = ring.inner_radius_mm;
      result.module_transforms.push_back({f(c), f(-s), 0, f(r * c), f(s), f(c), 0, f(r * s), 0, 0, 1,
                                          f(centre_of(along, ring.modules_axial, ring.module_pitch_axial_mm))});
    }
  return result;
}

std::shared_ptr<const Scanner> make_scanner(const RingScanner& ring) {
  const auto scanner = scanner_of(ring);
  scanner->geometric = efficiencies_of(ring);
  scanner->module_pair = module_pairs(
      ring, [&](int sector_step, int ring_step) { return class_of(ring, sector_step, ring_step) < 0 ? -1 : 0; });
  scanner->validate();
  return scanner;
}

std::shared_ptr<const Scanner> with_efficiency_tables(const RingScanner& ring, std::size_t max_bytes) {
  const auto scanner = scanner_of(ring);
  const GeometricEfficiency geometric = efficiencies_of(ring);
  const auto elements = static_cast<std::uint32_t>(ring.elements());
  const std::size_t table_bytes = sizeof(float) * elements * elements;
  const std::vector<std::uint32_t> classes = classes_of(ring);
  if (classes.size() * table_bytes > max_bytes) return nullptr;
  std::vector<std::int32_t> table_of_class(static_cast<std::size_t>(ring.modules()), -1);
  for (const std::uint32_t module1 : classes) {
    table_of_class[module1] = static_cast<std::int32_t>(scanner->pair_tables.size());
    ModulePairTable table{std::vector<float>(std::size_t{elements} * elements), elements};
    for (std::uint32_t e1 = 0; e1 < elements; ++e1)
      for (std::uint32_t e2 = 0; e2 < elements; ++e2)
        table.values[std::size_t{e1} * elements + e2] =
            geometric.pair(module1, e1, scanner->detectors->position(module1 * elements + e1), 0, e2,
                           scanner->detectors->position(e2));
    scanner->pair_tables.push_back(std::move(table));
  }
  scanner->module_pair = module_pairs(ring, [&](int sector_step, int ring_step) {
    const std::int32_t group = class_of(ring, sector_step, ring_step);
    return group < 0 ? -1 : table_of_class[static_cast<std::size_t>(group)];
  });
  scanner->validate();
  return scanner;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
