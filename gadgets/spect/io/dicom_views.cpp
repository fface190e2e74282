// Projection data in DICOM NM, tomographic multi-frame images (PS3.3 C.8.4), by GDCM where the build found it: frames
// belong to a detector, a rotation, an energy window and an angular view.
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/spect/io/view_reader.hpp"

#ifdef TOFSTREAM_HAVE_GDCM

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gdcmPixmapReader.h>
#include <gdcmReader.h>
#include <gdcmStringFilter.h>
#include <gdcmTrace.h>

#include "gadgets/spect/io/raw_pixels.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

/// The bytes of a file, for GDCM, which takes a file that is cut short for a whole one, or ends the program by an
/// assertion: reading beyond the end throws, but where the next element would begin.
class WholeFile : public std::filebuf {
 public:
  struct CutShort {};

 protected:
  std::streamsize xsgetn(char* to, std::streamsize wanted) override {
    const std::streamsize found = std::filebuf::xsgetn(to, wanted);
    constexpr std::streamsize tag = 4;
    if (found < wanted && (found > 0 || wanted != tag || std::exchange(has_ended_, true))) throw CutShort{};
    return found;
  }

 private:
  bool has_ended_ = false;
};

// Whether the file ends within its first group, of which GDCM asserts that it is whole (PS3.10, 7.1).
bool ends_in_first_group(const fs::path& path) {
  constexpr std::size_t start = 132, length_at = 140, group_at = 144;
  constexpr unsigned char length_of_group[] = {2, 0, 0, 0, 'U', 'L', 4, 0};
  unsigned char head[group_at] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head), sizeof head);
  if (!file) return true;
  if (!std::ranges::equal(length_of_group, std::span(head).subspan(start, sizeof length_of_group))) return false;
  std::uintmax_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= static_cast<std::uintmax_t>(head[length_at + i]) << (8 * i);
  std::error_code error;
  return fs::file_size(path, error) <= group_at + length || error;
}

constexpr auto* nuclear_medicine_image = "1.2.840.10008.5.1.4.1.1.20";

/// A data set, or an item of a sequence, whose elements are read as numbers or text.
class DicomItem {
 public:
  DicomItem(const gdcm::StringFilter& filter, const gdcm::DataSet& data) : filter_(&filter), data_(&data) {}

  std::string text(std::uint16_t group, std::uint16_t element) const {
    const gdcm::Tag tag(group, element);
    if (!data_->FindDataElement(tag)) return {};
    std::string text = filter_->ToString(data_->GetDataElement(tag));
    while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
    return text;
  }

  /// All values; empty where the element is not there, has none, or has one that is no finite number.
  std::vector<double> numbers(std::uint16_t group, std::uint16_t element) const {
    const std::string all = text(group, element);
    std::vector<double> values;
    std::string_view rest = all;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\\'), rest.size());
      std::string_view one = rest.substr(0, end);
      while (one.starts_with(' ') || one.starts_with('+')) one.remove_prefix(1);
      while (one.ends_with(' ')) one.remove_suffix(1);
      double value = 0;
      const auto [stop, error] = std::from_chars(one.data(), one.data() + one.size(), value);
      if (error != std::errc{} || stop != one.data() + one.size() || !std::isfinite(value)) return {};
      values.push_back(value);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return values;
  }
  std::optional<double> number(std::uint16_t group, std::uint16_t element) const {
    const auto values = numbers(group, element);
    return values.empty() ? std::nullopt : std::optional(values.front());
  }

  /// The items of a sequence; none where it is not there. They live as long as `kept` does.
  std::vector<DicomItem> items(std::uint16_t group, std::uint16_t element,
                               std::vector<gdcm::SmartPointer<gdcm::SequenceOfItems>>& kept) const {
    const gdcm::Tag tag(group, element);
    std::vector<DicomItem> found;
    if (!data_->FindDataElement(tag)) return found;
    const auto sequence = data_->GetDataElement(tag).GetValueAsSQ();
    if (!sequence) return found;
    kept.push_back(sequence);
    for (std::size_t i = 1; i <= sequence->GetNumberOfItems(); ++i)
      found.emplace_back(*filter_, sequence->GetItem(i).GetNestedDataSet());
    return found;
  }

