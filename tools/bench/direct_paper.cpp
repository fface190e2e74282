// The tables of Ha et al. 2013: see direct_paper.hpp.
#include "tools/bench/direct_paper.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/math/units.hpp"
#include "tools/bench/direct_timing.hpp"

namespace tofstream::command {
namespace {

using nlohmann::ordered_json;

constexpr DirectViews paper_views{.azimuths = 40, .tilts = 3, .acceptance_deg = 10};
constexpr double corner_mm = 407;  // where the papers' kernels are widest
constexpr int paper_iterations = 20;

/// Seconds on a GeForce GTX 285 (fft: a quad-core Xeon of 2.66 GHz).
struct PaperIteration {
  const char* name;
  double fwhm_mm, edge_mm;
  bool is_quadratic;                  // grows as the root of a sum of squares
  double seconds, forward_s, back_s;  // table III; table IV, of 20 iterations, 0 where it has none
};
constexpr PaperIteration paper_iterations_of[] = {{"invariant", 5.8, 5.8, false, 15.63, 105.27, 103.18},
                                                  {"variant1", 4.8, 10, false, 22.43, 172.88, 169.81},
                                                  {"variant2", 5.8, 12, false, 25.66, 0, 0},
                                                  {"variant3", 5.8, 11.17, true, 24.68, 0, 0}};
constexpr double fft_iteration_s = 21.48;

/// Table II: seconds a view.
struct PaperForm {
  const char* name;
  OneStageForm form;
  double forward_s, back_s;  // 0: ours
};
constexpr PaperForm paper_forms[] = {{"TLP", OneStageForm::tlp, 4.94, 4.37},
                                     {"ILP", OneStageForm::ilp, 2.59, 2.56},
                                     {"ours", OneStageForm::automatic, 0, 0}};

float tof_sigma_mm(double fwhm_ps) {
  return static_cast<float>(0.5 * speed_of_light_mm_ps * fwhm_ps / fwhm_per_sigma);
}

/// Kernels cut at 3 sigma, as theirs are.
DirectSettings one_stage_of(double tof_ps, const std::vector<RadialWidth>& radial, double axial_mm) {
  DirectSettings settings{.method = DirectOperator::one_stage, .lattice = HistoLattice::image};
  settings.kernel.tof_sigma_mm = tof_sigma_mm(tof_ps);
  settings.kernel.radial = radial;
  settings.kernel.axial_fwhm_mm = static_cast<float>(axial_mm);
  settings.kernel.cut_sigma = 3;
  return settings;
}

DirectSettings settings_of(const PaperIteration& row) {
  std::vector<RadialWidth> radial;
  constexpr int steps = 16;
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    const double squares = row.edge_mm * row.edge_mm - row.fwhm_mm * row.fwhm_mm;
    const double fwhm_mm = row.is_quadratic ? std::sqrt(row.fwhm_mm * row.fwhm_mm + squares * share * share)
                                            : row.fwhm_mm + (row.edge_mm - row.fwhm_mm) * share;
    radial.push_back({static_cast<float>(corner_mm * share), static_cast<float>(fwhm_mm)});
  }
  if (row.edge_mm == row.fwhm_mm) radial.resize(1);
  return one_stage_of(400, radial, 5.8);
}

Grid grid_of_voxels(double voxel_mm) {
  const auto voxels = [&](double length_mm) { return static_cast<int>(std::lround(length_mm / voxel_mm)); };
  const auto edge = static_cast<float>(voxel_mm);
  return Grid::centred(voxels(576), voxels(576), voxels(192), {edge, edge, edge});
}

ordered_json json_of(const KernelAttributes& kernel) {
  return {{"threads_a_block", kernel.threads},           {"registers_a_thread", kernel.registers},
          {"shared_bytes_a_block", kernel.shared_bytes}, {"local_bytes_a_thread", kernel.local_bytes},
          {"blocks_a_multiprocessor", kernel.blocks},    {"occupancy", kernel.occupancy}};
}

class Tables {
 public:
  Tables(Backend backend, int repeats, bool quiet) : backend_(backend), repeats_(repeats), quiet_(quiet) {}

  ordered_json table_2() const {
    say("Table II: a view, 900 ps, radial 10 to 100 mm, axial 10 mm, cut at 3 sigma\n{:<8} {:>14} {:>12} {:>14} "
        "{:>12}\n",
        "form", "paper fwd, s", "fwd, ms", "paper back, s", "back, ms");
    ordered_json rows = ordered_json::array();
    for (const PaperForm& row : paper_forms) {
      const DirectTimed timed{grid_of_voxels(4),
                              paper_views,
                              one_stage_of(900, {{0, 10}, {static_cast<float>(corner_mm), 100}}, 10),
                              {7},
                              row.form};
      const double there = forward_ms(timed, backend_, repeats_), back = back_ms(timed, backend_, repeats_);
      say("{:<8} {:>14} {:>12.3f} {:>14} {:>12.3f}\n", row.name, or_none(row.forward_s), there, or_none(row.back_s),
          back);
      rows.push_back({{"form", row.name},
                      {"paper_forward_s", row.forward_s},
                      {"forward_ms", there},
                      {"paper_back_s", row.back_s},
                      {"back_ms", back},
                      {"forward_kernel", json_of(one_stage_attributes(row.form, true))},
                      {"back_kernel", json_of(one_stage_attributes(row.form, false))}});
    }
    say_attributes();
    return rows;
  }

