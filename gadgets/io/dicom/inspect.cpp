// What `tofstream inspect` says of a DICOM series of CT or PET images: a folder of slices, or a slice.
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "gadgets/io/dicom/data_set.hpp"
#include "gadgets/io/dicom/dicom_file.hpp"
#include "gadgets/io/file_inspectors.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double same_place_mm = 0.01;

/// A file's words on the series and on its slice.
struct SeriesSlice {
  std::string name, modality, series, units, description, corrected;
  double columns = 0, rows = 0, thickness_mm = 0;
  std::vector<double> spacing_mm, place_mm;
};

SeriesSlice slice_of(const fs::path& path) {
  const DicomFile file(path);
  const DicomItem all = file.attributes();
  SeriesSlice slice{.name = path.filename().string(),
                    .modality = all.text(0x0008, 0x0060),
                    .series = all.text(0x0020, 0x000e),
                    .units = all.text(0x0054, 0x1001),
                    .description = all.text(0x0008, 0x103e),
                    .corrected = all.text(0x0028, 0x0051),
                    .columns = all.number(0x0028, 0x0011).value_or(0),
                    .rows = all.number(0x0028, 0x0010).value_or(0),
                    .thickness_mm = all.number(0x0018, 0x0050).value_or(0),
                    .spacing_mm = all.numbers(0x0028, 0x0030),
                    .place_mm = all.numbers(0x0020, 0x0032)};
  if (slice.spacing_mm.size() != 2) file.refuse("it has no Pixel Spacing of two numbers");
  if (slice.place_mm.size() != 3) file.refuse("it has no Image Position of three numbers");
  if (slice.modality == "CT") slice.units = "HU";
  return slice;
}

// Another reader says what is wrong with a broken file.
bool is_of_ct_or_pet(const fs::path& path) try {
  const std::string modality = DicomFile(path).attributes().text(0x0008, 0x0060);
  return modality == "CT" || modality == "PT";
} catch (const std::runtime_error&) {
  return false;
}

// Without GDCM nobody knows what a DICOM file is.
bool is_series(const fs::path& path) {
  if (!can_write_dicom()) return false;
  if (!fs::is_directory(path)) return is_dicom_file(path) && is_of_ct_or_pet(path);
  const std::vector<fs::path> files = dicom_files(path);
  return !files.empty() && is_of_ct_or_pet(files.front());
}

std::vector<SeriesSlice> slices_of(const fs::path& path) {
  std::vector<SeriesSlice> slices;
  for (const fs::path& file : dicom_files(path)) {
    slices.push_back(slice_of(file));
    const SeriesSlice &first = slices.front(), &last = slices.back();
    if (last.series != first.series || last.columns != first.columns || last.rows != first.rows)
      throw std::runtime_error(
          fmt::format("{}: it is of another series than {}, or of another size: put one series into a folder",
                      printable(file.string()), printable(first.name)));
  }
  return slices;
}

/// Where slices lie along the axis on which they differ most: places, each once, and the steps between them.
struct SlicePlaces {
  std::vector<double> mm;
  double least_step_mm = 0, most_step_mm = 0;
};

SlicePlaces places_of(const std::vector<SeriesSlice>& slices) {
  const auto extent = [&](std::size_t axis) {
    const auto [least, most] = std::ranges::minmax(slices, {}, [&](const SeriesSlice& s) { return s.place_mm[axis]; });
    return most.place_mm[axis] - least.place_mm[axis];
  };
  std::size_t along = 2;
  for (const std::size_t axis : {0U, 1U})
    if (extent(axis) > extent(along)) along = axis;
  SlicePlaces places;
  for (const SeriesSlice& slice : slices) places.mm.push_back(slice.place_mm[along]);
  std::ranges::sort(places.mm);
  const auto is_same = [](double a, double b) { return b - a < same_place_mm; };
  places.mm.erase(std::unique(places.mm.begin(), places.mm.end(), is_same), places.mm.end());
  for (std::size_t k = 1; k < places.mm.size(); ++k) {
    const double step = places.mm[k] - places.mm[k - 1];
    places.least_step_mm = k == 1 ? step : std::min(places.least_step_mm, step);
    places.most_step_mm = std::max(places.most_step_mm, step);
  }
  return places;
}

ordered_json inspect_series(const fs::path& path) {
  const std::vector<SeriesSlice> slices = slices_of(path);
  const SeriesSlice& first = slices.front();
  const SlicePlaces places = places_of(slices);
  const double spacing_mm = places.mm.size() > 1
                                ? (places.mm.back() - places.mm.front()) / static_cast<double>(places.mm.size() - 1)
                                : first.thickness_mm;
  ordered_json held{{"format", fmt::format("DICOM {} series", first.modality == "CT" ? "CT" : "PET")},
                    {"files", slices.size()},
                    {"slices", places.mm.size()},
                    {"size", {first.columns, first.rows, places.mm.size()}},
                    {"voxel_mm", {first.spacing_mm[1], first.spacing_mm[0], spacing_mm}},
                    {"slices_mm", {places.mm.front(), places.mm.back()}},
                    {"units", first.units},
                    {"description", first.description}};
  if (slices.size() % places.mm.size() == 0) held["frames"] = slices.size() / places.mm.size();
  if (!first.corrected.empty()) held["corrected"] = first.corrected;
  if (places.most_step_mm - places.least_step_mm > same_place_mm)
    held["uneven_steps_mm"] = {places.least_step_mm, places.most_step_mm};
  return held;
}

std::string series_line(std::string_view name, const std::string& words) {
  return fmt::format("{:<15} {}\n", name, printable(words));
}

std::string series_in_words(const ordered_json& held) {
  const auto all = [&](const char* key) { return held.at(key).get<std::vector<double>>(); };
  const auto text = [&](const char* key) { return held.at(key).get<std::string>(); };
  std::string words = series_line("format", text("format"));
  words += series_line(
      "files", fmt::format("{}: {} slices{}", held.at("files").get<std::size_t>(), held.at("slices").get<std::size_t>(),
                           held.contains("frames") ? fmt::format(", {} of each", held.at("frames").get<std::size_t>())
                                                   : ", not as often each"));
  words +=
      series_line("voxels", fmt::format("{:g} of {:.6g} mm, slices from {:g} to {:g} mm", fmt::join(all("size"), " x "),
                                        fmt::join(all("voxel_mm"), " x "), all("slices_mm")[0], all("slices_mm")[1]));
  if (held.contains("uneven_steps_mm"))
    words += series_line("uneven", fmt::format("slices are {:g} to {:g} mm apart: is one missing?",
                                               all("uneven_steps_mm")[0], all("uneven_steps_mm")[1]));
  words += series_line("units", text("units").empty() ? "not said" : text("units"));
  if (held.contains("corrected")) words += series_line("corrected", text("corrected"));
  if (!text("description").empty()) words += series_line("description", text("description"));
  return words;
}

TOFSTREAM_INSPECTS("dicom", .words = "a DICOM series of CT or PET images (a folder, or a slice)", .knows = is_series,
                   .read = inspect_series, .in_words = series_in_words);

}  // namespace
}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
