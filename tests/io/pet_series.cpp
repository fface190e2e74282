// PET images written as a DICOM series, read back by pydicom and by GDCM.
#include "gadgets/io/dicom/pet_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include <doctest/doctest.h>

#include "gadgets/io/dicom/data_set.hpp"
#include "gadgets/io/dicom/dicom_file.hpp"
#include "gadgets/io/dicom/dicom_words.hpp"
#include "kernels/correct/decay.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pydicom.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace fs = std::filesystem;

namespace {

// Prints "name keyword=value" of each file, and where in the patient its largest pixel is, by PS3.3, C.7.6.2.1.1.
constexpr auto* dump_script = R"(
import os, sys, pydicom, numpy
pydicom.config.settings.reading_validation_mode = pydicom.config.RAISE
for name in sorted(os.listdir(sys.argv[1])):
    ds = pydicom.dcmread(os.path.join(sys.argv[1], name))
    for element in ds:
        if element.VR != 'SQ' and element.keyword != 'PixelData':
            print(name, element.keyword + '=' + str(element.value))
    for item in ds.RadiopharmaceuticalInformationSequence:
        for element in item:
            if element.VR != 'SQ': print(name, element.keyword + '=' + str(element.value))
        for code in item.RadionuclideCodeSequence:
            print(name, 'Radionuclide=' + code.CodeMeaning)
    lying = ds.PatientOrientationCodeSequence[0]
    print(name, 'Position=' + ds.PatientGantryRelationshipCodeSequence[0].CodeMeaning + ' '
          + lying.PatientOrientationModifierCodeSequence[0].CodeMeaning)
    values = ds.pixel_array * float(ds.RescaleSlope) + float(ds.RescaleIntercept)
    row, column = numpy.unravel_index(numpy.argmax(values), values.shape)
    along, down = numpy.array(ds.ImageOrientationPatient[:3]), numpy.array(ds.ImageOrientationPatient[3:])
    at = (numpy.array(ds.ImagePositionPatient, dtype=float) + column * float(ds.PixelSpacing[1]) * along
          + row * float(ds.PixelSpacing[0]) * down)
    print(name, 'Hottest=%.4f %.4f %.4f %.6g' % (*at, values.max()))
    print(name, 'SyntaxUID=' + ds.file_meta.TransferSyntaxUID)
    print(name, 'MetaUID=' + ds.file_meta.MediaStorageSOPInstanceUID)
)";

using Attributes = std::map<std::string, std::map<std::string, std::string>>;  // of files by name

struct SeriesFolder : PydicomFolder {
  bool is_ready() {
    if (!can_write_dicom()) {
      skip_test("GDCM in this build");
      return false;
    }
    return prepare(dump_script, [] {});
  }
  Attributes dumped(const PetSeries& series) const {
    const fs::path place = folder.path() / "pet";
    write_pet_series(place, series);
    const std::string run = fmt::format("cd {0} && {1} write.py pet > dump.txt", folder.path().string(), python);
    REQUIRE(std::system(run.c_str()) == 0);
    std::ifstream dump(folder.path() / "dump.txt");
    Attributes all;
    for (std::string name, line; dump >> name && dump.get() && std::getline(dump, line);) {
      const std::size_t equals = line.find('=');
      all[name][line.substr(0, equals)] = line.substr(equals + 1);
    }
    return all;
  }
};

// 5 x 4 x 3 voxels off the centre, of which (4, 0, 2) is the hottest.
struct OffCentre {
  PetSeries series;
  std::vector<float> voxels = std::vector<float>(60);

  OffCentre() {
    std::iota(voxels.begin(), voxels.end(), 0.0F);
    series.grid = Grid{{5, 4, 3}, {2.2F, 1.5F, 3}, {-20.3F, 7.5F, -100}};
    voxels[static_cast<std::size_t>(series.grid.index(4, 0, 2))] = 1e4F;
    series.frames = {{0, 120, voxels}};
  }
};

Quantity in_kilobecquerels() {
  Quantity quantity{.unit = "kBq/mL", .reference_s = 1};
  for (CorrectionRecord& record : quantity.corrections) record.state = CorrectionState::made;
  quantity[Correction::dead_time].state = CorrectionState::not_needed;
  correct_for_decay(quantity, {6584.04, 0});
  return quantity;
}

std::string why_not(const PetSeries& series, const fs::path& folder) {
  try {
    write_pet_series(folder, series);
  } catch (const std::exception& why) {
    return why.what();
  }
  return "written";
}

bool holds_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::map<std::string, std::string> bytes_of_files(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    all[entry.path().filename().string()] = bytes.str();
  }
  return all;
}

}  // namespace

