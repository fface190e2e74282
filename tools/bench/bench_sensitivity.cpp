// `tofstream-bench sensitivity`: seconds for the sensitivity image of whole scanners, without and with attenuation, on
// either backend; a sample of the pairs is checked against the double-precision projector in the same run.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "kernels/analysis/compare.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

// The same for all backends, since their images are compared; parts are large enough for a GPU.
SensitivitySettings benchmark_settings() {
  SensitivitySettings settings = default_sensitivity(Backend::cuda);
  settings.sampled_pairs = 20'000'000;
  return settings;
}

struct SensitivityOptions {
  std::vector<std::string> scanners = {"explore_vista", "long_axial"};
  std::vector<std::string> projectors = {"joseph", "tor"};
  std::vector<std::string> backends = {"cpu", "cuda"};
  std::vector<int> size;
  double voxel_mm = 0;
  SensitivitySettings settings = benchmark_settings();
  std::int64_t check_pairs = 2000;
  int repeats = 3;
  std::string output;
  bool json = false;
};

struct SensitivityCase {
  std::string name;
  RingScanner ring;
  std::shared_ptr<const Scanner> scanner;
  Grid grid;
  Image mu;
};

// For the two default scanners, the images of Cui et al. 2011 and of workload W3; for others, 200 voxels across the
// field of view.
Grid grid_of(const std::string& name, const RingScanner& ring, const SensitivityOptions& options) {
  if (name == "explore_vista" && options.size.empty()) return Grid::centred(103, 103, 36, {0.65f, 0.65f, 0.65f});
  if (name == "long_axial" && options.size.empty()) return Grid::centred(200, 200, 300, {2, 2, 2});
  const double fov = 2 * (ring.fov_radius_mm > 0 ? ring.fov_radius_mm : 0.75 * ring.inner_radius_mm);
  const auto voxel = static_cast<float>(options.voxel_mm > 0 ? options.voxel_mm : fov / 200);
  if (!options.size.empty())
    return Grid::centred(options.size[0], options.size[1], options.size[2], {voxel, voxel, voxel});
  return Grid::centred(200, 200, static_cast<int>(ring.axial_length_mm() / static_cast<double>(voxel)) + 1,
                       {voxel, voxel, voxel});
}

// A cylinder of water as long as the scanner in the middle half of the field of view, on its own grid.
Image water(const RingScanner& ring) {
  const auto fov = static_cast<float>(2 * (ring.fov_radius_mm > 0 ? ring.fov_radius_mm : 0.75 * ring.inner_radius_mm));
  const auto length = static_cast<float>(ring.axial_length_mm());
  Image mu = Image::zeros(Grid::centred(128, 128, 128, {fov / 128, fov / 128, length / 128}));
  for (int k = 0; k < 128; ++k)
    for (int j = 0; j < 128; ++j)
      for (int i = 0; i < 128; ++i) {
        const Vec3 p = mu.grid.centre(i, j, k);
        if (p.x * p.x + p.y * p.y < fov * fov / 16) mu.voxels[mu.grid.index(i, j, k)] = 0.0096f;
      }
  return mu;
}

SensitivityCase make_case(const std::string& name, const SensitivityOptions& options) {
  const RingScanner ring = formats::read_ring_scanner(find_shared("scanners", name));
  return {name, ring, make_scanner(ring), grid_of(name, ring, options), water(ring)};
}

std::unique_ptr<ListModeProjector> make(const std::string& projector, const Grid& grid, Backend backend) {
  if (projector == "tor") return make_tor_projector(grid, tor_settings(grid, 3, CudaPath::automatic), backend);
  return make_joseph_projector(grid, {}, backend);
}

// Normalised RMS deviation from the double-precision projector for the same small sample of pairs.
double deviation(const SensitivityCase& c, const std::string& name, ListModeProjector& projector, const Image* mu,
                 const SensitivityOptions& options) {
  SensitivitySettings settings = options.settings;
  settings.exact_pairs = 0;
  settings.sampled_pairs = checkable_events(name == "tor", c.grid, options.check_pairs, 400'000'000);
  const auto reference = name == "tor" ? make_tor_reference(c.grid, tor_settings(c.grid, 3, CudaPath::automatic))
                                       : make_joseph_reference(c.grid, {});
  const Image expected = compute_sensitivity(*c.scanner, *reference, settings, mu).image;
  return compare(compute_sensitivity(*c.scanner, projector, settings, mu).image, expected).nrms;
}

