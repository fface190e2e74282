// What DICOM attributes hold, made and checked: numbers and dates as text (PS3.5, 6.2), and UIDs (PS3.5, 9 and B.2).
#pragma once

#include <string>
#include <string_view>

#include "gadgets/io/date_time.hpp"

namespace tofstream::formats {

/// A decimal string (DS) of at most 16 characters, with as many digits as these hold. Throws std::invalid_argument for
/// what is no finite number.
std::string decimal_string(double value);
/// The same of a float as it was written, so that 2.2F is 2.2.
double as_written(float value);

/// Throws std::invalid_argument "`what` ..." for text of more than 64 characters, or with a backslash or a control
/// character, which DICOM's short texts (LO, PN) do not hold.
void require_dicom_text(std::string_view what, std::string_view text);
/// Likewise for what is no UID: numbers without leading zeros, joined by points, 64 characters at most. Empty is taken.
void require_uid(std::string_view what, std::string_view uid);

/// "2026-03-01" as DICOM has it: "20260301"; empty stays empty. Throws as read_date does.
std::string read_dicom_date(std::string_view what, const std::string& text);
/// DA and TM: "20260301", "093000" or "093000.250000".
std::string date_of(DateTime time);
std::string time_of(DateTime time);

/// UIDs that follow from content: 2.25 and a UUID of version 8 (RFC 9562, 5.8) of BLAKE2b over all that was added. The
/// same content gives the same UIDs in every run.
class ContentUids {
 public:
  ContentUids();
  void add(std::string_view bytes);
  /// `purpose` tells apart what the same content has UIDs for.
  std::string uid(std::string_view purpose) const;

 private:
  std::string digest_;
};

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
