// Keys of projection data: see interfile_study.hpp.
#include "gadgets/spect/io/interfile_study.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/simulation_words.hpp"
#include "gadgets/spect/io/view_lists.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

InterfileStudy::InterfileStudy(InterfileHeader header, fs::path path, const ViewOverrides& overrides)
    : path_(std::move(path)), overrides_(overrides), header_(std::move(header)), dialect_(find_dialect()) {
  refuse_other_studies();
  count_sections();
  for (int head = 0; head < heads_; ++head) runs_.push_back(run_of(head));
  for (const InterfileRun& run : runs_) views_ += run.views;
  check_number_of_images();
  windows_ = energy_windows();
}

InterfileDialect InterfileStudy::find_dialect() const {
  const InterfileEntry* format = header_.find("number format");
  // A converter to STIR's dialect keeps SIMIND's name, but not its word for floats.
  const bool is_of_stir = format && lower_case(format->value) == "float";
  const auto is_by = [&](const char* key, std::string_view word) {
    const InterfileEntry* entry = header_.find(key);
    return entry && lower_case(entry->value).find(word) != std::string::npos;
  };
  if (!is_of_stir && (is_by("originating system", "simind") || is_by("conversion program", "simind") ||
                      is_by("program author", "ljungberg")))
    return InterfileDialect::simind;
  if (is_by("data description", "gate simulation") || header_.comment("GATE GEOMETRY")) return InterfileDialect::gate;
  return InterfileDialect::general;
}

// The line of a key for this section: its only one, or the one in its place where the key is repeated.
const InterfileEntry* InterfileStudy::in_section(std::string_view key, int index, int section) const {
  std::vector<const InterfileEntry*> found = header_.all(key);
  std::erase_if(found, [&](const InterfileEntry* entry) { return entry->index.value_or(1) != index; });
  if (found.empty()) return nullptr;
  if (found.size() == 1) return found.front();
  if (found.size() != static_cast<std::size_t>(sections_))
    header_.refuse(found.back(), fmt::format("'{}' comes {} times, and there are {} sections of heads and windows",
                                             found.back()->key, found.size(), sections_));
  return found[static_cast<std::size_t>(section)];
}

const InterfileEntry& InterfileStudy::needed(std::string_view key, int index, int section) const {
  const InterfileEntry* entry = in_section(key, index, section);
  if (!entry)
    header_.refuse(nullptr, fmt::format("it has no '{}{}': is it a header of projection data?", key,
                                        index > 1 ? fmt::format(" [{}]", index) : ""));
  return *entry;
}

void InterfileStudy::refuse_other_studies() const {
  const auto require_word = [&](std::string_view key, std::string_view word, const std::string& message) {
    const InterfileEntry* entry = header_.find(key);
    if (entry && !entry->value.empty() && lower_case(entry->value).find(word) == std::string::npos)
      header_.refuse(entry, fmt::format("'{}' is {}: {}", entry->key, printable(entry->value), message));
  };
  if (const InterfileEntry* modality = header_.find("imaging modality");
      !modality || lower_case(modality->value) != "nm")
    require_word("imaging modality", "nucmed", "projection data of a gamma camera are of nucmed");
  require_word("type of data", "tomographic", "tomographic data are reconstructed");
  require_word("process status", "acquired", "this is an image, and no projection data");
  require_word("data compression", "none", "store the data uncompressed");
  require_word("data encode", "none", "store the data as plain binary numbers");
  for (const char* key : {"number of time frames", "number of time slots", "number of frame groups", "number of gates"})
    if (const InterfileEntry* entry = header_.find(key); entry && !entry->value.empty() && header_.number(*entry) > 1)
      header_.refuse(entry, fmt::format("{} '{}': write each into a file of its own, and reconstruct one", entry->value,
                                        entry->key));
  for (const char* key : {"quantification units", "image scaling factor"})
    if (const InterfileEntry* entry = header_.find(key); entry && !entry->value.empty() && header_.number(*entry) != 1)
      header_.refuse(entry, fmt::format("'{}' scales the counts: store them as they were counted", entry->key));
  if (const InterfileEntry* label = header_.find("matrix axis label", 1);
      label && lower_case(label->value).find("axial") != std::string::npos)
    header_.refuse(label, "the first axis must run across the camera (bin coordinate), the second along the patient");
}

