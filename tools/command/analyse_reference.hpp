// `tofstream analyse --reference`: from which image on a series has converged, by the field's three measures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gadgets/io/yaml/phantom_yaml.hpp"

namespace tofstream::command {

/// Images that are one curve.
struct Study {
  std::string label;
  std::vector<std::filesystem::path> files;
};

/// Compares each image with the reference: the object is where the phantom is, the background its regions of role
/// background, else noise, else the first of role mean; and every other region's mean. Prints a line for each image,
/// and the first of ten in a row within the limits; or JSON. Throws InputError for images or a phantom that do not fit.
void analyse_against_reference(const std::vector<Study>& studies, const formats::PhantomFile& phantom,
                               const std::filesystem::path& reference, bool json);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
