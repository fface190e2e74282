// Projection data in NIfTI with a YAML file beside it: a known point is where it is, and what is missing is asked for.
#include <filesystem>
#include <fstream>

#include "core/base/private_folder.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/spect/io/view_reader.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

/// Four views of 16 x 8 pixels of 10 mm, in each one point of 5 counts.
std::filesystem::path nifti_of_points(const std::filesystem::path& folder, const std::vector<std::pair<int, int>>& at) {
  Grid grid;
  grid.size[0] = 16;
  grid.size[1] = 8;
  grid.size[2] = static_cast<int>(at.size());
  grid.voxel_mm = {10, 10, 1};
  Image image{grid, Buffer<float>::zeros(Memory::host, grid.voxels())};
  for (std::size_t view = 0; view < at.size(); ++view)
    image.voxels[(static_cast<int>(view) * 8 + at[view].second) * 16 + at[view].first] = 5;
  const auto path = folder / "views.nii.gz";
  write_nifti(path, image);
  return path;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("views in NIfTI: the YAML file beside it says whence they look, and a known point is where it is") {
  const PrivateTemporaryFolder folder;
  // The point of 35 mm to the left, 15 to the front and 15 to the head, from the back, the left, the front, the right.
  const auto path = nifti_of_points(folder.path(), {{4, 5}, {6, 5}, {11, 5}, {9, 5}});
  write_text(
      folder.path() / "views.yaml",
      "name: hand\nangles_deg: [0, 90, 180, 270]\nradius_mm: [150, 151, 152, 153]\nduration_s: [10, 20, 30, 40]\n"
      "energy_window_keV: [126, 154]\n");
  const auto reader = open_views(path);
  const ViewSet& set = *reader->set();
  CHECK(set.name == "hand");
  CHECK(set.pixel_mm.x == 10);
  CHECK(set.places[3].radius_mm == 153);
  CHECK(set.places[3].start_s == 60);
  CHECK(set.windows[0].high_keV == 154);
  const Vec3 point{35, -15, 15};
  while (const auto view = reader->next()) {
    const double t = static_cast<double>(set.places[static_cast<std::size_t>(view->records[0].view)].angle_deg) *
                     std::acos(-1.0) / 180;
    const double u = -point.x * std::cos(t) + point.y * std::sin(t);
    const auto column = static_cast<int>(std::lround(u / 10 + 7.5)), row = static_cast<int>(point.z / 10 + 3.5);
    CHECK(view->counts[row * 16 + column] == 5);
    CHECK(view->event_count() == 5);
  }
}

TEST_CASE("views in NIfTI in equal steps, by Interfile's angles, and as the user knows better") {
  const PrivateTemporaryFolder folder;
  const auto path = nifti_of_points(folder.path(), {{4, 5}, {6, 5}, {11, 5}, {9, 5}});
  write_text(folder.path() / "views.yaml", "start_angle_deg: 0\nradius_mm: [150]\nzero: interfile\ndirection: cw\n");
  CHECK(open_views(path)->set()->places[1].angle_deg == 90);
  CHECK(open_views(path, {.direction = RotationDirection::ccw})->set()->places[1].angle_deg == 270);
  CHECK(open_views(path, {.radius_mm = 99})->set()->places[1].radius_mm == 99);
  CHECK(open_views(path, {.unsaid_radius_mm = 77})->set()->places[1].radius_mm == 150);
  CHECK(open_views(path, {.zero = AngleZero::dicom})->set()->places[0].angle_deg == 0);
}

TEST_CASE("views in NIfTI without a YAML file, or with one that does not fit, are refused in one line") {
  const PrivateTemporaryFolder folder;
  const auto path = nifti_of_points(folder.path(), {{4, 5}, {6, 5}, {11, 5}, {9, 5}});
  const std::string yaml = (folder.path() / "views.yaml").string();
  const auto refused = [&](const std::string& said) {
    CHECK_THROWS_WITH_AS((void)open_views(path), said.c_str(), std::runtime_error);
  };
  refused(path.string() + ": projection data in NIfTI need " + yaml + " beside it, with angles_deg and radius_mm");
  write_text(yaml, "angles_deg: [0, 90, 180]\nradius_mm: [150]\n");
  refused(yaml + ":1:1: angles_deg has 3 numbers, and the image 4 views: list one for each");
  write_text(yaml, "angles_deg: [0, 90, 180, 0]\nradius_mm: [150]\n");
  refused(path.string() + ": views 0 and 3 have one place: head 0, 0 degrees; correct its angles or radii");
  write_text(yaml, "angles_deg: [0, 90, 180, 270]\n");
  refused(yaml + ":1:1: it does not say how far from the axis the collimator's face was: give radius_mm");
  CHECK(open_views(path, {.unsaid_radius_mm = 77})->set()->places[3].radius_mm == 77);
  write_text(yaml, "radius_mm: [150]\n");
  refused(yaml + ":1:1: the angles of the views are not said: give angles_deg, or start_angle_deg");
  write_text(yaml, "radius_mm: [150]\nangle: 3\n");
  CHECK_THROWS_WITH_AS((void)open_views(path), doctest::Contains("views.yaml:2:1: "), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
