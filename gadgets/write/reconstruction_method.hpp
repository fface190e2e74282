// How an image was reconstructed, in the words of the field: for formats that ask for it.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "core/run/run_control.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

/// "OSEM", by the name of the run's only gadget of updates, osem_update; empty where there is none, or several.
inline std::string reconstruction_method(Context& context) {
  if (!context.control()) return {};
  constexpr std::string_view ending = "_update";
  std::string method;
  for (const GadgetReport& gadget : context.control()->snapshot().gadgets) {
    if (!gadget.use.ends_with(ending)) continue;
    if (!method.empty()) return {};
    method = gadget.use.substr(0, gadget.use.size() - ending.size());
  }
  std::ranges::replace(method, '_', '-');
  std::ranges::transform(method, method.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return method;
}

/// {{"iterations", 3}, {"subsets", 8}}; of a live scan, which has no iterations before it has ended, {{"updates", 120}}.
inline std::vector<std::pair<std::string, double>> reconstruction_settings(const UpdateStep& step) {
  if (step.subsets == 0 && step.update > 0) return {{"updates", static_cast<double>(step.update)}};
  return {{"iterations", step.iteration}, {"subsets", step.subsets}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
