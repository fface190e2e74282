// DICOM files by GDCM: see dicom_file.hpp.
#include "gadgets/io/dicom/dicom_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"

#ifdef TOFSTREAM_HAVE_GDCM

#include <charconv>
#include <cmath>
#include <span>

#include <gdcmPixmapReader.h>
#include <gdcmReader.h>
#include <gdcmStringFilter.h>
#include <gdcmTrace.h>

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

/// The bytes of a file, for GDCM, which takes a file that is cut short for a whole one, or ends the program by an
/// assertion: reading beyond the end throws, but where the next element would begin.
class WholeFile : public std::filebuf {
 public:
  struct CutShort {};

 protected:
  std::streamsize xsgetn(char* to, std::streamsize wanted) override {
    const std::streamsize found = std::filebuf::xsgetn(to, wanted);
    constexpr std::streamsize tag = 4;
    if (found < wanted && (found > 0 || wanted != tag || std::exchange(has_ended_, true))) throw CutShort{};
    return found;
  }

 private:
  bool has_ended_ = false;
};

// Whether the file ends within its first group, of which GDCM asserts that it is whole (PS3.10, 7.1).
bool ends_in_first_group(const fs::path& path) {
  constexpr std::size_t start = 132, length_at = 140, group_at = 144;
  constexpr unsigned char length_of_group[] = {2, 0, 0, 0, 'U', 'L', 4, 0};
  unsigned char head[group_at] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head), sizeof head);
  if (!file) return true;
  if (!std::ranges::equal(length_of_group, std::span(head).subspan(start, sizeof length_of_group))) return false;
  std::uintmax_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= static_cast<std::uintmax_t>(head[length_at + i]) << (8 * i);
  std::error_code error;
  return fs::file_size(path, error) <= group_at + length || error;
}

const gdcm::DataSet& data_set(const void* data) {
  return *static_cast<const gdcm::DataSet*>(data);
}

[[noreturn]] void refuse_broken(const DicomFile& file, const gdcm::Exception& error) {
  file.refuse(fmt::format("a DICOM file that is broken: {}", printable(error.what())));
}

}  // namespace

struct DicomFile::Parts {
  gdcm::Reader reader;
  gdcm::StringFilter filter;
  std::vector<gdcm::SmartPointer<gdcm::SequenceOfItems>> kept;  // the items that were given out

  const gdcm::TransferSyntax& transfer_syntax() const {
    return reader.GetFile().GetHeader().GetDataSetTransferSyntax();
  }
  // GDCM believes the attributes of uncompressed pixels, and gives what is not there as if it were.
  bool has_bytes(std::uintmax_t wanted) const {
    const gdcm::Tag pixels(0x7fe0, 0x0010);
    if (transfer_syntax().IsEncapsulated()) return true;
    if (!reader.GetFile().GetDataSet().FindDataElement(pixels)) return false;
    const gdcm::ByteValue* bytes = reader.GetFile().GetDataSet().GetDataElement(pixels).GetByteValue();
    return bytes && bytes->GetLength() >= wanted;
  }
  bool read(const fs::path& path) {
    WholeFile bytes;
    bytes.open(path.c_str(), std::ios::in | std::ios::binary);
    std::istream stream(&bytes);
    stream.exceptions(std::ios::badbit);  // so that what the buffer throws comes out
    reader.SetStream(stream);
    if (!reader.Read()) return false;
    filter.SetFile(reader.GetFile());
    return true;
  }
};

std::string DicomItem::text(std::uint16_t group, std::uint16_t element) const try {
  const gdcm::Tag tag(group, element);
  const gdcm::DataSet& data = data_set(data_);
  if (!data.FindDataElement(tag)) return {};
  std::string text = file_->parts_->filter.ToString(data.GetDataElement(tag));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
} catch (const gdcm::Exception& error) {
  refuse_broken(*file_, error);
}

