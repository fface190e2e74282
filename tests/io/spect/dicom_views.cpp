// Projection data in DICOM NM, written by pydicom: vectors of detectors, windows and views, a known point where it is,
// and what is refused. Built without GDCM, the reader says so.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/private_folder.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "tests/support/pydicom.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

namespace fs = std::filesystem;

/// Two heads from the back and the front, counter-clockwise in two steps of 90 degrees; 16 x 8 pixels of 10 x 5 mm, the
/// rows from the head down. In each frame the point of 35 mm to the left, 15 to the front and 7.5 to the head: 3 counts
/// in window 1, 5 in window 2. `change` is Python that changes `ds` before it is written.
constexpr auto* dicom_script = R"(
import sys
import numpy
import pydicom
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

def item(**values):
    made = Dataset()
    for key, value in values.items():
        setattr(made, key, value)
    return made

meta = FileMetaDataset()
meta.MediaStorageSOPClassUID = '1.2.840.10008.5.1.4.1.1.20'
meta.MediaStorageSOPInstanceUID = generate_uid()
meta.TransferSyntaxUID = ExplicitVRLittleEndian
ds = FileDataset(sys.argv[1], {}, file_meta=meta, preamble=b'\0' * 128)
ds.is_little_endian, ds.is_implicit_VR = True, False
ds.SOPClassUID = meta.MediaStorageSOPClassUID
ds.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
ds.Modality, ds.Manufacturer, ds.ManufacturerModelName = 'NM', 'Maker', 'Twin'
ds.ImageType = ['ORIGINAL', 'PRIMARY', 'TOMO', 'EMISSION']
ds.Rows, ds.Columns, ds.NumberOfFrames = 8, 16, 8
ds.PixelSpacing = [5, 10]
ds.SamplesPerPixel, ds.PhotometricInterpretation = 1, 'MONOCHROME2'
ds.BitsAllocated, ds.BitsStored, ds.HighBit, ds.PixelRepresentation = 16, 16, 15, 0
ds.EnergyWindowVector = [1, 1, 1, 1, 2, 2, 2, 2]
ds.DetectorVector = [1, 1, 2, 2, 1, 1, 2, 2]
ds.RotationVector = [1] * 8
ds.AngularViewVector = [1, 2, 1, 2, 1, 2, 1, 2]
ds.NumberOfEnergyWindows, ds.NumberOfDetectors, ds.NumberOfRotations = 2, 2, 1
ds.EnergyWindowInformationSequence = Sequence([
    item(EnergyWindowRangeSequence=Sequence([item(EnergyWindowLowerLimit=low, EnergyWindowUpperLimit=high)]))
    for low, high in ((90, 120), (126, 154))])
ds.RotationInformationSequence = Sequence([
    item(StartAngle=0, AngularStep=90, RotationDirection='CC', ScanArc=180, ActualFrameDuration=20000,
         NumberOfFramesInRotation=2)])
ds.DetectorInformationSequence = Sequence([
    item(StartAngle=0, RadialPosition=[200, 210], CollimatorGridName='LEHR'),
    item(StartAngle=180, RadialPosition=[220, 230])])
pixels = numpy.zeros((8, 8, 16), dtype='<u2')
for frame, column in enumerate((4, 6, 11, 9) * 2):
    pixels[frame, 2, column] = 3 if frame < 4 else 5
ds.PixelData = pixels.tobytes()
exec(sys.argv[2])
ds.save_as(sys.argv[1], write_like_original=False)
)";

struct DicomFolder : PydicomFolder {
  /// False where the test must return.
  bool is_ready() {
    return prepare(dicom_script, [&] { (void)open_views(scan()); });
  }

  fs::path scan(const std::string& change = "pass") const {
    const fs::path path = folder.path() / "scan.dcm";
    std::ofstream(folder.path() / "change.txt") << change;
    const std::string run =
        fmt::format("cd {0} && {1} write.py scan.dcm \"$(cat change.txt)\"", folder.path().string(), python);
    REQUIRE(std::system(run.c_str()) == 0);
    return path;
  }
};

void sees_dicom_point(ViewReader& reader, int frames) {
  const ViewSet& set = *reader.set();
  int seen = 0;
  while (const auto view = reader.next()) {
    const ViewPlace& place = set.places[static_cast<std::size_t>(view->records[0].view)];
    CAPTURE(place.angle_deg);
    const double t = static_cast<double>(place.angle_deg) * std::acos(-1.0) / 180;
    const double u = -35 * std::cos(t) - 15 * std::sin(t), w = 7.5;
    CHECK(view->counts[std::lround(w / 5 + 3.5) * 16 + std::lround(u / 10 + 7.5)] == (view->window == 0 ? 5 : 3));
    CHECK(view->event_count() == (view->window == 0 ? 5U : 0U));
    ++seen;
  }
  CHECK(seen == frames);
}

}  // namespace

