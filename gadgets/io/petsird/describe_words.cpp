// A PETSIRD stream in words for people: in_words of describe.hpp.
#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/grouped.hpp"
#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/ring_size.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "kernels/grid/choose_grid.hpp"

namespace tofstream::petsird {
namespace {

std::string line(const char* name, const std::string& text) {
  return fmt::format("{:<15} {}\n", name, printable(text));
}

std::string crystals_in_words(const ScannerInformation& scanner, const RingSize& size) {
  std::size_t modules = 0;
  for (const auto& type : scanner.geometry.replicated_modules) modules += type.transforms.size();
  const std::size_t types = module_types(scanner);
  return fmt::format("{} of {:.3g} x {:.3g} x {:.3g} mm{}, {} rings, {} modules{}", grouped(size.crystals),
                     size.tangential_mm, size.axial_mm, size.depth_mm, types > 1 ? " (the first)" : "", size.rings,
                     modules, types > 1 ? fmt::format(" of {} types", types) : "");
}

std::string energy_in_words(const ScannerInformation& scanner) {
  const BinEdges& edges = scanner.event_energy_bin_edges_keV.front();
  const float resolution = scanner.energy_resolution_at_511.empty() ? 0 : scanner.energy_resolution_at_511.front();
  return fmt::format("{:g} to {:g} keV{}{}", edges.front(), edges.back(),
                     edges.size() > 2 ? fmt::format(" in {} bins", edges.size() - 1) : "",
                     resolution > 0 ? fmt::format(", resolution {:.3g} %", 100 * resolution) : "");
}

std::string counted(std::uint64_t events, double seconds) {
  if (events == 0) return "none";
  const std::string number = grouped(events);
  return seconds > 0 ? fmt::format("{}, {:.4g} a second", number, static_cast<double>(events) / seconds) : number;
}

// What the file brings for corrections, and what its events are known to need.
std::string corrections_in_words(const Quantity& quantity, const StreamCounts& counts) {
  std::vector<std::string> brings;
  if (quantity[Correction::normalisation].state == CorrectionState::made) brings.emplace_back("efficiencies");
  if (counts.delayeds > 0) brings.emplace_back("delayeds for the randoms");
  if (counts.blocks[static_cast<std::size_t>(BlockKind::dead_time)] > 0) brings.emplace_back("live fractions");
  std::string text = brings.empty() ? "the file has none" : fmt::format("the file has {}", fmt::join(brings, ", "));
  const auto needed = corrections_in(quantity, CorrectionState::called_for);
  if (!needed.empty()) text += fmt::format("; its events need {}", fmt::join(needed, ", "));
  const auto needless = corrections_in(quantity, CorrectionState::not_needed);
  if (!needless.empty()) text += fmt::format("; no need for {}", fmt::join(needless, ", "));
  return text;
}

// The grid that a pipeline with `image: auto` takes, or why it cannot choose one.
std::string image_in_words(const ScannerInformation& scanner) {
  try {
    return "auto is " + grid_in_words(choose_grid(*to_scanner(scanner), {}));
  } catch (const std::exception& none) {
    return std::string("must be written out: ") + none.what();
  }
}

std::string size_in_words(const ScannerInformation& scanner, const RingSize& size) {
  return fmt::format("{}, {:.4g} mm in diameter, {:.4g} mm long",
                     scanner.model_name.empty() ? "without a name" : scanner.model_name, size.diameter_mm,
                     size.axial_length_mm);
}

}  // namespace

std::string scanner_in_words(const ScannerInformation& scanner) {
  const RingSize size = ring_size(scanner);
  const std::string crystals = crystals_in_words(scanner, size);
  const auto of = crystals.find(" of ");
  return fmt::format("{}; {} crystals{}", size_in_words(scanner, size), crystals.substr(0, of), crystals.substr(of));
}

std::string time_of_flight_in_words(const ScannerInformation& scanner) {
  constexpr double half_c_mm_per_ps = 0.299792458 / 2;
  double fwhm_mm = 0;
  std::size_t bins = 0;
  for (std::size_t row = 0; row < scanner.tof_bin_edges_mm.size(); ++row)
    for (std::size_t column = 0; column < scanner.tof_bin_edges_mm[row].size(); ++column) {
      const auto edges = scanner.tof_bin_edges_mm[row][column].size();
      const double fwhm = static_cast<double>(scanner.tof_resolution_fwhm_mm[row][column]);
      if (edges <= 2 || !(fwhm > 0) || (bins > 0 && fwhm >= fwhm_mm)) continue;
      fwhm_mm = fwhm;
      bins = edges - 1;
    }
  if (bins == 0) return "none";
  return fmt::format("{:.0f} ps FWHM ({:.1f} mm), {} bins", fwhm_mm / half_c_mm_per_ps, fwhm_mm, bins);
}

std::string in_words(const Summary& summary) {
  const ScannerInformation& scanner = summary.header.scanner;
  const RingSize size = ring_size(scanner);
  const Quantity& quantity = summary.quantity;
  const StreamCounts& counts = summary.counts;
  const double seconds = seconds_of(summary);
  std::string text = line("scanner", size_in_words(scanner, size));
  text += line("crystals", crystals_in_words(scanner, size));
  text += line("time of flight", time_of_flight_in_words(scanner));
  text += line("energy window", energy_in_words(scanner));
  text += line("duration", fmt::format("{:.6g} s from {:.6g} s on, {} time blocks", seconds,
                                       1e-3 * summary.first_start_ms, grouped(counts.time_blocks())));
  text += line("prompts", counted(counts.prompts, seconds));
  text += line("delayeds", counted(counts.delayeds, seconds));
  text += line("corrections", corrections_in_words(quantity, counts));
  text += line("unit", quantity.unit.empty() ? "relative: " + quantity.scale
                                             : fmt::format("{}: {}", quantity.unit, quantity.scale));
  text += line("image", image_in_words(scanner));
  text += line("format", fmt::format("PETSIRD {}, {} bytes", version_name(summary.version), grouped(summary.bytes)));
  for (const std::string& warning : summary.warnings) text += line("warning", warning);
  return text;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
