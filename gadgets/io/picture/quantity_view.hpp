// Tells a picture what the values of its image are.
#pragma once

#include <filesystem>
#include <string>

#include "gadgets/io/picture/image_view.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

/// Sets the picture's unit and note (with the filter, if any) from the file's provenance; leaves them where it has none.
void tell_quantity(const std::filesystem::path& nifti, ViewSettings& settings);

/// The same from a quantity.
void tell_quantity(const Quantity& quantity, ViewSettings& settings);

/// Puts how the image was filtered ("smoothed by 5 mm FWHM"; empty: it was not) before the picture's note.
void tell_filter(const std::string& filtered, ViewSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