TEST_CASE("a DICOM tomogram of two heads and two windows: a known point is where it is") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  const auto reader = open_views(folder.scan(), {.window = 2});
  const ViewSet& set = *reader->set();
  CHECK(reader->format() == "DICOM NM");
  CHECK(set.name == "Maker Twin");
  CHECK(set.collimator == "LEHR");
  CHECK(set.pixel_mm.x == 10);
  CHECK(set.pixel_mm.y == 5);
  REQUIRE(set.places.size() == 4);
  CHECK(set.places[1].angle_deg == 90);
  CHECK(set.places[1].radius_mm == 210);
  CHECK(set.places[1].start_s == 20);
  CHECK(set.places[3].angle_deg == 270);
  CHECK(set.places[3].head == 1);
  CHECK(set.places[3].duration_s == 20);
  CHECK(set.windows == std::vector<EnergyWindow>{{126, 154}, {90, 120}});
  sees_dicom_point(*reader, 8);
}

TEST_CASE("the orientation of a DICOM image says which way its rows and columns run") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  // From the back, the right hand of whoever looks is the patient's right.
  sees_dicom_point(*open_views(folder.scan("ds.DetectorInformationSequence[0].ImageOrientationPatient = "
                                           "[-1, 0, 0, 0, 0, -1]"),
                               {.window = 2}),
                   8);
  sees_dicom_point(*open_views(folder.scan("ds.DetectorInformationSequence[0].ImageOrientationPatient = "
                                           "[1, 0, 0, 0, 0, 1]; ds.PixelData = pixels[:, ::-1, ::-1].tobytes()"),
                               {.window = 2}),
                   8);
}

TEST_CASE("one DICOM rotation clockwise, a radius of all views and signed pixels") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  const std::string one =
      "ds.DetectorVector = [1] * 8; ds.AngularViewVector = [1, 2, 3, 4] * 2; ds.PixelRepresentation = 1; "
      "ds.DetectorInformationSequence = Sequence([item(CollimatorGridName='X')]); "
      "ds.RotationInformationSequence[0].RotationDirection = 'CW'; "
      "ds.RotationInformationSequence[0].RadialPosition = 190; ";
  const auto reader = open_views(folder.scan(one));
  CHECK(reader->set()->places[1].angle_deg == 270);
  CHECK(reader->set()->places[3].angle_deg == 90);
  CHECK(reader->set()->places[3].radius_mm == 190);
  const auto turned = open_views(
      folder.scan(one), {.start_angle_deg = 30, .direction = RotationDirection::ccw, .zero = AngleZero::interfile});
  CHECK(turned->set()->places[0].angle_deg == 210);
  CHECK(turned->set()->places[1].angle_deg == 300);
  const auto negative = open_views(folder.scan(one + "negative = pixels.astype('<i2'); negative[1, 4, 5] = -2; "
                                                     "ds.PixelData = negative.tobytes()"));
  const std::string said = (folder.folder.path() / "scan.dcm").string() +
                           ": view 1 of the file, row 4, column 5: -2 counts, and counts are not negative: 'negative: "
                           "zero' takes them as 0";
  CHECK_THROWS_WITH_AS(while (negative->next()){}, said.c_str(), std::runtime_error);
}

