// What readers of projection data share: see view_reader.hpp.
#include "gadgets/spect/io/view_reader.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "core/base/printable.hpp"

namespace tofstream::formats {
namespace {

constexpr double largest_view_counts = 1e15;  // doubles still tell whole counts apart

void turn_rows(std::span<float> pixels, std::int64_t columns) {
  for (std::size_t row = 0; row * static_cast<std::size_t>(columns) < pixels.size(); ++row)
    std::ranges::reverse(pixels.subspan(row * static_cast<std::size_t>(columns), static_cast<std::size_t>(columns)));
}

// Whence a camera at this angle looks, to the nearest side.
const char* side_of(float angle_deg) {
  constexpr const char* sides[] = {"back", "left", "front", "right"};
  constexpr long quarters = 4;
  return sides[(std::lround(angle_deg / 90) % quarters + quarters) % quarters];
}

std::string spread_of(float lo, float hi, const char* unit) {
  return lo == hi ? fmt::format("{:g} {}", lo, unit) : fmt::format("{:g} to {:g} {}", lo, hi, unit);
}

}  // namespace

Quantity quantity_of_views() {
  Quantity quantity{.scale = "the file does not say the camera's sensitivity"};
  quantity[Correction::randoms] = {CorrectionState::not_needed, "single photons"};
  return quantity;
}

ViewReader::ViewReader(std::filesystem::path path, Contents contents)
    : path_(std::move(path)),
      format_(std::move(contents.format)),
      quantity_(std::make_shared<const Quantity>(std::move(contents.quantity))),
      stored_(std::move(contents.stored)),
      is_flipped_u_(contents.is_flipped_u),
      is_flipped_w_(contents.is_flipped_w),
      negative_is_zero_(contents.negative_is_zero),
      notes_(std::move(contents.notes)) {
  try {
    contents.set.validate();
  } catch (const std::invalid_argument& wrong) {
    refuse_file(fmt::format("{}; correct its angles or radii", wrong.what()));
  }
  set_ = std::make_shared<const ViewSet>(std::move(contents.set));
  sort_views();
}

// As the camera took them; whoever corrects a view for scatter has the scatter windows by then.
void ViewReader::sort_views() {
  const auto turn = [&](const StoredView& stored) {
    return std::tuple(set_->places[static_cast<std::size_t>(stored.view)].start_s, stored.view, -stored.window);
  };
  std::ranges::stable_sort(stored_, {}, turn);
}

void ViewReader::add_windows_of(std::unique_ptr<ViewReader> file) {
  const std::string other = other_scan_in_words(*set_, *file->set());
  if (!other.empty())
    file->refuse_file(
        fmt::format("it {}: an energy window's file is of the same scan as {}", other, printable(path_.string())));
  auto set = std::make_shared<ViewSet>(*set_);
  set->windows.resize(static_cast<std::size_t>(window_count()));
  const std::size_t first = set->windows.size(), more = static_cast<std::size_t>(file->window_count());
  set->windows.insert(set->windows.end(), file->set()->windows.begin(), file->set()->windows.end());
  set->windows.resize(first + more);
  further_.push_back(std::move(file));
  for (StoredView stored : further_.back()->stored_) {
    stored.window += static_cast<int>(first);
    stored.file = further_.size();
    stored_.push_back(stored);
  }
  sort_views();
  set_ = std::move(set);
}

void ViewReader::set_energies(const std::vector<EnergyWindow>& windows) {
  const auto there = static_cast<std::size_t>(window_count());
  if (windows.size() != there)
    throw std::invalid_argument(
        fmt::format("windows_keV has the limits of {} energy windows, and there {} {}: give two "
                    "numbers for each, the reconstructed one's first",
                    windows.size(), there == 1 ? "is" : "are", there));
  for (const EnergyWindow& window : windows)
    if (!(window.high_keV > window.low_keV))
      throw std::invalid_argument(
          fmt::format("windows_keV: {:g} to {:g} keV is no energy window", window.low_keV, window.high_keV));
  auto set = std::make_shared<ViewSet>(*set_);
  set->windows = windows;
  set_ = std::move(set);
}

int ViewReader::window_count() const {
  return 1 + std::ranges::max_element(stored_, {}, &StoredView::window)->window;
}

double ViewReader::clipped() const {
  double sum = clipped_;
  for (const auto& file : further_) sum += file->clipped();
  return sum;
}

void ViewReader::refuse_file(const std::string& why) const {
  throw std::runtime_error(fmt::format("{}: {}", printable(path_.string()), why));
}

double ViewReader::take_counts(const StoredView& stored, std::span<float> pixels) {
  const auto columns = static_cast<std::size_t>(set_->size[0]);
  double sum = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto place = [&] {
      return fmt::format("view {} of the file, row {}, column {}: ", stored.at, i / columns, i % columns);
    };
    if (!std::isfinite(pixels[i])) refuse_file(fmt::format("{}{} is no number of counts", place(), pixels[i]));
    if (pixels[i] < 0) {
      if (!negative_is_zero_)
        refuse_file(fmt::format("{}{} counts, and counts are not negative: 'negative: zero' takes them as 0", place(),
                                pixels[i]));
      clipped_ -= static_cast<double>(pixels[i]);
      pixels[i] = 0;
    }
    sum += static_cast<double>(pixels[i]);
  }
  if (sum > largest_view_counts)
    refuse_file(fmt::format("view {} of the file has {:g} counts: is its byte order right?", stored.at, sum));
  return sum;
}

