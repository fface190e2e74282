// Projection data in NIfTI, [view][w][u], with a YAML file of the same name beside it that says whence the views look.
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nifti1_io.h>

#include "core/base/printable.hpp"
#include "gadgets/io/nifti/nifti_file.hpp"
#include "gadgets/io/yaml/described_file.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

/// The YAML file. Lists have a number for each view, or one for all.
struct NiftiViewsYaml {
  std::string name, collimator;
  std::vector<double> angles_deg;
  std::optional<double> start_angle_deg;
  double extent_deg = 360;
  RotationDirection direction = RotationDirection::ccw;
  AngleZero zero = AngleZero::dicom;
  std::vector<double> radius_mm, duration_s;
  std::vector<int> head;
  std::optional<std::array<float, 2>> pixel_mm, energy_window_keV;
  static constexpr auto params = describe(
      param<&NiftiViewsYaml::name>("name", "What the camera is called"),
      param<&NiftiViewsYaml::collimator>("collimator", "What its collimator is called"),
      param<&NiftiViewsYaml::angles_deg>("angles_deg", range(-3600, 3600), unit("deg"), "Angle of each view"),
      param<&NiftiViewsYaml::start_angle_deg>("start_angle_deg", range(-3600, 3600), unit("deg"),
                                              "Without angles_deg: the first view's, the others in equal steps"),
      param<&NiftiViewsYaml::extent_deg>("extent_deg", range(1e-3, 3600), unit("deg"), "Over which the steps go"),
      param<&NiftiViewsYaml::direction>("direction", "Seen from the feet: ccw is a growing angle"),
      param<&NiftiViewsYaml::zero>("zero", "Where angle 0 is: dicom, at the back, or interfile, in front"),
      param<&NiftiViewsYaml::radius_mm>("radius_mm", range(1e-3, 1e4), unit("mm"), "From the axis to the collimator"),
      param<&NiftiViewsYaml::duration_s>("duration_s", range(0, 1e7), unit("s"), "Of each view; none: all alike"),
      param<&NiftiViewsYaml::head>("head", range(0, 63), "Number of each view's head; none: one head"),
      param<&NiftiViewsYaml::pixel_mm>("pixel_mm", range(1e-3, 1e3), unit("mm"),
                                       "Edges of a pixel along u and w; none: those of the image file"),
      param<&NiftiViewsYaml::energy_window_keV>("energy_window_keV", range(0, 1e5), unit("keV"), "Lower, upper"));
};

fs::path yaml_beside(const fs::path& path) {
  fs::path stem = path;
  if (stem.extension() == ".gz") stem.replace_extension();
  return stem.replace_extension(".yaml");
}

class NiftiViews final : public ViewReader {
 public:
  static std::unique_ptr<ViewReader> open(const fs::path& path, const ViewOverrides& overrides) {
    const detail::NiftiFile header = detail::open_nifti(path);
    if (header->ndim < 2 || header->ndim > 3 || header->nx < 1 || header->ny < 1 || header->nz < 1)
      detail::refuse_nifti(path,
                           "projection data have three axes: across the camera, along the patient, and the views");
    detail::check_nifti_voxels(path, *header);
    if (overrides.window != 1)
      detail::refuse_nifti(path, fmt::format("there is no energy window {}: NIfTI has one", overrides.window));
    const fs::path beside = yaml_beside(path);
    std::error_code none;
    if (!fs::exists(beside, none))
      detail::refuse_nifti(path,
                           fmt::format("projection data in NIfTI need {} beside it, with angles_deg and radius_mm",
                                       printable(beside.string())));
    const Value document = read_document(beside);
    const auto yaml = described<NiftiViewsYaml>(document, "views");
    Contents contents{.format = "NIfTI",
                      .set = set_of(*header, yaml, document, overrides),
                      .stored = {},
                      .is_flipped_u = overrides.flip_u,
                      .is_flipped_w = overrides.flip_w,
                      .negative_is_zero = overrides.negative == NegativeCounts::zero,
                      .notes = {}};
    for (int view = 0; view < header->nz; ++view) contents.stored.push_back({.view = view, .window = 0, .at = view});
    std::unique_ptr<NiftiViews> views(new NiftiViews(path, std::move(contents)));
    views->read_all(*header);
    return views;
  }

 private:
  NiftiViews(const fs::path& path, Contents contents) : ViewReader(path, std::move(contents)) {}