void InterfileStudy::count_sections() {
  const auto projections = header_.all("number of projections");
  if (projections.empty())
    header_.refuse(nullptr, "it has no 'number of projections': is it a header of projection data?");
  sections_ = static_cast<int>(projections.size());
  constexpr int most = 64;
  if (const InterfileEntry* entry = header_.find("number of energy windows"))
    number_of_windows_ = static_cast<int>(header_.whole(*entry, 1, most));
  if (overrides_.window < 1 || overrides_.window > number_of_windows_)
    header_.refuse(nullptr,
                   fmt::format("there is no energy window {}: the file has {}", overrides_.window, number_of_windows_));
  if (sections_ == 1) return;
  if (const InterfileEntry* entry = header_.find("number of detector heads"))
    heads_ = static_cast<int>(header_.whole(*entry, 1, most));
  if (sections_ != heads_ && sections_ != heads_ * number_of_windows_)
    header_.refuse(projections.back(),
                   fmt::format("'number of projections' comes {} times, for {} heads and {} energy windows", sections_,
                               heads_, number_of_windows_));
}

void InterfileStudy::check_number_of_images() const {
  const InterfileEntry* total = header_.find("total number of images");
  if (!total) return;
  constexpr std::int64_t most = 10'000'000;
  const std::int64_t images = header_.whole(*total, 1, most);
  const std::int64_t described = std::int64_t{views_} * number_of_windows_;
  if (images != described)
    header_.refuse(total, fmt::format("{} images in total, and 'number of projections' of all heads and windows makes "
                                      "{}: repeat the section of each head, or correct the number",
                                      images, described));
}

RotationDirection InterfileStudy::direction_of(int section) const {
  if (overrides_.direction) return *overrides_.direction;
  const InterfileEntry* entry = in_section("direction of rotation", 1, section);
  const std::string word = entry ? lower_case(entry->value) : "cw";
  if (word == "cw") return RotationDirection::cw;
  if (word == "ccw" || word == "cc") return RotationDirection::ccw;
  header_.refuse(entry, fmt::format("'direction of rotation' must be CW or CCW, not '{}'", printable(word)));
}

InterfileRun InterfileStudy::run_of(int head) const {
  constexpr int most_views = 100'000;
  InterfileRun run;
  run.views = static_cast<int>(header_.whole(needed("number of projections", 1, head), 1, most_views));
  const InterfileEntry& extent = needed("extent of rotation", 1, head);
  run.extent_deg = header_.number(extent);
  if (!(run.extent_deg > 0 && run.extent_deg <= 3600))
    header_.refuse(&extent, fmt::format("an extent of rotation of {} degrees cannot be", extent.value));
  const InterfileEntry* start = in_section("start angle", 1, head);
  run.start_deg = start ? header_.number(*start) : 0;
  if (start && std::abs(run.start_deg) > 3600)
    header_.refuse(start, fmt::format("a start angle of {} degrees cannot be", start->value));
  run.direction = direction_of(head);
  run.radii_mm = radii_of(head, run.views);
  if (const InterfileEntry* time = in_section("time per projection (sec)", 1, head)) {
    run.duration_s = header_.number(*time);
    if (run.duration_s < 0) header_.refuse(time, "a time per projection cannot be negative");
  }
  return run;
}

double InterfileStudy::mm(const InterfileEntry& entry, double value) const {
  constexpr double mm_per_cm = 10, largest_mm = 10'000, largest_simind_cm = 100;
  const bool is_cm = dialect_ == InterfileDialect::simind;
  if (is_cm && value > largest_simind_cm)
    header_.refuse(&entry, fmt::format("SIMIND's radius is in cm, and {:g} cm is no camera's: give radius_mm", value));
  if (!(value > 0 && value < largest_mm))
    header_.refuse(&entry, fmt::format("a radius of {:g} cannot be: give radius_mm", value));
  return value * (is_cm ? mm_per_cm : 1);
}

