// Which kind of scanner an image is of: formats call the two by different names.
#pragma once

#include <string_view>

namespace tofstream {

enum class Modality {
  unknown,
  pet,    // pairs of photons from positrons
  spect,  // single photons
};

/// "PET", "SPECT"; empty: not known
constexpr std::string_view name_of(Modality modality) {
  if (modality == Modality::unknown) return {};
  return modality == Modality::pet ? "PET" : "SPECT";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
