// Scanners as single scatter sees them: by their tables, and those that it cannot be made for.
#include "kernels/ring/scatter/scatter_scanner.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

Scanner a_ring() {
  RingScanner ring{.name = "ring", .inner_radius_mm = 300, .modules_transaxial = 24, .modules_axial = 2};
  ring.crystal_axial_mm = ring.pitch_axial_mm = 30;
  ring.module_pitch_axial_mm = 40;
  ring.layers = {{.depth_mm = 20, .attenuation_per_cm = 0.8}};
  ring.tof_fwhm_ps = 300;
  return *make_scanner(ring);
}

std::string refusal_of_scanner(const Scanner& scanner) {
  try {
    scatter_scanner(scanner);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a scanner's cylinder, crystals, ToF and energies are those of its tables") {
  const Scanner scanner = a_ring();
  const ScatterScanner sees = scatter_scanner(scanner);
  const Vec3d first = scanner.detectors->position(0).as<double>();
  CHECK(sees.detectors.radius_mm == approx(std::hypot(first.x, first.y)).epsilon(1e-6));
  CHECK(sees.detectors.radius_mm > 300);
  CHECK(sees.half_length_mm == approx(20));
  CHECK(sees.tof_sigma_mm == approx(static_cast<double>(scanner.tof.front().sigma_mm)));
  CHECK(sees.detectors.crystal.back == approx(1.6));
  CHECK(sees.detectors.energy.low_keV == 435);
  CHECK(sees.detectors.energy.resolution == approx(0.12));
}

TEST_CASE("scanners without one energy window, or whose crystals lie on no cylinder about the axis, are refused") {
  CHECK(refusal_of_scanner(a_ring()).empty());
  Scanner scanner = a_ring();
  scanner.types.front().energy = {};
  CHECK(refusal_of_scanner(scanner).find("scanner ring states no energy window") != std::string::npos);
  scanner.types.front().energy = {.low_keV = 435, .high_keV = 650};
  CHECK(refusal_of_scanner(scanner).find("states no energy resolution") != std::string::npos);
  scanner = a_ring();
  ModuleType other = scanner.types.front();
  other.energy.low_keV = 400;
  scanner.types.push_back(other);
  CHECK(refusal_of_scanner(scanner).find("different energy windows") != std::string::npos);
  other = scanner.types.front();
  other.energy.resolution = 0.2f;
  scanner.types.back() = other;
  CHECK(refusal_of_scanner(scanner).find("different energy resolutions") != std::string::npos);
  scanner = a_ring();
  scanner.tof.push_back({.sigma_mm = 2 * scanner.tof.front().sigma_mm});
  CHECK(refusal_of_scanner(scanner).find("ToF resolutions of") != std::string::npos);
  scanner = a_ring();
  std::vector<Vec3> moved;
  for (std::int64_t d = 0; d < scanner.detectors->size(); ++d)
    moved.push_back(scanner.detectors->position(static_cast<std::uint32_t>(d)) + Vec3{60, 0, 0});
  scanner.detectors = std::make_shared<const DetectorTable>(moved);
  CHECK(refusal_of_scanner(scanner).find("mm from the axis x = y = 0") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
