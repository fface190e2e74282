// Values of Interfile keys, read with their limits: what headers of images and of projection data have in common.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/raw_pixels.hpp"

namespace tofstream::interfile {

/// A word as it is compared: without blanks, underscores and hyphens, in small letters.
std::string folded_word(std::string text);

/// Every function throws as InterfileHeader::refuse does, with the key, its limits and what was found.
class Keys {
 public:
  explicit Keys(const formats::InterfileHeader& header) : header_(header) {}

  /// The last line of a key that has a value, as STIR takes it; null where there is none. `keys`: the key, then older
  /// names of it.
  const formats::InterfileEntry* find(std::initializer_list<const char*> keys, int index = 1) const;
  const formats::InterfileEntry& need(std::initializer_list<const char*> keys, const char* why, int index = 1) const;
  int whole(const formats::InterfileEntry& entry, int lo, int hi) const;
  double number(const formats::InterfileEntry& entry, double lo, double hi) const;
  std::vector<int> wholes(const formats::InterfileEntry& entry, int lo, int hi) const;
  const formats::InterfileHeader& header() const { return header_; }

 private:
  const formats::InterfileHeader& header_;
};

/// The format and byte order of the numbers.
formats::RawPixels number_format(const Keys& keys);

/// The folded word of a file's 'PET data type'; nothing where it is no Interfile header or has none.
std::optional<std::string> data_type_of(const std::filesystem::path& file);

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
