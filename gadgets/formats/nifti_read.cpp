// NIfTI-1 images read into our frame: see nifti.hpp. libniftiio reads the header and extensions;
// voxels are converted a chunk at a time, each to the place that the affine gives it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "gadgets/formats/nifti.hpp"
#include "gadgets/formats/nifti_stream.hpp"

namespace tofstream {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;
constexpr double obliqueness = 1e-4;           // what an axis may have of another, by rounding
constexpr std::uintmax_t best_deflate = 1032;  // gzip makes files smaller by no larger factor

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", path.string(), why));
}

struct Free {
  void operator()(nifti_image* image) const { nifti_image_free(image); }
};
using Header = std::unique_ptr<nifti_image, Free>;

/// True for a NIfTI-1 file whose dimensions are positive: the library prints about others.
bool is_nifti_1(const fs::path& path) {
  const int kind = is_nifti_file(path.c_str());
  if (kind != NIFTI_FTYPE_NIFTI1_1 && kind != NIFTI_FTYPE_NIFTI1_2) return false;
  int swapped = 0;
  const std::unique_ptr<nifti_1_header, decltype(&std::free)> raw(nifti_read_header(path.c_str(), &swapped, 0),
                                                                  &std::free);
  if (!raw || raw->dim[0] < 1 || raw->dim[0] > 7) return false;
  return std::all_of(raw->dim + 1, raw->dim + 1 + raw->dim[0], [](short n) { return n > 0; });
}

Header read_header(const fs::path& path) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { nifti_set_debug_level(0); });  // its errors go into ours
  std::error_code error;
  if (!fs::exists(path, error)) refuse(path, "no such file");
  if (!fs::is_regular_file(path, error)) refuse(path, "not a file");
  if (!is_nifti_1(path)) refuse(path, "not a NIfTI-1 image, or its header is broken");
  Header header(nifti_image_read(path.c_str(), 0));
  if (!header) refuse(path, "not a NIfTI-1 image, or its header is broken");
  return header;
}

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
  refuse(path, fmt::format("unknown unit of length (code {})", units));
}

/// Our grid (LPS, ascending) from the file's affine to RAS.
Placement place(const fs::path& path, const nifti_image& header) {
  if (header.sform_code <= 0 && header.qform_code <= 0)
    refuse(path, "no position in space (sform and qform codes are 0): set its affine, for example with nibabel");
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
        refuse(path, "its voxel axes are oblique to the scanner's: resample it to an axis-aligned grid");
    if (taken[world] || !std::isfinite(along) || along == 0) refuse(path, "its affine does not describe three axes");
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
    refuse(path, error.what());
  }
  return result;
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
      refuse(path, fmt::format("voxels of type {} are not read: store it as float32 or as integers of up to 32 bits",
                               nifti_datatype_string(type)));
  }
}

void check_dimensions(const fs::path& path, const nifti_image& header) {
  if (header.nx < 1 || header.ny < 1 || header.nz < 1 || header.ndim < 1 || header.ndim > 7)
    refuse(path, "its dimensions are broken");
  for (int d = 4; d <= header.ndim; ++d)
    if (header.dim[d] != 1)
      refuse(path, fmt::format("one 3D image is expected, this has {} along axis {}", header.dim[d], d));
}

/// Refuses a file too short for its voxels before memory is asked for.
void check_length(const fs::path& path, const nifti_image& header, std::uintmax_t voxel_bytes) {
  std::error_code error;
  std::uintmax_t length = fs::file_size(header.iname, error);
  if (error) refuse(path, fmt::format("its voxels are in {}, which cannot be read", header.iname));
  if (nifti_is_gzfile(header.iname)) length *= best_deflate;
  if (header.iname_offset < 0 || length < static_cast<std::uintmax_t>(header.iname_offset) + voxel_bytes)
    refuse(path, "truncated: it is shorter than its header says");
}

void check_finite(const fs::path& path, const Image& image) {
  const auto voxels = image.voxels.span();
  for (std::size_t v = 0; v < voxels.size(); ++v)
    if (!std::isfinite(voxels[v])) refuse(path, fmt::format("voxel {} is not a finite number", v));
}

}  // namespace

Image read_nifti(const fs::path& path) {
  const Header header = read_header(path);
  check_dimensions(path, *header);
  const ConvertLine convert = converter(path, header->datatype);
  const Placement placement = place(path, *header);
  const Grid& grid = placement.grid;
  const int bytes = header->nbyper;
  check_length(path, *header, static_cast<std::uintmax_t>(grid.voxels()) * static_cast<std::uintmax_t>(bytes));
  const bool scaled = header->scl_slope != 0 && std::isfinite(header->scl_slope);
  const double slope = scaled ? static_cast<double>(header->scl_slope) : 1.0;
  const double intercept = scaled ? static_cast<double>(header->scl_inter) : 0.0;

  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  std::int64_t step[3], start = 0;  // in memory, along the file's axes
  const int size[3] = {header->nx, header->ny, header->nz};
  for (int a = 0; a < 3; ++a) {
    step[a] = grid.stride(placement.axes[a].world);
    if (!placement.axes[a].flipped) continue;
    start += step[a] * (size[a] - 1);
    step[a] = -step[a];
  }
  detail::ZnzStream stream(header->iname, "rb", nifti_is_gzfile(header->iname) != 0, path);
  if (!stream.seek(header->iname_offset)) refuse(path, "truncated: it ends before its voxels");
  const std::int64_t line_bytes = std::int64_t{size[0]} * bytes, lines = std::int64_t{size[1]} * size[2];
  const std::int64_t chunk_lines = std::max<std::int64_t>(chunk_bytes / line_bytes, 1);
  std::vector<std::byte> chunk(static_cast<std::size_t>(chunk_lines * line_bytes));
  const bool swapped = bytes > 1 && header->byteorder != nifti_short_order();
  for (std::int64_t first = 0; first < lines; first += chunk_lines) {
    const std::int64_t here = std::min(chunk_lines, lines - first);
    if (!stream.read(chunk.data(), static_cast<std::size_t>(here * line_bytes)))
      refuse(path, "truncated or broken: its voxels end early");
    if (swapped)
      nifti_swap_Nbytes(static_cast<std::size_t>(here) * static_cast<std::size_t>(size[0]), bytes, chunk.data());
    for (std::int64_t l = 0; l < here; ++l) {
      const std::int64_t j = (first + l) % size[1], k = (first + l) / size[1];
      convert(chunk.data() + l * line_bytes, size[0], slope, intercept,
              image.voxels.data() + start + j * step[1] + k * step[2], step[0]);
    }
  }
  check_finite(path, image);
  return image;
}

std::string read_nifti_comment(const fs::path& path) {
  const Header header = read_header(path);
  for (int e = 0; e < header->num_ext; ++e) {
    const nifti1_extension& extension = header->ext_list[e];
    if (extension.ecode != NIFTI_ECODE_COMMENT || extension.esize <= 8) continue;
    const std::string text(extension.edata, static_cast<std::size_t>(extension.esize) - 8);
    return text.substr(0, text.find('\0'));
  }
  return {};
}

}  // namespace tofstream
