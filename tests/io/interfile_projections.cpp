// Projection data of PET as STIR writes them: headers, bins and detectors, numbers, and what cannot be.
#include <algorithm>
#include <set>

#include "core/base/private_folder.hpp"
#include "gadgets/io/interfile/bin_reader.hpp"
#include "gadgets/io/interfile/bin_writer.hpp"
#include "gadgets/io/interfile/bins.hpp"
#include "gadgets/io/interfile/projection_file.hpp"
#include "gadgets/io/interfile/rings.hpp"
#include "kernels/math/units.hpp"
#include "tests/io/interfile_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;
using namespace tofstream::interfile;
using namespace tofstream::interfile::testing;

namespace {

std::vector<float> ascending(const ProjectionHeader& header) {
  std::vector<float> numbers(static_cast<std::size_t>(header.numbers_in_file()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 7);
  return numbers;
}

void refused(const std::string& text, const char* what) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(parse_projection_header(text, "scan.hs"), doctest::Contains(what), std::runtime_error);
}

}  // namespace

TEST_CASE("Interfile PET: a header that is written is read with all that it says") {
  ProjectionHeader header = small_projections("folder");
  give_tof(header, 5, 100, 300, 3);
  header.scanner.offset_deg = -5.25;
  header.scanner.energy_resolution = 0.12;
  header.low_keV = 435;
  header.high_keV = 650;
  header.start_s = 10;
  header.isotope = "^18^Fluorine";
  header.order = AxisOrder::planes;
  const ProjectionHeader read = parse_projection_header(projection_header_text(header), header.file);
  CHECK(projection_header_text(read) == projection_header_text(header));
  CHECK(other_bins(header, read, true).empty());
  CHECK(read.order == AxisOrder::planes);
  CHECK(read.data == header.data);
  CHECK(read.tof_width_mm() == approx(300 * speed_of_light_mm_ps / 2));
  CHECK(read.duration_s == 2);
  CHECK(read.isotope == header.isotope);
  CHECK(read.mashing() == 1);
  CHECK(to_scanner(read)->types[0].energy.low_keV == 435);
}

TEST_CASE("Interfile PET: STIR's single scatter of a cylinder is read to its stated numbers") {
  const std::filesystem::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  const std::filesystem::path file = folder / "scatter" / "stir_cylinder" / "scatter_cylinder.hs";
  CHECK(is_projection_header(file));
  const ProjectionHeader header = read_projection_header(file);
  CHECK(header.scanner.rings == 8);
  CHECK(header.scanner.detectors == 64);
  CHECK(header.scanner.radius_mm() == approx(451.5));
  CHECK(header.views == 32);
  CHECK(header.tangential == 35);
  CHECK(header.high_keV == 650);
  const ProjectionFile data(header);
  const Bins bins(header);
  std::vector<float> numbers(static_cast<std::size_t>(header.bins()));
  data.read(0, 0, numbers);
  const double stated[8] = {1.673, 1.828, 1.937, 1.989, 1.981, 1.900, 1.606, 1.437};
  for (int ring = 0; ring < 8; ++ring) {
    float most = 0;
    for (std::int64_t bin = 0; bin < bins.size(); ++bin) {
      const BinPlace place = bins.place(bin);
      CHECK(bins.number(place) == bin);
      if (place.position == ring) most = std::max(most, numbers[static_cast<std::size_t>(bin)]);
    }
    CHECK(static_cast<double>(most) == approx(stated[ring]).epsilon(5e-4));
  }
  CHECK_THROWS_WITH(BinReader(header, {}).next(), doctest::Contains("counts are whole and not negative"));
}

