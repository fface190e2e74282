// Benchmarks of work on whole images: see image_work.hpp.
#include "tools/bench/image_work.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "kernels/analysis/compare.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/verdict.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct ImageOptions {
  std::vector<int> size = {200, 200, 300};
  std::vector<std::string> backends = {"cpu", "cuda"};
  int repeats = 11;
  std::string output;
  bool json = false;
};

constexpr std::int64_t voxels_of_bounds = 12'000'000;
constexpr double nrms_of_backends = 1e-6;

void print_row(const ordered_json& row) {
  const auto text = [&](const char* key, const char* format) {
    return row.contains(key) && !row[key].is_null() ? fmt::format(fmt::runtime(format), row[key].get<double>()) : "";
  };
  fmt::print("{:<44} {:<5} {:>9.3f} {:>9} {:>9} {:>9}\n", row["name"].get<std::string>(),
             row["backend"].get<std::string>(), row["ms"].get<double>(), text("floor_ms", "{:.3f}"),
             text("bound_ms", "<= {:g}"), text("nrms_to_cpu", "{:.1e}"));
  std::fflush(stdout);
}

void run_image_bench(const ImageOptions& options, const std::string& name, const std::string& workload,
                     const std::function<void(ImageRows&)>& measure) {
  const Grid grid = Grid::centred(options.size[0], options.size[1], options.size[2], {2, 2, 2});
  if (!options.json)
    fmt::print("{} voxels\n{:<44} {:<5} {:>9} {:>9} {:>9} {:>9}\n", grid.voxels(), "", "on", "ms", "floor", "must be",
               "to cpu");
  ordered_json rows = ordered_json::array();
  for (const std::string& backend : options.backends) {
    if (backend == "cuda" && !why_no_cuda().empty()) continue;
    ImageRows of_backend(grid, backend == "cuda" ? Backend::cuda : Backend::cpu, options.repeats, !options.json, rows);
    measure(of_backend);
  }
  write_report({{"bench", name},
                {"machine", machine()},
                {"workload", workload},
                {"size", options.size},
                {"repeats", options.repeats},
                {"results", rows}},
               options.json, options.output);
  end_by_verdict(rows, {"name", "backend"});
}

}  // namespace

ImageRows::ImageRows(const Grid& grid, Backend backend, int repeats, bool prints, ordered_json& rows)
    : grid_(grid), backend_(backend), repeats_(repeats), prints_(prints), rows_(rows) {
  const Image from = test_image(grid).to(memory());
  Image to = Image::zeros(grid, memory());
  const ImageWork copy{
      "copy of an image",
      [&] { detail::copy(to.voxels.data(), memory(), from.voxels.data(), memory(), from.voxels.bytes(), nullptr); }};
  ordered_json row = row_of(copy);
  copy_ms_ = row["ms"];
  keep(std::move(row));
}

void ImageRows::add(const ImageWork& work) {
  keep(row_of(work));
}

void ImageRows::add(const ImageWork& work, const Image& made, const std::function<Image()>& on_cpu) {
  ordered_json row = row_of(work);
  if (backend_ == Backend::cuda) {
    const Image here = made.to(Memory::host);
    synchronize(nullptr);
    const double nrms = compare(here, on_cpu()).nrms;
    row["nrms_to_cpu"] = nrms;
    row["accurate"] = nrms <= nrms_of_backends;
  }
  keep(std::move(row));
}

ordered_json ImageRows::row_of(const ImageWork& work) const {
  const double ms = median_ms(backend_, repeats_, work.run);
  ordered_json row{{"name", work.name},
                   {"backend", backend_ == Backend::cuda ? "cuda" : "cpu"},
                   {"ms", ms},
                   {"floor_ms", nullptr},
                   {"bound_ms", nullptr},
                   {"holds", nullptr}};
  if (work.images > 0) row["floor_ms"] = work.images / 2 * copy_ms_;
  const double bound_s = backend_ == Backend::cuda ? work.bound_s : work.bound_cpu_s;
  if (bound_s > 0 && grid_.voxels() == voxels_of_bounds) {
    row["bound_ms"] = 1e3 * bound_s;
    row["holds"] = ms <= 1e3 * bound_s;
  }
  return row;
}

void ImageRows::keep(ordered_json row) {
  if (prints_) print_row(row);
  rows_.push_back(std::move(row));
}

std::function<void()> declare_image_bench(Command& line, const std::string& name, const std::string& workload,
                                          std::function<void(ImageRows&)> measure) {
  auto options = std::make_shared<ImageOptions>();
  line.add_option("--size", options->size, "Voxels along x, y and z (default: 200 200 300)")
      .expected(3)
      .within(1, 4096);
  line.add_option("--backend", options->backends, "cpu, cuda (default: both)").one_of({"cpu", "cuda"});
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 11)")
      .within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      fmt::format("The floor is what images read and written once take, as fast as one is copied.\n"
                  "Example: tofstream-bench {0} -o {0}.json\n"
                  "Exit code 1 where a bound does not hold, or the backends differ.",
                  name));
  return
      [options, name, workload, measure = std::move(measure)] { run_image_bench(*options, name, workload, measure); };
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