// `earlier`: the image of another backend for comparison; it is replaced by this one.
ordered_json measure(const SensitivityCase& c, const std::string& name, Backend backend, bool attenuated,
                     const SensitivityOptions& options, std::optional<Image>& earlier) {
  const Image* mu = attenuated ? &c.mu : nullptr;
  const auto projector = make(name, c.grid, backend);
  const double nrms = deviation(c, name, *projector, mu, options);  // warms up, too
  Sensitivity made;
  std::vector<double> seconds;
  for (int i = 0; i < options.repeats; ++i) {
    const auto began = std::chrono::steady_clock::now();
    made = compute_sensitivity(*c.scanner, *projector, options.settings, mu);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  const double time = median(seconds);
  ordered_json result{{"scanner", c.name},
                      {"image", c.grid.size},
                      {"voxel_mm", c.grid.voxel_mm.x},
                      {"projector", name},
                      {"backend", backend == Backend::cuda ? "cuda" : "cpu"},
                      {"attenuated", attenuated},
                      {"exact", made.exact},
                      {"pairs", made.pairs},
                      {"drawn", made.drawn},
                      {"projected", made.projected},
                      {"seconds", time},
                      {"pairs_per_second", static_cast<double>(made.drawn) / time},
                      {"relative_error", made.relative_error},
                      {"symmetries", made.symmetries},
                      {"nrms_to_reference", nrms}};
  if (earlier) result["nrms_to_other_backend"] = compare(made.image, *earlier).nrms;
  earlier = std::move(made.image);
  return result;
}

void print_sensitivity(const ordered_json& r) {
  const std::string other = r.contains("nrms_to_other_backend")
                                ? fmt::format("{:.1e}", r["nrms_to_other_backend"].get<double>())
                                : std::string();
  fmt::print("{:<14} {:<7} {:<5} {:<11} {:<7} {:>12} {:>11} {:>9.3f} {:>10.1f} {:>9.2g} {:>9.1e} {:>9}\n",
             r["scanner"].get<std::string>(), r["projector"].get<std::string>(), r["backend"].get<std::string>(),
             r["attenuated"].get<bool>() ? "attenuated" : "", r["exact"].get<bool>() ? "exact" : "sampled",
             r["pairs"].get<std::int64_t>(), r["projected"].get<std::int64_t>(), r["seconds"].get<double>(),
             1e-6 * r["pairs_per_second"].get<double>(), r["relative_error"].get<double>(),
             r["nrms_to_reference"].get<double>(), other);
}

void bench_sensitivity(const SensitivityOptions& options) {
  ordered_json results = ordered_json::array();
  if (!options.json)
    fmt::print("{:<14} {:<7} {:<5} {:<11} {:<7} {:>12} {:>11} {:>9} {:>10} {:>9} {:>9} {:>9}\n", "scanner", "by", "on",
               "", "", "pairs", "projected", "seconds", "1e6/s", "error", "nrms", "cpu/cuda");
  for (const std::string& name : options.scanners) {
    const SensitivityCase c = from_input([&] { return make_case(name, options); });
    for (const std::string& projector : options.projectors)
      for (const bool attenuated : {false, true}) {
        std::optional<Image> earlier;
        for (const std::string& backend : options.backends) {
          if (backend == "cuda" && !why_no_cuda().empty()) continue;
          const ordered_json result =
              measure(c, projector, backend == "cuda" ? Backend::cuda : Backend::cpu, attenuated, options, earlier);
          if (!options.json) print_sensitivity(result);
          std::fflush(stdout);  // results appear as they are measured
          results.push_back(result);
        }
      }
  }
  write_report({{"bench", "sensitivity"}, {"machine", machine()}, {"results", results}}, options.json, options.output);
}

std::function<void()> declare_sensitivity(Command& line) {
  auto options = std::make_shared<SensitivityOptions>();
  line.add_option("--scanner", options->scanners,
                  "Scanners of share/scanners, or YAML files (default: explore_vista long_axial)");
  line.add_option("--projector", options->projectors, "joseph, tor of 3 voxels (default: both)")
      .one_of({"joseph", "tor"});
  line.add_option("--backend", options->backends, "cpu, cuda (default: both)").one_of({"cpu", "cuda"});
  line.add_option("--size", options->size, "Voxels of the image along x, y, z").expected(3).within(1, 4096);
  line.add_option("--voxel-mm", options->voxel_mm, "Edge of a voxel, with --size").within(0.01, 100.0);
  line.add_option("--exact-pairs", options->settings.exact_pairs, "Enumerate all pairs up to so many")
      .within(std::int64_t{0}, std::int64_t{1} << 40)
      .shows_default();
  line.add_option("--error", options->settings.error, "Otherwise draw until the relative error is so small")
      .within(1e-6, 1.0)
      .shows_default();
  line.add_option("--sampled-pairs", options->settings.sampled_pairs, "Draw at most so many")
      .within(std::int64_t{1}, std::int64_t{1} << 31)
      .shows_default();
  line.add_option("--check-pairs", options->check_pairs, "Pairs of the check against the reference")
      .within(16, 1000000);
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts").within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench sensitivity --scanner explore_vista --projector joseph -o results.json");
  return [options] { bench_sensitivity(*options); };
}

TOFSTREAM_BENCH("sensitivity", "Seconds for the sensitivity image of whole scanners", declare_sensitivity);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
