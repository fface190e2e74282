// DICOM data sets by GDCM: see data_set.hpp.
#include "gadgets/io/dicom/data_set.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

#ifdef TOFSTREAM_HAVE_GDCM

#include <sstream>

#include <gdcmFile.h>
#include <gdcmSequenceOfItems.h>
#include <gdcmTrace.h>
#include <gdcmWriter.h>

namespace tofstream::formats {

bool can_write_dicom() {
  return true;
}

struct DicomData::Parts {
  gdcm::DataSet data;

  void insert(const gdcm::Tag& tag, gdcm::VR::VRType vr, const std::string& bytes) {
    gdcm::DataElement element(tag, 0, vr);
    element.SetByteValue(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    data.Replace(element);
  }
};

DicomData::DicomData() : parts_(std::make_unique<Parts>()) {}

void DicomData::text(std::uint16_t group, std::uint16_t element, std::string_view vr, std::string_view value) {
  std::string padded(value);
  if (padded.size() % 2 == 1) padded += vr == "UI" ? '\0' : ' ';
  parts_->insert({group, element}, gdcm::VR::GetVRType(std::string(vr).c_str()), padded);
}

void DicomData::number(std::uint16_t group, std::uint16_t element, std::uint16_t value) {
  const char bytes[] = {static_cast<char>(value & 0xff), static_cast<char>(value >> 8)};
  parts_->insert({group, element}, gdcm::VR::US, {bytes, sizeof bytes});
}

void DicomData::words(std::uint16_t group, std::uint16_t element, std::span<const std::int16_t> values) {
  static_assert(std::endian::native == std::endian::little, "words are written as they lie in memory");
  std::string bytes(values.size_bytes(), '\0');
  std::memcpy(bytes.data(), values.data(), values.size_bytes());
  parts_->insert({group, element}, gdcm::VR::OW, bytes);
}

void DicomData::items(std::uint16_t group, std::uint16_t element, const std::vector<DicomData>& items) {
  const gdcm::SmartPointer<gdcm::SequenceOfItems> sequence = new gdcm::SequenceOfItems;
  sequence->SetLengthToUndefined();
  for (const DicomData& data : items) {
    gdcm::Item item;
    item.SetVLToUndefined();
    item.SetNestedDataSet(data.parts_->data);
    sequence->AddItem(item);
  }
  gdcm::DataElement made({group, element}, 0, gdcm::VR::SQ);
  made.SetValue(*sequence);
  made.SetVLToUndefined();
  parts_->data.Replace(made);
}

std::string DicomData::file_bytes() const {
  gdcm::Trace::WarningOff();
  gdcm::Writer writer;
  writer.GetFile().SetDataSet(parts_->data);
  writer.GetFile().GetHeader().SetDataSetTransferSyntax(gdcm::TransferSyntax::ExplicitVRLittleEndian);
  std::ostringstream bytes;
  writer.SetStream(bytes);
  if (!writer.Write()) throw std::runtime_error("GDCM does not write this DICOM data set");
  return std::move(bytes).str();
}

}  // namespace tofstream::formats

#else

namespace tofstream::formats {

struct DicomData::Parts {};

bool can_write_dicom() {
  return false;
}
DicomData::DicomData() {
  throw std::runtime_error("this build has no DICOM writer: build with libgdcm-dev");
}
void DicomData::text(std::uint16_t, std::uint16_t, std::string_view, std::string_view) {}
void DicomData::number(std::uint16_t, std::uint16_t, std::uint16_t) {}
void DicomData::words(std::uint16_t, std::uint16_t, std::span<const std::int16_t>) {}
void DicomData::items(std::uint16_t, std::uint16_t, const std::vector<DicomData>&) {}
std::string DicomData::file_bytes() const {
  return {};
}

}  // namespace tofstream::formats

#endif

namespace tofstream::formats {

DicomData::~DicomData() = default;
DicomData::DicomData(DicomData&&) noexcept = default;
DicomData& DicomData::operator=(DicomData&&) noexcept = default;

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