TEST_CASE("a PET series in DICOM: a hot voxel off the centre is where it was, however the patient lay") {
  SeriesFolder folder;
  if (!folder.is_ready()) return;
  OffCentre image;
  for (const auto& [position, name, place] :
       {std::tuple{PatientPosition::HFS, "headfirst supine", "-11.5000 7.5000 -94.0000"},
        {PatientPosition::HFP, "headfirst prone", "11.5000 -7.5000 -94.0000"},
        {PatientPosition::FFS, "feet-first supine", "11.5000 7.5000 94.0000"},
        {PatientPosition::FFP, "feet-first prone", "-11.5000 -7.5000 94.0000"}}) {
    image.series.patient.position = position;
    const Attributes all = folder.dumped(image.series);
    REQUIRE(all.size() == 3);
    const auto& last = all.at("slice_0003.dcm");
    CHECK(last.at("Position") == name);
    CHECK(last.at("Hottest") == fmt::format("{} 10000", place));
  }
}

TEST_CASE("a PET series says what its values are, when they were and whose they are") {
  SeriesFolder folder;
  if (!folder.is_ready()) return;
  OffCentre image;
  const Quantity quantity = in_kilobecquerels();
  image.series.quantity = &quantity;
  image.series.patient = {
      .name = "M\xc3\xbcller^Ada", .id = "P07", .birth_date = "1970-12-31", .sex = "F", .weight_kg = 71.5};
  image.series.tracer = {.name = "FDG", .isotope = "F-18", .injected_MBq = 350, .injected_at = "2026-02-28T23:10:00"};
  image.series.scan_start = "2026-02-28T23:59:30";
  image.series.study_uid = "1.2.3.40";
  image.series.frame_of_reference_uid = "1.2.3.50";
  image.series.frames = {{60, 120, image.voxels}};
  const auto all = folder.dumped(image.series).at("slice_0003.dcm");
  const std::map<std::string, std::string> expected{{"SOPClassUID", "1.2.840.10008.5.1.4.1.1.128"},
                                                    {"SyntaxUID", "1.2.840.10008.1.2.1"},
                                                    {"Modality", "PT"},
                                                    {"PatientName", "M\xc3\xbcller^Ada"},
                                                    {"PatientID", "P07"},
                                                    {"PatientBirthDate", "19701231"},
                                                    {"PatientSex", "F"},
                                                    {"PatientWeight", "71.5"},
                                                    {"StudyInstanceUID", "1.2.3.40"},
                                                    {"FrameOfReferenceUID", "1.2.3.50"},
                                                    {"SeriesDate", "20260228"},
                                                    {"SeriesTime", "235930"},
                                                    {"AcquisitionDate", "20260301"},
                                                    {"AcquisitionTime", "000030"},
                                                    {"SeriesType", "['STATIC', 'IMAGE']"},
                                                    {"Units", "BQML"},
                                                    {"CorrectedImage", "['ATTN', 'NORM', 'RAN', 'SCAT', 'DECY']"},
                                                    {"DecayCorrection", "START"},
                                                    {"ActualFrameDuration", "120000"},
                                                    {"NumberOfSlices", "3"},
                                                    {"ImageIndex", "3"},
                                                    {"RescaleIntercept", "0"},
                                                    {"Radiopharmaceutical", "FDG"},
                                                    {"Radionuclide", "^18^Fluorine"},
                                                    {"RadionuclideTotalDose", "350000000"},
                                                    {"RadionuclideHalfLife", "6584.04"},
                                                    {"RadiopharmaceuticalStartDateTime", "20260228231000"},
                                                    {"Hottest", "-11.5000 7.5000 -94.0000 1e+07"}};
  for (const auto& attribute : expected) {
    CAPTURE(attribute.first);
    REQUIRE(all.contains(attribute.first));
    CHECK(all.at(attribute.first) == attribute.second);
  }
  CHECK_FALSE(all.contains("ImageComments"));
  CHECK_FALSE(all.contains("NumberOfTimeSlices"));
  CHECK(all.at("MetaUID") == all.at("SOPInstanceUID"));
  CHECK(std::stod(all.at("DecayFactor")) == approx(1 / mean_decay(60, 120, 6584.04)));
  // When the activity is its mean: a little before the frame's middle.
  const double at_s = std::stod(all.at("FrameReferenceTime")) / 1000;
  CHECK(at_s < 120);
  CHECK(std::exp2(-(at_s - 60) / 6584.04) == approx(mean_decay(0, 120, 6584.04)).epsilon(1e-9));
}

