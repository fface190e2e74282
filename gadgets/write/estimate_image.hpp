// An estimate as an image for the wire, for gadgets that send images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gadgets/io/wall_clock.hpp"
#include "gadgets/io/wire/image.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {

/// The message of an estimate, made now. Throws std::invalid_argument for an image of blobs, which has no voxels.
inline std::vector<std::byte> estimate_image(const Estimate& estimate, const MessageInfo& events, std::uint64_t run,
                                             bool is_final) {
  require_voxels(estimate);
  const UpdateStep& step = estimate.step;
  const auto image = on_host(estimate);
  const auto reasons = estimate.quantity ? not_quantitative_because(*estimate.quantity) : std::vector<std::string>();
  return wire::encode_image(
      {.is_final = is_final,
       .run = run,
       .update = static_cast<std::uint64_t>(
           step.update > 0 ? step.update : std::int64_t{step.iteration - 1} * step.subsets + step.subset + 1),
       .iteration = static_cast<std::uint32_t>(step.iteration),
       .subset = static_cast<std::uint32_t>(step.subset + 1),
       .first_event = events.first_event,
       .end_event = events.end_event,
       .made_ns = wall_clock_ns(),
       .grid = image->grid,
       .unit = unit_of(estimate).substr(0, wire::longest_image_unit),
       .is_quantitative = estimate.quantity && reasons.empty(),
       .not_quantitative_because = fmt::format("{}", fmt::join(reasons, "; ")),
       .filtered = words_of(estimate.filters)},
      image->voxels.span());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