std::vector<double> InterfileStudy::radii_of(int section, int views) const {
  const auto all = static_cast<std::size_t>(views);
  if (overrides_.radius_mm) return std::vector<double>(all, *overrides_.radius_mm);
  const InterfileEntry* orbit_file = header_.comment("Non-Uniform Orbit File");
  const InterfileEntry* orbit = in_section("orbit", 1, section);
  const bool is_circular = !orbit || lower_case(orbit->value).find("non") == std::string::npos;
  if (orbit_file || (!is_circular && dialect_ == InterfileDialect::simind && !header_.find("radii")))
    return radii_of_orbit_file(orbit_file, views);
  const InterfileEntry* radius = in_section("radius", 1, section);
  if (!radius) radius = header_.comment("radius");
  if (radius && is_circular) return std::vector<double>(all, mm(*radius, header_.number(*radius)));
  const InterfileEntry* radii = in_section("radii", 1, section);
  if (!radii && overrides_.unsaid_radius_mm) return std::vector<double>(all, *overrides_.unsaid_radius_mm);
  if (!radii)
    header_.refuse(nullptr,
                   "it does not say how far from the axis the collimator's face was: give radius_mm of the camera");
  std::vector<double> listed = header_.numbers(*radii);
  if (listed.size() != all)
    header_.refuse(radii, fmt::format("{} radii for {} projections: list one for each", listed.size(), views));
  for (double& value : listed) value = mm(*radii, value);
  return listed;
}

// SIMIND's orbit: a line "radius in cm, column of the axis" for each view.
std::vector<double> InterfileStudy::radii_of_orbit_file(const InterfileEntry* named, int views) const {
  if (path_.empty()) header_.refuse(named, "a stream's header names no files: list the radii in it");
  fs::path path = path_.parent_path() / (named ? fs::path(named->value) : path_.stem().concat(".cor"));
  std::ifstream file(path);
  if (!file)
    header_.refuse(named, fmt::format("its orbit's file {} cannot be read: put it beside the header, or give radius_mm",
                                      printable(path.string())));
  const double middle = header_.number(needed("matrix size", 1, 0)) / 2;
  std::vector<double> radii;
  int number = 0;
  constexpr double mm_per_cm = 10;
  for (std::string line; std::getline(file, line) && radii.size() <= static_cast<std::size_t>(views);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    double radius = 0, column = middle;
    const int read = std::sscanf(line.c_str(), "%lf %lf", &radius, &column);
    const auto refuse_line = [&](const std::string& why) {
      throw std::runtime_error(fmt::format("{}:{}: {}", printable(path.string()), number, why));
    };
    if (read < 1 || !(radius > 0 && radius <= 100)) refuse_line("a radius in cm must begin the line");
    if (!(std::abs(column - middle) <= 1))
      refuse_line(fmt::format("the axis lies at column {:g}, and only the middle ({:g}) is read: shift the data",
                              column, middle));
    radii.push_back(radius * mm_per_cm);
  }
  if (radii.size() != static_cast<std::size_t>(views))
    throw std::runtime_error(fmt::format(
        "{}: {} radii for {} projections: list one for each", printable(path.string()),
        radii.size() > static_cast<std::size_t>(views) ? "too many" : fmt::format("{}", radii.size()), views));
  return radii;
}

EnergyWindow InterfileStudy::energy_window(int number) const {
  const auto level = [&](const char* key) {
    const InterfileEntry* entry = header_.find(key, number);
    if (!entry && number_of_windows_ == 1) entry = header_.comment(key);  // as SIMIND writes it
    return entry && !entry->value.empty() ? header_.number(*entry) : 0;
  };
  const double low = level("energy window lower level"), high = level("energy window upper level");
  if (!(low >= 0 && high > low && high < 1e5)) return {};
  return {static_cast<float>(low), static_cast<float>(high)};
}

