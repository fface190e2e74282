// NIfTI-1 images read into our frame: see nifti.hpp. Each voxel goes to the place that the affine gives it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_file.hpp"

namespace tofstream {

namespace {

namespace fs = std::filesystem;
using detail::refuse_nifti;

constexpr double obliqueness = 1e-4;  // of an axis along another, as rounding may leave

/// How a voxel axis of the file lies in our world.
struct Axis {
  int world = 0;  // the axis (x, y, z) that it runs along
  bool flipped = false;
};

struct Placement {
  Grid grid;
  Axis axes[3];
};

double mm_per_unit(const fs::path& path, int units) {
  if (units == NIFTI_UNITS_MM || units == NIFTI_UNITS_UNKNOWN) return 1;
  if (units == NIFTI_UNITS_METER) return 1000;
  if (units == NIFTI_UNITS_MICRON) return 0.001;
  refuse_nifti(path, fmt::format("unknown unit of length (code {})", units));
}

/// Our grid (LPS, ascending) from the file's affine to RAS.
Placement place(const fs::path& path, const nifti_image& header) {
  if (header.sform_code <= 0 && header.qform_code <= 0)
    refuse_nifti(path, "no position in space (sform and qform codes are 0): set its affine, for example with nibabel");
  const mat44& affine = header.sform_code > 0 ? header.sto_xyz : header.qto_xyz;
  const double unit = mm_per_unit(path, header.xyz_units);
  const int size[3] = {header.nx, header.ny, header.nz};
  Placement result;
  bool taken[3] = {};
  for (int a = 0; a < 3; ++a) {
    int world = 0;
    for (int w = 1; w < 3; ++w)
      if (std::abs(affine.m[w][a]) > std::abs(affine.m[world][a])) world = w;
    const double along = (world < 2 ? -unit : unit) * static_cast<double>(affine.m[world][a]);
    for (int w = 0; w < 3; ++w)
      if (w != world && !(std::abs(unit * static_cast<double>(affine.m[w][a])) <= obliqueness * std::abs(along)))
        refuse_nifti(path, "its voxel axes are oblique to the scanner's: resample it to an axis-aligned grid");
    if (taken[world] || !std::isfinite(along) || along == 0)
      refuse_nifti(path, "its affine does not describe three axes");
    taken[world] = true;
    const double translation = (world < 2 ? -unit : unit) * static_cast<double>(affine.m[world][3]);
    result.axes[a] = {world, along < 0};
    result.grid.size[world] = size[a];
    result.grid.voxel_mm.set(world, static_cast<float>(std::abs(along)));
    result.grid.origin_mm.set(world, static_cast<float>(along < 0 ? translation + (size[a] - 1) * along : translation));
  }
  try {
    validate(result.grid);
  } catch (const std::exception& error) {
    refuse_nifti(path, error.what());
  }
  return result;
}

/// `first_of_one`: the first axis along which there is to be nothing but one image.
void check_dimensions(const fs::path& path, const nifti_image& header, int first_of_one) {
  if (header.nx < 1 || header.ny < 1 || header.nz < 1 || header.ndim < 1 || header.ndim > 7 ||
      (header.ndim > 3 && header.dim[4] < 1))
    refuse_nifti(path, "its dimensions are broken");
  for (int d = first_of_one; d <= header.ndim; ++d)
    if (header.dim[d] != 1)
      refuse_nifti(path, fmt::format("one 3D image is expected, this has {} along axis {}", header.dim[d], d));
}

void check_finite(const fs::path& path, const Image& image) {
  const auto voxels = image.voxels.span();
  for (std::size_t v = 0; v < voxels.size(); ++v)
    if (!std::isfinite(voxels[v])) refuse_nifti(path, fmt::format("voxel {} is not a finite number", v));
}

std::vector<Image> read_volumes(const fs::path& path, int first_of_one) {
  const detail::NiftiFile header = detail::open_nifti(path);
  check_dimensions(path, *header, first_of_one);
  return detail::read_nifti_images(path, *header, header->ndim > 3 ? header->dim[4] : 1);
}

}  // namespace

std::vector<Image> detail::read_nifti_images(const fs::path& path, const nifti_image& header, int volumes) {
  const Placement placement = place(path, header);
  const Grid& grid = placement.grid;
  std::int64_t step[3], start = 0;  // in memory, along the file's axes
  const int size[3] = {header.nx, header.ny, header.nz};
  for (int a = 0; a < 3; ++a) {
    step[a] = grid.stride(placement.axes[a].world);
    if (!placement.axes[a].flipped) continue;
    start += step[a] * (size[a] - 1);
    step[a] = -step[a];
  }
  detail::check_nifti_voxels(path, header);
  std::vector<Image> images;
  for (int v = 0; v < volumes; ++v) images.push_back({grid, Buffer<float>(Memory::host, grid.voxels())});
  const std::int64_t lines = std::int64_t{size[1]} * size[2];
  detail::read_nifti_lines(path, header, step[0], [&](std::int64_t line) {
    const std::int64_t within = line % lines;
    return images[static_cast<std::size_t>(line / lines)].voxels.data() + start + within % size[1] * step[1] +
           within / size[1] * step[2];
  });
  for (const Image& image : images) check_finite(path, image);
  return images;
}

Image read_nifti(const fs::path& path) {
  return std::move(read_volumes(path, 4).front());
}

std::vector<Image> read_nifti_volumes(const fs::path& path) {
  return read_volumes(path, 5);
}

std::string read_nifti_comment(const fs::path& path) {
  const detail::NiftiFile header = detail::open_nifti(path);
  for (int e = 0; e < header->num_ext; ++e) {
    const nifti1_extension& extension = header->ext_list[e];
    if (extension.ecode != NIFTI_ECODE_COMMENT || extension.esize <= 8) continue;
    const std::string text(extension.edata, static_cast<std::size_t>(extension.esize) - 8);
    return text.substr(0, text.find('\0'));
  }
  return {};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