double ViewReader::read_view(const StoredView& stored, std::span<float> pixels) {
  read_pixels(stored.at, pixels);
  const double sum = take_counts(stored, pixels);
  if (is_flipped_u_ != is_flipped_w_) turn_rows(pixels, set_->size[0]);
  if (is_flipped_w_) std::ranges::reverse(pixels);  // both ways: turns the rows, too
  return sum;
}

std::optional<ViewBatch> ViewReader::next() {
  if (next_ == stored_.size()) return {};
  const StoredView& stored = stored_[next_++];
  ViewBatch batch;
  batch.count = set_->pixels();
  batch.set = set_;
  batch.window = stored.window;
  batch.quantity = quantity_;
  batch.counts = Buffer<float>(Memory::host, batch.count);
  ViewReader& file = stored.file == 0 ? *this : *further_[stored.file - 1];
  const double sum = file.read_view(stored, batch.counts.span());
  batch.records.push_back({.view = stored.view, .counts = static_cast<std::uint64_t>(std::llround(sum))});
  return batch;
}

std::string ViewReader::summary() const {
  const ViewSet& set = *set_;
  std::set<int> heads;
  for (const ViewPlace& place : set.places) heads.insert(place.head);
  const auto [nearest, farthest] = std::ranges::minmax(set.places, {}, &ViewPlace::radius_mm);
  std::string text =
      fmt::format("{}: {} views of {} x {} pixels of {:g} x {:g} mm, {} head{}, radius {}", format_, set.places.size(),
                  set.size[0], set.size[1], set.pixel_mm.x, set.pixel_mm.y, heads.size(), heads.size() == 1 ? "" : "s",
                  spread_of(nearest.radius_mm, farthest.radius_mm, "mm"));
  const EnergyWindow first = set.windows.empty() ? EnergyWindow{} : set.windows.front();
  if (first.high_keV > 0) text += fmt::format(", {:g} to {:g} keV", first.low_keV, first.high_keV);
  if (set.windows.size() > 1) text += fmt::format(" and {} more energy windows", set.windows.size() - 1);
  const float angle = set.places.front().angle_deg;
  text += fmt::format(", the first view from the patient's {} ({:g} degrees)", side_of(angle), angle);
  return text;
}

std::string other_scan_in_words(const ViewSet& wanted, const ViewSet& found) {
  constexpr double same_deg = 0.05, same_mm = 1e-2, same_s = 1e-3;
  if (found.places.size() != wanted.places.size())
    return fmt::format("has {} views, and the scan {}", found.places.size(), wanted.places.size());
  if (found.size[0] != wanted.size[0] || found.size[1] != wanted.size[1])
    return fmt::format("has views of {} x {} pixels, and the scan of {} x {}", found.size[0], found.size[1],
                       wanted.size[0], wanted.size[1]);
  for (int axis = 0; axis < 2; ++axis)
    if (!(std::abs(static_cast<double>(found.pixel_mm[axis] - wanted.pixel_mm[axis])) <= same_mm))
      return fmt::format("has pixels of {:g} mm, and the scan of {:g} mm", found.pixel_mm[axis], wanted.pixel_mm[axis]);
  for (std::size_t view = 0; view < wanted.places.size(); ++view) {
    const ViewPlace &here = found.places[view], &there = wanted.places[view];
    const double turned = std::remainder(static_cast<double>(here.angle_deg - there.angle_deg), 360.0);
    if (std::abs(turned) > same_deg || here.head != there.head)
      return fmt::format("has view {} at {:g} degrees of head {}, and the scan at {:g} degrees of head {}", view,
                         here.angle_deg, here.head + 1, there.angle_deg, there.head + 1);
    const bool are_timed = here.duration_s > 0 && there.duration_s > 0;
    if (are_timed && std::abs(here.duration_s - there.duration_s) > same_s * there.duration_s)
      return fmt::format("has {:g} s for view {}, and the scan {:g} s", here.duration_s, view, there.duration_s);
  }
  return {};
}

std::vector<float> view_angles(double start_deg, double extent_deg, int views, RotationDirection direction,
                               bool is_in_front) {
  const double step = (direction == RotationDirection::ccw ? 1 : -1) * extent_deg / views;
  std::vector<float> angles(static_cast<std::size_t>(views));
  for (int view = 0; view < views; ++view) {
    double turned = std::fmod(start_deg + (is_in_front ? 180 : 0) + step * view, 360.0);
    turned += turned < 0 ? 360 : 0.0;  // and no minus zero
    const auto angle = static_cast<float>(turned);
    angles[static_cast<std::size_t>(view)] = angle < 360 ? angle : 0;
  }
  return angles;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
