// `tofstream-bench prior`: the gradient of each prior, and the updates that take it, on an image of any size: what a
// penalty adds to an update, beside the time that memory alone would take.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/analysis/compare.hpp"
#include "kernels/em/bsrem_update.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/em/map_em_update.hpp"
#include "kernels/prior/prior.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/verdict.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct PriorOptions {
  std::vector<int> size = {200, 200, 300};
  std::vector<std::string> backends = {"cpu", "cuda"};
  int repeats = 11;
  std::string output;
  bool json = false;
};

constexpr double beta = 1e-3;

struct NamedPrior {
  const char* name;
  std::shared_ptr<const Prior> prior;
};

/// `anatomy`: on the grid of the images, in their memory.
std::vector<NamedPrior> priors(const std::shared_ptr<const Image>& anatomy) {
  const PriorSettings settings{.beta = beta};
  return {{"quadratic", neighbour_prior(QuadraticPotential{}, settings)},
          {"huber", neighbour_prior(HuberPotential{0.1}, settings)},
          {"log_cosh", neighbour_prior(LogCoshPotential{10}, settings)},
          {"relative_difference", neighbour_prior(RelativeDifferencePotential{2, 1e-3}, settings)},
          {"total_variation", total_variation_prior(0.01, settings)},
          {"parallel_level_sets", parallel_level_sets_prior(0.01, 0.1, anatomy, settings)}};
}

/// What an update of this image is given, in the backend's memory.
struct UpdateCase {
  Image estimate, inverse, back;
  UpdateCase(const Grid& grid, Memory memory)
      : estimate(test_image(grid).to(memory)),
        inverse(Image::filled(grid, 0.5f, memory)),
        back(Image::filled(grid, 2.1f, memory)) {
    synchronize(nullptr);
  }
};

struct Work {
  const char* name;
  double images;   // that are read and written, each once
  double bound_s;  // of 12 million voxels; 0: none. cuda, cpu:
  double bound_cpu_s;
  std::function<void()> run;
};

std::vector<Work> updates(UpdateCase& c, const Prior& prior, Image& gradient, Image& curvature) {
  const auto anew = [&] { gradient = prior.gradient(c.estimate); };
  return {{"em_update", 4, 0, 0, [&c] { em_update(c.estimate, c.inverse, c.back, 1); }},
          {"one step late, with its gradient", 8, 0.3e-3, 0.25,
           [&c, &gradient, anew] {
             anew();
             penalised_em_update(c.estimate, c.inverse, c.back, 1, {gradient, c.inverse});
           }},
          {"bsrem_update, with its gradient", 8, 0.3e-3, 0.25,
           [&c, &gradient, anew] {
             anew();
             bsrem_update(c.estimate, {c.inverse, c.inverse, c.back, 1, &gradient}, {});
           }},
          {"map_em_update, with gradient and curvature", 11, 0, 0, [&c, &gradient, &curvature, &prior, anew] {
             anew();
             curvature = prior.majorant_curvature(c.estimate);
             map_em_update(c.estimate, c.inverse, c.back, 1, {gradient, curvature, c.inverse, prior.least_ratio()});
           }}};
}

bool is_the_bounds_case(const Grid& grid) {
  return grid.voxels() == 12'000'000;
}

ordered_json measured(const Work& work, Backend backend, const Grid& grid, int repeats) {
  const double ms = median_ms(backend, repeats, work.run);
  const double gigabytes = 1e-9 * sizeof(float) * work.images * static_cast<double>(grid.voxels());
  ordered_json row{{"name", work.name},
                   {"backend", backend == Backend::cuda ? "cuda" : "cpu"},
                   {"ms", ms},
                   {"gb_per_s", 1e3 * gigabytes / ms},
                   {"bound_ms", nullptr},
                   {"holds", nullptr}};
  const double bound_s = backend == Backend::cuda ? work.bound_s : work.bound_cpu_s;
  if (bound_s > 0 && is_the_bounds_case(grid)) {
    row["bound_ms"] = 1e3 * bound_s;
    row["holds"] = ms <= 1e3 * bound_s;
  }
  return row;
}

