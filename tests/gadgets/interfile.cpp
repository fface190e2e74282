// Projection data of PET through gadgets and whole runs: a source off centre lands at its place, a sinogram and its list
// give one image, and what is written is read bit for bit.
#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/private_folder.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/interfile/bin_reader.hpp"
#include "gadgets/io/interfile/bins.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/math/units.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "tests/command/command.hpp"
#include "tests/io/interfile_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::interfile::testing;
using interfile::BinPlace;
using interfile::Bins;
using interfile::ProjectionHeader;

namespace {

Image image_of(const char* pipeline, const std::filesystem::path& input, std::vector<std::string> sets) {
  const TemporaryFolder out;
  for (const char* set : {"projected.sensitivity.cache=false", "subsets.subsets=1", "projected.deterministic=true",
                          "image.size=[28, 28, 5]", "image.voxel_mm=[4, 4, 4]"})
    sets.emplace_back(set);
  Engine engine(load_pipeline(find_shared("pipelines", pipeline),
                              {.sets = std::move(sets), .input = input.string(), .backend = "cpu"}),
                {.output_dir = out.path()});
  const RunReport report = engine.run();
  for (const auto& error : report.errors) FAIL(error.text());
  CHECK(report.exit_code == exit_ok);
  CHECK(report.books.balanced());
  return read_nifti(out / "image.nii.gz");
}

Vec3d centre_of_activity(const Image& image) {
  double weight = 0;
  Vec3d sum;
  for (int k = 0; k < image.grid.size[2]; ++k)
    for (int j = 0; j < image.grid.size[1]; ++j)
      for (int i = 0; i < image.grid.size[0]; ++i) {
        const double w = static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
        weight += w;
        sum = sum + w * image.grid.centre(i, j, k).as<double>();
      }
  return (1 / weight) * sum;
}

double rms_of_range(const Image& a, const Image& b) {
  REQUIRE(a.voxels.size() == b.voxels.size());
  double squares = 0, most = 0;
  for (std::int64_t v = 0; v < a.voxels.size(); ++v) {
    squares += std::pow(static_cast<double>(a.voxels[v]) - static_cast<double>(b.voxels[v]), 2);
    most = std::max(most, static_cast<double>(b.voxels[v]));
  }
  return std::sqrt(squares / static_cast<double>(a.voxels.size())) / most;
}

constexpr float passes_nearer_mm = 4;  // lines of a source by it

// Counts of a source at a place in STIR's frame: in each bin whose line passes it, at the ToF position at which photons
// that come from it arrive. STIR counts arrival at detector 2 less that at detector 1, which is positive where the source
// is nearer to detector 1.
std::vector<float> counts_of_source(const ProjectionHeader& header, Vec3d at_mm, int counts) {
  const Bins bins(header);
  std::vector<float> numbers(static_cast<std::size_t>(header.numbers_in_file()));
  std::mt19937_64 engine(5);
  std::normal_distribution<double> blur(0, header.scanner.tof_fwhm_ps / fwhm_per_sigma);
  for (std::int64_t bin = 0; bin < bins.size(); ++bin) {
    const BinPlace place = bins.place(bin);
    const auto [one, two] = bins.detectors(place.view, 0, place.tangential);
    const auto rings = bins.rings(place.segment, place.position).front();
    const Vec3d a = stir_position(header.scanner, one, rings.ring1),
                b = stir_position(header.scanner, two, rings.ring2);
    const Vec3d along = b - a, nearest = a + (dot(at_mm - a, along) / dot(along, along)) * along;
    if (norm(nearest - at_mm) > static_cast<double>(passes_nearer_mm)) continue;
    for (int n = 0; n < counts; ++n) {
      const double later_ps = (norm(at_mm - b) - norm(at_mm - a)) / speed_of_light_mm_ps + blur(engine);
      const double k =
          header.has_tof() ? std::nearbyint(later_ps / (header.scanner.tof_bin_ps * header.tof_mashing)) : 0;
      const auto position = std::ranges::find(header.tof_order, static_cast<int>(k));
      if (position == header.tof_order.end()) continue;
      numbers[static_cast<std::size_t>((position - header.tof_order.begin()) * bins.size() + bin)] += 1;
    }
  }
  return numbers;
}

}  // namespace

