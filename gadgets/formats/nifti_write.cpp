// Images written as NIfTI-1: see nifti.hpp. Voxels go straight from the image to the stream.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "core/atomic_file.hpp"
#include "gadgets/formats/nifti.hpp"
#include "gadgets/formats/nifti_stream.hpp"

namespace tofstream {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
static_assert(longest_nifti_comment < std::size_t{16} << 20, "vox_offset is a float: exact to 16 MiB");

/// Bytes of an extension: size and code, the text, zeros up to a multiple of 16.
std::size_t extension_bytes(const std::string& comment) {
  return comment.empty() ? 0 : (8 + comment.size() + 15) / 16 * 16;
}

nifti_1_header header_of(const Grid& grid, const NiftiText& text) {
  nifti_1_header header{};
  header.sizeof_hdr = sizeof header;
  header.regular = 'r';
  header.dim[0] = 3;
  std::ranges::fill(header.dim + 4, header.dim + 8, short{1});
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
  std::memcpy(header.magic, "n+1", 4);
  return header;
}

void write_comment(detail::ZnzStream& stream, const std::string& comment) {
  const std::array<char, 4> extender = {comment.empty() ? '\0' : '\1', 0, 0, 0};
  stream.write(extender.data(), extender.size());
  if (comment.empty()) return;
  const std::array<int, 2> size_and_code = {static_cast<int>(extension_bytes(comment)), NIFTI_ECODE_COMMENT};
  const std::array<char, 16> padding{};
  stream.write(size_and_code.data(), sizeof size_and_code);
  stream.write(comment.data(), comment.size());
  stream.write(padding.data(), extension_bytes(comment) - 8 - comment.size());
}

}  // namespace

void write_nifti(const std::filesystem::path& path, const Image& image, const NiftiText& text) {
  const bool gzip = path.extension() == ".gz" && path.stem().extension() == ".nii";
  if (!gzip && path.extension() != ".nii")
    throw std::invalid_argument(fmt::format("{}: the name of a NIfTI file ends in .nii or .nii.gz", path.string()));
  validate(image.grid);
  if (text.comment.size() > longest_nifti_comment)
    throw std::invalid_argument(
        fmt::format("{}: a comment of {} bytes is too long for a NIfTI file", path.string(), text.comment.size()));
  const std::span<const float> voxels = image.voxels.span();
  if (static_cast<std::int64_t>(voxels.size()) != image.grid.voxels())
    throw std::invalid_argument(fmt::format("{}: the image's grid and voxels disagree", path.string()));

  AtomicFile temporary(path);
  detail::ZnzStream stream(temporary.temporary_path(), gzip ? "wb3" : "wb", gzip,
                           path);  // noise compresses no better at 9
  const nifti_1_header header = header_of(image.grid, text);
  stream.write(&header, sizeof header);
  write_comment(stream, text.comment);
  const auto* bytes = reinterpret_cast<const std::byte*>(voxels.data());
  for (std::size_t at = 0; at < voxels.size_bytes(); at += chunk_bytes)
    stream.write(bytes + at, std::min(chunk_bytes, voxels.size_bytes() - at));
  stream.close();
  temporary.commit();
}

}  // namespace tofstream