 private:
  const gdcm::StringFilter* filter_;
  const gdcm::DataSet* data_;
};

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
  DicomStudy(fs::path path, const ViewOverrides& overrides) : path_(std::move(path)), overrides_(overrides) {
    gdcm::Trace::WarningOff();  // our errors say what is wrong
    gdcm::Trace::ErrorOff();
    read_whole();
    filter_.SetFile(reader_.GetFile());
    const DicomItem all(filter_, reader_.GetFile().GetDataSet());
    refuse_other_images(all);
    read_geometry(all);
    read_frames(all);
    read_rotations(all);
    read_detectors(all);
    read_windows(all);
    place_frames();
    find_flips();
  }

  ViewSet set() const { return set_; }
  /// The view in the set of each frame.
  const std::vector<int>& view_of_frame() const { return view_of_frame_; }
  const std::vector<DicomFrame>& frames() const { return frames_; }
  bool is_flipped_u() const { return is_flipped_u_ != overrides_.flip_u; }
  bool is_flipped_w() const { return is_flipped_w_ != overrides_.flip_w; }
  const std::vector<std::string>& notes() const { return notes_; }
  int place_of_window(int window) const {
    return window == overrides_.window ? 0 : window < overrides_.window ? window : window - 1;
  }
  const RawPixels& pixel_format() const { return format_; }
  /// All pixels, in the machine's byte order.
  std::vector<std::byte> pixels() const;

 private:
  [[noreturn]] void refuse_dicom(const std::string& why) const {
    throw std::runtime_error(fmt::format("{}: {}", printable(path_.string()), why));
  }
  void read_whole();
  void refuse_other_images(const DicomItem& all) const;
  void read_geometry(const DicomItem& all);
  const gdcm::TransferSyntax& transfer_syntax() const {
    return reader_.GetFile().GetHeader().GetDataSetTransferSyntax();
  }
  std::int64_t bytes_of_pixels() const {
    return static_cast<std::int64_t>(frames_.size()) * set_.size[0] * set_.size[1] * format_.bytes;
  }
  void read_frames(const DicomItem& all);
  void read_rotations(const DicomItem& all);
  void read_detectors(const DicomItem& all);
  void read_windows(const DicomItem& all);
  void place_frames();
  void find_flips();
  double angle_of(const DicomFrame& frame) const;
  double radius_of(const DicomFrame& frame) const;

  const DicomRotation& rotation_of(const DicomFrame& frame) const {
    return rotations_[static_cast<std::size_t>(frame.rotation - 1)];
  }
  const DicomDetector& detector_of(const DicomFrame& frame) const {
    return detectors_[static_cast<std::size_t>(frame.detector - 1)];
  }
  int number_of_views(int detector, int rotation) const;

  fs::path path_;
  ViewOverrides overrides_;
  gdcm::Reader reader_;
  RawPixels format_;
  gdcm::StringFilter filter_;
  std::vector<gdcm::SmartPointer<gdcm::SequenceOfItems>> kept_;
  ViewSet set_;
  std::vector<DicomFrame> frames_;
  std::vector<DicomRotation> rotations_;
  std::vector<DicomDetector> detectors_;
  std::vector<int> view_of_frame_;
  int windows_ = 1;
  bool is_flipped_u_ = false, is_flipped_w_ = true;
  std::vector<std::string> notes_;
};

void DicomStudy::refuse_other_images(const DicomItem& all) const {
  const std::string modality = all.text(0x0008, 0x0060);
  if (all.text(0x0008, 0x0016) != nuclear_medicine_image)
    refuse_dicom(
        fmt::format("a DICOM file of modality {}, and no image of nuclear medicine (NM): projection data are "
                    "NM tomograms",
                    modality.empty() ? "unknown" : printable(modality)));
  const std::string type = all.text(0x0008, 0x0008);
  if (type.find("RECON") != std::string::npos)
    refuse_dicom("a reconstructed image (Image Type has RECON), and no projection data");
  if (type.find("TOMO") == std::string::npos)
    refuse_dicom(fmt::format("no NM tomogram: its Image Type is {}, without TOMO", printable(type)));
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
  if (bits % 8 != 0 || !format_.is_known()) refuse_dicom(fmt::format("pixels of {} bits are not read", bits));
  if (whole(0x0002, 1) != 1) refuse_dicom("its pixels are colours, and no counts");
  const auto spacing = all.numbers(0x0028, 0x0030);  // between rows, then between columns
  if (spacing.size() != 2 || !(spacing[0] > 0 && spacing[1] > 0))
    refuse_dicom("it has no Pixel Spacing of two positive numbers");
  set_.pixel_mm = {static_cast<float>(spacing[1]), static_cast<float>(spacing[0]), 0};
  if (all.number(0x0028, 0x1053).value_or(1) != 1 || all.number(0x0028, 0x1052).value_or(0) != 0)
    refuse_dicom("its pixels are scaled (Rescale Slope, Rescale Intercept): store them as they were counted");
}