TEST_CASE("Interfile PET: a source off centre lands at its place, by view, tangential position, ring and ToF") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path(), 3, 64);
  header.scanner.offset_deg = 7;
  give_tof(header, 21, 25, 60, 2);
  const Vec3d stir_mm{22, 34, 5};
  const std::vector<float> counts = counts_of_source(header, stir_mm, 4);
  write_projections(header, counts);
  const Vec3d place{22, 34, -5};  // z points to the head here, and to the feet in STIR
  const Vec3d found = centre_of_activity(image_of("sinogram_osem", header.file, {"subsets.iterations=3"}));
  CAPTURE(found.x);
  CAPTURE(found.y);
  CAPTURE(found.z);
  CHECK(norm(found - place) < static_cast<double>(passes_nearer_mm));
  // The file's order of ToF positions is what it says.
  std::ranges::reverse(header.tof_order);
  std::vector<float> reversed;
  for (int p = 20; p >= 0; --p) {
    const auto begin = counts.begin() + p * header.bins();
    reversed.insert(reversed.end(), begin, begin + header.bins());
  }
  write_projections(header, reversed);
  CHECK(norm(centre_of_activity(image_of("sinogram_osem", header.file, {"subsets.iterations=3"})) - place) <
        static_cast<double>(passes_nearer_mm));
}

TEST_CASE("Interfile PET: spread bins that join no lines give the image that they give without") {
  const PrivateTemporaryFolder folder;
  const ProjectionHeader header = small_projections(folder.path(), 3, 64);
  write_projections(header, counts_of_source(header, {22, 34, 5}, 3));
  CHECK(rms_of_range(image_of("sinogram_osem", header.file, {"feed.spread=true"}),
                     image_of("sinogram_osem", header.file, {})) == 0);
}

// Joined bins of the counts of single pairs.
TEST_CASE(
    "Interfile PET: joined bins, spread over their lines, are nearer to the image of single lines than mean lines") {
  const PrivateTemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "joined");
  const ProjectionHeader single = small_projections(folder.path(), 5, 64);
  ProjectionHeader joined = small_projections(folder.path() / "joined", 5, 64);
  joined.views = single.views / 4;
  const Bins pairs(single), bins(joined);
  REQUIRE(bins.mashing() == 4);
  const std::vector<float> counts = counts_of_source(single, {22, 34, 5}, 5);
  std::vector<float> sums(static_cast<std::size_t>(bins.size()));
  for (std::int64_t bin = 0; bin < pairs.size(); ++bin) {
    const BinPlace at = pairs.place(bin);
    const auto [one, two] = pairs.detectors(at.view, 0, at.tangential);
    const auto rings = pairs.rings(at.segment, at.position).front();
    const auto into = bins.bin_of(one, rings.ring1, two, rings.ring2);
    REQUIRE(into);
    sums[static_cast<std::size_t>(into->bin)] += counts[static_cast<std::size_t>(bin)];
  }
  write_projections(single, counts);
  write_projections(joined, sums);
  const std::vector<std::string> sets{"subsets.iterations=10"};
  const Image truth = image_of("sinogram_osem", single.file, sets);
  const double by_mean = rms_of_range(image_of("sinogram_osem", joined.file, sets), truth);
  const double spread =
      rms_of_range(image_of("sinogram_osem", joined.file, {"subsets.iterations=10", "feed.spread=true"}), truth);
  CAPTURE(by_mean);
  CHECK(spread < 0.6 * by_mean);
}

