// Parameters of view_corrections, one struct a correction.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "core/value/params.hpp"
#include "gadgets/dead_time_names.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "kernels/correct/dead_time.hpp"

namespace tofstream {

enum class ViewScatterFrom { none, windows, file };
constexpr auto enum_names(ViewScatterFrom) {
  return names(ViewScatterFrom::none, "none", ViewScatterFrom::windows, "windows", ViewScatterFrom::file, "file");
}

/// What the scan's source was told of its files holds for a file of scatter, too.
struct ScatterFileReading {
  std::optional<double> start_angle_deg;
  std::optional<formats::RotationDirection> direction;
  formats::AngleZero zero = formats::AngleZero::file;
  bool flip_u = false, flip_w = false;
  formats::NegativeCounts negative = formats::NegativeCounts::refuse;
  static constexpr auto params =
      describe(param<&ScatterFileReading::start_angle_deg>("start_angle_deg", range(-3600, 3600), unit("deg"),
                                                           "Angle of the first view, counted from zero"),
               param<&ScatterFileReading::direction>("direction", "cw | ccw"),
               param<&ScatterFileReading::zero>("zero", "Where angle 0 lies: file, dicom or interfile"),
               param<&ScatterFileReading::flip_u>("flip_u", "Columns run the other way than the format says"),
               param<&ScatterFileReading::flip_w>("flip_w", "Rows run the other way than the format says"),
               param<&ScatterFileReading::negative>("negative", "Negative values: refuse them, or take them as zero"));
};

/// `scatter: {from: windows}`
struct ViewScatterParams {
  ViewScatterFrom from = ViewScatterFrom::none;
  std::optional<std::array<float, 2>> lower_keV, upper_keV;
  std::optional<double> factor;
  double smooth_fwhm_mm = 0;
  std::filesystem::path file;
  ScatterFileReading read_as;
  static constexpr auto params = describe(
      param<&ViewScatterParams::from>(
          "from",
          "windows: the energy windows beside the photopeak's, whose views come with the scan's; with one above it a "
          "trapezoid (triple energy window), without one a triangle; file: expected counts from `file`"),
      param<&ViewScatterParams::lower_keV>("lower_keV", range(0, 1e5), unit("keV"),
                                           "Limits of the window below, where there are several; none: the nearest"),
      param<&ViewScatterParams::upper_keV>("upper_keV", range(0, 1e5), unit("keV"), "The same of the window above"),
      param<&ViewScatterParams::factor>("factor", range(0, 100),
                                        "Scatter as this fraction of the window below alone (dual energy window), in "
                                        "place of half the windows' ratio of widths"),
      param<&ViewScatterParams::smooth_fwhm_mm>("smooth_fwhm_mm", range(0, 1e3), unit("mm"),
                                                "The estimate is smoothed by a Gaussian of this FWHM; 0: as it is"),
      param<&ViewScatterParams::file>("file", reads_file,
                                      "Projections like the scan's whose pixels are expected counts in a view's time"),
      param<&ViewScatterParams::read_as>("read_as", "How `file` is read, where projections_source was told so"));
};

/// `decay: {isotope: Tc-99m}`
struct ViewDecayParams {
  std::string isotope;
  double half_life_s = 0;
  double reference_time_s = 0;
  static constexpr auto params = describe(
      param<&ViewDecayParams::isotope>("isotope", "Tc-99m, I-123, I-131, In-111, Tl-201 or Lu-177"),
      param<&ViewDecayParams::half_life_s>("half_life_s", range(0, 1e15), unit("s"),
                                           "The half-life of another isotope"),
      param<&ViewDecayParams::reference_time_s>(
          "reference_time_s", range(-1e9, 1e9), unit("s"),
          "Time from the scan's start at which the image shows the activity; before the start it is negative"));
};

/// `dead_time: {tau_s: 4e-6}`
struct ViewDeadTimeParams {
  double tau_s = 0;
  DeadTimeModel model = DeadTimeModel::non_paralysable;
  static constexpr auto params = describe(
      param<&ViewDeadTimeParams::tau_s>("tau_s", range(0, 1), unit("s"),
                                        "Dead time for the counts of the photopeak's window, as it was measured for "
                                        "the camera with that window; 0: none"),
      param<&ViewDeadTimeParams::model>("model",
                                        "paralysable: what comes while the camera is busy keeps it busy; "
                                        "non_paralysable: it does not"));
};

struct ViewCorrectionsParams {
  ViewScatterParams scatter;
  ViewDecayParams decay;
  ViewDeadTimeParams dead_time;
  bool uniform = false;
  static constexpr auto params = describe(
      param<&ViewCorrectionsParams::scatter>("scatter", "Scattered photons in the photopeak's window"),
      param<&ViewCorrectionsParams::decay>("decay", "Decay of the activity during the scan"),
      param<&ViewCorrectionsParams::dead_time>("dead_time", "Counts lost while the camera was busy"),
      param<&ViewCorrectionsParams::uniform>("uniform",
                                             "The camera has corrected its views for uniformity already, as most do: "
                                             "nothing is done, and the image says so"));
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
