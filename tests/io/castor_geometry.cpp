// CASToR's scanners: crystals in the order of its documentation and of a table that comes with it, mirrored into our
// frame; tables written and read; what cannot be.
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/base/private_folder.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "tests/io/castor_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::castor;
using namespace tofstream::castor::testing;

namespace {

Geometry geometry_of_text(const std::string& text) {
  const PrivateTemporaryFolder folder;
  write_file(folder.path() / "s.geom", text);
  return read_geometry(folder.path() / "s.geom");
}

bool is_near(Vec3 a, Vec3 b, float mm = 1e-3f) {
  return norm(a - b) < mm;
}

// The numbers of PET_GE_GATE.geom, which comes with CASToR.
constexpr auto* gate_geom =
    "modality : PET\nscanner radius : 443\nnumber of elements : 15120\nnumber of rsectors : 70\n"
    "rsectors first angle : 90\nrsectors angular span : 360\nrsectors ZShift : 0\nnumber of modules transaxial : 1\n"
    "number of modules axial : 4\nmodule gap axial : 1.5\nnumber of crystals transaxial : 9\n"
    "number of crystals axial : 6\ncrystal gap transaxial : 0.065\ncrystal gap axial : 0.1\nnumber of layers : 1\n"
    "crystals size depth : 30\ncrystals size transaxial : 4.23\ncrystals size axial : 6.35\n"
    "mean depth of interaction : -1\nmin angle difference : 40\n";

}  // namespace

TEST_CASE("CASToR: crystals of a .geom are where the table of the same scanner has them") {
  const Geometry made = geometry_of_text(gate_geom);
  REQUIRE(made.crystals.size() == 15120);
  // Across the axis as in PET_GE_GATE.lut; along it that table's gaps differ from the .geom's (76.65 for 76.275 mm).
  CHECK(is_near(made.crystals[0].centre_mm, {458, 17.18f, -76.275f}));
  CHECK(is_near(made.crystals[1].centre_mm, {458, 12.885f, -76.275f}));
  CHECK(is_near(made.crystals[15119].centre_mm, {457.69623f, 23.943983f, 76.275f}));
  CHECK(made.crystals[629].centre_mm.z == made.crystals[0].centre_mm.z);  // a ring has 630
  CHECK(made.crystals[630].centre_mm.z - made.crystals[0].centre_mm.z == approx(6.45));
  CHECK(made.crystals[6 * 630].centre_mm.z - made.crystals[5 * 630].centre_mm.z == approx(7.85));
  CHECK(is_near(made.crystals[0].outward, {1, 0, 0}, 1e-6f));
  CHECK(made.layers[0].interaction_mm == 15);
  CHECK(made.least_angle_deg == 40);
}

TEST_CASE("CASToR: sectors follow one another clockwise from above, or counter-clockwise, over a span") {
  const Geometry clockwise = geometry_of_text(small_geom());
  CHECK(is_near(clockwise.crystals[0].centre_mm, {-2, 105, -2}));
  CHECK(is_near(clockwise.crystals[1].centre_mm, {2, 105, -2}));
  CHECK(is_near(clockwise.crystals[4].centre_mm, {105, 2, -2}));   // the sector at 90 degrees lies at +x
  CHECK(is_near(clockwise.crystals[16].centre_mm, {-2, 105, 2}));  // the next ring
  const Geometry counter = geometry_of_text(small_geom("rotation direction : CCW\n"));
  CHECK(is_near(counter.crystals[0].centre_mm, {2, 105, -2}));
  CHECK(is_near(counter.crystals[4].centre_mm, {-105, 2, -2}));
  const Geometry half = geometry_of_text(small_geom("rsectors angular span : 180\nrsectors first angle : 45\n"));
  const auto middle = [&](std::size_t sector) {
    return 0.5f * (half.crystals[2 * sector].centre_mm + half.crystals[2 * sector + 1].centre_mm);
  };
  for (const std::size_t s : {0, 3, 7}) {
    const double angle = (45 + static_cast<double>(s) * 22.5) * std::numbers::pi / 180;
    CHECK(
        is_near(middle(s), {static_cast<float>(105 * std::sin(angle)), static_cast<float>(105 * std::cos(angle)), -2}));
  }
  const Geometry shifted = geometry_of_text(small_geom("rsectors nbZShift : 2\nrsectors ZShift : -1, 3\n"));
  CHECK(shifted.crystals[0].centre_mm.z == -3);
  CHECK(shifted.crystals[2].centre_mm.z == 1);
}

