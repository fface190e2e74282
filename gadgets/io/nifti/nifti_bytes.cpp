// NIfTI files, plain or compressed: see nifti_bytes.hpp.
#include "gadgets/io/nifti/nifti_bytes.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/nifti/gzip.hpp"

namespace tofstream::detail {

namespace {

bool is_gzip_name(const std::filesystem::path& path) {
  return path.extension() == ".gz" && path.stem().extension() == ".nii";
}

}  // namespace

void check_nifti_name(const std::filesystem::path& path) {
  if (!is_gzip_name(path) && path.extension() != ".nii")
    throw std::invalid_argument(fmt::format("{}: the name of a NIfTI file ends in .nii or .nii.gz", path.string()));
}

void write_nifti_bytes(const std::filesystem::path& path, std::span<const std::byte> head,
                       std::span<const std::byte> voxels) {
  check_nifti_name(path);
  AtomicFile file(path);
  const std::array parts = {head, voxels};
  const auto write = [&](std::span<const std::byte> bytes) { file.write(bytes); };
  if (is_gzip_name(path)) {
    write_gzip(parts, write);
  } else {
    for (const auto& part : parts) write(part);
  }
  file.commit();
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
