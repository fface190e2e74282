// NIfTI-1 images read into our frame: see nifti.hpp. Each voxel goes to the place that the affine gives it.
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_file.hpp"
#include "gadgets/io/nifti/posed_nifti.hpp"
#include "gadgets/io/voxel_placement.hpp"

namespace tofstream {

namespace {

namespace fs = std::filesystem;
using detail::refuse_nifti;
using formats::VoxelPlacement;

constexpr double obliqueness = 1e-4;  // of an axis along another, as rounding may leave

double mm_per_unit(const fs::path& path, int units) {
  if (units == NIFTI_UNITS_MM || units == NIFTI_UNITS_UNKNOWN) return 1;
  if (units == NIFTI_UNITS_METER) return 1000;
  if (units == NIFTI_UNITS_MICRON) return 0.001;
  refuse_nifti(path, fmt::format("unknown unit of length (code {})", units));
}

/// From voxel indices to our world (LPS, mm), by the file's affine to RAS.
Affine world_of_index(const fs::path& path, const nifti_image& header) {
  if (header.sform_code <= 0 && header.qform_code <= 0)
    refuse_nifti(path, "no position in space (sform and qform codes are 0): set its affine, for example with nibabel");
  const mat44& affine = header.sform_code > 0 ? header.sto_xyz : header.qto_xyz;
  const double unit = mm_per_unit(path, header.xyz_units);
  std::array<Vec3d, 4> columns;
  for (std::size_t a = 0; a < columns.size(); ++a)
    columns[a] = {-unit * static_cast<double>(affine.m[0][a]), -unit * static_cast<double>(affine.m[1][a]),
                  unit * static_cast<double>(affine.m[2][a])};
  const Affine result = Affine::of_columns({columns[0], columns[1], columns[2]}, columns[3]);
  if (result.is_singular())
    refuse_nifti(path, "its affine does not describe three axes: set it, for example with nibabel");
  return result;
}

VoxelPlacement validated(const fs::path& path, VoxelPlacement placement) {
  try {
    validate(placement.grid);
  } catch (const std::exception& error) {
    refuse_nifti(path, error.what());
  }
  return placement;
}

/// Along our axes, where the file's run along them.
std::optional<VoxelPlacement> place_along_axes(const fs::path& path, const nifti_image& header) {
  std::optional<VoxelPlacement> placement =
      formats::placement_along_axes(world_of_index(path, header), {header.nx, header.ny, header.nz}, obliqueness);
  if (placement) validated(path, *placement);
  return placement;
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

std::vector<Image> read_placed(const fs::path& path, const nifti_image& header, const VoxelPlacement& placement,
                               int volumes) {
  detail::check_nifti_voxels(path, header);
  std::vector<Image> images;
  for (int v = 0; v < volumes; ++v)
    images.push_back({placement.grid, Buffer<float>(Memory::host, placement.grid.voxels())});
  const std::int64_t lines = std::int64_t{header.ny} * header.nz;
  detail::read_nifti_lines(path, header, placement.step[0], [&](std::int64_t line) {
    const std::int64_t within = line % lines;
    return images[static_cast<std::size_t>(line / lines)].voxels.data() + placement.start +
           within % header.ny * placement.step[1] + within / header.ny * placement.step[2];
  });
  for (const Image& image : images) check_finite(path, image);
  return images;
}

std::vector<Image> read_volumes(const fs::path& path, int first_of_one) {
  const detail::NiftiFile header = detail::open_nifti(path);
  check_dimensions(path, *header, first_of_one);
  return detail::read_nifti_images(path, *header, header->ndim > 3 ? header->dim[4] : 1);
}

}  // namespace

std::vector<Image> detail::read_nifti_images(const fs::path& path, const nifti_image& header, int volumes) {
  const std::optional<VoxelPlacement> placement = place_along_axes(path, header);
  if (!placement)
    refuse_nifti(path,
                 "its voxel axes are oblique to the scanner's: resample it to an axis-aligned grid, for example by "
                 "nibabel.processing.resample_to_output (of a CT and its maps 'tofstream mu-map' does so itself)");
  return read_placed(path, header, *placement, volumes);
}

Image read_nifti(const fs::path& path) {
  return std::move(read_volumes(path, 4).front());
}

PosedImage read_posed_nifti(const fs::path& path) {
  const detail::NiftiFile header = detail::open_nifti(path);
  check_dimensions(path, *header, 4);
  std::optional<VoxelPlacement> placement = place_along_axes(path, *header);
  if (!placement)
    placement = validated(
        path, formats::placement_along_own_axes(world_of_index(path, *header), {header->nx, header->ny, header->nz}));
  return {std::move(read_placed(path, *header, *placement, 1).front()), placement->to_world};
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
