// Cameras from YAML: see camera_yaml.hpp.
#include "gadgets/spect/io/camera_yaml.hpp"

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/yaml/described_file.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

constexpr auto enum_names(Beam) {
  return names(Beam::parallel, "parallel", Beam::fan, "fan", Beam::cone, "cone");
}

namespace formats {
namespace {

constexpr Limits some_mm = range(1e-3, 1e4);

struct CollimatorFile {
  std::string name;
  Beam beam = Beam::parallel;
  float focal_mm = 0;
  float hole_mm = 0, length_mm = 0, septa_mu_per_cm = 0, gap_mm = 0;
  float slope = 0, sigma0_mm = 0;
  static constexpr auto params = describe(
      param<&CollimatorFile::name>("name", "What it is called"),
      param<&CollimatorFile::beam>("beam",
                                   "parallel; fan: holes of a row meet in a line along the axis; cone: in a point"),
      param<&CollimatorFile::focal_mm>("focal_mm", range(0, 1e5), unit("mm"), "From its face to the focus"),
      param<&CollimatorFile::hole_mm>("hole_mm", range(0, 100), unit("mm"), "Width of a hole across its flats"),
      param<&CollimatorFile::length_mm>("length_mm", range(0, 1e3), unit("mm"), "Length of a hole"),
      param<&CollimatorFile::septa_mu_per_cm>("septa_mu_per_cm", range(0, 1e4), unit("1/cm"),
                                              "Attenuation of its material; 0: nothing passes the septa"),
      param<&CollimatorFile::gap_mm>("gap_mm", range(0, 1e3), unit("mm"), "From its back to the crystal's middle"),
      param<&CollimatorFile::slope>("slope", range(0, 1),
                                    "Instead of holes: sigma = slope x depth + sigma0_mm, mm a mm"),
      param<&CollimatorFile::sigma0_mm>("sigma0_mm", range(0, 100), unit("mm"), "Instead of holes: sigma at its face"));

