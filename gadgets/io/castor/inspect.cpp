// What `tofstream inspect` says of CASToR's files: the data of a header, and a scanner.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "gadgets/io/castor/data_file.hpp"
#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/file_inspectors.hpp"

namespace tofstream::castor {
namespace {

using nlohmann::ordered_json;

bool is_scanner(const std::filesystem::path& file) {
  return file.extension() == ".geom" || file.extension() == ".hscan" || file.extension() == ".lut";
}

// The events' file has no mark of its own: its header does.
bool is_castor(const std::filesystem::path& file) {
  if (is_scanner(file)) return true;
  std::string start(4096, '\0');
  std::ifstream from(file, std::ios::binary);
  from.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(from.gcount()));
  return is_data_header(start);
}

ordered_json inspect_scanner(const std::filesystem::path& file) {
  const Geometry geometry = read_geometry(file);
  double least_mm = std::numeric_limits<double>::infinity(), most_mm = 0, least_z = least_mm, most_z = -least_mm;
  for (const Crystal& crystal : geometry.crystals) {
    const double radius = std::hypot(crystal.centre_mm.x, crystal.centre_mm.y);
    least_mm = std::min(least_mm, radius);
    most_mm = std::max(most_mm, radius);
    least_z = std::min(least_z, static_cast<double>(crystal.centre_mm.z));
    most_z = std::max(most_z, static_cast<double>(crystal.centre_mm.z));
  }
  ordered_json held{{"format", "CASToR scanner"},
                    {"scanner", geometry.name},
                    {"crystals", geometry.crystals.size()},
                    {"layers", ordered_json::array()},
                    {"radius_mm", {least_mm, most_mm}},
                    {"z_mm", {least_z, most_z}},
                    {"min_angle_deg", geometry.least_angle_deg},
                    {"not_used", geometry.unread}};
  for (const Layer& layer : geometry.layers)
    held["layers"].push_back(
        {{"crystals", layer.crystals}, {"depth_mm", layer.depth_mm}, {"interaction_mm", layer.interaction_mm}});
  return held;
}

/// What all events of a file come to.
struct Sums {
  double counts = 0, randoms = 0, scatter = 0;  // the rates are sums over events
  std::uint32_t first_ms = std::numeric_limits<std::uint32_t>::max(), last_ms = 0, last_crystal = 0;
  double least_factor = std::numeric_limits<double>::infinity(), most_factor = -least_factor;  // of normalisation
  double least_ps = std::numeric_limits<double>::infinity(), most_ps = -least_ps;