std::vector<EnergyWindow> InterfileStudy::energy_windows() const {
  std::vector<EnergyWindow> windows(static_cast<std::size_t>(number_of_windows_));
  for (int w = 0; w < number_of_windows_; ++w)
    windows[static_cast<std::size_t>(place_of_window(w))] = energy_window(w + 1);
  return windows;
}

ViewSet InterfileStudy::set() const {
  ViewSet set;
  if (const InterfileEntry* system = header_.find("originating system")) set.name = system->value;
  if (const InterfileEntry* collimator = header_.find("collimator")) set.collimator = collimator->value;
  for (int axis = 0; axis < 2; ++axis) {
    constexpr int most_pixels = 4096;
    for (int section = 0; section < sections_; ++section) {
      const InterfileEntry& size = needed("matrix size", axis + 1, section);
      const auto pixels = static_cast<int>(header_.whole(size, 1, most_pixels));
      if (section > 0 && pixels != set.size[axis])
        header_.refuse(&size, "all heads and windows must have views of one size: write each into a file of its own");
      set.size[axis] = pixels;
    }
    const InterfileEntry& scale = needed("scaling factor (mm/pixel)", axis + 1, 0);
    const double mm = header_.number(scale);
    if (!(mm > 0 && mm < 1e3)) header_.refuse(&scale, fmt::format("pixels of {} mm cannot be", scale.value));
    set.pixel_mm.set(axis, static_cast<float>(mm));
  }
  set.windows = windows_;
  const double turned = overrides_.start_angle_deg ? *overrides_.start_angle_deg - runs_.front().start_deg : 0;
  for (std::size_t head = 0; head < runs_.size(); ++head) {
    const InterfileRun& run = runs_[head];
    const auto angles = view_angles(run.start_deg + turned, run.extent_deg, run.views, run.direction,
                                    overrides_.zero != AngleZero::dicom);
    for (std::size_t view = 0; view < angles.size(); ++view)
      set.places.push_back({.angle_deg = angles[view],
                            .radius_mm = static_cast<float>(run.radii_mm[view]),
                            .start_s = static_cast<double>(view) * run.duration_s,
                            .duration_s = run.duration_s,
                            .head = static_cast<int>(head)});
  }
  apply_view_lists(set);
  return set;
}

// What the keys cannot say of single views, lists say that other programs take for comments.
void InterfileStudy::apply_view_lists(ViewSet& set) const {
  const bool turns = overrides_.start_angle_deg || overrides_.direction || overrides_.zero != AngleZero::file;
  for (const ViewList& list : view_lists) {
    const InterfileEntry* entry = header_.comment(list.key);
    if (!entry || (list.is_angle && turns) || (list.is_radius && overrides_.radius_mm)) continue;
    const std::vector<double> values = header_.numbers(*entry);
    if (values.size() != set.places.size())
      header_.refuse(entry, fmt::format("{} values of '{}' for {} projections: list one for each", values.size(),
                                        list.key, set.places.size()));
    for (std::size_t view = 0; view < values.size(); ++view) list.set(set.places[view], values[view]);
  }
}

Quantity InterfileStudy::quantity() const {
  Quantity quantity = quantity_of_views();
  for (const InterfileEntry* entry : header_.comments(simulation_key)) read_simulation_words(entry->value, quantity);
  for (const InterfileEntry* entry : header_.comments(corrected_key)) {
    const std::size_t colon = entry->value.find(": ");
    for (std::size_t c = 0; c < correction_count; ++c)
      if (const auto correction = static_cast<Correction>(c); entry->value.substr(0, colon) == name_of(correction))
        quantity[correction] = {CorrectionState::made,
                                colon == std::string::npos ? "" : entry->value.substr(colon + 2)};
  }
  if (const InterfileEntry* entry = header_.comment(decay_key)) {
    const std::vector<double> values = header_.numbers(*entry);
    if (values.size() != 2 || !(values[0] > 0))
      header_.refuse(entry, fmt::format("'{}' takes a half-life and a reference time in s", decay_key));
    quantity.decay = {values[0], values[1]};
  }
  for (const InterfileEntry* entry : header_.comments(mark_key)) quantity.marks.push_back(entry->value);
  return quantity;
}

