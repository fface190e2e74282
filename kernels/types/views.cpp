// Sets and batches of views: see views.hpp.
#include "kernels/types/views.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace tofstream {

namespace {

constexpr int largest_view_size = 4096;

void require_view_number(std::size_t view, const char* name, double value, bool is_right) {
  if (!(std::isfinite(value) && is_right))
    throw std::invalid_argument(fmt::format("view {}: {} cannot be {}", view, name, value));
}

void validate_place(std::size_t view, const ViewPlace& place, ViewKind kind) {
  require_view_number(view, "angle_deg", double{place.angle_deg}, std::abs(place.angle_deg) <= 3600);
  require_view_number(view, "tilt_deg", double{place.tilt_deg}, std::abs(place.tilt_deg) < 90);
  require_view_number(view, "radius_mm", double{place.radius_mm}, kind != ViewKind::camera || place.radius_mm > 0);
  require_view_number(view, "centre_u_mm", double{place.centre_u_mm}, true);
  require_view_number(view, "centre_w_mm", double{place.centre_w_mm}, true);
  require_view_number(view, "start_s", place.start_s, true);
  require_view_number(view, "duration_s", place.duration_s, place.duration_s >= 0);
}

/// What tells views of one head apart; angles a whole turn apart are the same.
auto place_key(const ViewPlace& place) {
  const float turned = std::fmod(place.angle_deg, 360.0f);
  return std::tuple(place.head, turned < 0 ? turned + 360.0f : turned, place.tilt_deg, place.radius_mm);
}

void require_different_places(const std::vector<ViewPlace>& places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t view) { return place_key(places[view]); });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (place_key(places[order[i - 1]]) == place_key(places[order[i]]))
      throw std::invalid_argument(fmt::format("views {} and {} have one place: head {}, {} degrees", order[i - 1],
                                              order[i], places[order[i]].head, places[order[i]].angle_deg));
}

}  // namespace

void ViewSet::validate() const {
  if (places.empty()) throw std::invalid_argument("a scan without views");
  for (int axis = 0; axis < 3; ++axis)
    if (size[axis] < 1 || size[axis] > largest_view_size)
      throw std::invalid_argument(
          fmt::format("a view's size must be in [1, {}] pixels on each axis, not {}", largest_view_size, size[axis]));
  const int axes = kind == ViewKind::camera ? 2 : 3;
  for (int axis = 0; axis < axes; ++axis)
    if (!(std::isfinite(pixel_mm[axis]) && pixel_mm[axis] > 0))
      throw std::invalid_argument(
          fmt::format("edges of a view's pixels must be finite and positive (mm), not {}", pixel_mm[axis]));
  for (std::size_t view = 0; view < places.size(); ++view) validate_place(view, places[view], kind);
  require_different_places(places);
}

Views ViewBatch::view() const {
  if (!set) throw std::logic_error("a batch of views without their set");
  const auto viewed = static_cast<std::int64_t>(records.size());
  for (const ViewRecord& record : records)
    if (record.view < 0 || static_cast<std::size_t>(record.view) >= set->places.size())
      throw std::logic_error(
          fmt::format("a batch has view {}, and its set has {} views", record.view, set->places.size()));
  const Memory where = memory();
  const auto pointer = [&]<class T>(const Buffer<T>& array, std::int64_t size) -> const T* {
    if (array.empty()) return nullptr;
    if (array.size() != size || array.memory() != where)
      throw std::logic_error("the arrays of a batch of views disagree in size or memory");
    return array.data();
  };
  if (count != viewed * set->pixels() || index.size() != viewed)
    throw std::logic_error("the arrays of a batch of views disagree in size with its records");
  Views view;
  view.count = count;
  view.views = static_cast<int>(viewed);
  view.set = set.get();
  view.records = records.data();
  view.index = pointer(index, viewed);
  view.weight = pointer(weight, viewed);
  view.counts = pointer(counts, count);
  pointer(whole_counts, count);
  view.multiplicative = pointer(multiplicative, count);
  view.additive = pointer(additive, count);
  return view;
}

ViewBatch ViewBatch::without_arrays() const {
  ViewBatch result;
  result.count = count;
  result.set = set;
  result.records = records;
  result.window = window;
  result.reference_s = reference_s;
  result.quantity = quantity;
  return result;
}

ViewBatch ViewBatch::to(Memory memory, Stream stream) const {
  ViewBatch result = without_arrays();
  const auto copied = [&](auto& to, const auto& from) { to = from.to(memory, stream); };
  for_each_record_array_pair(result, *this, copied);
  for_each_pixel_array_pair(result, *this, copied);
  return result;
}

std::uint64_t ViewBatch::event_count() const {
  if (window != 0) return 0;
  std::uint64_t sum = 0;
  for (const ViewRecord& record : records) sum += record.counts;
  return sum;
}

std::size_t ViewBatch::bytes() const {
  std::size_t sum = 0;
  const auto add = [&](const auto& array, const auto&) { sum += array.bytes(); };
  for_each_record_array_pair(*this, *this, add);
  for_each_pixel_array_pair(*this, *this, add);
  return sum;
}

void ViewBatch::weigh(double reference) {
  if (!(std::isfinite(reference) && reference > 0))
    throw std::invalid_argument(fmt::format("reference_s must be finite and positive, not {}", reference));
  reference_s = reference;
  const auto viewed = static_cast<std::int64_t>(records.size());
  index = Buffer<std::int32_t>(Memory::host, viewed);
  weight = Buffer<float>(Memory::host, viewed);
  for (std::int64_t v = 0; v < viewed; ++v) {
    const ViewRecord& record = records[static_cast<std::size_t>(v)];
    const double duration_s = set->places.at(static_cast<std::size_t>(record.view)).duration_s;
    index[v] = record.view;
    weight[v] = static_cast<float>((duration_s > 0 ? duration_s / reference : 1) * record.exposure);
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
