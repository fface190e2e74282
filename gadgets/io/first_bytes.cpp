// Signatures of formats that people have beside PETSIRD: see first_bytes.hpp.
#include "gadgets/io/first_bytes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tofstream {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t at;
  std::string_view bytes;
  const char* name;
  const char* unpack = "";
};

constexpr std::array signatures = {
    Signature{0, "yardl"sv, petsird_name},
    Signature{0, "\x1f\x8b"sv, "a gzip file", "gzip -d"},
    Signature{0, "PK\x03\x04"sv, "a zip archive", "unzip"},
    Signature{0, "\x28\xb5\x2f\xfd"sv, "a zstd file", "zstd -d"},
    Signature{0,
              "\xfd"
              "7zXZ\0"sv,
              "an xz file", "xz -d"},
    Signature{0, "BZh"sv, "a bzip2 file", "bzip2 -d"},
    Signature{0, "root"sv, root_name},
    Signature{0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    Signature{0, "\x93NUMPY"sv, "a NumPy array"},
    Signature{0, "MATLAB 5.0 MAT"sv, "a MATLAB file"},
    Signature{0, "MATRIX7"sv, "an ECAT 7 file"},
    Signature{128, "DICM"sv, "a DICOM file"},
    Signature{344, "n+1\0"sv, "a NIfTI image"},
    Signature{344, "ni1\0"sv, "a NIfTI header"},
};

bool is_text(std::string_view start) {
  return std::ranges::all_of(start, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isprint(byte) != 0 || std::isspace(byte) != 0;
  });
}

// Formats whose files are text are told apart by their words.
const char* kind_of_text(std::string_view start) {
  const auto holds = [&](std::string_view words) { return start.find(words) != std::string_view::npos; };
  if (holds("!INTERFILE") || holds("!interfile")) return "an Interfile header";
  if (holds("Data filename:") && (holds("Scanner name:") || holds("Data mode:"))) return castor_name;
  const auto first = std::ranges::find_if(start, [](unsigned char c) { return std::isspace(c) == 0; });
  if (first != start.end() && *first == '{') return "JSON";
  return "text";
}

}  // namespace

FileKind kind_of_file(std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& one : signatures)
    if (start.size() >= one.at + one.bytes.size() && start.substr(one.at, one.bytes.size()) == one.bytes)
      return {one.name, one.unpack};
  if (!start.empty() && is_text(start.substr(0, 4096))) return {kind_of_text(start.substr(0, 4096)), ""};
  return {"unknown data", ""};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
