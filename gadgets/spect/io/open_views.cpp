// Tells formats of projection data apart by their content: see view_reader.hpp.
#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/first_bytes.hpp"
#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

std::string first_bytes_of(const fs::path& path) {
  constexpr std::size_t enough = 4096;
  std::string start(enough, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return start;
}

// A header of the same name, where someone names the data file: " (its header is beside it: scan.hs)".
std::string header_beside(const fs::path& path) {
  for (const char* suffix : {".hs", ".h00", ".h33", ".hdr", ".hv"}) {
    const fs::path header = fs::path(path).replace_extension(suffix);
    if (header != path && is_interfile(first_bytes_of(header)))
      return fmt::format(" (its header is beside it: {})", printable(header.string()));
  }
  return {};
}

enum class ViewFormat { none, interfile, dicom, nifti };

ViewFormat view_format_of(const std::string& start, const fs::path& path) {
  if (is_interfile(start)) return ViewFormat::interfile;
  const std::string name = kind_of_file(std::as_bytes(std::span(start))).name;
  if (name.find("DICOM") != std::string::npos) return ViewFormat::dicom;
  if (name.find("NIfTI") != std::string::npos || path.string().ends_with(".nii.gz")) return ViewFormat::nifti;
  return ViewFormat::none;
}

}  // namespace

bool are_views(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  const ViewFormat format = view_format_of(first_bytes_of(path), path);
  return format == ViewFormat::nifti ? has_views_yaml(path) : format != ViewFormat::none;
}

std::unique_ptr<ViewReader> open_views(const fs::path& path, const ViewOverrides& overrides) {
  require_readable(path);
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}", printable(path.string()), why));
  };
  std::error_code error;
  if (!fs::is_regular_file(path, error)) refuse("not a file");
  const std::string start = first_bytes_of(path);
  switch (view_format_of(start, path)) {
    case ViewFormat::interfile:
      return open_interfile_views(path, overrides);
    case ViewFormat::dicom:
      return open_dicom_views(path, overrides);
    case ViewFormat::nifti:
      return open_nifti_views(path, overrides);
    case ViewFormat::none:
      break;
  }
  const std::string name = kind_of_file(std::as_bytes(std::span(start))).name;
  refuse(fmt::format("this is {}; projection data are an Interfile header, DICOM NM, or NIfTI with a YAML file{}",
                     start.empty() ? "empty" : name, header_beside(path)));
  return {};
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
