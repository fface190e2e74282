// What inspect says of projection data: how the heads turned, what was counted, and what the file does not say.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/base/private_folder.hpp"
#include "gadgets/io/file_inspectors.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// Four views of 4 x 2 pixels: 1, 2, 3 and 4 counts in each pixel.
std::filesystem::path four_views(const std::filesystem::path& folder, const std::string& more) {
  std::ofstream(folder / "scan.hs")
      << "!INTERFILE :=\n!imaging modality := nucmed\nname of data file := scan.s\n!number format := unsigned integer\n"
         "!number of bytes per pixel := 1\n!matrix size [1] := 4\n!matrix size [2] := 2\n"
         "scaling factor (mm/pixel) [1] := 4\nscaling factor (mm/pixel) [2] := 5\n!number of projections := 4\n"
         "!extent of rotation := 180\n!direction of rotation := CW\nstart angle := 180\n"
      << more << "!END OF INTERFILE :=\n";
  std::string counts;
  for (char view = 1; view <= 4; ++view) counts += std::string(8, view);
  std::ofstream(folder / "scan.s") << counts;
  return folder / "scan.hs";
}

}  // namespace

TEST_CASE("projection data are inspected: arc, radius, time, counts and energy window") {
  const PrivateTemporaryFolder folder;
  const auto file = four_views(folder.path(),
                               "orbit := non-circular\nradii := {150, 160, 170, 160}\ntime per projection (sec) := 20\n"
                               "energy window lower level [1] := 126\nenergy window upper level [1] := 154\n");
  const FileInspector* const kind = inspector_of(file);
  REQUIRE(kind);
  CHECK(kind->name == "projections");
  const auto held = kind->read(file);
  CHECK(held["views"] == 4);
  CHECK(held["pixels"] == nlohmann::ordered_json{4, 2});
  CHECK(held["pixel_mm"] == nlohmann::ordered_json{4, 5});
  REQUIRE(held["heads"].size() == 1);
  CHECK(held["heads"][0]["step_deg"] == approx(45));
  CHECK(held["heads"][0]["arc_deg"] == approx(180));
  CHECK(held["heads"][0]["direction"] == "clockwise");
  CHECK(held["heads"][0]["first_deg"] == 0);
  CHECK(held["radius_mm"] == nlohmann::ordered_json{150, 170});
  CHECK(held["duration_s"] == nlohmann::ordered_json{20, 20});
  CHECK(held["counts"] == 80);
  CHECK(held["counts_of_a_view"] == nlohmann::ordered_json{8, 32});
  CHECK(held["energy_windows"][0]["high_keV"] == 154);
  const std::string words = kind->in_words(held);
  CAPTURE(words);
  for (const char* line :
       {"views           4 of 4 x 2 pixels of 4 x 5 mm\n",
        "orbit           4 views over 180 degrees clockwise in steps of 45, the first at 0\n",
        "radius          150 to 170 mm from the axis to the collimator's face\n", "time            20 s a view\n",
        "counts          80, 8 to 32 in a view\n", "energy window   126 to 154 keV, 80 counts\n"})
    CHECK_MESSAGE(words.find(line) != std::string::npos, line);
}

TEST_CASE("a file that does not say its radius or its times is inspected all the same, and told so") {
  const PrivateTemporaryFolder folder;
  const auto file = four_views(folder.path(), "");
  const FileInspector& kind = *inspector_of(file);
  const auto held = kind.read(file);
  CHECK_FALSE(held.contains("radius_mm"));
  CHECK_FALSE(held.contains("duration_s"));
  const std::string words = kind.in_words(held);
  CHECK(words.find("radius          the file does not say it: give projections_source radius_mm\n") !=
        std::string::npos);
  CHECK(words.find("time            the file does not say it: views count alike") != std::string::npos);
}

TEST_CASE("NIfTI is projection data where its YAML file says whence views look, and else an image") {
  const PrivateTemporaryFolder folder;
  const auto file = folder.path() / "some.nii.gz";
  write_nifti(file, Image::filled(Grid::centred(4, 2, 3, {4, 4, 1}), 2));
  CHECK_FALSE(inspector_of(file));
  std::ofstream(folder.path() / "some.yaml") << "pipeline: made_it\n";
  CHECK_FALSE(inspector_of(file));
  std::ofstream(folder.path() / "some.yaml") << "angles_deg: [0, 90, 200]\nradius_mm: [150]\n";
  const FileInspector* const kind = inspector_of(file);
  REQUIRE(kind);
  const auto held = kind->read(file);
  CHECK(held["counts"] == 48);
  CHECK(kind->in_words(held).find("in uneven steps of 100") != std::string::npos);
  CHECK_FALSE(inspector_of(folder.path()));
  CHECK_FALSE(inspector_of(folder.path() / "nowhere"));
  std::ofstream(folder.path() / "text") << "hello";
  CHECK_FALSE(inspector_of(folder.path() / "text"));
}

TEST_CASE("a kind of file needs its name and all that it can say") {
  CHECK(FileInspector{.name = "x"}.problem() ==
        "the kind of file 'x' lacks its name, or one of knows, read and in_words");
}
// SPDX-License-Identifier: Apache-2.0
