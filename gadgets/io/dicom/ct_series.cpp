// CT series: see ct_series.hpp.
#include "gadgets/io/dicom/ct_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/dicom/dicom_file.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_ct(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", printable(path.string()), why));
}

constexpr auto* ct_image = "1.2.840.10008.5.1.4.1.1.2";
constexpr double same_mm = 0.01;

struct CtSlice {
  fs::path path;
  std::string series;
  int columns = 0, rows = 0;
  double pixel_mm[2] = {0, 0};           // along x and y
  double first_mm[3] = {0, 0, 0};        // the first pixel's centre
  bool is_reversed[2] = {false, false};  // pixels run towards lower x, or y
  double thickness_mm = 0;
  double slope = 1, intercept = 0;
  bool is_signed = false;
  std::optional<double> kvp;
};

// Rows along the patient's x and columns along y, either way.
void read_orientation(const DicomItem& all, CtSlice& slice) {
  constexpr double obliqueness = 1e-3;
  const auto cosines = all.numbers(0x0020, 0x0037);
  if (cosines.size() != 6) refuse_ct(slice.path, "it has no Image Orientation of six numbers");
  for (std::size_t axis = 0; axis < 2; ++axis)
    for (std::size_t i = 0; i < 3; ++i) {
      const double cosine = cosines[3 * axis + i];
      if (std::abs(std::abs(cosine) - (i == axis ? 1 : 0)) > obliqueness)
        refuse_ct(
            slice.path,
            "its slices do not lie across the patient (Image Orientation): resample the series to axial slices, or "
            "convert it to NIfTI");
      if (i == axis) slice.is_reversed[axis] = cosine < 0;
    }
}

CtSlice described_slice(const fs::path& path) {
  const DicomFile file(path);
  const DicomItem all = file.attributes();
  CtSlice slice{.path = path, .series = all.text(0x0020, 0x000e)};
  if (all.text(0x0008, 0x0016) != ct_image)
    refuse_ct(path, fmt::format("a DICOM file of modality {}, and no CT image of one slice",
                                printable(all.text(0x0008, 0x0060))));
  constexpr double most_pixels = 16384;
  const double columns = all.number(0x0028, 0x0011).value_or(0), rows = all.number(0x0028, 0x0010).value_or(0);
  if (!(columns >= 1 && columns <= most_pixels && rows >= 1 && rows <= most_pixels))
    refuse_ct(path, fmt::format("{:g} x {:g} pixels cannot be", columns, rows));
  slice.columns = static_cast<int>(columns);
  slice.rows = static_cast<int>(rows);
  const auto spacing = all.numbers(0x0028, 0x0030);  // between rows, then between columns
  if (spacing.size() != 2 || !(spacing[0] > 0 && spacing[1] > 0))
    refuse_ct(path, "it has no Pixel Spacing of two positive numbers");
  slice.pixel_mm[0] = spacing[1];
  slice.pixel_mm[1] = spacing[0];
  const auto position = all.numbers(0x0020, 0x0032);
  if (position.size() != 3) refuse_ct(path, "it has no Image Position of three numbers");
  std::ranges::copy(position, slice.first_mm);
  read_orientation(all, slice);
  slice.thickness_mm = all.number(0x0018, 0x0050).value_or(0);
  const auto slope = all.number(0x0028, 0x1053), intercept = all.number(0x0028, 0x1052);
  if (!slope || !intercept) refuse_ct(path, "it has no Rescale Slope and Intercept, so its unit is not known");
  const std::string unit = all.text(0x0028, 0x1054);
  if (!(unit.empty() || unit == "HU"))
    refuse_ct(path,
              fmt::format("its values are in {} (Rescale Type), and not in HU: give the series in Hounsfield units",
                          printable(unit)));
  slice.slope = *slope;
  slice.intercept = *intercept;
  constexpr double bits = 16;
  if (all.number(0x0028, 0x0100).value_or(0) != bits) refuse_ct(path, "CT pixels of 16 bits are read, no others");
  slice.is_signed = all.number(0x0028, 0x0103).value_or(0) != 0;
  slice.kvp = all.number(0x0018, 0x0060);
  return slice;
}

std::vector<fs::path> slice_files(const fs::path& path) {
  std::vector<fs::path> files = dicom_files(path);
  if (files.empty()) refuse_ct(path, "a folder without DICOM files");
  return files;
}

