// What DICOM NM says of its frames: see dicom_study.hpp.
#include "gadgets/spect/io/dicom_study.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"

namespace tofstream::formats {

namespace {

constexpr auto* nuclear_medicine_image = "1.2.840.10008.5.1.4.1.1.20";

}  // namespace

DicomStudy::DicomStudy(const std::filesystem::path& path, const ViewOverrides& overrides)
    : file_(path), overrides_(overrides) {
  const DicomItem all = file_.attributes();
  refuse_other_images(all);
  read_geometry(all);
  read_frames(all);
  read_rotations(all);
  read_detectors(all);
  read_windows(all);
  place_frames();
  find_flips();
  read_corrections(all);
}

void DicomStudy::refuse_other_images(const DicomItem& all) const {
  const std::string modality = all.text(0x0008, 0x0060);
  if (all.text(0x0008, 0x0016) != nuclear_medicine_image)
    file_.refuse(
        fmt::format("a DICOM file of modality {}, and no image of nuclear medicine (NM): projection data are "
                    "NM tomograms",
                    modality.empty() ? "unknown" : printable(modality)));
  const std::string type = all.text(0x0008, 0x0008);
  if (type.find("RECON") != std::string::npos)
    file_.refuse("a reconstructed image (Image Type has RECON), and no projection data");
  if (type.find("TOMO") == std::string::npos)
    file_.refuse(fmt::format("no NM tomogram: its Image Type is {}, without TOMO", printable(type)));
}

void DicomStudy::read_geometry(const DicomItem& all) {
  const std::string maker = all.text(0x0008, 0x0070), model = all.text(0x0008, 0x1090);
  set_.name = maker + (maker.empty() || model.empty() ? "" : " ") + model;
  const auto whole = [&](std::uint16_t element, double otherwise) {
    return static_cast<int>(std::clamp(all.number(0x0028, element).value_or(otherwise), 0.0, 1e6));
  };
  set_.size[0] = whole(0x0011, 0);
  set_.size[1] = whole(0x0010, 0);
  frames_.resize(static_cast<std::size_t>(whole(0x0008, 1)));
  const int bits = whole(0x0100, 0);
  format_ = {.kind = whole(0x0103, 0) != 0 ? RawPixels::Kind::signed_integer : RawPixels::Kind::unsigned_integer,
             .bytes = bits / 8,
             .is_big_endian = std::endian::native == std::endian::big};
  if (bits % 8 != 0 || !format_.is_known()) file_.refuse(fmt::format("pixels of {} bits are not read", bits));
  if (whole(0x0002, 1) != 1) file_.refuse("its pixels are colours, and no counts");
  const auto spacing = all.numbers(0x0028, 0x0030);  // between rows, then between columns
  if (spacing.size() != 2 || !(spacing[0] > 0 && spacing[1] > 0))
    file_.refuse("it has no Pixel Spacing of two positive numbers");
  set_.pixel_mm = {static_cast<float>(spacing[1]), static_cast<float>(spacing[0]), 0};
  if (all.number(0x0028, 0x1053).value_or(1) != 1 || all.number(0x0028, 0x1052).value_or(0) != 0)
    file_.refuse("its pixels are scaled (Rescale Slope, Rescale Intercept): store them as they were counted");
}

void DicomStudy::read_frames(const DicomItem& all) {
  constexpr double most_frames = 100'000;
  const std::size_t frames = frames_.size();
  if (frames == 0 || static_cast<double>(frames) > most_frames)
    file_.refuse(fmt::format("{} frames cannot be", frames));
  const auto take = [&](std::uint16_t element, const char* name, int DicomFrame::*member, double most) {
    const auto vector = all.numbers(0x0054, element);
    if (vector.empty()) return;
    if (vector.size() != frames)
      file_.refuse(fmt::format("its {} Vector has {} numbers for {} frames", name, vector.size(), frames));
    for (std::size_t f = 0; f < frames; ++f) {
      if (!(vector[f] >= 1 && vector[f] <= most))
        file_.refuse(fmt::format("its {} Vector has {:g} for frame {}", name, vector[f], f + 1));
      frames_[f].*member = static_cast<int>(vector[f]);
    }
  };
  constexpr double most_parts = 64;
  take(0x0010, "Energy Window", &DicomFrame::window, most_parts);
  take(0x0020, "Detector", &DicomFrame::detector, most_parts);
  take(0x0050, "Rotation", &DicomFrame::rotation, most_parts);
  take(0x0090, "Angular View", &DicomFrame::view, most_frames);
  const auto slots = all.numbers(0x0054, 0x0070);
  if (!slots.empty() && *std::ranges::max_element(slots) > 1)
    file_.refuse(fmt::format("{:g} time slots of a gated scan: write each into a file of its own, and reconstruct one",
                             *std::ranges::max_element(slots)));
}

void DicomStudy::read_rotations(const DicomItem& all) {
  constexpr double ms_per_s = 1000;
  for (const DicomItem& item : all.items(0x0054, 0x0052)) {
    DicomRotation rotation{.start_deg = item.number(0x0054, 0x0200),
                           .step_deg = std::abs(item.number(0x0018, 0x1144).value_or(0)),
                           .duration_s = item.number(0x0018, 0x1242).value_or(0) / ms_per_s,
                           .radii_mm = item.numbers(0x0018, 0x1142)};
    const std::string direction = item.text(0x0018, 0x1140);
    if (direction.starts_with("CC"))
      rotation.direction = RotationDirection::ccw;
    else if (direction == "CW")
      rotation.direction = RotationDirection::cw;
    else if (!overrides_.direction)
      file_.refuse(
          fmt::format("its Rotation Direction is '{}', neither CW nor CC: give direction", printable(direction)));
    rotation.direction = overrides_.direction.value_or(rotation.direction);
    if (!(rotation.duration_s >= 0)) file_.refuse("its Actual Frame Duration is negative");
    rotations_.push_back(std::move(rotation));
  }
  const int needed = std::ranges::max_element(frames_, {}, &DicomFrame::rotation)->rotation;
  if (static_cast<int>(rotations_.size()) < needed)
    file_.refuse(fmt::format("its frames are of {} rotations, and the Rotation Information Sequence has {}", needed,
                             rotations_.size()));
}

void DicomStudy::read_detectors(const DicomItem& all) {
  for (const DicomItem& item : all.items(0x0054, 0x0022))
    detectors_.push_back({.start_deg = item.number(0x0054, 0x0200),
                          .radii_mm = item.numbers(0x0018, 0x1142),
                          .orientation = item.numbers(0x0020, 0x0037),
                          .collimator = item.text(0x0018, 0x1180)});
  const int needed = std::ranges::max_element(frames_, {}, &DicomFrame::detector)->detector;
  if (needed > 1 && static_cast<int>(detectors_.size()) < needed)
    file_.refuse(fmt::format("its frames are of {} detectors, and the Detector Information Sequence has {}", needed,
                             detectors_.size()));
  if (detectors_.empty()) detectors_.emplace_back();
  set_.collimator = detectors_.front().collimator;
}

void DicomStudy::read_windows(const DicomItem& all) {
  windows_ = std::ranges::max_element(frames_, {}, &DicomFrame::window)->window;
  if (overrides_.window < 1 || overrides_.window > windows_)
    file_.refuse(fmt::format("there is no energy window {}: the file has {}", overrides_.window, windows_));
  set_.windows.resize(static_cast<std::size_t>(windows_));
  int window = 0;
  for (const DicomItem& item : all.items(0x0054, 0x0012)) {
    if (++window > windows_) break;
    const auto ranges = item.items(0x0054, 0x0013);
    if (ranges.empty()) continue;
    set_.windows[static_cast<std::size_t>(place_of_window(window))] = {
        static_cast<float>(ranges.front().number(0x0054, 0x0014).value_or(0)),
        static_cast<float>(ranges.front().number(0x0054, 0x0015).value_or(0))};
  }
}

// Rotations follow one another; how long a camera rested between them is not said.
double DicomStudy::start_of(int rotation) const {
  double start_s = 0;
  for (int before = 1; before < rotation; ++before)
    start_s += number_of_views(1, before) * rotations_[static_cast<std::size_t>(before - 1)].duration_s;
  return start_s;
}

int DicomStudy::number_of_views(int detector, int rotation) const {
  int views = 0;
  for (const DicomFrame& frame : frames_)
    if (frame.detector == detector && frame.rotation == rotation) views = std::max(views, frame.view);
  return views;
}

double DicomStudy::angle_of(const DicomFrame& frame) const {
  const DicomRotation& rotation = rotation_of(frame);
  const bool are_many = number_of_views(2, 1) > 0;  // one detector's start is its rotation's
  const auto start_in = [&](const DicomFrame& at) -> double {
    const DicomRotation& of = rotation_of(at);
    const auto own = detector_of(at).start_deg;
    if (are_many && own) {
      const double since_first = of.start_deg.value_or(0) - rotations_.front().start_deg.value_or(0);
      return *own + since_first;
    }
    if (are_many && at.detector > 1)
      file_.refuse(fmt::format("its Detector Information Sequence has no Start Angle of detector {}", at.detector));
    if (of.start_deg) return *of.start_deg;
    if (own) return *own;
    if (overrides_.start_angle_deg) return 0;
    file_.refuse("it has no Start Angle: give start_angle_deg");
  };
  double start = start_in(frame);
  if (overrides_.start_angle_deg) start += *overrides_.start_angle_deg - start_in(frames_.front());
  if (rotation.step_deg == 0 && number_of_views(frame.detector, frame.rotation) > 1)
    file_.refuse("it has no Angular Step");
  const auto angles = view_angles(start, rotation.step_deg * frame.view, frame.view, rotation.direction,
                                  overrides_.zero == AngleZero::interfile);
  return static_cast<double>(angles.back());
}

double DicomStudy::radius_of(const DicomFrame& frame) const {
  if (overrides_.radius_mm) return *overrides_.radius_mm;
  const auto is_said = [](const std::vector<double>& radii) {
    return !radii.empty() && std::ranges::all_of(radii, [](double radius) { return radius > 0; });
  };
  const std::vector<double>& of_detector = detector_of(frame).radii_mm;
  const std::vector<double>& radii = is_said(of_detector) ? of_detector : rotation_of(frame).radii_mm;
  if (!is_said(radii) && overrides_.unsaid_radius_mm) return *overrides_.unsaid_radius_mm;
  if (!is_said(radii))
    file_.refuse("it does not say how far from the axis the collimator's face was (Radial Position): give radius_mm");
  if (radii.size() == 1) return radii.front();
  if (static_cast<std::size_t>(number_of_views(frame.detector, frame.rotation)) != radii.size())
    file_.refuse(fmt::format("{} Radial Positions for {} views of detector {}: give radius_mm", radii.size(),
                             number_of_views(frame.detector, frame.rotation), frame.detector));
  return radii[static_cast<std::size_t>(frame.view - 1)];
}

void DicomStudy::place_frames() {
  std::map<std::tuple<int, int, int>, int> view_of;  // of a rotation, a detector and an angular view
  std::map<std::pair<int, int>, std::size_t> frame_of;
  for (std::size_t f = 0; f < frames_.size(); ++f) {
    const DicomFrame& frame = frames_[f];
    const auto [found, is_new] =
        view_of.try_emplace({frame.rotation, frame.detector, frame.view}, static_cast<int>(set_.places.size()));
    if (is_new) {
      const DicomRotation& rotation = rotation_of(frame);
      set_.places.push_back({.angle_deg = static_cast<float>(angle_of(frame)),
                             .radius_mm = static_cast<float>(radius_of(frame)),
                             .start_s = start_of(frame.rotation) + (frame.view - 1) * rotation.duration_s,
                             .duration_s = rotation.duration_s,
                             .head = frame.detector - 1});
    }
    const auto [other, is_first] = frame_of.try_emplace({frame.window, found->second}, f);
    if (!is_first)
      file_.refuse(fmt::format("frames {} and {} are of one view and energy window", other->second + 1, f + 1));
    view_of_frame_.push_back(found->second);
  }
}

// Rows run from the head down, and columns to the right as the camera sees it, unless the file says otherwise.
void DicomStudy::find_flips() {
  constexpr double along = 0.9;
  const std::vector<double>& axes = detector_of(frames_.front()).orientation;
  if (axes.size() != 6) return;
  const double t = static_cast<double>(set_.places.front().angle_deg) * std::numbers::pi / 180;
  const double across = -axes[0] * std::cos(t) + axes[1] * std::sin(t), up = axes[5];
  if (std::abs(up) > along && std::abs(across) > along) {
    is_flipped_u_ = across < 0;
    is_flipped_w_ = up < 0;
  } else {
    notes_.emplace_back("its Image Orientation does not fit its angles: rows are taken to run from the head down");
  }
}

std::vector<std::byte> DicomStudy::pixels() const {
  return file_.pixels(static_cast<std::uintmax_t>(frames_.size()) * static_cast<std::uintmax_t>(set_.size[0]) *
                      static_cast<std::uintmax_t>(set_.size[1]) * static_cast<std::uintmax_t>(format_.bytes));
}

// Corrected Image, with the terms of PS3.3 C.8.4.9.
void DicomStudy::read_corrections(const DicomItem& all) {
  const std::string terms = fmt::format("\\{}\\", all.text(0x0028, 0x0051));
  for (const auto& [term, correction] : {std::pair{"UNIF", Correction::normalisation},
                                         {"ATTN", Correction::attenuation},
                                         {"SCAT", Correction::scatter},
                                         {"DTIM", Correction::dead_time},
                                         {"DECY", Correction::decay}})
    if (terms.find(fmt::format("\\{}\\", term)) != std::string::npos)
      quantity_[correction] = {CorrectionState::made, fmt::format("the file says so (Corrected Image has {})", term)};
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