TEST_CASE("Interfile PET: each pair of detectors has one bin, whose line is at STIR's distance and angle") {
  for (const int detectors : {8, 10, 16}) {
    const ProjectionHeader header = small_projections("folder", 4, detectors);
    const Bins bins(header);
    REQUIRE(bins.are_pairs());
    std::set<std::int64_t> met;
    for (int a = 0; a < detectors; ++a)
      for (int b = 0; b < detectors; ++b)
        for (int ring_a = 0; ring_a < 4; ++ring_a)
          for (int ring_b = 0; ring_b < 4; ++ring_b) {
            if (a == b) continue;
            const auto found = bins.bin_of(a, ring_a, b, ring_b);
            REQUIRE(found.has_value());
            met.insert(found->bin);
            const BinPlace place = bins.place(found->bin);
            const auto [one, two] = bins.detectors(place.view, 0, place.tangential);
            const RingPair rings = bins.rings(place.segment, place.position).front();
            CHECK(std::pair(one, rings.ring1) == (found->is_swapped ? std::pair(b, ring_b) : std::pair(a, ring_a)));
            CHECK(std::pair(two, rings.ring2) == (found->is_swapped ? std::pair(a, ring_a) : std::pair(b, ring_b)));
            // s = R sin(pi t / N), positive towards (cos phi, sin phi); phi = pi view / views, but for half a step.
            const double half_step = place.tangential % 2 != 0 ? 0.5 : 0.0;
            const double phi = 2 * std::numbers::pi * (place.view - half_step) / detectors;
            const Vec3d end = stir_position(header.scanner, one, rings.ring1);
            CHECK(end.x * std::cos(phi) + end.y * std::sin(phi) ==
                  approx(header.scanner.radius_mm() * std::sin(std::numbers::pi * place.tangential / detectors))
                      .epsilon(1e-9));
          }
    CHECK(static_cast<std::int64_t>(met.size()) == bins.size());
  }
}

TEST_CASE("Interfile PET: compressed segments and views join the pairs that STIR joins") {
  ProjectionHeader header = small_projections("folder", 5, 16);
  header.segments = {{-4, -2, 5}, {-1, 1, 9}, {2, 4, 5}};
  header.views = 4;
  const Bins bins(header);
  CHECK_FALSE(bins.are_pairs());
  std::vector<int> joined(static_cast<std::size_t>(bins.size()));
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < a; ++b)
      for (int ring_a = 0; ring_a < 5; ++ring_a)
        for (int ring_b = 0; ring_b < 5; ++ring_b)
          if (const auto bin = bins.bin_of(a, ring_a, b, ring_b)) ++joined[static_cast<std::size_t>(bin->bin)];
  for (std::int64_t bin = 0; bin < bins.size(); ++bin)
    CHECK(joined[static_cast<std::size_t>(bin)] == bins.pairs(bins.place(bin)));
  CHECK(bins.rings(1, 0).size() == 1);  // ring 0 with itself
  CHECK(bins.rings(1, 1).size() == 2);  // rings 0 and 1, both ways
  CHECK(bins.rings(1, 4).size() == 1);  // ring 2 with itself
  CHECK(segment_numbers(header) == std::vector<int>{-1, 0, 1});
}

TEST_CASE("Interfile PET: rings lie in the kernels' frame as STIR's documentation says, ring 0 at the greatest z") {
  ProjectionHeader header = small_projections("folder");
  header.scanner.offset_deg = 30;
  const auto scanner = to_scanner(header);
  REQUIRE(scanner->detectors->size() == 48);
  for (int k = 0; k < 16; ++k)
    for (int ring = 0; ring < 3; ++ring) {
      const Vec3 at = scanner->detectors->position(detector_of(header.scanner, k, ring));
      const Vec3d stir = stir_position(header.scanner, k, ring);
      CHECK(norm(at - Vec3d{stir.x, stir.y, -stir.z}.as<float>()) < 1e-4f);
    }
  const Rings rings = rings_of(*scanner);
  CHECK(rings.crystal_map.empty());
  CHECK(rings.figures.offset_deg < 22.5);  // another detector is the first
  CHECK(rings.figures.radius_mm() == approx(100));
  CHECK(rings.figures.ring_distance_mm == approx(8));
}