TEST_CASE("Interfile PET: a sinogram and the list of its counts give the same image, with ToF") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path(), 3, 32);
  give_tof(header, 5, 150, 300);
  std::mt19937_64 engine(11);
  std::vector<float> numbers(static_cast<std::size_t>(header.numbers_in_file()));
  for (float& number : numbers) number = static_cast<float>(engine() % 3);
  write_projections(header, numbers);
  // The list goes by another program's format.
  RegisteredGadgetTest<EventBatch> source("interfile_source", "{path: " + header.file.string() + "}");
  source.run();
  RegisteredGadgetTest<void> writer("castor_writer", "{file: list.cdh}", folder.path());
  for (const auto& bins : source.out.all()) {
    std::vector<std::uint32_t> one, two;
    std::vector<float> tof;
    for (std::int64_t i = 0; i < bins->count; ++i)
      for (int n = 0; n < static_cast<int>(bins->counts[i]); ++n) {
        one.push_back(bins->detector1[i]);
        two.push_back(bins->detector2[i]);
        tof.push_back(bins->tof_mm[i]);
      }
    EventBatch list = bins->without_arrays();
    list.count = static_cast<std::int64_t>(one.size());
    list.detector1 = Buffer<std::uint32_t>::from(one);
    list.detector2 = Buffer<std::uint32_t>::from(two);
    list.tof_mm = Buffer<float>::from(tof);
    writer.send(std::make_shared<const EventBatch>(std::move(list)), std::shared_ptr<const EventBatch>());
  }
  writer.finish();
  for (const char* iterations : {"subsets.iterations=1", "subsets.iterations=5"})
    CHECK(rms_of_range(image_of("sinogram_osem", header.file, {iterations}),
                       image_of("castor_osem", folder.path() / "list.cdh", {iterations})) < 1e-6);
}

TEST_CASE("Interfile PET: what interfile_writer writes of a sinogram's bins is that sinogram, bit for bit") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path(), 3, 16);
  give_tof(header, 4, 150, 300);
  header.scanner.energy_resolution = 0.12;
  std::mt19937_64 engine(2);
  std::vector<float> numbers(static_cast<std::size_t>(header.numbers_in_file()));
  for (float& number : numbers) number = static_cast<float>(engine() % 5);
  write_projections(header, numbers);
  RegisteredGadgetTest<EventBatch> source("interfile_source",
                                          "{path: " + header.file.string() + ", batch_events: 1000}");
  source.run();
  const TemporaryFolder out;
  RegisteredGadgetTest<void> writer("interfile_writer", "{file: again.hs, normalisation: norm.hs}", out.path());
  for (const auto& batch : source.out.all()) writer.send(batch->to(Memory::host));
  writer.finish();
  CHECK(writer.context.recorded().written == source.context.recorded().received);
  CHECK(text_of(out / "again.s") == text_of(header.data));
  const ProjectionHeader again = interfile::read_projection_header(out / "again.hs");
  CHECK(interfile::other_bins(header, again, true).empty());
  CHECK(again.duration_s == approx(2));
  CHECK_FALSE(std::filesystem::exists(out / "again.txt"));
  // All pairs count alike, so all factors are 1.
  const interfile::ProjectionFile factors(interfile::read_projection_header(out / "norm.hs"));
  std::vector<float> all(static_cast<std::size_t>(header.bins()));
  factors.read(0, 0, all);
  CHECK(std::ranges::all_of(all, [](float factor) { return factor == 1; }));
}

TEST_CASE("Interfile PET: a sinogram of a simulated scan has its counts, in bins that join lines too") {
  RegisteredGadgetTest<EventBatch> simulator("simulator",
                                             "{scanner: demo_ring, phantom: uniform_cylinder, events: 5000, "
                                             "batch_events: 2000, attenuation: false}");
  simulator.run();
  const TemporaryFolder out;
  RegisteredGadgetTest<void> writer("interfile_writer", "{span: 5, mashing: 4, tof: false, most_ring_difference: 12}",
                                    out.path());
  for (const auto& batch : simulator.out.all()) writer.send(batch->to(Memory::host));
  writer.finish();
  const auto books = writer.context.recorded();
  CHECK(books.written + books.rejected_total() == 5000);
  CHECK(books.written > 3000);
  const ProjectionHeader header = interfile::read_projection_header(out / "scan.hs");
  CHECK(header.scanner.rings == 24);
  CHECK(header.scanner.detectors == 256);
  CHECK(header.views == 32);
  CHECK(header.segments.front() == interfile::Segment{-12, -8, 31});
  CHECK_FALSE(header.scanner.crystals.empty());  // its modules are flat
  interfile::BinReader reader(header, {});
  std::uint64_t read = 0;
  while (const auto batch = reader.next()) read += batch->event_count();
  CHECK(read == books.written);
}

