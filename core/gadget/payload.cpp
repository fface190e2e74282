#include "core/gadget/payload.hpp"

#include <boost/core/demangle.hpp>

namespace tofstream {

std::string demangled(const std::type_info& type) {
  return boost::core::demangle(type.name());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
