// What an image file of ours says that its values are.
#pragma once

#include <filesystem>
#include <optional>

#include "kernels/types/quantity.hpp"

namespace tofstream {

/// From the provenance in a NIfTI file; nothing where it has none, or not ours. Throws std::runtime_error as
/// read_nifti_comment does.
std::optional<Quantity> read_nifti_quantity(const std::filesystem::path& path);

}  // namespace tofstream
