// Formats of recordings whose header can hold a normalisation. A family registers, by TOFSTREAM_KIND, how its own is
// put there.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/plugin/kind_table.hpp"

namespace tofstream {

struct HeaderNormaliser {
  std::string name;  // of the format: "PETSIRD"
  /// Writes the recording, with the normalisation in its header and its data unchanged, to `sink`; returns what the
  /// header has now. Throws std::runtime_error of one line, with the file, for files that are wrong or do not fit.
  nlohmann::ordered_json (*write)(const std::filesystem::path& recording, const std::filesystem::path& normalisation,
                                  const std::function<void(std::span<const std::byte>)>& sink) = nullptr;

  static constexpr KindWords called = {"format with a normalisation in its header",
                                       "formats with a normalisation in their headers", "name"};
  const std::string& id() const { return name; }
  std::string problem() const;
};

extern template KindTable<HeaderNormaliser>& table_of<HeaderNormaliser>();
extern template struct KindRegistration<HeaderNormaliser>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
