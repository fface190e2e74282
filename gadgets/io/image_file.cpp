// Images of any format: see image_file.hpp.
#include "gadgets/io/image_file.hpp"

#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_quantity.hpp"

namespace tofstream {

Image read_image_file(const std::filesystem::path& path) {
  return interfile::is_image_header(path) ? interfile::read_image(path) : read_nifti(path);
}

std::vector<Image> read_image_frames(const std::filesystem::path& path) {
  if (!interfile::is_image_header(path)) return read_nifti_volumes(path);
  std::vector<Image> one;
  one.push_back(interfile::read_image(path));
  return one;
}

std::optional<Quantity> quantity_of_image_file(const std::filesystem::path& path) {
  if (interfile::is_image_header(path)) return {};
  return read_nifti_quantity(path);
}

bool is_image_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  return name.ends_with(".nii") || name.ends_with(".nii.gz") || interfile::is_image_header(path);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