void require_one_stack(const std::vector<CtSlice>& slices) {
  const CtSlice& first = slices.front();
  for (const CtSlice& slice : slices) {
    if (slice.series != first.series)
      refuse_ct(slice.path, fmt::format("it is of another series than {}: put one series into a folder",
                                        printable(first.path.filename().string())));
    if (slice.kvp != first.kvp)
      refuse_ct(slice.path,
                fmt::format("its tube had another voltage than that of {} (KVP): give one series of one tube",
                            printable(first.path.filename().string())));
    bool is_alike = slice.columns == first.columns && slice.rows == first.rows;
    for (int axis = 0; axis < 2; ++axis)
      is_alike = is_alike && std::abs(slice.pixel_mm[axis] - first.pixel_mm[axis]) < same_mm &&
                 std::abs(slice.first_mm[axis] - first.first_mm[axis]) < same_mm &&
                 slice.is_reversed[axis] == first.is_reversed[axis];
    if (!is_alike)
      refuse_ct(slice.path,
                fmt::format("its pixels do not lie above those of {}", printable(first.path.filename().string())));
  }
}

// The slices ascend along z.
double slice_spacing_mm(const std::vector<CtSlice>& slices) {
  constexpr double tolerance = 0.02;
  if (slices.size() == 1) {
    if (!(slices.front().thickness_mm > 0)) refuse_ct(slices.front().path, "one slice without a Slice Thickness");
    return slices.front().thickness_mm;
  }
  const double all = slices.back().first_mm[2] - slices.front().first_mm[2];
  const double spacing = all / static_cast<double>(slices.size() - 1);
  for (std::size_t s = 1; s < slices.size(); ++s) {
    const double step = slices[s].first_mm[2] - slices[s - 1].first_mm[2];
    if (step < same_mm)
      refuse_ct(slices[s].path, fmt::format("a slice at z = {:g} mm is there twice", slices[s].first_mm[2]));
    if (std::abs(step - spacing) > tolerance * spacing)
      refuse_ct(slices[s].path,
                fmt::format("{:g} mm above the slice before it, and slices are {:g} mm apart on average: "
                            "is one missing?",
                            step, spacing));
  }
  return spacing;
}

void read_slice(const CtSlice& slice, std::span<float> to) {
  const std::vector<std::byte> bytes = DicomFile(slice.path).pixels(to.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t stored = 0;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    const double value = slice.is_signed ? static_cast<std::int16_t>(stored) : static_cast<double>(stored);
    const std::size_t row = i / static_cast<std::size_t>(slice.columns),
                      column = i % static_cast<std::size_t>(slice.columns);
    const std::size_t x = slice.is_reversed[0] ? static_cast<std::size_t>(slice.columns) - 1 - column : column;
    const std::size_t y = slice.is_reversed[1] ? static_cast<std::size_t>(slice.rows) - 1 - row : row;
    to[y * static_cast<std::size_t>(slice.columns) + x] = static_cast<float>(value * slice.slope + slice.intercept);
  }
}

Grid grid_of_slices(const std::vector<CtSlice>& slices) {
  const CtSlice& first = slices.front();
  const double spacing = slice_spacing_mm(slices);
  Grid grid{{first.columns, first.rows, static_cast<int>(slices.size())}, {}, {}};
  for (int axis = 0; axis < 2; ++axis) {
    const double length = (grid.size[axis] - 1) * first.pixel_mm[axis];
    grid.voxel_mm.set(axis, static_cast<float>(first.pixel_mm[axis]));
    grid.origin_mm.set(axis, static_cast<float>(first.first_mm[axis] - (first.is_reversed[axis] ? length : 0)));
  }
  grid.voxel_mm.z = static_cast<float>(spacing);
  grid.origin_mm.z = static_cast<float>(first.first_mm[2]);
  validate(grid);
  return grid;
}

}  // namespace

bool is_ct_series(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) || is_dicom_file(path);
}

CtSeries read_ct_series(const fs::path& path) {
  std::vector<CtSlice> slices;
  for (const fs::path& file : slice_files(path)) slices.push_back(described_slice(file));
  require_one_stack(slices);
  std::ranges::sort(slices, {}, [](const CtSlice& slice) { return slice.first_mm[2]; });
  const Grid grid = grid_of_slices(slices);
  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  const auto pixels = static_cast<std::size_t>(grid.stride(2));
  for (std::size_t s = 0; s < slices.size(); ++s)
    read_slice(slices[s], image.voxels.span().subspan(s * pixels, pixels));
  return {std::move(image), slices.front().kvp};
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
