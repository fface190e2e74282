// CT series: see ct_series.hpp.
#include "gadgets/io/dicom/ct_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/dicom/dicom_file.hpp"
#include "gadgets/io/voxel_placement.hpp"
#include "kernels/math/dominant_axis.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_ct(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", printable(path.string()), why));
}

constexpr auto* ct_image = "1.2.840.10008.5.1.4.1.1.2";
constexpr double same_mm = 0.01, same_direction = 1e-3;

struct CtSlice {
  fs::path path;
  std::string series;
  int columns = 0, rows = 0;
  double pixel_mm[2] = {0, 0};  // along a row, and a column
  Vec3d first_mm;               // the first pixel's centre
  Vec3d along_row, along_column, across;
  double thickness_mm = 0;
  double slope = 1, intercept = 0;
  bool is_signed = false;
  std::optional<double> kvp;
};

void read_orientation(const DicomItem& all, CtSlice& slice) {
  constexpr double rounding = 1e-3;
  const auto cosines = all.numbers(0x0020, 0x0037);
  if (cosines.size() != 6) refuse_ct(slice.path, "it has no Image Orientation of six numbers");
  const Vec3d row{cosines[0], cosines[1], cosines[2]}, column{cosines[3], cosines[4], cosines[5]};
  if (!(std::abs(norm(row) - 1) < rounding && std::abs(norm(column) - 1) < rounding &&
        std::abs(dot(row, column)) < rounding))
    refuse_ct(slice.path, "its Image Orientation is not two directions at right angles: export the series again");
  slice.along_row = (1 / norm(row)) * row;
  slice.along_column = (1 / norm(column)) * column;
  slice.across = cross(slice.along_row, slice.along_column);
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
  slice.first_mm = {position[0], position[1], position[2]};
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

[[noreturn]] void refuse_beside(const CtSlice& slice, const CtSlice& first) {
  refuse_ct(slice.path,
            fmt::format("its pixels do not lie above those of {}", printable(first.path.filename().string())));
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
    const bool is_alike = slice.columns == first.columns && slice.rows == first.rows &&
                          std::abs(slice.pixel_mm[0] - first.pixel_mm[0]) < same_mm &&
                          std::abs(slice.pixel_mm[1] - first.pixel_mm[1]) < same_mm &&
                          norm(slice.along_row - first.along_row) < same_direction &&
                          norm(slice.along_column - first.along_column) < same_direction;
    if (!is_alike) refuse_beside(slice, first);
  }
}

// Slices are sorted by it.
double height_of_slice(const CtSlice& slice) {
  return dot(slice.first_mm, slice.across);
}

double step_mm(const std::vector<CtSlice>& slices, std::size_t to) {
  return height_of_slice(slices[to]) - height_of_slice(slices[to - 1]);
}

// How far one slice is above the one before, as most are.
double usual_step_mm(const std::vector<CtSlice>& slices) {
  std::vector<double> steps;
  for (std::size_t s = 1; s < slices.size(); ++s) steps.push_back(step_mm(slices, s));
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::ranges::nth_element(steps, middle);
  return *middle;
}

void require_even_steps(const std::vector<CtSlice>& slices) {
  constexpr double tolerance = 0.02;
  const double usual = usual_step_mm(slices);
  for (std::size_t s = 1; s < slices.size(); ++s) {
    const CtSlice& slice = slices[s];
    const double step = step_mm(slices, s), steps = std::round(step / usual);
    const int axis = dominant_axis<EqualAxes::x_y_z>(slice.across);
    if (step < same_mm)
      refuse_ct(slice.path, fmt::format("a slice at {} = {:g} mm is there twice", "xyz"[axis], slice.first_mm[axis]));
    if (std::abs(step - usual) <= tolerance * usual) continue;
    const bool is_hole = steps > 1 && std::abs(step - steps * usual) <= tolerance * steps * usual;
    refuse_ct(slice.path, fmt::format("{:g} mm above {}, and slices are {:g} mm apart: {}", step,
                                      printable(slices[s - 1].path.filename().string()), usual,
                                      is_hole ? "is one missing? Export the series again"
                                              : "a series of mixed spacing is not read, make it of one"));
  }
}

// From one slice to the next. Those of a tilted gantry lie above one another along the bed, and not across their planes.
Vec3d step_of(const std::vector<CtSlice>& slices) {
  const CtSlice& first = slices.front();
  if (slices.size() == 1) {
    if (!(first.thickness_mm > 0)) refuse_ct(first.path, "one slice without a Slice Thickness");
    return first.thickness_mm * first.across;
  }
  require_even_steps(slices);
  constexpr double tolerance = 0.02;
  const Vec3d step = (1 / static_cast<double>(slices.size() - 1)) * (slices.back().first_mm - first.first_mm);
  for (std::size_t s = 1; s < slices.size(); ++s) {
    const Vec3d expected = first.first_mm + static_cast<double>(s) * step;
    if (!(norm(slices[s].first_mm - expected) <= same_mm + tolerance * norm(step))) refuse_beside(slices[s], first);
  }
  return step;
}

VoxelPlacement place_slices(const std::vector<CtSlice>& slices) {
  constexpr double obliqueness = 1e-3;
  const CtSlice& first = slices.front();
  const Affine world_of_index = Affine::of_columns(
      {first.pixel_mm[0] * first.along_row, first.pixel_mm[1] * first.along_column, step_of(slices)}, first.first_mm);
  const int size[3] = {first.columns, first.rows, static_cast<int>(slices.size())};
  const auto along_axes = placement_along_axes(world_of_index, size, obliqueness);
  VoxelPlacement placement = along_axes ? *along_axes : placement_along_own_axes(world_of_index, size);
  validate(placement.grid);
  return placement;
}

// The slice's first pixel goes to `to`.
void read_slice(const CtSlice& slice, const VoxelPlacement& placement, float* to) {
  const auto columns = static_cast<std::size_t>(slice.columns), pixels = columns * static_cast<std::size_t>(slice.rows);
  const std::vector<std::byte> bytes = DicomFile(slice.path).pixels(pixels * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < pixels; ++i) {
    std::uint16_t stored = 0;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    const double value = slice.is_signed ? static_cast<std::int16_t>(stored) : static_cast<double>(stored);
    const auto row = static_cast<std::int64_t>(i / columns), column = static_cast<std::int64_t>(i % columns);
    to[column * placement.step[0] + row * placement.step[1]] =
        static_cast<float>(value * slice.slope + slice.intercept);
  }
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
  std::ranges::sort(slices, {}, height_of_slice);
  const VoxelPlacement placement = place_slices(slices);
  Image image{placement.grid, Buffer<float>(Memory::host, placement.grid.voxels())};
  for (std::size_t s = 0; s < slices.size(); ++s)
    read_slice(slices[s], placement,
               image.voxels.data() + placement.start + static_cast<std::int64_t>(s) * placement.step[2]);
  return {{std::move(image), placement.to_world}, slices.front().kvp};
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
