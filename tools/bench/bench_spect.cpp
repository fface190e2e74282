// `tofstream-bench spect`: the rotation projector of SPECT: forward and back projection of all views, and sixty
// updates of OSEM, each against its bound, and a smaller scan of the same kind against the double-precision reference;
// beside the first case another program's projector, if the user has it.
// With --paper, table I of Pedemonte et al. 2010 (references.md) by their scheme and by ours, beside their numbers.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/view_groups.hpp"
#include "kernels/device/cufft_library.hpp"
#include "kernels/device/stopwatch.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/spect/spect.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/spect_peer.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

constexpr int spect_views = 180, spect_subsets = 8, spect_updates = 60;
constexpr float spect_field_mm = 512, spect_radius_mm = 300;
constexpr const char* peer_case = "w5";  // beside which a peer is measured
constexpr double spect_peer_bound = 250, spect_peer_nrms = 0.01;

struct SpectOptions {
  std::string backend = "cuda", peer, output;
  int repeats = 21, views = spect_views;
  std::vector<std::string> only;
  bool json = false, paper = false;
};

/// What is measured, and bounds in ms on an NVIDIA H200 and on two cores; 0: none.
struct SpectCase {
  std::string name;
  int size = 0;  // of the image's edges and of a view's, in voxels and pixels
  PsfForm form = PsfForm::separable;
  bool attenuation = false, updates = false;
  double cuda_ms = 0, cpu_ms = 0;
  Beam beam = Beam::parallel;
  AdjointKind adjoint = AdjointKind::exact;
  int views = spect_views;
};
std::vector<SpectCase> spect_cases() {
  return {{.name = "w5", .size = 128, .cuda_ms = 3.5, .cpu_ms = 2000},
          {.name = "w5_attenuation", .size = 128, .attenuation = true, .cuda_ms = 6},
          {.name = "w5_no_psf", .size = 128, .form = PsfForm::none, .cuda_ms = 1.5},
          {.name = "w5_fft", .size = 128, .form = PsfForm::fft, .cuda_ms = 16},
          {.name = "w5_table", .size = 128, .form = PsfForm::table, .cuda_ms = 8},
          {.name = "w5_cone", .size = 128, .beam = Beam::cone},
          {.name = "updates_32", .size = 32, .updates = true, .cuda_ms = 5},
          {.name = "updates_64", .size = 64, .updates = true, .cuda_ms = 8},
          {.name = "updates_128", .size = 128, .updates = true, .cuda_ms = 40, .cpu_ms = 16000},
          {.name = "updates_256", .size = 256, .updates = true, .cuda_ms = 300}};
}

/// Table I of Pedemonte et al. 2010: 60 updates of OSEM with 180 cameras and 8 subsets, whole seconds on a GeForce GTX
/// 285.
struct SpectPaperRow {
  int size;
  double seconds;
};
constexpr SpectPaperRow spect_paper_rows[] = {{32, 6}, {64, 8}, {128, 12}, {256, 45}};

ViewSet camera_of(int size, int views) {
  ViewSet set;
  set.size[0] = set.size[1] = size;
  const float pixel_mm = spect_field_mm / static_cast<float>(size);
  set.pixel_mm = {pixel_mm, pixel_mm, pixel_mm};
  for (int v = 0; v < views; ++v)
    set.places.push_back({.angle_deg = 360.0f * static_cast<float>(v) / static_cast<float>(views),
                          .radius_mm = spect_radius_mm,
                          .duration_s = 1});
  return set;
}

Grid image_of(int size) {
  const float voxel_mm = spect_field_mm / static_cast<float>(size);
  return Grid::centred(size, size, size, {voxel_mm, voxel_mm, voxel_mm});
}

/// A cylinder of water of 200 mm at 140.5 keV, or of activity 1.
Image cylinder_of(const Grid& grid, float value) {
  Image image = Image::zeros(grid);
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3 at = grid.centre(i, j, k);
        if (at.x * at.x + at.y * at.y < 100 * 100 && std::abs(at.z) < 150) image.voxels[grid.index(i, j, k)] = value;
      }
  return image;
}