  void add(const RecordView& record, const DataHeader& header) {
    const auto factor = static_cast<double>(record.normalisation());
    least_factor = std::min(least_factor, factor);
    most_factor = std::max(most_factor, factor);
    for (std::uint32_t l = 0; l < std::min(record.lines(), header.most_lines); ++l)
      last_crystal = std::max({last_crystal, record.crystal1(l), record.crystal2(l)});
    if (header.mode == DataMode::normalisation) return;
    first_ms = std::min(first_ms, record.time_ms());
    last_ms = std::max(last_ms, record.time_ms());
    randoms += static_cast<double>(record.randoms());
    if (header.mode == DataMode::list) {
      counts += 1;
      scatter += static_cast<double>(record.scatter());
      least_ps = std::min(least_ps, static_cast<double>(record.tof_ps()));
      most_ps = std::max(most_ps, static_cast<double>(record.tof_ps()));
      return;
    }
    for (std::size_t b = 0; b < header.tof_bins; ++b) {
      counts += static_cast<double>(record.counts(b));
      scatter += static_cast<double>(record.scatter(b));
    }
  }
};

Sums sums_of(const DataHeader& header) {
  constexpr std::uint64_t at_a_time = 1 << 16;
  DataFile file(header);
  Sums sums;
  std::vector<std::byte> bytes;
  for (std::uint64_t first = 0; first < header.events; first += at_a_time) {
    const std::uint64_t count = std::min(at_a_time, header.events - first);
    file.read(first, count, bytes);
    for (std::uint64_t i = 0; i < count; ++i) sums.add(file.event(bytes, i), header);
  }
  return sums;
}

const char* format_of(DataMode mode) {
  if (mode == DataMode::normalisation) return "CASToR normalisation";
  return mode == DataMode::list ? "CASToR list mode" : "CASToR histogram";
}

ordered_json inspect_data(const std::filesystem::path& path) {
  const DataHeader header = read_data_header(path);
  const Sums sums = sums_of(header);
  const bool is_list = header.mode == DataMode::list;
  ordered_json held{{"format", format_of(header.mode)},
                    {"data", header.data.string()},
                    {"scanner", header.scanner},
                    {"events", header.events},
                    {"record", layout_in_words(header)},
                    {"largest_crystal", sums.last_crystal},
                    {"calibration", header.calibration},
                    {"isotope", header.isotope},
                    {"attenuation", header.has_attenuation},
                    {"normalisation", header.has_normalisation}};
  if (header.has_normalisation) held["normalisation_factors"] = {sums.least_factor, sums.most_factor};
  held["not_used"] = header.unread;
  if (header.mode == DataMode::normalisation) return held;
  held["counts"] = sums.counts;
  held["start_s"] = header.start_s;
  held["duration_s"] = header.duration_s;
  held["times_ms"] = {sums.first_ms, sums.last_ms};
  if (header.has_randoms) held["randoms_of_events"] = sums.randoms;
  if (header.has_scatter) held["scatter_of_events"] = sums.scatter;
  if (header.has_tof && is_list)
    held["tof"] = {{"fwhm_ps", header.tof_fwhm_ps},
                   {"range_ps", header.tof_range_ps},
                   {"quantum_ps", header.tof_quantum_ps},
                   {"ps", {sums.least_ps, sums.most_ps}}};
  if (header.has_tof && !is_list)
    held["tof"] = {{"fwhm_ps", header.tof_fwhm_ps}, {"bins", header.tof_bins}, {"bin_ps", header.tof_bin_ps}};
  return held;
}

ordered_json inspect_castor(const std::filesystem::path& file) {
  return is_scanner(file) ? inspect_scanner(file) : inspect_data(file);
}

std::string line_of(const char* name, const std::string& words) {
  return fmt::format("{:<15} {}\n", name, printable(words));
}

std::string not_used_lines(const ordered_json& held) {
  std::string text;
  for (const ordered_json& one : held.at("not_used")) text += line_of("not used", one.get<std::string>());
  return text;
}

std::string scanner_lines(const ordered_json& held) {
  std::string text = line_of("format", held.at("format").get<std::string>());
  text += line_of("scanner", held.at("scanner").get<std::string>());
  text += line_of("crystals", fmt::format("{}", held.at("crystals").get<std::size_t>()));
  for (const ordered_json& layer : held.at("layers"))
    text += line_of("layer", fmt::format("{} crystals of {:g} mm; photons interact {:g} mm below the face",
                                         layer.at("crystals").get<std::uint32_t>(), layer.at("depth_mm").get<double>(),
                                         layer.at("interaction_mm").get<double>()));
  const auto from_to = [&](const char* key) {
    return fmt::format("{:.6g} to {:.6g} mm", held.at(key).at(0).get<double>(), held.at(key).at(1).get<double>());
  };
  text += line_of("radius", from_to("radius_mm") + ", of the crystals' middles");
  text += line_of("z", from_to("z_mm"));
  text += line_of("pairs", fmt::format("of crystals that look at least {:g} degrees apart",
                                       held.at("min_angle_deg").get<double>()));
  return text + not_used_lines(held);
}

std::string tof_words(const ordered_json& tof) {
  const auto ps = [&](const char* key) { return tof.at(key).get<double>(); };
  if (tof.contains("bins"))
    return fmt::format("{:g} ps FWHM, {} bins of {:g} ps", ps("fwhm_ps"), tof.at("bins").get<int>(), ps("bin_ps"));
  return fmt::format("{:g} ps FWHM, {} of a range of {:g} ps; {:.5g} to {:.5g} ps came", ps("fwhm_ps"),
                     ps("quantum_ps") > 0 ? fmt::format("steps of {:g} ps", ps("quantum_ps")) : "as measured",
                     ps("range_ps"), tof.at("ps").at(0).get<double>(), tof.at("ps").at(1).get<double>());
}

std::string data_lines(const ordered_json& held) {
  const auto number = [&](const char* key) { return held.at(key).get<double>(); };
  std::string text = line_of("format", held.at("format").get<std::string>());
  text += line_of("data", held.at("data").get<std::string>());
  text += line_of("scanner", held.at("scanner").get<std::string>());
  const auto events = held.at("events").get<std::uint64_t>();
  if (held.contains("counts")) {
    text += line_of("events", fmt::format("{}, with {:.10g} counts", events, number("counts")));
    text += line_of("an event", held.at("record").get<std::string>());
    text += line_of("time", fmt::format("{:g} s from {:g} s; events at {} to {} ms", number("duration_s"),
                                        number("start_s"), held.at("times_ms").at(0).get<std::uint32_t>(),
                                        held.at("times_ms").at(1).get<std::uint32_t>()));
    text += line_of("time of flight", held.contains("tof") ? tof_words(held.at("tof")) : "none");
  } else {
    text += line_of("lines", fmt::format("{}, that can count", events));
    text += line_of("a line", held.at("record").get<std::string>());
  }
  text += line_of("crystals", fmt::format("up to {}", held.at("largest_crystal").get<std::uint32_t>()));
  std::string factors = fmt::format("calibration {:g}", number("calibration"));
  if (held.at("attenuation").get<bool>()) factors += ", attenuation";
  if (held.contains("normalisation_factors"))
    factors += fmt::format(", normalisation by {:g} to {:g}", held.at("normalisation_factors").at(0).get<double>(),
                           held.at("normalisation_factors").at(1).get<double>());
  text += line_of("factors", factors);
  for (const auto* rate : {"randoms", "scatter"})
    if (const std::string key = fmt::format("{}_of_events", rate); held.contains(key))
      text += line_of(rate, fmt::format("rates that are {:.6g} in the sum over all events", number(key.c_str())));
  if (const std::string isotope = held.at("isotope").get<std::string>(); !isotope.empty())
    text += line_of("isotope", isotope);
  return text + not_used_lines(held);
}

std::string castor_in_words(const ordered_json& held) {
  return held.contains("layers") ? scanner_lines(held) : data_lines(held);
}

TOFSTREAM_INSPECTS("castor", .words = "data (.cdh) and scanners (.geom, .hscan) of CASToR", .knows = is_castor,
                   .read = inspect_castor, .in_words = castor_in_words);

}  // namespace
}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
