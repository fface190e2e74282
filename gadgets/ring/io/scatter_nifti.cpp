// Five-dimensional NIfTI-1 of scatter: see scatter_nifti.hpp.
#include "gadgets/ring/io/scatter_nifti.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti_bytes.hpp"
#include "gadgets/io/nifti/nifti_file.hpp"

namespace tofstream {

namespace {

constexpr const char* axes[5] = {"radial", "angle", "z of end a", "z of end b", "ToF"};
constexpr float tolerance = 0.01f;  // for a spacing that must equal another

void check_shape(const std::filesystem::path& path, const nifti_image& header) {
  for (int d = 1; d <= 7; ++d) {
    const int n = d <= header.ndim ? header.dim[d] : 1;
    if (d > 5 && n != 1)
      detail::refuse_nifti(path, fmt::format("a scatter estimate has five axes (radial, angle, z of either end, ToF), "
                                             "not {}",
                                             header.ndim));
    if (d <= 5 && n > 4096) detail::refuse_nifti(path, fmt::format("{} samples along its axis {}", n, axes[d - 1]));
  }
}

bool are_close(float a, float b) {
  return std::abs(a - b) <= tolerance * std::abs(b);
}

void check_spacings(const std::filesystem::path& path, const ScatterEstimate& estimate, const float* spacing) {
  const float angle = 180.0f / static_cast<float>(estimate.size[1]);
  if (estimate.size[1] > 1 && !are_close(spacing[1], angle))
    detail::refuse_nifti(path, fmt::format("pixdim of axis 2 is {}, but {} angles over half a turn are {:.4g} degrees "
                                           "apart: are the axes radial, angle, z, z, ToF?",
                                           spacing[1], estimate.size[1], angle));
  if (estimate.size[2] > 1 && !are_close(spacing[3], spacing[2]))
    detail::refuse_nifti(
        path, fmt::format("the two axial axes must have one spacing, not {} and {} mm", spacing[2], spacing[3]));
}

}  // namespace

ScatterEstimate read_scatter(const std::filesystem::path& path) {
  const detail::NiftiFile header = detail::open_nifti(path);
  check_shape(path, *header);
  detail::check_nifti_voxels(path, *header);
  ScatterEstimate estimate;
  float spacing[5];
  for (int axis = 0; axis < 5; ++axis) {
    const bool there = axis < header->ndim;
    estimate.size[static_cast<std::size_t>(axis)] = there ? header->dim[axis + 1] : 1;
    spacing[axis] = there ? std::abs(header->pixdim[axis + 1]) : 1.0f;
  }
  check_spacings(path, estimate, spacing);
  estimate.radial_mm = spacing[0];
  estimate.axial_mm = spacing[2];
  estimate.tof_mm = spacing[4];
  estimate.values.resize(header->nvox);
  detail::read_nifti_lines(path, *header, 1,
                           [&](std::int64_t line) { return estimate.values.data() + line * header->nx; });
  try {
    validate(estimate);
  } catch (const std::invalid_argument& error) {
    detail::refuse_nifti(path, error.what());
  }
  return estimate;
}

void write_scatter(const std::filesystem::path& path, const ScatterEstimate& estimate) {
  detail::check_nifti_name(path);
  validate(estimate);
  nifti_1_header header{};
  header.sizeof_hdr = sizeof header;
  header.regular = 'r';
  header.dim[0] = 5;
  std::ranges::fill(header.dim + 6, header.dim + 8, short{1});
  const float spacing[5] = {estimate.radial_mm, 180.0f / static_cast<float>(estimate.size[1]), estimate.axial_mm,
                            estimate.axial_mm, estimate.tof_mm};
  for (std::size_t axis = 0; axis < 5; ++axis) {
    header.dim[axis + 1] = static_cast<short>(estimate.size[axis]);
    header.pixdim[axis + 1] = spacing[axis];
  }
  header.datatype = NIFTI_TYPE_FLOAT32;
  header.bitpix = 32;
  header.vox_offset = sizeof header + 4;
  header.scl_slope = 1;
  std::strncpy(header.descrip, "scatter per s: radial, angle, z a, z b, ToF", sizeof header.descrip - 1);
  std::memcpy(header.magic, "n+1", 4);

  std::array<std::byte, sizeof header + 4> head{};  // and four zeros: no extension
  std::memcpy(head.data(), &header, sizeof header);
  detail::write_nifti_bytes(path, head, std::as_bytes(std::span(estimate.values)));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
