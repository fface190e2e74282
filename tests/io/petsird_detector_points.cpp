// Where lines of response end in the crystals of a PETSIRD header: their depth, material and direction.
#include "gadgets/io/petsird/detector_points.hpp"
#include "gadgets/io/petsird/materials.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "kernels/math/interaction_depth.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

using Kind = DetectorDepth::Kind;

RingScanner ring_of(std::vector<CrystalLayer> layers) {
  RingScanner ring;
  ring.inner_radius_mm = 100;
  ring.modules_transaxial = 16;
  ring.modules_axial = 2;
  ring.module_pitch_axial_mm = 20;
  ring.crystals_transaxial = ring.crystals_axial = 4;
  ring.min_sector_difference = 4;
  ring.layers = std::move(layers);
  return ring;
}

double farthest(const Scanner& a, const Scanner& b) {
  double worst = 0;
  for (std::uint32_t d = 0; d < a.detectors->size(); ++d)
    worst = std::max(worst, static_cast<double>(norm(a.detectors->position(d) - b.detectors->position(d))));
  return worst;
}

/// One type of module: two panels of 5 x 5 crystals of 4 x 4 x 18 mm that face one another, 60 mm apart.
ScannerInformation panels() {
  ScannerInformation scanner = toy::scanner();
  auto& modules = scanner.geometry.replicated_modules;
  modules.resize(1);
  auto& elements = modules[0].object.detecting_elements;
  elements.object = {toy::box(18, 4, 4), 1};
  elements.transforms.clear();
  for (int j = -2; j <= 2; ++j)
    for (int k = -2; k <= 2; ++k)
      elements.transforms.push_back(
          toy::shift_by(30, 20.0F * static_cast<float>(j) - 2, 20.0F * static_cast<float>(k)));
  modules[0].transforms = {toy::rotation_about_z(0, {500, 70, -900}), toy::rotation_about_z(180, {500, 70, -900})};
  scanner.bulk_materials = {{1, "BGO", 7.13F, {}, {}}};
  return scanner;
}

}  // namespace

TEST_CASE("a simulated scanner's header gives the detectors that it was simulated with") {
  for (const double depth : {4.0, 18.1, 30.0})
    for (const double attenuation : {0.34, 0.83, 0.96}) {
      const RingScanner ring = ring_of({{depth, attenuation}});
      const ScannerInformation scanner = header_of(ring).header.scanner;
      CHECK(farthest(*make_scanner(ring), *to_scanner(scanner)) < 1e-4);
      CHECK(detector_depth_note(scanner, {}).words ==
            fmt::format("{:.2f} mm below the face of crystals of {:.4g} mm, their mean at {:.3g}/cm",
                        mean_interaction_depth(depth, 0.1 * attenuation), depth, attenuation));
    }
  const RingScanner layered = ring_of({{10, 0.83}, {10, 0.83}});
  CHECK(farthest(*make_scanner(layered), *to_scanner(header_of(layered).header.scanner)) < 1e-4);
  const RingScanner phoswich = ring_of({{7, 0.83}, {8, 0.70}});  // share a box of 7.5 mm
  CHECK(farthest(*make_scanner(phoswich), *to_scanner(header_of(phoswich).header.scanner)) < 0.02);
}

TEST_CASE("a header's energies and its crystals' material are those of the scanner that it describes") {
  const RingScanner ring = ring_of({{20, 0.83}});
  ScannerInformation header = header_of(ring).header.scanner;
  const ModuleType made = make_scanner(ring)->types[0], read = to_scanner(header)->types[0];
  CHECK(read.energy.low_keV == made.energy.low_keV);
  CHECK(read.energy.high_keV == made.energy.high_keV);
  CHECK(read.energy.resolution == made.energy.resolution);
  CHECK(made.free_paths == approx(1.66));
  CHECK(read.free_paths == approx(made.free_paths).epsilon(1e-3));
  header.energy_resolution_at_511.clear();
  header.bulk_materials.clear();
  const ModuleType unknown = to_scanner(header)->types[0];
  CHECK(unknown.energy.high_keV == made.energy.high_keV);
  CHECK(unknown.energy.resolution == 0);
  CHECK(unknown.free_paths == 0);
}

TEST_CASE("a header's boxes stay the crystals as they are") {
  const ScannerInformation scanner = header_of(ring_of({{20, 0.83}})).header.scanner;
  CHECK(crystal_centre(scanner, 0, 0, 0)[0] == approx(110));
  CHECK(detector_points(scanner, {Kind::mean})[0][0][0] == approx(100 + mean_interaction_depth(20, 0.083)));
  CHECK(to_scanner(scanner)->types[0].element_size_mm.x == approx(20));
}

