// CASToR's files through gadgets and whole runs: what is written is read, a source off centre lands at its place, a
// histogram and its list give one image, and what cannot be is refused by name.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "core/base/private_folder.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/castor/data_file.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/math/units.hpp"
#include "tests/command/command.hpp"
#include "tests/io/castor_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::castor::testing;
using castor::DataHeader;
using castor::DataMode;
using castor::Record;

namespace {

using Batches = std::vector<std::shared_ptr<const EventBatch>>;

Batches read_scan(const DataHeader& header, const std::string& more = "") {
  RegisteredGadgetTest<EventBatch> source("castor_source", "{path: " + header.file.string() + more + "}");
  source.run();
  std::uint64_t events = 0;
  for (const auto& batch : source.out.all()) events += batch->event_count();
  CHECK(source.context.recorded().received == events + source.context.recorded().rejected_total());
  return source.out.all();
}

constexpr float passes_within_mm = 3;  // lines of a source by it

// Where each of the small scanner's pairs of crystals meets the plane of a source, and when: events of a source that
// sends pairs along the lines through it.
std::vector<Record> events_of_point(Vec3 at_mm, std::size_t count, double tof_fwhm_ps) {
  const PrivateTemporaryFolder folder;
  write_file(folder.path() / "small.geom", small_geom());
  const auto crystals = castor::read_geometry(folder.path() / "small.geom").crystals;
  std::mt19937_64 engine(3);
  std::normal_distribution<double> blur(0, tof_fwhm_ps / fwhm_per_sigma);
  std::vector<Record> events;
  for (std::uint32_t i = 0; events.size() < count; ++i) {
    const std::uint32_t a = i % 32, b = i / 32 % 32;
    if (a == b) continue;
    const Vec3 one = crystals[a].centre_mm, two = crystals[b].centre_mm, along = two - one;
    const Vec3 nearest = one + (dot(at_mm - one, along) / dot(along, along)) * along;
    if (norm(nearest - at_mm) > passes_within_mm) continue;
    // A photon needs 1/c to travel a mm: nearer to crystal 2, it comes there first, so that t1 - t2 is positive.
    const double apart_mm = static_cast<double>(norm(at_mm - one) - norm(at_mm - two));
    events.push_back({.time_ms = static_cast<std::uint32_t>(2000 * events.size() / count),
                      .tof_ps = static_cast<float>(apart_mm / speed_of_light_mm_ps + blur(engine)),
                      .lines = {{a, b}}});
  }
  return events;
}

struct RunImage {
  RunReport report;
  Image image;  // where it ended well
};

RunImage run_on(const std::string& pipeline, const DataHeader& header, std::vector<std::string> sets) {
  const TemporaryFolder out;
  sets.emplace_back("projected.sensitivity.cache=false");
  sets.emplace_back("subsets.subsets=1");
  sets.emplace_back("projected.deterministic=true");
  Engine engine(load_pipeline(pipeline, {.sets = std::move(sets), .input = header.file.string(), .backend = "cpu"}),
                {.output_dir = out.path()});
  RunImage run{engine.run(), {}};
  if (run.report.exit_code == exit_ok) run.image = read_nifti(out / "image.nii.gz");
  return run;
}

Image image_after(RunImage run) {
  for (const auto& error : run.report.errors) FAIL(error.text());
  CHECK(run.report.exit_code == exit_ok);
  CHECK(run.report.books.balanced());
  return std::move(run.image);
}

Image reconstruct(const DataHeader& header, std::vector<std::string> sets) {
  return image_after(run_on(find_shared("pipelines", "castor_osem"), header, std::move(sets)));
}

Vec3d centroid_of(const Image& image) {
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

double nrms(const Image& a, const Image& b) {
  REQUIRE(a.voxels.size() == b.voxels.size());
  double squares = 0, most = 0;
  for (std::int64_t v = 0; v < a.voxels.size(); ++v) {
    squares += std::pow(static_cast<double>(a.voxels[v]) - static_cast<double>(b.voxels[v]), 2);
    most = std::max(most, static_cast<double>(b.voxels[v]));
  }
  return std::sqrt(squares / static_cast<double>(a.voxels.size())) / most;
}

DataHeader tof_header(const std::filesystem::path& folder) {
  DataHeader header = small_header(folder);
  header.has_tof = true;
  header.tof_fwhm_ps = 100;
  header.tof_range_ps = 2000;
  return header;
}

DataHeader lines_header(const std::filesystem::path& folder) {
  DataHeader header = small_header(folder);
  header.file = folder / "norm.cdh";
  header.data = folder / "norm.cdf";
  header.mode = DataMode::normalisation;
  header.has_normalisation = true;
  return header;
}

constexpr std::uint32_t small_crystals = 32;

// castor_writer's inputs: events, and perhaps the same ones with fewer terms.
void send_to(RegisteredGadgetTest<void>& writer, const EventBatch& events, const EventBatch* normalised = nullptr) {
  const auto shared = [](const EventBatch* batch) {
    return batch ? std::make_shared<const EventBatch>(batch->to(Memory::host)) : nullptr;
  };
  writer.send(shared(&events), shared(normalised));
}

// What castor_source reads and castor_writer writes again, into a folder.
DataHeader rewritten(const DataHeader& header, const std::filesystem::path& folder, const std::string& how) {
  std::filesystem::create_directory(folder);
  RegisteredGadgetTest<void> writer("castor_writer", "{file: scan.cdh, " + how + "}", folder);
  for (const auto& batch : read_scan(header)) send_to(writer, *batch);
  writer.finish();
  return castor::read_data_header(folder / "scan.cdh");
}

float efficiency_of(std::uint32_t crystal) {
  return 0.5f + 0.05f * static_cast<float>(crystal * 7 % 11);
}

float factor_of(std::uint32_t a, std::uint32_t b) {
  return 1 / (efficiency_of(a) * efficiency_of(b));
}

// Each pair of the small scanner's crystals that `counts`, with its crystals' efficiencies.
std::vector<Record> all_lines(const std::function<bool(std::uint32_t, std::uint32_t)>& counts) {
  std::vector<Record> lines;
  for (std::uint32_t a = 0; a < small_crystals; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      if (counts(a, b)) lines.push_back({.normalisation = factor_of(a, b), .lines = {{a, b}}});
  return lines;
}

std::vector<Record> with_factors(std::vector<Record> events) {
  for (Record& event : events) event.normalisation = factor_of(event.lines[0].first, event.lines[0].second);
  return events;
}

const std::vector<std::string> small_image = {"image.size=[40, 40, 3]", "image.voxel_mm=[4, 4, 4]"};

}  // namespace

TEST_CASE("CASToR: a source off centre lands at its place, which needs the signs of ToF and of y") {
  const PrivateTemporaryFolder folder;
  const DataHeader header = tof_header(folder.path());
  const Vec3 castor_mm{22, 34, 0};  // y is up in CASToR's frame, and down in ours
  write_scan(header, events_of_point(castor_mm, 4000, header.tof_fwhm_ps));
  std::vector<std::string> sets = small_image;
  sets.emplace_back("subsets.iterations=3");
  const Vec3d found = centroid_of(reconstruct(header, sets));
  CHECK(norm(found - Vec3d{22, -34, 0}) < passes_within_mm);
  sets.emplace_back("feed.frame=gantry");
  CHECK(norm(centroid_of(reconstruct(header, sets)) - Vec3d{22, 34, 0}) < passes_within_mm);
}

TEST_CASE("CASToR: a histogram and the list of its counts give the same image, with all terms and ToF") {
  const PrivateTemporaryFolder folder;
  DataHeader list = small_header(folder.path() / "list"), bins = small_header(folder.path() / "bins");
  for (const auto* header : {&list, &bins}) std::filesystem::create_directory(header->file.parent_path());
  std::mt19937_64 engine(9);
  for (DataHeader* header : {&list, &bins}) {
    header->has_tof = header->has_attenuation = header->has_normalisation = header->has_randoms = header->has_scatter =
        true;
    header->tof_fwhm_ps = 200;
    header->duration_s = 1;
  }
  bins.mode = DataMode::histogram;
  bins.tof_bins = 5;
  bins.tof_bin_ps = list.tof_quantum_ps = 250;
  list.tof_range_ps = 5 * bins.tof_bin_ps;
  const double bin_mm = bins.tof_bin_ps * speed_of_light_mm_ps / 2;
  std::vector<Record> events, lines;
  for (std::uint32_t a = 0; a < 32; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      Record line{.attenuation = 1 + 0.01f * static_cast<float>(a),
                  .randoms = 0.2f,
                  .normalisation = 1 - 0.01f * static_cast<float>(b),
                  .lines = {{a, b}}};
      for (int t = 0; t < 5; ++t) {
        const auto counts = static_cast<float>(engine() % 4);
        line.bins.push_back({counts, 0.01f * static_cast<float>(t + 1)});
        for (int n = 0; n < static_cast<int>(counts); ++n) {
          Record event = line;
          event.bins = {};
          event.scatter = static_cast<float>(static_cast<double>(line.bins.back().scatter) / bin_mm);
          event.tof_ps = static_cast<float>((t - 2) * bins.tof_bin_ps);
          events.push_back(event);
        }
      }
      lines.push_back(line);
    }
  write_scan(list, events);
  write_scan(bins, lines);
  for (const auto* iterations : {"subsets.iterations=1", "subsets.iterations=5"}) {
    std::vector<std::string> sets = small_image;
    sets.emplace_back(iterations);
    CHECK(nrms(reconstruct(bins, sets), reconstruct(list, sets)) < 1e-6);
  }
  list.tof_quantum_ps = bins.tof_bin_ps;  // as the histogram's bins are, so that the list can become one
  write_scan(list, events);
  const DataHeader made = rewritten(list, folder.path() / "made", "histogram: true");
  CHECK(made.mode == DataMode::histogram);
  CHECK(made.tof_bins == bins.tof_bins);
  CHECK(nrms(reconstruct(made, small_image), reconstruct(list, small_image)) < 1e-6);
}

TEST_CASE("CASToR: events whose ToF lies at multiples of the bin's width keep it in a histogram") {
  const PrivateTemporaryFolder folder;
  DataHeader list = tof_header(folder.path());
  list.tof_quantum_ps = 40;  // of which the range of 2000 ps has an even number
  std::vector<Record> events = events_of_point({22, 34, 0}, 3000, list.tof_fwhm_ps);
  for (Record& event : events) event.tof_ps = 40 * std::round(event.tof_ps / 40);
  write_scan(list, events);
  const DataHeader made = rewritten(list, folder.path() / "made", "histogram: true");
  CHECK(made.tof_bins == 51);
  CHECK(nrms(reconstruct(made, small_image), reconstruct(list, small_image)) < 1e-6);
}

TEST_CASE("CASToR: events of one line with unlike factors are refused as a histogram") {
  const PrivateTemporaryFolder folder;
  DataHeader list = small_header(folder.path());
  list.has_normalisation = true;
  write_scan(list, {{.time_ms = 0, .normalisation = 1, .lines = {{20, 3}}},
                    {.time_ms = 900, .normalisation = 1.1f, .lines = {{3, 20}}}});
  CHECK_THROWS_WITH(rewritten(list, folder.path() / "made", "histogram: true"),
                    doctest::Contains("unlike factors or rates"));
}

TEST_CASE("CASToR: a histogram that is read and written again has the same bytes, its empty lines too") {
  const PrivateTemporaryFolder folder;
  DataHeader bins = tof_header(folder.path());
  bins.mode = DataMode::histogram;
  bins.tof_bins = 6;
  bins.tof_bin_ps = 50;
  std::vector<Record> lines = all_lines([](auto, auto) { return true; });
  for (std::size_t k = 0; k < lines.size(); ++k)
    for (std::size_t b = 0; b < 6; ++b) lines[k].bins.push_back({static_cast<float>(k % 5 == 0 ? 0 : (3 * k + b) % 4)});
  write_scan(bins, lines);
  const DataHeader again = rewritten(bins, folder.path() / "again", "");
  CHECK(again.events == lines.size());
  CHECK(text_of(again.data) == text_of(bins.data));
}

TEST_CASE("CASToR: with the events' terms of normalisation and randoms alone, each term is a field of its own") {
  RegisteredGadgetTest<EventBatch> simulator("simulator",
                                             "{scanner: demo_ring, phantom: uniform_cylinder, events: 500, "
                                             "attenuation: false}");
  simulator.run();
  const EventBatch events = simulator.out.all().front()->to(Memory::host);
  const auto with_terms = [&](double multiplicative, double counts_a_second) {
    EventBatch batch = events.to(Memory::host);
    batch.multiplicative = batch.additive = Buffer<float>(Memory::host, batch.count);
    for (std::int64_t i = 0; i < batch.count; ++i) {
      batch.multiplicative[i] = static_cast<float>(multiplicative);
      batch.additive[i] = static_cast<float>(2 * counts_a_second / multiplicative);  // of 2 s
    }
    return batch;
  };
  for (const bool is_histogram : {false, true}) {
    const TemporaryFolder out;
    RegisteredGadgetTest<void> writer(
        "castor_writer", fmt::format("{{file: scan.cdh, reference_s: 2, histogram: {}}}", is_histogram), out.path());
    // Efficiency 0.5, attenuated to a fifth; randoms of 0.3 counts per s in a bin, and 0.4 of scatter.
    const EventBatch normalised = with_terms(0.5, 0.3);
    send_to(writer, with_terms(0.1, 0.7), &normalised);
    writer.finish();
    const DataHeader header = castor::read_data_header(out / "scan.cdh");
    CHECK((header.has_attenuation && header.has_normalisation && header.has_randoms && header.has_scatter));
    castor::DataFile file(header);
    std::vector<std::byte> bytes;
    file.read(0, header.events, bytes);
    for (std::uint64_t n = 0; n < header.events; ++n) {
      const castor::RecordView record = file.event(bytes, n);
      CHECK(record.attenuation() == approx(5));
      CHECK(record.normalisation() == approx(2));
      CHECK(record.randoms() == approx(0.3 * 41));  // of the line's 41 bins
      const double width_mm = static_cast<double>(events.tof.bin_width_mm);
      for (std::size_t b = 0; is_histogram && b < header.tof_bins; ++b)
        if (record.counts(b) > 0) CHECK(record.scatter(b) == approx(0.4));
      if (!is_histogram) CHECK(record.scatter() == approx(0.4 / width_mm));
    }
    const Batches read = read_scan(header, ", reference_s: 2");
    for (const auto& batch : read)
      for (std::int64_t i = 0; i < batch->count; ++i) {
        CHECK(batch->multiplicative[i] == approx(0.1f));
        CHECK(batch->additive[i] == approx(14.0f));
      }
  }
  const TemporaryFolder out;
  RegisteredGadgetTest<void> writer("castor_writer", "{}", out.path());
  EventBatch others = with_terms(0.5, 0.3);
  std::swap(others.detector1[0], others.detector1[1]);
  CHECK_THROWS_WITH(send_to(writer, with_terms(0.1, 0.7), &others), doctest::Contains("are not the same ones"));
}

TEST_CASE("CASToR: a normalisation's factors make the image that the same efficiencies of crystals make") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  const DataHeader norm = lines_header(folder.path());
  const std::vector<Record> events = events_of_point({22, 34, 0}, 3000, 100);
  write_scan(header, events);
  write_scan(norm, all_lines([](auto, auto) { return true; }));
  write_file(folder.path() / "own.yaml",
             "pipeline: own\nimage: auto\nbackend: cpu\ngadgets:\n"
             "  feed: {use: castor_source, path: scan.cdh}\n"
             "  corrected: {use: event_corrections, from: feed, normalisation: {from: file, file: " +
                 (folder.path() / "efficiencies.yaml").string() +
                 "}}\n"
                 "  sorted: {use: tof_partition, from: corrected}\n"
                 "  subsets: {use: subset_builder, from: sorted, subsets: 1, iterations: 4}\n"
                 "  projected: {use: joseph_projector, from: {events: subsets, image: estimate}}\n"
                 "  estimate: {use: osem_update, from: projected}\n"
                 "  file: {use: nifti_writer, from: estimate}\n");
  std::string efficiencies = "crystal_efficiency: [";
  for (std::uint32_t c = 0; c < small_crystals; ++c) efficiencies += fmt::format("{}, ", efficiency_of(c));
  write_file(folder.path() / "efficiencies.yaml", efficiencies + "]\n");
  std::vector<std::string> sets = small_image;
  sets.emplace_back("subsets.iterations=4");
  const Image own = image_after(run_on((folder.path() / "own.yaml").string(), header, sets));
  const Image alike = reconstruct(header, sets);
  sets.emplace_back("feed.normalisation=" + norm.file.string());
  CHECK(nrms(reconstruct(header, sets), own) < 1e-5);
  CHECK(nrms(alike, own) > 1e-2);
  header.has_normalisation = true;  // without randoms and scatter these cancel
  write_scan(header, with_factors(events));
  CHECK(nrms(reconstruct(header, sets), own) < 1e-5);
}

TEST_CASE(
    "CASToR: lines that a normalisation leaves out, or whose factor is 0, have no sensitivity; the others' add up") {
  const PrivateTemporaryFolder folder;
  const DataHeader header = small_header(folder.path());
  DataHeader norm = lines_header(folder.path());
  norm.has_attenuation = true;
  write_scan(header, events_of_point({22, 34, 0}, 1000, 100));
  const auto crystals = castor::read_geometry(folder.path() / "small.geom").crystals;
  const auto is_front = [&](std::uint32_t a, std::uint32_t b) {
    return crystals[a].centre_mm.z < 0 && crystals[b].centre_mm.z < 0;
  };
  std::vector<Record> front = all_lines(is_front);
  std::vector<Record> with_dead = all_lines([](auto, auto) { return true; });
  for (Record& line : with_dead)
    if (!is_front(line.lines[0].first, line.lines[0].second)) line.normalisation = 0;
  std::vector<std::string> sets = small_image;
  sets.emplace_back("feed.normalisation=" + norm.file.string());
  sets.emplace_back("subsets.iterations=1");
  write_scan(norm, front);
  const Image image = reconstruct(header, sets);
  const auto slice_sum = [&](int k) {
    const auto pixels = static_cast<std::size_t>(image.grid.stride(2));
    const auto slice = image.voxels.span().subspan(static_cast<std::size_t>(k) * pixels, pixels);
    return std::accumulate(slice.begin(), slice.end(), 0.0);
  };
  CHECK(slice_sum(0) > 0);
  CHECK(slice_sum(2) == 0);
  write_scan(norm, with_dead);
  CHECK(nrms(reconstruct(header, sets), image) < 1e-6);
  for (Record& line : front) line.attenuation = 2;
  write_scan(norm, front);
  Image doubled = reconstruct(header, sets);
  for (float& voxel : doubled.voxels.span()) voxel /= 2;
  CHECK(nrms(doubled, image) < 1e-6);
}

TEST_CASE("CASToR: a histogram that lists all its lines is its own normalisation, and the image is corrected by it") {
  const PrivateTemporaryFolder folder;
  DataHeader bins = small_header(folder.path() / "bins"), list = small_header(folder.path() / "list");
  for (const auto* header : {&list, &bins}) std::filesystem::create_directory(header->file.parent_path());
  bins.mode = DataMode::histogram;
  bins.has_normalisation = true;
  std::vector<Record> lines = all_lines([](auto, auto) { return true; }), events;
  for (Record& line : lines) {
    line.bins = {{static_cast<float>((line.lines[0].first * 5 + line.lines[0].second) % 3)}};
    for (int n = 0; n < static_cast<int>(line.bins[0].counts); ++n) events.push_back({.lines = line.lines});
  }
  const DataHeader norm = lines_header(folder.path() / "list");
  write_scan(bins, lines);
  write_scan(list, events);
  write_scan(norm, all_lines([](auto, auto) { return true; }));
  std::vector<std::string> own = small_image, by_list = small_image;
  own.emplace_back("feed.normalisation=" + bins.file.string());
  by_list.emplace_back("feed.normalisation=" + norm.file.string());
  CHECK(nrms(reconstruct(bins, own), reconstruct(list, by_list)) < 1e-6);
  RegisteredGadgetTest<EventBatch> source("castor_source",
                                          fmt::format("{{path: {0}, normalisation: {0}}}", bins.file.string()));
  source.run();
  const CorrectionRecord& record = (*source.out.all().front()->quantity)[Correction::normalisation];
  CHECK(record.state == CorrectionState::made);
  CHECK(record.how == "factors of scan.cdh");
}

TEST_CASE("CASToR: a normalisation that cannot belong to the data is refused in one line") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path()), norm = lines_header(folder.path());
  const std::vector<Record> lines = all_lines([](auto, auto) { return true; });
  write_scan(norm, lines);
  write_scan(header, events_of_point({0, 0, 0}, 20, 100));
  const auto why = [&](const DataHeader& data, const DataHeader& normalisation) -> std::string {
    try {
      RegisteredGadgetTest<EventBatch> source(
          "castor_source",
          fmt::format("{{path: {}, normalisation: {}}}", data.file.string(), normalisation.file.string()));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "taken";
  };
  const auto has = [](const std::string& text, const char* what) {
    CAPTURE(text);
    CHECK(text.find(what) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  };
  CHECK(why(header, norm) == "taken");
  has(why(norm, norm), "this is a normalisation, which has no counts");
  has(why(header, header), "events of list mode, and no normalisation");
  std::filesystem::resize_file(norm.data, 17);
  has(why(header, norm), "norm.cdf: 17 bytes, and");
  norm.scanner = "another";
  write_scan(norm, lines);
  has(why(header, norm), "lines of the scanner 'another', and");
  norm.scanner = header.scanner;
  write_scan(norm, lines);
  header.has_randoms = true;
  write_scan(header, events_of_point({0, 0, 0}, 20, 100));
  has(why(header, norm), "rates of randoms or scatter without these");

  header.has_randoms = false;
  write_scan(header, events_of_point({0, 0, 0}, 20, 100));
  std::vector<std::string> sets = small_image;
  sets.emplace_back("feed.normalisation=" + norm.file.string());
  std::vector<Record> wrong = lines;
  wrong[3].lines = {{5, 77}};
  write_scan(norm, wrong);
  RunImage refused = run_on(find_shared("pipelines", "castor_osem"), header, sets);
  REQUIRE(refused.report.errors.size() == 1);
  has(refused.report.errors.front().text(),
      "norm.cdf: event 3 (byte 36): crystals 5 and 77, and the scanner small has 32");
  norm.has_attenuation = true;
  write_scan(norm, lines);
  write_nifti(folder.path() / "mu.nii", Image::filled(Grid::centred(4, 4, 4, {20, 20, 20}), 0.1f));
  sets.emplace_back("mu_map=" + (folder.path() / "mu.nii").string());
  refused = run_on(find_shared("pipelines", "castor_osem"), header, sets);
  REQUIRE(refused.report.errors.size() == 1);
  has(refused.report.errors.front().text(), "would count twice: leave the map out");
}

TEST_CASE("CASToR: what castor_writer writes, castor_source reads: crystals, ToF, times and terms") {
  RegisteredGadgetTest<EventBatch> simulator("simulator",
                                             "{scanner: demo_ring, phantom: uniform_cylinder, events: 3000, "
                                             "batch_events: 1000, attenuation: false}");
  simulator.run();
  const TemporaryFolder out;
  RegisteredGadgetTest<void> writer("castor_writer", "{file: scan.cdh, reference_s: 2}", out.path());
  std::vector<EventBatch> written;
  for (const auto& batch : simulator.out.all()) {
    EventBatch with_terms = batch->to(Memory::host);
    with_terms.multiplicative = Buffer<float>(Memory::host, batch->count);
    with_terms.additive = Buffer<float>(Memory::host, batch->count);
    for (std::int64_t i = 0; i < batch->count; ++i) {
      with_terms.multiplicative[i] = 0.5f + 0.001f * static_cast<float>(i);
      with_terms.additive[i] = 0.3f * static_cast<float>(i % 3);
    }
    send_to(writer, with_terms);
    written.push_back(std::move(with_terms));
  }
  writer.finish();
  CHECK(writer.context.recorded().written == 3000);
  DataHeader header;
  header.file = out / "scan.cdh";
  const Batches read = read_scan(header, ", batch_events: 1000, reference_s: 2");
  REQUIRE(read.size() == 3);
  const Scanner &before = *written[0].scanner, &after = *read[0]->scanner;
  REQUIRE(before.detectors->size() == after.detectors->size());
  for (std::int64_t d = 0; d < before.detectors->size(); ++d)
    CHECK(before.detectors->position(static_cast<std::uint32_t>(d)) ==
          after.detectors->position(static_cast<std::uint32_t>(d)));
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(read[k]->detector1.to_vector() == written[k].detector1.to_vector());
    CHECK(read[k]->detector2.to_vector() == written[k].detector2.to_vector());
    CHECK(read[k]->tof.sigma_mm == approx(written[k].tof.sigma_mm));
    CHECK(read[k]->tof.bin_width_mm == approx(written[k].tof.bin_width_mm));
    CHECK(read[k]->start_s == approx(written[k].start_s).epsilon(0.01));
    for (std::int64_t i = 0; i < 1000; i += 7) {
      CHECK(read[k]->tof_mm[i] == approx(written[k].tof_mm[i]).epsilon(1e-6));
      CHECK(read[k]->multiplicative[i] == approx(written[k].multiplicative[i]).epsilon(1e-6));
      CHECK(read[k]->additive[i] == approx(written[k].additive[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("CASToR: list mode that became PETSIRD makes the image that CASToR's file makes") {
  const PrivateTemporaryFolder folder;
  DataHeader header = tof_header(folder.path());
  header.tof_quantum_ps = 40;
  std::vector<Record> events = events_of_point({22, 34, 0}, 3000, header.tof_fwhm_ps);
  for (Record& event : events) event.tof_ps = 40 * std::round(event.tof_ps / 40);
  write_scan(header, events);
  write_file(folder.path() / "convert.yaml",
             "pipeline: convert\ngadgets:\n  feed: {use: castor_source, path: scan.cdh}\n"
             "  file: {use: petsird_writer, from: feed, file: scan.petsird}\n");
  Engine engine(load_pipeline((folder.path() / "convert.yaml").string(), {.input = header.file.string()}),
                {.output_dir = folder.path()});
  const RunReport converted = engine.run();
  REQUIRE_MESSAGE(converted.exit_code == exit_ok, converted.errors.front().text());
  CHECK(converted.books.written == 3000);
  std::vector<std::string> sets = small_image;
  sets.emplace_back("subsets.iterations=3");
  const Image castor = reconstruct(header, sets);
  header.file = folder.path() / "scan.petsird";
  const Image petsird = image_after(run_on(find_shared("pipelines", "joseph_osem"), header, sets));
  CHECK(norm(centroid_of(petsird) - Vec3d{22, -34, 0}) < passes_within_mm);
  CHECK(nrms(petsird, castor) < 1e-4);
}

TEST_CASE("CASToR: PETSIRD without a named scanner refuses what it cannot describe, and leaves no file") {
  const TemporaryFolder out;
  const auto refused = [&](EventBatch batch, const char* what) {
    RegisteredGadgetTest<void> writer("petsird_writer", "{}", out.path());
    CHECK_THROWS_WITH(writer.send(std::move(batch)), doctest::Contains(what));
  };
  EventBatch batch{.count = 1};
  refused(batch.to(Memory::host), "events without detectors");
  batch.detectors = std::make_shared<const DetectorTable>(std::vector<Vec3>(2));
  refused(batch.to(Memory::host), "name `scanner`");
  {
    RegisteredGadgetTest<void> writer("petsird_writer", "{}", out.path());
    CHECK_THROWS_WITH(writer.finish(), doctest::Contains("no events came"));
  }
  CHECK(std::filesystem::is_empty(out.path()));
}

TEST_CASE("CASToR: the writer refuses what its files cannot hold, and leaves none") {
  const TemporaryFolder out;
  const auto refused = [&](const EventBatch& batch, const char* what) {
    RegisteredGadgetTest<void> writer("castor_writer", "{}", out.path());
    CHECK_THROWS_WITH(send_to(writer, batch), doctest::Contains(what));
  };
  EventBatch batch{.count = 1};
  refused(batch, "events without detectors");
  {
    RegisteredGadgetTest<void> writer("castor_writer", "{}", out.path());
    CHECK_THROWS_WITH(writer.finish(), doctest::Contains("no events came"));
  }
  CHECK(std::filesystem::is_empty(out.path()));
}

TEST_CASE("CASToR: a file without its scanner, and one that is cut short, are told before the run") {
  const PrivateTemporaryFolder folder;
  const DataHeader header = tof_header(folder.path());
  write_scan(header, events_of_point({0, 0, 0}, 20, 100));
  const auto made = [&] { RegisteredGadgetTest<EventBatch>("castor_source", "{path: " + header.file.string() + "}"); };
  CHECK_NOTHROW(made());
  std::filesystem::resize_file(header.data, 310);
  CHECK_THROWS_WITH(made(), doctest::Contains("it is cut short"));
  std::filesystem::remove(folder.path() / "small.geom");
  CHECK_THROWS_WITH(made(), doctest::Contains("name the scanner's file or its folder by `geometry`"));
}
// SPDX-License-Identifier: Apache-2.0