/// A Gaussian of 11 x 11 pixels as a table.
KernelTable gaussian_table(float sigma_pixels) {
  constexpr int edge = 11;
  KernelTable table{edge, edge, {0}, {}};
  for (int j = -edge / 2; j <= edge / 2; ++j)
    for (int i = -edge / 2; i <= edge / 2; ++i)
      table.values.push_back(std::exp(-static_cast<float>(i * i + j * j) / (2 * sigma_pixels * sigma_pixels)));
  const float sum = std::accumulate(table.values.begin(), table.values.end(), 0.0f);
  for (float& value : table.values) value /= sum;
  return table;
}

/// A Gaussian of 11 x 11 pixels.
SpectSettings settings_of(const SpectCase& which, int size) {
  constexpr float sigma_pixels = 0.94f, water_per_mm = 0.0154f, focal_mm = 900;
  SpectSettings settings{.beam = which.beam, .form = which.form, .adjoint = which.adjoint};
  if (which.form == PsfForm::table)
    settings.psf = gaussian_table(sigma_pixels);
  else if (which.form != PsfForm::none)
    settings.psf = GaussianPsfModel{0, 0, sigma_pixels * spect_field_mm / static_cast<float>(size)};
  if (which.beam != Beam::parallel) settings.focal_mm = focal_mm;
  if (which.attenuation) settings.mu_per_mm = std::make_shared<const Image>(cylinder_of(image_of(size), water_per_mm));
  return settings;
}

/// The views of a group of the scan, with counts of the cylinder.
ViewBatch views_of(const std::shared_ptr<const ViewSet>& set, const std::vector<int>& numbers,
                   ViewProjector& projector) {
  ViewBatch batch{.set = set};
  for (const int number : numbers) batch.records.push_back({.view = number});
  batch.count = set->pixels() * static_cast<std::int64_t>(numbers.size());
  batch.weigh(1);
  const Memory memory = memory_of(projector.backend());
  const ViewBatch there = batch.to(memory);
  const Image truth = cylinder_of(projector.grid(), 1).to(memory);
  Buffer<float> counts(memory, batch.count);
  projector.forward(there.view(), truth.voxels.data(), counts.data());
  batch.counts = counts.to(Memory::host);
  synchronize(nullptr);
  for (std::size_t v = 0; v < numbers.size(); ++v) {
    const auto of_view = batch.counts.span().subspan(v * static_cast<std::size_t>(set->pixels()),
                                                     static_cast<std::size_t>(set->pixels()));
    batch.records[v].counts =
        static_cast<std::uint64_t>(std::llround(std::accumulate(of_view.begin(), of_view.end(), 0.0)));
  }
  ViewBatch made = batch.to(memory);
  synchronize(nullptr);
  return made;
}