void DicomStudy::read_frames(const DicomItem& all) {
  constexpr double most_frames = 100'000;
  const std::size_t frames = frames_.size();
  if (frames == 0 || static_cast<double>(frames) > most_frames)
    refuse_dicom(fmt::format("{} frames cannot be", frames));
  const auto take = [&](std::uint16_t element, const char* name, int DicomFrame::*member, double most) {
    const auto vector = all.numbers(0x0054, element);
    if (vector.empty()) return;
    if (vector.size() != frames)
      refuse_dicom(fmt::format("its {} Vector has {} numbers for {} frames", name, vector.size(), frames));
    for (std::size_t f = 0; f < frames; ++f) {
      if (!(vector[f] >= 1 && vector[f] <= most))
        refuse_dicom(fmt::format("its {} Vector has {:g} for frame {}", name, vector[f], f + 1));
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
    refuse_dicom(fmt::format("{:g} time slots of a gated scan: write each into a file of its own, and reconstruct one",
                             *std::ranges::max_element(slots)));
}

void DicomStudy::read_rotations(const DicomItem& all) {
  constexpr double ms_per_s = 1000;
  for (const DicomItem& item : all.items(0x0054, 0x0052, kept_)) {
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
      refuse_dicom(
          fmt::format("its Rotation Direction is '{}', neither CW nor CC: give direction", printable(direction)));
    rotation.direction = overrides_.direction.value_or(rotation.direction);
    if (!(rotation.duration_s >= 0)) refuse_dicom("its Actual Frame Duration is negative");
    rotations_.push_back(std::move(rotation));
  }
  const int needed = std::ranges::max_element(frames_, {}, &DicomFrame::rotation)->rotation;
  if (static_cast<int>(rotations_.size()) < needed)
    refuse_dicom(fmt::format("its frames are of {} rotations, and the Rotation Information Sequence has {}", needed,
                             rotations_.size()));
}

void DicomStudy::read_detectors(const DicomItem& all) {
  for (const DicomItem& item : all.items(0x0054, 0x0022, kept_))
    detectors_.push_back({.start_deg = item.number(0x0054, 0x0200),
                          .radii_mm = item.numbers(0x0018, 0x1142),
                          .orientation = item.numbers(0x0020, 0x0037),
                          .collimator = item.text(0x0018, 0x1180)});
  const int needed = std::ranges::max_element(frames_, {}, &DicomFrame::detector)->detector;
  if (needed > 1 && static_cast<int>(detectors_.size()) < needed)
    refuse_dicom(fmt::format("its frames are of {} detectors, and the Detector Information Sequence has {}", needed,
                             detectors_.size()));
  if (detectors_.empty()) detectors_.emplace_back();
  set_.collimator = detectors_.front().collimator;
}

void DicomStudy::read_windows(const DicomItem& all) {
  windows_ = std::ranges::max_element(frames_, {}, &DicomFrame::window)->window;
  if (overrides_.window < 1 || overrides_.window > windows_)
    refuse_dicom(fmt::format("there is no energy window {}: the file has {}", overrides_.window, windows_));
  set_.windows.resize(static_cast<std::size_t>(windows_));
  int window = 0;
  for (const DicomItem& item : all.items(0x0054, 0x0012, kept_)) {
    if (++window > windows_) break;
    const auto ranges = item.items(0x0054, 0x0013, kept_);
    if (ranges.empty()) continue;
    set_.windows[static_cast<std::size_t>(place_of_window(window))] = {
        static_cast<float>(ranges.front().number(0x0054, 0x0014).value_or(0)),
        static_cast<float>(ranges.front().number(0x0054, 0x0015).value_or(0))};
  }
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
      refuse_dicom(fmt::format("its Detector Information Sequence has no Start Angle of detector {}", at.detector));
    if (of.start_deg) return *of.start_deg;
    if (own) return *own;
    if (overrides_.start_angle_deg) return 0;
    refuse_dicom("it has no Start Angle: give start_angle_deg");
  };
  double start = start_in(frame);
  if (overrides_.start_angle_deg) start += *overrides_.start_angle_deg - start_in(frames_.front());
  if (rotation.step_deg == 0 && number_of_views(frame.detector, frame.rotation) > 1)
    refuse_dicom("it has no Angular Step");
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
  if (!is_said(radii))
    refuse_dicom("it does not say how far from the axis the collimator's face was (Radial Position): give radius_mm");
  if (radii.size() == 1) return radii.front();
  if (static_cast<std::size_t>(number_of_views(frame.detector, frame.rotation)) != radii.size())
    refuse_dicom(fmt::format("{} Radial Positions for {} views of detector {}: give radius_mm", radii.size(),
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
                             .start_s = (frame.view - 1) * rotation.duration_s,
                             .duration_s = rotation.duration_s,
                             .head = frame.detector - 1});
    }
    const auto [other, is_first] = frame_of.try_emplace({frame.window, found->second}, f);
    if (!is_first)
      refuse_dicom(fmt::format("frames {} and {} are of one view and energy window", other->second + 1, f + 1));
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
  gdcm::PixmapReader reader;  // an ImageReader ends the program where a patient position is not there
  reader.SetFileName(path_.c_str());
  const auto wanted = static_cast<std::uintmax_t>(bytes_of_pixels());
  const bool is_read = reader.Read();
  const std::uintmax_t found = is_read ? reader.GetPixmap().GetBufferLength() : 0;
  constexpr std::uintmax_t best_compression = 1000;
  std::error_code error;
  if (is_read && found == wanted && wanted / best_compression <= fs::file_size(path_, error) && !error) {
    std::vector<std::byte> bytes(wanted);
    if (reader.GetPixmap().GetBuffer(reinterpret_cast<char*>(bytes.data()))) return bytes;
  }
  if (transfer_syntax().IsEncapsulated())
    refuse_dicom(
        fmt::format("its compressed pixels (transfer syntax {}) are broken, or of a kind that GDCM cannot "
                    "read: store them uncompressed, for example by gdcmconv --raw",
                    transfer_syntax().GetString()));
  refuse_dicom(fmt::format("it has no pixels, or not the {} bytes that its attributes describe", wanted));
}