TEST_CASE("CASToR: layers, levels and gaps are numbered crystals first and sectors last") {
  const Geometry made = geometry_of_text(
      "modality: PET\nnumber of elements: 320\nnumber of layers: 2\nscanner radius: 50, 60\nnumber of rsectors: 4, 4\n"
      "number of crystals transaxial: 2,2\nnumber of crystals axial: 2,1\ncrystals size depth: 10,6\n"
      "crystals size trans: 2,2\ncrystals size axial: 2,2\nmean depth of interaction: 4,-1\n"
      "number of submodules transaxial: 2,1\nsubmodule gap transaxial: 1,0\nnumber of modules transaxial: 2,1\n"
      "module gap transaxial: 3,0\nnumber of rsectors axial: 4,8\nrsector gap axial: 5,0\n");
  REQUIRE(made.layers.size() == 2);
  CHECK(made.layers[0].crystals == 256);
  CHECK(made.layers[1].crystals == 64);
  const auto x = [&](std::size_t c) { return made.crystals[c].centre_mm.x; };
  CHECK(x(1) - x(0) == approx(2));
  CHECK(x(2) - x(1) == approx(3));  // a submodule's gap
  CHECK(x(4) - x(3) == approx(5));  // a module's
  CHECK(x(0) == approx(-x(7)));
  const auto z = [&](std::size_t c) { return made.crystals[c].centre_mm.z; };
  CHECK(z(32) - z(0) == approx(2));
  CHECK(z(64) - z(32) == approx(7));  // an axial sector's gap
  CHECK(z(0) == approx(-z(255)));
  CHECK(made.crystals[256].centre_mm.y == approx(63));
  DataHeader header;
  const MadeScanner scanner = to_scanner(made, header, Frame::castor);
  CHECK(scanner.scanner->types.size() == 2);
  CHECK(scanner.scanner->types[1].first_detector == 256);
  CHECK(scanner.scanner->detectors->position(0).y == approx(-54));  // at the mean depth of interaction, mirrored
  CHECK(to_scanner(made, header, Frame::gantry).scanner->detectors->position(0).y == approx(54));
  CHECK(scanner.scanner->in_coincidence(0, 300));
}

TEST_CASE("CASToR: pairs that its two limits leave out are not in coincidence, the others are") {
  const Geometry made = geometry_of_text(small_geom("min angle difference : 90\n"));
  DataHeader header;
  const MadeScanner any = to_scanner(made, header, Frame::castor);
  CHECK(any.notes.empty());
  header.most_axial_difference_mm = 1;
  header.calibration = 4;
  const MadeScanner flat = to_scanner(made, header, Frame::castor);
  std::size_t pairs = 0;
  for (std::uint32_t a = 0; a < 32; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      const Crystal &one = made.crystals[a], &two = made.crystals[b];
      const bool is_apart = dot(one.outward, two.outward) < 1e-4f;
      const bool is_flat = one.centre_mm.z == two.centre_mm.z;
      CHECK(any.scanner->in_coincidence(a, b) == is_apart);
      CHECK(flat.scanner->in_coincidence(a, b) == (is_apart && is_flat));
      pairs += is_apart && is_flat ? 1 : 0;
    }
  CHECK(pairs == 2 * (8 * 5 / 2) * 4);
  CHECK(flat.scanner->efficiency(9, 1) == approx(0.25));
}