TEST_CASE("centre and a given depth are taken as asked for") {
  const ScannerInformation scanner = header_of(ring_of({{20, 0.83}})).header.scanner;
  CHECK(detector_points(scanner, {Kind::centre})[0] == crystal_centres(scanner, 0));
  CHECK(detector_points(scanner, {Kind::given, 6.5})[0][0][0] == approx(106.5));
  CHECK(detector_depth_note(scanner, {Kind::given, 6.5}).words == "6.50 mm below the face of crystals of 20 mm");
  CHECK(detector_depth_note(scanner, {Kind::centre}).words == "centre");
  CHECK_THROWS_WITH(detector_points(scanner, {Kind::given, 21}),
                    "detector_depth: 21 mm lies behind the scanner's crystals, which are 20 mm deep");
  CHECK(parse_detector_depth("mean").kind == Kind::mean);
  CHECK(parse_detector_depth("7.4").given_mm == 7.4);
  for (const char* wrong : {"", "middle", "7.4 mm", "-1", "nan", "2000"})
    CHECK_THROWS_WITH(parse_detector_depth(wrong), doctest::Contains("is neither centre nor mean nor a depth"));
}

TEST_CASE("crystals of an unknown material keep their centres, which is said") {
  ScannerInformation scanner = header_of(ring_of({{20, 0.83}})).header.scanner;
  scanner.bulk_materials.clear();
  CHECK(detector_points(scanner, {})[0] == crystal_centres(scanner, 0));
  const DetectorDepthNote note = detector_depth_note(scanner, {});
  CHECK(note.words == "centre of crystals of 20 mm: the header does not say what they are made of");
  CHECK(note.unknown);
  CHECK_FALSE(detector_depth_note(scanner, {Kind::centre}).unknown);
}

TEST_CASE("a crystal's depth points away from the axis, as its module does, whatever order a box's corners have") {
  ScannerInformation scanner = panels();
  auto& box = scanner.geometry.replicated_modules[0].object.detecting_elements.object.shape;
  std::ranges::sort(box);
  const double below = mean_interaction_depth(18, 0.0963);
  int orders = 0;
  do {
    const auto points = detector_points(scanner, {});
    const auto centres = crystal_centres(scanner, 0);
    for (std::size_t k = 0; k < centres.size(); ++k) {
      const double towards_face = k < 25 ? -1 : 1;
      CHECK(points[0][k][0] - centres[k][0] == approx(towards_face * (9 - below)).epsilon(1e-3));
      CHECK(points[0][k][1] == approx(centres[k][1]));
      CHECK(points[0][k][2] == approx(centres[k][2]));
    }
    std::rotate(box.begin(), box.begin() + 3, box.end());
    std::swap(box[1], box[static_cast<std::size_t>(2 + orders)]);
  } while (++orders < 6);
}

TEST_CASE("a box that does not tell its depth leaves the point in its centre") {
  ScannerInformation slanted = panels();
  slanted.geometry.replicated_modules[0].object.detecting_elements.object.shape[7][0] += 3;  // no right angles
  slanted.geometry.replicated_modules[0].object.detecting_elements.object.shape[0][1] -= 1;
  CHECK(detector_points(slanted, {})[0] == crystal_centres(slanted, 0));
  CHECK(detector_depth_note(slanted, {}).words == "centre: the crystals' boxes do not tell which way is their depth");
  ScannerInformation turned = panels();  // 45 degrees from the outward direction
  for (auto& element : turned.geometry.replicated_modules[0].object.detecting_elements.transforms)
    element = toy::rotation_about_z(45, {30, element[7] - 5.78F, element[11]});  // about y as before
  CHECK(detector_points(turned, {})[0] == crystal_centres(turned, 0));
}

TEST_CASE("a material attenuates by its atoms and density, or by its name") {
  const auto per_cm = [](const BulkMaterial& material) { return 10 * attenuation_per_mm(material).value_or(0); };
  // Lu2SiO5 of 7.4 g/mL, Bi4Ge3O12 of 7.13, Gd2SiO5 of 6.71: 0.868, 0.963 and 0.703 by xraylib's compounds.
  CHECK(per_cm({1, "", 7.4F, {{175, 71}, {28, 14}, {16, 8}}, {0.7640F, 0.0613F, 0.1747F}}) ==
        approx(0.868).epsilon(1e-3));
  CHECK(per_cm({1, "", 7.13F, {{209, 83}, {73, 32}, {16, 8}}, {0.6710F, 0.1749F, 0.1541F}}) ==
        approx(0.963).epsilon(1e-3));
  CHECK(per_cm({1, "", 6.71F, {{157, 64}, {28, 14}, {16, 8}}, {0.7444F, 0.0665F, 0.1893F}}) ==
        approx(0.703).epsilon(2e-3));
  CHECK(per_cm({1, "Lyso:Ce", 0, {}, {}}) == approx(0.826));
  CHECK(per_cm({1, "crystal (BGO)", 0, {}, {}}) == approx(0.963));
  CHECK(per_cm({1, "LSO", 7.4F, {{175, 71}}, {}}) == approx(0.868));  // a list is missing
  CHECK(per_cm({1, "plastic", 1, {{1, 0}}, {1}}) == 0);
  CHECK(per_cm({1, "unobtainium", 20, {{300, 120}}, {1}}) == 0);
  CHECK(per_cm({1, "", 0, {{175, 71}}, {1}}) == 0);
  CHECK(per_cm({1, "", 7, {{175, 71}}, {0}}) == 0);
  CHECK(per_cm(scintillator(3, 0.0702)) == approx(0.702).epsilon(1e-6));
}
// SPDX-License-Identifier: Apache-2.0
