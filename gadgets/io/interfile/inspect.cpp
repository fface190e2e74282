// What `tofstream inspect` says of Interfile of PET: projection data and images.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "gadgets/io/file_inspectors.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/interfile/projection_file.hpp"
#include "gadgets/io/interfile/projection_header.hpp"

namespace tofstream::interfile {
namespace {

using nlohmann::ordered_json;

bool is_interfile_of_pet(const std::filesystem::path& file) {
  return is_projection_header(file) || is_image_header(file);
}

struct NumberSums {
  double sum = 0;
  float least = 0, most = 0;
  void add(const std::vector<float>& numbers, bool is_first) {
    if (is_first) least = most = numbers.front();
    for (const float number : numbers) {
      sum += static_cast<double>(number);
      least = std::min(least, number);
      most = std::max(most, number);
    }
  }
};

NumberSums sums_of(const ProjectionFile& file) {
  constexpr std::int64_t at_a_time = 1 << 20;
  NumberSums sums;
  std::vector<float> numbers;
  const ProjectionHeader& header = file.header();
  for (int place = 0; place < header.tof_positions; ++place)
    for (std::int64_t begin = 0; begin < header.bins(); begin += at_a_time) {
      numbers.resize(static_cast<std::size_t>(std::min(at_a_time, header.bins() - begin)));
      file.read(place, begin, numbers);
      sums.add(numbers, place == 0 && begin == 0);
    }
  return sums;
}

ordered_json inspect_projections(const std::filesystem::path& path) {
  const ProjectionFile file(read_projection_header(path));
  const ProjectionHeader& header = file.header();
  const ScannerFigures& scanner = header.scanner;
  const NumberSums sums = sums_of(file);
  ordered_json held{{"format", "Interfile projection data of PET"},
                    {"data", header.data.string()},
                    {"scanner", scanner.name},
                    {"rings", scanner.rings},
                    {"detectors_per_ring", scanner.detectors},
                    {"radius_mm", scanner.radius_mm()},
                    {"ring_distance_mm", scanner.ring_distance_mm},
                    {"view_offset_deg", scanner.offset_deg},
                    {"bins", header.numbers_in_file()},
                    {"views", header.views},
                    {"tangential_positions", header.tangential},
                    {"segments", ordered_json::array()},
                    {"order", header.order == AxisOrder::views ? "viewgrams" : "sinograms"},
                    {"sum", sums.sum},
                    {"least", sums.least},
                    {"most", sums.most},
                    {"start_s", header.start_s},
                    {"duration_s", header.duration_s}};
  for (const Segment& segment : header.segments)
    held["segments"].push_back({{"ring_differences", {segment.least_difference, segment.most_difference}},
                                {"axial_positions", segment.positions}});
  if (header.has_tof())
    held["tof"] = {{"positions", header.tof_positions},
                   {"mashing", header.tof_mashing},
                   {"bin_ps", scanner.tof_bin_ps},
                   {"width_mm", header.tof_width_mm()},
                   {"fwhm_ps", scanner.tof_fwhm_ps}};
  if (header.high_keV > 0) held["energy_keV"] = {header.low_keV, header.high_keV};
  if (!header.isotope.empty()) held["isotope"] = header.isotope;
  held["notes"] = header.notes;
  return held;
}

ordered_json inspect_stir_image(const std::filesystem::path& path) {
  const Image image = read_image(path);
  const auto voxels = image.voxels.span();
  double sum = 0;
  for (const float voxel : voxels) sum += static_cast<double>(voxel);
  const auto [least, most] = std::ranges::minmax(voxels);
  const Grid& grid = image.grid;
  return {{"format", "Interfile image of PET"},
          {"size", {grid.size[0], grid.size[1], grid.size[2]}},
          {"voxel_mm", {grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z}},
          {"origin_mm", {grid.origin_mm.x, grid.origin_mm.y, grid.origin_mm.z}},
          {"mean", sum / static_cast<double>(voxels.size())},
          {"lowest", least},
          {"highest", most}};
}

ordered_json inspect_interfile_of_pet(const std::filesystem::path& file) {
  return is_image_header(file) ? inspect_stir_image(file) : inspect_projections(file);
}

std::string named_line(const char* name, const std::string& words) {
  return fmt::format("{:<15} {}\n", name, printable(words));
}

std::string image_lines(const ordered_json& held) {
  const auto all = [&](const char* key) { return held.at(key).get<std::vector<double>>(); };
  std::string text = named_line("format", held.at("format").get<std::string>());
  text += named_line("voxels", fmt::format("{:g} of {:g} mm, the first at {:g} mm", fmt::join(all("size"), " x "),
                                           fmt::join(all("voxel_mm"), " x "), fmt::join(all("origin_mm"), ", ")));
  return text + named_line("range", fmt::format("{:.6g} to {:.6g}, mean {:.6g}", held.at("lowest").get<double>(),
                                                held.at("highest").get<double>(), held.at("mean").get<double>()));
}

std::string projection_lines(const ordered_json& held) {
  const auto number = [&](const char* key) { return held.at(key).get<double>(); };
  std::string text = named_line("format", held.at("format").get<std::string>());
  text += named_line("data", held.at("data").get<std::string>());
  text += named_line("scanner", held.at("scanner").get<std::string>());
  text += named_line(
      "rings", fmt::format("{} of {} detectors, {:g} mm from the axis, {:g} mm apart", held.at("rings").get<int>(),
                           held.at("detectors_per_ring").get<int>(), number("radius_mm"), number("ring_distance_mm")));
  const ordered_json& segments = held.at("segments");
  const auto least = segments.front().at("ring_differences").at(0).get<int>();
  text +=
      named_line("bins", fmt::format("{}: {} segments, {} views, {} tangential positions, as {}",
                                     held.at("bins").get<std::int64_t>(), segments.size(), held.at("views").get<int>(),
                                     held.at("tangential_positions").get<int>(), held.at("order").get<std::string>()));
  text += named_line("ring differences",
                     fmt::format("{} to {}", least, segments.back().at("ring_differences").at(1).get<int>()));
  if (const auto tof = held.find("tof"); tof != held.end())
    text += named_line("time of flight",
                       fmt::format("{} positions of {:.5g} mm, {:g} ps FWHM", tof->at("positions").get<int>(),
                                   tof->at("width_mm").get<double>(), tof->at("fwhm_ps").get<double>()));
  else
    text += named_line("time of flight", "none");
  text += named_line("numbers",
                     fmt::format("{:.10g} in all, from {:g} to {:g}", number("sum"), number("least"), number("most")));
  text += named_line("time", number("duration_s") > 0
                                 ? fmt::format("{:g} s from {:g} s", number("duration_s"), number("start_s"))
                                 : "the file does not say it");
  for (const ordered_json& note : held.at("notes")) text += named_line("note", note.get<std::string>());
  return text;
}

std::string interfile_in_words(const ordered_json& held) {
  return held.contains("segments") ? projection_lines(held) : image_lines(held);
}

TOFSTREAM_INSPECTS("interfile", .words = "projection data (.hs) and images (.hv) of PET as STIR writes them",
                   .knows = is_interfile_of_pet, .read = inspect_interfile_of_pet, .in_words = interfile_in_words);

}  // namespace
}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
