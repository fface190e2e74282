// Files of projection data, read view by view, whatever their format. Each format is a class of its own that places its
// views and reads their pixels; what holds for all is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/value/param_rules.hpp"
#include "kernels/types/quantity.hpp"
#include "kernels/types/views.hpp"

namespace tofstream::formats {

/// Which way the camera turns, seen from the patient's feet: counter-clockwise is a growing angle (DICOM PS3.3 C.8.4.11).
enum class RotationDirection { cw, ccw };
constexpr auto enum_names(RotationDirection) {
  return names(RotationDirection::cw, "cw", RotationDirection::ccw, "ccw");
}
/// Where the file's angle 0 lies: as its format says, at the patient's back (DICOM), or in front (Interfile 3.3).
enum class AngleZero { file, dicom, interfile };
constexpr auto enum_names(AngleZero) {
  return names(AngleZero::file, "file", AngleZero::dicom, "dicom", AngleZero::interfile, "interfile");
}
enum class NegativeCounts { refuse, zero };
constexpr auto enum_names(NegativeCounts) {
  return names(NegativeCounts::refuse, "refuse", NegativeCounts::zero, "zero");
}

/// What the user knows better than the file.
struct ViewOverrides {
  std::optional<double> start_angle_deg;       // of the first head's first view, counted as the file counts
  std::optional<RotationDirection> direction;  // in place of the file's
  std::optional<double> radius_mm;             // of all views
  std::optional<double> unsaid_radius_mm;      // of all views of a file that says none; else such a file is refused
  bool flip_u = false, flip_w = false;         // the columns, or the rows, run the other way than the format says
  AngleZero zero = AngleZero::file;
  NegativeCounts negative = NegativeCounts::refuse;
  int window = 1;  // the energy window that is reconstructed, from 1; it becomes the first of the set
};

/// What views of a file show that says nothing of it.
Quantity quantity_of_views();

class ViewReader {
 public:
  virtual ~ViewReader() = default;
  ViewReader(const ViewReader&) = delete;
  ViewReader& operator=(const ViewReader&) = delete;

  const std::shared_ptr<const ViewSet>& set() const { return set_; }
  /// "Interfile of STIR"
  const std::string& format() const { return format_; }
  /// Views that next() gives: those of all energy windows.
  std::int64_t views() const { return static_cast<std::int64_t>(stored_.size()); }
  /// One view, in host memory, without index and weight (ViewBatch::weigh makes them); nothing after the last. Views
  /// come as the camera took them, so those of its heads in turns; other windows before the reconstructed one.
  /// Throws std::runtime_error of one line that names the file, the view and the pixel: data that cannot be read, a
  /// count that is not finite or, unless told otherwise, negative.
  std::optional<ViewBatch> next();
  /// The sum of what was negative and became zero so far, as a positive number.
  double clipped() const;
  /// What the file leaves open, a line each: for the log.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Takes in a file of further energy windows of the same scan, where windows have files of their own: its windows
  /// follow those that are there. Before the first next(). Throws std::runtime_error of one line that names the file
  /// where it is of another scan.
  void add_windows_of(std::unique_ptr<ViewReader> file);
  /// Limits of all windows, in the place of what the files say: the reconstructed one first, then the others as they
  /// follow. Throws std::invalid_argument, one line, for another number of windows, or where a window has no width.
  void set_energies(const std::vector<EnergyWindow>& windows);
  /// One line: "Interfile of STIR: 120 views of 128 x 64 pixels of 3.32 x 3.32 mm, 1 head, ..."
  std::string summary() const;

 protected:
  /// A view as the file keeps it.
  struct StoredView {
    std::int32_t view = 0;  // in the set
    int window = 0;         // in the set
    std::int64_t at = 0;    // the how manieth view of its file
    std::size_t file = 0;   // 0: this one; else one of the further files, from 1
  };
  struct Contents {
    std::string format;
    ViewSet set;
    std::vector<StoredView> stored;
    bool is_flipped_u = false, is_flipped_w = false;  // by the format and the overrides together
    bool negative_is_zero = false;
    std::vector<std::string> notes;
    Quantity quantity = quantity_of_views();
  };
  /// Throws std::runtime_error, one line that names the file, where the set is not valid.
  ViewReader(std::filesystem::path path, Contents contents);

  const std::filesystem::path& path() const { return path_; }
  /// std::runtime_error "file: why".
  [[noreturn]] void refuse_file(const std::string& why) const;

 private:
  /// The pixels of the file's view of this number, row by row as they lie there.
  virtual void read_pixels(std::int64_t at, std::span<float> to) = 0;

  /// One view of this file, turned as our sets have it, and the sum of its counts.
  double read_view(const StoredView& stored, std::span<float> pixels);
  double take_counts(const StoredView& stored, std::span<float> pixels);
  void sort_views();
  int window_count() const;  // whether or not their limits are known

  std::filesystem::path path_;
  std::string format_;
  std::shared_ptr<const ViewSet> set_;
  std::shared_ptr<const Quantity> quantity_;
  std::vector<StoredView> stored_;
  std::vector<std::unique_ptr<ViewReader>> further_;  // files of further energy windows
  bool is_flipped_u_ = false, is_flipped_w_ = false, negative_is_zero_ = false;
  std::vector<std::string> notes_;
  std::size_t next_ = 0;
  double clipped_ = 0;
};

/// Why views of `found` are not of the scan of `wanted`, in words: another number of views or pixels, other angles,
/// heads or times ("has 60 views, and the scan 120"); empty where they are. What is not said of times does not differ,
/// and radii are not compared, since files may lack them.
std::string other_scan_in_words(const ViewSet& wanted, const ViewSet& found);

/// The angles of one head's views: from `start_deg` on in equal steps over `extent_deg`, as our sets count them: 0 at
/// the patient's back, growing to the patient's left, in [0, 360). `is_in_front`: the file's zero lies in front.
std::vector<float> view_angles(double start_deg, double extent_deg, int views, RotationDirection direction,
                               bool is_in_front);

/// The reader for a file, whose format its content tells: Interfile, DICOM NM, or NIfTI with a YAML file beside it.
/// Throws std::runtime_error of one line: no such file, another format, and what the format's reader refuses.
std::unique_ptr<ViewReader> open_views(const std::filesystem::path& path, const ViewOverrides& overrides = {});

/// Whether the YAML file beside a NIfTI file says whence views look; an image has none.
bool has_views_yaml(const std::filesystem::path& path);
/// Whether open_views() would take the file for projection data, by its first bytes and, for NIfTI, by its YAML file.
bool are_views(const std::filesystem::path& path);

/// The readers of one format each. They throw as open_views() does.
std::unique_ptr<ViewReader> open_interfile_views(const std::filesystem::path& path,
                                                 const ViewOverrides& overrides = {});
std::unique_ptr<ViewReader> open_dicom_views(const std::filesystem::path& path, const ViewOverrides& overrides = {});
std::unique_ptr<ViewReader> open_nifti_views(const std::filesystem::path& path, const ViewOverrides& overrides = {});

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