TEST_CASE("CASToR: a table that is written is read bit for bit, and stays one scanner when mirrored twice") {
  const PrivateTemporaryFolder folder;
  Geometry made = geometry_of_text(small_geom());
  made.name = "table";
  const double field[2] = {80, 8};
  const int voxels[2] = {40, 4};
  const GeometryFiles files = geometry_files(made, field, voxels);
  write_file(folder.path() / "table.hscan", files.hscan);
  write_file(folder.path() / "table.lut", {reinterpret_cast<const char*>(files.lut.data()), files.lut.size()});
  const Geometry again = read_geometry(folder.path() / "table.lut");
  REQUIRE(again.crystals.size() == 32);
  for (std::size_t c = 0; c < 32; ++c) {
    CHECK(again.crystals[c].centre_mm == made.crystals[c].centre_mm);
    CHECK(again.crystals[c].outward == made.crystals[c].outward);
  }
  const auto scanner = to_scanner(made, {}, Frame::castor).scanner;
  const auto twice = to_scanner(castor::geometry_of(*scanner, "twice"), {}, Frame::castor).scanner;
  for (std::uint32_t c = 0; c < 32; ++c) CHECK(twice->detectors->position(c) == scanner->detectors->position(c));
}

TEST_CASE(
    "CASToR: a scanner that cannot be is refused in one line, and one that is not there with where it was sought") {
  const auto refused = [](const std::string& text, const char* what) {
    CHECK_THROWS_WITH(geometry_of_text(text), doctest::Contains(what));
  };
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = small_geom();
    return text.replace(text.find(from), from.size(), to);
  };
  refused(changed("modality : PET", "modality : SPECT_CONVERGENT"), "s.geom:2: modality is 'SPECT_CONVERGENT'");
  refused(changed("elements : 32", "elements : 31"), "s.geom:5: number of elements is 31, and the sectors");
  refused(changed("layers : 1", "layers : 2"), "2 values are needed");
  refused(changed("number of rsectors : 8", "number of rsectors : 0"), "number of rsectors is 0");
  refused(changed("number of rsectors : 8", "number of rsectors : 1e6"), "number of elements is 32");
  refused(changed("crystals axial : 2", "crystals axial : 1000000\nnumber of modules axial : 1000000"), "2^26");
  refused(changed("size depth : 10", "size depth : 0"), "crystals have a positive one");
  refused(small_geom("rotation direction : left\n"), "it is CW or CCW");
  refused(small_geom("rsectors ZShift : 1,2\n"), "without rsectors nbZShift");

  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  CHECK_THROWS_WITH(find_geometry(header, {}),
                    doctest::Contains("its scanner is 'small', and neither small.geom nor small.hscan lies in"));
  write_file(folder.path() / "small.hscan",
             "modality: PET\nnumber of layers: 1\nnumber of elements: 4\n"
             "number of crystals in layer: 4\ncrystals size depth: 10\n");
  CHECK(find_geometry(header, {}) == folder.path() / "small.hscan");
  CHECK_THROWS_WITH(read_geometry(folder.path() / "small.hscan"), doctest::Contains("is the header of a table"));
  write_file(folder.path() / "small.lut", std::string(95, '\0'));
  CHECK_THROWS_WITH(read_geometry(folder.path() / "small.hscan"),
                    doctest::Contains("95 bytes, and the table of the 4"));
  write_file(folder.path() / "small.lut", std::string(96, '\x7f'));
  CHECK_THROWS_WITH(read_geometry(folder.path() / "small.hscan"), doctest::Contains("crystal 0 has"));
  write_file(folder.path() / "small.geom", small_geom());
  CHECK(find_geometry(header, {}) == folder.path() / "small.geom");
  CHECK(find_geometry(header, folder.path()) == folder.path() / "small.geom");
  CHECK(find_geometry(header, "/other.hscan") == "/other.hscan");
  header.scanner = "../small";
  CHECK_THROWS_WITH(find_geometry(header, {}), doctest::Contains("name the scanner's file"));
  CHECK_THROWS_WITH(read_geometry("scan.txt"), doctest::Contains("ends in .geom, or in .hscan"));
}
// SPDX-License-Identifier: Apache-2.0
