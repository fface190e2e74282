// What a projector reported: see make_projector.hpp.
#include "tools/c/make_projector.hpp"

namespace tofstream::c_api {

std::string report_of(const GadgetRecord& record) {
  std::string text;
  for (const auto& [key, value] : record.figures())
    if (const auto* words = std::get_if<std::string>(&value))
      text += fmt::format("{}: {}\n", key, *words);
    else if (const auto* number = std::get_if<double>(&value))
      text += fmt::format("{}: {:g}\n", key, *number);
    else if (const auto* whole = std::get_if<std::int64_t>(&value))
      text += fmt::format("{}: {}\n", key, *whole);
  return text;
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