  ordered_json table_3_and_4() const {
    say("\nTables III and IV: an iteration of block RAMLA, 400 ps, and the projections of {}, cut at 3 sigma\n"
        "{:<10} {:>10} {:>10} {:>10} {:>14} {:>12} {:>14} {:>12}\n",
        paper_iterations, "kernel", "paper, s", "ILP, ms", "ours, ms", "paper fwd, s", "fwd, s", "paper back, s",
        "back, s");
    ordered_json rows = ordered_json::array();
    for (const PaperIteration& row : paper_iterations_of) {
      DirectTimed timed{grid_of_voxels(4), paper_views, settings_of(row)};
      const double ours = iteration_ms(timed, backend_, repeats_);
      const double there = 1e-3 * paper_iterations * forward_ms(timed, backend_, repeats_);
      const double back = 1e-3 * paper_iterations * back_ms(timed, backend_, repeats_);
      timed.form = OneStageForm::ilp;
      const double ilp = iteration_ms(timed, backend_, repeats_);
      say("{:<10} {:>10} {:>10.1f} {:>10.1f} {:>14} {:>12.3f} {:>14} {:>12.3f}\n", row.name, row.seconds, ilp, ours,
          or_none(row.forward_s), there, or_none(row.back_s), back);
      rows.push_back({{"kernel", row.name},
                      {"paper_s", row.seconds},
                      {"ilp_ms", ilp},
                      {"ours_ms", ours},
                      {"paper_forward_s", row.forward_s},
                      {"forward_s", there},
                      {"paper_back_s", row.back_s},
                      {"back_s", back}});
    }
    DirectTimed fft{grid_of_voxels(4), paper_views, settings_of(paper_iterations_of[0])};
    fft.settings.method = DirectOperator::fft;
    fft.settings.fft_ends = FftEnds::periodic;
    const double ours = iteration_ms(fft, backend_, repeats_);
    say("{:<10} {:>10} {:>10} {:>10.1f}\n", "fft", fft_iteration_s, "-", ours);
    rows.push_back({{"kernel", "fft"}, {"paper_s", fft_iteration_s}, {"ours_ms", ours}});
    return rows;
  }

  /// The figure's values are not printed; the text says that 4 to 2 mm cost 54.3 times as much, and by FFT 9.4 times.
  ordered_json figure_4() const {
    say("\nFig. 4: forward of 120 views, ms\n{:<28} {:>12} {:>12}\n", "kernel and voxels", "one_stage", "fft");
    ordered_json rows = ordered_json::array();
    for (const double tof_ps : {300, 600, 900, 1200}) rows.push_back(swept(tof_ps, 10, 5, 4));
    for (const double radial_mm : {5, 10, 15, 20}) rows.push_back(swept(300, radial_mm, 5, 4));
    for (const double voxel_mm : {4, 3, 2}) rows.push_back(swept(375, 6.5, 6.5, voxel_mm));
    return rows;
  }

 private:
  /// The rest of table II: what the compiler and this device make of the kernels.
  void say_attributes() const {
    say("{:<14} {:>8} {:>10} {:>12} {:>12} {:>8} {:>10}\n", "kernel", "threads", "registers", "shared, B", "spilled, B",
        "blocks", "occupancy");
    for (const PaperForm& row : paper_forms)
      for (const bool is_forward : {true, false}) {
        const KernelAttributes kernel = one_stage_attributes(row.form, is_forward);
        say("{:<14} {:>8} {:>10} {:>12} {:>12} {:>8} {:>9.0f}%\n",
            fmt::format("{} {}", row.name, is_forward ? "forward" : "back"), kernel.threads, kernel.registers,
            kernel.shared_bytes, kernel.local_bytes, kernel.blocks, 100 * kernel.occupancy);
      }
  }

  ordered_json swept(double tof_ps, double radial_mm, double axial_mm, double voxel_mm) const {
    DirectTimed timed{grid_of_voxels(voxel_mm), paper_views,
                      one_stage_of(tof_ps, {{0, static_cast<float>(radial_mm)}}, axial_mm)};
    const double one_stage = forward_ms(timed, backend_, repeats_);
    timed.settings.method = DirectOperator::fft;
    timed.settings.fft_ends = FftEnds::periodic;
    const double fft = forward_ms(timed, backend_, repeats_);
    say("{:<28} {:>12.2f} {:>12.2f}\n",
        fmt::format("{:g} ps, {:g} x {:g} mm, {:g} mm", tof_ps, radial_mm, axial_mm, voxel_mm), one_stage, fft);
    return {{"tof_ps", tof_ps},     {"radial_mm", radial_mm},    {"axial_mm", axial_mm},
            {"voxel_mm", voxel_mm}, {"one_stage_ms", one_stage}, {"fft_ms", fft}};
  }

  static std::string or_none(double seconds) { return seconds > 0 ? fmt::format("{:g}", seconds) : "-"; }
  template <class... Args>
  void say(fmt::format_string<Args...> words, Args&&... args) const {
    if (quiet_) return;
    fmt::print(words, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  Backend backend_;
  int repeats_;
  bool quiet_;
};

}  // namespace

ordered_json direct_paper_tables(Backend backend, int repeats, bool quiet) {
  if (backend != Backend::cuda)
    throw std::invalid_argument("--paper needs --backend cuda: the published forms are CUDA's");
  const Tables tables(backend, repeats, quiet);
  return {{"table_2", tables.table_2()}, {"table_3_and_4", tables.table_3_and_4()}, {"figure_4", tables.figure_4()}};
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
