// `tofstream analyse --reference`: known errors are measured, and ten images in a row within the limits are found.
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr const char* phantom_of_two = R"(name: two
solids:
  - {name: body, shape: cylinder, radius_mm: 60, length_mm: 60, activity_Bq_mL: 1000}
  - {name: hot, shape: ellipsoid, centre_mm: [30, 0, 0], half_axes_mm: [10, 10, 10], activity_Bq_mL: 4000}
regions:
  - {name: hot, role: hot, centre_mm: [30, 0, 0], diameter_mm: 16}
  - {name: body, role: mean, centre_mm: [-30, 0, 0], diameter_mm: 30}
)";

// The phantom, but for `hot` that is added to the sphere and `body`, added and taken away by turns elsewhere.
void write_two(const std::filesystem::path& file, float hot, float body) {
  Image image = Image::zeros(Grid::centred(35, 35, 21, {4, 4, 4}));
  for (std::int64_t v = 0; v < image.voxels.size(); ++v) {
    const Vec3 at =
        image.grid.centre(static_cast<int>(v % 35), static_cast<int>(v / 35 % 35), static_cast<int>(v / 1225));
    const bool is_hot = norm(at - Vec3{30, 0, 0}) <= 10;
    image.voxels[v] = is_hot ? 4000 + hot : 1000 + (v % 2 == 0 ? body : -body);
  }
  write_nifti(file, image);
}

}  // namespace

TEST_CASE("images are compared with a reference by three measures, and ten within the limits are a converged series") {
  const TemporaryFolder folder;
  std::ofstream(folder / "two.yaml") << phantom_of_two;
  write_two(folder / "reference.nii", 0, 0);
  std::string images;
  for (int i = 1; i <= 13; ++i) {
    const std::string file = folder / fmt::format("image_{:04}.nii", i);
    write_two(file, i < 3 ? 50.0f : 4.0f, i == 1 ? 30.0f : 6.0f);
    images += " a=" + file;
  }
  const std::string tail =
      fmt::format(" --phantom {} --reference {}", (folder / "two.yaml").string(), (folder / "reference.nii").string());
  const auto measured = run_command("analyse --json" + images + tail);
  REQUIRE_MESSAGE(measured.code == 0, measured.err);
  const auto study = measured.json()["studies"][0];
  REQUIRE(study["images"].size() == 13);
  const auto first = study["images"][0], last = study["images"][12];
  CHECK(first["background_rmse_percent"].get<double>() == approx(3).epsilon(1e-4));
  CHECK(first["worst_region_percent"].get<double>() == approx(5).epsilon(1e-4));
  CHECK(first["regions"][0]["name"] == "hot");
  CHECK(first["within"] == false);
  CHECK(last["object_rmse_percent"].get<double>() == approx(0.6).epsilon(0.02));
  CHECK(last["within"] == true);
  CHECK(study["held_from"]["image"] == 3);
  CHECK_FALSE(study["held_from"].contains("seconds"));  // no run.json says when its run began
  std::ofstream(folder / "run.json") << R"({"started": "2026-01-01T00:00:00.000Z"})";
  const auto timed = run_command("analyse --json" + images + tail);
  CHECK(timed.json()["studies"][0]["held_from"]["seconds"].get<double>() > 0);
  const auto words = run_command("analyse" + images + tail);
  CHECK(words.out.find("within the limits from image 3 on") != std::string::npos);
  const auto few = run_command(fmt::format("analyse {}{}", (folder / "image_0004.nii").string(), tail));
  CHECK(few.out.find("not within 1 %, 1 % and 0.5 % in 10 images in a row") != std::string::npos);
}

TEST_CASE("a reference on another grid, or a phantom without a background, is one error") {
  const TemporaryFolder folder;
  std::ofstream(folder / "two.yaml") << phantom_of_two;
  const std::string image = folder / "image.nii", other = folder / "other.nii", two = folder / "two.yaml";
  write_two(image, 0, 0);
  write_nifti(other, Image::filled(Grid::centred(35, 35, 21, {4, 4, 5}), 1000));
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const auto result = run_command("analyse " + arguments);
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err.find(words) != std::string::npos, result.err);
  };
  refused(image + " --phantom " + two + " --reference " + other,
          "image.nii: the image and the reference have different grids");
  refused(image + " --phantom " + two + " --reference none.nii", "none.nii");
  refused(image + " --phantom " + two + " --plot x.png --reference " + image, "--plot");
  std::string hot_alone = phantom_of_two;
  hot_alone.erase(hot_alone.find("  - {name: body, role"));
  std::ofstream(two) << hot_alone;
  refused(image + " --phantom " + two + " --reference " + image, "no region of role background, noise or mean");
}
// SPDX-License-Identifier: Apache-2.0
