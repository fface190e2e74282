// A DICOM file by GDCM, where the build found it: attributes as text and numbers, and pixels. GDCM's types stay inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tofstream::formats {

/// Whether a file begins as DICOM's do (PS3.10, 7.1).
bool is_dicom_file(const std::filesystem::path& path);
/// Those in a folder, by name; of a path that is no folder itself alone.
std::vector<std::filesystem::path> dicom_files(const std::filesystem::path& path);

class DicomFile;

/// A data set, or an item of a sequence. Lives as long as its file.
class DicomItem {
 public:
  /// Without blanks at its end; empty where the element is not there.
  std::string text(std::uint16_t group, std::uint16_t element) const;
  /// All values; empty where the element is not there, has none, or has one that is no finite number.
  std::vector<double> numbers(std::uint16_t group, std::uint16_t element) const;
  std::optional<double> number(std::uint16_t group, std::uint16_t element) const;
  /// The items of a sequence; none where it is not there.
  std::vector<DicomItem> items(std::uint16_t group, std::uint16_t element) const;

 private:
  friend class DicomFile;
  DicomItem(const DicomFile& file, const void* data) : file_(&file), data_(data) {}
  const DicomFile* file_;
  const void* data_;  // GDCM's
};

/// Every function, and those of the items, may throw std::runtime_error "file: what, and what to do".
class DicomFile {
 public:
  /// Reads the attributes. Throws for a file that is cut short or broken, and where the build has no GDCM.
  explicit DicomFile(std::filesystem::path path);
  ~DicomFile();
  DicomFile(const DicomFile&) = delete;
  DicomFile& operator=(const DicomFile&) = delete;

  DicomItem attributes() const;
  /// All pixels, uncompressed, in the machine's byte order, if there are so many bytes of them.
  std::vector<std::byte> pixels(std::uintmax_t wanted) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  friend class DicomItem;
  struct Parts;
  std::filesystem::path path_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
