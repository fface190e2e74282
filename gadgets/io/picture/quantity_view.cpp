// What a picture says about its values: see quantity_view.hpp.
#include "gadgets/io/picture/quantity_view.hpp"

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti_quantity.hpp"

namespace tofstream {

void tell_quantity(const Quantity& quantity, ViewSettings& settings) {
  settings.unit = unit_of(quantity);
  const auto reasons = not_quantitative_because(quantity);
  if (!reasons.empty()) settings.note = fmt::format("not quantitative: {}", fmt::join(reasons, "; "));
}

void tell_quantity(const std::filesystem::path& nifti, ViewSettings& settings) {
  if (const auto quantity = read_nifti_quantity(nifti)) tell_quantity(*quantity, settings);
  tell_filter(read_nifti_filter(nifti), settings);
}

void tell_filter(const std::string& filtered, ViewSettings& settings) {
  if (filtered.empty()) return;
  settings.note = settings.note.empty() ? filtered : filtered + "; " + settings.note;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
