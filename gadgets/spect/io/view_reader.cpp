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
  // As the camera took them; whoever corrects a view for scatter has the scatter windows by then.
  const auto turn = [&](const StoredView& stored) {
    return std::tuple(set_->places[static_cast<std::size_t>(stored.view)].start_s, stored.view, -stored.window);
  };
  std::ranges::stable_sort(stored_, {}, turn);
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

std::optional<ViewBatch> ViewReader::next() {
  if (next_ == stored_.size()) return {};
  const StoredView& stored = stored_[next_++];
  ViewBatch batch;
  batch.count = set_->pixels();
  batch.set = set_;
  batch.window = stored.window;
  batch.quantity = quantity_;
  batch.counts = Buffer<float>(Memory::host, batch.count);
  const std::span<float> pixels = batch.counts.span();
  read_pixels(stored.at, pixels);
  const double sum = take_counts(stored, pixels);
  if (is_flipped_u_ != is_flipped_w_) turn_rows(pixels, set_->size[0]);
  if (is_flipped_w_) std::ranges::reverse(pixels);  // both ways: turns the rows, too
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
