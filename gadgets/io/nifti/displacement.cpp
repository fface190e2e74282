// Displacement fields from NIfTI-1: see displacement.hpp.
#include "gadgets/io/nifti/displacement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "gadgets/io/nifti/nifti_file.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream {
namespace {

void check_header(const std::filesystem::path& path, const nifti_image& header) {
  if (header.ndim != 5 || header.dim[4] != 1 || header.dim[5] != 3)
    detail::refuse_nifti(path, "no displacement field: it has no three components along its fifth axis");
  if (header.intent_code != NIFTI_INTENT_VECTOR && header.intent_code != NIFTI_INTENT_DISPVECT)
    detail::refuse_nifti(
        path,
        fmt::format("its intent is {} (code {}), not Vector or Displacement vector: if it holds displacements in mm, "
                    "set the code to {}",
                    nifti_intent_string(header.intent_code), header.intent_code, NIFTI_INTENT_DISPVECT));
  if (header.xyz_units != NIFTI_UNITS_MM)
    detail::refuse_nifti(path, fmt::format("its unit of length is {}, not mm: convert its displacements, and say mm in "
                                           "xyzt_units",
                                           nifti_units_string(header.xyz_units)));
}

double longest(const DisplacementField& field) {
  double most = 0;
  for (std::int64_t v = 0; v < field[0].voxels.size(); ++v)
    most = std::max(most, norm(Vec3{field[0].voxels[v], field[1].voxels[v], field[2].voxels[v]}.as<double>()));
  return most;
}

}  // namespace

DisplacementField read_displacement(const std::filesystem::path& path, DisplacementFrame frame) {
  require_readable(path);
  const detail::NiftiFile header = detail::open_nifti(path);
  check_header(path, *header);
  std::vector<Image> components = detail::read_nifti_images(path, *header, 3);
  DisplacementField field{std::move(components[0]), std::move(components[1]), std::move(components[2])};
  if (frame == DisplacementFrame::ras)
    for (const std::size_t axis : {0, 1})
      for (float& u : field[axis].voxels.span()) u = -u;
  const Grid& grid = field[0].grid;
  const double diagonal = norm(Vec3d{static_cast<double>(grid.voxel_mm.x) * grid.size[0],
                                     static_cast<double>(grid.voxel_mm.y) * grid.size[1],
                                     static_cast<double>(grid.voxel_mm.z) * grid.size[2]});
  if (const double most = longest(field); most > diagonal)
    detail::refuse_nifti(path,
                         fmt::format("a displacement of {:.4g} is longer than the field's diagonal, {:.4g} mm: it is "
                                     "not in mm, or it holds places in place of displacements",
                                     most, diagonal));
  return field;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
