// The gadget that writes DICOM PET series: when it writes, under which names, and what the run knows of them.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/testing.hpp"
#include "gadgets/io/dicom/data_set.hpp"
#include "gadgets/io/dicom/dicom_file.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/skip.hpp"
#include "tests/watch/fake_run.hpp"

using namespace tofstream;
using namespace tofstream::test;
using formats::DicomFile;

namespace {

using DicomWriterTest = RegisteredGadgetTest<void>;

Estimate flat_estimate(int iteration, float value = 1, ScanFrame frame = {}) {
  auto image = std::make_shared<Image>(Image{Grid::centred(4, 3, 2, {4, 4, 4}), Buffer<float>(Memory::host, 24)});
  std::ranges::fill(image->voxels.span(), value);
  Estimate made;
  made.step = {.iteration = iteration, .iterations = 2, .subsets = 1, .ends_iteration = true, .frame = frame};
  made.image = image;
  return made;
}

std::string attribute(const std::filesystem::path& file, std::uint16_t group, std::uint16_t element) {
  return DicomFile(file).attributes().text(group, element);
}

}  // namespace

TEST_CASE("dicom_writer writes the last image, and each iteration's on request, as folders that the run owns") {
  if (!formats::can_write_dicom()) return skip_test("GDCM in this build");
  const TemporaryFolder folder;
  FakeRun run;
  run.report.gadgets.front().figures["scan_s"] = 90.0;
  DicomWriterTest writer("dicom_writer", "{every: iteration, at_iterations: [1], tracer: {isotope: F-18}}",
                         folder.path(), &run);
  for (int iteration = 0; iteration <= 2; ++iteration) writer.send(flat_estimate(iteration));
  CHECK(std::filesystem::exists(folder / "dicom_0001" / "slice_0002.dcm"));
  CHECK_FALSE(std::filesystem::exists(folder / "dicom"));
  writer.finish();
  CHECK_FALSE(std::filesystem::exists(folder / "dicom_0002"));
  const auto last = folder / "dicom" / "slice_0002.dcm";
  CHECK(attribute(last, 0x0018, 0x1242) == "90000");  // the scan's time, once it has ended
  CHECK(attribute(folder / "dicom_0001" / "slice_0002.dcm", 0x0018, 0x1242) == "");
  CHECK(attribute(last, 0x0054, 0x1103) == "tofstream, iteration 2");
  CHECK(attribute(last, 0x0054, 0x1001) == "PROPCNTS");
}

TEST_CASE("dicom_writer writes the frames of a dynamic scan as one series") {
  if (!formats::can_write_dicom()) return skip_test("GDCM in this build");
  const TemporaryFolder folder;
  DicomWriterTest writer("dicom_writer", "{folder: pet}", folder.path());
  for (int frame = 1; frame <= 2; ++frame)
    for (int iteration = 0; iteration <= 2; ++iteration)
      writer.send(flat_estimate(iteration, static_cast<float>(frame), {frame, 2, 10.0 * frame, 10}));
  writer.finish();
  const auto last = folder / "pet" / "frame_0002_slice_0002.dcm";
  CHECK(attribute(last, 0x0054, 0x1000) == "DYNAMIC\\IMAGE");
  CHECK(attribute(last, 0x0054, 0x1300) == "25000");
  CHECK(DicomFile(last).attributes().number(0x0028, 0x1053).value_or(0) == approx(2.0 / 32767));
}

TEST_CASE("dicom_writer says before the first event what DICOM does not hold") {
  if (!formats::can_write_dicom()) return skip_test("GDCM in this build");
  const auto why = [](const char* yaml) -> std::string {
    try {
      const DicomWriterTest writer("dicom_writer", yaml);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "taken";
  };
  CHECK(why("{scan_start: yesterday}").find("scan_start: yesterday is no time") != std::string::npos);
  CHECK(why("{study_uid: 1.2.x}").find("study_uid: 1.2.x is no UID") != std::string::npos);
  CHECK(why("{patient: {birth_date: 1970}}").find("is no date") != std::string::npos);
  CHECK(why("{folder: .}").find("folder must name a folder") != std::string::npos);
}

TEST_CASE("dicom_writer refuses the start image of a gamma camera") {
  if (!formats::can_write_dicom()) return skip_test("GDCM in this build");
  const TemporaryFolder folder;
  DicomWriterTest writer("dicom_writer", "{}", folder.path());
  Estimate start = flat_estimate(0);
  start.modality = Modality::spect;
  CHECK_THROWS_WITH(writer.send(std::move(start)), doctest::Contains("write it by nifti_writer"));
}

TEST_CASE("dicom_writer leaves alone what lies in its folder") {
  if (!formats::can_write_dicom()) return skip_test("GDCM in this build");
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "dicom");
  std::ofstream(folder / "dicom" / "notes.txt") << "mine";
  DicomWriterTest writer("dicom_writer", "{}", folder.path());
  CHECK_THROWS_WITH(writer.send(flat_estimate(0)), doctest::Contains("the folder holds notes.txt"));
}
// SPDX-License-Identifier: Apache-2.0
