// Tells a picture what the values of its image are.
#pragma once

#include <filesystem>

#include "gadgets/io/picture/image_view.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

/// Sets the picture's unit and note from the file's provenance; leaves them where it has none.
void tell_quantity(const std::filesystem::path& nifti, ViewSettings& settings);

/// The same from a quantity.
void tell_quantity(const Quantity& quantity, ViewSettings& settings);

}  // namespace tofstream
