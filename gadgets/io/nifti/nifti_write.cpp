// Images written as NIfTI-1: see nifti.hpp. Voxels go straight from the image to the file or the compressor.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_bytes.hpp"

namespace tofstream {

namespace {

static_assert(longest_nifti_comment < std::size_t{16} << 20, "vox_offset is a float: exact to 16 MiB");

/// Bytes of an extension: size and code, the text, zeros up to a multiple of 16.
std::size_t extension_bytes(const std::string& comment) {
  return comment.empty() ? 0 : (8 + comment.size() + 15) / 16 * 16;
}

nifti_1_header header_of(const Grid& grid, std::size_t volumes, const NiftiText& text) {
  nifti_1_header header{};
  header.sizeof_hdr = sizeof header;
  header.regular = 'r';
  header.dim[0] = volumes > 1 ? 4 : 3;
  std::ranges::fill(header.dim + 4, header.dim + 8, short{1});
  header.dim[4] = static_cast<short>(volumes);
  header.datatype = NIFTI_TYPE_FLOAT32;
  header.bitpix = 32;
  header.vox_offset = static_cast<float>(sizeof header + 4 + extension_bytes(text.comment));
  header.scl_slope = 1;
  header.xyzt_units = NIFTI_UNITS_MM;
  header.qform_code = header.sform_code = NIFTI_XFORM_SCANNER_ANAT;
  float* const rows[3] = {header.srow_x, header.srow_y, header.srow_z};
  mat44 affine{};
  affine.m[3][3] = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const float sign = axis < 2 ? -1.0f : 1.0f;  // LPS to RAS
    header.dim[axis + 1] = static_cast<short>(grid.size[axis]);
    header.pixdim[axis + 1] = grid.voxel_mm[axis];
    rows[axis][axis] = affine.m[axis][axis] = sign * grid.voxel_mm[axis];
    rows[axis][3] = affine.m[axis][3] = sign * grid.origin_mm[axis] + 0.0f;  // no -0
  }
  float edges[3];
  nifti_mat44_to_quatern(affine, &header.quatern_b, &header.quatern_c, &header.quatern_d, &header.qoffset_x,
                         &header.qoffset_y, &header.qoffset_z, &edges[0], &edges[1], &edges[2], &header.pixdim[0]);
  std::copy_n(text.description.data(), std::min(text.description.size(), sizeof header.descrip - 1), header.descrip);
  std::copy_n(text.unit.data(), std::min(text.unit.size(), sizeof header.intent_name - 1), header.intent_name);
  std::memcpy(header.magic, "n+1", 4);
  return header;
}

/// The bytes before the voxels: the header, and the comment as an extension.
std::vector<std::byte> head_of(const Grid& grid, std::size_t volumes, const NiftiText& text) {
  std::vector<std::byte> head;
  const auto append = [&](const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    head.insert(head.end(), from, from + bytes);
  };
  const nifti_1_header header = header_of(grid, volumes, text);
  append(&header, sizeof header);
  const std::string& comment = text.comment;
  const std::array<char, 4> extender = {comment.empty() ? '\0' : '\1', 0, 0, 0};
  append(extender.data(), extender.size());
  if (comment.empty()) return head;
  const std::array<int, 2> size_and_code = {static_cast<int>(extension_bytes(comment)), NIFTI_ECODE_COMMENT};
  append(size_and_code.data(), sizeof size_and_code);
  append(comment.data(), comment.size());
  head.resize(sizeof header + extender.size() + extension_bytes(comment));
  return head;
}

}  // namespace

void write_nifti(const std::filesystem::path& path, const Image& image, const NiftiText& text) {
  const std::span<const float> voxels = image.voxels.span();
  if (static_cast<std::int64_t>(voxels.size()) != image.grid.voxels())
    throw std::invalid_argument(fmt::format("{}: the image's grid and voxels disagree", path.string()));
  write_nifti_volumes(path, image.grid, voxels, text);
}

void write_nifti_volumes(const std::filesystem::path& path, const Grid& grid, std::span<const float> voxels,
                         const NiftiText& text) {
  detail::check_nifti_name(path);
  validate(grid);
  if (text.comment.size() > longest_nifti_comment)
    throw std::invalid_argument(
        fmt::format("{}: a comment of {} bytes is too long for a NIfTI file", path.string(), text.comment.size()));
  const auto of_one = static_cast<std::size_t>(grid.voxels());
  const std::size_t volumes = voxels.size() / of_one;
  constexpr std::size_t most_volumes = 32767;  // dimensions are of 16 bits
  if (volumes < 1 || volumes > most_volumes || voxels.size() != volumes * of_one)
    throw std::invalid_argument(
        fmt::format("{}: {} voxels are not 1 to {} volumes of {}", path.string(), voxels.size(), most_volumes, of_one));
  detail::write_nifti_bytes(path, head_of(grid, volumes, text), std::as_bytes(voxels));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