std::vector<double> DicomItem::numbers(std::uint16_t group, std::uint16_t element) const {
  const std::string all = text(group, element);
  std::vector<double> values;
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\\'), rest.size());
    std::string_view one = rest.substr(0, end);
    while (one.starts_with(' ') || one.starts_with('+')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (error != std::errc{} || stop != one.data() + one.size() || !std::isfinite(value)) return {};
    values.push_back(value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

std::optional<double> DicomItem::number(std::uint16_t group, std::uint16_t element) const {
  const auto values = numbers(group, element);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

std::vector<DicomItem> DicomItem::items(std::uint16_t group, std::uint16_t element) const try {
  const gdcm::Tag tag(group, element);
  const gdcm::DataSet& data = data_set(data_);
  std::vector<DicomItem> found;
  if (!data.FindDataElement(tag)) return found;
  const auto sequence = data.GetDataElement(tag).GetValueAsSQ();
  if (!sequence) return found;
  file_->parts_->kept.push_back(sequence);
  for (std::size_t i = 1; i <= sequence->GetNumberOfItems(); ++i)
    found.push_back(DicomItem(*file_, &sequence->GetItem(i).GetNestedDataSet()));
  return found;
} catch (const gdcm::Exception& error) {
  refuse_broken(*file_, error);
}

DicomFile::DicomFile(fs::path path) : path_(std::move(path)), parts_(std::make_unique<Parts>()) {
  gdcm::Trace::WarningOff();  // our errors say what is wrong
  gdcm::Trace::ErrorOff();
  if (ends_in_first_group(path_)) refuse("a DICOM file that is cut short");
  try {
    if (parts_->read(path_)) return;
  } catch (const WholeFile::CutShort& /*error*/) {
    refuse("a DICOM file that is cut short");
  } catch (const gdcm::Exception& error) {
    refuse_broken(*this, error);
  }
  refuse("a DICOM file that is cut short or broken");
}

DicomItem DicomFile::attributes() const {
  return {*this, &parts_->reader.GetFile().GetDataSet()};
}

std::vector<std::byte> DicomFile::pixels(std::uintmax_t wanted) const try {
  if (!parts_->has_bytes(wanted))
    refuse(fmt::format("it has no pixels, or not the {} bytes that its attributes describe", wanted));
  gdcm::PixmapReader reader;  // an ImageReader ends the program where a patient position is not there
  reader.SetFileName(path_.c_str());
  const bool is_read = reader.Read();
  const std::uintmax_t found = is_read ? reader.GetPixmap().GetBufferLength() : 0;
  constexpr std::uintmax_t best_compression = 1000;
  std::error_code error;
  if (is_read && found == wanted && wanted / best_compression <= fs::file_size(path_, error) && !error) {
    std::vector<std::byte> bytes(wanted);
    if (reader.GetPixmap().GetBuffer(reinterpret_cast<char*>(bytes.data()))) return bytes;
  }
  if (parts_->transfer_syntax().IsEncapsulated())
    refuse(
        fmt::format("its compressed pixels (transfer syntax {}) are broken, or of a kind that GDCM cannot "
                    "read: store them uncompressed, for example by gdcmconv --raw",
                    parts_->transfer_syntax().GetString()));
  refuse(fmt::format("it has no pixels, or not the {} bytes that its attributes describe", wanted));
} catch (const gdcm::Exception& error) {
  refuse_broken(*this, error);
}

}  // namespace tofstream::formats

#else

namespace tofstream::formats {

struct DicomFile::Parts {};

std::string DicomItem::text(std::uint16_t, std::uint16_t) const {
  return {};
}
std::vector<double> DicomItem::numbers(std::uint16_t, std::uint16_t) const {
  return {};
}
std::optional<double> DicomItem::number(std::uint16_t, std::uint16_t) const {
  return {};
}
std::vector<DicomItem> DicomItem::items(std::uint16_t, std::uint16_t) const {
  return {};
}

DicomFile::DicomFile(std::filesystem::path path) : path_(std::move(path)) {
  refuse("this build has no DICOM reader: build with libgdcm-dev");
}
DicomItem DicomFile::attributes() const {
  return {*this, nullptr};
}
std::vector<std::byte> DicomFile::pixels(std::uintmax_t) const {
  return {};
}

}  // namespace tofstream::formats

#endif

namespace tofstream::formats {

DicomFile::~DicomFile() = default;

void DicomFile::refuse(const std::string& why) const {
  throw std::runtime_error(fmt::format("{}: {}", printable(path_.string()), why));
}

}  // namespace tofstream::formats

namespace tofstream::formats {

bool is_dicom_file(const std::filesystem::path& path) {
  constexpr std::streamoff preamble = 128;
  std::array<char, 4> mark{};
  std::ifstream file(path, std::ios::binary);
  file.seekg(preamble);
  return file.read(mark.data(), mark.size()) && std::string_view(mark.data(), mark.size()) == "DICM";
}

std::vector<std::filesystem::path> dicom_files(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(path)) return {path};
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file() && is_dicom_file(entry.path())) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
