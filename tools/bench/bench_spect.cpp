// `tofstream-bench spect`: the rotation projector of SPECT: forward and back projection of all views, and sixty updates of
// OSEM, each against its bound, and a smaller scan of the same kind against the double-precision reference.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/subset/view_groups.hpp"
#include "kernels/cuda/stopwatch.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/spect/spect.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/verdict.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

constexpr int spect_views = 180, spect_subsets = 8, spect_updates = 60;
constexpr float spect_field_mm = 512, spect_radius_mm = 300;

struct SpectOptions {
  std::string backend = "cuda", output;
  int repeats = 21;
  std::vector<std::string> only;
  bool json = false;
};

/// What is measured, and bounds in ms on an NVIDIA H200 and on two cores; 0: none.
struct SpectCase {
  const char* name;
  int size;  // of the image's edges and of a view's, in voxels and pixels
  bool psf, attenuation, updates;
  double cuda_ms, cpu_ms;
};
constexpr SpectCase spect_cases[] = {
    {"w5", 128, true, false, false, 3.5, 2000},      {"w5_attenuation", 128, true, true, false, 6, 0},
    {"w5_no_psf", 128, false, false, false, 1.5, 0}, {"updates_32", 32, true, false, true, 5, 0},
    {"updates_64", 64, true, false, true, 8, 0},     {"updates_128", 128, true, false, true, 40, 16000},
    {"updates_256", 256, true, false, true, 300, 0},
};

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

/// A Gaussian of 11 x 11 pixels.
SpectSettings settings_of(const SpectCase& which, int size) {
  SpectSettings settings;
  if (which.psf) {
    constexpr float sigma_pixels = 0.94f;
    settings.psf = GaussianPsfModel{0, 0, sigma_pixels * spect_field_mm / static_cast<float>(size)};
    settings.form = PsfForm::separable;
  }
  constexpr float water_per_mm = 0.0154f;
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
  const auto set = std::make_shared<const ViewSet>(camera_of(which.size, spect_views));
  const auto projector = make_rotation_projector(image_of(which.size), *set, settings_of(which, which.size), backend);
  const ViewBatch batch = views_of(set, all_numbers(spect_views), *projector);
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
  const auto set = std::make_shared<const ViewSet>(camera_of(which.size, spect_views));
  const auto projector = make_rotation_projector(image_of(which.size), *set, settings_of(which, which.size), backend);
  const std::vector<int> groups = view_groups(*set, spect_subsets);
  const Memory memory = memory_of(backend);
  std::vector<ViewBatch> subsets;
  std::vector<Image> inverse;
  for (const int group : farthest_apart(spect_subsets)) {
    std::vector<int> numbers;
    for (int v = 0; v < spect_views; ++v)
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
                   {"views", spect_views},
                   {"ms", ms},
                   {"bound_ms", nullptr},
                   {"nrms_to_reference", nrms},
                   {"accurate", is_accurate(nrms)},
                   {"holds", nullptr}};
  if (bound > 0) {
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

void bench_spect(const SpectOptions& options) {
  const Backend backend = options.backend == "cuda" ? Backend::cuda : Backend::cpu;
  if (backend == Backend::cuda) require_cuda();
  if (!options.json) fmt::print("{:<16} {:>10} {:>10} {:>9}\n", "case", "ms", "must be", "nrms");
  ordered_json rows = ordered_json::array();
  for (const SpectCase& which : spect_cases) {
    if (!options.only.empty() && std::ranges::find(options.only, which.name) == options.only.end()) continue;
    rows.push_back(measured(which, backend, options.repeats));
    if (!options.json) print_spect(rows.back());
  }
  const ordered_json report{
      {"bench", "spect"},
      {"machine", machine()},
      {"backend", options.backend},
      {"repeats", options.repeats},
      {"nrms_must_be_at_most", nrms_bound},
      {"workload", fmt::format("a cylinder of water of 200 mm in a field of {:g} mm, {} views on a circle of {:g} mm, "
                               "Gaussian of 11 x 11 pixels; accuracy of 4 views of 48 x 48 pixels",
                               spect_field_mm, spect_views, spect_radius_mm)},
      {"results", rows}};
  write_report(report, options.json, options.output);
  end_by_verdict(rows, {"name"});
}

std::function<void()> declare_spect(Command& line) {
  auto options = std::make_shared<SpectOptions>();
  std::vector<std::string> names;
  for (const SpectCase& which : spect_cases) names.emplace_back(which.name);
  line.add_option("--only", options->only, "Only these cases (default: all)").one_of(names);
  line.add_option("--backend", options->backend, "cuda or cpu (default: cuda)").one_of({"cpu", "cuda"});
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 21)")
      .within(1, 1000);
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