  template <class T>
  static T of_view(const std::vector<T>& list, std::size_t view, T otherwise) {
    return list.empty() ? otherwise : list.size() == 1 ? list.front() : list[view];
  }

  static std::vector<float> angles_of(const NiftiViewsYaml& yaml, int views, const Value& document,
                                      const ViewOverrides& overrides) {
    const AngleZero zero = overrides.zero == AngleZero::file ? yaml.zero : overrides.zero;
    const bool is_in_front = zero == AngleZero::interfile;
    if (yaml.angles_deg.empty() || overrides.start_angle_deg || overrides.direction) {
      if (!yaml.start_angle_deg && !overrides.start_angle_deg)
        refuse(document.where, "the angles of the views are not said: give angles_deg, or start_angle_deg");
      return view_angles(overrides.start_angle_deg ? *overrides.start_angle_deg : *yaml.start_angle_deg,
                         yaml.extent_deg, views, overrides.direction.value_or(yaml.direction), is_in_front);
    }
    std::vector<float> angles;
    for (const double angle : yaml.angles_deg)
      angles.push_back(view_angles(angle, 0, 1, RotationDirection::ccw, is_in_front)[0]);
    return angles;
  }

  static ViewSet set_of(const nifti_image& header, const NiftiViewsYaml& yaml, const Value& document,
                        const ViewOverrides& overrides) {
    const auto views = static_cast<std::size_t>(header.nz);
    const auto check = [&](const char* key, std::size_t listed, bool one_for_all_allowed) {
      if (listed != 0 && listed != views && !(one_for_all_allowed && listed == 1))
        refuse(document.where,
               fmt::format("{} has {} numbers, and the image {} views: list one for each", key, listed, views));
    };
    check("angles_deg", yaml.angles_deg.size(), false);
    check("radius_mm", yaml.radius_mm.size(), true);
    check("duration_s", yaml.duration_s.size(), true);
    check("head", yaml.head.size(), true);
    const std::optional<double> otherwise_mm = overrides.radius_mm ? overrides.radius_mm : overrides.unsaid_radius_mm;
    if (yaml.radius_mm.empty() && !otherwise_mm)
      refuse(document.where, "it does not say how far from the axis the collimator's face was: give radius_mm");
    ViewSet set;
    set.name = yaml.name;
    set.collimator = yaml.collimator;
    set.size[0] = header.nx;
    set.size[1] = header.ny;
    set.pixel_mm = yaml.pixel_mm ? Vec3{(*yaml.pixel_mm)[0], (*yaml.pixel_mm)[1], 0} : Vec3{header.dx, header.dy, 0};
    if (yaml.energy_window_keV) set.windows = {{(*yaml.energy_window_keV)[0], (*yaml.energy_window_keV)[1]}};
    const std::vector<float> angles = angles_of(yaml, header.nz, document, overrides);
    std::map<int, double> end_s;  // of what each head has counted
    for (std::size_t view = 0; view < views; ++view) {
      const double duration_s = of_view(yaml.duration_s, view, 0.0);
      const double radius_mm =
          overrides.radius_mm ? *overrides.radius_mm : of_view(yaml.radius_mm, view, otherwise_mm.value_or(0));
      const int head = of_view(yaml.head, view, 0);
      set.places.push_back({.angle_deg = angles[view],
                            .radius_mm = static_cast<float>(radius_mm),
                            .start_s = end_s[head],
                            .duration_s = duration_s,
                            .head = head});
      end_s[head] += duration_s;
    }
    return set;
  }

  void read_all(const nifti_image& header) {
    const std::int64_t pixels = set()->pixels();
    for (int view = 0; view < header.nz; ++view) views_.emplace_back(Memory::host, pixels);
    detail::read_nifti_lines(path(), header, 1, [&](std::int64_t line) {
      return views_[static_cast<std::size_t>(line / header.ny)].data() + line % header.ny * header.nx;
    });
  }

  void read_pixels(std::int64_t at, std::span<float> to) override {
    Buffer<float>& view = views_[static_cast<std::size_t>(at)];
    std::ranges::copy(view.span(), to.begin());
    view = {};  // each is asked for once
  }

  std::vector<Buffer<float>> views_;
};

}  // namespace

bool has_views_yaml(const fs::path& path) {
  try {
    const Value document = read_document(yaml_beside(path));
    return document.find("angles_deg") || document.find("start_angle_deg") || document.find("radius_mm");
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::unique_ptr<ViewReader> open_nifti_views(const fs::path& path, const ViewOverrides& overrides) {
  return NiftiViews::open(path, overrides);
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