  bool has_holes() const { return hole_mm > 0 || length_mm > 0; }
  bool has_line() const { return slope > 0 || sigma0_mm > 0; }
};

struct CameraFile {
  struct Detector {
    std::array<int, 2> pixels{};
    std::array<float, 2> pixel_mm{};
    std::vector<float> heads_deg{0};
    int views = 0;
    float start_angle_deg = 0, rotation_deg = 360;
    double seconds = 1;
    float radius_mm = 0;
    std::vector<float> radii_mm;
    float intrinsic_fwhm_mm = 0;
    std::array<float, 2> energy_window_keV{};
    std::optional<double> cps_per_MBq;
    CollimatorFile collimator;
    static constexpr auto params = describe(
        param<&Detector::pixels>("pixels", required, range(1, 4096), "Pixels across and along the axis"),
        param<&Detector::pixel_mm>("pixel_mm", required, one_for_all, some_mm, unit("mm"), "Edges of a pixel"),
        param<&Detector::heads_deg>("heads_deg", range(-360, 360), unit("degrees"),
                                    "Where each head begins, from the first"),
        param<&Detector::views>("views", required, range(1, 100000), "Views of each head"),
        param<&Detector::start_angle_deg>("start_angle_deg", range(-360, 360), unit("degrees"),
                                          "Of the first view: 0 looks at the patient's back, 90 at the left side"),
        param<&Detector::rotation_deg>("rotation_deg", range(-3600, 3600), unit("degrees"),
                                       "All that each head turns; negative: towards the patient's right"),
        param<&Detector::seconds>("seconds", range(1e-6, 1e6), unit("s"), "Of a view"),
        param<&Detector::radius_mm>("radius_mm", range(0, 1e4), unit("mm"), "From the axis to the collimator's face"),
        param<&Detector::radii_mm>("radii_mm", some_mm, unit("mm"), "Instead of one radius: of each view of a head"),
        param<&Detector::intrinsic_fwhm_mm>("intrinsic_fwhm_mm", range(0, 100), unit("mm"),
                                            "Resolution of the crystal"),
        param<&Detector::energy_window_keV>("energy_window_keV", range(0, 1e4), unit("keV"),
                                            "Lowest and highest energy"),
        param<&Detector::cps_per_MBq>("cps_per_MBq", range(1e-6, 1e6), unit("1/(s MBq)"),
                                      "Counts a second of 1 MBq in air; none: images have no absolute scale"),
        param<&Detector::collimator>("collimator", "Its holes, or a measured response"));
  };
  std::string name, description;
  Detector camera;
  static constexpr auto params =
      describe(param<&CameraFile::name>("name", required, "What the camera is called"),
               param<&CameraFile::description>("description", "For people"),
               param<&CameraFile::camera>("camera", required, "Detector, orbit, collimator"));
};

// The radius of each view of a head.
std::vector<float> radii_of(const CameraFile::Detector& camera) {
  const auto views = static_cast<std::size_t>(camera.views);
  if (camera.radii_mm.empty() == !(camera.radius_mm > 0))
    throw std::invalid_argument("camera: give radius_mm, or radii_mm with one of each view");
  if (camera.radii_mm.empty()) return std::vector<float>(views, camera.radius_mm);
  if (camera.radii_mm.size() != views)
    throw std::invalid_argument(
        fmt::format("camera.radii_mm has {} values for {} views: give one of each view of a head",
                    camera.radii_mm.size(), camera.views));
  return camera.radii_mm;
}

PsfModel psf_of(const CameraFile::Detector& camera) {
  const CollimatorFile& holes = camera.collimator;
  const auto intrinsic = static_cast<float>(camera.intrinsic_fwhm_mm / fwhm_per_sigma);
  if (holes.has_holes() && holes.has_line())
    throw std::invalid_argument("camera.collimator: give its holes, or slope and sigma0_mm, not both");
  if (holes.has_line()) return GaussianPsfModel{holes.slope, holes.sigma0_mm, intrinsic};
  if (!holes.has_holes()) return intrinsic > 0 ? PsfModel(GaussianPsfModel{0, 0, intrinsic}) : PsfModel();
  constexpr float mm_a_cm = 10;
  return HolesPsf{holes.hole_mm, holes.length_mm, holes.septa_mu_per_cm / mm_a_cm, holes.gap_mm, intrinsic};
}

std::shared_ptr<const ViewSet> views_of(const CameraFile& file) {
  const CameraFile::Detector& camera = file.camera;
  ViewSet set{.name = file.name, .collimator = camera.collimator.name};
  set.size[0] = camera.pixels[0];
  set.size[1] = camera.pixels[1];
  set.pixel_mm = {camera.pixel_mm[0], camera.pixel_mm[1], camera.pixel_mm[0]};
  const std::vector<float> radii = radii_of(camera);
  for (int v = 0; v < camera.views; ++v)
    for (std::size_t head = 0; head < camera.heads_deg.size(); ++head)
      set.places.push_back({.angle_deg = camera.start_angle_deg + camera.heads_deg[head] +
                                         camera.rotation_deg * static_cast<float>(v) / static_cast<float>(camera.views),
                            .radius_mm = radii[static_cast<std::size_t>(v)],
                            .start_s = v * camera.seconds,
                            .duration_s = camera.seconds,
                            .head = static_cast<int>(head)});
  if (camera.energy_window_keV[1] > 0) set.windows = {{camera.energy_window_keV[0], camera.energy_window_keV[1]}};
  set.validate();
  return std::make_shared<const ViewSet>(std::move(set));
}

Camera camera_of(const Value& document) {
  refuse_other_kinds(document, "camera");
  const auto file = described<CameraFile>(document, "scanner");
  try {
    const CollimatorFile& collimator = file.camera.collimator;
    if ((collimator.beam == Beam::parallel) == (collimator.focal_mm > 0))
      throw std::invalid_argument("camera.collimator: focal_mm goes with beam: fan or cone");
    Camera camera{views_of(file), collimator.beam, collimator.focal_mm, psf_of(file.camera), file.camera.cps_per_MBq};
    validate(camera.psf);
    return camera;
  } catch (const std::invalid_argument& error) {
    refuse(document.where, error.what());
  }
}

}  // namespace

Camera parse_camera(const std::string& text, const std::string& file) {
  return camera_of(parse_text(text, file));
}

Camera read_camera(const std::filesystem::path& file) {
  return camera_of(read_document(file));
}

}  // namespace formats
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
