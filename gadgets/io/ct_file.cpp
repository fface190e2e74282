// CTs of either format: see ct_file.hpp.
#include "gadgets/io/ct_file.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/nifti/posed_nifti.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::formats {

PosedImage read_posed_image_file(const std::filesystem::path& path) {
  if (interfile::is_image_header(path)) return {interfile::read_image(path), {}};
  return read_posed_nifti(path);
}

CtSeries read_ct_file(const std::filesystem::path& path) {
  require_readable(path);
  CtSeries ct = is_ct_series(path) ? read_ct_series(path) : CtSeries{read_posed_image_file(path), {}};
  const auto [least, most] = std::ranges::minmax(ct.posed.image.voxels.span());
  constexpr float between_air_and_water = -500;
  if (least > between_air_and_water)
    throw std::runtime_error(
        fmt::format("{}: its values go from {:g} to {:g}, and a CT in Hounsfield units has air, near -1000, "
                    "beside water at 0: is it one, and in that unit?",
                    printable(path.string()), least, most));
  return ct;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
