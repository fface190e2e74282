// Cui et al.'s tables on this machine: see tor_tables.hpp.
#include "tools/bench/tor_tables.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "kernels/analysis/compare.hpp"
#include "kernels/memory/device.hpp"
#include "tools/bench/paper_tables.hpp"
#include "tools/bench/tor_timing.hpp"
#include "tools/bench/verdict.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

const Grid paper_grid = Grid::centred(75, 75, 26, {4, 4, 4});
constexpr TofModel with_tof{40.5f, 0};  // 636 ps
constexpr TofModel without_tof{};

std::string tof_name(bool tof) {
  return tof ? "ToF" : "non-ToF";
}
ordered_json number_or_null(double value) {
  return value > 0 ? ordered_json(value) : ordered_json();
}
double million(const TorTableSettings& settings) {
  return static_cast<double>(settings.events) * 1e-6;
}

/// A case's events and what times them, ToF and non-ToF.
struct TableTiming {
  EventBatch events;
  TorTiming timing;

  TableTiming(const TorCase& c, std::int64_t generated, int repeats)
      : events(tor_events(c.grid, c.tof, generated)), timing(c, events, repeats) {}
};
std::unique_ptr<TableTiming> bench_of(const TorTableSettings& settings, bool tof, const Grid& grid = paper_grid,
                                      double tube_width = 3) {
  return std::make_unique<TableTiming>(TorCase{grid, tof ? with_tof : without_tof, tube_width, settings.events},
                                       settings.events, settings.repeats);
}

/// A step of figure 5; steps are listed in the order in which they are added.
struct Step {
  const char* name;
  bool PaperScheme::*on;
  const char* paper;  // what the paper says of it, with ToF
};
constexpr Step steps[] = {
    {"structure of arrays", &PaperScheme::structure_of_arrays, ""},
    {"partition by direction", &PaperScheme::partition, ""},
    {"slices in shared memory", &PaperScheme::staged_slices, "5x over the L1 cache"},
    {"fixed bounds", &PaperScheme::fixed_bounds, ""},
    {"texture", &PaperScheme::texture, "as fast as a Gaussian computed"},
    {"hardware atomics", &PaperScheme::hardware_atomics, ""},
    {"sort by ToF centre", &PaperScheme::sort, ""},
    {"skip slices", &PaperScheme::skip_slices, "-36 %, with the sort"},
    {"update on the GPU", &PaperScheme::update_on_device, ""},
    {"fast math", &PaperScheme::fast_math, "-17 %"},
    {"unrolled loop", &PaperScheme::unrolled, ""},
};

PaperScheme simple_scheme() {
  PaperScheme scheme;
  for (const Step& step : steps) scheme.*step.on = false;
  return scheme;
}

ordered_json step_row(const std::string& name, bool tof, double iteration_ms, TorTiming::Parts parts, double simple_ms,
                      double cpu_ms, std::optional<double> nrms, const char* paper) {
  ordered_json row{{"step", name},
                   {"tof", tof_name(tof)},
                   {"forward_ms", number_or_null(parts.forward)},
                   {"back_ms", number_or_null(parts.back)},
                   {"iteration_ms", iteration_ms},
                   {"x_simple", number_or_null(simple_ms / iteration_ms)},
                   {"x_cpu", number_or_null(cpu_ms / iteration_ms)},
                   {"nrms", nrms ? ordered_json(*nrms) : ordered_json()},
                   {"paper", paper}};
  row["accurate"] = nrms ? ordered_json(is_accurate(*nrms)) : ordered_json();
  return row;
}

/// Figure 3: how often two threads add to one voxel at the same time, counted by loops of compare-and-swap.
TorTable measure_figure_3(const TorTableSettings& settings) {
  TorTable table{"figure_3", "Figure 3: collisions of a back projection; the paper has at most two a voxel", {}};
  for (const bool tof : {false, true}) {
    const auto bench = bench_of(settings, tof);
    for (const int blocks : {15, multiprocessors()}) {
      const PaperScheme scheme{.hardware_atomics = false, .blocks = blocks};
      const tor::paper::Collisions found = bench->timing.collisions(bench->timing.settings(CudaPath::paper, scheme));
      const auto voxels_with = [&](const auto& condition) { return std::ranges::count_if(found.of_voxel, condition); };
      const auto all = std::accumulate(found.of_voxel.begin(), found.of_voxel.end(), std::int64_t{0});
      const double percent = 100 * static_cast<double>(all) / static_cast<double>(found.writes);
      table.rows.push_back({{"tof", tof_name(tof)},
                            {"blocks", blocks},
                            {"writes", found.writes},
                            {"collisions", all},
                            {"percent_of_writes", percent},
                            {"paper_percent", tof ? ordered_json() : ordered_json(paper::collision_percent)},
                            {"voxels_with_none", voxels_with([](unsigned n) { return n == 0; })},
                            {"voxels_with_1", voxels_with([](unsigned n) { return n == 1; })},
                            {"voxels_with_2", voxels_with([](unsigned n) { return n == 2; })},
                            {"voxels_with_more", voxels_with([](unsigned n) { return n > 2; })},
                            {"most_in_a_voxel", std::ranges::max(found.of_voxel)}});
    }
  }
  return table;
}