TEST_CASE("a PET series of relative values says so, and is anonymous") {
  SeriesFolder folder;
  if (!folder.is_ready()) return;
  OffCentre image;
  Quantity quantity{.scale = "the header has no calibration", .reference_s = 1};
  image.series.quantity = &quantity;
  const auto all = folder.dumped(image.series).at("slice_0001.dcm");
  CHECK(all.at("Units") == "PROPCPS");
  CHECK(all.at("CorrectedImage") == "");
  CHECK(all.at("DecayCorrection") == "NONE");
  CHECK_FALSE(all.contains("DecayFactor"));
  CHECK(all.at("FrameReferenceTime") == "60000");
  CHECK(all.at("PatientName") == "Anonymous");
  CHECK(all.at("SeriesDate") == "19000101");
  CHECK(all.at("AcquisitionDate") == "");
  CHECK(holds_text(all.at("ImageComments"), "Values are relative: their unit is not known. Not quantitative: the"));
  CHECK(holds_text(all.at("ImageComments"), "The scan's date and time are not known"));
  quantity.reference_s = 60;
  CHECK(pet_values(&quantity).units == "PROPCNTS");
  quantity.unit = "Bq/mL";
  CHECK(pet_values(&quantity).units == "PROPCNTS");
  CHECK(pet_values(&quantity).remarks.front() == "Values are in Bq s/mL, for which DICOM has no unit.");
}

TEST_CASE("an activity of another time than the scan's start is taken there, which DICOM asks for") {
  Quantity quantity = in_kilobecquerels();
  correct_for_decay(quantity, {100, 200});
  CHECK(quantity[Correction::decay].how == "half-life 100 s, to 200 s of scan time");
  const PetValues values = pet_values(&quantity);
  CHECK(values.factor == approx(4000));
  REQUIRE(values.remarks.size() == 1);
  CHECK(holds_text(values.remarks.front(), "corrected for decay to 200 s"));
}

TEST_CASE("frames are time slices of one dynamic series") {
  SeriesFolder folder;
  if (!folder.is_ready()) return;
  OffCentre image;
  std::vector<float> later_voxels = image.voxels;
  for (float& voxel : later_voxels) voxel *= 0.5F;
  image.series.frames = {{0, 10, image.voxels}, {10, 30, later_voxels}};
  image.series.is_dynamic = true;
  const Attributes all = folder.dumped(image.series);
  REQUIRE(all.size() == 6);
  const auto& last = all.at("frame_0002_slice_0003.dcm");
  CHECK(last.at("SeriesType") == "['DYNAMIC', 'IMAGE']");
  CHECK(last.at("NumberOfTimeSlices") == "2");
  CHECK(last.at("NumberOfSlices") == "3");
  CHECK(last.at("ImageIndex") == "6");
  CHECK(last.at("ActualFrameDuration") == "30000");
  CHECK(last.at("FrameReferenceTime") == "25000");
  CHECK(last.at("Hottest") == "-11.5000 7.5000 -94.0000 5000");
  CHECK(last.at("SeriesInstanceUID") == all.at("frame_0001_slice_0001.dcm").at("SeriesInstanceUID"));
}

TEST_CASE("voxels of a PET series are right to half a step of 16 bits of their slice's largest, of either sign") {
  if (!can_write_dicom()) return skip_test("GDCM in this build");
  const PrivateTemporaryFolder folder;
  OffCentre image;
  image.voxels[2] = -1e-3F;  // slice 1: small values, of which one is negative
  for (std::size_t i = 0; i < 20; ++i) image.voxels[i] *= 1e-3F;
  std::fill_n(image.voxels.begin() + 20, 20, 0.0F);
  write_pet_series(folder.path() / "pet", image.series);
  for (std::size_t k = 0; k < 3; ++k) {
    const DicomFile file(folder.path() / "pet" / fmt::format("slice_{:04}.dcm", k + 1));
    const double slope = file.attributes().number(0x0028, 0x1053).value_or(0);
    const std::vector<std::byte> bytes = file.pixels(40);
    double most = 0;
    for (std::size_t i = 0; i < 20; ++i) most = std::max(most, std::abs(static_cast<double>(image.voxels[20 * k + i])));
    CHECK(slope == approx(most > 0 ? most / 32767 : 1));
    for (std::size_t i = 0; i < 20; ++i) {
      std::int16_t stored = 0;
      std::memcpy(&stored, bytes.data() + 2 * i, sizeof stored);
      CHECK(std::abs(stored * slope - static_cast<double>(image.voxels[20 * k + i])) <= 0.5001 * slope);
    }
  }
}