void print_work(const ordered_json& row) {
  const auto text = [&](const char* key, const char* format) {
    return row.contains(key) && !row[key].is_null() ? fmt::format(fmt::runtime(format), row[key].get<double>()) : "";
  };
  fmt::print("{:<44} {:<5} {:>9.3f} {:>9} {:>8.0f} {:>9}\n", row["name"].get<std::string>(),
             row["backend"].get<std::string>(), row["ms"].get<double>(), text("bound_ms", "<= {:g}"),
             row["gb_per_s"].get<double>(), text("nrms_to_cpu", "{:.1e}"));
  std::fflush(stdout);
}

void measure(const PriorOptions& options, const Grid& grid, Backend backend, ordered_json& rows) {
  const auto keep = [&](ordered_json row) {
    if (!options.json) print_work(row);
    rows.push_back(std::move(row));
  };
  const bool has_other = backend == Backend::cuda && options.backends.size() > 1;
  UpdateCase c(grid, memory_of(backend));
  Image gradient, curvature;
  const auto anatomy = std::make_shared<const Image>(test_image(grid).to(memory_of(backend))),
             anatomy_here = std::make_shared<const Image>(test_image(grid));
  synchronize(nullptr);
  const std::vector<NamedPrior> all = priors(anatomy), all_here = priors(anatomy_here);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const NamedPrior& named = all[p];
    const Work work{named.name, 2, 0, 0, [&] { gradient = named.prior->gradient(c.estimate); }};
    ordered_json row = measured(work, backend, grid, options.repeats);
    if (has_other) {
      constexpr double nrms_of_backends = 1e-6;
      const Image here = gradient.to(Memory::host);
      synchronize(nullptr);
      const double nrms = compare(here, all_here[p].prior->gradient(test_image(grid))).nrms;
      row["nrms_to_cpu"] = nrms;
      row["accurate"] = nrms <= nrms_of_backends;
    }
    keep(std::move(row));
  }
  const auto relative_difference = all[3].prior;
  for (const Work& work : updates(c, *relative_difference, gradient, curvature))
    keep(measured(work, backend, grid, options.repeats));
}

void bench_prior(const PriorOptions& options) {
  const Grid grid = Grid::centred(options.size[0], options.size[1], options.size[2], {2, 2, 2});
  if (!options.json)
    fmt::print("{} voxels\n{:<44} {:<5} {:>9} {:>9} {:>8} {:>9}\n", grid.voxels(), "", "on", "ms", "must be", "GB/s",
               "cpu/cuda");
  ordered_json rows = ordered_json::array();
  for (const std::string& backend : options.backends)
    if (backend == "cpu" || why_no_cuda().empty())
      measure(options, grid, backend == "cuda" ? Backend::cuda : Backend::cpu, rows);
  write_report({{"bench", "prior"},
                {"machine", machine()},
                {"workload",
                 "gradients of priors of 26 neighbours, of total variation and of parallel level sets, "
                 "and updates with that of the "
                 "relative differences; GB/s of images read and written once"},
                {"size", options.size},
                {"repeats", options.repeats},
                {"results", rows}},
               options.json, options.output);
  end_by_verdict(rows, {"name", "backend"});
}

std::function<void()> declare_prior(Command& line) {
  auto options = std::make_shared<PriorOptions>();
  line.add_option("--size", options->size, "Voxels along x, y and z (default: 200 200 300)")
      .expected(3)
      .within(1, 4096);
  line.add_option("--backend", options->backends, "cpu, cuda (default: both)").one_of({"cpu", "cuda"});
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 11)")
      .within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench prior -o prior.json\nExit code 1 where a bound does not hold, or the backends differ.");
  return [options] { bench_prior(*options); };
}

TOFSTREAM_BENCH("prior", "Gradients of priors, and the updates that take them", declare_prior);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
