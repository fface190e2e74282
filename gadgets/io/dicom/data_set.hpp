// A DICOM data set to be written, and the bytes of its file (PS3.10), by GDCM where the build found it. GDCM's types
// stay inside.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream::formats {

/// Whether this build can write DICOM.
bool can_write_dicom();

class DicomData {
 public:
  /// Throws std::runtime_error where the build has no GDCM.
  DicomData();
  ~DicomData();
  DicomData(DicomData&&) noexcept;
  DicomData& operator=(DicomData&&) noexcept;

  /// An element of text, padded as its value representation asks (PS3.5, 6.2). An element that is set again is
  /// replaced. `vr`: one of those that hold text.
  void text(std::uint16_t group, std::uint16_t element, std::string_view vr, std::string_view value);
  /// An unsigned number of 16 bits (US).
  void number(std::uint16_t group, std::uint16_t element, std::uint16_t value);
  /// Words of 16 bits (OW).
  void words(std::uint16_t group, std::uint16_t element, std::span<const std::int16_t> values);
  /// A sequence, which may have no item.
  void items(std::uint16_t group, std::uint16_t element, const std::vector<DicomData>& items);

  /// The file's bytes: little-endian with explicit value representations, uncompressed. The data set must name its SOP
  /// class and instance.
  std::string file_bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
