// The quantity in an image's provenance: see nifti_quantity.hpp.
#include "gadgets/io/nifti/nifti_quantity.hpp"

#include <nlohmann/json.hpp>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/quantity_json.hpp"

namespace tofstream {

std::optional<Quantity> read_nifti_quantity(const std::filesystem::path& path) try {
  const auto provenance = nlohmann::ordered_json::parse(read_nifti_comment(path), nullptr, false);
  if (!provenance.is_object() || !provenance.contains("quantity")) return std::nullopt;
  return quantity_from_json(provenance.at("quantity"));
} catch (const nlohmann::json::exception&) {
  return std::nullopt;  // from another program or version
}

std::string read_nifti_filter(const std::filesystem::path& path) {
  const auto provenance = nlohmann::ordered_json::parse(read_nifti_comment(path), nullptr, false);
  if (!provenance.is_object()) return {};
  const auto filtered = provenance.find("filtered");
  return filtered != provenance.end() && filtered->is_string() ? filtered->get<std::string>() : "";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