std::vector<int> all_numbers(int views) {
  std::vector<int> numbers(static_cast<std::size_t>(views));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

double projections_ms(const SpectCase& which, Backend backend, int repeats) {
  const auto set = std::make_shared<const ViewSet>(camera_of(which.size, which.views));
  const auto projector = make_rotation_projector(image_of(which.size), *set, settings_of(which, which.size), backend);
  const ViewBatch batch = views_of(set, all_numbers(which.views), *projector);
  const Memory memory = memory_of(backend);
  const Image image = cylinder_of(projector->grid(), 1).to(memory);
  Image sum = Image::zeros(projector->grid(), memory);
  Buffer<float> expectation(memory, batch.count);
  return median_ms(backend, repeats, [&] {
    projector->forward(batch.view(), image.voxels.data(), expectation.data());
    projector->back(batch.view(), expectation.data(), sum.voxels.data());
  });
}

double updates_ms(const SpectCase& which, Backend backend, int repeats) {
  const auto set = std::make_shared<const ViewSet>(camera_of(which.size, which.views));
  const auto projector = make_rotation_projector(image_of(which.size), *set, settings_of(which, which.size), backend);
  const std::vector<int> groups = view_groups(*set, spect_subsets);
  const Memory memory = memory_of(backend);
  std::vector<ViewBatch> subsets;
  std::vector<Image> inverse;
  for (const int group : farthest_apart(spect_subsets)) {
    std::vector<int> numbers;
    for (int v = 0; v < which.views; ++v)
      if (groups[static_cast<std::size_t>(v)] == group) numbers.push_back(v);
    subsets.push_back(views_of(set, numbers, *projector));
    Image sensitivity = Image::zeros(projector->grid(), memory);
    projector->add_sensitivity(subsets.back().view(), sensitivity.voxels.data());
    inverse.push_back(inverse_sensitivity(sensitivity));
  }
  Image estimate = Image::filled(projector->grid(), 1, memory), sum = Image::zeros(projector->grid(), memory);
  return median_ms(backend, repeats, [&] {
    for (int update = 0; update < spect_updates; ++update) {
      const auto k = static_cast<std::size_t>(update % spect_subsets);
      sum.voxels.clear();
      projector->em_step(subsets[k].view(), estimate.voxels.data(), sum.voxels.data());
      em_update(estimate, inverse[k], sum, 1);
    }
  });
}

double rms_of_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    sum += std::pow(static_cast<double>(found[i]) - static_cast<double>(expected[i]), 2);
  const auto [low, high] = std::ranges::minmax(expected);
  return std::sqrt(sum / static_cast<double>(found.size())) / static_cast<double>(high - low);
}

/// Forward and EM step of a scan of four views of 48 x 48 pixels with the same settings, beside the reference's.
double nrms_of(const SpectCase& which, Backend backend) {
  constexpr int size = 48, views = 4;
  const auto set = std::make_shared<const ViewSet>(camera_of(size, views));
  const SpectSettings settings = settings_of(which, size);
  const auto reference = make_rotation_reference(image_of(size), *set, settings);
  const auto projector = make_rotation_projector(image_of(size), *set, settings, backend);
  const auto results = [&](ViewProjector& of) {
    const Memory memory = memory_of(of.backend());
    const ViewBatch batch = views_of(set, all_numbers(views), *reference).to(memory);
    const Image image = Image::filled(of.grid(), 1, memory);
    Buffer<float> expectation(memory, batch.count);
    of.forward(batch.view(), image.voxels.data(), expectation.data());
    Image sum = Image::zeros(of.grid(), memory);
    of.em_step(batch.view(), image.voxels.data(), sum.voxels.data());
    return std::pair(expectation.to_vector(), sum.voxels.to_vector());
  };
  const auto found = results(*projector), expected = results(*reference);
  return std::max(rms_of_difference(found.first, expected.first), rms_of_difference(found.second, expected.second));
}

ordered_json measured(const SpectCase& which, Backend backend, int repeats) {
  const double ms = which.updates ? updates_ms(which, backend, repeats) : projections_ms(which, backend, repeats);
  const double nrms = nrms_of(which, backend), bound = backend == Backend::cuda ? which.cuda_ms : which.cpu_ms;
  ordered_json row{{"name", which.name},
                   {"what", which.updates ? fmt::format("{} updates of {} subsets", spect_updates, spect_subsets)
                                          : "forward and back of all views"},
                   {"size", which.size},
                   {"views", which.views},
                   {"ms", ms},
                   {"bound_ms", nullptr},
                   {"nrms_to_reference", nrms},
                   {"accurate", is_accurate(nrms)},
                   {"holds", nullptr}};
  if (bound > 0 && which.views == spect_views) {
    row["bound_ms"] = bound;
    row["holds"] = ms <= bound && is_accurate(nrms);
  }
  return row;
}

