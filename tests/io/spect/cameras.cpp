// The cameras of share/scanners: each can be read, is the collimator that its name says, and is about as sharp at 10 cm as
// its maker says.
#include <filesystem>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/spect/io/camera_yaml.hpp"
#include "kernels/math/units.hpp"
#include "kernels/spect/spect.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

struct Known {
  const char* collimator;
  double system_fwhm_mm;  // at 100 mm; 0: none is published
};

// System resolutions as Siemens' data sheets of the Symbia are quoted.
const std::map<std::string, Known> known_cameras = {{"spect_lehr", {"LEHR", 7.5}},
                                                    {"spect_leap", {"LEAP", 9.4}},
                                                    {"spect_megp", {"MEGP", 12.5}},
                                                    {"spect_hegp", {"HEGP", 13.4}},
                                                    {"spect_fan", {"LEHR fan beam", 0}}};

formats::Camera shared_camera(const std::string& name) {
  return formats::read_camera("share/scanners/" + name + ".yaml");
}

}  // namespace

TEST_CASE("each camera of share/scanners can be read, is what its name says and takes an image of its own grid") {
  int cameras = 0;
  for (const auto& entry : std::filesystem::directory_iterator("share/scanners")) {
    if (formats::scanner_kind_of(entry.path()).key != "camera") continue;
    ++cameras;
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    REQUIRE(known_cameras.contains(name));
    const formats::Camera camera = shared_camera(name);
    CHECK(camera.views->name == name);
    CHECK(camera.views->collimator == known_cameras.at(name).collimator);
    CHECK(camera.cps_per_MBq.has_value());
    CHECK(camera.views->places.size() == 120);
    CHECK(camera.views->windows.size() == 1);
    const SpectSettings settings{
        .beam = camera.beam, .focal_mm = camera.focal_mm, .psf = camera.psf, .form = PsfForm::separable};
    CHECK_NOTHROW(validate(choose_view_grid(*camera.views, {}), *camera.views, settings));
  }
  CHECK(cameras == static_cast<int>(known_cameras.size()));
}

TEST_CASE("cameras are as sharp at 10 cm as their makers say, within 10 %, and in the order of their collimators") {
  constexpr double depth_mm = 100;
  for (const auto& camera : known_cameras) {
    const auto& [name, known] = camera;
    if (known.system_fwhm_mm == 0) continue;
    CAPTURE(camera.first);
    CHECK(fwhm_per_sigma * psf_sigma_mm(shared_camera(name).psf, depth_mm) ==
          approx(known.system_fwhm_mm).epsilon(0.1));
  }
  const auto sigma = [&](const char* name) { return psf_sigma_mm(shared_camera(name).psf, depth_mm); };
  CHECK(sigma("spect_lehr") < sigma("spect_leap"));
  CHECK(sigma("spect_leap") < sigma("spect_megp"));
  CHECK(sigma("spect_megp") < sigma("spect_hegp"));
}

TEST_CASE("the fan of share/scanners converges, and its focus lies behind all of its image") {
  const formats::Camera fan = shared_camera("spect_fan");
  CHECK(fan.beam == Beam::fan);
  CHECK(fan.focal_mm == 500);
  CHECK(beam_scale_u(fan.beam, fan.focal_mm, 135.0f) == approx(0.73));
}
// SPDX-License-Identifier: Apache-2.0