TEST_CASE("Interfile PET: a scanner of flat modules goes by its crystals' map, and comes back") {
  Scanner scanner;
  std::vector<Vec3> positions;
  for (int module = 0; module < 4; ++module)
    for (int z = 0; z < 2; ++z)
      for (int across = 0; across < 3; ++across) {
        const float angle = 1.5707963f * static_cast<float>(module), y = 10 * static_cast<float>(across - 1);
        positions.push_back({100 * std::cos(angle) - y * std::sin(angle), 100 * std::sin(angle) + y * std::cos(angle),
                             7.5f * static_cast<float>(z)});
      }
  scanner.detectors = std::make_shared<const DetectorTable>(positions);
  scanner.types = {{.modules = 4, .elements = 6}};
  const Rings rings = rings_of(scanner);
  REQUIRE_FALSE(rings.crystal_map.empty());
  CHECK(rings.figures.rings == 2);
  CHECK(rings.figures.detectors == 12);
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path(), 2, 12);
  header.scanner = rings.figures;
  header.scanner.crystals = folder.path() / "scan.txt";
  write_text(header.scanner.crystals, rings.crystal_map);
  write_text(header.file, projection_header_text(header));
  const auto back = to_scanner(read_projection_header(header.file));
  for (std::size_t d = 0; d < positions.size(); ++d) {
    const auto [k, ring] = rings.places[d];
    const Vec3 centred = positions[d] - Vec3{0, 0, 3.75f};
    CHECK(norm(back->detectors->position(detector_of(header.scanner, k, ring)) - centred) < 1e-4f);
  }
  write_text(header.scanner.crystals, rings.crystal_map + "0,0,1,2,3\n");
  CHECK_THROWS_WITH(to_scanner(header), doctest::Contains("this crystal came before"));
  write_text(header.scanner.crystals, "0,0,1,2\n");
  CHECK_THROWS_WITH(to_scanner(header), doctest::Contains("scan.txt:1: a crystal is: ring, detector"));
}

TEST_CASE("Interfile PET: bins come as events with their counts, ToF towards detector 2, and terms") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path());
  give_tof(header, 3, 200, 400);
  write_projections(header, ascending(header));
  ProjectionHeader norm = small_projections(folder.path());
  norm.file = folder.path() / "norm.hs";
  norm.data = folder.path() / "norm.s";
  std::vector<float> factors(static_cast<std::size_t>(norm.numbers_in_file()), 4.0f);
  factors[5] = 0;
  write_projections(norm, factors);
  ProjectionHeader additive = header;
  additive.file = folder.path() / "add.hs";
  additive.data = folder.path() / "add.s";
  write_projections(additive, std::vector<float>(static_cast<std::size_t>(header.numbers_in_file()), 0.5f));
  BinReader reader(
      header,
      {.batch_events = 100, .reference_s = 6, .factors = {.normalisation = norm.file}, .additive = additive.file});
  std::uint64_t counts = 0;
  double end_s = 0;
  while (const auto batch = reader.next()) {
    CHECK(batch->count <= 100);
    CHECK(batch->start_s == approx(end_s));
    end_s = batch->start_s + batch->duration_s;
    counts += batch->event_count();
    for (std::int64_t i = 0; i < batch->count; ++i) {
      CHECK(batch->multiplicative[i] == 0.25f);
      CHECK(batch->additive[i] == approx(0.5 * 6 / 2));
      // Numbers ascend through the file: its first third is the ToF position nearest to detector 2.
      const Bins all(header);
      const int a = static_cast<int>(batch->detector1[i]), b = static_cast<int>(batch->detector2[i]);
      const auto bin = all.bin_of(a / 3, a % 3, b / 3, b % 3);
      REQUIRE(bin.has_value());
      CHECK_FALSE(bin->is_swapped);
      const int place =
          1 - static_cast<int>(std::lround(static_cast<double>(batch->tof_mm[i]) / header.tof_width_mm()));
      CHECK(batch->counts[i] == static_cast<float>((place * all.size() + bin->bin) % 7));
    }
  }
  CHECK(end_s == approx(2));
  CHECK(counts + reader.impossible() == reader.received());
  CHECK(reader.impossible() == 5 + (header.bins() + 5) % 7 + (2 * header.bins() + 5) % 7);
  std::uint64_t all = 0;
  for (const float n : ascending(header)) all += static_cast<std::uint64_t>(n);
  CHECK(reader.received() == all);
  CHECK(reader.scanner()->lines->size() == header.bins());
  CHECK(reader.scanner()->lines->lines(0, 20).count == 19);
}

