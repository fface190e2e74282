// Projection data in DICOM NM, where the build found GDCM.
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace tofstream::formats {

std::unique_ptr<ViewReader> open_dicom_views(const std::filesystem::path& path, const ViewOverrides& /*overrides*/) {
  throw std::runtime_error(
      fmt::format("{}: this build has no DICOM reader: build with libgdcm-dev", printable(path.string())));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
