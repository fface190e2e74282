// Headers checked and voxels converted: see nifti_file.hpp.
#include "gadgets/io/nifti/nifti_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/first_bytes.hpp"
#include "gadgets/io/nifti/nifti_stream.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;
constexpr std::uintmax_t best_deflate = 1032;  // the largest factor by which gzip shrinks a file

/// True for a NIfTI-1 file with positive dimensions: the library prints messages about others.
bool is_nifti_1(const fs::path& path) {
  const int kind = is_nifti_file(path.c_str());
  if (kind != NIFTI_FTYPE_NIFTI1_1 && kind != NIFTI_FTYPE_NIFTI1_2) return false;
  int swapped = 0;
  const std::unique_ptr<nifti_1_header, decltype(&std::free)> raw(nifti_read_header(path.c_str(), &swapped, 0),
                                                                  &std::free);
  if (!raw || raw->dim[0] < 1 || raw->dim[0] > 7) return false;
  return std::all_of(raw->dim + 1, raw->dim + 1 + raw->dim[0], [](short n) { return n > 0; });
}

/// Converts `count` voxels of the file's type to floats `step` apart.
using ConvertLine = void (*)(const std::byte* from, int count, double slope, double intercept, float* to,
                             std::int64_t step);

template <class T>
void convert_line(const std::byte* from, int count, double slope, double intercept, float* to, std::int64_t step) {
  for (int i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    to[i * step] = static_cast<float>(static_cast<double>(value) * slope + intercept);
  }
}

ConvertLine converter(const fs::path& path, int type) {
  switch (type) {
    case NIFTI_TYPE_UINT8:
      return convert_line<std::uint8_t>;
    case NIFTI_TYPE_INT8:
      return convert_line<std::int8_t>;
    case NIFTI_TYPE_UINT16:
      return convert_line<std::uint16_t>;
    case NIFTI_TYPE_INT16:
      return convert_line<std::int16_t>;
    case NIFTI_TYPE_UINT32:
      return convert_line<std::uint32_t>;
    case NIFTI_TYPE_INT32:
      return convert_line<std::int32_t>;
    case NIFTI_TYPE_FLOAT32:
      return convert_line<float>;
    case NIFTI_TYPE_FLOAT64:
      return convert_line<double>;
    default:
      refuse_nifti(path,
                   fmt::format("voxels of type {} are not read: store it as float32 or as integers of up to 32 bits",
                               nifti_datatype_string(type)));
  }
}

}  // namespace

[[noreturn]] void refuse_nifti(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", path.string(), why));
}

namespace {

// What the file is instead, where its first bytes say so.
[[noreturn]] void refuse_other_format(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> start(4096);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::string name =
      kind_of_file(std::as_bytes(std::span(start)).first(static_cast<std::size_t>(file.gcount()))).name;
  if (name == petsird_name)
    refuse_nifti(path,
                 "this is a PETSIRD stream, and no image: tofstream inspect says what it holds, tofstream run "
                 "reconstructs it");
  if (name == "unknown data" || name.find("NIfTI") != std::string::npos || name == "a gzip file")
    refuse_nifti(path, "not a NIfTI-1 image, or its header is broken");
  refuse_nifti(path, fmt::format("this is {}, not a NIfTI-1 image", name));
}

}  // namespace

NiftiFile open_nifti(const fs::path& path) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { nifti_set_debug_level(0); });  // our errors say what is wrong
  std::error_code error;
  require_readable(path);
  if (!fs::is_regular_file(path, error)) refuse_nifti(path, "not a file");
  if (!is_nifti_1(path)) refuse_other_format(path);
  NiftiFile header(nifti_image_read(path.c_str(), 0));
  if (!header) refuse_nifti(path, "not a NIfTI-1 image, or its header is broken");
  return header;
}

void check_nifti_voxels(const fs::path& path, const nifti_image& header) {
  converter(path, header.datatype);
  const std::uintmax_t voxel_bytes = header.nvox * static_cast<std::uintmax_t>(header.nbyper);
  std::error_code error;
  std::uintmax_t length = fs::file_size(header.iname, error);
  if (error) refuse_nifti(path, fmt::format("its voxels are in {}, which cannot be read", header.iname));
  if (nifti_is_gzfile(header.iname)) length *= best_deflate;
  if (header.iname_offset < 0 || length < static_cast<std::uintmax_t>(header.iname_offset) + voxel_bytes)
    refuse_nifti(path, "truncated: it is shorter than its header says");
}

void read_nifti_lines(const fs::path& path, const nifti_image& header, std::int64_t step,
                      const std::function<float*(std::int64_t line)>& place) {
  const ConvertLine convert = converter(path, header.datatype);
  const bool scaled = header.scl_slope != 0 && std::isfinite(header.scl_slope);
  const double slope = scaled ? static_cast<double>(header.scl_slope) : 1.0;
  const double intercept = scaled ? static_cast<double>(header.scl_inter) : 0.0;
  NiftiStream stream(header.iname, nifti_is_gzfile(header.iname) != 0, path);
  if (!stream.skip(header.iname_offset)) refuse_nifti(path, "truncated: it ends before its voxels");
  const std::int64_t line_bytes = std::int64_t{header.nx} * header.nbyper;
  const auto lines = static_cast<std::int64_t>(header.nvox) / header.nx;
  const std::int64_t chunk_lines = std::max<std::int64_t>(chunk_bytes / line_bytes, 1);
  std::vector<std::byte> chunk(static_cast<std::size_t>(chunk_lines * line_bytes));
  const bool swapped = header.nbyper > 1 && header.byteorder != nifti_short_order();
  for (std::int64_t first = 0; first < lines; first += chunk_lines) {
    const std::int64_t here = std::min(chunk_lines, lines - first);
    if (!stream.read(chunk.data(), static_cast<std::size_t>(here * line_bytes)))
      refuse_nifti(path, "truncated or broken: its voxels end early");
    if (swapped)
      nifti_swap_Nbytes(static_cast<std::size_t>(here) * static_cast<std::size_t>(header.nx), header.nbyper,
                        chunk.data());
    for (std::int64_t l = 0; l < here; ++l)
      convert(chunk.data() + l * line_bytes, header.nx, slope, intercept, place(first + l), step);
  }
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