TEST_CASE("Interfile PET: without ToF positions of a line are added up; segments can be left out") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path());
  give_tof(header, 3, 200, 400);
  write_projections(header, std::vector<float>(static_cast<std::size_t>(header.numbers_in_file()), 1.0f));
  BinReader reader(header, {.tof = false, .most_segment = 0});
  const auto batch = reader.next();
  REQUIRE(batch.has_value());
  CHECK(batch->count == 3 * 8 * 15);
  CHECK(batch->tof_mm.empty());
  CHECK(batch->counts[0] == 3);
  CHECK(reader.other_segments() == reader.received() - batch->event_count());
  CHECK_FALSE(reader.next().has_value());
}

TEST_CASE(
    "Interfile PET: a compressed bin is the line between the means of its ends, and counts as often as it joins") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path(), 3, 16);
  header.segments = {{-1, 1, 5}};
  header.views = 4;
  write_projections(header, std::vector<float>(static_cast<std::size_t>(header.numbers_in_file()), 1.0f));
  const BinLines lines(header, {}, -1);
  const BinPlace place{.segment = 0, .view = 1, .position = 1, .tangential = 0};  // rings 0 and 1, views 2 and 3
  const auto ends = lines.ends(place);
  Vec3d mean;
  for (const int k : {2, 3})
    for (const int ring : {0, 1}) mean = mean + 0.25 * stir_position(header.scanner, k, ring);
  CHECK(norm(ends[0] - Vec3d{mean.x, mean.y, -mean.z}.as<float>()) < 1e-4f);
  float efficiency = 0;
  lines.efficiencies(lines.bins().number(place), std::span(&efficiency, 1));
  CHECK(efficiency == 4);
  const auto batch = BinReader(header, {}).next();
  REQUIRE(batch.has_value());
  CHECK(batch->detector1.empty());
  CHECK(batch->ends[0].size() == batch->count);
}

TEST_CASE("Interfile PET: numbers of any format and byte order, from any byte on, are read") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path());
  header.numbers = {.kind = formats::RawPixels::Kind::signed_integer, .bytes = 2, .is_big_endian = true};
  header.offset = 3;
  header.scale = 0.5;
  std::string bytes = "abc";
  for (std::int64_t i = 0; i < header.bins(); ++i) bytes += {static_cast<char>(0), static_cast<char>(2 * (i % 5))};
  write_text(header.file, projection_header_text(header));
  write_text(header.data, bytes);
  const ProjectionFile file(read_projection_header(header.file));
  std::vector<float> numbers(7);
  file.read(0, 3, numbers);
  CHECK(numbers == std::vector<float>{3, 4, 0, 1, 2, 3, 4});
}

