// The table of formats whose headers hold normalisations: see header_normalisers.hpp.
#include "gadgets/io/header_normalisers.hpp"

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<HeaderNormaliser>& table_of<HeaderNormaliser>();
template struct KindRegistration<HeaderNormaliser>;

std::string HeaderNormaliser::problem() const {
  return !name.empty() && write ? "" : "the format '" + name + "' lacks its name or write";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