void DicomStudy::read_whole() {
  if (ends_in_first_group(path_)) refuse_dicom("a DICOM file that is cut short");
  try {
    WholeFile bytes;
    bytes.open(path_.c_str(), std::ios::in | std::ios::binary);
    std::istream stream(&bytes);
    stream.exceptions(std::ios::badbit);  // so that what the buffer throws comes out
    reader_.SetStream(stream);
    if (reader_.Read()) return;
  } catch (const WholeFile::CutShort& /*error*/) {
    refuse_dicom("a DICOM file that is cut short");
  }
  refuse_dicom("a DICOM file that is cut short or broken");
}

class DicomViews final : public ViewReader {
 public:
  static std::unique_ptr<ViewReader> open(const fs::path& path, const ViewOverrides& overrides) try {
    const DicomStudy study(path, overrides);
    Contents contents{.format = "DICOM NM",
                      .set = study.set(),
                      .stored = {},
                      .is_flipped_u = study.is_flipped_u(),
                      .is_flipped_w = study.is_flipped_w(),
                      .negative_is_zero = overrides.negative == NegativeCounts::zero,
                      .notes = study.notes()};
    for (std::size_t f = 0; f < study.frames().size(); ++f)
      contents.stored.push_back({.view = study.view_of_frame()[f],
                                 .window = study.place_of_window(study.frames()[f].window),
                                 .at = static_cast<std::int64_t>(f)});
    return std::unique_ptr<ViewReader>(new DicomViews(path, std::move(contents), study.pixel_format(), study.pixels()));
  } catch (const gdcm::Exception& error) {
    throw std::runtime_error(
        fmt::format("{}: a DICOM file that is broken: {}", printable(path.string()), printable(error.what())));
  }

 private:
  DicomViews(const fs::path& path, Contents contents, const RawPixels& format, std::vector<std::byte> pixels)
      : ViewReader(path, std::move(contents)), format_(format), pixels_(std::move(pixels)) {}

  void read_pixels(std::int64_t at, std::span<float> to) override {
    const std::size_t bytes = to.size() * static_cast<std::size_t>(format_.bytes);
    decode_pixels(format_, std::span(pixels_).subspan(static_cast<std::size_t>(at) * bytes, bytes), to);
  }

  RawPixels format_;
  std::vector<std::byte> pixels_;  // of all frames
};

}  // namespace

std::unique_ptr<ViewReader> open_dicom_views(const fs::path& path, const ViewOverrides& overrides) {
  return DicomViews::open(path, overrides);
}

}  // namespace tofstream::formats

#else

namespace tofstream::formats {

std::unique_ptr<ViewReader> open_dicom_views(const std::filesystem::path& path, const ViewOverrides& /*overrides*/) {
  throw std::runtime_error(
      fmt::format("{}: this build has no DICOM reader: build with libgdcm-dev", printable(path.string())));
}

}  // namespace tofstream::formats

#endif
// SPDX-License-Identifier: Apache-2.0
