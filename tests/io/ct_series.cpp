// CT series in DICOM, written by pydicom: CT numbers where they belong, and what is refused. Built without GDCM, the
// reader says so.
#include "gadgets/io/dicom/ct_series.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/private_folder.hpp"
#include "gadgets/io/file_inspectors.hpp"
#include "tests/support/pydicom.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

namespace fs = std::filesystem;

/// Three slices of 4 x 3 pixels of 2 (x) by 1.5 mm (y), 5 mm apart, in a folder; pixel (i, j) of slice k has the stored
/// number 100 k + 10 j + i, and 2 x that - 1000 HU. Written from the head down, the files named in no order. `change` is
/// Python that changes `ds`, slice `k`, before it is written.
constexpr auto* ct_script = R"(
import sys
import numpy
import pydicom
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

series = generate_uid()
for k in (2, 0, 1):
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = '1.2.840.10008.5.1.4.1.1.2'
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    path = f'{sys.argv[1]}/slice{(k * 2) % 3}.dcm'
    ds = FileDataset(path, {}, file_meta=meta, preamble=b'\0' * 128)
    ds.is_little_endian, ds.is_implicit_VR = True, False
    ds.SOPClassUID, ds.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    ds.SeriesInstanceUID = series
    ds.Modality, ds.Rows, ds.Columns = 'CT', 3, 4
    ds.PixelSpacing, ds.SliceThickness = [1.5, 2], 5
    ds.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
    ds.ImagePositionPatient = [-30, -20, -700 + 5 * k]
    ds.SamplesPerPixel, ds.PhotometricInterpretation = 1, 'MONOCHROME2'
    ds.BitsAllocated, ds.BitsStored, ds.HighBit, ds.PixelRepresentation = 16, 16, 15, 1
    ds.RescaleSlope, ds.RescaleIntercept = 2, -1000
    pixels = numpy.array([[100 * k + 10 * j + i for i in range(4)] for j in range(3)], dtype='<i2')
    ds.PixelData = pixels.tobytes()
    exec(sys.argv[2])
    ds.save_as(path, write_like_original=False)
)";

struct CtFolder : PydicomFolder {
  /// False where the test must return.
  bool is_ready() {
    return prepare(ct_script, [&] { (void)read_ct_series(series()); });
  }

  fs::path series(const std::string& change = "pass") const {
    const fs::path path = folder.path() / "ct";
    fs::remove_all(path);
    fs::create_directory(path);
    std::ofstream(path / "README") << "not DICOM";
    std::ofstream(folder.path() / "change.txt") << change;
    const std::string run =
        fmt::format("cd {0} && {1} write.py ct \"$(cat change.txt)\"", folder.path().string(), python);
    REQUIRE(std::system(run.c_str()) == 0);
    return path;
  }

  std::string why_not(const std::string& change) const {
    try {
      (void)read_ct_series(series(change));
    } catch (const std::runtime_error& why) {
      return why.what();
    }
    return "taken";
  }
};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a CT series in DICOM: its numbers are in Hounsfield units, each at its place") {
  CtFolder folder;
  if (!folder.is_ready()) return;
  CHECK(is_ct_series(folder.series()));
  const Image ct = read_ct_series(folder.series()).posed.image;
  CHECK(ct.grid == Grid{{4, 3, 3}, {2, 1.5F, 5}, {-30, -20, -700}});
  for (const auto& [i, j, k] : {std::tuple{0, 0, 0}, {3, 2, 2}, {1, 2, 1}})
    CHECK(ct.voxels[ct.grid.index(i, j, k)] == static_cast<float>(2 * (100 * k + 10 * j + i) - 1000));

  const fs::path prone = folder.series(
      "ds.ImageOrientationPatient = [-1, 0, 0, 0, -1, 0]; ds.ImagePositionPatient = [-24, -17, -700 + 5 * k]");
  const Image turned = read_ct_series(prone).posed.image;
  CHECK(turned.grid == ct.grid);
  CHECK(turned.voxels[ct.grid.index(0, 0, 1)] == 2 * 123 - 1000);

  const Image one = read_ct_series(folder.folder.path() / "ct" / "slice0.dcm").posed.image;
  CHECK(one.grid.size[2] == 1);
  CHECK(one.grid.voxel_mm.z == 5);
}

TEST_CASE("inspect knows a CT series: how many slices of which size and unit, and that one is missing") {
  CtFolder folder;
  if (!folder.is_ready()) return;
  const auto held = [&](const fs::path& path) {
    const FileInspector* kind = inspector_of(path);
    REQUIRE(kind);
    CHECK(kind->name == "dicom");
    return std::pair{kind->read(path), kind->in_words(kind->read(path))};
  };
  const auto [ct, words] = held(folder.series());
  CHECK(ct.at("format") == "DICOM CT series");
  CHECK(ct.at("size") == nlohmann::json{4, 3, 3});
  CHECK(ct.at("voxel_mm") == nlohmann::json{2, 1.5, 5});
  CHECK(ct.at("slices_mm") == nlohmann::json{-700, -690});
  CHECK(says(words, "3 slices, 1 of each"));
  CHECK(says(words, "4 x 3 x 3 of 2 x 1.5 x 5 mm"));
  CHECK(says(words, "HU"));
  CHECK(held(folder.folder.path() / "ct" / "slice0.dcm").first.at("slices") == 1);
  const auto [uneven, uneven_words] = held(folder.series("ds.ImagePositionPatient = [-30, -20, 5 * k * k]"));
  CHECK(uneven.at("uneven_steps_mm") == nlohmann::json{5, 15});
  CHECK(says(uneven_words, "slices are 5 to 15 mm apart: is one missing?"));
  const fs::path two = folder.series("ds.SeriesInstanceUID = generate_uid()");
  CHECK_THROWS_WITH(inspector_of(two)->read(two), doctest::Contains("put one series into a folder"));
}