TEST_CASE("what is wrong with a DICOM file is said in one line with a remedy") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  const std::string file = (folder.folder.path() / "scan.dcm").string();
  const auto refused = [&](const std::string& change, const std::string& said) {
    CAPTURE(change);
    const fs::path path = folder.scan(change);
    CHECK_THROWS_WITH_AS((void)open_views(path), (file + said).c_str(), std::runtime_error);
  };
  refused("ds.SOPClassUID = '1.2.840.10008.5.1.4.1.1.2'; ds.Modality = 'CT'",
          ": a DICOM file of modality CT, and no image of nuclear medicine (NM): projection data are NM tomograms");
  refused("ds.ImageType[2] = 'WHOLE BODY'",
          ": no NM tomogram: its Image Type is ORIGINAL\\PRIMARY\\WHOLE BODY\\EMISSION, without TOMO");
  refused("ds.ImageType[2] = 'RECON TOMO'", ": a reconstructed image (Image Type has RECON), and no projection data");
  refused("ds.DetectorVector = [1, 1, 2]", ": its Detector Vector has 3 numbers for 8 frames");
  refused("ds.AngularViewVector[1] = 1", ": frames 1 and 2 are of one view and energy window");
  refused("del ds.DetectorInformationSequence[1].StartAngle",
          ": its Detector Information Sequence has no Start Angle of detector 2");
  refused("del ds.DetectorInformationSequence[1]",
          ": its frames are of 2 detectors, and the Detector Information Sequence has 1");
  refused("ds.DetectorInformationSequence[0].RadialPosition = [1, 2, 3]",
          ": 3 Radial Positions for 2 views of detector 1: give radius_mm");
  refused("del ds.DetectorInformationSequence[0].RadialPosition",
          ": it does not say how far from the axis the collimator's face was (Radial Position): give radius_mm");
  const fs::path without = folder.scan("del ds.DetectorInformationSequence[0].RadialPosition");
  CHECK(open_views(without, {.unsaid_radius_mm = 77})->set()->places[0].radius_mm == 77);
  refused("ds.RotationInformationSequence[0].RotationDirection = 'UP'",
          ": its Rotation Direction is 'UP', neither CW nor CC: give direction");
  refused("ds.TimeSlotVector = [1, 2] * 4",
          ": 2 time slots of a gated scan: write each into a file of its own, and reconstruct one");
  refused("del ds.PixelSpacing", ": it has no Pixel Spacing of two positive numbers");
  refused("ds.RotationInformationSequence[0].AngularStep = 360; ds.DetectorInformationSequence[0].RadialPosition = 9",
          ": views 0 and 1 have one place: head 0, 0 degrees; correct its angles or radii");
  CHECK_THROWS_WITH_AS((void)open_views(folder.scan(), {.window = 3}),
                       (file + ": there is no energy window 3: the file has 2").c_str(), std::runtime_error);
}

TEST_CASE("a DICOM file that is cut short anywhere is refused, however it is stored") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  for (const char* change : {"pass", "ds.is_implicit_VR = True; meta.TransferSyntaxUID = '1.2.840.10008.1.2'"}) {
    CAPTURE(change);
    const fs::path path = folder.scan(change);
    sees_dicom_point(*open_views(path, {.window = 2}), 8);
    for (std::uintmax_t bytes = fs::file_size(path) - 1; bytes > 140; bytes = bytes * 9 / 10) {
      fs::resize_file(path, bytes);
      CAPTURE(bytes);
      std::string what = "nothing";
      try {
        (void)open_views(path);
      } catch (const std::runtime_error& refused) {
        what = refused.what();
      }
      CHECK(what.starts_with(path.string() + ": "));  // between two attributes it is one that lacks some
      CHECK(what.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("compressed DICOM pixels are read where GDCM can, and refused with a remedy where they are broken") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  const std::string compressed =
      "from pydicom.encaps import encapsulate; from pydicom.uid import RLELossless; ds.compress(RLELossless)";
  sees_dicom_point(*open_views(folder.scan(compressed), {.window = 2}), 8);
  const fs::path path = folder.scan(
      "from pydicom.encaps import encapsulate; meta.TransferSyntaxUID = '1.2.840.10008.1.2.4.90'; "
      "ds.PixelData = encapsulate([b'no image'] * 8); ds['PixelData'].is_undefined_length = True");
  CHECK_THROWS_WITH_AS(
      (void)open_views(path),
      (path.string() + ": its compressed pixels (transfer syntax 1.2.840.10008.1.2.4.90) are broken, or "
                       "of a kind that GDCM cannot read: store them uncompressed, for example by gdcmconv "
                       "--raw")
          .c_str(),
      std::runtime_error);
}

TEST_CASE("DICOM says for what its counts are corrected already") {
  DicomFolder folder;
  if (!folder.is_ready()) return;
  const auto plain = open_views(folder.scan())->next();
  CHECK((*plain->quantity)[Correction::decay].state == CorrectionState::not_made);
  const auto view = open_views(folder.scan("ds.CorrectedImage = ['UNIF', 'COR', 'DECY']"))->next();
  CHECK((*view->quantity)[Correction::normalisation].state == CorrectionState::made);
  CHECK((*view->quantity)[Correction::decay].how == "the file says so (Corrected Image has DECY)");
  CHECK((*view->quantity)[Correction::scatter].state == CorrectionState::not_made);
}
// SPDX-License-Identifier: Apache-2.0
