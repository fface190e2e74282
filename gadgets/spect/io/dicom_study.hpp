// What the attributes of a DICOM NM tomogram say (PS3.3 C.8.4): frames belong to a detector, a rotation, an energy window
// and an angular view, and each view has its place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/io/dicom/dicom_file.hpp"
#include "gadgets/io/raw_pixels.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace tofstream::formats {

/// What a frame is of; all counted from 1.
struct DicomFrame {
  int window = 1, detector = 1, rotation = 1, view = 1;
};

struct DicomRotation {
  std::optional<double> start_deg;
  double step_deg = 0, duration_s = 0;
  RotationDirection direction = RotationDirection::ccw;
  std::vector<double> radii_mm;
};

struct DicomDetector {
  std::optional<double> start_deg;
  std::vector<double> radii_mm, orientation;
  std::string collimator;
};

/// What the attributes of a file say. Every function throws std::runtime_error "file: what, and what to do".
class DicomStudy {
 public:
  DicomStudy(const std::filesystem::path& path, const ViewOverrides& overrides);

  const ViewSet& set() const { return set_; }
  /// The view in the set of each frame.
  const std::vector<int>& view_of_frame() const { return view_of_frame_; }
  const std::vector<DicomFrame>& frames() const { return frames_; }
  bool is_flipped_u() const { return is_flipped_u_ != overrides_.flip_u; }
  bool is_flipped_w() const { return is_flipped_w_ != overrides_.flip_w; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// What the counts show: corrections that they have had, as the file says.
  const Quantity& quantity() const { return quantity_; }
  int place_of_window(int window) const {
    return window == overrides_.window ? 0 : window < overrides_.window ? window : window - 1;
  }
  const RawPixels& pixel_format() const { return format_; }
  /// All pixels, in the machine's byte order.
  std::vector<std::byte> pixels() const;

 private:
  void refuse_other_images(const DicomItem& all) const;
  void read_geometry(const DicomItem& all);
  void read_frames(const DicomItem& all);
  void read_rotations(const DicomItem& all);
  void read_detectors(const DicomItem& all);
  void read_windows(const DicomItem& all);
  void place_frames();
  void find_flips();
  void read_corrections(const DicomItem& all);
  double angle_of(const DicomFrame& frame) const;
  double radius_of(const DicomFrame& frame) const;

  const DicomRotation& rotation_of(const DicomFrame& frame) const {
    return rotations_[static_cast<std::size_t>(frame.rotation - 1)];
  }
  const DicomDetector& detector_of(const DicomFrame& frame) const {
    return detectors_[static_cast<std::size_t>(frame.detector - 1)];
  }
  int number_of_views(int detector, int rotation) const;
  double start_of(int rotation) const;  // s from the first one's

  DicomFile file_;
  ViewOverrides overrides_;
  RawPixels format_;
  ViewSet set_;
  std::vector<DicomFrame> frames_;
  std::vector<DicomRotation> rotations_;
  std::vector<DicomDetector> detectors_;
  std::vector<int> view_of_frame_;
  int windows_ = 1;
  bool is_flipped_u_ = false, is_flipped_w_ = true;
  std::vector<std::string> notes_;
  Quantity quantity_ = quantity_of_views();
};

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