void print_spect(const ordered_json& row) {
  fmt::print("{:<16} {:>10.3f} {:>10} {:>9.1e}  {}\n", row["name"].get<std::string>(), row["ms"].get<double>(),
             row["bound_ms"].is_null() ? "" : fmt::format("<= {:g}", row["bound_ms"].get<double>()),
             row["nrms_to_reference"].get<double>(),
             !row["accurate"].get<bool>() ? "WRONG"
             : row["holds"].is_null()     ? "-"
             : row["holds"].get<bool>()   ? "ok"
                                          : "NOT");
  std::fflush(stdout);  // lines appear as they are measured
}

/// A peer's forward and back projection beside ours, which took `ours_ms`. How fast it is on a CPU is not judged.
ordered_json measured_peer(SpectPeer& peer, const SpectCase& which, double ours_ms, Backend backend, int repeats) {
  const auto set = std::make_shared<const ViewSet>(camera_of(which.size, which.views));
  const SpectSettings settings = settings_of(which, which.size);
  const auto projector = make_rotation_projector(image_of(which.size), *set, settings, backend);
  const ViewBatch batch = views_of(set, all_numbers(which.views), *projector);
  const SpectPeerResult result =
      measure_beside(peer, *projector, batch.view(), settings, smooth_image(projector->grid()), repeats);
  const double times = (result.forward_ms + result.back_ms) / ours_ms;
  const bool resembles = std::max(result.forward_nrms, result.back_nrms) <= spect_peer_nrms;
  ordered_json row{{"name", which.name + "_peer"},
                   {"peer", peer.name()},
                   {"what", "forward and back of all views"},
                   {"ms", ours_ms},
                   {"peer_forward_ms", result.forward_ms},
                   {"peer_back_ms", result.back_ms},
                   {"times_faster", times},
                   {"bound_times_faster", spect_peer_bound},
                   {"forward_nrms_to_ours", result.forward_nrms},
                   {"back_nrms_to_ours", result.back_nrms},
                   {"nrms_must_be_at_most", spect_peer_nrms},
                   {"holds", nullptr}};
  if (backend == Backend::cuda || !resembles) row["holds"] = resembles && times >= spect_peer_bound;
  return row;
}

/// The paper's scheme transforms planes and has its own back projection; ours is the projector as it comes.
SpectCase paper_case(const SpectPaperRow& row, bool paper_scheme) {
  SpectCase which{.name = fmt::format("{}_{}", paper_scheme ? "paper_scheme" : "ours", row.size),
                  .size = row.size,
                  .updates = true};
  if (paper_scheme) {
    which.form = PsfForm::fft;
    which.adjoint = AdjointKind::paper;
  }
  return which;
}

ordered_json measured_table_1(const SpectOptions& options, Backend backend, ordered_json& rows) {
  ordered_json table = ordered_json::array();
  if (!options.json)
    fmt::print("\nTable I: {} updates, {} views, {} subsets\n{:<6} {:>18} {:>18} {:>10} {:>8}\n", spect_updates,
               spect_views, spect_subsets, "size", "paper (GTX 285), s", "its scheme, ms", "ours, ms", "nrms");
  for (const SpectPaperRow& row : spect_paper_rows) {
    const ordered_json scheme = measured(paper_case(row, true), backend, options.repeats);
    const ordered_json ours = measured(paper_case(row, false), backend, options.repeats);
    rows.push_back(scheme);
    rows.push_back(ours);
    table.push_back(
        {{"size", row.size}, {"paper_s", row.seconds}, {"paper_scheme_ms", scheme["ms"]}, {"ours_ms", ours["ms"]}});
    if (!options.json) {
      fmt::print("{:<6} {:>18g} {:>18.1f} {:>10.1f} {:>8.1e}\n", row.size, row.seconds, scheme["ms"].get<double>(),
                 ours["ms"].get<double>(),
                 std::max(scheme["nrms_to_reference"].get<double>(), ours["nrms_to_reference"].get<double>()));
      std::fflush(stdout);
    }
  }
  return table;
}