TEST_CASE("Interfile PET: headers that cannot be are refused in one line, with what to do") {
  const std::string text = projection_header_text(small_projections(""));
  CHECK_NOTHROW(parse_projection_header(text, "scan.hs"));
  refused("hello", "this is no Interfile header");
  refused(with_line(text, "imagedata byte order", "imagedata byte order := MIDDLEENDIAN"),
          "must be LITTLEENDIAN or BIGENDIAN, not MIDDLEENDIAN");
  refused(with_line(text, "imagedata byte order", ""), "it has no 'imagedata byte order'");
  refused(with_line(text, "!number format", "!number format := bit"), "must be float, signed integer");
  refused(with_line(text, "!number of bytes", "!number of bytes per pixel := 3"), "no numbers of 3 bytes");
  refused(with_line(text, "!PET data type", "!PET data type := Image"), "this is an image");
  refused(with_line(text, "!imaging modality", "!imaging modality := nucmed"), "projections_source reads SPECT");
  refused(with_line(text, "applied corrections", "applied corrections := {arc correction}"), "before arc correction");
  refused(with_line(text, "applied corrections", ""), "STIR takes bins as arc corrected");
  refused(with_line(text, "Number of rings", ""), "it has no 'number of rings'");
  refused(with_line(text, "Number of detectors", "Number of detectors per ring := 15"), "even number");
  refused(with_line(text, "!matrix size [1]", "!matrix size [1] := 16"), "there are at most 15");
  refused(with_line(text, "!matrix size [3]", "!matrix size [3] := 3"), "3 views of a ring of 16 detectors");
  refused(with_line(text, "!matrix size [2]", "!matrix size [2] := {1,2,2,2,1}"), "at no pairs of 3 rings");
  refused(with_line(text, "!matrix size [2]", "!matrix size [2] := {1,2,3,2}"),
          "has 4 numbers, and there are 5 segments");
  refused(with_line(text, "minimum ring", "minimum ring difference per segment := {-3,-1,0,1,2}"), "has 3 rings");
  refused(with_line(text, "minimum ring", "minimum ring difference per segment := {-2,-1,0,0,2}"),
          "have the same ring differences");
  refused(with_line(text, "number of time frames", "number of time frames := 4"), "4 'number of time frames'");
  refused(with_line(text, "matrix axis label [1]", "matrix axis label [1] := radial"), "axis 1 must be");
  refused(with_line(text, "Scanner type",
                    "Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic) := "
                    "BlocksOnCylindrical"),
          "Cylindrical and Generic are");
  ProjectionHeader tof = small_projections("");
  give_tof(tof, 5, 100, 300);
  const std::string with_tof = projection_header_text(tof);
  refused(with_line(with_tof, "TOF mashing", "TOF mashing factor := 2"), "do not make 5 timing positions");
  refused(with_line(with_tof, "TOF timing", ""), "need the scanner's");
  refused(with_line(with_tof, "TOF mashing", "TOF mashing factor := 1\nTOF bin order := {0,1,2,3,4}"),
          "must list each of -2 to 2 once");
}

TEST_CASE("Interfile PET: data that are cut short, of another scanner, or no counts, are told by file and place") {
  const PrivateTemporaryFolder folder;
  const ProjectionHeader header = small_projections(folder.path());
  std::vector<float> numbers = ascending(header);
  write_projections(header, numbers);
  CHECK_NOTHROW(BinReader(header, {}));
  std::filesystem::resize_file(header.data, 100);
  CHECK_THROWS_WITH(BinReader(header, {}), doctest::Contains("scan.s: 100 bytes, and"));
  CHECK_THROWS_WITH(BinReader(header, {}), doctest::Contains("it is cut short"));
  std::filesystem::remove(header.data);
  CHECK_THROWS_WITH(BinReader(header, {}), doctest::Contains("'name of data file' of"));
  numbers[17] = -1;
  write_projections(header, numbers);
  CHECK_THROWS_WITH(BinReader(header, {}).next(), doctest::Contains("scan.s: -1 in segment 1 of the list, view 1"));
  numbers[17] = 1;
  write_projections(header, numbers);
  ProjectionHeader other = small_projections(folder.path(), 3, 18);
  other.file = folder.path() / "norm.hs";
  other.data = folder.path() / "norm.s";
  write_projections(other, std::vector<float>(static_cast<std::size_t>(other.numbers_in_file()), 1.0f));
  CHECK_THROWS_WITH(BinReader(header, {.factors = {.normalisation = other.file}}),
                    doctest::Contains("norm.hs: it is of another scanner: 3 rings of 18 detectors"));
  other = small_projections(folder.path());
  other.file = folder.path() / "norm.hs";
  other.data = folder.path() / "norm.s";
  other.order = AxisOrder::planes;
  write_projections(other, std::vector<float>(static_cast<std::size_t>(other.numbers_in_file()), 1.0f));
  CHECK_THROWS_WITH(BinReader(header, {.additive = other.file}),
                    doctest::Contains("its views and planes come in another order"));
  other.order = AxisOrder::views;
  write_projections(other, std::vector<float>(static_cast<std::size_t>(other.numbers_in_file()), -1.0f));
  CHECK_THROWS_WITH(BinReader(header, {.factors = {.attenuation = other.file}}).next(),
                    doctest::Contains("norm.s: -1 is the factor of segment 1 of the list"));
  CHECK_THROWS_WITH(BinReader(header, {.additive = other.file}).next(),
                    doctest::Contains("is expected beside the image"));
}
// SPDX-License-Identifier: Apache-2.0