/// Figure 5: steps added one after the other; also, beyond the paper, the whole scheme without each single step.
TorTable measure_figure_5(const TorTableSettings& settings) {
  TorTable table{"figure_5", "Figure 5: what each step brings; forward + back + update = iteration", {}};
  for (const bool tof : {true, false}) {
    const auto bench = bench_of(settings, tof);
    const TorTiming& timing = bench->timing;
    const double cpu = timing.one_thread_ms();
    table.rows.push_back(step_row("CPU, one thread", tof, cpu, {}, 0, cpu, {}, "Core 2 Duo: 1x"));
    double simple = 0;
    const auto add = [&](const std::string& name, const PaperScheme& scheme, const char* paper) {
      const TorSettings with = timing.settings(CudaPath::paper, scheme);
      const double ms = timing.iteration_ms(with);
      if (simple == 0) simple = ms;
      table.rows.push_back(step_row(name, tof, ms, timing.parts_ms(with), simple, cpu, timing.nrms(with), paper));
    };
    PaperScheme scheme = simple_scheme();
    add("simple GPU", scheme, "17x");
    for (const Step& step : steps) {
      scheme.*step.on = true;
      add(fmt::format("+ {}", step.name), scheme, step.paper);
    }
    for (const Step& step : steps) {
      PaperScheme without;
      without.*step.on = false;
      if (!without.partition) without.sort = false;
      add(fmt::format("all but {}", step.name), without, "");
    }
    const TorSettings tiled = timing.settings(CudaPath::tiled);
    table.rows.push_back(step_row("default: tiles", tof, timing.iteration_ms(tiled), {}, simple, cpu,
                                  timing.nrms(tiled), tof ? "all steps: >300x" : "all steps: >200x"));
  }
  return table;
}