TEST_CASE("the same PET series gives the same bytes and UIDs, another image other UIDs") {
  if (!can_write_dicom()) return skip_test("GDCM in this build");
  const PrivateTemporaryFolder folder;
  OffCentre image;
  write_pet_series(folder.path() / "a", image.series);
  write_pet_series(folder.path() / "b", image.series);
  const auto first = bytes_of_files(folder.path() / "a");
  CHECK(first == bytes_of_files(folder.path() / "b"));
  const auto uids = [&](const char* name) {
    const DicomFile file(folder.path() / name / "slice_0001.dcm");
    std::vector<std::string> all;
    for (const auto& [group, element] : {std::pair<std::uint16_t, std::uint16_t>{0x0008, 0x0018},
                                         {0x0020, 0x000d},
                                         {0x0020, 0x000e},
                                         {0x0020, 0x0052}})
      all.push_back(file.attributes().text(group, element));
    return all;
  };
  const auto before = uids("a");
  for (const std::string& uid : before) {
    CHECK(uid.starts_with("2.25."));
    CHECK_NOTHROW(require_uid("uid", uid));
  }
  CHECK(std::set<std::string>(before.begin(), before.end()).size() == 4);
  image.voxels[59] += 1;                                // of another slice
  write_pet_series(folder.path() / "a", image.series);  // in place of the earlier one
  const auto after = uids("a");
  for (std::size_t i = 0; i < 4; ++i) CHECK(after[i] != before[i]);
}

TEST_CASE("a PET series that cannot be is refused, and leaves nothing behind") {
  if (!can_write_dicom()) return skip_test("GDCM in this build");
  const PrivateTemporaryFolder folder;
  const fs::path place = folder.path() / "pet";
  OffCentre image;
  image.voxels[30] = std::numeric_limits<float>::quiet_NaN();
  CHECK(holds_text(why_not(image.series, place), "slice 2 of the image has a voxel that is nan"));
  image.voxels[30] = std::numeric_limits<float>::infinity();
  CHECK(holds_text(why_not(image.series, place), "a voxel that is inf"));
  CHECK(fs::is_empty(folder.path()));
  image.voxels[30] = 0;

  PetSeries many = image.series;
  many.frames.assign(21846, image.series.frames.front());
  CHECK(holds_text(why_not(many, place), "21846 frames of 3 slices are 65538 files, and DICOM numbers 65535"));

  fs::create_directory(place);
  std::ofstream(place / "mine.txt") << "mine";
  CHECK(holds_text(why_not(image.series, place), "the folder holds mine.txt, which is not of this DICOM series"));
  CHECK(fs::exists(place / "mine.txt"));
  std::ofstream(folder.path() / "file") << "a file";
  CHECK(holds_text(why_not(image.series, folder.path() / "file"), "a file, and no folder for a DICOM series"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 2);

  const auto why = [&](auto&& change) {
    PetSeries wrong = image.series;
    change(wrong);
    return why_not(wrong, folder.path() / "other");
  };
  CHECK(holds_text(why([](auto& s) { s.patient.id = "a\\b"; }), "patient.id: DICOM takes no backslash"));
  CHECK(holds_text(why([](auto& s) { s.study_description = std::string(65, 'x'); }), "description: 65 characters"));
  CHECK(holds_text(why([](auto& s) { s.patient.birth_date = "1970-02-30"; }), "is no date: write it as 1970-12-31"));
  CHECK(holds_text(why([](auto& s) { s.scan_start = "2026-03-01 09:30"; }), "is no time: write it as 2026-03-01T"));
  CHECK(holds_text(why([](auto& s) { s.scan_start = "2026-03-01T24:00:00"; }), "is no time"));
  CHECK(holds_text(why([](auto& s) { s.tracer.isotope = "F18"; }), "'F18' is not known"));
  for (const char* uid : {"1.2.", "1..2", "1.02", "a.b", ".1"}) {
    CAPTURE(uid);
    CHECK(holds_text(why([&](auto& s) { s.study_uid = uid; }), "is no UID"));
  }
}

TEST_CASE("numbers and times as DICOM writes them") {
  CHECK(decimal_string(0.1) == "0.1");
  CHECK(decimal_string(-0.0) == "0");
  for (const double value : {1.0 / 3, -1.0 / 3e-20, 1e300 / 3, -1e-300 / 3}) {
    CHECK(decimal_string(value).size() <= 16);
    CHECK(std::stod(decimal_string(value)) == approx(value).epsilon(1e-8));
  }
  CHECK_THROWS(decimal_string(std::numeric_limits<double>::infinity()));
  CHECK(as_written(2.2F) == 2.2);
  const DateTime time = read_date_time("t", "2026-12-31T23:59:59.5");
  CHECK(date_of(time) + time_of(time) == "20261231235959.500000");
  CHECK(date_of(later(time, 1)) + time_of(later(time, 1)) == "20270101000000.500000");
}
// SPDX-License-Identifier: Apache-2.0