TEST_CASE("Interfile PET: the sensitivity is the sum over the data's bins, with their factors") {
  const PrivateTemporaryFolder folder;
  ProjectionHeader header = small_projections(folder.path(), 2, 32);
  write_projections(header, std::vector<float>(static_cast<std::size_t>(header.numbers_in_file()), 1.0f));
  const auto all = interfile::BinReader(header, {}).scanner();
  const auto projector =
      make_joseph_projector(Grid::centred(20, 20, 3, {5, 5, 5}), {.deterministic = true}, Backend::cpu);
  const Sensitivity by_bins = compute_sensitivity(*all, *projector);
  Scanner pairs = *all;
  pairs.lines = nullptr;
  const Sensitivity by_pairs = compute_sensitivity(pairs, *projector);
  CHECK(by_bins.exact);
  CHECK(by_bins.pairs == by_pairs.pairs);
  CHECK(rms_of_range(by_bins.image, by_pairs.image) < 1e-6);
  CHECK(sensitivity_key(*all, projector->grid(), "joseph") != sensitivity_key(pairs, projector->grid(), "joseph"));
  ProjectionHeader norm = header;
  norm.file = folder.path() / "norm.hs";
  norm.data = folder.path() / "norm.s";
  write_projections(norm, std::vector<float>(static_cast<std::size_t>(norm.numbers_in_file()), 4.0f));
  const auto halved = interfile::BinReader(header, {.most_segment = 0, .factors = {norm.file, norm.file}}).scanner();
  const Sensitivity less = compute_sensitivity(*halved, *projector);
  CHECK(less.drawn == 2 * 16 * 31);
  const std::int64_t middle = projector->grid().index(10, 10, 1);
  CHECK(less.image.voxels[middle] < by_bins.image.voxels[middle] / 16);
  CHECK(sensitivity_key(*all, projector->grid(), "joseph") != sensitivity_key(*halved, projector->grid(), "joseph"));
}

TEST_CASE("Interfile PET: the writer refuses what its files cannot hold, and leaves none") {
  const TemporaryFolder out;
  const auto made = [&](const char* params) { RegisteredGadgetTest<void>("interfile_writer", params, out.path()); };
  CHECK_THROWS_WITH(made("{file: scan.v}"), doctest::Contains("ends in .hs"));
  RegisteredGadgetTest<EventBatch> simulator("simulator",
                                             "{scanner: demo_ring, phantom: uniform_cylinder, events: 100, "
                                             "attenuation: false}");
  simulator.run();
  const auto refused = [&](const char* params, const char* what) {
    RegisteredGadgetTest<void> writer("interfile_writer", params, out.path());
    CHECK_THROWS_WITH(writer.send(simulator.out.all().front()->to(Memory::host)), doctest::Contains(what));
  };
  refused("{span: 4, tof: false}", "an odd number of ring differences");
  refused("{mashing: 5, tof: false}", "128 views of the scanner cannot be joined");
  refused("{tangential: 256, tof: false}", "has at most 255");
  {
    RegisteredGadgetTest<void> writer("interfile_writer", "{}", out.path());
    CHECK_THROWS_WITH(writer.finish(), doctest::Contains("no events came"));
  }
  CHECK(std::filesystem::is_empty(out.path()));
}
// SPDX-License-Identifier: Apache-2.0