/// Figure 6: lines a second by blocks and threads.
TorTable measure_figure_6(const TorTableSettings& settings) {
  TorTable table{"figure_6", "Figure 6: 1e6 lines/s by blocks and threads a block", {}};
  const int whole = multiprocessors();
  for (const bool tof : {true, false}) {
    const auto bench = bench_of(settings, tof);
    for (const double share : {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0}) {
      const int blocks = std::max(static_cast<int>(share * whole), 1);
      ordered_json row{{"tof", tof_name(tof)}, {"blocks", blocks}, {"blocks_a_multiprocessor", share}};
      for (const int threads : {256, 512, 1024}) {
        const TorSettings with = bench->timing.settings(CudaPath::paper, {.blocks = blocks, .threads = threads});
        row[fmt::format("threads_{}", threads)] = million(settings) * 1e3 / bench->timing.iteration_ms(with);
      }
      row["paper_gtx_480_peak"] =
          share == 1 ? ordered_json(tof ? paper::peak_lines.tof : paper::peak_lines.non_tof) : ordered_json();
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

/// Least-squares line through (x, y): {slope, intercept}.
std::pair<double, double> fitted(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return {slope, (sy - slope * sx) / n};
}

/// r^2 of that line: the share of the spread of y that it explains.
double determination(const std::vector<double>& x, const std::vector<double>& y, double slope, double intercept) {
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  double left = 0, spread = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    left += std::pow(y[i] - slope * x[i] - intercept, 2);
    spread += std::pow(y[i] - mean, 2);
  }
  return 1 - left / spread;
}

/// A row of table I with the line a N + b of the paper's section III.A; `unit`: millions of events per unit of its
/// columns.
ordered_json table_1_row(const std::string& on, int threads, int blocks, bool tof, const std::vector<double>& ms,
                         double unit) {
  ordered_json row{{"on", on}, {"threads", threads}, {"blocks", blocks}, {"tof", tof_name(tof)}};
  std::vector<double> x, y;
  for (std::size_t i = 0; i < ms.size(); ++i) {
    row[fmt::format("{}e6", paper::table_1_millions[i])] = number_or_null(ms[i]);
    if (!(ms[i] > 0)) continue;
    x.push_back(paper::table_1_millions[i] * unit);
    y.push_back(ms[i]);
  }
  const auto [slope, intercept] = fitted(x, y);
  row["a"] = slope;
  row["b"] = intercept;
  row["r2"] = determination(x, y, slope, intercept);  // the paper: 0.9999
  return row;
}

/// Table I: by number of LORs.
TorTable measure_table_1(const TorTableSettings& settings) {
  TorTable table{"table_1", "Table I: ms by number of LORs; a N + b fitted, N in millions", {}};
  for (const paper::Table1Row& row : paper::table_1)
    table.rows.push_back(
        table_1_row(std::string(row.gpu), row.threads, row.blocks, row.tof, {row.ms.begin(), row.ms.end()}, 1));
  std::vector<PaperScheme> schemes;
  for (const int threads : {1024, 512})
    for (const int times : {1, 2}) schemes.push_back({.blocks = multiprocessors() * times, .threads = threads});
  for (const bool tof : {true, false}) {
    const std::int64_t most = settings.events * paper::table_1_millions.back();
    const EventBatch events = tor_events(paper_grid, tof ? with_tof : without_tof, most);
    std::vector<std::vector<double>> ms(schemes.size() + 1);
    for (const int millions : paper::table_1_millions) {
      const TorTiming timing({paper_grid, tof ? with_tof : without_tof, 3, settings.events * millions}, events,
                             settings.repeats);
      for (std::size_t i = 0; i < schemes.size(); ++i)
        ms[i].push_back(timing.iteration_ms(timing.settings(CudaPath::paper, schemes[i])));
      ms.back().push_back(timing.iteration_ms(timing.settings(CudaPath::tiled)));
    }
    for (std::size_t i = 0; i < schemes.size(); ++i)
      table.rows.push_back(
          table_1_row("here, paper's scheme", schemes[i].threads, schemes[i].blocks, tof, ms[i], million(settings)));
    table.rows.push_back(table_1_row("here, tiles", 1024, multiprocessors(), tof, ms.back(), million(settings)));
  }
  return table;
}

/// Table II: fast math with ToF.
TorTable measure_table_2(const TorTableSettings& settings) {
  TorTable table{"table_2", "Table II: what fast math saves, ToF; nrms between images after one iteration", {}};
  for (const paper::Table2Row& row : paper::table_2) {
    const auto bench = bench_of(settings, true, paper_grid, row.tube_width);
    const TorTiming& timing = bench->timing;
    const TorSettings fast = timing.settings(CudaPath::paper),
                      plain = timing.settings(CudaPath::paper, {.fast_math = false});
    const double fast_ms = timing.iteration_ms(fast), plain_ms = timing.iteration_ms(plain);
    const double fast_nrms = timing.nrms(fast), plain_nrms = timing.nrms(plain);
    table.rows.push_back({{"T_w", row.tube_width},
                          {"paper_saved_ms", row.saved_ms},
                          {"paper_saved_percent", row.saved_percent},
                          {"paper_nrms", row.nrms},
                          {"plain_ms", plain_ms},
                          {"fast_ms", fast_ms},
                          {"saved_percent", 100 * (1 - fast_ms / plain_ms)},
                          {"nrms", compare(timing.estimate(fast), timing.estimate(plain)).nrms},
                          {"fast_nrms_to_reference", fast_nrms},
                          {"plain_nrms_to_reference", plain_nrms},
                          {"accurate", is_accurate(fast_nrms) && is_accurate(plain_nrms)}});
  }
  return table;
}

/// The columns that tables III to V share: the paper's time, and here the times of its scheme and of the default.
void add_measured(ordered_json row, double paper_ms, bool tof, const TorTiming& timing, TorTable& table) {
  const TorSettings scheme = timing.settings(CudaPath::paper), tiled = timing.settings(CudaPath::tiled);
  const double scheme_ms = timing.iteration_ms(scheme), tiled_ms = timing.iteration_ms(tiled);
  row["tof"] = tof_name(tof);
  row["paper_gtx_480_ms"] = paper_ms;
  row["scheme_ms"] = scheme_ms;
  row["tiles_ms"] = tiled_ms;
  row["x_paper"] = paper_ms / scheme_ms;
  row["x_scheme"] = scheme_ms / tiled_ms;
  const double scheme_nrms = timing.nrms(scheme), tiles_nrms = timing.nrms(tiled);
  row["scheme_nrms"] = scheme_nrms;
  row["tiles_nrms"] = tiles_nrms;
  row["accurate"] = is_accurate(scheme_nrms) && is_accurate(tiles_nrms);
  table.rows.push_back(std::move(row));
}

/// A cube of 512 mm: the paper does not say how large its cubes are.
Grid cube(int edge) {
  const float voxel = 512.0f / static_cast<float>(edge);
  return Grid::centred(edge, edge, edge, {voxel, voxel, voxel});
}

template <std::size_t n>
TorTable measure_cubes(TorTable table, const std::array<paper::CubeRow, n>& rows, const TorTableSettings& settings) {
  for (const paper::CubeRow& row : rows)
    for (const bool tof : {true, false}) {
      const auto bench = bench_of(settings, tof, cube(row.edge), row.tube_width);
      add_measured({{"L", row.edge}, {"T_w", row.tube_width}}, tof ? row.ms.tof : row.ms.non_tof, tof, bench->timing,
                   table);
    }
  return table;
}

TorTable measure_table_3(const TorTableSettings& settings) {
  return measure_cubes({"table_3", "Table III: ms by image size LxLxL, T_w growing with L", {}}, paper::table_3,
                       settings);
}

TorTable measure_table_4(const TorTableSettings& settings) {
  return measure_cubes({"table_4", "Table IV: ms by image size LxLxL, T_w 3", {}}, paper::table_4, settings);
}

TorTable measure_table_5(const TorTableSettings& settings) {
  TorTable table{"table_5", "Table V: ms by tube width, 75x75x26 voxels", {}};
  for (const paper::WidthRow& row : paper::table_5)
    for (const bool tof : {true, false}) {
      const auto bench = bench_of(settings, tof, paper_grid, row.tube_width);
      add_measured({{"T_w", row.tube_width}}, tof ? row.ms.tof : row.ms.non_tof, tof, bench->timing, table);
    }
  return table;
}

/// What is done once for all iterations.
TorTable measure_sort(const TorTableSettings& settings) {
  TorTable table{"sort", "Sections II.B.3 and II.B.7: partition and sort, once for all iterations; ms", {}};
  const auto millions = static_cast<std::int64_t>(paper::sort_ms.size());
  const EventBatch events = tor_events(paper_grid, with_tof, settings.events * millions);
  for (std::int64_t n = 1; n <= millions; ++n) {
    const TorTiming timing({paper_grid, with_tof, 3, settings.events * n}, events, settings.repeats);
    PaperScheme only;
    only.sort = false;
    table.rows.push_back({{"millions", static_cast<double>(n) * million(settings)},
                          {"paper_partition_ms", n == 1 ? ordered_json(paper::partition_ms) : ordered_json()},
                          {"paper_sort_ms", paper::sort_ms[static_cast<std::size_t>(n - 1)]},
                          {"partition_and_layout_ms", timing.plan_ms(timing.settings(CudaPath::paper, only))},
                          {"partition_sort_and_layout_ms", timing.plan_ms(timing.settings(CudaPath::paper))},
                          {"tiles_plan_ms", timing.plan_ms(timing.settings(CudaPath::tiled))}});
  }
  return table;
}

}  // namespace

const std::vector<TorTableMaker>& paper_tables() {
  static const std::vector<TorTableMaker> makers = {
      {"figure_3", measure_figure_3}, {"figure_5", measure_figure_5}, {"figure_6", measure_figure_6},
      {"table_1", measure_table_1},   {"table_2", measure_table_2},   {"table_3", measure_table_3},
      {"table_4", measure_table_4},   {"table_5", measure_table_5},   {"sort", measure_sort}};
  return makers;
}

TorTable measure_paths(const TorTableSettings& settings) {
  TorTable table{"paths", "An iteration of list-mode MLEM, 75x75x26 voxels, T_w 3; ms", {}};
  for (const bool tof : {true, false}) {
    const auto bench = bench_of(settings, tof);
    const TorTiming& timing = bench->timing;
    const auto add = [&](const char* path, double plan, double iteration, const ordered_json& nrms) {
      const ordered_json accurate = nrms.is_null() ? ordered_json() : ordered_json(is_accurate(nrms.get<double>()));
      table.rows.push_back({{"path", path},
                            {"tof", tof_name(tof)},
                            {"plan_ms", number_or_null(plan)},
                            {"iteration_ms", iteration},
                            {"nrms", nrms},
                            {"accurate", accurate}});
    };
    add("CPU, one thread", 0, timing.one_thread_ms(), nullptr);
    for (const auto& [name, path] : {std::pair{"direct", CudaPath::direct}, std::pair{"paper", CudaPath::paper},
                                     std::pair{"tiled", CudaPath::tiled}}) {
      const TorSettings with = timing.settings(path);
      add(name, timing.plan_ms(with), timing.iteration_ms(with), timing.nrms(with));
    }
  }
  return table;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
