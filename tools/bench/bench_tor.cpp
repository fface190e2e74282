// `tofstream-bench tor`: the paths of the TOR projector side by side and, with --paper, figures 3, 5 and 6 and tables I
// to V of Cui et al. 2011 by their own scheme on this machine's GPU, beside the paper's numbers.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "kernels/memory/memory.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/tor_tables.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct TorOptions {
  bool paper = false, json = false;
  std::vector<std::string> tables;
  TorTableSettings settings;
  std::string output;
};

std::string cell(const ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "NO";
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  return fmt::format("{:.3g}", value.get<double>());
}

/// Words to the left, numbers to the right.
void print(const TorTable& table) {
  fmt::print("{}\n", table.title);
  const ordered_json& first = table.rows.front();
  std::vector<std::size_t> widths;
  for (const auto& [key, value] : first.items()) {
    std::size_t width = key.size();
    for (const ordered_json& row : table.rows) width = std::max(width, cell(row[key]).size());
    widths.push_back(width);
  }
  const auto line = [&](const auto& text_of) {
    std::string text;
    std::size_t column = 0;
    for (const auto& [key, value] : first.items()) {
      const std::size_t width = widths[column++];
      text += value.is_string() ? fmt::format("{:<{}}  ", text_of(key), width)
                                : fmt::format("{:>{}}  ", text_of(key), width);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  };
  line([](const std::string& key) { return key; });
  for (const ordered_json& row : table.rows) line([&](const std::string& key) { return cell(row[key]); });
  fmt::print("\n");
  std::fflush(stdout);  // tables appear as they are measured
}

bool wanted(const TorOptions& options, const std::string& table) {
  return options.tables.empty() || std::ranges::find(options.tables, table) != options.tables.end();
}

void bench_tor(const TorOptions& options) {
  if (!options.tables.empty() && !options.paper)
    throw InputError("--table chooses among the paper's tables: give --paper too");
  require_cuda();
  ordered_json tables, rows = ordered_json::array();
  const auto add = [&](const TorTable& table) {
    if (!options.json) print(table);
    tables[table.name] = {{"title", table.title}, {"rows", table.rows}};
    for (ordered_json row : table.rows) {
      row["table"] = table.name;
      rows.push_back(std::move(row));
    }
  };
  if (options.paper) {
    for (const TorTableMaker& maker : paper_tables())
      if (wanted(options, maker.name)) add(maker.measure(options.settings));
  } else {
    add(measure_paths(options.settings));
  }
  ordered_json report{{"bench", "tor"},
                      {"machine", machine()},
                      {"events", options.settings.events},
                      {"nrms_must_be_at_most", nrms_bound},
                      {"workload",
                       "random LORs from a cylinder of radius 443 mm and length 180 mm, ToF sigma 40.5 mm; 75x75x26 "
                       "voxels of 4 mm, cubes of 512 mm; Gaussian tube, FWHM 0.43 of its width"}};
  if (options.paper)
    report["paper"] = "Cui, Pratx, Prevrhal, Levin, Med. Phys. 2011, doi 10.1118/1.3661998: GeForce GTX 480, CUDA 3.2";
  report["tables"] = tables;
  write_report(report, options.json, options.output);
  end_by_verdict(rows, {"table", "step", "path", "L", "T_w", "tof"});
}

std::function<void()> declare_tor(Command& line) {
  auto options = std::make_shared<TorOptions>();
  std::vector<std::string> names;
  for (const TorTableMaker& maker : paper_tables()) names.push_back(maker.name);
  line.add_flag("--paper", options->paper,
                "Figures 3, 5 and 6 and tables I to V of Cui et al. 2011 by their own scheme, beside their numbers");
  line.add_option("--table", options->tables, "With --paper: only these (default: all)").one_of(names);
  line.add_option("--events", options->settings.events, "Events that stand for the paper's 1e6 (default: 1000000)")
      .within(1000, 100000000);
  line.add_option("--repeats", options->settings.repeats, "Timed runs, of which the median counts (default: 21)")
      .within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench tor --paper --table figure_5 table_5 -o paper.json\n"
      "Exit code 1 where a result is not the reference's.");
  return [options] { bench_tor(*options); };
}

TOFSTREAM_BENCH("tor", "Tubes of response on the GPU: all paths, or the tables of Cui et al. 2011", declare_tor);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