TEST_CASE("a coronal CT series is an image along x, y and z too") {
  CtFolder folder;
  if (!folder.is_ready()) return;
  const CtSeries ct = read_ct_series(folder.series(
      "ds.ImageOrientationPatient = [1, 0, 0, 0, 0, -1]; ds.ImagePositionPatient = [-30, -20 + 5 * k, -700]"));
  const Image& image = ct.posed.image;
  CHECK(ct.posed.to_world.is_shift());
  CHECK(image.grid == Grid{{4, 3, 3}, {2, 5, 1.5F}, {-30, -20, -703}});
  CHECK(image.voxels[image.grid.index(3, 2, 1)] == 2 * 213 - 1000);
}

TEST_CASE("an oblique CT series, and that of a tilted gantry, keep their own axes and say where they lie") {
  CtFolder folder;
  if (!folder.is_ready()) return;
  const auto check_places = [&](const std::string& change, Vec3d step) {
    const PosedImage ct = read_ct_series(folder.series(change)).posed;
    CHECK_FALSE(ct.to_world.is_shift());
    for (const auto& [i, j, k] : {std::tuple{0, 0, 0}, {3, 2, 2}, {1, 2, 1}}) {
      CHECK(ct.image.voxels[ct.image.grid.index(i, j, k)] == static_cast<float>(2 * (100 * k + 10 * j + i) - 1000));
      const Vec3d at = ct.to_world(ct.image.grid.centre(i, j, k).as<double>());
      const Vec3d expected =
          Vec3d{-30, -20, -700} + Vec3d{2.0 * i, 1.5 * j * 0.8, 1.5 * j * 0.6} + static_cast<double>(k) * step;
      CHECK(norm(at - expected) < 1e-4);
    }
  };
  const std::string turned = "ds.ImageOrientationPatient = [1, 0, 0, 0, 0.8, 0.6]; ds.ImagePositionPatient = ";
  check_places(turned + "[-30, -20 - 3 * k, -700 + 4 * k]", {0, -3, 4});
  check_places(turned + "[-30, -20, -700 + 5 * k]", {0, 0, 5});
}

TEST_CASE("a CT series tells the voltage of its tube, where it has it") {
  CtFolder folder;
  if (!folder.is_ready()) return;
  CHECK_FALSE(read_ct_series(folder.series()).kvp.has_value());
  CHECK(read_ct_series(folder.series("ds.KVP = 120")).kvp == 120);
  CHECK(says(folder.why_not("ds.KVP = 120 - 20 * (k == 1)"), "its tube had another voltage than that of"));
}

TEST_CASE("what is no CT series is refused, with the file that is to blame") {
  CtFolder folder;
  if (!folder.is_ready()) return;
  CHECK(says(folder.why_not("ds.SOPClassUID = '1.2.840.10008.5.1.4.1.1.20'; ds.Modality = 'NM'"),
             "a DICOM file of modality NM, and no CT image of one slice"));
  CHECK(says(folder.why_not("ds.SeriesInstanceUID = generate_uid()"), "of another series than slice0.dcm"));
  CHECK(
      says(folder.why_not("ds.ImageOrientationPatient = [1, 0, 0, 1, 0, 0]"), "is not two directions at right angles"));
  CHECK(says(folder.why_not("ds.ImageOrientationPatient = [1, 0, 0, 0, 0, -1]"), "slice at y = -20 mm is there twice"));
  CHECK(says(folder.why_not("ds.ImagePositionPatient = [-30, -20, -700 + 5 * k + 2 * (k == 2)]"),
             "7 mm above slice2.dcm, and slices are 5 mm apart: a series of mixed spacing is not read"));
  CHECK(says(folder.why_not("ds.ImagePositionPatient = [-30 + (k == 1), -20, -700 + 5 * k]"),
             "its pixels do not lie above those of"));
  CHECK(says(folder.why_not("ds.ImagePositionPatient = [-30, -20, -700 + 5 * k * k]"), "is one missing?"));
  CHECK(says(folder.why_not("ds.ImagePositionPatient = [-30, -20, -700]"), "slice at z = -700 mm is there twice"));
  CHECK(says(folder.why_not("ds.PixelSpacing = [1.5, 2 + 0.1 * k]"), "its pixels do not lie above those of"));
  CHECK(says(folder.why_not("del ds.RescaleSlope"), "its unit is not known"));
  CHECK(folder.why_not("ds.RescaleType = 'HU'") == "taken");
  CHECK(says(folder.why_not("ds.RescaleType = 'Z_EFF'"), "its values are in Z_EFF (Rescale Type), and not in HU"));
  CHECK(says(folder.why_not("ds.Rows = 4"), "not the 32 bytes that its attributes describe"));
  CHECK(says(folder.why_not("ds.BitsAllocated = ds.BitsStored = 8; ds.HighBit = 7"), "CT pixels of 16 bits"));
  const fs::path empty = folder.folder.path() / "empty";
  fs::create_directory(empty);
  CHECK_THROWS_WITH(read_ct_series(empty), (empty.string() + ": a folder without DICOM files").c_str());
}
// SPDX-License-Identifier: Apache-2.0
