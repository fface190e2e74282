// A counting sort: see visit_order.hpp.
#include "kernels/project/visit_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/sort/event_key.hpp"

namespace tofstream {

namespace {

int dominant_axis(const EventView& events, std::int64_t i) {
  const Lor lor = events.lor(i);
  return detail::predominant_axis(lor.end2 - lor.end1);
}

}  // namespace

bool comes_in_order(const EventView& events) {
  constexpr std::int64_t looked_at = 64;
  for (std::int64_t i = 1; i < std::min(looked_at, events.count); ++i)
    if (dominant_axis(events, i) != dominant_axis(events, 0)) return false;
  return true;
}

VisitOrder::VisitOrder(const Grid& grid) : keys_(most), order_(most) {
  constexpr float cell = 6;  // voxels
  for (int axis = 0; axis < 3; ++axis) cells_per_mm_.set(axis, 1 / (cell * grid.voxel_mm[axis]));
}

// Cells repeat after 16 of them: two that share a key cost a little time and nothing else.
std::uint16_t VisitOrder::key(const EventView& events, std::int64_t i) const {
  const Lor lor = events.lor(i);
  const Vec3 centre = detail::tof_centre(lor, events.has_tof());
  unsigned key = static_cast<unsigned>(detail::predominant_axis(lor.end2 - lor.end1));
  for (int axis = 2; axis >= 0; --axis) {
    constexpr float far = 1e6f;  // not a number, too, goes to 0
    const float cell = centre[axis] * cells_per_mm_[axis];
    const int whole = std::abs(cell) < far ? static_cast<int>(std::floor(cell)) : 0;
    key = key << cell_bits | static_cast<unsigned>(whole) % (1u << cell_bits);
  }
  return static_cast<std::uint16_t>(key);
}

std::span<const std::uint32_t> VisitOrder::of(const EventView& events) {
  const auto count = static_cast<std::size_t>(events.count);
  place_.fill(0);
  for (std::size_t i = 0; i < count; ++i) {
    keys_[i] = key(events, static_cast<std::int64_t>(i));
    ++place_[keys_[i]];
  }
  std::uint32_t begin = 0;
  for (std::uint32_t& place : place_) {
    const std::uint32_t size = place;
    place = begin;
    begin += size;
  }
  for (std::size_t i = 0; i < count; ++i) order_[place_[keys_[i]]++] = static_cast<std::uint32_t>(i);
  return {order_.data(), count};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