/// Without cuFFT there is no `fft` on a GPU: such a case is left out, and this is said.
bool can_measure(const SpectCase& which, Backend backend) {
  if (backend == Backend::cpu || which.form != PsfForm::fft) return true;
  const std::string reason = why_no_cufft();
  if (!reason.empty()) fmt::print(stderr, "{} is left out: {}\n", which.name, reason);
  return reason.empty();
}

void bench_spect(const SpectOptions& options) {
  const Backend backend = options.backend == "cuda" ? Backend::cuda : Backend::cpu;
  const auto measures = [&](const std::string& name) {
    return options.only.empty() || std::ranges::find(options.only, name) != options.only.end();
  };
  if (!options.peer.empty() && (options.paper || !measures(peer_case)))
    throw InputError(
        fmt::format("--peer: it is measured beside {}: leave --paper away and {} in --only", peer_case, peer_case));
  std::optional<SpectPeer> peer;
  if (!options.peer.empty()) peer.emplace(options.peer, backend);
  if (backend == Backend::cuda) require_cuda();
  ordered_json rows = ordered_json::array(), table, beside;
  if (options.paper) {
    table = measured_table_1(options, backend, rows);
  } else {
    if (!options.json) fmt::print("{:<16} {:>10} {:>10} {:>9}\n", "case", "ms", "must be", "nrms");
    for (SpectCase which : spect_cases()) {
      if (!measures(which.name) || !can_measure(which, backend)) continue;
      which.views = options.views;
      rows.push_back(measured(which, backend, options.repeats));
      if (!options.json) print_spect(rows.back());
      if (peer && which.name == peer_case)
        beside = measured_peer(*peer, which, rows.back()["ms"].get<double>(), backend, options.repeats);
    }
  }
  ordered_json report{
      {"bench", "spect"},
      {"machine", machine()},
      {"backend", options.backend},
      {"repeats", options.repeats},
      {"nrms_must_be_at_most", nrms_bound},
      {"workload", fmt::format("a cylinder of water of 200 mm in a field of {:g} mm, {} views on a circle of {:g} mm, "
                               "Gaussian of 11 x 11 pixels; accuracy of 4 views of 48 x 48 pixels",
                               spect_field_mm, options.paper ? spect_views : options.views, spect_radius_mm)}};
  if (options.paper) {
    report["paper"] =
        "Pedemonte et al., IEEE NSS 2010, table I: GeForce GTX 285; its scheme: FFT, its own back projection";
    report["table_1"] = table;
  }
  report["results"] = rows;
  if (peer) {
    report["peer"] = beside;
    if (!options.json)
      for (const auto& [key, value] : beside.items()) fmt::print("{}: {}\n", key, value.dump());
    rows.push_back(beside);
  }
  write_report(report, options.json, options.output);
  end_by_verdict(rows, {"name"});
}

std::function<void()> declare_spect(Command& line) {
  auto options = std::make_shared<SpectOptions>();
  std::vector<std::string> names;
  for (const SpectCase& which : spect_cases()) names.push_back(which.name);
  line.add_option("--only", options->only, "Only these cases (default: all)").one_of(names);
  line.add_flag("--paper", options->paper,
                "Table I of Pedemonte et al. 2010, by their scheme and by ours, beside their times");
  line.add_option("--backend", options->backend, "cuda or cpu (default: cuda)").one_of({"cpu", "cuda"});
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 21)")
      .within(1, 1000);
  line.add_option("--views", options->views, "Views on the circle; bounds are of 180 (default: 180)")
      .within(spect_subsets, 10000);
  line.add_option("--peer", options->peer, "A library as share/benchmarks/peers/spect_peer.h describes, beside w5");
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench spect --only w5 updates_128 -o spect.json\n"
      "Exit code 1 where a bound does not hold, or a result is not the reference's.");
  return [options] { bench_spect(*options); };
}

TOFSTREAM_BENCH("spect", "The rotation projector of SPECT, and sixty updates with it", declare_spect);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
