// Images as STIR writes them: see image_file.hpp.
#include "gadgets/io/interfile/image_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"
#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/interfile/keys.hpp"
#include "gadgets/io/raw_pixels.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::interfile {
namespace {

using formats::InterfileEntry;
using formats::InterfileHeader;

struct ImageHeader {
  Grid grid;
  formats::RawPixels numbers;
  std::filesystem::path data;
  std::int64_t offset = 0;
  float scale = 1;
};

ImageHeader image_header(const InterfileHeader& parsed, const std::filesystem::path& file) {
  Keys keys(parsed);
  constexpr const char* why = "images of PET have the axes x, y and z";
  if (const InterfileEntry* type = keys.find({"PET data type"}); type && folded_word(type->value) != "image")
    parsed.refuse(type, "these are projection data, and no image: interfile_source reads them");
  for (const char* key : {"number of time frames", "number of image data types"})
    if (const InterfileEntry* entry = keys.find({key}); entry && keys.number(*entry, 0, 1e6) > 1)
      parsed.refuse(entry, fmt::format("{} '{}': write each into a file of its own", printable(entry->value),
                                       printable(entry->key)));
  const InterfileEntry& dimensions = keys.need({"number of dimensions"}, why);
  if (keys.whole(dimensions, 1, 10) != 3) parsed.refuse(&dimensions, why);
  ImageHeader header;
  double voxel[3], first[3];
  for (int axis = 0; axis < 3; ++axis) {
    const char* const label = axis == 0 ? "x" : axis == 1 ? "y" : "z";
    if (const InterfileEntry* entry = keys.find({"matrix axis label"}, axis + 1);
        entry && folded_word(entry->value) != label)
      parsed.refuse(entry, fmt::format("axis {} must be {}", axis + 1, label));
    header.grid.size[axis] = keys.whole(keys.need({"matrix size"}, why, axis + 1), 1, 4096);
    voxel[axis] = keys.number(keys.need({"scaling factor (mm/pixel)"}, why, axis + 1), 1e-6, 1e6);
    const int n = header.grid.size[axis];
    const InterfileEntry* offset = keys.find({"first pixel offset (mm)"}, axis + 1);
    first[axis] = offset ? keys.number(*offset, -1e6, 1e6) : axis < 2 ? -(n / 2) * voxel[axis] : 0;
  }
  header.grid.voxel_mm = Vec3d{voxel[0], voxel[1], voxel[2]}.as<float>();
  // Our first plane is the file's last.
  header.grid.origin_mm =
      Vec3d{first[0], first[1], -(first[2] + 0.5 * (header.grid.size[2] - 1) * voxel[2])}.as<float>();
  header.numbers = number_format(keys);
  header.data = file.parent_path() / keys.need({"name of data file"}, "where are the numbers?").value;
  if (const InterfileEntry* offset = keys.find({"data offset in bytes"}))
    header.offset = parsed.whole(*offset, 0, std::int64_t{1} << 50);
  if (const InterfileEntry* scale = keys.find({"image scaling factor", "quantification units"}))
    header.scale = static_cast<float>(keys.number(*scale, 1e-30, 1e30));
  return header;
}

// The data file, which has as many bytes as the header says.
std::ifstream open_numbers(const ImageHeader& header, const std::filesystem::path& file) {
  require_readable(header.data, fmt::format("'name of data file' of {} names it", printable(file.string())));
  std::error_code none;
  const auto found = static_cast<std::int64_t>(std::filesystem::file_size(header.data, none));
  const std::int64_t wanted = header.offset + header.grid.voxels() * header.numbers.bytes;
  if (none || found != wanted)
    throw std::runtime_error(fmt::format(
        "{}: {} bytes, and {} describes {}: {}", printable(header.data.string()), found, printable(file.string()),
        wanted, found < wanted ? "it is cut short, or another image's" : "it is longer, or another image's"));
  std::ifstream stream(header.data, std::ios::binary);
  stream.seekg(header.offset);
  return stream;
}

}  // namespace

Image read_image(const std::filesystem::path& file) {
  const ImageHeader header = image_header(formats::read_interfile(file), file);
  std::ifstream stream = open_numbers(header, file);
  Image image{header.grid, Buffer<float>(Memory::host, header.grid.voxels())};
  const auto plane = static_cast<std::size_t>(header.grid.stride(2));
  std::vector<std::byte> bytes(plane * static_cast<std::size_t>(header.numbers.bytes));
  for (int k = header.grid.size[2] - 1; k >= 0; --k) {
    stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!stream)
      throw std::runtime_error(fmt::format("{}: cannot be read to its end", printable(header.data.string())));
    const std::span<float> voxels = image.voxels.span().subspan(static_cast<std::size_t>(k) * plane, plane);
    formats::decode_pixels(header.numbers, bytes, voxels);
    for (float& voxel : voxels) {
      voxel *= header.scale;
      if (!std::isfinite(voxel))
        throw std::runtime_error(fmt::format("{}: a voxel is not finite", printable(header.data.string())));
    }
  }
  return image;
}

void write_image(const std::filesystem::path& file, const Image& image, std::string_view name) {
  if (file.extension() != ".hv")
    throw std::invalid_argument(fmt::format("an image of Interfile must end in .hv, not {}", file.string()));
  const Grid& grid = image.grid;
  validate(grid);
  const std::filesystem::path data = std::filesystem::path(file).replace_extension(".v");
  const auto voxel = grid.voxel_mm.as<double>(), origin = grid.origin_mm.as<double>();
  const double first[3] = {origin.x, origin.y, -(origin.z + 0.5 * (grid.size[2] - 1) * voxel.z)};
  std::string text = fmt::format(
      "!INTERFILE  :=\n!imaging modality := PT\noriginating system := {}\n!version of keys := STIR6.0\n"
      "name of data file := {}\n!GENERAL DATA :=\npatient orientation := head_in\npatient rotation := supine\n"
      "!GENERAL IMAGE DATA :=\n!type of data := PET\nimagedata byte order := LITTLEENDIAN\n!PET STUDY (General) :=\n"
      "!PET data type := Image\nprocess status := Reconstructed\n!number format := float\n"
      "!number of bytes per pixel := 4\nnumber of dimensions := 3\n",
      printable(std::string(name)), data.filename().string());
  for (int axis = 0; axis < 3; ++axis)
    text += fmt::format(
        "matrix axis label [{0}] := {1}\n!matrix size [{0}] := {2}\nscaling factor (mm/pixel) [{0}] := {3}\n", axis + 1,
        "xyz"[axis], grid.size[axis], voxel[axis]);
  for (int axis = 0; axis < 3; ++axis)
    text += fmt::format("first pixel offset (mm) [{}] := {}\n", axis + 1, first[axis]);
  text += "number of time frames := 1\n!END OF INTERFILE :=\n";
  AtomicFile numbers(data), header(file);
  static_assert(std::endian::native == std::endian::little, "voxels are written as memory holds them");
  const auto plane = static_cast<std::size_t>(grid.stride(2));
  for (int k = grid.size[2] - 1; k >= 0; --k)
    numbers.write(std::as_bytes(image.voxels.span().subspan(static_cast<std::size_t>(k) * plane, plane)));
  header.write(text);
  numbers.commit();
  header.commit();
}

bool is_image_header(const std::filesystem::path& file) {
  const auto type = data_type_of(file);
  return type && *type == "image";
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