std::vector<std::string> InterfileStudy::notes() const {
  std::vector<std::string> notes;
  if (overrides_.zero == AngleZero::file)
    notes.emplace_back(
        "Interfile's angle 0 is taken to lie in front of the patient; some programs mean the back: zero: dicom");
  const auto says = [&](const char* key, std::string_view word) {
    const InterfileEntry* entry = header_.find(key);
    return entry && lower_case(entry->value).find(word) != std::string::npos;
  };
  if (says("patient orientation", "feet") || says("patient rotation", "prone"))
    notes.emplace_back("the patient lay feet first or prone; the image is that of one who lies head first and supine");
  if (runs_.front().duration_s == 0)
    notes.emplace_back("no 'time per projection (sec)': all views count alike, and values are relative");
  return notes;
}

RawPixels InterfileStudy::pixel_format() const {
  const InterfileEntry& entry = needed("number format", 1, 0);
  const std::string word = lower_case(entry.value);
  RawPixels pixels;
  int bytes = 0;
  if (word == "unsigned integer") {
    pixels.kind = RawPixels::Kind::unsigned_integer;
  } else if (word == "signed integer") {
    pixels.kind = RawPixels::Kind::signed_integer;
  } else if (word == "float" || word == "short float" || word == "long float") {
    pixels.kind = RawPixels::Kind::real;
    bytes = word == "long float" ? 8 : 4;
  } else {
    header_.refuse(&entry,
                   fmt::format("numbers of the format '{}' are not read: store them as float, signed integer or "
                               "unsigned integer",
                               printable(word)));
  }
  const InterfileEntry* width = in_section("number of bytes per pixel", 1, 0);
  if (!width && bytes == 0) header_.refuse(nullptr, "it has no 'number of bytes per pixel'");
  if (width) bytes = static_cast<int>(header_.whole(*width, 1, 8));
  pixels.bytes = bytes;
  if (!pixels.is_known())
    header_.refuse(width ? width : &entry, fmt::format("there is no {} of {} bytes", word, pixels.bytes));
  const InterfileEntry* order = header_.find("imagedata byte order");
  const std::string order_word = order ? lower_case(order->value) : "bigendian";  // Interfile 3.3's default
  pixels.is_big_endian = order_word.find("big") != std::string::npos;
  if (!pixels.is_big_endian && order_word.find("little") == std::string::npos)
    header_.refuse(order, fmt::format("'imagedata byte order' must be LITTLEENDIAN or BIGENDIAN, not '{}'",
                                      printable(order->value)));
  return pixels;
}

std::int64_t InterfileStudy::data_offset() const {
  constexpr std::int64_t most = std::int64_t{1} << 50, block = 2048;
  if (const InterfileEntry* bytes = header_.find("data offset in bytes"); bytes && !bytes->value.empty())
    return header_.whole(*bytes, 0, most);
  if (const InterfileEntry* blocks = header_.find("data starting block"); blocks && !blocks->value.empty())
    return header_.whole(*blocks, 0, most / block) * block;
  return 0;
}

InterfileData InterfileStudy::data() const {
  const InterfileEntry& name = needed("name of data file", 1, 0);
  if (name.value.empty()) header_.refuse(&name, "the data file has no name here");
  InterfileData data{.path = path_.parent_path() / name.value, .pixels = pixel_format(), .offset = data_offset()};
  std::error_code error;
  if (!fs::is_regular_file(data.path, error))
    header_.refuse(&name, fmt::format("there is no data file {}: put it beside the header, or name it here",
                                      printable(data.path.string())));
  return data;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
