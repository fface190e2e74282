// `tofstream analyse` of spheres and their annuli: known images give known curves, and what is missing is said.
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

// The 35 cm cylinder with spheres of `hot` times its activity, and voxels in the middle that are `noise` (a fraction)
// above and below by turns.
void write_cylinder(const std::filesystem::path& file, float hot, float noise) {
  Image image = Image::zeros(Grid::centred(201, 201, 13, {1, 1, 4}));
  for (int k = 0; k < 13; ++k)
    for (int j = 0; j < 201; ++j)
      for (int i = 0; i < 201; ++i) {
        const Vec3 at = image.grid.centre(i, j, k);
        const float r = std::hypot(at.x, at.y);
        float value = 3000;
        if (r < 30) value *= (i + j) % 2 == 0 ? 1 + noise : 1 - noise;
        for (int s = 0; s < 6; ++s) {
          const float angle = static_cast<float>(s) * 1.0471976f;
          if (std::hypot(at.x - 75 * std::cos(angle), at.y - 75 * std::sin(angle)) < 7) value = 3000 * hot;
        }
        image.voxels[image.grid.index(i, j, k)] = value;
      }
  write_nifti(file, image);
}

}  // namespace

TEST_CASE("contrast recovery and noise of spheres against their annuli, over several images, as figures and curves") {
  const TemporaryFolder folder;
  write_cylinder(folder / "first.nii", 2, 0.05f);
  write_cylinder(folder / "second.nii", 4, 0.1f);
  const auto images = fmt::format("a={} a={} --phantom cylinder_35cm", (folder / "first.nii").string(),
                                  (folder / "second.nii").string());
  const auto measured = run_command("analyse --json " + images);
  REQUIRE_MESSAGE(measured.code == 0, measured.err);
  const auto json = measured.json();
  const double recovery[] = {20, 60}, noise[] = {5, 10};  // (2 - 1) / (6 - 1), (4 - 1) / (6 - 1)
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& image = json["studies"][0]["images"][i];
    REQUIRE(image["contrast"].size() == 6);
    CHECK(image["contrast"][3]["name"] == "sphere 4");
    CHECK(image["recovery_percent"].get<double>() == approx(recovery[i]).epsilon(1e-3));
    CHECK(image["noise_percent"].get<double>() == approx(noise[i]).epsilon(1e-2));
  }
  const auto printed = run_command(fmt::format("analyse {} --plot {}", images, (folder / "curves.png").string()));
  REQUIRE_MESSAGE(printed.code == 0, printed.err);
  CHECK(printed.out.find("contrast recovery (%)") != std::string::npos);
  CHECK(std::filesystem::file_size(folder / "curves.png") > 1000);
}

TEST_CASE("a plot of contrast needs a region of noise, and says so") {
  const TemporaryFolder folder;
  std::ofstream(folder / "one.yaml")
      << "name: one\nsolids:\n  - {shape: cylinder, radius_mm: 90, length_mm: 60, activity_Bq_mL: 3000}\n"
         "  - {shape: sphere, centre_mm: [50, 0, 0], diameter_mm: 10, activity_Bq_mL: 18000}\n"
         "regions:\n  - {name: sphere, role: contrast, centre_mm: [50, 0, 0], diameter_mm: 10}\n";
  write_cylinder(folder / "image.nii", 2, 0);
  const auto plot = run_command(fmt::format("analyse {} --phantom {} --plot {}", (folder / "image.nii").string(),
                                            (folder / "one.yaml").string(), (folder / "p.png").string()));
  CHECK(plot.code == 2);
  CHECK(plot.err.find("a region of role noise") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
