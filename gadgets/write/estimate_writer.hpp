// When a writer of images writes, and under which name: the final image, or every iteration or update besides.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

enum class Every { final, iteration, update };
constexpr auto enum_names(Every) {
  return names(Every::final, "final", Every::iteration, "iteration", Every::update, "update");
}

/// The estimate's image on the host; a copy only where it lies on a device.
inline std::shared_ptr<const Image> on_host(const Estimate& estimate) {
  if (on_host(estimate.image->voxels.memory())) return estimate.image;
  auto copy = std::make_shared<const Image>(estimate.image->to(Memory::host));
  synchronize(nullptr);
  return copy;
}

/// Throws where a writer cannot write this estimate, which the start image shows before any event is projected: blobs.
inline void require_voxels(const Estimate& estimate) {
  validate(estimate.image->grid);
}

/// The events that an image stems from: those of all updates up to it.
class EventSpan {
 public:
  void take_in(const MessageInfo& message) {
    if (message.end_event <= message.first_event) return;  // a start image has none
    events_.first_event =
        events_.end_event == 0 ? message.first_event : std::min(events_.first_event, message.first_event);
    events_.end_event = std::max(events_.end_event, message.end_event);
  }
  const MessageInfo& events() const { return events_; }

 private:
  MessageInfo events_;
};

inline constexpr auto* at_iterations_words = "Of `every: iteration`, these alone, as [1, 10, 50]; none: all";

/// True where a writer of this setting writes this estimate at once (the final image is written at the end in any
/// case). `iterations` empty: all of them.
inline bool is_due(const Estimate& estimate, Every every, const std::vector<int>& iterations = {}) {
  if (estimate.step.iteration == 0) return false;  // the start image
  if (every != Every::iteration) return every == Every::update;
  return estimate.step.ends_iteration &&
         (iterations.empty() || std::ranges::find(iterations, estimate.step.iteration) != iterations.end());
}

/// `image.nii.gz` as `image_0003.nii.gz` (after iteration 3) or `image_0003_0007.nii.gz` (after its update 7).
inline std::filesystem::path numbered(const std::filesystem::path& file, const UpdateStep& step, Every every) {
  const std::string name = file.filename().string();
  const auto dot = std::min(name.find('.'), name.size());
  const std::string number = every == Every::update ? fmt::format("_{:04}_{:04}", step.iteration, step.subset + 1)
                                                    : fmt::format("_{:04}", step.iteration);
  return file.parent_path() / (name.substr(0, dot) + number + name.substr(dot));
}

}  // namespace tofstream
